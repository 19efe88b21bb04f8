"""The recorder: a journal that a thread of its own writes to files.

The loop's thread appends; the writer encodes a few entries at a time, so that it never keeps the
interpreter for long. What there is no room for in the queue, or on the disk, is left out: a gap is
written and a key frame is due, after which the recording is whole again. Each counter is changed by
one of the two threads, and hand-over is a queue, so there is no lock.
"""

from __future__ import annotations

import contextlib
import queue
import threading
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Final, NamedTuple

import msgspec

from moorage.adapters.recording.blocks import CHANGES, HEADER, KEY_FRAME, BlockWriter
from moorage.adapters.recording.files import RecordingFiles
from moorage.adapters.recording.header import RecordingHeader
from moorage.core.columns.changes import Entry, Gap, Time
from moorage.core.recording.wire import EntryEncoder
from moorage.ports.guards import FAULTS

MAX_PENDING: Final = 200_000
"""Changes that wait to be written: some seconds of a large cluster's. One key frame may wait
beside them.
"""
BLOCK_ENTRIES: Final = 2_000
_ENCODED_AT_ONCE: Final = 32
"""Entries: a fraction of a millisecond."""


class _Block(NamedTuple):
    """What is handed over: ``entries``, of which the first happened at ``milliseconds``; those of a
    key frame can be asked for once.
    """

    kind: int
    milliseconds: int
    entries: Iterable[Entry]

    @property
    def changes(self) -> list[Entry]:
        """What has happened: nothing in a key frame."""
        return list(self.entries) if self.kind == CHANGES else []


class Recorder:
    """``ports.state_recorder.StateRecorder``, which writes from ``start`` to ``close``. All methods
    are the loop's thread's; ``now`` gives seconds since 1970.
    """

    def __init__(
        self,
        files: RecordingFiles,
        header: RecordingHeader,
        encoder: EntryEncoder,
        now: Callable[[], float],
    ) -> None:
        self._now = now
        self._writer = _Writer(files, header, encoder)
        self._begun = self._whole = False
        """Whether there was a key frame, and whether what comes now can be read after it."""
        self._lost = self._told = 0
        """Entries that had no room, and those of them that a gap tells of."""
        self._begin = self._last = 0
        """Milliseconds at which this block began, and of the last entry's time in it."""
        self._entries: list[Entry] = []
        self._handed = self._key_frames = 0
        """Changes and key frames that the writer was given."""
        self._handed_before = 0
        """Changes before the last key frame."""

    # ---- what is counted -------------------------------------------------------------------------

    @property
    def written(self) -> int:
        """Bytes that were written."""
        return self._writer.written

    @property
    def entries(self) -> int:
        """Entries that were written, those of key frames included."""
        return self._writer.entries

    @property
    def lost(self) -> int:
        """Changes and decisions since the first key frame that had no room in the queue or on the
        disk.
        """
        return self._lost + self._writer.lost

    @property
    def changes(self) -> int:
        """Entries since the last key frame, marks of the recorder's own included; those of the last
        second may not be counted yet.
        """
        return self._handed - self._handed_before

    @property
    def failure(self) -> BaseException | None:
        """Why nothing is written now; None while all is well, and while the writer is too slow."""
        return self._writer.failure

    @property
    def key_frame_due(self) -> bool:
        """Whether what comes now cannot be read without a key frame, and none is on its way."""
        return not (self.is_whole or self.key_frame_waits) and self._writer.is_alive

    @property
    def key_frame_waits(self) -> bool:
        """Whether one is still to be written: another would be too much."""
        return self._key_frames > self._writer.key_frames

    @property
    def is_whole(self) -> bool:
        """Whether what comes now is to be written."""
        return self._whole and not self._writer.is_broken

    # ---- what is written -------------------------------------------------------------------------

    def start(self, kubernetes: str = "") -> None:
        """Begin to write; ``kubernetes`` is the API server's version, where the header does not
        have it.
        """
        self._writer.start(kubernetes)

    def append(self, entry: Entry, /) -> None:
        """Have an entry written, if there is room for it and a key frame before it."""
        if not self._whole:
            self._lost += self._begun
            return
        milliseconds = self._milliseconds()
        if not self._entries:
            self._begin = self._last = milliseconds
        elif milliseconds != self._last:
            self._last = milliseconds
            self._entries.append(Time(milliseconds - self._begin))
        self._entries.append(entry)
        if len(self._entries) >= BLOCK_ENTRIES:
            self.flush()

    def flush(self) -> None:
        """Hand over what was appended: once a second, or more often."""
        entries, self._entries = self._entries, []
        if not entries:
            return
        if self._has_room(len(entries)):
            self._handed += len(entries)
            self._writer.take(_Block(CHANGES, self._begin, entries))
        else:
            self._lost += _happened(entries)
            self._whole = False

    def put_key_frame(self, entries: Iterable[Entry]) -> None:
        """The whole state as it is now: what comes from now on can be read from here. Its entries
        are asked for later, by the writer. Left out where one waits to be written already, or
        nobody writes any more.
        """
        if self.key_frame_waits or not self._writer.is_alive:
            return
        self.flush()
        if missing := self._lost - self._told:
            self._told = self._lost
            self._handed += 1
            self._writer.take(_Block(CHANGES, self._milliseconds(), [Gap(missing)]))
        self._begun = self._whole = True
        self._handed_before = self._handed
        self._key_frames += 1
        self._writer.take(_Block(KEY_FRAME, self._milliseconds(), entries))

    def close(self, seconds: float) -> bool:
        """Write what is there, at most so long; whether all of it is written."""
        self.flush()
        self._writer.take(None)
        return self._writer.ended_within(seconds) and not self._writer.is_broken

    def _milliseconds(self) -> int:
        return int(1000 * self._now())

    def _has_room(self, entries: int) -> bool:
        writer = self._writer
        waiting = self._handed - writer.changes
        broken = writer.is_broken and not self.key_frame_waits
        return waiting + entries <= MAX_PENDING and not broken and writer.is_alive


class _Writer:
    """What the thread does. Only it changes what is counted here, others read it."""

    def __init__(
        self, files: RecordingFiles, header: RecordingHeader, encoder: EntryEncoder
    ) -> None:
        self.written = self.entries = self.lost = 0
        self.changes = self.key_frames = 0
        """Entries of changes, and key frames, that wait no more."""
        self.failure: BaseException | None = None
        self._files = files
        self._header = header
        self._encoder = encoder
        self._file: BlockWriter | None = None
        self._begin = 0.0
        self._blocks: queue.SimpleQueue[_Block | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="recorder", daemon=True)

    # ---- for the loop's thread -------------------------------------------------------------------

    def start(self, kubernetes: str) -> None:
        if kubernetes:
            versions = {**self._header.versions, "kubernetes": kubernetes}
            self._header = msgspec.structs.replace(self._header, versions=versions)
        self._thread.start()

    def take(self, block: _Block | None) -> None:
        """To be written; None: nothing comes any more."""
        self._blocks.put(block)

    @property
    def is_broken(self) -> bool:
        """Whether only a key frame can be written, in a new file."""
        return self.failure is not None

    @property
    def is_alive(self) -> bool:
        """Whether what it takes will be written; before it is started it will."""
        return self._thread.ident is None or self._thread.is_alive()

    def ended_within(self, seconds: float) -> bool:
        if self._thread.ident is not None:
            self._thread.join(seconds)
        return not self._thread.is_alive()

    # ---- the thread ------------------------------------------------------------------------------

    def _run(self) -> None:
        try:
            while (block := self._blocks.get()) is not None:
                self._write(block)
        except BaseException as error:
            self.failure = error  # nobody else would tell that this thread is no more
            raise
        finally:
            self._leave_file()

    def _write(self, block: _Block) -> None:
        """A block; what is raised on the way costs the rest of this file."""
        try:
            if block.kind == KEY_FRAME:
                self._begin_key_frame(block.milliseconds / 1000)
            if self._file is None:
                self.lost += _happened(block.changes)
            else:
                self._append(self._file, block)
                self.failure = None
        except FAULTS as error:
            self.lost += _happened(block.changes)
            self.failure = error
            self._leave_file()
        finally:
            self.changes += len(block.changes)
            self.key_frames += block.kind == KEY_FRAME

    def _begin_key_frame(self, seconds: float) -> None:
        """Its stretch is read without what was before, in the same file or in another."""
        self._encoder.restart()
        follows = 0.0
        if self._file is not None and self._files.is_full(self._file.size, self._begin, seconds):
            follows = self._begin
            self._leave_file()
        if self._file is None:
            self._file, self._begin = BlockWriter(self._files.begin(seconds)), seconds
            header = msgspec.structs.replace(self._header, begin=seconds, follows=follows)
            body = self._file.compress(HEADER, [msgspec.json.encode(header)])
            self._file.write(HEADER, 1, int(1000 * seconds), body)

    def _append(self, file: BlockWriter, block: _Block) -> None:
        lines = _Lines(self._encoder, block.entries)
        body = file.compress(block.kind, lines)
        self._files.make_room(len(body), block.milliseconds / 1000)
        before = file.size
        file.write(block.kind, lines.entries, block.milliseconds, body)
        self.written += file.size - before
        self.entries += lines.happened

    def _leave_file(self) -> None:
        file, self._file = self._file, None
        if file is not None:
            with contextlib.suppress(OSError):  # what failed fails again when it is closed
                file.close()


def _happened(entries: Iterable[Entry]) -> int:
    """How many of them are no marks of the recorder's own."""
    return sum(not isinstance(entry, Time | Gap) for entry in entries)


class _Lines:
    """Entries as bytes, some in each line; they are counted as this is iterated, once."""

    def __init__(self, encoder: EntryEncoder, entries: Iterable[Entry]) -> None:
        self.entries = self.happened = 0
        self._encoder = encoder
        self._rest = iter(entries)

    def __iter__(self) -> Iterator[bytes]:
        while some := list(islice(self._rest, _ENCODED_AT_ONCE)):
            self.entries += len(some)
            self.happened += _happened(some)
            yield self._encoder.encode(some) + b"\n"
