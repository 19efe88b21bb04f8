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


def test_only_its_own_gates_wake_a_pod() -> None:
    """Whatever else there is of it."""
    gone = ActionType.UPDATE_POD_SCHEDULING_GATES_ELIMINATED
    (wake,) = PLUGIN.events_to_register
    assert wake.hint is None
    assert wake.matches(ClusterEvent(EventResource.TARGET_POD, gone))
    assert not wake.matches(ClusterEvent(EventResource.UNSCHEDULED_POD, gone))
