"""Recordings on disk: what was written is read, up to where a file is whole."""

from __future__ import annotations

import io
import itertools
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from moorage.adapters.recording import (
    Recorder,
    RecordingHeader,
    SingleFile,
    UnreadableRecording,
    read_recording,
)
from moorage.adapters.recording.blocks import (
    FIRST_LINE,
    FORMAT,
    HEADER,
    KEY_FRAME,
    MAX_MILLISECONDS,
    BlockWriter,
    read_heads,
)
from moorage.core.columns.changes import (
    Entry,
    Gap,
    ObjectPut,
    ObjectRemoved,
    PodObserved,
    PodRemoved,
    PodStuck,
)
from moorage.core.objects.meta import PartialObject
from moorage.core.recording.wire import EntryEncoder
from tests.builders import make_pod


def a_recording(path: Path) -> list[Entry]:
    """Some key frames, pods and a gap; what is to be read of it."""
    clock = [100.0]
    files, header = SingleFile(path), RecordingHeader(versions={"moorage": "1"})
    recorder = Recorder(files, header, EntryEncoder(lambda _: {}), lambda: clock[0])
    heard: list[Entry] = []
    for number in range(3):
        state = [PodObserved(make_pod(f"p{number}-{i}")) for i in range(5)]
        recorder.put_key_frame(state)
        if number == 0:
            recorder.start()
            heard += state
        for i in range(3):
            clock[0] += 0.25
            heard.append(PodStuck(f"{number}-{i}"))
            recorder.append(heard[-1])
            recorder.flush()
        while recorder.key_frame_waits:
            pass
    recorder.append(PodRemoved("last"))
    assert recorder.close(10)
    return [*heard, PodRemoved("last")]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, bytes, list[Entry]]:
    path = tmp_path_factory.mktemp("recording") / "whole.rec"
    heard = a_recording(path)
    return path, path.read_bytes(), heard


def read(path: Path, content: bytes) -> tuple[list[Entry], str]:
    """What can be read of it, and why not more."""
    path.write_bytes(content)
    try:
        recording = read_recording(path)
    except UnreadableRecording as error:
        return [], str(error)
    entries = [entry for _, entry in recording]
    return entries, str(recording.torn or "")


def test_what_was_written_is_read(recorded: tuple[Path, bytes, list[Entry]]) -> None:
    path, content, heard = recorded
    assert read(path, content) == (heard, "")


def test_a_file_that_ends_anywhere_is_read_up_to_there(
    recorded: tuple[Path, bytes, list[Entry]],
) -> None:
    """By whole blocks, and it says where it ends. Every length is tried."""
    path, content, heard = recorded
    heads, _ = read_heads(io.BytesIO(content))
    ends = {*(head.offset for head in heads[1:]), len(content)}
    known = 0
    for length in range(len(content)):
        entries, why = read(path, content[:length])
        assert entries == heard[: len(entries)]
        assert len(entries) >= known
        known = len(entries)
        assert bool(why) == (length not in ends)
    assert known == len(heard) - 1


def is_older(content: bytes) -> bool:
    """Whether it says to be of a format before, of which all can be read."""
    older = [b"moorage recording %d\n" % one for one in range(1, FORMAT)]
    return content[: len(FIRST_LINE)] in older


def test_a_recording_of_a_format_before_is_read(
    recorded: tuple[Path, bytes, list[Entry]],
) -> None:
    """What it has is written as it was."""
    path, content, heard = recorded
    older = b"moorage recording 1\n" + content.removeprefix(FIRST_LINE)
    assert is_older(older)
    assert read(path, older) == (heard, "")


@given(st.data())
def test_a_byte_that_was_changed_is_found(
    recorded: tuple[Path, bytes, list[Entry]], data: st.DataObject
) -> None:
    """What stands before its block is read, nothing of it."""
    path, content, heard = recorded
    place = data.draw(st.integers(0, len(content) - 1))
    changed = bytearray(content)
    changed[place] ^= data.draw(st.integers(1, 255))
    assume(not is_older(bytes(changed)))
    entries, why = read(path, bytes(changed))
    assert why
    assert entries == heard[: len(entries)]
    assert len(entries) < len(heard)


def test_another_format_is_refused_by_a_sentence(tmp_path: Path) -> None:
    for line, why in {
        b"moorage recording 3\n": "format 3, and this moorage reads formats 1 to 2: .* a newer",
        b"moorage recording 0\n": "format 0, and this moorage reads formats 1 to 2: .* an older",
        b"PK\x03\x04": "no recording of moorage",
        b"": "no recording of moorage",
        FIRST_LINE: "ends within its header",
    }.items():
        (tmp_path / "a.rec").write_bytes(line)
        with pytest.raises(UnreadableRecording, match=why):
            read_recording(tmp_path / "a.rec")


def test_entries_of_another_version_end_the_reading(tmp_path: Path) -> None:
    """Where they stand, and it says so."""
    a_recording(tmp_path / "a.rec")
    with (tmp_path / "a.rec").open("ab") as file:
        strange = BlockWriter(io.BytesIO())
        body = strange.compress(KEY_FRAME, [b'[[99,"what"]]\n'])
        strange._file, strange.size = file, 1
        strange.write(KEY_FRAME, 1, 0, body)
    recording = read_recording(tmp_path / "a.rec")
    assert list(recording)[-1][1] == PodRemoved("last")
    assert "cannot read" in str(recording.torn)


def test_a_block_holds_no_more_than_memory_does(tmp_path: Path) -> None:
    """However few its bytes are: whoever made the file may mean to fill it."""
    with (tmp_path / "a.rec").open("wb") as file:
        writer = BlockWriter(file)
        writer.write(HEADER, 1, 5, writer.compress(HEADER, [b"{}"]))
        body = writer.compress(KEY_FRAME, itertools.repeat(bytes(2**20), 128))
        writer.write(KEY_FRAME, 1, 5, body)
    assert len(body) < 2**16
    recording = read_recording(tmp_path / "a.rec")
    assert list(recording) == []
    assert "bytes hold more than" in str(recording.torn)


def test_objects_of_an_unknown_kind_are_left_out(tmp_path: Path) -> None:
    """As where the package of the plugin that reads them is not installed."""
    recorder = Recorder(
        SingleFile(tmp_path / "a.rec"), RecordingHeader(), EntryEncoder(lambda _: {}), lambda: 1.0
    )
    recorder.start()
    recorder.put_key_frame([ObjectPut(PartialObject()), PodRemoved("known")])
    recorder.append(ObjectRemoved(PartialObject, "a"))
    assert recorder.close(10)
    recording = read_recording(tmp_path / "a.rec")
    assert [entry for _, entry in recording] == [PodRemoved("known")]
    assert recording.torn is None


def test_after_a_gap_comes_a_whole_state(tmp_path: Path) -> None:
    """It is where the gap's time is."""
    recorder = Recorder(
        SingleFile(tmp_path / "a.rec"), RecordingHeader(), EntryEncoder(lambda _: {}), lambda: 1.0
    )
    recorder.start()
    recorder.put_key_frame([PodRemoved("first")])
    recorder._whole = False  # as after a queue that was full
    recorder.append(PodStuck("a"))
    while recorder.key_frame_waits:
        pass
    recorder.put_key_frame([PodRemoved("second")])
    assert recorder.close(10)
    read = [entry for _, entry in read_recording(tmp_path / "a.rec")]
    assert read == [PodRemoved("first"), Gap(1), PodRemoved("second")]


@pytest.mark.parametrize(
    "header",
    [
        b'{"percentageOfNodesToScore": 101}',
        b'{"seed": 18446744073709551616}',
        b'{"seed": -1}',
        b"[]",
        b"{",
    ],
    ids=bytes.decode,
)
def test_a_header_that_no_recorder_writes(tmp_path: Path, header: bytes) -> None:
    """Its sums are right all the same: what it says is checked as well."""
    with (tmp_path / "a.rec").open("wb") as file:
        writer = BlockWriter(file)
        writer.write(HEADER, 1, 5, writer.compress(HEADER, [header]))
    with pytest.raises(UnreadableRecording, match="header is damaged"):
        read_recording(tmp_path / "a.rec")


def test_times_that_cannot_be_shown_are_torn() -> None:
    """A recording is readable up to there."""
    file = io.BytesIO()
    writer = BlockWriter(file)
    for milliseconds in (5, MAX_MILLISECONDS, MAX_MILLISECONDS + 1):
        writer.write(KEY_FRAME, 1, milliseconds, writer.compress(KEY_FRAME, [b"[]"]))
    file.seek(0)
    heads, torn = read_heads(file)
    assert [head.milliseconds for head in heads] == [5, MAX_MILLISECONDS]
    assert torn is not None and "after the year 9999" in torn.why
