"""Comparisons: a recorded time beside the same time under other revisions."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from hypothesis import given, settings

from moorage.core.columns import changes
from moorage.core.columns.changes import Gap, NodePut, PodAssumed, PodForgotten, PodRemoved
from moorage.core.cycle.context import CycleContext
from moorage.core.cycle.decisions import ProfileActivated
from moorage.core.objects.pods import off_node, on_node
from moorage.core.recording.key_frames import key_frame
from moorage.core.simulation import world_comparisons
from moorage.core.simulation.compared_measures import REPLICAS, ComparedMeasure, compared
from moorage.core.simulation.measures import EMPTY_NODES, WAITING, Measure
from moorage.core.simulation.recorded_times import Binding, Follower, Timed, recorded_time
from moorage.core.simulation.rerun import Rerun
from moorage.core.simulation.world_comparisons import ALL_LOOKS, LEAST_LOOKS, WorldComparison
from tests.builders import make_node
from tests.core.simulation.chance import compared_by_chance, crowded
from tests.core.simulation.clusters import REVISIONS, a_context, a_pod, contexts
from tests.core.simulation.comparisons import compare
from tests.core.simulation.recordings import Visit, recorded, visits
from tests.engine.worlds import RESOLVER, a_body

BINPACK = {"test": RESOLVER(a_body("test", preset="BinPack"), {}).revision}
NODES = [make_node(f"n{i}", cpu="8", memory="16Gi") for i in range(8)]


def test_packing_leaves_more_nodes_empty() -> None:
    """The same pods, for as long: only where they are is another matter."""
    steady = [Visit(10.0 * i, a_pod(f"p{i}", cpu="1"), 55.0) for i in range(1, 200)]
    found = compare(recorded(a_context(NODES), steady, 2100.0), 0, BINPACK)
    empty = next(one for one in found.measures if one.measure == EMPTY_NODES)
    assert empty.interval is not None and empty.interval.clear and empty.interval.low > 3
    waiting = next(one for one in found.measures if one.measure == WAITING)
    assert waiting.interval is not None and not waiting.interval.clear
    assert (found.arrivals, found.moved.placed, found.moved_again) == (199, 199, (199, 0))
    assert found.moved.elsewhere > 100


@settings(max_examples=30)
@given(contexts(), visits())
def test_a_world_does_not_differ_from_itself(context: CycleContext, some: list[Visit]) -> None:
    """Whatever happens in it: with the revision that decided, it happens again."""
    for uid in list(context.cache.waiting):
        context.cache.remove(uid)
    found = compare(recorded(context, some, 100.0), 0, REVISIONS)
    assert found.moved == found.moved_again == (found.moved.placed, 0)
    assert not [one for one in found.measures if one.interval and one.interval.difference]
    assert not found.only_b and len(found.waiting_b) == found.waiting_a


def test_waits_are_of_arrivals() -> None:
    """A pod waits for the one before it to end; B has it wait as long."""
    context = a_context([make_node("n", cpu="1")])
    found = compare(
        recorded(
            context, [Visit(1.0, a_pod("a", cpu="1"), 50.0), Visit(2.0, a_pod("b", cpu="1"))], 100.0
        ),
        0,
        {},
    )
    longest = next(one for one in found.measures if one.measure == Measure("wait, p99", "s"))
    assert (
        longest.a == longest.b and longest.a is not None and longest.a == pytest.approx(48.5, 0.1)
    )


def test_a_pod_that_waits_longer_ends_later() -> None:
    """B has nobody run beside the first pod, so the second one comes late, and is still there."""
    context = a_context([make_node("n", cpu="2")])
    some = [Visit(1.0, a_pod("a", cpu="1"), 50.0), Visit(2.0, a_pod("b", cpu="1"), 10.0)]
    entries = recorded(context, some, 56.0)
    narrow: Timed = (0.5, NodePut(make_node("n", cpu="1")))
    begin = [entry for time, entry in entries if time == 0]
    found = recorded_time([*entries[: len(begin)], narrow, *entries[len(begin) :]])
    follower = Follower(0)
    for entry in begin:
        follower.follow(entry)
    rerun = Rerun(found, follower.replay.context, REVISIONS, {})
    rerun.run((), lambda _: None)
    assert (found.bound["uid-b"].time, rerun.bound["uid-b"].time) == (2.0, 51.0)
    assert follower.replay.context.cache.pod_info("uid-b") is not None


def test_nodes_that_come_and_go() -> None:
    """Pods of a node that goes are made again."""
    entries = recorded(a_context([make_node("n", cpu="1")]), [Visit(1.0, a_pod("a", cpu="1"))], 9.0)
    later = [(10.0, NodePut(make_node("m", cpu="1"))), (11.0, changes.NodeRemoved("n"))]
    found = compare([*entries, *later, (12.0, changes.NodeRemoved("n"))], 0, {})
    assert (found.moved, found.waiting_b) == ((1, 1), ())


def test_pods_of_the_begin_did_not_come() -> None:
    """How long they have waited nobody knows."""
    context = a_context([make_node("n", cpu="1")], [a_pod("big", cpu="2")])
    found = compare(recorded(context, [Visit(50.0, a_pod("a", cpu="1"))], 100.0), 0, {})
    assert (found.arrivals, found.waiting_a, len(found.waiting_b)) == (1, 1, 1)
    longest = next(one for one in found.measures if one.measure == Measure("wait, p99", "s"))
    assert longest.a == longest.b == 0.0


def test_pods_of_other_schedulers_go_where_they_went() -> None:
    """Beside a candidate that has no say about them; they end when they ended."""
    context = a_context([make_node("n0", cpu="2"), make_node("n1", cpu="2")])
    foreign = on_node(a_pod("foreign", cpu="2", scheduler_name="other"), "n0")
    waits = off_node(foreign)
    entries = recorded(context, [Visit(10.0, a_pod("a", cpu="2")), Visit(20.0, a_pod("b"))], 40.0)
    seen: list[Timed] = [
        (1.0, changes.PodWaiting(waits)),
        (2.0, changes.PodObserved(foreign)),
        (30.0, changes.PodRemoved(foreign.metadata.uid)),
    ]
    found = compare(sorted([*entries, *seen], key=lambda one: one[0]), 0, REVISIONS)
    assert [one[0].metadata.name for one in found.waiting_b] == []
    longest = next(one for one in found.measures if one.measure == Measure("wait, p99", "s"))
    assert longest.b == 5.0, "a waits for nobody; b, in another window, 10 s for the foreign pod"


def test_whoever_stands_in_for_a_scheduler_that_is_not_recorded() -> None:
    """Has A again, so waits are of two reruns; without one A's pods are where they were."""
    entries = recorded(a_context(NODES), [Visit(5.0, a_pod("a"))], 40.0)
    foreign = [one for one in entries if not isinstance(one[1], ProfileActivated)]
    assert compare(foreign, 0, BINPACK, REVISIONS).moved_again == (1, 0)
    assert compare(foreign, 0, BINPACK).moved_again == (0, 0)


def test_what_is_recorded_after_a_gap_is_left_out() -> None:
    entries = recorded(a_context(NODES), [Visit(1.0, a_pod("a"))], 9.0)
    found = compare([*entries, (10.0, Gap(3)), *entries], 0, {})
    assert found.cut_short and found.seconds == 9.0


def test_nothing_to_compare() -> None:
    with pytest.raises(ValueError, match="nothing is recorded"):
        compare([], 0, {})


def test_what_is_known_of_a_pod() -> None:
    """Its binding is the first of what was decided and what was seen, unless that was taken
    back.
    """
    pod = a_pod("p")
    bound = on_node(pod, "n1")
    begin: list[Timed] = [(0.0, entry) for entry in key_frame(a_context(NODES).cache, {})]
    entries: list[Timed] = [
        *begin,
        (1.0, changes.PodWaiting(pod)),
        (2.0, PodAssumed(bound, "n1")),
        (3.0, PodForgotten("uid-p")),
        (4.0, PodAssumed(bound, "n1")),
        (5.0, changes.PodObserved(bound)),
        (9.0, PodRemoved("uid-p")),
    ]
    found = recorded_time(entries)
    assert found.bound == {"uid-p": Binding(4.0, "n1")}
    assert (found.duration("uid-p"), found.arrived) == (5.0, {"uid-p": 1.0})


def clear(measures: Iterable[ComparedMeasure]) -> int:
    """How many of them differ clearly."""
    return sum(one.interval is not None and one.interval.clear for one in measures)


def test_chance_is_seldom_called_a_difference() -> None:
    """Any node that fits, in both worlds, and pods that run for eight windows: of the differences
    one of twenty at most is to be clear. In 120 cases 20 of 600 are, by windows alone 262; so few
    cases as here have 5 or 6 in 100, as the measures of one case are clear together.
    """
    cases = [compared_by_chance(seed, 80.0, 200.0) for seed in range(40)]
    differ = sum(one.a != one.b for found in cases for one in found.measures)
    assert sum(clear(one.measures) for one in cases) <= 0.08 * differ
    assert sum(clear(compared(one.windows_a, one.windows_b)) for one in cases) > 0.3 * differ


def test_it_gets_surer_with_each_replica() -> None:
    """The first comparison is by two, the last by all; looks are told as many as are made."""
    looks: list[str] = []
    entries = crowded(1, 80.0, 200.0)
    found: list[WorldComparison] = []
    for one in world_comparisons.compare(entries, 1, BINPACK, lambda *told: looks.append(told[0])):
        if not found:
            assert len(looks) == LEAST_LOOKS
        found.append(one)
    assert [one.replicas for one in found] == list(range(2, REPLICAS + 1))
    assert len(looks) == ALL_LOOKS and looks.count("A") == looks.count("B") == 120
    assert clear(found[0].measures) < clear(found[-1].measures)
    for each in found:
        empty = next(one for one in each.measures if one.measure == EMPTY_NODES)
        assert empty.a is not None and empty.b is not None and empty.interval is not None
        assert empty.interval.difference == pytest.approx(empty.b - empty.a)
