"""Each way from one place to another, and what must not move a pod."""

from __future__ import annotations

import itertools

import msgspec
import pytest

from moorage.core.columns.store import Lister
from moorage.core.framework.cluster_events import (
    ActionType,
    ClusterEvent,
    ClusterEventWithHint,
    EventResource,
)
from moorage.core.framework.status import SUCCESS, Code, Status
from moorage.core.objects.pods import Pod, SchedulingGate
from moorage.core.plugins.scheduling_gates import SchedulingGates
from moorage.core.queue.entry_index import MAX_GATES_SHOWN, OTHER_GATES, EntryIndex
from moorage.core.queue.hints import PreEnqueueGate
from moorage.core.queue.moves import ALLOWED_TRANSITIONS, IllegalTransition
from moorage.core.queue.queued_pod import QueuedPodInfo, QueueState
from moorage.core.queue.scheduling_queue import PUT_BACK_SECONDS
from tests.builders import make_pod
from tests.core.queue.helpers import (
    ANYTHING,
    GATE,
    LATCH,
    NODE_ADDED,
    NODE_DELETED,
    SHUT,
    Rig,
    a_pod,
    node_relabelled,
    relabelled,
    view,
)

CONFORMS: PreEnqueueGate = SchedulingGates()

# ---- order ---------------------------------------------------------------------------------------


def test_priority_then_time() -> None:
    """The highest priority goes first, among equals the one that came first."""
    rig = Rig()
    for name, priority in [("a", 0), ("b", 5), ("c", -1), ("d", 5), ("e", 0)]:
        rig.add(name, priority)
        rig.pass_time(0.5)
    assert rig.order() == ["b", "d", "a", "e", "c"]


def test_an_update_in_the_queue_keeps_the_place() -> None:
    """New labels of a ready pod move it nowhere; the attempt sees them."""
    rig = Rig()
    rig.add("a")
    rig.add("b")
    rig.queue.update(relabelled(rig.entry("a").pod, new=""), rig.now)
    assert rig.order() == ["a", "b"]
    assert rig.entry("a").pod.metadata.labels == {"new": ""}


def test_an_update_can_change_the_place() -> None:
    """The queue's order is by the newest state, for ready pods and for those that back off."""
    rig = Rig()
    for name in "abc":
        rig.refused(name, "Size")
    rig.wake(NODE_ADDED)
    rig.add("d")
    rig.add("e")
    for name in "ce":
        rig.queue.update(a_pod(name, priority=1), rig.now)
    assert [rig.pop() for _ in range(5)] == ["e", "d", "c", "a", "b"]


def test_a_refused_pod_goes_behind_its_equals() -> None:
    """Among equals the last attempt counts, not the arrival."""
    rig = Rig()
    rig.add("a")
    rig.pass_time(1)
    rig.add("b")
    rig.pass_time(1)
    assert rig.pop() == "a"
    rig.refuse("a", "Size")
    rig.wake(NODE_ADDED)
    rig.pass_time(1)
    rig.add("c")
    assert rig.order() == ["b", "a", "c"]


# ---- attempts ------------------------------------------------------------------------------------


def test_done_is_the_end_and_can_be_said_twice() -> None:
    """A bound pod is nowhere; it never comes back."""
    rig = Rig()
    rig.add("a")
    assert rig.pop() == "a"
    rig.queue.done("uid-a")
    rig.queue.done("uid-a")
    assert rig.place("a") is None
    assert rig.pop() is None


def test_done_is_for_pods_in_flight() -> None:
    """A pod that waits is not done, whoever says so."""
    rig = Rig()
    rig.add("a")
    rig.queue.done("uid-a")
    assert rig.place("a") is QueueState.ACTIVE


@pytest.mark.parametrize(
    ("rejectors", "pending"),
    [(None, False), (["Size"], False), (["Size"], True), ([], False)],
    ids=["new", "rejected", "rejected for now", "failed"],
)
def test_a_pod_that_is_put_back(rejectors: list[str] | None, pending: bool) -> None:
    """It was not tried: its counts and its place among its equals are as before, and it waits a
    moment, also when nobody is active.
    """
    rig = Rig()
    entry = rig.add("a")
    if rejectors is not None:
        assert rig.pop() == "a"
        rig.refuse("a", *rejectors, pending=pending)
        rig.wake(NODE_ADDED)
        rig.pass_time(5)
    rig.add("b")
    before = (
        entry.timestamp,
        entry.attempts,
        entry.unschedulable_count,
        entry.consecutive_errors_count,
    )
    for _ in range(5):
        assert rig.pop() == "a"
        rig.queue.put_back(entry, rig.now)
        assert rig.place("a") is QueueState.BACKOFF
        assert rig.pop() == "b"
        rig.queue.put_back(rig.entry("b"), rig.now)
        assert rig.pop() is None
        rig.pass_time(PUT_BACK_SECONDS)
    assert before == (
        entry.timestamp,
        entry.attempts,
        entry.unschedulable_count,
        entry.consecutive_errors_count,
    )


def test_who_is_put_back_holds_up_no_early_turn() -> None:
    """A rejected pod may still go before its backoff is over."""
    rig = Rig()
    rig.refused("b", "Size", times=3)
    rig.add("a")
    assert rig.pop() == "a"
    rig.queue.put_back(rig.entry("a"), rig.now)
    rig.wake(NODE_ADDED)
    assert (rig.place("b"), rig.pop(), rig.pop()) == (QueueState.BACKOFF, "b", None)


def test_only_a_pod_in_flight_is_put_back() -> None:
    """One that is gone, or waits already, stays as it is."""
    rig = Rig()
    entry = rig.add("a")
    rig.queue.put_back(entry, rig.now)
    assert rig.pop() == "a"
    rig.queue.remove(entry.uid)
    rig.queue.put_back(entry, rig.now)
    assert (rig.place("a"), entry.attempts) == (None, 1)


def test_attempts_are_counted() -> None:
    """Each pop is an attempt; refusals and faults have counts of their own, and a refusal ends a
    series of faults.
    """
    rig = Rig()
    rig.add("a")
    counts = []
    for plugins in ([], [], ["Deaf"], []):
        rig.pass_time(1000)
        assert rig.pop() == "a"
        rig.refuse("a", *plugins)
        entry = rig.entry("a")
        counts.append((entry.attempts, entry.unschedulable_count, entry.consecutive_errors_count))
    assert counts == [(1, 0, 1), (2, 0, 2), (3, 1, 0), (4, 1, 1)]


def test_a_fault_waits_for_its_backoff_only() -> None:
    """No event frees it earlier, and it is never popped early."""
    rig = Rig()
    rig.refused("a")
    assert rig.place("a") is QueueState.BACKOFF
    assert rig.wake(ANYTHING, NODE_ADDED) == 0
    assert rig.pop() is None
    assert rig.pass_time(1) == 1
    assert rig.pop() == "a"


def test_a_refused_pod_may_be_popped_early() -> None:
    """When nobody is ready the one whose backoff ends first goes, unless early is forbidden."""
    rig = Rig()
    rig.refused("slow", "Size", times=3)
    rig.refused("quick", "Size")
    rig.wake(NODE_ADDED)
    assert rig.place("slow") is rig.place("quick") is QueueState.BACKOFF
    assert rig.pop(early=False) is None
    rig.add("ready")
    assert [rig.pop(), rig.pop(), rig.pop()] == ["ready", "quick", "slow"]


def test_backoffs_that_end_together_go_by_priority() -> None:
    """Within the same second the queue's order decides."""
    rig = Rig()
    rig.pass_time(0.2)
    rig.refused("low", "Size")
    rig.pass_time(0.4)
    rig.refused("high", "Size", priority=9)
    rig.pass_time(0.5)
    rig.refused("later", "Size", priority=99)
    rig.wake(NODE_ADDED)
    assert [rig.pop(), rig.pop(), rig.pop()] == ["high", "low", "later"]


def test_requeue_of_a_pod_that_waits_is_refused() -> None:
    """It raises and changes nothing."""
    rig = Rig()
    entry = rig.refused("a", "Size")
    with pytest.raises(IllegalTransition, match="default/a is unschedulable"):
        rig.refuse("a")
    assert (entry.state, entry.consecutive_errors_count, entry.unschedulable_plugins) == (
        QueueState.UNSCHEDULABLE,
        0,
        frozenset({"Size"}),
    )


def test_a_known_pod_is_not_added_again() -> None:
    """It raises and changes nothing."""
    rig = Rig()
    rig.add("a")
    with pytest.raises(IllegalTransition, match="default/a is in the queue already"):
        rig.add("a")
    assert rig.queue.totals().active == 1


def test_moves_that_are_not_in_the_table() -> None:
    """Whatever is not drawn raises, and the pod stays where it is."""
    for origin, to in itertools.product([None, *QueueState], [None, *QueueState]):
        rig = Rig()
        entry = QueuedPodInfo(a_pod("a"), "test", 0.0)
        if to not in ALLOWED_TRANSITIONS[origin]:
            entry.state = origin
            with pytest.raises(IllegalTransition):
                rig.queue._queues.move(entry, to, "")
            assert entry.state is origin


# ---- removal -------------------------------------------------------------------------------------


def test_removal_from_anywhere() -> None:
    """A pod that is gone is in no place and in no number."""
    rig = Rig(GATE)
    rig.refused("unschedulable", "Size", "Own")
    rig.refused("backoff")
    rig.add("gated", gate="")
    rig.add("held", scheduler="other")
    rig.add("in-flight")
    rig.pop()
    rig.add("active")
    names = ["unschedulable", "backoff", "gated", "held", "in-flight", "active"]
    assert [entry.state.value for entry in rig.queue.entries() if entry.state] == [
        "unschedulable", "backoff", "gated", "unserved", "inFlight", "active"
    ]  # fmt: skip
    for name in names:
        rig.queue.remove(f"uid-{name}")
        rig.queue.remove(f"uid-{name}")
    assert rig.queue.totals() == rig.queue.counts("test") == rig.queue.counts("never seen")
    assert list(rig.queue.entries()) == []
    assert rig.queue.unschedulable_counts() == []
    assert rig.queue.gated_counts() == {}
    assert not rig.queue._index._profiles
    assert rig.queue.next_deadline(rig.now) is None
    assert rig.pop() is None


def test_a_pod_removed_in_flight_stays_away() -> None:
    """Its attempt may fail later: nothing comes of it."""
    rig = Rig()
    entry = rig.add("a")
    rig.pop()
    rig.queue.remove("uid-a")
    rig.queue.requeue(entry, frozenset({"Size"}), rig.now)
    assert rig.place("a") is None
    assert rig.queue.totals().unschedulable == 0


# ---- events --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("plugins", "event", "want"),
    [
        (["Size"], NODE_ADDED, QueueState.ACTIVE),
        (["Size"], NODE_DELETED, QueueState.UNSCHEDULABLE),
        (["Size"], node_relabelled("a"), QueueState.UNSCHEDULABLE),
        (["Picky"], node_relabelled("a"), QueueState.ACTIVE),
        (["Picky"], node_relabelled("other"), QueueState.UNSCHEDULABLE),
        (["Picky"], NODE_ADDED, QueueState.UNSCHEDULABLE),
        (["Deaf", "Picky", "Size"], NODE_ADDED, QueueState.ACTIVE),
        (["Deaf"], NODE_ADDED, QueueState.UNSCHEDULABLE),
        (["NoSuch"], NODE_ADDED, QueueState.UNSCHEDULABLE),
        (["Picky"], ANYTHING, QueueState.ACTIVE),
    ],
    ids=lambda value: (
        getattr(value, "label", None) or getattr(value, "value", None) or "-".join(value)
    ),
)
def test_what_an_event_frees(plugins: list[str], event: ClusterEvent, want: QueueState) -> None:
    """The pods of plugins that registered for it, if the hint agrees; while they wait and during
    their attempt alike.
    """
    waiting, in_flight = Rig(), Rig()
    waiting.refused("a", *plugins)
    waiting.pass_time(1)
    assert waiting.wake(event) == (want is QueueState.ACTIVE)
    assert waiting.place("a") is want

    in_flight.add("a", wants="a")
    in_flight.pop()
    in_flight.wake(event)
    in_flight.refuse("a", *plugins)
    in_flight.pass_time(1)
    assert in_flight.place("a") is want


def test_a_freed_pod_waits_for_its_backoff() -> None:
    """An event during the backoff leads to the backoff queue, from there on time alone counts."""
    rig = Rig()
    rig.refused("a", "Size")
    rig.pass_time(0.5)
    rig.wake(NODE_ADDED)
    assert rig.place("a") is QueueState.BACKOFF
    assert rig.queue.next_deadline(rig.now) == 1.0
    rig.pass_time(0.4)
    assert rig.place("a") is QueueState.BACKOFF
    rig.pass_time(0.1)
    assert rig.place("a") is QueueState.ACTIVE


def test_a_pending_pod_does_not_back_off() -> None:
    """Who was told to wait for somebody outside goes on as soon as that has happened."""
    rig = Rig()
    rig.add("a")
    rig.pop()
    rig.refuse("a", "Size", pending=True)
    assert rig.place("a") is QueueState.UNSCHEDULABLE
    rig.wake(NODE_ADDED)
    assert rig.place("a") is QueueState.ACTIVE
    assert rig.pop() == "a"
    rig.refuse("a", "Size")
    rig.wake(NODE_ADDED)
    assert rig.place("a") is QueueState.BACKOFF


def test_events_before_the_attempt_do_not_count() -> None:
    """Only what came after the pop may have been missed."""
    rig = Rig()
    rig.add("other")
    rig.pop()
    rig.add("a")
    rig.wake(NODE_ADDED)
    rig.pop()
    rig.refuse("a", "Size")
    assert rig.place("a") is QueueState.UNSCHEDULABLE


def test_an_event_asks_only_those_it_may_concern() -> None:
    """Of 50,000 refused pods an event costs not one hint but those of the plugins that registered
    for it.
    """
    asked: list[str] = []

    def hint(pod: Pod, event: ClusterEvent, _store: Lister) -> bool:
        asked.append(pod.metadata.name)
        return False

    wakes = (ClusterEventWithHint(EventResource.NODE, ActionType.ADD, hint),)
    rig = Rig(
        Many=(ClusterEventWithHint(EventResource.NODE, ActionType.UPDATE_NODE_LABEL, hint),),
        Few=wakes,
        Fewer=wakes,
    )
    for i in range(50_000):
        rig.add(str(i))
        rig.pop()
        rig.refuse(
            str(i),
            "Many",
            *(["Few"] if i % 10_000 == 0 else []),
            *(["Fewer"] if i == 20_000 else []),
        )
    asked.clear()
    rig.wake(
        NODE_DELETED,
        ClusterEvent(EventResource.ASSIGNED_POD, ActionType.ADD, new=make_pod("x", node="n")),
    )
    assert asked == []
    rig.wake(NODE_ADDED)
    assert sorted(asked) == ["0", "10000", "20000", "20000", "30000", "40000"]
    assert rig.queue.unschedulable_counts() == [
        ("test", "Few", 5),
        ("test", "Many", 50_000),
        ("test", "Fewer", 1),
    ]


def test_a_failing_hint_counts_as_yes_and_is_reported() -> None:
    """Better one attempt too many than a pod left behind; the other pods go their way."""

    def broken(pod: Pod, event: ClusterEvent, _store: Lister) -> bool:
        raise ZeroDivisionError(pod.metadata.name)

    rig = Rig(Broken=(ClusterEventWithHint(EventResource.NODE, ActionType.ADD, broken),))
    rig.refused("a", "Broken")
    rig.refused("b", "Size")
    rig.pass_time(1)
    assert rig.wake(NODE_ADDED) == 2
    assert rig.failures == [("Broken", "a", "a")]


# ---- the pod's own updates -----------------------------------------------------------------------


def test_an_update_frees_its_pod() -> None:
    """A plugin that waits for new labels of the pod frees it, and no other pod."""
    rig = Rig()
    for name in "ab":
        rig.refused(name, "Own")
    rig.pass_time(1)
    rig.queue.update(relabelled(rig.entry("a").pod, new=""), rig.now)
    assert (rig.place("a"), rig.place("b")) == (QueueState.ACTIVE, QueueState.UNSCHEDULABLE)


def test_an_update_that_changes_nothing_that_counts() -> None:
    """A new state without a relevant change leaves the pod parked, with the new state."""
    rig = Rig()
    rig.refused("a", "Size", "Own")
    same = relabelled(rig.entry("a").pod, wants="a")
    rig.queue.update(same, rig.now)
    assert rig.place("a") is QueueState.UNSCHEDULABLE
    assert rig.entry("a").pod is same


@pytest.mark.parametrize(
    ("labels", "want"),
    [({"new": ""}, QueueState.ACTIVE), ({}, QueueState.UNSCHEDULABLE)],
    ids=["relevant", "irrelevant"],
)
def test_an_update_during_the_attempt(labels: dict[str, str], want: QueueState) -> None:
    """A relevant one leads to another attempt, whoever refused the pod: that attempt had seen the
    old state.
    """
    rig = Rig()
    rig.add("a")
    rig.pop()
    rig.queue.update(relabelled(rig.entry("a").pod, **labels), rig.now)
    rig.refuse("a", "Size")
    rig.pass_time(1)
    assert rig.place("a") is want


def test_an_unknown_pod_cannot_be_updated() -> None:
    """The caller adds it instead."""
    with pytest.raises(KeyError):
        Rig().queue.update(a_pod("a"), 0.0)


# ---- gates ---------------------------------------------------------------------------------------


def test_a_gated_pod_waits_for_its_gate() -> None:
    """No event of another plugin lets it in, nor does time; its own update that opens the gate
    does, at once.
    """
    rig = Rig(GATE, max_unschedulable=10)
    rig.add("a", gate="")
    assert (rig.place("a"), rig.entry("a").gating_plugin) == (QueueState.GATED, "gate")
    rig.wake(NODE_ADDED, ANYTHING)
    rig.pass_time(1000)
    assert rig.place("a") is QueueState.GATED
    assert rig.queue.next_deadline(rig.now) is None
    rig.queue.update(relabelled(rig.entry("a").pod), rig.now)
    assert (rig.place("a"), rig.entry("a").gating_plugin) == (QueueState.ACTIVE, "")
    assert rig.entry("a").initial_attempt_timestamp == 1000.0


def test_one_gate_after_the_other() -> None:
    """The gate that is shut now is the one to wait for."""
    rig = Rig(GATE, LATCH)
    pod = rig.add("a", gate="", latch="").pod
    rig.queue.update(relabelled(pod, latch=""), rig.now)
    assert (rig.place("a"), rig.entry("a").gating_plugin) == (QueueState.GATED, "latch")
    rig.queue.update(relabelled(pod), rig.now)
    assert rig.place("a") is QueueState.ACTIVE
    assert rig.held == ["uid-a"] * 2  # once for each gate that it came to wait for
    rig.add("b", scheduler="nobody")
    assert rig.held[2:] == ["uid-b"]


def test_the_gate_that_is_shut_is_asked_first() -> None:
    """Who gated the pod is asked before all others, and others only when it lets the pod in."""
    asked: list[str] = []

    class Counting:
        def __init__(self, name: str) -> None:
            self.name = name

        def pre_enqueue(self, pod: Pod, _store: Lister) -> Status:
            asked.append(self.name)
            return Status(Code.UNSCHEDULABLE if self.name == "latch" else Code.SUCCESS)

    rig = Rig(Counting("gate"), Counting("latch"))
    rig.add("a")
    assert asked == ["gate", "latch"]
    rig.wake(ANYTHING)
    assert asked == ["gate", "latch", "latch"]


def test_a_refused_pod_can_be_gated() -> None:
    """A pod that is freed is not let in when a gate has shut meanwhile; then it waits for the
    gate.
    """
    rig = Rig(GATE)
    pod = rig.refused("a", "Size").pod
    rig.queue.update(relabelled(pod, gate=""), rig.now)
    rig.wake(NODE_ADDED)
    assert rig.place("a") is QueueState.GATED
    assert rig.entry("a").blocking_plugins == ("gate",)
    assert rig.queue.gated_counts() == {"gate": 1}
    rig.pass_time(2)
    rig.queue.update(pod, rig.now)
    assert rig.place("a") is QueueState.ACTIVE


def test_gated_pods_are_counted_by_their_own_gate() -> None:
    """Once, at the first that is left; where another plugin gates them, by that."""
    rig = Rig(SchedulingGates(), LATCH)
    pod = msgspec.structs.replace(
        (plain := a_pod("a")),
        spec=msgspec.structs.replace(
            plain.spec, scheduling_gates=(SchedulingGate("b"), SchedulingGate("c"))
        ),
    )
    rig.queue.add(pod, rig.now)
    rig.add("x", latch="")
    assert rig.queue.gated_counts() == {"b": 1, "latch": 1}
    rig.queue.update(
        msgspec.structs.replace(
            pod, spec=msgspec.structs.replace(pod.spec, scheduling_gates=(SchedulingGate("c"),))
        ),
        rig.now,
    )
    assert rig.queue.gated_counts() == {"c": 1, "latch": 1}
    rig.queue.remove("uid-a")
    rig.queue.update(relabelled(rig.entry("x").pod), rig.now)
    assert rig.queue.gated_counts() == {}


def test_tenants_cannot_make_gates_without_end() -> None:
    """The names of those with the most pods are shown; the rest is one sum."""
    index = EntryIndex()
    for i in range(MAX_GATES_SHOWN + 5):
        for j in range(1 + (i < MAX_GATES_SHOWN)):
            entry = QueuedPodInfo(
                make_pod(f"p{i}-{j}"),
                "test",
                0.0,
                state=QueueState.GATED,
                gating_plugin=f"gate-{i}",
            )
            index.record(entry)
    assert len(index.gate_counts()) == MAX_GATES_SHOWN + 1
    assert index.gate_counts()["gate-0"] == 2
    assert index.gate_counts()[OTHER_GATES] == 5


@pytest.mark.parametrize(
    "code",
    [Code.UNSCHEDULABLE, Code.UNSCHEDULABLE_AND_UNRESOLVABLE, Code.PENDING, Code.SKIP, Code.ERROR],
)
def test_anything_but_success_gates(code: Code) -> None:
    """A fault gates too, and is reported."""

    class Saying:
        name = "gate"

        def pre_enqueue(self, pod: Pod, _store: Lister) -> Status:
            return Status(code, ("because",))

    rig = Rig(Saying())
    rig.add("a")
    assert rig.place("a") is QueueState.GATED
    assert rig.failures == ([("gate", "a", "because")] if code is Code.ERROR else [])


def test_a_failing_gate_gates_its_pod_and_is_reported() -> None:
    """A plugin's bug keeps that pod out, never the caller from going on."""

    class Broken:
        name = "gate"

        def pre_enqueue(self, pod: Pod, _store: Lister) -> Status:
            raise ZeroDivisionError(pod.metadata.name)

    rig = Rig(Broken())
    rig.add("a")
    assert rig.place("a") is QueueState.GATED
    assert rig.failures == [("gate", "a", "a")]


@pytest.mark.parametrize("by", ["raising", "its status"])
@pytest.mark.parametrize("initial", [1.0, 0.0])
def test_a_gate_that_failed_is_asked_again(by: str, initial: float) -> None:
    """After a backoff, twice as long each time; until it answers, and then as any other. A pod that
    goes is forgotten.
    """
    answers = iter([None, None, None, SHUT, None, SUCCESS, None, None])
    asked = []

    class Flaky:
        name = "gate"

        def pre_enqueue(self, pod: Pod, _store: Lister) -> Status:
            asked.append(rig.now)
            if (answer := next(answers)) is not None:
                return answer
            if by == "raising":
                raise ZeroDivisionError(pod.metadata.name)
            return Status(Code.ERROR, ("because",))

    rig = Rig()
    rig.queue.set_profile("test", view(Flaky(), initial=initial), rig.now)
    rig.add("a")
    for _ in range(10):
        deadline = rig.queue.next_deadline(rig.now)
        assert deadline is None or deadline > rig.now
        rig.pass_time(1)
    assert asked == ([0, 1, 3, 7] if initial else [0, 1, 2, 3])
    assert rig.place("a") is QueueState.GATED
    assert rig.queue.next_deadline(rig.now) is None
    rig.queue.update(relabelled(rig.entry("a").pod, new=""), rig.now)
    assert rig.queue.next_deadline(rig.now) == rig.now + 1
    rig.pass_time(1)
    assert (rig.place("a"), rig.pop()) == (QueueState.ACTIVE, "a")
    assert rig.queue.next_deadline(rig.now) is None
    rig.add("b")
    rig.queue.remove("uid-b")
    assert rig.queue.next_deadline(rig.now) is None
    rig.add("c")
    rig.queue.set_profile("test", None, rig.now)
    assert rig.queue.next_deadline(rig.now) is None


def test_scheduling_gates() -> None:
    """The real plugin: the last gate's end lets the pod in."""
    plugin = SchedulingGates()
    rig = Rig()
    rig.queue.set_profile(
        "test", view(plugin, wakes={plugin.name: plugin.events_to_register}), rig.now
    )
    two, one, none = (
        make_pod("a", scheduling_gates=tuple(SchedulingGate(name) for name in names))
        for names in ("xy", "x", "")
    )
    rig.queue.add(two, rig.now)
    rig.queue.update(one, rig.now)
    assert rig.place("a") is QueueState.GATED
    rig.queue.update(none, rig.now)
    assert rig.place("a") is QueueState.ACTIVE


# ---- time ----------------------------------------------------------------------------------------


def test_the_unschedulable_are_flushed() -> None:
    """After so many seconds without an event a refused pod is tried again; the deadline says
    when.
    """
    rig = Rig(max_unschedulable=60)
    rig.refused("a", "Deaf")
    rig.pass_time(10)
    rig.refused("b", "Deaf")
    assert rig.queue.next_deadline(rig.now) == 60.0
    assert rig.pass_time(49) == 0
    assert rig.pass_time(1) == 1
    assert (rig.place("a"), rig.place("b")) == (QueueState.ACTIVE, QueueState.UNSCHEDULABLE)
    assert rig.queue.next_deadline(rig.now) == 70.0


def test_no_deadline_without_need() -> None:
    """Ready, held and gated pods need no clock; what is overdue is due now."""
    rig = Rig(GATE)
    rig.add("a")
    rig.add("b", gate="")
    rig.add("c", scheduler="other")
    assert rig.queue.next_deadline(rig.now) is None
    rig.pop()
    rig.refuse("a")
    assert rig.queue.next_deadline(0.5) == 1.0
    assert rig.queue.next_deadline(5.0) == 5.0


def test_pop_looks_at_the_clock() -> None:
    """A pod whose backoff is over goes by its priority, though nobody called tick."""
    rig = Rig()
    rig.add("low")
    rig.add("high", priority=1)
    assert rig.pop() == "high"
    rig.refuse("high")
    rig.now += 1
    assert rig.pop() == "high"


# ---- profiles ------------------------------------------------------------------------------------


def test_pods_are_held_until_their_profile_is_there() -> None:
    """An unknown schedulerName holds a pod, and nothing else happens to it; then it goes on as if
    it came now.
    """
    rig = Rig()
    rig.add("a", scheduler="late")
    assert rig.wake(ANYTHING) == 0
    assert rig.pop() is None
    assert [pod.metadata.name for pod in rig.queue.unserved("late")] == ["a"]
    rig.now = 7.0
    rig.queue.set_profile("late", view(), rig.now)
    assert rig.place("a") is QueueState.ACTIVE
    assert rig.entry("a").initial_attempt_timestamp == 7.0
    assert list(rig.queue.unserved("late")) == []


def test_a_profile_that_goes_holds_its_pods() -> None:
    """All of its pods but those in flight, and those too once their attempt fails; other profiles'
    pods are left alone.
    """
    rig = Rig(GATE)
    rig.queue.set_profile("other", view(), rig.now)
    rig.refused("unschedulable", "Size")
    rig.refused("backoff")
    rig.add("gated", gate="")
    rig.add("in-flight")
    rig.pop()
    rig.add("active")
    rig.add("stranger", scheduler="other")
    rig.queue.set_profile("test", None, rig.now)
    counts = rig.queue.counts("test")
    assert (counts.unserved, counts.in_flight) == (4, 1)
    assert rig.place("stranger") is QueueState.ACTIVE
    rig.refuse("in-flight", "Size")
    assert rig.queue.counts("test").unserved == 5
    assert rig.order() == ["stranger"]
    rig.queue.set_profile("test", view(GATE), rig.now)
    assert rig.place("backoff") is QueueState.BACKOFF
    assert rig.place("gated") is QueueState.GATED
    assert rig.order() == ["active"]


def test_backoff_goes_on_while_held() -> None:
    """Suspending a profile and resuming it is no way around a backoff."""
    rig = Rig()
    rig.refused("a")
    rig.queue.set_profile("test", None, rig.now)
    rig.queue.set_profile("test", view(), rig.now)
    assert rig.place("a") is QueueState.BACKOFF
    assert rig.pop() is None


def test_a_swap_frees_what_changed_plugins_refused() -> None:
    """Pods that one of them refused go on, backoff and all; the others stay, and those in flight
    are tried again.
    """
    rig = Rig()
    rig.refused("size", "Size")
    rig.refused("both", "Picky", "Deaf")
    rig.refused("deaf", "Deaf")
    rig.add("in-flight")
    rig.pop()
    assert rig.queue.move_rejected_by("test", frozenset({"Size", "Picky"}), rig.now) == 2
    rig.refuse("in-flight", "Deaf")
    places = [rig.place(name) for name in ("size", "both", "deaf", "in-flight")]
    assert places == [
        QueueState.BACKOFF,
        QueueState.BACKOFF,
        QueueState.UNSCHEDULABLE,
        QueueState.BACKOFF,
    ]
    assert rig.entry("both").unschedulable_count == 1


def test_a_swap_of_one_profile_moves_no_pod_of_another() -> None:
    """The same plugin in another profile is another plugin."""
    rig = Rig()
    rig.queue.set_profile("other", view(), rig.now)
    rig.refused("a", "Size")
    assert rig.queue.move_rejected_by("other", ["Size"], rig.now) == 0
    rig.queue.set_profile("other", None, rig.now)
    assert rig.place("a") is QueueState.UNSCHEDULABLE


def test_new_gates_apply_to_pods_that_wait() -> None:
    """When a swap changes the preEnqueue plugins, ready pods may become gated and gated ones
    ready.
    """
    rig = Rig(GATE)
    rig.add("a", gate="")
    rig.add("b", latch="")
    rig.queue.set_profile("test", view(LATCH), rig.now)
    assert (rig.place("a"), rig.place("b")) == (QueueState.ACTIVE, QueueState.GATED)


def test_an_attempt_that_outlives_its_profile_is_made_again() -> None:
    """What refused the pod was another profile's plugin: the pod does not wait for that one."""
    rig = Rig()
    rig.add("a")
    rig.pop()
    rig.queue.set_profile("test", None, rig.now)
    rig.queue.set_profile("test", view(), rig.now)
    rig.refuse("a", "Deaf")
    assert rig.place("a") is QueueState.BACKOFF


# ---- numbers -------------------------------------------------------------------------------------


def test_counts_and_the_oldest() -> None:
    """The oldest is the pod that could be tried for longest; gated and held ones could not."""
    rig = Rig(GATE)
    rig.add("gated", gate="")
    rig.add("held", scheduler="other")
    assert rig.queue.totals().oldest is None
    rig.pass_time(5)
    rig.add("a")
    rig.pass_time(5)
    rig.add("b")
    rig.pop()
    counts = rig.queue.counts("test")
    assert (counts.active, counts.gated, counts.in_flight, counts.unserved, counts.oldest) == (
        1,
        1,
        1,
        0,
        5.0,
    )
    rig.queue.done("uid-a")
    assert rig.queue.totals().oldest == 10.0
    assert rig.queue.totals().unserved == 1


def test_every_move_into_a_queue_is_told() -> None:
    """Queue and event as kube-scheduler names them."""
    rig = Rig(GATE)
    rig.refused("a", "Size")
    rig.wake(NODE_ADDED)
    assert rig.pop() == "a"
    rig.refuse("a")
    rig.pass_time(2)
    rig.pop()
    rig.refuse("a", "Deaf")
    rig.pass_time(300)
    rig.add("b", gate="")
    assert rig.enqueued == [
        ("active", "UnscheduledPodAdd"),
        ("unschedulable", "ScheduleAttemptFailure"),
        ("backoff", "NodeAdd"),
        ("active", "PopFromBackoffQ"),
        ("backoff", "ScheduleAttemptFailure"),
        ("active", "BackoffComplete"),
        ("unschedulable", "ScheduleAttemptFailure"),
        ("active", "UnschedulableTimeout"),
        ("gated", "UnscheduledPodAdd"),
    ]
