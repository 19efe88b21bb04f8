"""Conditions of pod groups: what became of the attempts, until the minimum was met once."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest

from moorage.core.columns.store import Store
from moorage.core.framework.status import SUCCESS, Code, Status, error_status
from moorage.core.groups.group_spec import GroupSpec
from moorage.core.objects.pod_groups import API, VOLCANO_API, GroupKey, PodGroup
from moorage.core.objects.pods import Pod, PodSchedulingGroup
from moorage.engine.reports.group_conditions import GroupConditionWriter
from moorage.ports.errors import Conflict, Forbidden, Retryable
from tests.builders import make_node, make_pod
from tests.engine.running import Running
from tests.engine.worlds import a_body
from tests.fakes.clocks import ManualClock, settle
from tests.fakes.kube import InMemoryKube

SPEC = GroupSpec(GroupKey(API, "default", "g"), 2, 0, "uid-g")
REJECTED = Status(Code.UNSCHEDULABLE, ("no room", "nobody to preempt"))


class World:
    """A group, who writes of it, and an API server."""

    def __init__(self, **meta: Any) -> None:
        self.kube, self.clock, self.store = InMemoryKube(), ManualClock(), Store()
        metadata = {"name": "g", "namespace": "default", "uid": "uid-g", "generation": 3, **meta}
        self.group = msgspec.convert({"metadata": metadata, "spec": {}}, PodGroup)
        self.store.put(self.group)
        self.kube.other_sinks[PodGroup] = []
        self.kube.put(self.group)
        self.writer = GroupConditionWriter(self.kube, self.clock, self.store)

    async def told(self, *outcomes: Status, spec: GroupSpec = SPEC) -> list[dict[str, Any]]:
        """What is written when these come one after another; the watch shows each."""
        running = asyncio.create_task(self.writer.run())
        for outcome in outcomes:
            self.writer.report(spec, outcome)
            await settle()
            await self.clock.advance(5.0)
            self.store.put(self.kube.others[PodGroup]["default/g"])
        running.cancel()
        return [dict(one.arguments[1]) for one in self.kube.written]


def brief(conditions: list[dict[str, Any]]) -> list[tuple[str, str, str]]:
    """Status, reason and message of each."""
    return [(one["status"], one["reason"], one["message"]) for one in conditions]


@pytest.mark.parametrize(
    ("outcomes", "written"),
    [
        pytest.param([SUCCESS], [("True", "Scheduled", "")], id="placed"),
        pytest.param(
            [REJECTED],
            [("False", "Unschedulable", "no room, nobody to preempt")],
            id="rejected",
        ),
        pytest.param([error_status("bug")], [("False", "SchedulerError", "bug")], id="a fault"),
        pytest.param(
            [REJECTED, REJECTED, SUCCESS, REJECTED],
            [
                ("False", "Unschedulable", "no room, nobody to preempt"),
                ("True", "Scheduled", ""),
            ],
            id="once each, and never back",
        ),
    ],
)
def test_what_is_written(outcomes: list[Status], written: list[tuple[str, str, str]]) -> None:
    """With the generation that it is about."""
    conditions = asyncio.run(World().told(*outcomes))
    assert brief(conditions) == written
    assert {one["observedGeneration"] for one in conditions} == {3}


def test_the_time_is_that_of_the_last_change() -> None:
    """Another message is no transition."""
    other = Status(Code.UNSCHEDULABLE, ("less room",))
    conditions = asyncio.run(World().told(REJECTED, other))
    assert ["lastTransitionTime" in one for one in conditions] == [True, False]


def test_groups_of_others_and_gone_ones_are_left_alone() -> None:
    """Volcano's have no such condition; a namesake is another group."""
    volcano = GroupSpec(GroupKey(VOLCANO_API, "default", "g"), 2, 0, "uid-g")
    assert asyncio.run(World().told(REJECTED, spec=volcano)) == []
    assert asyncio.run(World(uid="another").told(REJECTED)) == []


@pytest.mark.parametrize(
    ("error", "written"),
    [(Retryable("busy"), 1), (Conflict("PATCH", 409), 1), (Forbidden("PATCH", 403), 0)],
)
def test_what_passes_is_tried_again(error: Exception, written: int) -> None:
    """What does not is told once."""
    world = World()
    world.kube.fail("pod_group_condition", error)
    assert len(asyncio.run(world.told(REJECTED))) == written


def test_a_group_in_an_engine() -> None:
    """It does not fit, then it does."""

    async def story() -> None:
        world = Running()
        async with world.leading(a_body("test"), nodes=1):
            policy = {"schedulingPolicy": {"gang": {"minCount": 2}}}
            metadata = {"name": "g", "namespace": "default", "uid": "uid-g"}
            world.kube.put(msgspec.convert({"metadata": metadata, "spec": policy}, PodGroup))
            for name in ("a", "b"):
                world.kube.put(member(name))
            await world.clock.advance(3.0)
            assert shown(world) == [("False", "Unschedulable")]
            world.kube.put(make_node("n2"))
            await world.clock.advance(3.0)
            assert shown(world) == [("True", "Scheduled")]

    asyncio.run(story())


def member(name: str) -> Pod:
    """A pod of the group; a node takes one."""
    pod = make_pod(name, cpu="3")
    spec = msgspec.structs.replace(pod.spec, scheduling_group=PodSchedulingGroup("g"))
    return msgspec.structs.replace(pod, spec=spec)


def shown(world: Running) -> list[tuple[str, str]]:
    """The conditions that the group has."""
    group: PodGroup = world.kube.others[PodGroup]["default/g"]
    return [(one.status, one.reason) for one in group.status.conditions or ()]
