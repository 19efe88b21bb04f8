"""The nomination controller: nominations heal. Whatever becomes of node, victims or the pod, nobody
waits for what will not come.
"""

from __future__ import annotations

import asyncio

import msgspec
import pytest

from moorage.core.objects.nodes import Node, Taint
from moorage.core.objects.pods import (
    Affinity,
    Pod,
    PodAffinity,
    PodAffinityTerm,
    PodStatus,
    SchedulingGate,
)
from moorage.core.objects.selector_terms import LabelSelector
from moorage.engine.scheduling.nomination_controller import (
    DEFAULT_GRACE_SECONDS,
    NOMINATION_TIMEOUT_SECONDS,
)
from moorage.ports.errors import Retryable
from tests.builders import make_node, make_pod
from tests.engine.preemptions import (
    calls,
    contested,
    going,
    gone,
    high,
    in_order,
    low,
    nominated_node,
)
from tests.engine.running import TRIED_AGAIN, Running
from tests.engine.worlds import a_body, on_node
from tests.fakes.clocks import settle

LONG = 3600


def changed(node: Node, **spec: object) -> Node:
    """The node with this in its spec."""
    return msgspec.structs.replace(node, spec=msgspec.structs.replace(node.spec, **spec))


def dying(world: Running, name: str, grace: int) -> None:
    """The pod that was told to go has this grace."""
    pod = world.kube.pods[f"uid-{name}"]
    world.kube.put(
        msgspec.structs.replace(
            pod, metadata=msgspec.structs.replace(pod.metadata, deletion_grace_period_seconds=grace)
        )
    )


async def nominate(world: Running, *pods: Pod) -> None:
    """These are there, and the pod has been nominated to n1."""
    for pod in pods:
        world.kube.put(pod)
    world.kube.put(high())
    await world.clock.advance(0.5)
    assert nominated_node(world) == "n1"


# ---- the node ------------------------------------------------------------------------------------


def test_a_promise_ends_with_its_node() -> None:
    """The pod is not said to be nominated to a node that is not there, and is ready for what
    comes.
    """

    async def story() -> None:
        async with contested(nodes=2) as world:
            world.kube.put(low("other", "4", "n2", priority=9))
            await nominate(world, low("a", "4"))
            world.kube.delete(world.kube.nodes["n1"])
            await world.clock.advance(TRIED_AGAIN)
            assert nominated_node(world) == ""
            world.kube.put(make_node("n3"))
            await world.clock.advance(TRIED_AGAIN)
            assert world.node("high") == "n3"

    asyncio.run(story())


def test_a_pod_that_lost_its_node_is_tried_again_whatever_had_refused_it() -> None:
    """No event tells of a reason to: its victim was in the way by an affinity term, not by what it
    took.
    """

    async def story() -> None:
        async with contested(nodes=0) as world:
            for name in ("n1", "n2"):
                world.kube.put(make_node(name, labels={"kubernetes.io/hostname": name}))
            term = PodAffinityTerm(
                topology_key="kubernetes.io/hostname", label_selector=LabelSelector({"app": "low"})
            )
            apart = Affinity(
                pod_anti_affinity=PodAffinity(
                    required_during_scheduling_ignored_during_execution=(term,)
                )
            )
            world.kube.put(low("a", "1"))
            world.kube.put(low("other", "1", "n2", priority=5))
            world.kube.put(high(cpu="1", affinity=apart))
            await world.clock.advance(0.5)
            assert nominated_node(world) == "n1"
            world.kube.delete(world.kube.nodes["n1"])
            await world.clock.advance(TRIED_AGAIN)
            assert nominated_node(world) == "n2"

    asyncio.run(story())


def test_a_standby_and_other_schedulers_are_left_alone() -> None:
    """A standby writes nothing; the status of another scheduler's pod is its own matter."""

    async def story() -> None:
        world = Running()
        async with world.leading(a_body("test"), nodes=2, lead=False):
            world.kube.put(high(node="n1"))
            world.kube.put(high("foreign", node="n2", scheduler_name="somebody"))
            world.kube.delete(world.kube.nodes["n1"])
            await world.clock.advance(TRIED_AGAIN)
            assert world.kube.written == []
            world.engine.lead()
            world.kube.delete(world.kube.nodes["n2"])
            await world.clock.advance(TRIED_AGAIN)
            assert nominated_node(world, "foreign") == "n2"

    asyncio.run(story())


@pytest.mark.parametrize(
    "what",
    [
        pytest.param({"taints": (Taint("k", "v", "NoSchedule"),)}, id="tainted"),
        pytest.param({"unschedulable": True}, id="cordoned"),
    ],
)
def test_a_node_that_does_not_suit_any_more(what: dict[str, object]) -> None:
    """The pod does not wait for its victim there, which may take an hour, but preempts
    elsewhere.
    """

    async def story() -> None:
        async with contested(nodes=2) as world:
            world.kube.put(low("other", "4", "n2", priority=5))
            await nominate(world, low("a", "4"))
            dying(world, "a", LONG)
            world.kube.put(changed(world.kube.nodes["n1"], **what))
            await world.clock.advance(TRIED_AGAIN)
            assert (nominated_node(world), going(world)) == ("n2", ["a", "other"])
            await gone(world, "other")
            assert world.node("high") == "n2"

    asyncio.run(story())


def test_a_node_that_changes_and_still_suits() -> None:
    """The pod goes on waiting, and nobody else goes."""

    async def story() -> None:
        async with contested(nodes=2) as world:
            world.kube.put(low("other", "4", "n2", priority=5))
            await nominate(world, low("a", "4"))
            world.kube.put(make_node("n1", labels={"a": "b"}))
            await world.clock.advance(TRIED_AGAIN)
            assert (nominated_node(world), going(world)) == ("n1", ["a"])

    asyncio.run(story())


COMES = [
    pytest.param(high("urgent", "1500m", 99), id="of our own"),
    pytest.param(low("urgent", "1500m", priority=99), id="of another scheduler"),
]


@pytest.mark.parametrize("urgent", COMES)
def test_a_promise_ends_when_there_is_not_room_enough_left(urgent: Pod) -> None:
    """A pod takes what is free now: the rest is not enough, whatever becomes of the victim. Who was
    nominated to it looks elsewhere.
    """

    async def story() -> None:
        async with contested() as world:
            await nominate(world, low("a", "2"))
            dying(world, "a", LONG)
            world.kube.put(urgent)
            await world.clock.advance(TRIED_AGAIN)
            assert (nominated_node(world), world.node("urgent"), world.node("high")) == (
                "",
                "n1",
                "",
            )
            world.kube.put(make_node("n2"))
            await world.clock.advance(TRIED_AGAIN)
            assert (nominated_node(world), world.node("high")) == ("", "n2")

    asyncio.run(story())


def test_a_promise_ends_when_its_room_is_taken_while_the_victim_is_told() -> None:
    """The pod is in flight until its victim is evicted, and its nomination is checked then."""

    async def story() -> None:
        async with contested() as world:
            gate = world.kube.hold("delete_pod")
            await nominate(world, low("a", "2"))
            world.kube.put(high("urgent", "1500m", 99))
            await world.clock.advance(0.5)
            assert (nominated_node(world), world.node("urgent")) == ("n1", "n1")
            gate.set()
            await settle()
            dying(world, "a", LONG)
            await world.clock.advance(TRIED_AGAIN)
            assert (nominated_node(world), world.node("high")) == ("", "")

    asyncio.run(story())


def test_a_promise_holds_while_there_is_room_enough_left() -> None:
    """A pod takes what is free now, and what the victim leaves is enough: nothing is written
    anew.
    """

    async def story() -> None:
        async with contested() as world:
            await nominate(world, low("a", "2"))
            dying(world, "a", LONG)
            said = calls(world, "pod_condition", "pod_nomination")
            world.kube.put(high("urgent", "1", 99))
            await world.clock.advance(TRIED_AGAIN)
            assert (nominated_node(world), world.node("urgent"), world.node("high")) == (
                "n1",
                "n1",
                "",
            )
            assert calls(world, "pod_condition", "pod_nomination") == said
            await gone(world, "a")
            assert world.node("high") == "n1"

    asyncio.run(story())


def test_a_promise_ends_when_its_node_shrinks() -> None:
    """To less than what the pod asks for and what stays there have in all."""

    async def story() -> None:
        async with contested() as world:
            await nominate(world, low("a", "2"), low("stays", "1", priority=99))
            dying(world, "a", LONG)
            world.kube.put(make_node("n1", cpu="3500m"))
            await world.clock.advance(TRIED_AGAIN)
            assert nominated_node(world) == ""

    asyncio.run(story())


# ---- victims that do not die ---------------------------------------------------------------------


def test_a_victim_that_never_dies_is_given_up() -> None:
    """After its grace and a minute; nobody goes before that, and then only those who must."""

    async def story() -> None:
        async with contested(nodes=3) as world:
            world.kube.put(low("other", "4", "n2", priority=5))
            world.kube.put(low("another", "4", "n3", priority=6))
            await nominate(world, low("a", "4"))
            dying(world, "a", DEFAULT_GRACE_SECONDS)
            await world.clock.advance(NOMINATION_TIMEOUT_SECONDS + DEFAULT_GRACE_SECONDS - 2.0)
            assert going(world) == ["a"]
            await world.clock.advance(5.0)
            assert (nominated_node(world), going(world)) == ("n2", ["a", "other"])
            assert len(calls(world, "delete_pod")) == 2
            await gone(world, "other")
            assert world.node("high") == "n2"

    asyncio.run(story())


def test_a_victim_with_a_long_grace_is_waited_for() -> None:
    """It has a right to it."""

    async def story() -> None:
        async with contested(nodes=2) as world:
            world.kube.put(low("other", "4", "n2", priority=5))
            await nominate(world, low("a", "4"))
            dying(world, "a", 200)
            await world.clock.advance(NOMINATION_TIMEOUT_SECONDS + 190.0)
            assert (nominated_node(world), going(world)) == ("n1", ["a"])

    asyncio.run(story())


def test_where_nobody_else_can_go_the_stuck_one_is_waited_for_without_a_promise() -> None:
    """The node is not kept for the pod any more; should the victim die after all, it gets it."""

    async def story() -> None:
        async with contested() as world:
            await nominate(world, low("a", "4"))
            dying(world, "a", 0)
            await world.clock.advance(NOMINATION_TIMEOUT_SECONDS + 5.0)
            assert nominated_node(world) == ""
            assert len(calls(world, "delete_pod")) == 1
            await gone(world, "a")
            assert world.node("high") == "n1"

    asyncio.run(story())


# ---- the pod itself ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "fate", ["deleted", "deleted, with a finalizer", "bound elsewhere", "ended"]
)
def test_the_room_of_a_pod_that_does_not_come_is_free(fate: str) -> None:
    """Whoever was kept out for it gets in."""

    async def story() -> None:
        async with contested() as world:
            await nominate(world, low("a", "4"))
            world.kube.put(make_pod("small", cpu="2", priority=2))
            await world.clock.advance(0.5)
            pod = world.kube.pods["uid-high"]
            world.engine.queue.remove("uid-high")  # so that it does not take its room itself
            world.kube.delete(world.kube.pods["uid-a"])
            await world.clock.advance(TRIED_AGAIN)
            assert world.node("small") == ""
            if fate == "deleted":
                world.kube.delete(pod)
            elif fate == "bound elsewhere":
                world.kube.put(on_node(pod, "n9"))
            elif fate == "ended":
                world.kube.put(
                    msgspec.structs.replace(
                        pod, status=PodStatus(phase="Failed", nominated_node_name="n1")
                    )
                )
            else:
                when = "2026-01-01T00:00:00Z"
                world.kube.put(
                    msgspec.structs.replace(
                        pod, metadata=msgspec.structs.replace(pod.metadata, deletion_timestamp=when)
                    )
                )
            await world.clock.advance(TRIED_AGAIN)
            assert world.node("small") == "n1"
            if fate == "deleted, with a finalizer":
                world.kube.delete(world.kube.pods["uid-high"])

    asyncio.run(story())


def test_a_pod_that_is_placed_elsewhere_frees_its_room() -> None:
    """Another node has room for it first; a smaller pod was kept out of the nominated one."""

    async def story() -> None:
        async with contested() as world:
            await nominate(world, low("a", "3"))
            world.kube.put(make_pod("small", cpu="1", priority=2))
            world.kube.put(low("b", "1", priority=9))
            await world.clock.advance(0.5)
            world.kube.put(make_node("n2", cpu="3"))
            await world.clock.advance(TRIED_AGAIN)
            assert world.node("high") == "n2"
            await gone(world, "a")
            assert world.node("small") == "n1"

    asyncio.run(story())


def test_a_pod_that_asks_for_less_keeps_less_room() -> None:
    """Its nomination follows its spec."""

    async def story() -> None:
        async with contested() as world:
            await nominate(world, low("a", "4"))
            pod, smaller = world.kube.pods["uid-high"], high(cpu="1")
            world.kube.put(msgspec.structs.replace(pod, spec=smaller.spec))
            record = world.engine.context.cache.nominations.get("uid-high")
            assert record is not None
            assert isinstance(record.pod, Pod)
            assert record.pod.spec == smaller.spec

    asyncio.run(story())


# ---- others, and our own writes ------------------------------------------------------------------


def test_a_nomination_by_somebody_else_is_honoured() -> None:
    """Room is kept for it from then on, and the pod goes there rather than to the better node."""

    async def story() -> None:
        async with contested(nodes=2) as world:
            world.kube.put(low("a", "4", "n1", priority=9))
            world.kube.put(low("b", "4", "n2", priority=9))
            world.kube.put(high())
            await world.clock.advance(0.5)
            entry = world.engine.queue.get("uid-high")
            assert entry is not None
            tried = entry.attempts
            pod = world.kube.pods["uid-high"]
            world.kube.put(
                msgspec.structs.replace(
                    pod, status=msgspec.structs.replace(pod.status, nominated_node_name="n2")
                )
            )
            assert world.engine.context.cache.nominations.nominated_node("uid-high") == "n2"
            await world.clock.advance(TRIED_AGAIN)
            assert entry.attempts > tried  # looked at anew: there is nobody to preempt
            assert nominated_node(world) == ""

    asyncio.run(story())


def test_a_lower_pod_loses_its_promise_and_looks_elsewhere() -> None:
    """At once, not when the higher one's victims are gone."""

    async def story() -> None:
        async with contested(nodes=2) as world:
            world.kube.put(low("b", "4", "n2", priority=3))
            world.kube.put(low("a", "4", "n1", priority=1))
            world.kube.put(high("middle", priority=5))
            await world.clock.advance(0.5)
            assert nominated_node(world, "middle") == "n1"
            world.kube.put(high(node_selector={"kubernetes.io/hostname": "n1"}))
            world.kube.put(make_node("n1", labels={"kubernetes.io/hostname": "n1"}))
            await world.clock.advance(5.0)
            assert (nominated_node(world), nominated_node(world, "middle")) == ("n1", "n2")
            assert going(world) == ["a", "b"]

    asyncio.run(story())


def test_writes_of_one_pod_do_not_overtake_each_other() -> None:
    """A nomination ends while the status that tells of it is being written, slowly and with faults:
    in the end it has ended.
    """

    async def story() -> None:
        async with contested() as world:
            gate = world.kube.hold("pod_condition")
            world.kube.put(low("a", "4"))
            world.kube.put(high("middle", priority=5))
            await world.clock.advance(0.5)
            world.kube.fail("pod_condition", Retryable("429", after=2.0))
            world.kube.put(high())
            await world.clock.advance(0.5)
            gate.set()
            await world.clock.advance(10.0)
            assert (nominated_node(world), nominated_node(world, "middle")) == ("n1", "")
            in_order(world)

    asyncio.run(story())


# ---- pods that will not come ---------------------------------------------------------------------


@pytest.mark.parametrize("why", ["scheduler is gone", "gated", "profile is gone"])
def test_room_for_a_pod_that_nobody_tries_is_kept_for_a_while(why: str) -> None:
    """Whoever waits for it is told for whom, and has it afterwards; the status of the other is left
    alone.
    """

    async def story() -> None:
        async with Running().leading(nodes=1) as world:
            odd = (
                {"scheduling_gates": (SchedulingGate("x"),)}
                if why == "gated"
                else {"scheduler_name": "long-gone"}
            )
            ghost = make_pod(
                "ghost", cpu="3500m", priority=10, **({} if why == "profile is gone" else odd)
            )
            if why == "profile is gone":
                world.engine.profile_changed("test", None)
                world.engine.profile_changed("other", a_body("other"))
                await world.clock.advance(0.5)
            world.kube.put(
                msgspec.structs.replace(ghost, status=PodStatus(nominated_node_name="n1"))
            )
            world.kube.put(
                make_pod(
                    "waits",
                    cpu="3",
                    priority=0,
                    scheduler_name="other" if why == "profile is gone" else "test",
                )
            )
            await world.clock.advance(NOMINATION_TIMEOUT_SECONDS - 5)
            (told,) = {c.message for c in world.kube.pods["uid-waits"].status.conditions or ()}
            name = "long-gone" if why == "scheduler is gone" else "test"
            assert told.endswith(
                f" Room is kept on n1 for default/ghost (schedulerName {name}, priority 10)."
            )
            await world.clock.advance(15)
            assert world.node("waits") == "n1"
            assert world.kube.pods["uid-ghost"].status.nominated_node_name == "n1"

    asyncio.run(story())


def test_somebody_elses_victims_have_their_grace() -> None:
    """As long as they may take, another scheduler's nomination holds."""

    async def story() -> None:
        async with Running().leading(nodes=1) as world:
            world.kube.put(low("a", "4"))
            await settle()
            meta = msgspec.structs.replace(
                world.kube.pods["uid-a"].metadata,
                deletion_timestamp="2026-01-01T00:00:00Z",
                deletion_grace_period_seconds=100,
            )
            world.kube.put(msgspec.structs.replace(world.kube.pods["uid-a"], metadata=meta))
            ghost = make_pod("ghost", cpu="4", priority=10, scheduler_name="theirs")
            world.kube.put(
                msgspec.structs.replace(ghost, status=PodStatus(nominated_node_name="n1"))
            )
            nominations = world.engine.context.cache.nominations
            await world.clock.advance(NOMINATION_TIMEOUT_SECONDS + 95)
            assert nominations.nominated_node("uid-ghost") == "n1"
            await world.clock.advance(10)
            assert nominations.nominated_node("uid-ghost") == ""

    asyncio.run(story())


def test_a_standby_lets_no_nomination_lapse() -> None:
    """When it leads, what was nominated before counts; it is the leader's to end."""

    async def story() -> None:
        async with Running().leading(nodes=1, lead=False) as world:
            world.kube.put(
                msgspec.structs.replace(
                    make_pod("p", cpu="4"), status=PodStatus(nominated_node_name="n1")
                )
            )
            await world.clock.advance(NOMINATION_TIMEOUT_SECONDS * 3)
            assert world.engine.context.cache.nominations.nominated_node("uid-p") == "n1"

    asyncio.run(story())
