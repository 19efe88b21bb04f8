"""What the queue says of the pods that wait: who is next, until when, and what may free them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from moorage.core.framework.cluster_events import ActionType, ClusterEventWithHint, EventResource
from tests.core.queue.helpers import GATE, NODE_ADDED, Rig


@given(st.lists(st.tuples(st.booleans(), st.integers(-2, 2)), max_size=12))
def test_turns_are_the_order_in_which_pods_are_popped(pods: list[tuple[bool, int]]) -> None:
    """Ready ones by the queue's order, then those that back off; others have no turn."""
    rig = Rig()
    for i, (refused, _) in enumerate(pods):
        if refused:
            rig.refused(f"p{i}", "Size", priority=9)
    rig.wake(NODE_ADDED)
    for i, (refused, priority) in enumerate(pods):
        if not refused:
            rig.add(f"p{i}", priority)
        rig.pass_time(0.01)
    turns = {
        entry.pod.metadata.name: rig.queue.outlook.turn(entry) for entry in rig.queue.entries()
    }
    expected = sorted(turns, key=lambda name: turns[name] or ())
    assert [rig.pop() for _ in pods] == expected


def test_those_that_wait_for_something_else_have_no_turn() -> None:
    """Refused, gated, or being tried."""
    rig = Rig(GATE)
    refused, gated = rig.refused("a", "Size"), rig.add("b", gate="")
    flying = rig.add("c")
    assert rig.pop() == "c"
    assert [rig.queue.outlook.turn(entry) for entry in (refused, gated, flying)] == [None] * 3


def test_until_when() -> None:
    """A backoff's end, or when a refused pod is tried anyway; nothing for whom only events free."""
    rig = Rig(GATE, max_unschedulable=300)
    refused, gated, ready = rig.refused("a", "Size"), rig.add("b", gate=""), rig.add("c")
    found = [rig.queue.outlook.deadline(entry) for entry in (refused, gated, ready)]
    assert found == [300, None, None]
    rig.wake(NODE_ADDED)
    assert rig.queue.outlook.deadline(refused) == 1


def test_what_may_free_a_pod() -> None:
    """What the plugins that refused it, or that gate it, have registered for."""
    rig = Rig(GATE)
    refused, gated, ready = rig.refused("a", "Size", "Picky"), rig.add("b", gate=""), rig.add("c")
    assert rig.queue.outlook.wakes_on(refused) == ["NodeAdd", "NodeUpdateNodeLabel"]
    assert rig.queue.outlook.wakes_on(gated) == ["PodUpdatePodLabel"]
    assert rig.queue.outlook.wakes_on(ready) == []
    rig.queue.set_profile("test", None, rig.now)
    assert rig.queue.outlook.wakes_on(gated) == []


def test_all_updates_are_one() -> None:
    """But an aspect alone has its own name."""
    every = ClusterEventWithHint(EventResource.NODE, ActionType.ALL)
    assert every.labels == ["NodeAdd", "NodeDelete", "NodeUpdate"]
    one = ClusterEventWithHint("racks.v1.example.org", ActionType.UPDATE_NODE_TAINT)
    assert one.labels == ["racks.v1.example.orgUpdateNodeTaint"]
