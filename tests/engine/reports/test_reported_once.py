"""What a pod that waits is told is told once for each kind of refusal within its backoff, however
often it is tried.
"""

from __future__ import annotations

import asyncio

from tests.builders import make_node, make_pod
from tests.engine.running import Running

SECONDS = 25


def test_a_pod_that_is_tried_again_and_again() -> None:
    """Pods of lower priority come and go beside it, so that each time it might fit; it must not
    preempt, and never fits.
    """

    async def story() -> None:
        async with Running().leading(nodes=1) as world:
            world.kube.put(make_pod("big", cpu="3500m", priority=10))
            await world.clock.advance(1)
            world.kube.put(make_pod("huge", cpu="2", priority=5, preemption_policy="Never"))
            world.kube.put(make_pod("stays", cpu="100m", priority=0))
            for i in range(SECONDS * 4):
                world.kube.put(make_pod(f"low{i}", cpu="100m", priority=0))
                await world.clock.advance(0.25)
                world.kube.delete(world.kube.pods[f"uid-low{i}"])
            entry = world.engine.queue.get("uid-huge")
            assert entry is not None
            assert entry.attempts > SECONDS
            assert 3 <= len(world.notes("FailedScheduling", "huge")) <= 7

    asyncio.run(story())


def test_another_kind_of_refusal_is_told_at_once() -> None:
    """Though the backoff of the first is not over."""

    async def story() -> None:
        async with Running().leading(nodes=1) as world:
            world.kube.put(make_pod("huge", cpu="9"))
            for i in range(6):
                await world.clock.advance(2)
                world.kube.put(
                    make_node(f"more{i}", cpu="9", unschedulable=True)
                    if i == 5
                    else make_node("n1", cpu=f"{5 + i / 10:.1f}")
                )
            await world.clock.advance(1)
            assert "unschedulable" in world.notes("FailedScheduling", "huge")[-1]

    asyncio.run(story())


def test_room_that_is_too_little_has_nobody_tried() -> None:
    """Pods come and go beside one that would not fit without them."""

    async def story() -> None:
        async with Running().leading(nodes=1) as world:
            world.kube.put(make_pod("big", cpu="3500m"))
            await world.clock.advance(1)
            world.kube.put(make_pod("huge", cpu="2"))
            for i in range(SECONDS):
                world.kube.put(make_pod(f"low{i}", cpu="100m"))
                await world.clock.advance(1)
                world.kube.delete(world.kube.pods[f"uid-low{i}"])
            entry = world.engine.queue.get("uid-huge")
            assert entry is not None
            assert entry.attempts == 1
            world.kube.delete(world.kube.pods["uid-big"])
            await world.clock.advance(2)
            assert world.node("huge")

    asyncio.run(story())
