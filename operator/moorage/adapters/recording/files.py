"""Where recordings are written to: one file."""

from __future__ import annotations

import os
from pathlib import Path
from typing import BinaryIO, Protocol


class RecordingFiles(Protocol):
    """Where a recording goes. For the writer's thread; times are seconds since 1970. Raises
    OSError.
    """

    def begin(self, seconds: float) -> BinaryIO:
        """A new file, for what comes from now on."""

    def is_full(self, size: int, begin: float, seconds: float) -> bool:
        """Whether a file of this size, begun then, is to be followed by another at the next key
        frame.
        """

    def make_room(self, size: int, seconds: float) -> None:
        """So many bytes are about to be written."""


class SingleFile:
    """``RecordingFiles`` that is one file, which must not be there yet."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def begin(self, seconds: float) -> BinaryIO:
        """Fails the second time, so that nothing is written over."""
        return open_new(self._path)

    def is_full(self, size: int, begin: float, seconds: float) -> bool:
        """It grows without end."""
        return False

    def make_room(self, size: int, seconds: float) -> None:
        """The disk's concern."""


def open_new(path: Path) -> BinaryIO:
    """A new file that only its owner can read, as it says what runs in a cluster."""
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb")
