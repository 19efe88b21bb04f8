"""The ring on disk: a folder of recordings, of which the oldest go."""

from __future__ import annotations

import contextlib
import datetime
import itertools
import os
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple

from moorage.adapters.recording.files import open_new

PARTS: Final = 8
"""A file is full at this part of the ring, so that the ring holds almost what it may."""
_NAME: Final = "%Y%m%dT%H%M%S.%fZ.rec"
"""When the file was begun, in UTC: the order of names is the order of time."""


class _Part(NamedTuple):
    """A file that is there."""

    path: Path
    begin: float
    size: int


class RecordingRing:
    """``RecordingFiles`` of at most ``max_bytes`` together, of which none ended longer than
    ``max_age`` seconds ago. Other files in the folder are left alone.
    """

    def __init__(self, directory: Path, max_bytes: int, max_age: float) -> None:
        self._directory = directory
        self._max_bytes = max_bytes
        self._max_age = max_age
        self._written = Path()

    def begin(self, seconds: float) -> BinaryIO:
        """The folder is made where it is missing, but not what it should be in: that may be a disk
        that has gone.
        """
        with contextlib.suppress(FileExistsError):
            self._directory.mkdir(mode=0o700)
        moment = datetime.datetime.fromtimestamp(seconds, datetime.UTC)
        self._written = self._directory / moment.strftime(_NAME)
        return open_new(self._written)

    def is_full(self, size: int, begin: float, seconds: float) -> bool:
        """By size or by age."""
        return size >= self._max_bytes / PARTS or seconds - begin >= self._max_age / PARTS

    def make_room(self, size: int, seconds: float) -> None:
        """Remove the oldest, but never the one that is being written; those that a clock named
        which was ahead go first. Raises OSError where that is too large already, or somebody has
        removed it.
        """
        parts = sorted(
            self._parts(),
            key=lambda part: (part.path == self._written, part.begin <= seconds, part.begin),
        )
        if self._written not in (part.path for part in parts):
            raise FileNotFoundError(f"{self._written} was removed")
        total = sum(part.size for part in parts) + size
        for part, following in itertools.pairwise(parts):
            if total <= self._max_bytes and following.begin >= seconds - self._max_age:
                return
            part.path.unlink(missing_ok=True)  # another process may have been faster
            total -= part.size
        if total > self._max_bytes:
            raise OSError(f"one recording alone takes more than {self._max_bytes} bytes")

    def _parts(self) -> Iterator[_Part]:
        with os.scandir(self._directory) as found:
            for entry in found:
                begin = _begin(entry.name)
                if begin is not None:
                    with contextlib.suppress(FileNotFoundError):
                        yield _Part(Path(entry.path), begin, entry.stat().st_size)


def ring_files(directory: Path) -> list[Path]:
    """The recordings in a ring's folder, in the order of their names. Raises OSError."""
    return sorted(path for path in directory.iterdir() if _begin(path.name) is not None)


def _begin(name: str) -> float | None:
    """When a file of this name was begun; None for one that is none of ours."""
    try:
        return datetime.datetime.strptime(name, "%Y%m%dT%H%M%S.%f%z.rec").timestamp()
    except ValueError:
        return None
