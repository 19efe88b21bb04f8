"""Overtaken: what others do to a node between the decision and the binding counts, and is told
apart from what we did ourselves.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from moorage.core.cycle import cycle
from moorage.core.cycle.context import CycleContext, ScheduleResult
from moorage.core.objects.nodes import Taint
from moorage.core.objects.pods import Pod
from tests.builders import make_node, make_pod
from tests.engine.running import Running
from tests.engine.worlds import on_node, versioned
from tests.fakes.clocks import settle


async def decided(world: Running, pod: Pod) -> asyncio.Event:
    """The pod has its node; the event lets it go on to be bound."""
    gate = world.steps.gates["pre_bind"] = asyncio.Event()
    world.kube.put(pod)
    await settle()
    assert world.assumed == 1
    return gate


@pytest.mark.parametrize(
    ("theirs", "text"),
    [
        pytest.param(make_pod("theirs", cpu="1"), "", id="it still fits"),
        pytest.param(make_pod("theirs", cpu="3"), "Insufficient cpu", id="no room is left"),
    ],
)
def test_somebody_else_takes_the_room(theirs: Pod, text: str) -> None:
    """A pod that does not fit any more is not sent; it is tried again. By the cache, no node is
    filled beyond what it has.
    """

    async def story() -> None:
        async with Running().leading(nodes=0) as world:
            world.kube.put(make_node("n1", cpu="4"))
            gate = await decided(world, make_pod("ours", cpu="2"))
            world.kube.put(on_node(theirs, "n1"))
            gate.set()
            await settle()
            assert world.node("ours") == ("" if text else "n1")
            told = [f"node 'n1' has changed since it was chosen: {text}"] if text else []
            assert world.notes("FailedScheduling", "ours") == told
            assert world.telemetry.counts["overtaken", "test"] == bool(text)
            assert world.assumed == 0
            if text:
                world.kube.put(make_node("n2", cpu="4"))
                await world.clock.advance(5)
                assert world.node("ours") == "n2"

    asyncio.run(story())


def test_the_node_changes_its_mind() -> None:
    """A taint that came meanwhile is heeded; what we placed there ourselves meanwhile is not
    news.
    """

    async def story() -> None:
        async with Running().leading(nodes=0) as world:
            node = make_node("n1", cpu="4")
            world.kube.put(node)
            gate = await decided(world, make_pod("ours", cpu="2"))
            world.kube.put(
                versioned(
                    make_node("n1", cpu="4", taints=(Taint("dedicated", "db", "NoSchedule"),))
                )
            )
            gate.set()
            await settle()
            assert world.node("ours") == ""
            (note,) = world.notes("FailedScheduling", "ours")[:1]
            assert "untolerated taint" in note

    asyncio.run(story())


CAUSES: dict[str, Callable[[Running], object]] = {
    "its profile is suspended": lambda world: world.engine.under_way.interrupt_profile(
        "test", "suspended"
    ),
    "the pod goes": lambda world: world.kube.delete(world.kube.pods["uid-ours"]),
    "another pod needs its room": lambda world: world.engine.binder.preempt("uid-ours", "room"),
    "the replica stops": lambda world: world.engine.binder.interrupt_all("this replica stops"),
}


@pytest.mark.parametrize("cause", CAUSES)
def test_what_comes_while_its_node_is_looked_at(
    cause: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It counts: the pod is not sent, though the node takes it."""

    async def story() -> None:
        async with Running().leading(nodes=0) as world:
            world.kube.put(make_node("n1", cpu="4"))
            gate = await decided(world, make_pod("ours", cpu="2"))

            def look(placement: ScheduleResult, context: CycleContext) -> str:
                CAUSES[cause](world)
                return ""

            monkeypatch.setattr(cycle, "recheck_node", look)
            world.kube.put(on_node(make_pod("theirs", cpu="1"), "n1"))
            gate.set()
            await settle()
            assert [write for write in world.kube.written if write.method == "bind"] == []
            assert (world.assumed, len(world.engine.binder)) == (0, 0)

    asyncio.run(story())


def test_our_own_decisions_are_no_news(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pods that we place side by side do not make each other be asked about again: neither by being
    placed, nor by being seen there with their node's zone.
    """

    async def story() -> None:
        async with Running().leading(nodes=0) as world:
            world.kube.put(make_node("n1", labels={"topology.kubernetes.io/zone": "a"}))
            asked: list[str] = []

            def ask(placement: ScheduleResult, context: CycleContext) -> str:
                asked.append(placement.node)
                return "it is full"

            monkeypatch.setattr(cycle, "recheck_node", ask)
            gate = await decided(world, make_pod("first"))
            del world.steps.gates["pre_bind"]
            for name in "abcdef":
                world.kube.put(make_pod(name))
            await settle(100)
            assert [world.node(name) for name in "abcdef"] == ["n1"] * 6
            gate.set()
            await settle(100)
            assert world.node("first") == "n1"
            assert world.kube.pods["uid-a"].metadata.labels == {"topology.kubernetes.io/zone": "a"}
            assert asked == []

    asyncio.run(story())
