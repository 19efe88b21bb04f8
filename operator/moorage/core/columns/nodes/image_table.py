"""Images on nodes: for each image name its size and the rows that hold it.

An image's worth depends on how many nodes hold it, so any change of images or of the number of
nodes moves ``version``, by which ImageLocality knows that all its scores are stale.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection

from moorage.core.objects.nodes import ContainerImage
from moorage.core.structures.remembering import byte_size, memoized

_DOCKER, _OFFICIAL = "docker.io/", "library/"
MAX_NAMES = 2000
"""Names of images of a node that count; a kubelet tells of 50 images unless configured
otherwise.
"""


@memoized(byte_size, most=16384)
def canonical(image: str) -> str:
    """An image's name with its registry and a tag, as container runtimes report it: ``nginx`` is
    ``docker.io/library/nginx:latest``.

    A colon before the last slash is that of a registry's port; a first part with neither colon nor
    dot is no registry.
    """
    tagged = image if image.rfind(":") > image.rfind("/") else f"{image}:latest"
    domain, slash, rest = tagged.partition("/")
    if slash and ("." in domain or ":" in domain or domain == "localhost"):
        if f"{domain}/" not in (_DOCKER, "index.docker.io/"):
            return tagged
        tagged = rest
    return f"{_DOCKER}{tagged}" if "/" in tagged else f"{_DOCKER}{_OFFICIAL}{tagged}"


class ImageTable:
    """Image, by its canonical name -> rows that hold it. Its size, in bytes, is what the first of
    these nodes, by name, reports; kube-scheduler goes by the first that it saw.
    """

    def __init__(self) -> None:
        self.version = 0
        self._sizes: dict[str, dict[int, tuple[str, int]]] = {}
        """By image and row, with the node's name."""
        self._images: dict[int, dict[str, int]] = {}
        """The same by row and image."""

    def put(self, row: int, node: str, images: tuple[ContainerImage, ...]) -> bool:
        """Write which images a node holds on its row; whether they differ."""
        told = ((name, image.size_bytes) for image in images for name in image.names or ())
        new = {canonical(name): size for name, size in itertools.islice(told, MAX_NAMES)}
        old = self._images.get(row, {})
        if old == new:
            return False
        for name in old.keys() - new.keys():
            del self._sizes[name][row]
            if not self._sizes[name]:
                del self._sizes[name]
        for name, size in new.items():
            self._sizes.setdefault(name, {})[row] = node, size
        self._images[row] = new
        if not new:
            del self._images[row]
        self.version += 1
        return True

    def holders(self, name: str) -> tuple[int, Collection[int]]:
        """(size in bytes, rows that hold it); (0, ()) for an image that no node holds."""
        sizes = self._sizes.get(canonical(name), {})
        return min(sizes.values(), default=("", 0))[1], sizes.keys()
