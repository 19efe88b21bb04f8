"""Waiting at permit: a pod keeps its node until it is allowed; whatever else ends its waiting,
nothing of it is left.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from moorage.core.queue.queued_pod import QueueState
from moorage.engine.binding.actors.contract import PermitWait
from moorage.engine.binding.permit import MAX_PERMIT_SECONDS, WaitingPod
from tests.builders import make_node, make_pod
from tests.engine.running import STEPS, Running
from tests.engine.worlds import a_body
from tests.fakes.clocks import settle

HELD_FOR = 60.0


async def holding(world: Running) -> WaitingPod:
    """Let a pod come that is held; it waits now."""
    world.steps.script["permit"].append(PermitWait(HELD_FOR))
    world.kube.put(make_pod("a"))
    await settle()
    waiting = world.engine.binder.waiting_pods.get("uid-a")
    assert waiting is not None
    assert (world.assumed, world.node("a")) == (1, "")
    return waiting


def test_a_held_pod_goes_on_when_it_is_allowed() -> None:
    """By the plugin that holds it, and by no other; it is bound to the node that it was given."""

    async def story() -> None:
        async with Running().leading() as world:
            waiting = await holding(world)
            waiting.allow("Other")
            await settle()
            assert world.node("a") == ""
            waiting.allow("Steps")
            await settle()
            assert world.node("a") == waiting.node
            assert list(world.engine.binder.waiting_pods) == []

    asyncio.run(story())


def test_each_plugin_that_holds_a_pod_has_to_allow_it() -> None:
    """Two holders, two words."""

    async def story() -> None:
        world = Running()
        waiting = world.engine.binder.waiting_pods
        task = asyncio.create_task(
            waiting.wait_on_permit(make_pod("a"), "n1", {"One": 5.0, "Two": 5.0})
        )
        await settle()
        (pod,) = waiting
        pod.allow("One")
        await settle()
        assert not task.done()
        pod.allow("Two")
        assert await task is None

    asyncio.run(story())


@pytest.mark.parametrize(
    ("asked", "lasts"),
    [(HELD_FOR, HELD_FOR), (1e9, MAX_PERMIT_SECONDS)],
    ids=["as asked", "not for ever"],
)
def test_a_hold_ends(asked: float, lasts: float) -> None:
    """The plugin whose time is over counts as who refused the pod."""

    async def story() -> None:
        async with Running().leading() as world:
            world.steps.script["permit"].append(PermitWait(asked))
            world.kube.put(make_pod("a"))
            await world.clock.advance(lasts - 1)
            assert world.assumed == 1
            await world.clock.advance(2)
            assert world.assumed == 0
            entry = world.engine.queue.get("uid-a")
            assert entry is not None
            assert (entry.state, entry.unschedulable_plugins) == (
                QueueState.UNSCHEDULABLE,
                {"Steps"},
            )
            assert world.notes("FailedScheduling") == [
                f"rejected due to timeout after waiting {lasts:g}s at plugin Steps"
            ]

    asyncio.run(story())


async def rejected(world: Running) -> None:
    """A plugin says no."""
    assert world.engine.binder.waiting_pods.reject("uid-a", "Steps", "the quota is used up")


async def deleted(world: Running) -> None:
    """The pod is gone."""
    world.kube.delete(world.kube.pods["uid-a"])


async def suspended(world: Running) -> None:
    """Its profile is not to bind anything any more."""
    world.engine.profile_changed("test", a_body("test", plugins=STEPS, suspend=True, generation=2))
    await world.clock.advance(0.3)


async def profile_deleted(world: Running) -> None:
    """Its profile is gone."""
    world.engine.profile_changed("test", None)
    await world.clock.advance(0.3)


async def node_deleted(world: Running) -> None:
    """The node that it was given is gone."""
    waiting = world.engine.binder.waiting_pods.get("uid-a")
    assert waiting is not None
    world.kube.delete(world.kube.nodes[waiting.node])
    world.steps.script["permit"].append(PermitWait(HELD_FOR))


async def stopped(world: Running) -> None:
    """This replica stops."""
    await world.engine.settle(5)


ENDS: list[tuple[Callable[[Running], Awaitable[None]], QueueState | None, list[str]]] = [
    (rejected, QueueState.UNSCHEDULABLE, ["the quota is used up"]),
    (deleted, None, []),
    (suspended, QueueState.UNSERVED, ["SchedulerProfile 'test' is suspended"]),
    (
        profile_deleted,
        QueueState.UNSERVED,
        ["SchedulerProfile 'test' serves this schedulerName no more"],
    ),
    (node_deleted, QueueState.BACKOFF, ["node 'n1' has been deleted since it was chosen"]),
    (stopped, QueueState.BACKOFF, []),
]


@pytest.mark.parametrize(("end", "place", "told"), ENDS, ids=[end.__name__ for end, _, _ in ENDS])
def test_whatever_ends_the_waiting(
    end: Callable[[Running], Awaitable[None]], place: QueueState | None, told: list[str]
) -> None:
    """The assumption ends too, the pod is where it belongs, and it is told why."""

    async def story() -> None:
        async with Running().leading(nodes=1) as world:
            await holding(world)
            await end(world)
            await settle()
            assert world.assumed == 0
            assert list(world.engine.binder.waiting_pods) == []
            assert world.node("a") == "" if place else "uid-a" not in world.kube.pods
            entry = world.engine.queue.get("uid-a")
            assert (entry.state if entry else None) is place
            assert world.notes("FailedScheduling", "a")[: len(told)] == told

    asyncio.run(story())


def test_held_pods_hold_up_nobody() -> None:
    """However many wait, others are bound."""

    async def story() -> None:
        async with Running().leading(nodes=0) as world:
            world.kube.put(make_node("n1", cpu="100", memory="100Gi"))
            limit = world.engine.slots.limit
            for i in range(limit + 1):
                world.steps.script["permit"].append(PermitWait(HELD_FOR))
                world.kube.put(make_pod(f"held-{i}"))
            await settle(200)
            assert len(list(world.engine.binder.waiting_pods)) == limit + 1
            world.kube.put(make_pod("b"))
            await settle()
            assert world.node("b") == "n1"

    asyncio.run(story())


def test_a_step_that_never_ends_is_broken_off() -> None:
    """A plugin of somebody else's that waits for ever keeps no room for ever."""

    async def story() -> None:
        async with Running().leading() as world:
            world.steps.gates["pre_bind"] = asyncio.Event()
            world.kube.put(make_pod("a"))
            await world.clock.advance(1)
            assert world.assumed == 1
            world.clock.jump(3598)
            await world.clock.advance(2)
            assert world.assumed == 0
            (note,) = world.notes("FailedScheduling", "a")
            assert (
                note == 'binding rejected: running PreBind plugin "Steps": not done within 3600 s'
            )

    asyncio.run(story())
