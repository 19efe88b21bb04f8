"""Images on nodes: for each image name its size and the rows that hold it.

An image's worth depends on how many nodes hold it, so any change of images or of the number of nodes moves ``version``, by
which ImageLocality knows that all its scores are stale.
"""

from __future__ import annotations

from collections.abc import Collection

from moorage.core.objects import ContainerImage


class ImageTable:
    """Image name -> size in bytes (as the first node reported it) and rows."""

    def __init__(self) -> None:
        self.version = 0
        self._sizes: dict[str, int] = {}
        self._rows: dict[str, dict[int, None]] = {}
        self._images: dict[int, tuple[str, ...]] = {}

    def put(self, row: int, images: tuple[ContainerImage, ...]) -> bool:
        """Write which images a row holds; whether they differ."""
        names: dict[str, int] = {name: image.size_bytes for image in images for name in image.names or ()}
        old = self._images.get(row, ())
        if old == tuple(names):
            return False
        self._drop(row, [name for name in old if name not in names])
        for name, size in names.items():
            self._rows.setdefault(name, {})[row] = None
            self._sizes.setdefault(name, size)
        self._images[row] = tuple(names)
        if not names:
            del self._images[row]
        self.version += 1
        return True

    def holders(self, name: str) -> tuple[int, Collection[int]]:
        """(size in bytes, rows that hold it); (0, ()) for an image that no node holds."""
        return self._sizes.get(name, 0), self._rows.get(name, {}).keys()

    def _drop(self, row: int, names: Collection[str]) -> None:
        for name in names:
            rows = self._rows[name]
            rows.pop(row, None)
            if not rows:
                del self._rows[name], self._sizes[name]
