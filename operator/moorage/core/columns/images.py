"""Images on nodes: for each image name its size and the rows that hold it.

An image's worth depends on how many nodes hold it, so any change of images or of the number of nodes moves ``version``, by
which ImageLocality knows that all its scores are stale.
"""

from __future__ import annotations

from collections.abc import Collection

from moorage.core.objects import ContainerImage
from moorage.core.remembering import length, remembered

_DOCKER, _OFFICIAL = "docker.io/", "library/"


@remembered(length, most=16384)
def canonical(image: str) -> str:
    """An image's name with its registry and a tag, as container runtimes report it: ``nginx`` is ``docker.io/library/nginx:latest``.

    A colon before the last slash is that of a registry's port; a first part with neither colon nor dot is no registry.
    """
    tagged = image if image.rfind(":") > image.rfind("/") else f"{image}:latest"
    domain, slash, rest = tagged.partition("/")
    if slash and ("." in domain or ":" in domain or domain == "localhost"):
        if f"{domain}/" not in (_DOCKER, "index.docker.io/"):
            return tagged
        tagged = rest
    return f"{_DOCKER}{tagged}" if "/" in tagged else f"{_DOCKER}{_OFFICIAL}{tagged}"


class ImageTable:
    """Image, by its canonical name -> size in bytes (as the first node reported it) and rows."""

    def __init__(self) -> None:
        self.version = 0
        self._sizes: dict[str, int] = {}
        self._rows: dict[str, dict[int, None]] = {}
        self._images: dict[int, tuple[str, ...]] = {}

    def put(self, row: int, images: tuple[ContainerImage, ...]) -> bool:
        """Write which images a row holds; whether they differ."""
        names: dict[str, int] = {canonical(name): image.size_bytes for image in images for name in image.names or ()}
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
        name = canonical(name)
        return self._sizes.get(name, 0), self._rows.get(name, {}).keys()

    def _drop(self, row: int, names: Collection[str]) -> None:
        for name in names:
            rows = self._rows[name]
            rows.pop(row, None)
            if not rows:
                del self._rows[name], self._sizes[name]
