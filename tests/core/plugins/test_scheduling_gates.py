"""SchedulingGates holds pods back and lets them go."""

from __future__ import annotations

import pytest

from moorage.core.columns.store import Store
from moorage.core.framework.cluster_events import ActionType, ClusterEvent, EventResource
from moorage.core.framework.interfaces import PreEnqueuePlugin
from moorage.core.framework.status import SUCCESS, Status
from moorage.core.objects.pods import SchedulingGate
from moorage.core.plugins.scheduling_gates import GATED, SchedulingGates
from tests.builders import make_pod

PLUGIN: PreEnqueuePlugin = SchedulingGates()


@pytest.mark.parametrize("gates", [None, ()], ids=["none", "empty"])
def test_pod_without_gates_enters(gates: tuple[SchedulingGate, ...] | None) -> None:
    """Nothing to wait for."""
    assert PLUGIN.pre_enqueue(make_pod("p", scheduling_gates=gates), Store()) == SUCCESS


def test_gated_pod_waits() -> None:
    """All gates are named, in the pod's order."""
    pod = make_pod("p", scheduling_gates=(SchedulingGate("b"), SchedulingGate("a")))
    assert PLUGIN.pre_enqueue(pod, Store()) == Status(
        GATED.code, ("waiting for scheduling gates: [b a]",)
    )


@pytest.mark.parametrize(("who", "want"), [("p", True), ("other", False)])
def test_only_its_own_gates_wake_a_pod(who: str, want: bool) -> None:
    """The event is about one pod."""
    event = ClusterEvent(
        EventResource.UNSCHEDULED_POD,
        ActionType.UPDATE_POD_SCHEDULING_GATES_ELIMINATED,
        make_pod(who),
        make_pod(who),
    )
    (wake,) = PLUGIN.events_to_register
    assert wake.matches(event)
    assert wake.hint is not None
    assert wake.hint(make_pod("p"), event, Store()) is want
