"""Worlds from recordings and snapshots: the cluster as it was."""

from __future__ import annotations

import datetime
import os
import threading
from pathlib import Path

import pytest

from moorage.adapters.recording import RecordingHeader, RecordingRing, SingleFile
from moorage.adapters.recording.ring import PARTS
from moorage.apps.exit_status import NoAnswer, WrongUse
from moorage.apps.explain.one_pod import explain
from moorage.apps.recordings.moments import parse_moment
from moorage.apps.recordings.stretches import ReplayOptions, UnknownTime
from moorage.apps.recordings.verification import replay
from moorage.apps.worlds.deciding import default_profile, in_tree_resolver
from moorage.apps.worlds.from_recording import from_recording, opened
from moorage.apps.worlds.opening import open_world
from moorage.core.columns import changes
from moorage.core.cycle.decisions import ProfileActivated, ProfileHeld
from moorage.core.explaining.pending_pods import NO_LIMIT
from moorage.core.framework.holds import SUSPENDED
from moorage.core.objects.pods import on_node
from tests.apps.worlds.recordings import BEGIN, RESOLVER, write, write_recording
from tests.builders import make_node, make_pod

REVISION = default_profile(RESOLVER).revision
POD = make_pod("a")
STATE = [ProfileActivated("default-scheduler", REVISION), changes.NodePut(make_node("n"))]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A pod comes after one second and is on the node after two; a node comes after three."""
    return write_recording(
        tmp_path / "a.rec",
        STATE,
        (1, changes.PodWaiting(POD)),
        (2, changes.PodObserved(on_node(POD, "n"))),
        (3, changes.NodePut(make_node("m"))),
    )


@pytest.mark.parametrize(
    ("at", "want"),
    [
        (0.0, (["n"], 0, 0)),
        (1.0, (["n"], 1, 0)),
        (1.999, (["n"], 1, 0)),
        (2.5, (["n"], 0, 1)),
        (None, (["n", "m"], 0, 1)),
    ],
)
def test_a_moment_is_as_it_was(
    file: Path, at: float | None, want: tuple[list[str], int, int]
) -> None:
    """Nodes, waiting pods and pods on nodes; without a moment it is the end."""
    world = from_recording(file, RESOLVER.registry, None if at is None else BEGIN + at)
    cache = world.context.cache
    assert (list(cache.nodes.row_of), len(cache.waiting), len(cache)) == want
    assert {name: one.id for name, one in world.profiles.items()} == {
        "default-scheduler": REVISION.id
    }
    assert world.at.timestamp() == BEGIN + (3 if at is None else at)
    assert world.origin.startswith(f"{file}, as it was at 2026-11-18T11:06:4")
    assert not world.warnings


def test_pods_that_nobody_tries_are_known(tmp_path: Path) -> None:
    """And why, from when on and until when."""
    name = POD.spec.scheduler_name
    state = [ProfileActivated(name, REVISION), *STATE, changes.PodWaiting(POD)]
    held = ProfileHeld(name, SUSPENDED)
    released = ProfileHeld(name, None)
    path = write_recording(tmp_path / "a.rec", [*state, held], (2, released), (4, held))
    worlds = {at: from_recording(path, RESOLVER.registry, BEGIN + at) for at in (0, 2, 4)}
    assert {at: dict(world.holds) for at, world in worlds.items()} == {
        0: {name: SUSPENDED},
        2: {},
        4: {name: SUSPENDED},
    }
    verdicts = [explain(world, POD, RESOLVER, NO_LIMIT)["verdict"] for world in worlds.values()]
    assert [one == "Suspended" for one in verdicts] == [True, False, True]


def test_a_moment_before_the_begin_is_wrong_use(file: Path) -> None:
    """There is nothing to show."""
    with pytest.raises(WrongUse, match=r"begins at 2026-11-18T11:06:40\.000Z"):
        from_recording(file, RESOLVER.registry, BEGIN - 1)


def test_a_moment_after_the_end_is_said(file: Path) -> None:
    """The cluster may have been another by then."""
    world = from_recording(file, RESOLVER.registry, BEGIN + 60)
    assert world.warnings == ("nothing is recorded after 2026-11-18T11:06:43.000Z",)


def test_a_torn_file_is_read_up_to_there(file: Path) -> None:
    """And says so."""
    file.write_bytes(file.read_bytes()[:-3])
    (warning,) = from_recording(file, RESOLVER.registry).warnings
    assert warning.startswith("Readable until 2026-11-18T11:06:40.000Z; the last ")


def test_what_was_not_listed_is_said(tmp_path: Path) -> None:
    """By the file, as who reads it cannot know."""
    header = RecordingHeader(not_listed=("services",))
    world = from_recording(write_recording(tmp_path / "a", STATE, header=header), RESOLVER.registry)
    assert "no right to list services" in world.warnings[0]


@pytest.mark.parametrize(
    ("content", "want"),
    [
        (None, "cannot be read: No such file"),
        (b"kind: Pod", "this is no recording"),
        (b"moorage recording 99\n", "format 99"),
        (b"moorage recording 1\n", "ends within its header"),
    ],
)
def test_what_is_no_recording_is_no_answer(
    tmp_path: Path, content: bytes | None, want: str
) -> None:
    """One line says why."""
    if content is not None:
        (tmp_path / "x").write_bytes(content)
    with pytest.raises(NoAnswer, match=want):
        from_recording(tmp_path / "x", RESOLVER.registry)


def nodes_at(path: Path, at: float | None = None) -> list[str]:
    """Names of the nodes that were there so many seconds after BEGIN, or at the end."""
    world = from_recording(path, RESOLVER.registry, None if at is None else BEGIN + at)
    return list(world.context.cache.nodes.row_of)


def a_node(name: str) -> changes.NodePut:
    """One comes."""
    return changes.NodePut(make_node(name))


def test_a_moment_in_a_gap_cannot_be_opened(tmp_path: Path) -> None:
    """The next one that can is named: what a gap leaves is an empty cluster, which it was not."""
    file = tmp_path / "a.rec"
    lost = (5, changes.Gap(3)), (5, a_node("late")), (6, STATE)
    write(SingleFile(file), (0, STATE), (1, a_node("m")), *lost)
    assert [nodes_at(file, at) for at in (0.5, 1, 6)] == [["n"], ["n", "m"], ["n"]]
    for at in (1.001, 4.999, 5, 5.999):
        with pytest.raises(WrongUse, match=r"from .*:41\.000Z to .*:46\.000Z, the next moment"):
            nodes_at(file, at)


def test_what_follows_a_gap_at_the_end_is_not_shown(tmp_path: Path) -> None:
    """The last moment before it is, and that is told."""
    file = tmp_path / "a.rec"
    write(SingleFile(file), (0, STATE), (5, changes.Gap(3)), (5, a_node("late")))
    world = from_recording(file, RESOLVER.registry)
    assert (list(world.context.cache.nodes.row_of), world.at.timestamp()) == (["n"], BEGIN)
    assert "the last moment before it" in world.warnings[0]
    with pytest.raises(WrongUse, match=r"nor of anything after .*:40\.000Z"):
        nodes_at(file, 7)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two files of one process, of which the second goes on from the first, one of the process that
    led after it, and one in which there is nothing yet.
    """
    path = tmp_path / "ring"
    ring = RecordingRing(path, 10**6, 10.0 * PARTS)
    later = [*STATE, a_node("m")]
    write(ring, (0, STATE), (1, a_node("m")), (11, later), (12, a_node("k")))
    write(ring, (20, STATE), (21, a_node("l")), header=RecordingHeader(replica="other"))
    (path / "20261118T110800.000000Z.rec").write_bytes(b"moorage recording 1\n")
    (path / "notes.txt").write_text("not ours")
    return path


def test_a_folder_is_one_recording(folder: Path) -> None:
    """Any moment of its files can be opened, but for those between two that are not one."""
    assert len(list(folder.glob("*.rec"))) == 4
    moments = (0, 1, 10.5, 11, 12, 20, 21, None)
    found = [nodes_at(folder, at) for at in moments]
    before = [["n"], ["n", "m"], ["n", "m"], ["n", "m"], ["n", "m", "k"]]
    assert found == [*before, ["n"], ["n", "l"], ["n", "l"]]
    with pytest.raises(WrongUse, match=r"from .*:52\.000Z to .*:07:00\.000Z, the next moment"):
        nodes_at(folder, 13)
    with pytest.raises(WrongUse, match="begins at"):
        nodes_at(folder, -1)
    world = open_world([folder], RESOLVER, at="11:06:41")
    assert len(world.context.cache.nodes) == 2


def test_a_replay_of_a_folder_tells_its_gaps(folder: Path) -> None:
    """One, and what goes on in the next file is none."""
    found = replay(folder, in_tree_resolver, ReplayOptions())
    assert found.gaps == [UnknownTime(BEGIN + 12, BEGIN + 20)]
    assert (found.begin, found.end) == (BEGIN, BEGIN + 21)
    assert found.entries["NodePut"] == 5
    assert len(found.warnings) == 1 and "is left out" in found.warnings[0]


def test_a_file_of_a_folder_that_was_damaged_ends_in_a_gap(folder: Path) -> None:
    """Whatever the next one says."""
    first = min(folder.glob("*.rec"))
    first.write_bytes(first.read_bytes()[:-1])
    found = replay(folder, in_tree_resolver, ReplayOptions())
    assert [gap.end for gap in found.gaps] == [BEGIN + 11, BEGIN + 20]
    assert any(f"of {first.name} are torn" in warning for warning in found.warnings)
    assert nodes_at(folder, 12) == ["n", "m", "k"]


def test_a_folder_without_recordings_is_no_answer(tmp_path: Path) -> None:
    """It says why."""
    with pytest.raises(NoAnswer, match="no recording in this folder can be read"):
        from_recording(tmp_path, RESOLVER.registry)
    (tmp_path / "20261118T110800.000000Z.rec").write_bytes(b"moorage recording 99\n")
    with pytest.raises(NoAnswer, match=r"can be read: 20261118T.*rec is left out: .*format 99"):
        from_recording(tmp_path, RESOLVER.registry)


def test_a_world_is_opened_from_what_is_named(file: Path, tmp_path: Path) -> None:
    """A recording by its first bytes, all else as YAML."""
    (tmp_path / "n.yaml").write_text("{apiVersion: v1, kind: Node, metadata: {name: y}}")
    world = open_world([file], RESOLVER, at="11:06:41")
    assert (len(world.context.cache.waiting), world.at.timestamp()) == (1, BEGIN + 1)
    world = open_world([tmp_path / "n.yaml"], RESOLVER)
    assert list(world.context.cache.nodes.row_of) == ["y"]
    with pytest.raises(WrongUse, match="cannot be joined"):
        open_world([file, tmp_path / "n.yaml"], RESOLVER)
    with pytest.raises(WrongUse, match="--at names a moment"):
        open_world([tmp_path / "n.yaml"], RESOLVER, at="11:06:41")


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("2026-11-18T11:06:41Z", BEGIN + 1),
        ("2026-11-18T12:06:41+01:00", BEGIN + 1),
        ("2026-11-18T11:06:41", BEGIN + 1),
        ("11:06:41.5", BEGIN + 1.5),
        ("11:07", BEGIN + 20),
        ("11:06:39", BEGIN + 86_399),
    ],
)
def test_moments_as_people_type_them(text: str, want: float) -> None:
    """A time of day is the first one since the recording began."""
    assert parse_moment(text, "--at", BEGIN) == want


@pytest.mark.parametrize("text", ["soon", "25:00", "11:06:41 Z", "9999-12-31T23:59:59-23:00"])
def test_what_is_no_moment_is_wrong_use(text: str) -> None:
    """With an example of one."""
    with pytest.raises(WrongUse, match=f"--at {text}: no time; write it as 20"):
        parse_moment(text, "--at", BEGIN)
    with pytest.raises(WrongUse):
        parse_moment("11:06:41", "--at")


def test_times_are_utc(file: Path) -> None:
    """Whatever the machine's zone is."""
    assert from_recording(file, RESOLVER.registry).at.tzinfo is datetime.UTC


def test_a_pipe_says_why_it_cannot_be_opened(tmp_path: Path) -> None:
    """A recording is read in any order, as a shell's `<(...)` cannot be."""
    recorded, pipe = tmp_path / "a.rec", tmp_path / "pipe"
    write_recording(recorded, [])
    os.mkfifo(pipe)
    writing = threading.Thread(target=lambda: pipe.write_bytes(recorded.read_bytes()))
    writing.start()
    with pytest.raises(NoAnswer, match=r"pipe cannot be read: .*not seekable"):
        opened(pipe, RESOLVER.registry)
    writing.join()
