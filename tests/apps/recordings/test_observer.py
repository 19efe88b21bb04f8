"""`moorage record` and `moorage snapshot`: losses that are told, and what is printed.

What they see of a cluster is tested on one (tests/real/test_observer.py).
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import io
import json
import os
import signal
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any, cast

import pytest
from aiohttp import web

from moorage.adapters.recording import read_recording
from moorage.apps.exit_status import ExitStatus, NoAnswer, WrongUse
from moorage.apps.recordings import recording_commands
from moorage.apps.recordings.gap_marking import GapMarkingSink
from moorage.apps.recordings.observer import Losses, Progress, observe
from moorage.apps.recordings.observer_view import TerminalRecordingView
from moorage.apps.recordings.saving import finish, new_recorder
from moorage.apps.recordings.stretches import ReplayOptions
from moorage.apps.recordings.verification import replay
from moorage.apps.worlds.cluster_choice import ClusterChoice
from moorage.apps.worlds.deciding import in_tree_resolver
from moorage.apps.worlds.observed import ObservedNodes
from moorage.apps.worlds.world import empty_context
from moorage.core.columns.changes import Entry, Gap, NodePut, NodeRemoved, PodObserved, PodWaiting
from moorage.core.cycle.decisions import ProfileActivated, ProfileDeactivated, ProfileHeld
from moorage.core.framework.holds import SUSPENDED
from moorage.core.objects.meta import PartialObject
from moorage.core.objects.nodes import Node
from moorage.ports.kube import UnreadableObject
from tests.adapters.api_server import Answer, StubApiServer, answers, api_server, line, streams
from tests.apps.outputs.reading import read_output
from tests.apps.worlds.recordings import write_recording
from tests.builders import make_node

PROGRESS = Progress(11_520.0, 98_204, 1_204_118, 151_000_000, ("a", "b"), 0)


class Silence:
    """A view that nobody looks at, but for what was lost."""

    def __init__(self) -> None:
        self.told: list[str] = []

    def began(self, cluster: str, path: Path, warnings: Any) -> None: ...

    def goes_on(self, progress: Progress) -> None: ...

    def lost(self, text: str) -> None:
        self.told.append(text)

    def ended(self, path: Path, progress: Progress) -> None: ...


# ---- what is lost --------------------------------------------------------------------------------


def a_sink(*nodes: Node) -> tuple[GapMarkingSink, list[Entry]]:
    """Of nodes, that has listed these, and the journal from then on."""
    journal: list[Entry] = []
    sink = GapMarkingSink(ObservedNodes(empty_context(journal=journal).cache), journal)
    sink.list_started()
    for node in nodes:
        sink.put(node)
    assert not sink.list_ended()
    assert (sink.gaps, sink.is_listing) == (0, False)
    journal.clear()
    return sink, journal


ONE, TWO = make_node("one"), make_node("two")


def test_what_is_listed_anew_is_after_a_gap() -> None:
    """Until the list ends the state is not whole."""
    sink, journal = a_sink(ONE, TWO)
    sink.list_started()
    sink.put(TWO)
    assert (sink.gaps, sink.is_listing) == (1, True)
    sink.list_ended()
    assert journal == [Gap(0), NodeRemoved("one")]
    assert (sink.gaps, sink.is_listing) == (1, False)


def test_when_nothing_is_left_there_is_a_gap() -> None:
    """As when all nodes were replaced."""
    sink, journal = a_sink(ONE)
    sink.list_started()
    sink.list_ended()
    assert journal == [Gap(0), NodeRemoved("one")]


def test_a_list_that_fails_is_no_gap() -> None:
    """Nor is one of a kind that is not there: it is tried again and again."""
    sink, journal = a_sink(ONE)
    sink.list_started()
    assert (sink.gaps, sink.is_listing) == (0, False)
    empty, nothing = a_sink()
    for _ in range(3):
        empty.list_started()
    empty.list_ended()
    assert journal == nothing == []


def test_what_a_watch_brings_is_no_gap() -> None:
    """It comes when it happens."""
    sink, journal = a_sink(ONE)
    sink.put(TWO)
    sink.delete(TWO)
    sink.unreadable(UnreadableObject(PartialObject(TWO.metadata), "", "broken"), deleted=False)
    assert journal == [NodePut(TWO), NodeRemoved("two")]


@dataclasses.dataclass
class Feed:
    """An informer as far as is looked at it."""

    resource: str
    age: float = 0.0


def test_losses_are_told_once() -> None:
    """And that they are over; what the disk did not take, each time."""
    view, pods, nodes = Silence(), Feed("pods"), Feed("nodes")
    losses, feeds = Losses(view), cast(Any, [pods, nodes])
    for pods.age in (1.0, 89.0, 91.0, 200.0, 1.0, 2.0):
        losses.tell(feeds, 0, 0)
    assert view.told == ["nothing is heard of pods for 91 s", "pods are heard again"]
    for lost in (0, 5, 5, 12):
        losses.tell(feeds, 0, lost)
    assert view.told[2:] == [
        "5 changes are missing: the disk is too slow",
        "7 changes are missing: the disk is too slow",
    ]


def by_query(lists: list[Answer], watches: list[Answer]) -> Answer:
    """Gives the next list or the next watch, the last of each for ever."""

    async def answer(request: web.Request) -> web.StreamResponse:
        wanted = watches if "watch" in request.query else lists
        return await (wanted.pop(0) if len(wanted) > 1 else wanted[0])(request)

    return answer


def listed(version: int, *items: Any) -> Answer:
    """A list of these objects."""
    return answers({"metadata": {"resourceVersion": str(version)}, "items": items})


def script(server: StubApiServer) -> None:
    """A node, and a pod that waits; its watch is lost, and when it is listed anew it has a node."""
    meta = {"name": "p", "namespace": "d", "uid": "u"}
    waits = {"metadata": {**meta, "resourceVersion": "5"}, "spec": {}}
    bound = {"metadata": {**meta, "resourceVersion": "9"}, "spec": {"nodeName": "n"}}
    expired = line("ERROR", {"kind": "Status", "code": 410, "reason": "Expired"})
    silent = streams(30.0)
    node = {"metadata": {"name": "n", "resourceVersion": "1"}}
    pods = [listed(5, waits), listed(5, waits), listed(9, bound)]
    server.then("GET", "/version", answers({"gitVersion": "v1.36.1"}))
    server.then("GET", "/api/v1/nodes", by_query([listed(5, node)], [silent]))
    server.then("GET", "/api/v1/pods", by_query(pods, [streams(0.2, expired), silent]))


@contextlib.asynccontextmanager
async def scripted(folder: Path) -> AsyncIterator[tuple[StubApiServer, ClusterChoice]]:
    """A cluster of this script."""
    async with api_server() as server:
        script(server)
        document = {
            "current-context": "c",
            "clusters": [{"name": "c", "cluster": {"server": server.url}}],
            "contexts": [{"name": "c", "context": {"cluster": "c"}}],
        }
        (folder / "kubeconfig").write_text(json.dumps(document))
        yield server, ClusterChoice(str(folder / "kubeconfig"))


def test_ctrl_c_ends_it_before_the_first_list_is_there(tmp_path: Path) -> None:
    """As any other command: there is no file yet that should be whole."""
    path = tmp_path / "a.rec"

    async def scenario() -> None:
        async with scripted(tmp_path) as (server, choice):
            asked = asyncio.Event()

            async def never(request: web.Request) -> web.StreamResponse:
                asked.set()
                return await streams(30.0)(request)

            server.then("GET", "/api/v1/nodes", never)
            recording = asyncio.create_task(
                observe(choice, path, None, in_tree_resolver(), Silence())
            )
            await asked.wait()
            os.kill(os.getpid(), signal.SIGINT)
            async with asyncio.timeout(5):
                await recording

    with pytest.raises(KeyboardInterrupt):
        asyncio.run(scenario())
    assert not path.exists()


def test_a_watch_that_is_lost_stands_in_the_file(tmp_path: Path) -> None:
    """The API server forgot where it was: what comes then is a whole state again."""
    view, path = Silence(), tmp_path / "a.rec"

    async def scenario() -> None:
        async with scripted(tmp_path) as (_, choice):
            await observe(choice, path, 2.5, in_tree_resolver(), view)

    asyncio.run(scenario())
    assert any("which stands in the file as a gap" in text for text in view.told)
    recording = read_recording(path)
    assert recording.header.versions["kubernetes"] == "v1.36.1"
    entries = [entry for _, entry in recording]
    gap = entries.index(Gap(0))
    before, after = entries[:gap], entries[gap:]
    assert [type(entry) for entry in before] == [ProfileActivated, NodePut, PodWaiting]
    assert [type(entry) for entry in after[-3:]] == [ProfileActivated, NodePut, PodObserved]
    others = replay(path, in_tree_resolver, ReplayOptions(others=True))
    (unknown,) = others.gaps
    assert others.begin <= unknown.begin < unknown.end == recording.key_frames[-1]
    assert others.choices == []


def test_profiles_that_change_are_followed(tmp_path: Path) -> None:
    """Who decides from when on, as the profiles' objects say it."""
    path = tmp_path / "a.rec"
    kind = "/apis/moorage.dev/v1alpha1/schedulerprofiles"

    def profile(version: int, preset: str, **more: bool) -> dict[str, Any]:
        meta = {"name": "batch", "uid": "u", "resourceVersion": str(version)}
        return {"metadata": {**meta, "generation": version}, "spec": {"preset": preset, **more}}

    changed = line("MODIFIED", profile(6, "Spread", suspend=True))
    gone = line("DELETED", profile(7, "Spread"))

    async def scenario() -> None:
        async with scripted(tmp_path) as (server, choice):
            watch = streams(0.2, changed, 1.2, gone, 30.0)
            server.then("GET", kind, by_query([listed(5, profile(5, "BinPack"))], [watch]))
            await observe(choice, path, 3.0, in_tree_resolver(), Silence())

    asyncio.run(scenario())
    held = [entry for _, entry in read_recording(path) if isinstance(entry, ProfileHeld)]
    assert (held[0], held[-1]) == (ProfileHeld("batch", SUSPENDED), ProfileHeld("batch", None))
    told = [
        (entry.scheduler_name, entry.revision.id if entry.revision else "")
        if isinstance(entry, ProfileActivated)
        else (entry.scheduler_name, "-")
        for _, entry in read_recording(path)
        if isinstance(entry, ProfileActivated | ProfileDeactivated)
    ]
    # each whole state says it again
    changes = [one for one, before in zip(told, [None, *told], strict=False) if one != before]
    assert [name for name, _ in changes] == ["batch", "batch", "batch", "default-scheduler"]
    assert len({revision for _, revision in changes}) == 4
    assert changes[2][1] == "-"


# ---- files ---------------------------------------------------------------------------------------


def test_a_file_is_never_written_over(tmp_path: Path) -> None:
    """Nor is a folder made."""
    (tmp_path / "there").touch()
    with pytest.raises(WrongUse, match="is there already"):
        new_recorder(tmp_path / "there", in_tree_resolver())
    with pytest.raises(WrongUse, match="there is no folder"):
        new_recorder(tmp_path / "no" / "file", in_tree_resolver())


def test_a_disk_that_fails_is_no_answer(tmp_path: Path) -> None:
    """Whoever waits for the file must know."""
    path = tmp_path / "a.rec"
    recorder = new_recorder(path, in_tree_resolver())
    path.touch()
    recorder.start()
    recorder.put_key_frame([])
    with pytest.raises(NoAnswer, match=r"could not be written: .*File exists"):
        finish(recorder, path)


# ---- what is printed -----------------------------------------------------------------------------


class Terminal(io.StringIO):
    """One."""

    def isatty(self) -> bool:
        return True


def test_a_terminal_has_one_line_that_is_renewed(tmp_path: Path) -> None:
    """And is wiped before anything else is said."""
    out, progress = io.StringIO(), Terminal()
    view = TerminalRecordingView(3600.0, out, progress)
    view.began("https://there", tmp_path / "a.rec", ["no right to list services"])
    view.goes_on(PROGRESS)
    view.lost("pods are heard again")
    view.ended(tmp_path / "a.rec", PROGRESS)
    told = (
        "3h12m  98,204 arrivals  1,204,118 changes  151 MB  125 bytes a change  decisions of 2 "
        "schedulers"
    )
    assert progress.getvalue().startswith(f"\r\x1b[K  {told}\r\x1b[K")
    first, warning, wrote, following = out.getvalue().splitlines()
    assert first.startswith("Recording https://there with get, list and watch only. ")
    assert first.endswith(" or with Ctrl-C.")
    assert warning == "  no right to list services"
    assert wrote == f"Wrote {tmp_path / 'a.rec'}: {told}."
    assert following == f"Next: moorage replay {tmp_path / 'a.rec'} --others"


def test_elsewhere_there_is_a_line_a_minute() -> None:
    """As in a log."""
    progress = io.StringIO()
    view = TerminalRecordingView(None, io.StringIO(), progress)
    for seconds in range(150):
        view.goes_on(dataclasses.replace(PROGRESS, seconds=float(seconds), lost=3))
    lines = progress.getvalue().splitlines()
    assert [text.split()[0] for text in lines] == ["1m", "2m"]
    assert lines[0].endswith("3 lost")


# ---- the commands --------------------------------------------------------------------------------


def status_of(command: Callable[..., None], *arguments: Any, **flags: Any) -> int:
    """How a command ends."""
    with pytest.raises(SystemExit) as ended:
        command(*arguments, **flags)
    return int(ended.value.code or 0)


NOWHERE = {"kubeconfig": "/nowhere", "context": "", "config": None}


@pytest.mark.parametrize(
    ("duration", "want", "status"),
    [
        ("soon", "--for soon: ", ExitStatus.WRONG_USE),
        ("0s", "--for 0s: must be more than 0", ExitStatus.WRONG_USE),
        ("1h", "/nowhere: no such file", ExitStatus.NO_ANSWER),
    ],
)
def test_how_recording_can_fail(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    duration: str,
    want: str,
    status: ExitStatus,
) -> None:
    """One line on stderr, and a status that tells one kind from the other."""
    flags = {"output": tmp_path / "a.rec", "for_": duration, **NOWHERE}
    assert status_of(recording_commands.record, **flags) == status
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.startswith("moorage: ") and want in told.err
    assert told.err.count("\n") == 1


def test_a_snapshot_without_a_cluster_is_no_answer(capsys: pytest.CaptureFixture[str]) -> None:
    """And no file."""
    ended = status_of(recording_commands.snapshot, output=None, **NOWHERE)
    assert ended == ExitStatus.NO_ANSWER
    assert "no cluster to look at" in capsys.readouterr().err


def test_a_replay_has_three_ways_to_end(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Yes, wrong use, no answer, also where nothing is there to verify; a difference is the fourth
    (test_verification).
    """
    path, replay = write_recording(tmp_path / "a.rec", [NodePut(ONE)]), recording_commands.replay
    usual = {"verify": False, "keep_going": False, "others": False, "at": "", "all": False}
    usual |= {"config": None, "processes": None}
    begin = {**usual, "at": "2026-11-18T11:06:40Z"}
    assert status_of(replay, path, **usual, output="") == ExitStatus.YES
    assert status_of(replay, path, **begin, output="") == ExitStatus.YES
    assert "1 node, 0 pods on nodes, 0 that wait." in capsys.readouterr().out
    verify = {**usual, "verify": True}
    assert status_of(replay, path, **verify, output="json") == ExitStatus.NO_ANSWER
    assert read_output(capsys.readouterr().out)["kind"] == "Replay"
    assert status_of(replay, path, **begin, output="json") == ExitStatus.YES
    assert read_output(capsys.readouterr().out)["kind"] == "Moment"
    assert status_of(replay, path, **begin, output="yaml") == ExitStatus.YES
    assert "kind: Moment\n" in capsys.readouterr().out
    assert status_of(replay, tmp_path / "no", **usual, output="") == ExitStatus.NO_ANSWER
