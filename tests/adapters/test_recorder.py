"""The recorder: what is appended can be read again, and a gap is told."""

from __future__ import annotations

import io
from collections.abc import Iterator

from moorage.adapters.recording import BLOCK_ENTRIES, MAX_PENDING, Recorder
from moorage.adapters.recording.blocks import MAGIC, BlockReader, BlockWriter
from moorage.core.columns.changes import Entry, PodRemoved, PodStuck
from moorage.core.recording.wire import EntryDecoder, EntryEncoder, Gap, Time, frames


class FullDisk(io.BytesIO):
    """A disk that is full after so many writes."""

    def __init__(self, room: int) -> None:
        super().__init__()
        self.room = room

    def write(self, content: object, /) -> int:
        self.room -= 1
        if self.room < 0:
            raise OSError(28, "No space left on device")
        return super().write(content)  # type: ignore[arg-type]  # bytes


def a_recorder(file: io.BytesIO) -> tuple[Recorder, list[OSError], list[float]]:
    """With a clock, and where it says what failed."""
    failures: list[OSError] = []
    clock = [100.0]
    made = Recorder(
        BlockWriter(file), EntryEncoder(lambda _: {}), lambda: clock[0], failures.append
    )
    return made, failures, clock


def read(file: io.BytesIO) -> Iterator[Entry]:
    """All entries."""
    decoder = EntryDecoder([], lambda _: None)
    for block in BlockReader(io.BytesIO(file.getvalue())).blocks():
        for frame in frames(block.content):
            yield from decoder.decode(frame)


def test_entries_are_read_in_order_each_after_its_time() -> None:
    file = io.BytesIO()
    recording, failures, clock = a_recorder(file)
    recording.start()
    recording.put_key_frame([PodRemoved("whole state")])
    recording.append(PodStuck("a"))
    clock[0] = 100.5
    recording.append(PodStuck("b"))
    recording.append(PodStuck("c"))
    assert recording.close(10)
    assert list(read(file)) == [
        PodRemoved("whole state"),
        Time(100_000),
        PodStuck("a"),
        Time(100_500),
        PodStuck("b"),
        PodStuck("c"),
    ]
    assert recording.written == len(file.getvalue()) - len(MAGIC)
    assert (recording.lost, failures) == (0, [])


def test_nothing_is_written_before_a_key_frame() -> None:
    """As it could not be read; it is missing."""
    file = io.BytesIO()
    recording, _, _ = a_recorder(file)
    recording.start()
    assert recording.key_frame_due
    recording.append(PodStuck("a"))
    recording.put_key_frame([])
    assert not recording.key_frame_due
    assert recording.close(10)
    assert (list(read(file)), recording.lost) == ([Gap(1)], 1)


def test_what_a_full_queue_has_no_room_for_is_a_gap() -> None:
    """The recording goes on with the next key frame, and says how many entries are missing."""
    file = io.BytesIO()
    recording, _, _ = a_recorder(file)
    recording.put_key_frame([PodRemoved("first")])
    for number in range(MAX_PENDING + 2 * BLOCK_ENTRIES):
        recording.append(PodStuck(str(number)))
        if recording.key_frame_due:
            break
    else:
        raise AssertionError("all had room")
    lost = recording.lost
    recording.append(PodStuck("unheard"))
    assert recording.lost == lost + 1
    recording.put_key_frame([PodRemoved("second")])
    recording.start()
    assert recording.close(30)
    entries = list(read(file))
    place = entries.index(Gap(recording.lost))
    assert entries[place + 1] == PodRemoved("second")
    kept = sum(isinstance(entry, PodStuck) for entry in entries)
    assert kept + recording.lost == number + 2


def test_a_full_disk_ends_the_recording_and_nothing_else() -> None:
    file = FullDisk(2)
    recording, failures, _ = a_recorder(file)
    recording.start()
    recording.put_key_frame([PodRemoved("whole state")])
    recording.append(PodStuck("a"))
    recording.flush()
    assert recording.close(10)
    recording.append(PodStuck("b"))
    assert [error.errno for error in failures] == [28]
    assert list(read(file)) == [PodRemoved("whole state")]
