"""The state's recorder: a journal that is kept, with whole states in it at which one may begin to
read.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from moorage.core.columns.changes import Entry, Journal


class StateRecorder(Journal, Protocol):
    """Keeps what is appended, from the first key frame on, and says what it could not keep. For one
    thread.
    """

    @property
    def written(self) -> int:
        """Bytes that were written."""

    @property
    def entries(self) -> int:
        """Entries that were written, those of key frames included."""

    @property
    def lost(self) -> int:
        """Changes and decisions since the first key frame that had no room in the queue or on the
        disk.
        """

    @property
    def changes(self) -> int:
        """Entries since the last key frame, marks of the recorder's own included; those of the last
        second may not be counted yet.
        """

    @property
    def failure(self) -> BaseException | None:
        """Why nothing is written now; None while all is well, and while the writer is too slow."""

    @property
    def key_frame_due(self) -> bool:
        """Whether what comes now cannot be read without a key frame, and none is on its way."""

    @property
    def key_frame_waits(self) -> bool:
        """Whether one is still to be written: another would be too much."""

    @property
    def is_whole(self) -> bool:
        """Whether what comes now is to be written."""

    def put_key_frame(self, entries: Iterable[Entry]) -> None:
        """The whole state as it is now: what comes from now on can be read from here. Its entries
        are asked for later, on another thread and once. Left out where one waits to be written
        already, or nobody writes any more.
        """

    def flush(self) -> None:
        """Hand over what was appended: once a second, or more often."""

    def close(self, seconds: float) -> bool:
        """Write what is there, at most so long; whether all of it is written."""
