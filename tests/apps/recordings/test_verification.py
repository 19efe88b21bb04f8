"""`moorage replay`: decisions made again, the first that differs explained, others' choices."""

from __future__ import annotations

import dataclasses
import io
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from rich.console import RenderableType

import moorage
from moorage.api.operator_config import OperatorConfiguration
from moorage.api.resolution import Resolver
from moorage.apps.exit_status import ExitStatus, NoAnswer
from moorage.apps.printing.terminal import open_console, write
from moorage.apps.recordings import verification_view
from moorage.apps.recordings.stretches import ReplayOptions
from moorage.apps.recordings.verification import Verification, replay
from moorage.apps.worlds.deciding import default_profile, in_tree_resolver
from moorage.apps.worlds.world import empty_context
from moorage.core.columns import changes
from moorage.core.columns.changes import Entry
from moorage.core.columns.nodes.node_table import Rows
from moorage.core.columns.snapshot import Snapshot
from moorage.core.cycle import cycle
from moorage.core.cycle.context import Diagnosis, ScheduleResult
from moorage.core.cycle.decisions import Decided, DecidedBy
from moorage.core.framework.interfaces import Scores
from moorage.core.framework.status import Code
from moorage.core.objects.pods import on_node
from moorage.core.plugins.intree import PRESETS
from moorage.core.plugins.node_resources.fit import NodeResourcesFit
from moorage.core.pods.requests import pod_requests
from moorage.core.recording.key_frames import key_frame
from tests.apps.outputs.reading import written
from tests.apps.worlds.recordings import RESOLVER, write_recording
from tests.builders import make_node, make_pod

REVISION = default_profile(RESOLVER).revision
VERIFY = ReplayOptions(verify=True)
OTHERS = ReplayOptions(others=True)


def happened(pods: int, **outcome: object) -> tuple[list[Entry], list[tuple[float, Entry]]]:
    """A state of three nodes, and pods that are decided and assumed one after another, one second
    each; ``outcome`` replaces what was decided of the second one.
    """
    context = empty_context()
    for name, cpu in (("large", "16"), ("middle", "8"), ("small", "2")):
        context.cache.put_node(make_node(name, cpu=cpu))
    state = list(key_frame(context.cache, {"test": REVISION}))
    journal: list[Entry] = []
    live = empty_context(journal=journal)
    for name, cpu in (("large", "16"), ("middle", "8"), ("small", "2")):
        live.cache.put_node(make_node(name, cpu=cpu))
    journal.clear()
    ends = []
    for number in range(pods):
        pod = make_pod(f"p{number}", cpu="1500m")
        live.cache.observe_waiting(pod, pod_requests(pod))
        decision = cycle.decide(pod, REVISION, live)
        if number == 1 and outcome:
            decision = dataclasses.replace(decision, **outcome)  # type: ignore[arg-type]  # fields
        journal.append(Decided(decision, DecidedBy.CYCLE))
        if isinstance(decision, ScheduleResult):
            live.cache.assume(on_node(pod, decision.node), decision.node, pod_requests(pod))
        ends.append(len(journal))
    at = [sum(i >= end for end in ends) for i in range(len(journal))]
    return state, list(zip(map(float, at), journal, strict=True))


def recorded(path: Path, pods: int = 5, **outcome: object) -> Path:
    """A recording of that."""
    state, entries = happened(pods, **outcome)
    return write_recording(path / "a.rec", state, *entries)


def printed(parts: Iterable[RenderableType]) -> str:
    """As it is without a terminal."""
    stream = io.StringIO()
    write(open_console(stream), *parts)
    return stream.getvalue()


def test_all_decisions_are_the_same(tmp_path: Path) -> None:
    """And it says how many, and how fast."""
    found = replay(recorded(tmp_path), in_tree_resolver, VERIFY)
    assert (found.decisions, found.same, found.differences) == (5, 5, [])
    assert verification_view.exit_status_of(found, VERIFY) == 0
    text = printed(verification_view.verification(found, everything=False))
    assert text.startswith("All 5 decisions of ours are the same, bit for bit. ")
    assert f"revisions {REVISION.id}\n" in text


def test_a_decision_that_differs_is_named(tmp_path: Path) -> None:
    """With its nodes, its scores, and the plugins that tell them apart."""
    found = replay(recorded(tmp_path, node="small"), in_tree_resolver, VERIFY)
    (difference,) = found.differences
    assert (difference.number, found.recorded_decisions, found.decisions) == (2, 5, 2)
    assert verification_view.exit_status_of(found, VERIFY) == 1
    text = printed(verification_view.verification(found, everything=False))
    assert text.startswith(
        "Differs at decision 2 of 5: default/p1 at 2026-11-18T11:06:41.000Z\n  recorded  small  "
    )
    assert "now  large" in text
    assert "\n  NodeResourcesFit: " in text
    assert "\n  Recorded with moorage 0.0.1, replayed with " in text
    assert f"The rules were those of kube-scheduler 1.36, now of {moorage.FOLLOWED}." in text
    found.recorded_by["kube-scheduler"] = moorage.FOLLOWED
    assert "rules" not in printed(verification_view.verification(found, everything=False))
    # what was decided then is what counts for those that follow
    going = ReplayOptions(keep_going=True)
    found = replay(tmp_path / "a.rec", in_tree_resolver, going)
    assert (found.decisions, len(found.differences)) == (5, 1)


def test_a_score_that_differs_is_named(tmp_path: Path) -> None:
    """A rule that counts otherwise shows at the node of then."""
    found = replay(recorded(tmp_path, score=7), in_tree_resolver, VERIFY)
    text = printed(verification_view.verification(found, everything=False))
    assert "had 7 then and has " in text


class LessByOne(NodeResourcesFit):
    """Gives each node one point less, of 100."""

    def score(self, state: Any, snapshot: Snapshot, rows: Rows) -> Scores:
        return super().score(state, snapshot, rows) - np.int64(1)


def test_a_rule_that_counts_otherwise_by_one_is_found(tmp_path: Path) -> None:
    """In each decision, though every pod goes where it went."""
    spec = dataclasses.replace(RESOLVER.registry["NodeResourcesFit"], decider=LessByOne)
    registry = {**RESOLVER.registry, "NodeResourcesFit": spec}
    other = Resolver(registry, PRESETS, OperatorConfiguration())
    found = replay(recorded(tmp_path), lambda: other, ReplayOptions(keep_going=True))
    assert (found.decisions, found.same) == (5, 0)
    for one in found.differences:
        was, now = one.then, one.now
        assert now is not None and was.score is not None
        assert (now.node, now.score) == (was.node, was.score - 1)


def test_a_byte_that_was_changed_is_told(tmp_path: Path) -> None:
    """Wherever it is: what it was is not made up."""
    path = recorded(tmp_path)
    whole = path.read_bytes()
    for place in range(0, len(whole), len(whole) // 40):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        try:
            found = replay(path, in_tree_resolver, VERIFY)
        except NoAnswer:
            continue
        assert not found.differences
        assert found.warnings and found.decisions < 5


def test_a_verdict_that_differs_is_named(tmp_path: Path) -> None:
    """A pod that found no node then, and one that went where it is refused now."""
    state, entries = happened(2)
    pod = make_pod("huge", cpu="99")
    refused = Diagnosis(
        pod=make_pod("p"),
        revision=REVISION,
        code=Code.UNSCHEDULABLE,
        message="0/3 nodes",
        unschedulable_plugins=frozenset({"NodeAffinity"}),
    )
    placed = ScheduleResult(pod, "small", REVISION, 3, 300)
    more: list[tuple[float, Entry]] = [
        (9.0, Decided(outcome, DecidedBy.CYCLE)) for outcome in (refused, placed)
    ]
    path = write_recording(tmp_path / "a.rec", state, *entries, *more)
    found = replay(path, in_tree_resolver, ReplayOptions(keep_going=True))
    assert [one.verdicts for one in found.differences] == [("NodeAffinity",), ("NodeResourcesFit",)]
    text = printed(verification_view.verification(found, everything=False))
    assert "recorded  no node (Unschedulable: 0/3 nodes)" in text
    assert "NodeResourcesFit: says otherwise whether a node takes the pod" in text


def test_what_cannot_be_made_again_is_counted(tmp_path: Path) -> None:
    """It is no difference."""
    state, entries = happened(1)
    nobody = Decided(Diagnosis.error(make_pod("p"), REVISION, "hung"), DecidedBy.NOBODY)
    found = replay(
        write_recording(tmp_path / "a.rec", state, *entries, (9, nobody)), in_tree_resolver, VERIFY
    )
    assert (found.decisions, found.not_made_again, found.differences) == (1, 1, [])
    text = printed(verification_view.verification(found, False))
    assert "1 could not be made again: 1 ended by the clock or a fault" in text


def recorded_of_others(folder: Path) -> Path:
    """Two pods that another scheduler bound, one of them where we would not."""
    state, _ = happened(0)
    entries: list[tuple[float, Entry]] = []
    for number, node in enumerate(("large", "small")):
        pod = make_pod(f"o{number}", cpu="1500m")
        pod = msgspec.structs.replace(
            pod, spec=msgspec.structs.replace(pod.spec, scheduler_name="default-scheduler")
        )
        seen = changes.PodObserved(on_node(pod, node))
        entries += [(number, changes.PodWaiting(pod)), (number + 0.1, seen)]
    return write_recording(folder / "o.rec", state, *entries)


def of_others(folder: Path) -> Verification:
    """What is found of them."""
    return replay(recorded_of_others(folder), in_tree_resolver, OTHERS)


def test_choices_of_others_are_a_table(tmp_path: Path) -> None:
    """How many are ours too, why the rest is not, and which these are."""
    found = of_others(tmp_path)
    lines = printed(verification_view.others(found, everything=False)).splitlines()
    assert lines[0] == "1 of 2 pods that others bound are on one of our best nodes (50.0%)."
    assert lines[2].split() == ["PODS", "VERDICT", "MEANS"]
    assert lines[3].split()[:3] == ["1", "other", "profile"]
    assert lines[-1].split()[:3] == ["default/o1", "small", "default-scheduler"]
    assert lines[-1].endswith("best under BinPack")
    text = printed(verification_view.verification(found, everything=False))
    nothing = "Nothing was verified: no decision of ours is in it, as an operator records them."
    assert text.startswith(nothing)
    assert verification_view.exit_status_of(found, VERIFY) == ExitStatus.NO_ANSWER
    assert verification_view.exit_status_of(found, ReplayOptions(verify=False)) == ExitStatus.YES
    assert "2 pods bound by default-scheduler: 1 on one of our best nodes, 1 not (--others)" in text


def test_it_is_told_how_far_a_replay_has_come(tmp_path: Path) -> None:
    """Now and then, as a share of the whole."""
    told: list[float] = []
    replay(recorded(tmp_path, pods=200), in_tree_resolver, VERIFY, told.append)
    assert told == sorted(told)
    assert len(told) > 3


def test_a_recording_says_what_it_holds(tmp_path: Path) -> None:
    """Where nothing else is asked."""
    path = recorded(tmp_path)
    found = replay(path, in_tree_resolver, ReplayOptions(verify=False))
    lines = printed(verification_view.contents(found, path)).splitlines()
    assert lines[0].endswith("2026-11-18T11:06:40.000Z to 2026-11-18T11:06:44.000Z.")
    assert lines[1].endswith("5 decisions of ours")
    assert lines[-1].startswith(f"Next: moorage replay {path} --verify ")
    assert found.decisions == 0
    lines = printed(verification_view.others(found, everything=False)).splitlines()
    assert lines == ["Nobody else bound a pod in it."]


def test_a_recording_of_others_leads_to_what_they_chose(tmp_path: Path) -> None:
    """Nothing of ours is in it that could be made again."""
    path = recorded_of_others(tmp_path)
    found = replay(path, in_tree_resolver, ReplayOptions(verify=False))
    *_, following = printed(verification_view.contents(found, path)).splitlines()
    assert following.startswith(f"Next: moorage replay {path} --others ")


def for_programs(path: Path, options: ReplayOptions = VERIFY) -> dict[str, Any]:
    """What ``-o json`` writes of a replay."""
    body = verification_view.replay_document(replay(path, in_tree_resolver, options), path, options)
    return written("Replay", body)


def test_programs_get_the_same(tmp_path: Path) -> None:
    """Empty lists are there, and the answer is that of what was asked."""
    found = for_programs(recorded(tmp_path))
    assert (found["decisions"], found["same"], found["differences"]) == (5, 5, [])
    assert found["firstDifference"] is None
    assert found["answer"] == "All 5 decisions of ours are the same, bit for bit."
    others = for_programs(recorded_of_others(tmp_path), OTHERS)
    assert [one["verdict"] for one in others["others"]] == ["best", "other profile"]
    assert others["answer"].startswith("1 of 2 pods that others bound")
    differs = for_programs(recorded_elsewhere(tmp_path))
    first = differs["firstDifference"]
    assert (first["pod"], first["recorded"]["node"]) == ("default/p1", "small")
    assert first["plugins"]
    assert differs["answer"].startswith("Differs at decision ")


def recorded_elsewhere(folder: Path) -> Path:
    """A recording that differs."""
    (folder / "other").mkdir()
    return recorded(folder / "other", node="small")


@pytest.mark.parametrize("everything", [False, True])
def test_long_lists_are_cut(tmp_path: Path, everything: bool) -> None:
    """Unless all of it is asked for."""
    found = of_others(tmp_path)
    found.choices *= 50
    text = printed(verification_view.others(found, everything))
    assert ("and 30 more (--all)" in text) is not everything
