"""Many pods that wait for the same: an event frees all of them, a few at a time, and the loop goes
on until they are placed.
"""

from __future__ import annotations

import asyncio

import msgspec

from moorage.core.objects.pods import Affinity
from moorage.core.queue.pending_moves import MOVES_PER_SLICE
from tests.builders import make_node, make_pod
from tests.engine.running import TRIED_AGAIN, Running
from tests.engine.worlds import Bench, a_body, versioned
from tests.fakes.clocks import settle

MANY = 2 * MOVES_PER_SLICE + 10


def test_all_of_many_unschedulable_pods_are_placed() -> None:
    """More than are moved at a time; the loop does not wait for the clock to look at the next
    ones.
    """

    async def scenario() -> None:
        async with Running().leading(a_body("test")) as world:
            for i in range(MANY):
                world.kube.put(make_pod(f"p{i}", cpu="5"))
            await world.clock.advance(20)
            assert world.engine.queue.counts("test").unschedulable == MANY
            world.kube.put(make_node("big", cpu=str(5 * MANY), memory="1Ti", pods=str(MANY)))
            assert world.engine.queue.moves_pending
            world.engine.work.wake_up()
            await settle()
            assert not world.engine.queue.moves_pending
            await world.clock.advance(TRIED_AGAIN)
            assert len(world.kube.bindings) == MANY

    asyncio.run(scenario())


def test_whom_a_pods_anti_affinity_kept_away_is_freed_when_it_goes() -> None:
    """They differ by labels that nobody goes by; those that its term did not speak of wait on for
    what they wait for.
    """
    bench = Bench(has_twin=False)
    bench.nodes.put(versioned(make_node("n1", labels={"zone": "a"})))
    term = {"labelSelector": {"matchLabels": {"app": "web"}}, "topologyKey": "zone"}
    affinity = msgspec.convert(
        {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}, Affinity
    )
    guard = versioned(make_pod("guard", cpu="1m", node="n1", affinity=affinity))
    bench.pods.put(guard)
    for i in range(4):
        labels = {"app": "web", "statefulset.kubernetes.io/pod-name": f"web-{i}"}
        bench.pods.put(versioned(make_pod(f"web-{i}", cpu="1m"), labels=labels))
    while bench.attempt():
        pass
    assert bench.queue.counts("test").unschedulable == 4
    bench.pods.delete(guard)
    assert bench.queue.counts("test").unschedulable == 0


def test_a_replica_that_does_not_lead_catches_up_too() -> None:
    """It decides on nobody, and its loop sleeps; its queue is up to date all the same."""

    async def scenario() -> None:
        async with Running().leading(a_body("test")) as world:
            for i in range(MANY):
                world.kube.put(make_pod(f"p{i}", cpu="5"))
            await world.clock.advance(20)
            world.engine.live.deciding = False
            world.kube.put(make_node("big", cpu=str(5 * MANY), memory="1Ti", pods=str(MANY)))
            await world.clock.advance(TRIED_AGAIN)
            assert not world.engine.queue.moves_pending
            assert world.engine.queue.counts("test").active == MANY
            assert world.kube.bindings == {}

    asyncio.run(scenario())
