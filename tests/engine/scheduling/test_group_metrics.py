"""Metrics of pod groups, in an engine: each attempt of a group is counted once, with what came of
it, and a group is one entity of the queue.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping

import pytest

from moorage.core.queue.queued_entities import POD, POD_GROUP, WAITING_STATES
from tests.builders import make_node, make_pod
from tests.engine.running import Running
from tests.engine.scheduling.test_pod_groups import LONG, come, group, member, placed
from tests.engine.worlds import a_body
from tests.fakes.sinks import CountingTelemetry

NOTHING = {(state.value, kind): 0 for state in WAITING_STATES for kind in (POD, POD_GROUP)}


class Told(CountingTelemetry):
    """Keeps what is said of groups and entities."""

    def __init__(self) -> None:
        super().__init__()
        self.attempts: list[tuple[str, str, float]] = []
        self.decided: list[float] = []
        self.came: Counter[tuple[str, str, str]] = Counter()
        self.waiting: dict[tuple[str, str], int] = {}
        self.found: list[int] = []
        self.tried: list[str] = []
        self.room: list[tuple[str, str]] = []
        self.toll: list[tuple[str, int, int, int]] = []
        self.ended: list[tuple[str, str]] = []

    def group_attempt(self, result: str, profile: str, seconds: float) -> None:
        """Keep it."""
        self.attempts.append((result, profile, seconds))

    def group_algorithm(self, seconds: float) -> None:
        """Keep it."""
        self.decided.append(seconds)

    def placements_found(self, profile: str, number: int) -> None:
        """Keep it."""
        self.found.append(number)

    def placement_tried(self, result: str, profile: str, seconds: float) -> None:
        """Keep it."""
        self.tried.append(result)

    def group_preemption_attempt(self, result: str) -> None:
        """Keep it."""
        self.room.append(("podgroup", result))

    def preemption_decided(self, preemptor: str, result: str, seconds: float) -> None:
        """Keep it."""
        assert seconds >= 0
        self.room.append((preemptor, result))

    def preempted(self, preemptor: str, victims: int, groups: int, violations: int) -> None:
        """Keep it."""
        self.toll.append((preemptor, victims, groups, violations))

    def preemption_ended(self, preemptor: str, result: str, seconds: float) -> None:
        """Keep it."""
        assert seconds >= 0
        self.ended.append((preemptor, result))

    def pod_queued(self, queue: str, event: str, came: str) -> None:
        """Count entities."""
        if came:
            self.came[queue, event, came] += 1

    def entities(self, counts: Mapping[tuple[str, str], int]) -> None:
        """Keep the newest."""
        self.waiting = dict(counts)


@pytest.mark.parametrize(
    ("running", "priority", "wanted", "waits"),
    [
        ("", 0, ["scheduled"], {}),
        ("r", 0, ["unschedulable"], {("unschedulable", "podgroup"): 1}),
        ("r", 9, ["waiting_on_preemption", "scheduled"], {}),
    ],
    ids=["fits", "does not fit", "makes room"],
)
def test_attempts(
    running: str, priority: int, wanted: list[str], waits: dict[tuple[str, str], int]
) -> None:
    """What came of them; a decision is measured with each. Where members wait, their group does."""

    async def story() -> None:
        told = Told()
        async with Running(telemetry=told).leading(a_body("test"), nodes=1) as world:
            for name in running:
                world.kube.put(make_pod(name, cpu="2", node_name="n1"))
            come(
                world,
                group(2, priority=priority),
                *(member(name, priority=priority) for name in "ab"),
            )
            await world.clock.advance(0.2)
            for pod in [pod for pod in world.kube.pods.values() if pod.metadata.deletion_timestamp]:
                world.kube.delete(pod)
            await world.clock.advance(LONG)
            assert [result for result, _, _ in told.attempts] == wanted
            assert {profile for _, profile, _ in told.attempts} == {"test"}
            assert len(told.decided) == len(wanted)
            assert told.waiting == {**NOTHING, **waits}
            assert placed(world, "ab") == ("ab" if "scheduled" in wanted else "")

    asyncio.run(story())


@pytest.mark.parametrize(
    ("alone", "groups"), [(False, False), (False, True), (True, False), (True, True)]
)
def test_room_that_is_made(alone: bool, groups: bool) -> None:
    """Who was asked, who is to go, and how that ended: for a pod and for a group; victims may be of
    a group that goes one by one.
    """

    async def story() -> None:
        told, who = Told(), "pod" if alone else "podgroup"
        async with Running(telemetry=told).leading(a_body("test"), nodes=1) as world:
            if groups:
                come(world, group(1))
            there = (member(name, cpu="2") if groups else make_pod(name, cpu="2") for name in "rs")
            come(world, *there)
            await world.clock.advance(1)
            told.room.clear()
            if alone:
                come(world, make_pod("a", cpu="4", priority=9))
            else:
                come(world, group(2, "big", priority=9))
                come(world, *(member(name, "big", cpu="2", priority=9) for name in "ab"))
            await world.clock.advance(0.5)
            asked = [(who, "Success")] * (1 if alone else 2)
            assert told.room == asked
            assert told.toll == [(who, 2, 2 if groups else 0, 0)]
            assert told.ended == [(who, "success")]

    asyncio.run(story())


def test_placements() -> None:
    """Each domain that might take the group, and each that was tried; one of all nodes for a group
    without topology.
    """

    async def story() -> None:
        told = Told()
        async with Running(telemetry=told).leading(a_body("test"), nodes=0) as world:
            for name, cpu in (("n1", "2"), ("n2", "8")):
                world.kube.put(make_node(name, cpu=cpu, labels={"zone": name}))
            come(world, group(2), member("a"), member("b"))
            await world.clock.advance(1)
            assert (told.found, told.tried) == ([1], ["feasible"])
            told.found.clear()
            told.tried.clear()
            come(world, group(2, "big", schedulingConstraints={"topology": [{"key": "zone"}]}))
            come(world, *(member(name, "big", cpu="1500m") for name in "cd"))
            await world.clock.advance(1)
            assert (told.found, told.tried) == ([2], ["feasible"])  # n1 has no room for both
            assert placed(world, "cd") == "cd"

    asyncio.run(story())


def test_a_group_is_one_entity() -> None:
    """Gated until its minimum is there, then active, unschedulable, and active again: once each,
    whatever its members are; other pods count for themselves.
    """

    async def story() -> None:
        told = Told()
        async with Running(telemetry=told).leading(a_body("test"), nodes=1) as world:
            come(world, group(3), member("a"), member("b"), make_pod("lone", cpu="4"))
            await world.clock.advance(2)
            assert told.waiting == {**NOTHING, ("gated", "podgroup"): 1}
            come(world, member("c"), make_pod("late", cpu="4"))
            await world.clock.advance(2)
            want = {("unschedulable", "podgroup"): 1, ("unschedulable", "pod"): 1}
            assert told.waiting == {**NOTHING, **want}
            world.kube.put(make_node("n2", cpu="8"))
            await world.clock.advance(LONG)
            assert placed(world, "abc") == "abc"
            groups = {(q, e): n for (q, e, kind), n in told.came.items() if kind == "podgroup"}
            assert groups == {
                ("gated", "UnscheduledPodAdd"): 1,
                ("active", "PodGroupReadinessChanged"): 1,
                ("unschedulable", "ScheduleAttemptFailure"): 1,
                ("active", "NodeAdd"): 1,
            }

    asyncio.run(story())


def test_a_fault_is_counted_as_one() -> None:
    """Members that cannot be placed together are an error of the group, as often as it is tried."""

    async def story() -> None:
        told = Told()
        async with Running(telemetry=told).leading(a_body("test"), nodes=1) as world:
            come(world, group(2, priority=5), member("a", priority=5), member("b", priority=7))
            await world.clock.advance(1)
            assert told.attempts and {result for result, _, _ in told.attempts} == {"error"}
            assert told.decided == []

    asyncio.run(story())
