"""The page's files, as they are in the package: a table that is made once, so that no request
reaches the disk.
"""

from __future__ import annotations

import dataclasses
import importlib.resources
from collections.abc import Iterator, Mapping
from importlib.resources.abc import Traversable
from typing import Final

from moorage.apps.ui.bodies import Body

TYPES: Final[Mapping[str, str]] = {
    "html": "text/html; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "mjs": "text/javascript; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "svg": "image/svg+xml",
    "png": "image/png",
    "ico": "image/x-icon",
    "json": "application/json",
    "webmanifest": "application/manifest+json",
    "woff2": "font/woff2",
    "txt": "text/plain; charset=utf-8",
    "md": "text/plain; charset=utf-8",
}
"""By the end of a file's name. A file with another one is not served."""
INDEX: Final = "index.html"


@dataclasses.dataclass(frozen=True, slots=True)
class StaticFiles:
    """By path below ``static/``."""

    files: Mapping[str, Body]

    def get(self, name: str) -> Body | None:
        """The file, None where there is none."""
        return self.files.get(name)

    @classmethod
    def of_package(cls) -> StaticFiles:
        """Those that are installed."""
        folder = importlib.resources.files("moorage.apps.ui") / "static"
        return cls(dict(_files(folder, "")))


def _files(folder: Traversable, path: str) -> Iterator[tuple[str, Body]]:
    for one in sorted(folder.iterdir(), key=lambda each: each.name):
        name = f"{path}{one.name}"
        if one.is_dir():
            yield from _files(one, f"{name}/")
        elif (kind := TYPES.get(one.name.rpartition(".")[2])) is not None:
            yield name, Body(one.read_bytes(), kind)
