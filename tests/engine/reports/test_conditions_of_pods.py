"""The PodScheduled condition that a refused pod gets."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

import msgspec
import pytest

from moorage.core.columns.cache import Cache
from moorage.core.objects.pods import Pod, PodCondition, PodStatus
from moorage.engine.reports.pod_conditions import (
    UNSCHEDULABLE,
    PodConditionUpdate,
    PodConditionWriter,
)
from tests.builders import make_pod
from tests.fakes.clocks import ManualClock, settle
from tests.fakes.kube import InMemoryKube
from tests.fakes.sinks import FakeEventRecorder


class Conditions(InMemoryKube):
    """Remembers the conditions that are written."""

    def __init__(self) -> None:
        super().__init__()
        self.conditions: list[dict[str, Any]] = []

    async def pod_condition(
        self, pod: Any, condition: Any, nominated_node: str | None = None
    ) -> None:
        """Keep it."""
        self.conditions.append(dict(condition))


@pytest.mark.parametrize(
    ("before", "transition"),
    [
        pytest.param((), True, id="none-yet"),
        pytest.param((PodCondition("PodScheduled", "True"),), True, id="status-changes"),
        pytest.param(
            (PodCondition("PodScheduled", "False", "SchedulingGated", "gated"),),
            False,
            id="only-the-reason-changes",
        ),
    ],
)
def test_the_transition_time_is_set_where_the_status_changes(
    before: tuple[PodCondition, ...], transition: bool
) -> None:
    """Where the condition was False already, the time that stands there is kept: the patch does not
    name it.

    The generation that was judged is named, as kube-scheduler does.
    """
    plain = make_pod("a")
    pod = Pod(
        msgspec.structs.replace(plain.metadata, generation=3),
        plain.spec,
        PodStatus(conditions=before),
    )

    async def scenario() -> list[dict[str, Any]]:
        kube, clock = Conditions(), ManualClock()
        failures = PodConditionWriter(kube, FakeEventRecorder(), clock, lambda _: pod, Cache())
        task = asyncio.create_task(failures.run())
        failures.report(PodConditionUpdate(pod, UNSCHEDULABLE, "0/1 nodes are available"))
        await settle()
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
        return kube.conditions

    (condition,) = asyncio.run(scenario())
    assert ("lastTransitionTime" in condition) is transition
    assert condition["observedGeneration"] == 3
