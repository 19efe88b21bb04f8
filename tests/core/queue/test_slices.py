"""Many parked pods: hints are asked about all that are alike at once, pods move a few at a time,
and nobody is lost or overtaken.
"""

from __future__ import annotations

import pytest

from moorage.core.columns.store import Lister
from moorage.core.framework.cluster_events import (
    ActionType,
    ClusterEvent,
    ClusterEventWithHint,
    EventResource,
)
from moorage.core.objects.pods import Pod
from moorage.core.queue.moves import BACKOFF_COMPLETE, PROFILE_UPDATED, UNSCHEDULABLE_TIMEOUT
from moorage.core.queue.pending_moves import MAX_SLICES_WITHOUT_POP, MOVES_PER_SLICE
from moorage.core.queue.queued_pod import QueueState
from tests.core.queue.helpers import (
    ANYTHING,
    GATE,
    NODE_ADDED,
    NODE_DELETED,
    Rig,
    node_relabelled,
    relabelled,
)
from tests.core.queue.test_pod_group_members import declared, member

MANY = 2 * MOVES_PER_SLICE + MOVES_PER_SLICE // 2


def parked(count: int, *wakes: ClusterEventWithHint) -> Rig:
    """So many pods, p0, p1, … of three templates, refused by Size, or by Some with these wakes;
    their backoff is over.
    """
    rig, plugin = Rig(Some=wakes), "Some" if wakes else "Size"
    for i in range(count):
        rig.now += 0.001
        rig.add(f"p{i}", app=str(i % 3))
        rig.pop()
        rig.refuse(f"p{i}", plugin)
    rig.pass_time(2)
    return rig


def catch_up(rig: Rig) -> list[int]:
    """Move all that are due; how many in each slice."""
    moved = []
    while rig.queue.moves_pending:
        moved.append(rig.queue.flush(rig.now))
    return moved


# ---- asking --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("shared", "questions"), [(True, 3), (False, 30)], ids=["shared", "its own"]
)
def test_how_often_a_hint_is_asked(shared: bool, questions: int) -> None:
    """Once for each template if it is shared, else for each pod; both free the same pods."""
    asked: list[str] = []

    def hint(pod: Pod, event: ClusterEvent, _store: Lister) -> bool:
        asked.append(pod.metadata.name)
        return (pod.metadata.labels or {}).get("app") == "1"

    rig = parked(30, ClusterEventWithHint(EventResource.NODE, ActionType.ADD, hint, shared))
    assert rig.wake(NODE_ADDED) == 10
    assert len(asked) == questions
    assert rig.order() == [f"p{i}" for i in range(1, 30, 3)]
    assert rig.queue.unschedulable_counts() == [("test", "Some", 20)]


@pytest.mark.parametrize("itself", [True, False], ids=["itself", "others"])
def test_the_pod_that_an_event_is_about_is_asked_alone(itself: bool) -> None:
    """Its answer is no answer for those that are like it, nor theirs for it."""

    def hint(pod: Pod, event: ClusterEvent, _store: Lister) -> bool:
        assert event.new is not None
        return (event.new.metadata.uid == pod.metadata.uid) is itself

    rig = parked(
        9,
        ClusterEventWithHint(
            EventResource.POD, ActionType.UPDATE_POD_LABEL, hint, shared_by_signature=True
        ),
    )
    event = ClusterEvent(
        EventResource.ASSIGNED_POD,
        ActionType.UPDATE_POD_LABEL,
        rig.entry("p3").pod,
        rig.entry("p3").pod,
    )
    assert rig.wake(event) == (1 if itself else 8)
    assert (rig.place("p3") is QueueState.ACTIVE) is itself


def test_a_failing_shared_hint_frees_all_it_was_asked_for() -> None:
    """It is reported once."""

    def broken(pod: Pod, event: ClusterEvent, _store: Lister) -> bool:
        raise ZeroDivisionError(pod.metadata.name)

    rig = parked(
        30,
        ClusterEventWithHint(EventResource.NODE, ActionType.ADD, broken, shared_by_signature=True),
    )
    assert rig.wake(NODE_ADDED) == 30
    assert [name for _, name, _ in rig.failures] == ["p0", "p1", "p2"]


def test_an_updated_pod_is_asked_about_as_it_is_now() -> None:
    """Not with those that it was like before; its place among the longest in is kept."""
    rig = Rig()
    for name in "abc":
        rig.add(name, wants="x")
        rig.pop()
        rig.refuse(name, "Picky")
    rig.pass_time(1)
    rig.queue.update(relabelled(rig.entry("a").pod, wants="y"), rig.now)
    assert rig.wake(node_relabelled("y")) == 1
    assert rig.place("a") is QueueState.ACTIVE
    assert rig.wake(node_relabelled("x")) == 2


def test_a_hint_of_its_own_beside_a_shared_one() -> None:
    """Either is enough."""
    rig = parked(
        4,
        ClusterEventWithHint(
            EventResource.NODE, ActionType.ADD, lambda *_: False, shared_by_signature=True
        ),
        _named("p2"),
    )
    assert rig.wake(NODE_ADDED) == 1
    assert rig.place("p2") is QueueState.ACTIVE


def _named(name: str) -> ClusterEventWithHint:
    def hint(pod: Pod, event: ClusterEvent, _store: Lister) -> bool:
        return pod.metadata.name == name

    return ClusterEventWithHint(EventResource.NODE, ActionType.ADD, hint)


# ---- moving --------------------------------------------------------------------------------------


def test_freed_pods_move_in_slices() -> None:
    """Nobody is popped before all have moved, so the most important one goes first although it
    moves last.
    """
    rig = parked(MANY)
    rig.refused("vip", "Size", priority=5)
    rig.pass_time(2)
    assert rig.wake(NODE_ADDED) == MOVES_PER_SLICE
    assert rig.queue.moves_pending
    assert rig.queue.next_deadline(rig.now) == rig.now
    assert rig.queue.pop(rig.now) is None
    catch_up(rig)
    assert rig.order() == ["vip", *(f"p{i}" for i in range(MANY))]


def test_nobody_waits_for_ever_more_pods_to_move() -> None:
    """Whoever is ready is popped after a while, although it is not known whether it is his turn."""
    rig = parked(MOVES_PER_SLICE * (MAX_SLICES_WITHOUT_POP + 10))
    rig.add("ready")
    rig.now += 2
    rig.wake(NODE_ADDED)
    looks = next(i for i in range(1000) if rig.pop(early=False) is not None)
    assert looks == MAX_SLICES_WITHOUT_POP - 1
    assert rig.queue.moves_pending


def test_a_burst_of_events_asks_about_freed_pods_once() -> None:
    """They are on their way, so further events move nobody and meet nobody."""
    asked: list[str] = []

    def hint(pod: Pod, event: ClusterEvent, _store: Lister) -> bool:
        asked.append(pod.metadata.name)
        return True

    rig = parked(
        MANY,
        ClusterEventWithHint(EventResource.NODE, ActionType.ADD, hint, shared_by_signature=True),
    )
    assert rig.wake(NODE_ADDED, NODE_ADDED, NODE_ADDED) == MOVES_PER_SLICE
    assert asked == ["p0", "p1", "p2"]
    assert rig.queue.unschedulable_counts() == [("test", "Some", MANY - MOVES_PER_SLICE)]
    assert catch_up(rig) == [MOVES_PER_SLICE, MANY - 2 * MOVES_PER_SLICE]


def test_what_happens_to_freed_pods_before_they_move() -> None:
    """One goes, one changes, all others and the one that changed go on; none of them twice."""
    rig = parked(MANY)
    rig.wake(NODE_ADDED)
    gone, changed, *_ = (
        entry.pod.metadata.name
        for entry in rig.queue.entries()
        if entry.state is QueueState.UNSCHEDULABLE
    )
    rig.queue.remove(f"uid-{gone}")
    rig.queue.update(relabelled(rig.entry(changed).pod, app="new"), rig.now)
    rig.wake(NODE_DELETED)
    catch_up(rig)
    assert sorted(rig.order()) == sorted({f"p{i}" for i in range(MANY)} - {gone})


def test_a_profile_that_is_suspended_holds_freed_pods() -> None:
    """And lets them go on when it is back."""
    rig = parked(MANY)
    view = rig.view
    rig.wake(NODE_ADDED)
    rig.queue.set_profile("test", None, rig.now)
    assert catch_up(rig) == [0]
    assert rig.queue.counts("test").unserved == MANY
    rig.queue.set_profile("test", view, rig.now)
    assert rig.queue.counts("test").active == MANY


def test_pods_that_two_plugins_free_move_once() -> None:
    """Whoever frees them first."""
    rig = Rig()
    for i in range(MANY):
        rig.add(f"p{i}", wants="x")
        rig.pop()
        rig.refuse(f"p{i}", "Size", "Picky")
    rig.pass_time(1)
    rig.wake(NODE_ADDED, node_relabelled("x"))
    assert catch_up(rig) == [MOVES_PER_SLICE, MANY - 2 * MOVES_PER_SLICE]
    assert rig.queue.unschedulable_counts() == []


def test_freed_pods_whose_gate_is_shut_stay() -> None:
    """And are asked about again at the next event."""
    rig = Rig(GATE)
    for i in range(MANY):
        rig.add(f"p{i}", gate="")
    assert rig.wake(ANYTHING) == 0
    assert catch_up(rig) == [0, 0]
    assert rig.queue.gated_counts() == {"gate": MANY}
    rig.queue.update(relabelled(rig.entry("p0").pod), rig.now)
    assert rig.pop() == "p0"
    rig.wake(ANYTHING)
    assert catch_up(rig) == [0, 0]


@pytest.mark.parametrize("cause", [BACKOFF_COMPLETE, UNSCHEDULABLE_TIMEOUT, PROFILE_UPDATED])
def test_time_and_swaps_move_in_slices_too(cause: str) -> None:
    """Backoffs that end together, pods that were refused together, pods of a plugin that was
    swapped.
    """
    rig = Rig()
    for i in range(MANY):
        rig.add(f"p{i}")
        rig.pop()
        rig.refuse(f"p{i}", *([] if cause == BACKOFF_COMPLETE else ["Size"]))
    if cause == PROFILE_UPDATED:
        rig.pass_time(1)
        rig.enqueued.clear()
        assert rig.queue.move_rejected_by("test", {"Size"}, rig.now) == MOVES_PER_SLICE
    else:
        rig.enqueued.clear()
        assert rig.pass_time(300) == MOVES_PER_SLICE
    assert catch_up(rig) == [MOVES_PER_SLICE, MANY - 2 * MOVES_PER_SLICE]
    assert rig.enqueued == [("active", cause)] * MANY


def test_what_a_pod_in_flight_misses_is_replayed_as_ever() -> None:
    """Also while others wait for their slice."""
    rig = parked(MANY)
    rig.add("flying")
    assert rig.pop() == "flying"
    rig.wake(NODE_ADDED)
    assert rig.queue.moves_pending
    rig.refuse("flying", "Size")
    assert rig.place("flying") is QueueState.BACKOFF


# ---- groups --------------------------------------------------------------------------------------


def test_members_of_a_group_move_in_slices() -> None:
    """None of them goes before all have moved, nor does another pod of their profile; others do."""
    rig = Rig()
    rig.queue.groups.all_listed()
    rig.queue.set_profile("other", rig.view, rig.now)
    for i in range(MANY):
        rig.queue.add(member(f"m{i}"), rig.now)
    rig.queue.flush(rig.now)
    rig.add("alone", priority=1)
    rig.store.put(declared(MANY))
    moved = [rig.queue.flush(rig.now)]
    rig.add("elsewhere", scheduler="other")
    assert rig.pop() == "elsewhere"
    assert rig.pop() == "alone"
    assert rig.pop() == "m0"
    assert len(rig.entry("m0").companions) == MANY - 1
    assert moved == [MOVES_PER_SLICE]


def test_a_group_that_changes_again_and_again_keeps_nobody_waiting() -> None:
    """After so many slices somebody goes; a group that does goes whole."""
    rig = Rig()
    rig.queue.groups.all_listed()
    count = MANY
    for i in range(count):
        rig.queue.add(member(f"h{i}", "h"), rig.now)
    rig.store.put(declared(count, "h"))
    while rig.queue.moves_pending:
        rig.queue.flush(rig.now)
    pops = []
    for i in range(MAX_SLICES_WITHOUT_POP + 2):
        rig.store.put(declared(count + 1 - i % 2, "h"))
        pops.append(rig.pop())
    assert set(pops[:-2]) == {None}
    (went,) = {pop for pop in pops if pop}
    assert len(rig.entry(went).companions) == count - 1
