"""Preemption from end to end: victims are told to go, the pod keeps its node and gets it, and what
fails is tried again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import msgspec
import pytest

from moorage.core.objects.meta import ObjectMeta
from moorage.core.objects.pod_groups import (
    AllDisruptionMode,
    DisruptionMode,
    PodGroup,
    PodGroupSpec,
)
from moorage.core.objects.pods import Pod, PodSchedulingGroup, PodStatus
from moorage.core.queue.queued_pod import QueueState
from moorage.ports.errors import EdgeError, Fenced, Forbidden, NotFound, Retryable
from tests.builders import make_node, make_pod
from tests.engine.running import TRIED_AGAIN, Running
from tests.engine.worlds import Bench, a_body, on_node, versioned

VICTIM = make_pod("low", cpu="3", node="n1", priority=1)
HIGH = make_pod("high", cpu="3", priority=9)


def nominated(pod: Pod, node: str) -> Pod:
    """The pod with this in its status."""
    return msgspec.structs.replace(pod, status=PodStatus(nominated_node_name=node))


async def preempt(world: Running) -> None:
    """A pod comes that fits only without another one."""
    world.kube.put(VICTIM)
    world.kube.put(HIGH)
    await world.clock.advance(0.5)


def test_a_pod_of_higher_priority_gets_the_room() -> None:
    """The victim gets a condition, is deleted and told so; the pod is nominated, and placed once
    the victim is gone.
    """

    async def story() -> None:
        world = Running()
        async with world.leading(a_body("test"), nodes=1):
            await preempt(world)
            victim, pod = world.kube.pods["uid-low"], world.kube.pods["uid-high"]
            assert victim.metadata.deletion_timestamp is not None
            (condition,) = victim.status.conditions or ()
            assert (condition.type, condition.status, condition.reason) == (
                "DisruptionTarget",
                "True",
                "PreemptionByScheduler",
            )
            assert condition.message == "test: preempting to accommodate a higher priority pod"
            assert world.notes("Preempted", "low") == ["Preempted by pod uid-high on node n1"]
            assert pod.status.nominated_node_name == "n1"
            made = (
                "preemption: found a potential placement for pod on node n1, preempting 1 victims"
            )
            assert (pod.status.conditions or ())[
                0
            ].message == f"0/1 nodes are available: 1 Insufficient cpu. {made}"
            assert world.node("high") == ""
            world.kube.delete(victim)
            await world.clock.advance(TRIED_AGAIN)
            assert world.node("high") == "n1"

    asyncio.run(story())


def test_all_of_a_group_goes_from_all_its_nodes() -> None:
    """Where it says so; each is told for which node."""

    async def story() -> None:
        world = Running()
        async with world.leading(a_body("test"), nodes=2):
            together = DisruptionMode(all=AllDisruptionMode())
            spec = PodGroupSpec(priority=1, disruption_mode=together)
            world.kube.put(PodGroup(ObjectMeta("team", "default", "uid-team"), spec))
            team = PodSchedulingGroup("team")
            for name, cpu, node in (("far", "1", "n2"), ("low", "3", "n1")):
                world.kube.put(make_pod(name, cpu=cpu, node=node, scheduling_group=team))
            world.kube.put(make_pod("stays", cpu="3", node="n2", priority=9))
            world.kube.put(HIGH)
            await world.clock.advance(0.5)
            for name in ("far", "low"):
                assert world.kube.pods[f"uid-{name}"].metadata.deletion_timestamp is not None
                assert world.notes("Preempted", name) == ["Preempted by pod uid-high on node n1"]
            for name in ("far", "low"):
                world.kube.delete(world.kube.pods[f"uid-{name}"])
            await world.clock.advance(TRIED_AGAIN)
            assert world.node("high") == "n1"

    asyncio.run(story())


def test_while_the_victim_goes_nobody_else_is_evicted() -> None:
    """The pod is tried again for another reason: it waits for the victim that was told to go."""

    async def story() -> None:
        world = Running()
        async with world.leading(a_body("test"), nodes=1):
            await preempt(world)
            world.kube.put(make_node("n2", unschedulable=True))
            world.kube.put(make_pod("other", cpu="1", node="n1", priority=1))
            await world.clock.advance(TRIED_AGAIN)
            assert len([write for write in world.kube.written if write.method == "delete_pod"]) == 1
            pod = world.kube.pods["uid-high"]
            assert pod.status.nominated_node_name == "n1"
            assert (
                "terminating pod on the nominated node" in (pod.status.conditions or ())[0].message
            )

    asyncio.run(story())


def test_the_room_is_kept_from_lower_pods() -> None:
    """The victim is gone, and a pod of lower priority does not get in between."""

    async def story() -> None:
        world = Running()
        async with world.leading(a_body("test"), nodes=1):
            gate = world.kube.hold("delete_pod")
            await preempt(world)
            world.kube.put(make_pod("small", cpu="2", priority=2))
            world.kube.delete(world.kube.pods["uid-low"])
            await world.clock.advance(TRIED_AGAIN)
            assert world.node("small") == ""
            gate.set()
            await world.clock.advance(TRIED_AGAIN)
            assert (world.node("high"), world.node("small")) == ("n1", "")

    asyncio.run(story())


def test_a_pod_is_not_tried_while_its_victims_are_being_told() -> None:
    """It stays in flight, so that it does not choose others meanwhile."""

    async def story() -> None:
        world = Running()
        async with world.leading(a_body("test"), nodes=1):
            gate = world.kube.hold("delete_pod")
            await preempt(world)
            assert world.engine.queue.totals().in_flight == 1
            gate.set()
            await world.clock.advance(0.5)
            assert world.engine.queue.totals().unschedulable == 1

    asyncio.run(story())


def test_a_pod_is_not_tried_for_each_of_its_victims_that_goes() -> None:
    """They are without grace, and the watch tells of one after another: the pod is tried again when
    all are gone.
    """

    async def story() -> None:
        world = Running()
        victims = [make_pod(f"low-{number}", cpu="1", node="n1", priority=1) for number in range(3)]
        async with world.leading(a_body("test"), nodes=1):
            for victim in victims:
                world.kube.put(victim)
            world.kube.put(make_pod("high", cpu="4", priority=9))
            world.kube.silent = True
            await world.clock.advance(0.01)
            entry = world.engine.queue.get("uid-high")
            assert entry is not None
            for victim in victims:
                assert (entry.state, entry.attempts) == (QueueState.IN_FLIGHT, 1)
                world.kube.silent = False
                world.kube.delete(victim)
                world.kube.silent = True
                await world.clock.advance(0.01)
            world.kube.silent = False
            await world.clock.advance(TRIED_AGAIN)
            assert world.node("high") == "n1"
            assert (entry.state, entry.attempts) == (None, 2)

    asyncio.run(story())


@pytest.mark.parametrize(
    ("error", "times", "message"),
    [
        pytest.param(lambda: Retryable("too many requests", after=0.1), 1, "", id="asked again"),
        pytest.param(lambda: NotFound("DELETE", 404), 1, "", id="gone anyway"),
        pytest.param(
            lambda: Forbidden("DELETE", 403), 9, "preemption: DELETE: 403", id="not allowed"
        ),
        pytest.param(
            lambda: Retryable("no answer"), 9, "preemption: no answer", id="never answered"
        ),
    ],
)
def test_when_a_victim_cannot_be_told(
    error: Callable[[], EdgeError], times: int, message: str
) -> None:
    """What passes is tried again; what does not is said, and the pod is tried again later."""

    async def story() -> None:
        world = Running()
        async with world.leading(a_body("test"), nodes=1):
            world.kube.fail("delete_pod", error(), times=times)
            await preempt(world)
            await world.clock.advance(2.0)
            notes = " ".join(world.notes("FailedScheduling", "high"))
            assert (
                (message in notes)
                if message
                else (
                    "preemption" not in notes.replace("preemption: found a potential placement", "")
                )
            )

    asyncio.run(story())


def test_a_pod_of_lower_priority_loses_its_nomination() -> None:
    """The one that was nominated to the node is not any more."""

    async def story() -> None:
        world = Running()
        async with world.leading(a_body("test"), nodes=1):
            world.kube.put(VICTIM)
            world.kube.put(nominated(make_pod("middle", cpu="3", priority=5), "n1"))
            await world.clock.advance(0.5)
            world.kube.put(HIGH)
            await world.clock.advance(0.5)
            assert world.kube.pods["uid-middle"].status.nominated_node_name == ""
            assert list(world.engine.context.cache.nominations.nodes) == ["n1"]
            assert "uid-high" in world.engine.context.cache.nominations

    asyncio.run(story())


def test_a_replica_that_leads_no_more_says_nothing() -> None:
    """The fence stops it; the next leader decides anew."""

    async def story() -> None:
        world = Running()
        async with world.leading(a_body("test"), nodes=1):
            world.kube.fail("pod_condition", Fenced("fenced"), times=99)
            await preempt(world)
            assert world.kube.pods["uid-low"].metadata.deletion_timestamp is None

    asyncio.run(story())


# ---- what the intake makes of nominations --------------------------------------------------------


def test_nominations_follow_the_pods() -> None:
    """They come with a waiting pod's status, move with it, and go with the pod."""
    bench = Bench()
    there = bench.cache.nominations
    bench.pods.put(versioned(nominated(HIGH, "n1")))
    assert list(there.nodes) == ["n1"]
    bench.pods.put(versioned(nominated(HIGH, "n2")))
    assert list(there.nodes) == ["n2"]
    bench.pods.put(versioned(HIGH))
    assert list(there.nodes) == []
    bench.pods.put(versioned(nominated(HIGH, "n1")))
    bench.pods.delete(HIGH)
    assert list(there.nodes) == []


def test_a_promise_that_is_not_written_yet_stands() -> None:
    """A change of the pod that does not speak of its nomination does not take it back."""
    bench = Bench()
    bench.nodes.put(versioned(make_node("n1")))
    bench.pods.put(versioned(VICTIM))
    bench.pods.put(versioned(HIGH))
    bench.attempt()
    assert bench.preemptor.under_way.diagnosis.nominated_node == "n1"
    bench.pods.put(versioned(HIGH, labels={"a": "b"}))
    assert "uid-high" in bench.cache.nominations


def test_a_nominated_pod_that_goes_frees_its_room() -> None:
    """Whoever was kept out for it is tried again."""
    bench = Bench()
    bench.nodes.put(versioned(make_node("n1")))
    bench.pods.put(versioned(nominated(HIGH, "n1")))
    bench.queue.remove("uid-high")
    bench.pods.put(versioned(make_pod("small", cpu="2", priority=2)))
    assert bench.attempt() == "small"
    assert bench.queue.totals().unschedulable == 1
    bench.pods.delete(HIGH)
    assert bench.queue.totals().unschedulable == 0


def test_a_placed_pod_is_nominated_no_more() -> None:
    """Neither when we place it nor when the watch shows it on a node."""
    bench = Bench()
    bench.nodes.put(versioned(make_node("n1")))
    bench.pods.put(versioned(nominated(HIGH, "n1")))
    assert bench.attempt() == "high"
    assert len(bench.cache.nominations) == 0
    bench.pods.put(versioned(nominated(HIGH, "n2")))
    assert len(bench.cache.nominations) == 0
    bench.pods.put(versioned(nominated(make_pod("seen", priority=9), "n1")))
    bench.pods.put(versioned(on_node(make_pod("seen", priority=9), "n1")))
    assert len(bench.cache.nominations) == 0
