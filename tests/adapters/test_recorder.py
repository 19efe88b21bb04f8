"""The recorder: what is appended can be read again, and what is missing is told."""

from __future__ import annotations

import io
import stat
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import pytest

from moorage.adapters.recording import (
    Recorder,
    Recording,
    RecordingFiles,
    RecordingHeader,
    SingleFile,
    read_recording,
)
from moorage.adapters.recording.recorder import BLOCK_ENTRIES, MAX_PENDING
from moorage.api.operator_config import OperatorConfiguration
from moorage.api.resolution import Resolver
from moorage.core.columns.changes import Entry, Gap, PodRemoved, PodStuck
from moorage.core.cycle.decisions import ProfileActivated, ProfileDeactivated
from moorage.core.framework.interfaces import ExtensionPoint
from moorage.core.framework.registry import PluginSpec, build_registry
from moorage.core.plugins.intree import INTREE, PRESETS
from moorage.core.recording.wire import EntryEncoder
from tests.engine.worlds import a_body

HEADER = RecordingHeader(versions={"moorage": "1"}, seed=7, replica="r", not_listed=("leases",))


class Disk(RecordingFiles):
    """Files in a folder, each ``write`` of which goes through ``on_write`` first."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.begun: list[Path] = []
        self.full_at = 2**20

    def begin(self, seconds: float) -> BinaryIO:
        self.begun.append(self.folder / f"{len(self.begun)}.rec")
        return ObservedFile(self, self.begun[-1])

    def is_full(self, size: int, begin: float, seconds: float) -> bool:
        return size > self.full_at

    def make_room(self, size: int, seconds: float) -> None:
        pass

    def on_write(self) -> None:
        """Raises what the disk does, or waits."""


class ObservedFile(io.FileIO):
    def __init__(self, disk: Disk, path: Path) -> None:
        super().__init__(path, "wb")
        self._disk = disk

    def write(self, content: object, /) -> int:
        self._disk.on_write()
        return super().write(content)  # type: ignore[arg-type]  # bytes


class FailingDisk(Disk):
    """Fails at these writes, counted from 1, with this."""

    def __init__(self, folder: Path, error: BaseException, *writes: int) -> None:
        super().__init__(folder)
        self._error, self._failing, self._writes = error, writes, 0

    def on_write(self) -> None:
        self._writes += 1
        if self._writes in self._failing:
            raise self._error


class HeldDisk(Disk):
    """Writes nothing until it may; then this is raised, if anything."""

    def __init__(self, folder: Path, error: BaseException | None = None) -> None:
        super().__init__(folder)
        self.may_write = threading.Event()
        self._error = error

    def on_write(self) -> None:
        assert self.may_write.wait(30)
        if self._error is not None:
            raise self._error


def a_recorder(files: RecordingFiles) -> tuple[Recorder, list[float]]:
    """With its clock."""
    clock = [100.0]
    return Recorder(files, HEADER, EntryEncoder(lambda _: {}), lambda: clock[0]), clock


def entries(recording: Recording) -> list[Entry]:
    """All of a recording."""
    return [entry for _, entry in recording]


def written(recorder: Recorder) -> None:
    """Wait until the writer has done what it was given."""
    recorder.flush()
    for _ in range(2000):
        if recorder._writer.changes == recorder._handed and not recorder.key_frame_waits:
            return
        threading.Event().wait(0.005)
    raise AssertionError("the writer is too slow")


@pytest.fixture
def quiet_thread() -> Iterator[None]:
    """A thread may end by an exception."""
    before, threading.excepthook = threading.excepthook, lambda _: None
    yield
    threading.excepthook = before


def test_entries_are_read_in_order_each_with_its_time(tmp_path: Path) -> None:
    recorder, clock = a_recorder(SingleFile(tmp_path / "a.rec"))
    recorder.start()
    recorder.put_key_frame([PodRemoved("whole state")])
    recorder.append(PodStuck("a"))
    clock[0] = 100.5
    recorder.append(PodStuck("b"))
    recorder.append(PodStuck("c"))
    recorder.flush()
    clock[0] = 102.25
    recorder.append(PodStuck("d"))
    assert recorder.close(10)
    recording = read_recording(tmp_path / "a.rec")
    assert list(recording) == [
        (100.0, PodRemoved("whole state")),
        (100.0, PodStuck("a")),
        (100.5, PodStuck("b")),
        (100.5, PodStuck("c")),
        (102.25, PodStuck("d")),
    ]
    assert (recorder.lost, recorder.entries, recorder.failure) == (0, 5, None)
    assert recording.torn is None


def test_a_recording_says_where_it_is_from(tmp_path: Path) -> None:
    """And only its owner can read it."""
    recorder, _ = a_recorder(SingleFile(tmp_path / "a.rec"))
    recorder.start()
    recorder.put_key_frame([])
    assert recorder.close(10)
    header = read_recording(tmp_path / "a.rec").header
    assert (header.versions, header.seed, header.begin) == ({"moorage": "1"}, 7, 100.0)
    assert (header.replica, header.not_listed) == ("r", ("leases",))
    assert stat.S_IMODE((tmp_path / "a.rec").stat().st_mode) == 0o600


def test_a_recording_begins_with_a_key_frame(tmp_path: Path) -> None:
    """What was before is in it, so none of it is lost."""
    recorder, _ = a_recorder(SingleFile(tmp_path / "a.rec"))
    recorder.start()
    assert recorder.key_frame_due
    recorder.append(PodStuck("a"))
    recorder.put_key_frame([PodRemoved("whole state")])
    assert not recorder.key_frame_due
    assert recorder.close(10)
    assert entries(read_recording(tmp_path / "a.rec")) == [PodRemoved("whole state")]
    assert recorder.lost == 0


def test_a_recording_is_opened_at_a_moment(tmp_path: Path) -> None:
    """From the last key frame before it; before the first one, from that. Later ones say nothing
    new.
    """
    recorder, clock = a_recorder(SingleFile(tmp_path / "a.rec"))
    recorder.start()
    for number in range(3):
        clock[0] = 100.0 + 60 * number
        written(recorder)
        recorder.put_key_frame([PodRemoved(f"state {number}")])
        recorder.append(PodStuck(f"after {number}"))
    assert recorder.close(10)
    after = [PodStuck(f"after {number}") for number in range(3)]
    for at, first in ((None, 0), (7.0, 0), (100.0, 0), (159.9, 0), (160.0, 1), (1e9, 2)):
        recording = read_recording(tmp_path / "a.rec", at)
        assert entries(recording) == [PodRemoved(f"state {first}"), *after[first:]]
        assert recording.key_frames == (100.0, 160.0, 220.0)


def test_what_a_full_queue_has_no_room_for_is_a_gap(tmp_path: Path) -> None:
    """The recording goes on with the next key frame, and says how many entries are missing."""
    disk = HeldDisk(tmp_path)
    recorder, _ = a_recorder(disk)
    recorder.start()
    recorder.put_key_frame([PodRemoved("first")])
    for number in range(MAX_PENDING + 2 * BLOCK_ENTRIES):
        recorder.append(PodStuck(str(number)))
        if recorder.lost:
            break
    else:
        raise AssertionError("all had room")
    lost = recorder.lost
    recorder.append(PodStuck("unheard"))
    assert recorder.lost == lost + 1
    assert not recorder.key_frame_due  # the first one waits still
    disk.may_write.set()
    written(recorder)
    assert recorder.key_frame_due
    recorder.put_key_frame([PodRemoved("second")])
    assert recorder.close(30)
    read = entries(read_recording(disk.begun[0]))
    place = read.index(Gap(recorder.lost))
    assert read[place + 1] == PodRemoved("second")
    assert sum(isinstance(entry, PodStuck) for entry in read) + recorder.lost == number + 2


def test_one_key_frame_waits_at_a_time(tmp_path: Path) -> None:
    """Each is a whole cluster."""
    disk = HeldDisk(tmp_path)
    recorder, _ = a_recorder(disk)
    recorder.start()
    for number in range(3):
        recorder.put_key_frame([PodRemoved(str(number))])
    disk.may_write.set()
    assert recorder.close(10)
    recording = read_recording(disk.begun[0])
    assert (entries(recording), len(recording.key_frames)) == ([PodRemoved("0")], 1)


@pytest.mark.parametrize("error", [OSError(28, "No space left"), SystemExit(), KeyError()])
def test_a_failing_disk_costs_recording_until_the_next_key_frame(
    tmp_path: Path, error: BaseException
) -> None:
    """Whatever it raises. What was written stays readable, and another file goes on."""
    disk = FailingDisk(tmp_path, error, 3)  # after header and key frame
    recorder, _ = a_recorder(disk)
    recorder.start()
    recorder.put_key_frame([PodRemoved("first")])
    written(recorder)
    recorder.append(PodStuck("a"))
    recorder.append(PodStuck("b"))
    written(recorder)
    assert recorder.failure is error
    assert recorder.key_frame_due
    recorder.append(PodStuck("c"))
    recorder.flush()
    assert recorder.lost == 3
    recorder.put_key_frame([PodRemoved("second")])
    recorder.append(PodStuck("d"))
    assert recorder.close(10)
    assert (recorder.failure, recorder.lost) == (None, 3)
    assert entries(read_recording(disk.begun[0])) == [PodRemoved("first")]
    assert entries(read_recording(disk.begun[1])) == [PodRemoved("second"), PodStuck("d")]


def test_what_waits_behind_a_key_frame_that_fails_is_lost(tmp_path: Path) -> None:
    disk = FailingDisk(tmp_path, OSError(30, "Read-only file system"), 1, 2)
    recorder, _ = a_recorder(disk)
    recorder.put_key_frame([PodRemoved("first")])
    recorder.append(PodStuck("a"))
    recorder.flush()
    recorder.start()
    written(recorder)
    assert (recorder.lost, recorder.key_frame_due) == (1, True)
    recorder.put_key_frame([PodRemoved("second")])
    assert not recorder.close(10)
    assert recorder.lost == 1


@pytest.mark.usefixtures("quiet_thread")
def test_a_dead_writer_is_noticed(tmp_path: Path) -> None:
    """Nothing piles up for it, and it is told."""
    recorder, _ = a_recorder(FailingDisk(tmp_path, GeneratorExit(), 1))
    recorder.start()
    recorder.put_key_frame([PodRemoved("first")])
    recorder._writer._thread.join(10)
    assert isinstance(recorder.failure, GeneratorExit)
    assert not recorder.key_frame_due
    for number in range(3 * BLOCK_ENTRIES):
        recorder.append(PodStuck(str(number)))
    recorder.put_key_frame([PodRemoved("second")])
    assert recorder.lost == 3 * BLOCK_ENTRIES
    assert recorder._writer._blocks.qsize() == 0
    assert not recorder.close(1)


@pytest.mark.usefixtures("quiet_thread")
def test_a_writer_that_dies_before_a_key_frame_is_noticed(tmp_path: Path) -> None:
    """Nothing piles up behind it."""
    disk = HeldDisk(tmp_path)
    recorder, _ = a_recorder(disk)
    recorder.start()
    disk.may_write.set()
    recorder.put_key_frame([PodRemoved("first")])
    written(recorder)
    disk.may_write.clear()
    disk._error = GeneratorExit()
    recorder.append(PodStuck("a"))
    recorder.flush()
    recorder.put_key_frame([PodRemoved("second")])
    disk.may_write.set()
    recorder._writer._thread.join(10)
    assert recorder.key_frame_waits
    for number in range(3 * BLOCK_ENTRIES):
        recorder.append(PodStuck(str(number)))
    assert recorder._writer._blocks.qsize() == 1
    assert recorder.lost >= 2 * BLOCK_ENTRIES


def test_a_full_file_is_followed_by_another_at_a_key_frame(tmp_path: Path) -> None:
    """So that each can be read without the others."""
    disk = Disk(tmp_path)
    recorder, _ = a_recorder(disk)
    recorder.start()
    disk.full_at = 0
    for number in range(2):
        recorder.put_key_frame([PodRemoved(str(number))])
        recorder.append(PodStuck("a"))
        recorder.flush()
        recorder.append(PodStuck("b"))
        written(recorder)
    assert recorder.close(10)
    for number, path in enumerate(disk.begun):
        read = entries(read_recording(path))
        assert read == [PodRemoved(str(number)), PodStuck("a"), PodStuck("b")]
    assert len(disk.begun) == 2


def test_a_key_frame_is_made_by_the_writer(tmp_path: Path) -> None:
    """A few entries at a time, and counted."""
    threads = set[str]()

    def made() -> Iterator[Entry]:
        for i in range(100):
            threads.add(threading.current_thread().name)
            yield PodRemoved(str(i))

    recorder, _ = a_recorder(SingleFile(tmp_path / "a.rec"))
    recorder.start()
    recorder.put_key_frame(made())
    recorder.append(PodStuck("a"))
    assert recorder.close(10)
    assert threads == {"recorder"}
    assert (recorder.entries, recorder.changes) == (101, 1)
    read = read_recording(tmp_path / "a.rec")
    assert entries(read) == [*(PodRemoved(str(i)) for i in range(100)), PodStuck("a")]


def test_each_gap_tells_of_what_is_missing_there(tmp_path: Path) -> None:
    recorder, _ = a_recorder(SingleFile(tmp_path / "a.rec"))
    recorder.start()
    recorder.put_key_frame([])
    for lost in (2, 3):
        recorder._whole = False  # as after a queue that was full
        for _ in range(lost):
            recorder.append(PodStuck("a"))
        written(recorder)
        recorder.put_key_frame([])
    assert recorder.close(10)
    assert entries(read_recording(tmp_path / "a.rec")) == [Gap(2), Gap(3)]


def test_profiles_are_made_again_as_the_operator_made_them(tmp_path: Path) -> None:
    """With its values for what they leave out, and extenders at hosts that it allowed; None where a
    plugin is not installed.
    """
    settings = {"percentageOfNodesToScore": 37, "extenders": {"allowedHosts": ["asked.example"]}}
    config = OperatorConfiguration.model_validate(settings)
    strange = PluginSpec("Strange", None, acts_at=frozenset({ExtensionPoint.PRE_BIND}))
    registry = build_registry(INTREE, [strange])
    resolver = Resolver(registry, PRESETS, config)
    extenders = [
        {"urlPrefix": "https://asked.example/", "filterVerb": "f", "tlsConfig": {"insecure": True}}
    ]
    plugins = {"preBind": {"enabled": [{"name": "Strange"}]}}
    body = a_body("test", extenders=extenders, plugins=plugins)
    revision = resolver(body, {}).revision
    header = RecordingHeader(percentage_of_nodes_to_score=37)
    files = SingleFile(tmp_path / "a.rec")
    recorder = Recorder(files, header, EntryEncoder(resolver.document), lambda: 1.0)
    recorder.start()
    recorder.put_key_frame([ProfileActivated("test", revision)])
    written(recorder)
    recorder.put_key_frame([ProfileActivated("test", revision)])
    recorder.append(ProfileActivated("test", revision))
    recorder.append(ProfileDeactivated("test"))
    assert recorder.close(10)
    first, second, last = entries(read_recording(tmp_path / "a.rec", registry=registry))
    assert isinstance(first, ProfileActivated) and first.revision is not None
    assert first.revision.percentage_of_nodes_to_score == 37
    assert first.revision.extenders == revision.extenders
    assert first.revision.id == revision.id
    assert second == first  # the very same, though it is named anew
    assert last == ProfileDeactivated("test")
    without = entries(read_recording(tmp_path / "a.rec"))
    assert without[0] == ProfileActivated("test", None)


def test_the_end_waits_for_a_slow_disk_only_so_long(tmp_path: Path) -> None:
    disk = HeldDisk(tmp_path)
    recorder, _ = a_recorder(disk)
    recorder.start()
    recorder.put_key_frame([])
    assert not recorder.close(0.05)
    disk.may_write.set()
    assert recorder.close(10)


def test_a_file_is_never_written_over(tmp_path: Path) -> None:
    path = tmp_path / "a.rec"
    path.write_bytes(b"another's")
    recorder, _ = a_recorder(SingleFile(path))
    recorder.start()
    recorder.put_key_frame([])
    assert not recorder.close(10)
    assert isinstance(recorder.failure, FileExistsError)
    assert path.read_bytes() == b"another's"
