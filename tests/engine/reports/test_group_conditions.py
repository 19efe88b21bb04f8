"""Conditions of pod groups: what became of the attempts, until the minimum was met once."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator
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
WORKERS = 3


class World:
    """A group, who writes of it, and an API server."""

    def __init__(self, **meta: Any) -> None:
        self.kube, self.clock, self.store = InMemoryKube(), ManualClock(), Store()
        self.kube.other_sinks[PodGroup] = []
        self.group = self.add("g", **meta)
        self.writer = GroupConditionWriter(self.kube, self.clock, self.store)

    def add(self, name: str, **meta: Any) -> PodGroup:
        """A group that the watch has shown."""
        metadata = {"name": name, "namespace": "default", "uid": f"uid-{name}", "generation": 3}
        group = msgspec.convert({"metadata": {**metadata, **meta}, "spec": {}}, PodGroup)
        self.store.put(group)
        self.kube.put(group)
        return group

    @contextlib.asynccontextmanager
    async def writing(self) -> AsyncIterator[World]:
        """Some workers run."""
        tasks = [asyncio.create_task(self.writer.run()) for _ in range(WORKERS)]
        yield self
        for task in tasks:
            assert not task.done()
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    @property
    def messages(self) -> list[str]:
        """What was written, in order."""
        return [one.arguments[1]["message"] for one in self.kube.written]

    async def told(self, *outcomes: Status, spec: GroupSpec = SPEC) -> list[dict[str, Any]]:
        """What is written when these come one after another; the watch shows each."""
        async with self.writing():
            for outcome in outcomes:
                self.writer.report(spec, outcome)
                await settle()
                await self.clock.advance(5.0)
                self.store.put(self.kube.others[PodGroup]["default/g"])
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


def rejected(message: str) -> Status:
    """An attempt in vain."""
    return Status(Code.UNSCHEDULABLE, (message,))


def of(name: str) -> GroupSpec:
    """A group of two."""
    return GroupSpec(GroupKey(API, "default", name), 2, 0, f"uid-{name}")


def test_groups_do_not_wait_for_each_other() -> None:
    """As many as there are workers are written at a time, each group once: what is said of it
    meanwhile follows, the last of it alone.
    """

    async def story() -> None:
        async with World().writing() as world:
            gate = world.kube.hold("pod_group_condition")
            for name in "abcde":
                world.add(name)
                world.writer.report(of(name), rejected(name))
            await settle()
            assert world.kube.in_flight["pod_group_condition"] == WORKERS
            for message in ("second", "third"):
                world.writer.report(of("a"), rejected(message))
                await settle()
            gate.set()
            await settle()
            assert sorted(world.messages) == ["a", "b", "c", "d", "e", "third"]
            assert world.messages.index("a") < world.messages.index("third")

    asyncio.run(story())


def test_a_newer_outcome_ends_retries_of_an_older_one() -> None:
    """And another group is written while one waits for its next try."""

    async def story() -> None:
        async with World().writing() as world:
            world.kube.fail("pod_group_condition", Retryable("429", after=2.0))
            world.writer.report(SPEC, rejected("old"))
            await settle()
            world.add("other")
            world.writer.report(of("other"), rejected("other"))
            world.writer.report(SPEC, rejected("new"))
            await world.clock.advance(1.9)
            assert world.messages == ["other"]
            await world.clock.advance(0.2)
            assert world.messages == ["other", "new"]

    asyncio.run(story())


@pytest.mark.parametrize("shown", [True, False], ids=["the watch has shown it", "not yet"])
def test_a_group_that_is_gone_is_no_error(shown: bool, caplog: pytest.LogCaptureFixture) -> None:
    """It goes while its condition is on the way."""

    async def story() -> None:
        async with World().writing() as world:
            world.kube.fail("pod_group_condition", Retryable("429"))
            world.writer.report(SPEC, REJECTED)
            await settle()
            world.kube.delete(world.group)
            if shown:
                world.store.remove(PodGroup, "default/g")
            await world.clock.advance(5.0)
            assert world.messages == []

    with caplog.at_level(logging.WARNING):
        asyncio.run(story())
    assert caplog.records == []


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
