"""Comparing: what a watch did not tell is put right, by the watch's own way in; what is only late,
or newer, is left alone.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moorage.core.objects.meta import PartialObject
from moorage.core.objects.pods import Pod, PodStatus
from moorage.core.objects.resource_claims import DeviceClass, ResourceClaim
from moorage.engine.intake.comparison import (
    PAGE_INTERVAL_SECONDS,
    RECHECK_DELAY_SECONDS,
    ROUND_INTERVAL_SECONDS,
    CacheComparison,
)
from moorage.ports.errors import NotFound, ResourceExpired
from moorage.ports.kube import UnreadableObject
from tests.builders import make_node, make_pod
from tests.engine.binding.test_device_binder import a_claim
from tests.engine.running import Running
from tests.engine.worlds import Bench, on_node, unreadable, versioned
from tests.fakes.clocks import EagerClock
from tests.fakes.kube import InMemoryUncachedReader

A_ROUND = ROUND_INTERVAL_SECONDS + 60.0
"""Seconds in which all kinds are gone through."""


def gpu(name: str) -> DeviceClass:
    """A class of devices."""
    return msgspec.convert({"metadata": {"name": name}, "spec": {}}, DeviceClass)


def without_a_word(world: Running, *changes: Callable[[], object]) -> None:
    """These happen, and no watch tells."""
    sinks: list[list[Any]] = [
        world.kube.pod_sinks,
        world.kube.node_sinks,
        *world.kube.other_sinks.values(),
    ]
    kept = [list(one) for one in sinks]
    for one in sinks:
        one.clear()
    for change in changes:
        change()
    for one, old in zip(sinks, kept, strict=True):
        one.extend(old)


def repairs(world: Running) -> dict[tuple[str, str], int]:
    """What was put right, by kind and difference."""
    return {
        what: count
        for what, count in world.telemetry.counts.items()
        if what[1] in ("missed", "stale", "redundant")
    }


def test_every_kind_of_difference_of_every_kind_of_object() -> None:
    """Missed, stale and redundant; pods, nodes, objects in the store, also those that cannot be
    read. Nothing else is touched.
    """

    async def story() -> None:
        async with Running().leading(nodes=2) as world:
            kube, engine = world.kube, world.engine
            for name in ("changed", "gone", "same"):
                kube.put(a_claim(name))
                kube.put(make_pod(name, node="n1"))
            kube.put(gpu("gone"))
            without_a_word(
                world,
                lambda: kube.put(on_node(make_pod("new"), "n1")),
                lambda: kube.put(make_pod("waits", cpu="1")),
                lambda: kube.put(make_pod("changed", node="n1", priority=7)),
                lambda: kube.delete(kube.pods["uid-gone"]),
                lambda: kube.put(make_node("n3")),
                lambda: kube.delete(kube.nodes["n2"]),
                lambda: kube.put(a_claim("new")),
                lambda: kube.put(a_claim("changed")),
                lambda: kube.delete(kube.others[ResourceClaim]["default/gone"]),
                lambda: kube.delete(kube.others[DeviceClass]["gone"]),
            )
            await world.clock.advance(A_ROUND)
            assert repairs(world) == {
                ("Pod", "missed"): 2,
                ("Pod", "stale"): 1,
                ("Pod", "redundant"): 1,
                ("Node", "missed"): 1,
                ("Node", "redundant"): 1,
                ("ResourceClaim", "missed"): 1,
                ("ResourceClaim", "stale"): 1,
                ("ResourceClaim", "redundant"): 1,
                ("DeviceClass", "redundant"): 1,
            }
            assert world.node("waits")
            assert engine.pod_sink.objects == kube.pods
            assert engine.node_sink.objects == kube.nodes
            assert set(engine.context.cache.store.objects(ResourceClaim)) == {
                "default/changed",
                "default/same",
                "default/new",
            }
            await world.clock.advance(A_ROUND)
            assert sum(repairs(world).values()) == 10

    asyncio.run(story())


def test_a_pod_that_the_queue_has_lost() -> None:
    """The watch has told of it, and it is nowhere all the same: it is queued again."""

    async def story() -> None:
        async with Running().leading(nodes=0) as world:
            world.kube.put(make_pod("a"))
            world.kube.put(make_pod("going"))
            world.kube.put(
                versioned(world.kube.pods["uid-going"], deletion_timestamp="2026-01-01T00:00:00Z")
            )
            await world.clock.advance(1)
            world.engine.queue.remove("uid-a")
            world.engine.queue.remove("uid-going")
            await world.clock.advance(A_ROUND)
            assert repairs(world) == {("Pod", "missed"): 1}
            assert world.engine.queue.get("uid-a") is not None
            assert world.engine.queue.get("uid-going") is None

    asyncio.run(story())


@pytest.mark.parametrize("late", ["comes", "goes", "changes"])
def test_what_the_watch_tells_between_the_looks_is_left_to_it(late: str) -> None:
    """A watch that lags for a moment is not interfered with: nothing is even read."""

    async def story() -> None:
        async with Running().leading(nodes=1) as world:
            old = world.kube.put(make_pod("old", node="n1"))
            gate = world.kube.hold("page")
            await world.clock.advance(ROUND_INTERVAL_SECONDS + PAGE_INTERVAL_SECONDS)
            change = {
                "comes": lambda: world.kube.put(make_pod("new", node="n1")),
                "goes": lambda: world.kube.delete(old),
                "changes": lambda: world.kube.put(make_pod("old", node="n1", priority=3)),
            }[late]
            without_a_word(world, change)
            gate.set()
            await world.clock.advance(RECHECK_DELAY_SECONDS / 2)
            if late == "goes":
                world.engine.pod_sink.delete(old)
            for pod in world.kube.pods.values():
                world.engine.pod_sink.put(pod)
            await world.clock.advance(A_ROUND - ROUND_INTERVAL_SECONDS)
            assert (repairs(world), world.kube.looked_at) == ({}, [])

    asyncio.run(story())


@pytest.mark.parametrize("meanwhile", ["comes", "goes"])
def test_a_read_that_the_watch_overtakes_is_dropped(meanwhile: str) -> None:
    """The answer is older than what the watch has told meanwhile."""

    async def story() -> None:
        async with Running().leading(nodes=1, lead=False) as world:
            if meanwhile == "goes":
                world.kube.put(make_pod("a", node="n1"))
            without_a_word(world, lambda: world.kube.put(make_pod("a", node="n1", priority=1)))
            look = InMemoryUncachedReader(world.kube, Pod)

            async def read(namespace: str, name: str) -> Any:
                found = await look.read(namespace, name)
                if meanwhile == "comes":
                    world.kube.put(make_pod("a", node="n1", priority=9))
                else:
                    world.kube.delete(world.kube.pods["uid-a"])
                return found

            comparison = CacheComparison(
                [(_Reads(look, read), world.engine.pod_sink)], world.clock, world.telemetry
            )
            comparison.lead()
            task = asyncio.create_task(comparison.run())
            await world.clock.advance(ROUND_INTERVAL_SECONDS + 5)
            task.cancel()
            assert world.engine.pod_sink.objects == world.kube.pods
            assert repairs(world) == {}

    asyncio.run(story())


class _Reads:
    """A look whose reads are another's."""

    def __init__(self, look: InMemoryUncachedReader, read: Callable[[str, str], Any]) -> None:
        self.resource, self.page, self.read = look.resource, look.page, read


@pytest.mark.parametrize(
    ("unread", "read", "asked"), [(1, 3, 4), (2, 2, 4), (5, 0, 3)], ids=["one", "two", "all"]
)
def test_a_read_that_fails_costs_no_other_its_turn(unread: int, read: int, asked: int) -> None:
    """Where one after another fails the rest waits for the next round; whatever was left is put
    right then.
    """

    async def story() -> None:
        async with Running().leading(nodes=1) as world:
            without_a_word(
                world,
                *(lambda name=name: world.kube.put(make_pod(name, node="n1")) for name in "abcd"),
            )
            world.kube.fail("read", ResourceExpired("410"), times=unread)
            await world.clock.advance(A_ROUND)
            assert (sum(repairs(world).values()), len(world.kube.looked_at)) == (read, asked)
            world.kube.release()
            await world.clock.advance(A_ROUND)
            assert repairs(world) == {("Pod", "missed"): 4}

    asyncio.run(story())


def test_a_standby_does_not_compare_and_a_failure_is_tried_again() -> None:
    """Its cost is the leader's alone; a list that took too long is begun anew in the next round."""

    async def story() -> None:
        async with Running().leading(nodes=1, lead=False) as world:
            without_a_word(world, lambda: world.kube.put(make_pod("a", node="n1")))
            await world.clock.advance(A_ROUND)
            assert repairs(world) == {}
            world.kube.fail("page", ResourceExpired("410"), times=30)
            world.comparison.lead()
            await world.clock.advance(A_ROUND)
            assert repairs(world) == {}
            world.kube.release()
            await world.clock.advance(A_ROUND)
            assert repairs(world) == {("Pod", "missed"): 1}

    asyncio.run(story())


@pytest.mark.parametrize(
    ("known", "lines"), [((), 0), ((gpu("a"),), 1)], ids=["nor have we", "but we have"]
)
def test_a_kind_that_the_api_server_does_not_have(
    known: tuple[DeviceClass, ...], lines: int, caplog: pytest.LogCaptureFixture
) -> None:
    """Nothing is to be said where we know of no such object either, as without the definition of
    PodGroups.
    """

    async def story() -> None:
        async with Running().leading(nodes=0) as world:
            for one in known:
                world.kube.put(one)
            sink: Any = world.kube.other_sinks[DeviceClass][0]
            comparison = CacheComparison(
                [(InMemoryUncachedReader(world.kube, DeviceClass), sink)],
                EagerClock(),
                world.telemetry,
            )
            world.kube.fail("page", NotFound("404 page not found", 404), times=30)
            with caplog.at_level("INFO", "moorage.engine.intake.comparison"):
                await comparison._compare(*comparison._compared[0])

    asyncio.run(story())
    assert (
        len([record for record in caplog.records if "could not be compared" in record.message])
        == lines
    )


def test_an_object_that_cannot_be_read() -> None:
    """It is known by its metadata, and so neither missed nor read again and again."""
    bench, clock = Bench(), EagerClock()
    bench.kube.put(make_node("n1"))
    pod = bench.kube.put(make_pod("a", node="n1"))
    look = InMemoryUncachedReader(bench.kube, Pod)

    async def read(namespace: str, name: str) -> Any:
        found = await look.read(namespace, name)
        broken: UnreadableObject = unreadable(pod)
        assert isinstance(broken.partial, PartialObject)
        return found._replace(object=broken)

    comparison = CacheComparison([(_Reads(look, read), bench.pods)], clock, bench.telemetry)
    bench.pods.synced = True

    async def rounds() -> None:
        for _ in range(2):
            await comparison._compare(*comparison._compared[0])

    asyncio.run(rounds())
    assert bench.telemetry.counts["Pod", "missed"] == 1
    assert bench.cache.pod_info("uid-a") is not None


STEPS = st.lists(
    st.tuples(st.sampled_from(["come", "bind", "end", "go"]), st.integers(0, 3), st.booleans()),
    max_size=25,
)


@given(STEPS)
@settings(max_examples=40, deadline=None)
def test_whatever_was_not_heard_is_put_right(steps: list[tuple[str, int, bool]]) -> None:
    """For any history of which some is not heard, one round later cache and queue hold what the API
    server has.
    """
    bench, clock = Bench(), EagerClock()
    bench.kube.put(make_node("n1"))
    for step, i, heard in steps:
        bench.kube.pod_sinks[:] = [bench.pods] if heard else []
        name, uid = f"p{i}", f"uid-p{i}"
        pod = bench.kube.pods.get(uid)
        if step == "come" and pod is None:
            bench.kube.put(make_pod(name))
        elif step == "bind" and pod is not None and not pod.spec.node_name:
            bench.kube.put(on_node(pod, "n1"))
        elif step == "end" and pod is not None:
            bench.kube.put(msgspec.structs.replace(pod, status=PodStatus(phase="Succeeded")))
        elif step == "go" and pod is not None:
            bench.kube.delete(pod)
    bench.pods.synced = True
    comparison = CacheComparison(
        [(InMemoryUncachedReader(bench.kube, Pod), bench.pods)], clock, bench.telemetry
    )
    asyncio.run(comparison._compare(*comparison._compared[0]))
    live = {
        uid: pod.spec.node_name
        for uid, pod in bench.kube.pods.items()
        if pod.status.phase != "Succeeded"
    }
    found = {record.pod.metadata.uid: record.node for record in bench.cache.pod_infos()}
    found |= {entry.uid: "" for entry in bench.queue.entries()}
    assert found == live
