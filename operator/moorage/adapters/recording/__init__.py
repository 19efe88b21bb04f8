"""The recorder: a journal that a thread of its own writes to a file.

The loop's thread appends; the writer encodes a few entries at a time, so that it never keeps the
interpreter for long. What a full queue has no room for is left out: a gap is written, and a new key
frame is asked for, after which the recording is whole again.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Final

from moorage.adapters.recording.blocks import CHANGES, KEY_FRAME, Block, BlockWriter
from moorage.core.columns.changes import Entry
from moorage.core.recording.wire import EntryEncoder, Gap, Time, framed

MAX_PENDING: Final = 200_000
"""Entries that wait to be written: some seconds of a large cluster's."""
BLOCK_ENTRIES: Final = 2_000
BLOCK_SECONDS: Final = 1.0
_ENCODED_AT_ONCE: Final = 32
"""Entries: a fraction of a millisecond."""


class Recorder:
    """Writes from ``start`` to ``close``. All other methods are the loop's thread's.

    ``now`` gives seconds since 1970. ``failed`` is called, on the writer's
    thread, with an OSError that ended writing.
    """

    def __init__(
        self,
        writer: BlockWriter,
        encoder: EntryEncoder,
        now: Callable[[], float],
        failed: Callable[[OSError], None],
    ) -> None:
        self.key_frame_due = True
        """Whether ``put_key_frame`` is to be called, as nothing is readable before."""
        self.written = 0
        """Bytes."""
        self.lost = 0
        """Entries."""
        self._lost_before = 0
        """Those that a gap tells of already."""
        self._writer = writer
        self._encoder = encoder
        self._now = now
        self._failed = failed
        self._pending: deque[tuple[int, int, list[Entry]]] = deque()
        self._last = -1
        self._entries: list[Entry] = []
        self._waiting = 0
        self._wake = threading.Event()
        self._closing = False
        self._thread = threading.Thread(target=self._run, name="recorder", daemon=True)

    def start(self) -> None:
        """Begin to write."""
        self._thread.start()

    def append(self, entry: Entry, /) -> None:
        """Have an entry written, if there is room for it."""
        if self.key_frame_due:
            self.lost += 1
            return
        milliseconds = self._milliseconds()
        if milliseconds != self._last:
            self._last = milliseconds
            self._entries.append(Time(milliseconds))
        self._entries.append(entry)
        if len(self._entries) >= BLOCK_ENTRIES:
            self.flush()

    def flush(self) -> None:
        """Hand over what was appended: once a second, or more often."""
        if self._entries:
            self._hand_over(self._entries)
            self._entries = []

    def put_key_frame(self, entries: list[Entry]) -> None:
        """The whole state: what comes from now on can be read from here."""
        self.flush()
        gap = [Gap(self.lost - self._lost_before)] if self.lost > self._lost_before else []
        self._lost_before = self.lost
        self.key_frame_due = False
        self._pending.append((KEY_FRAME, self._milliseconds(), [*gap, *entries]))
        self._wake.set()

    def close(self, seconds: float) -> bool:
        """Write what is there, at most so long; whether all is written."""
        self.flush()
        self._closing = True
        self._wake.set()
        self._thread.join(seconds)
        return not self._thread.is_alive()

    # ---- inside ----------------------------------------------------------------------------------

    def _milliseconds(self) -> int:
        return int(1000 * self._now())

    def _hand_over(self, entries: list[Entry]) -> None:
        if self._waiting + len(entries) > MAX_PENDING:
            self.lost += sum(not isinstance(entry, Time) for entry in entries)
            self.key_frame_due = True
            return
        self._waiting += len(entries)
        self._pending.append((CHANGES, self._milliseconds(), entries))
        self._wake.set()

    def _run(self) -> None:
        try:
            while not (self._closing and not self._pending):
                self._wake.wait(BLOCK_SECONDS)
                self._wake.clear()
                while self._pending:
                    self._write(*self._pending.popleft())
        except OSError as error:
            self._failed(error)

    def _write(self, kind: int, milliseconds: int, entries: list[Entry]) -> None:
        if kind == KEY_FRAME:
            self._encoder.restart()
        content = b"".join(framed(self._encoder.encode(some)) for some in _pieces(entries))
        self.written += self._writer.write(Block(kind, len(entries), milliseconds, content))
        if kind == CHANGES:
            self._waiting -= len(entries)


def _pieces(entries: list[Entry]) -> Iterator[list[Entry]]:
    rest = iter(entries)
    while some := list(islice(rest, _ENCODED_AT_ONCE)):
        yield some
