"""Holds: a gang that waits long has room held against pods of lower priority, one gang at a time,
for a while, and everybody is told.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from moorage.core.cycle.context import Diagnosis
from moorage.core.objects.pod_groups import COSCHEDULING_API, GroupKey
from moorage.core.objects.pods import Pod
from moorage.core.queue.pod_group_state import PodGroupState
from moorage.core.queue.queued_pod import QueuedPodInfo
from moorage.engine.scheduling.group_holds import (
    HOLD_AFTER_SECONDS,
    HOLD_MESSAGE,
    MAX_HOLD_SECONDS,
    GroupHolds,
)
from tests.builders import make_pod
from tests.core.cycle.test_group_cycle import REVISION
from tests.engine.running import Running
from tests.engine.scheduling import test_group_scheduler as gangs
from tests.engine.scheduling.test_group_scheduler import come, condition, group, placed, run
from tests.engine.worlds import Bench


def member(*args: Any, **spec: Any) -> Pod:
    """A member that nobody has to go for."""
    return gangs.member(*args, preemption_policy="Never", **spec)


def held(world: Running) -> dict[str, str]:
    """Which pods are nominated to which nodes, by the operator and by their status alike."""
    nominations = world.engine.context.cache.nominations
    promised = {record.pod.metadata.name: record.node for record in nominations}
    waiting = [pod for pod in world.kube.pods.values() if not pod.spec.node_name]
    shown = {pod.metadata.name: node for pod in waiting if (node := pod.status.nominated_node_name)}
    assert promised == shown
    return promised


async def filled(world: Running, each: str = "4", priority: int = 0) -> None:
    """Both nodes are full of pods of low priority, so many to a node as go in with this much
    each.
    """
    for i in range(2 * 4 // int(each)):
        come(world, make_pod(f"low{i}", cpu=each, priority=priority))
    await world.clock.advance(2)


@pytest.mark.parametrize("each", ["1", "2", "4"])
def test_a_gang_beside_a_stream_of_lesser_pods(each: str) -> None:
    """One ends, another comes: its room is never the gang's, until room is held; then both members
    have theirs.
    """

    async def scenario(world: Running) -> None:
        await filled(world, each)
        come(
            world,
            group(2),
            member("g0", cpu="4", priority=1000),
            member("g1", cpu="4", priority=1000),
        )
        number = 2 * 4 // int(each)
        for step in range(18):
            await world.clock.advance(10)
            if all(placed(world, "g0", "g1")):
                assert step * 10 >= HOLD_AFTER_SECONDS
                assert held(world) == {}
                return
            come(world, make_pod(f"low{number + step}", cpu=each, priority=0))
            running = [
                uid
                for uid, pod in world.kube.pods.items()
                if uid.startswith("uid-low") and pod.spec.node_name
            ]
            world.kube.delete(world.kube.pods[min(running, key=lambda uid: int(uid[7:]))])
        raise AssertionError(condition(world, "g0"))

    run(scenario)


def test_what_is_held_is_told_and_ends() -> None:
    """Whoever is kept out reads for whom; after a while they have the room, and the gang has to
    wait as long again.
    """

    async def scenario(world: Running) -> None:
        await filled(world)
        come(
            world,
            group(2),
            member("g0", cpu="4", priority=1000),
            member("g1", cpu="4", priority=1000),
        )
        await world.clock.advance(HOLD_AFTER_SECONDS + 1)
        world.kube.delete(world.kube.pods["uid-low0"])
        await world.clock.advance(1)
        assert sorted(held(world)) == ["g0", "g1"]
        assert {*held(world).values()} == {"n1", "n2"}
        assert condition(world, "g0")[1].endswith(HOLD_MESSAGE)
        assert len(world.notes("GangHoldsRoom", "g")) == 1
        come(world, make_pod("late", cpu="1", priority=0))
        await world.clock.advance(5)
        assert "(pod group default/g, priority 1000)" in condition(world, "late")[1]
        await world.clock.advance(MAX_HOLD_SECONDS)
        assert world.node("late")
        assert held(world) == {}
        await world.clock.advance(MAX_HOLD_SECONDS - 60)
        assert held(world) == {}
        world.kube.delete(world.kube.pods["uid-late"])
        await world.clock.advance(20)
        assert len(world.notes("GangHoldsRoom", "g")) == 1

    run(scenario)


async def of_the_same_priority(world: Running) -> None:
    """Who may not choose a priority cannot hold up others of its own."""
    await filled(world, priority=-1)
    come(world, group(2), member("g0", cpu="4"), member("g1", cpu="4"))
    await world.clock.advance(HOLD_AFTER_SECONDS + 1)
    world.kube.delete(world.kube.pods["uid-low0"])
    await world.clock.advance(1)
    assert sorted(held(world)) == ["g0", "g1"]


async def too_large(world: Running) -> None:
    """It would not fit if all others were gone: it holds nothing."""
    await filled(world)
    come(world, group(3), *(member(name, cpu="4", priority=1000) for name in ("g0", "g1", "g2")))
    await world.clock.advance(HOLD_AFTER_SECONDS + 1)
    world.kube.delete(world.kube.pods["uid-low0"])
    await world.clock.advance(1)
    assert held(world) == {}


async def not_complete_any_more(world: Running) -> None:
    """A member is deleted: what was held is free."""
    await filled(world)
    come(
        world, group(2), member("g0", cpu="4", priority=1000), member("g1", cpu="4", priority=1000)
    )
    await world.clock.advance(HOLD_AFTER_SECONDS + 1)
    world.kube.delete(world.kube.pods["uid-low0"])
    await world.clock.advance(1)
    world.kube.delete(world.kube.pods["uid-g0"])
    await world.clock.advance(1)
    assert held(world) == {}


@pytest.mark.parametrize("before", [of_the_same_priority, too_large, not_complete_any_more])
def test_who_is_not_kept_out(before: Callable[[Running], Any]) -> None:
    """A pod of priority 0 has the room that is free."""

    async def scenario(world: Running) -> None:
        await before(world)
        come(world, make_pod("late", cpu="4", priority=0))
        await world.clock.advance(2)
        assert world.node("late")

    run(scenario)


@pytest.mark.parametrize("created", ["2026-11-30T06:00:00Z", "2026-11-30T08:00:00Z"])
def test_younger_pods_of_the_same_priority(created: str) -> None:
    """They are kept out, older ones are not."""

    def at(time: str, pod: Pod) -> Pod:
        meta = msgspec.structs.replace(pod.metadata, creation_timestamp=time)
        return msgspec.structs.replace(pod, metadata=meta)

    async def scenario(world: Running) -> None:
        await filled(world, priority=-1)
        members = [at("2026-11-30T07:00:00Z", member(f"g{i}", cpu="4")) for i in range(2)]
        come(world, group(2), *members)
        await world.clock.advance(HOLD_AFTER_SECONDS + 10)
        assert sorted(held(world)) == ["g0", "g1"]
        come(world, at(created, make_pod("late", cpu="4")))
        world.kube.delete(world.kube.pods["uid-low0"])
        await world.clock.advance(20)
        assert bool(world.node("late")) is (created < "2026-11-30T07")

    run(scenario)


def test_one_gang_at_a_time() -> None:
    """The most important one; the other one has its turn when that has waited in vain."""

    async def scenario(world: Running) -> None:
        await filled(world)
        for name, priority in (("g", 10), ("h", 1000)):
            come(
                world,
                group(2, name=name),
                *(member(f"{name}{i}", name, cpu="4", priority=priority) for i in range(2)),
            )
        await world.clock.advance(HOLD_AFTER_SECONDS + 1)
        world.kube.delete(world.kube.pods["uid-low0"])
        await world.clock.advance(15)
        assert sorted(held(world)) == ["h0", "h1"]
        await world.clock.advance(MAX_HOLD_SECONDS)
        assert not any(name.startswith("h") for name in held(world))

    run(scenario)


def test_whose_turn_it_is() -> None:
    """Of those that wait long enough the most important one, then the oldest; whoever has nobody
    left that waits is passed over.
    """
    bench, waits = Bench(has_twin=False), dict[PodGroupState, list[Diagnosis]]()
    holds = GroupHolds(bench.cache.nominations, bench.pod_conditions, waits)

    def come_to_wait(name: str, since: float, priority: int) -> PodGroupState:
        pod = member(f"{name}0", name, priority=priority)
        entry = QueuedPodInfo(pod, "test", since)
        state = PodGroupState(
            GroupKey(COSCHEDULING_API, "default", name),
            "test",
            waiting={pod.metadata.uid: entry},
            complete=True,
            complete_since=since,
        )
        waits[state] = [Diagnosis.error(pod, REVISION, "no room")]
        return state

    first, second = come_to_wait("a", 0, 10), come_to_wait("b", 1, 10)
    important, newest = come_to_wait("c", 2, 1000), come_to_wait("d", 9, 2000)
    now = HOLD_AFTER_SECONDS + 5
    turns = [first, second, important, newest]
    assert [holds.may_hold(group, now) for group in turns] == [False, False, True, False]
    important.waiting.clear()
    assert [holds.may_hold(group, now) for group in (first, second)] == [True, False]
    first.complete = False
    assert holds.may_hold(second, now)
