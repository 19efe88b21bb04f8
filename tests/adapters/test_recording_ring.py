"""The ring on disk: the newest recordings, within bounds."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moorage.adapters.recording import Recorder, RecordingHeader, read_recording
from moorage.adapters.recording.ring import PARTS, RecordingRing
from moorage.core.columns.changes import PodRemoved
from moorage.core.recording.wire import EntryEncoder

MAX_BYTES = 800
MAX_AGE = 1000.0
BEGIN = 1_790_000_000.25


class WrittenRing:
    """A ring, and what a recorder does with it."""

    def __init__(self, folder: Path, seconds: float = BEGIN) -> None:
        self.folder = folder
        self.ring = RecordingRing(folder, MAX_BYTES, MAX_AGE)
        self.open(seconds)

    def open(self, seconds: float) -> None:
        """Another file."""
        before = set(self.folder.glob("*.rec"))
        self.ring.begin(seconds).close()
        (self.path,) = {*self.folder.glob("*.rec")} - before
        self.size, self.begun = 0, seconds

    def write(self, size: int, seconds: float, *, key_frame: bool = True) -> None:
        """A block."""
        if key_frame and self.ring.is_full(self.size, self.begun, seconds):
            self.open(seconds)
        self.ring.make_room(size, seconds)
        with self.path.open("ab") as file:
            file.write(b"x" * size)
        self.size += size

    @property
    def sizes(self) -> list[int]:
        """Of its files, the oldest first."""
        return [path.stat().st_size for path in sorted(self.folder.iterdir())]


def test_files_are_named_by_their_begin(tmp_path: Path) -> None:
    """In UTC; only the owner can read them, or look for them."""
    ring = WrittenRing(tmp_path / "ring")
    (path,) = ring.folder.iterdir()
    assert path.name == "20260921T141320.250000Z.rec"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(ring.folder.stat().st_mode) == 0o700


def test_the_oldest_go_when_it_is_full(tmp_path: Path) -> None:
    """A file is full at an eighth of what there may be; other files are nobody's business."""
    ring = WrittenRing(tmp_path)
    (tmp_path / "notes.txt").write_bytes(b"y" * 5000)
    for i in range(30):
        ring.write(50, BEGIN + i)
    (tmp_path / "notes.txt").unlink()
    assert ring.sizes == [MAX_BYTES // PARTS] * PARTS
    ring.write(50, BEGIN + 30)
    assert ring.sizes == [100] * (PARTS - 1) + [50]


def test_the_oldest_go_when_their_time_is_over(tmp_path: Path) -> None:
    """Measured from their end, which is the begin of the next."""
    ring = WrittenRing(tmp_path)
    for seconds in (0, 130, 260):
        ring.write(1, BEGIN + seconds)
    assert len(ring.sizes) == 3
    ring.write(1, BEGIN + 1130, key_frame=False)
    assert len(ring.sizes) == 3
    ring.write(1, BEGIN + 1130.5, key_frame=False)
    assert len(ring.sizes) == 2


@given(st.lists(st.tuples(st.integers(1, 120), st.floats(0.01, 200), st.booleans()), max_size=60))
def test_it_is_never_larger_than_it_may_be(
    tmp_path_factory: pytest.TempPathFactory, blocks: list[tuple[int, float, bool]]
) -> None:
    """Whatever is written; where one file alone would be, that is an error."""
    ring, seconds = WrittenRing(tmp_path_factory.mktemp("ring")), BEGIN
    for size, passed, key_frame in blocks:
        seconds += passed
        if ring.size + size > MAX_BYTES and not key_frame:
            with pytest.raises(OSError, match="takes more than 800 bytes"):
                ring.write(size, seconds, key_frame=key_frame)
            return
        ring.write(size, seconds, key_frame=key_frame)
        assert sum(ring.sizes) <= MAX_BYTES


def test_a_clock_that_was_ahead_costs_no_recording(tmp_path: Path) -> None:
    """Files that it named for times to come give way like others, and never the one that is
    written, nor the last ones before it.
    """
    ahead = WrittenRing(tmp_path, BEGIN + 1e7)
    for i in range(PARTS):
        ahead.write(100, BEGIN + 1e7 + i)
    ring = WrittenRing(tmp_path)
    for i in range(PARTS):
        ring.write(100, BEGIN + 1 + i)
    names = sorted(path.name for path in tmp_path.iterdir())
    assert len(names) == PARTS
    assert all(name.startswith("20260921T1413") for name in names)


def test_a_clock_that_is_set_back_does_not_change_the_order(tmp_path: Path) -> None:
    """What was written later is read later, whatever its name says; a ring of files has an end."""
    clock = [BEGIN]
    ring, header = RecordingRing(tmp_path, 1600, MAX_AGE), RecordingHeader(replica="m")
    recorder = Recorder(ring, header, EntryEncoder(lambda _: {}), lambda: clock[0])
    recorder.start()
    for number in range(4):
        recorder.put_key_frame([PodRemoved(f"state-{number}")])
        recorder.append(PodRemoved(f"{number}"))
        recorder.flush()
        while recorder.key_frame_waits:
            pass
        clock[0] += -60 if number == 1 else 1
    assert recorder.close(10)
    assert len(list(tmp_path.iterdir())) == 4
    told = [entry.uid for _, entry in read_recording(tmp_path) if isinstance(entry, PodRemoved)]
    assert told == ["state-0", "0", "1", "2", "3"]


def test_what_vanished_is_an_error(tmp_path: Path) -> None:
    """The file, or the folder with the disk that it was on: so that it is told, and begun anew."""
    ring = WrittenRing(tmp_path / "ring")
    next(ring.folder.iterdir()).unlink()
    with pytest.raises(FileNotFoundError, match="was removed"):
        ring.write(1, BEGIN)
    ring.folder.rmdir()
    with pytest.raises(FileNotFoundError):
        ring.write(1, BEGIN)
    ring.open(BEGIN + 1)
    ring.write(1, BEGIN + 1)
    with pytest.raises(FileNotFoundError):
        RecordingRing(tmp_path / "disk" / "ring", MAX_BYTES, MAX_AGE).begin(BEGIN)


def test_a_process_goes_on_with_the_ring_of_the_one_before(tmp_path: Path) -> None:
    """Its files count, and go, as if it had written them."""

    def lived(life: int) -> WrittenRing:
        ring = WrittenRing(tmp_path, BEGIN + life)
        ring.write(90, BEGIN + life)
        return ring

    *_, ring = map(lived, range(20))
    assert ring.sizes == [90] * (MAX_BYTES // 90)
