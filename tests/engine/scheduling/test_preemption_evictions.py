"""Evicting: in which order victims are told, what becomes of it when a request fails, and who is
spared when it was in vain.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import msgspec
import pytest

from moorage.core.objects.pods import Pod
from moorage.engine.binding.actors.contract import PermitWait
from moorage.engine.scheduling.nomination_controller import REWRITE_INTERVAL_SECONDS
from moorage.ports.errors import (
    Conflict,
    EdgeError,
    EvictionBlocked,
    Fenced,
    Forbidden,
    NotFound,
    Retryable,
)
from tests.builders import make_pod
from tests.engine.preemptions import (
    RESPECTFUL,
    budget,
    calls,
    contested,
    going,
    gone,
    high,
    in_order,
    low,
    nominated_node,
)
from tests.engine.running import STEPS, TRIED_AGAIN, Running
from tests.engine.worlds import a_body

THREE = (low("a", "1", priority=3), low("b", "1", priority=2), low("c", "1", priority=1))
ALL = high(cpu="4")


async def fight(world: Running, *victims: Pod, by: Pod = ALL) -> None:
    """A pod comes that fits only without these."""
    for victim in victims:
        world.kube.put(victim)
    world.kube.put(by)
    await world.clock.advance(0.5)


def test_the_last_one_goes_when_all_others_were_told() -> None:
    """The least important one; the others at once."""

    async def story() -> None:
        async with contested() as world:
            gate = world.kube.hold("delete_pod")
            await fight(world, *THREE)
            assert world.kube.in_flight["delete_pod"] == 2
            assert calls(world, "pod_condition") == [
                "pod_condition high",
                "pod_condition a",
                "pod_condition b",
            ]
            gate.set()
            await world.clock.advance(0.5)
            assert calls(world, "delete_pod") == ["delete_pod a", "delete_pod b", "delete_pod c"]
            assert world.telemetry.counts["preempted", "3"] == 1
            assert world.telemetry.counts["preemption", "attempt"] == 1
            await gone(world, "a", "b", "c")
            assert world.node("high") == "n1"

    asyncio.run(story())


def test_nobody_goes_before_it_is_written_for_whom() -> None:
    """A replica that takes over must know."""

    async def story() -> None:
        async with contested() as world:
            gate = world.kube.hold("pod_condition")
            await fight(world, *THREE)
            assert world.kube.in_flight["pod_condition"] == 1
            assert calls(world, "pod_condition", "delete_pod") == []
            gate.set()
            await world.clock.advance(0.5)
            assert calls(world, "pod_condition", "delete_pod")[0] == "pod_condition high"
            assert going(world) == ["a", "b", "c"]

    asyncio.run(story())


def test_the_last_one_is_spared_when_another_cannot_be_told() -> None:
    """The pod is tried again, and tells the rest when it can."""

    async def story() -> None:
        async with contested() as world:
            world.kube.fail("delete_pod", Forbidden("DELETE", 403))
            await fight(world, *THREE)
            assert len(going(world)) == 1
            assert "c" not in going(world)
            assert any(
                "preemption: DELETE: 403" in note
                for note in world.notes("FailedScheduling", "high")
            )
            await gone(world, *going(world))
            await world.clock.advance(TRIED_AGAIN)
            assert len(going(world)) == 2

    asyncio.run(story())


FAULTS: dict[str, Callable[[], EdgeError]] = {
    "busy": lambda: Retryable("429", after=0.5),
    "no answer": lambda: Retryable("reset", outcome_unknown=True),
    "never an answer": lambda: Retryable("reset", outcome_unknown=True),
    "no right": lambda: Forbidden("no", 403),
    "gone": lambda: NotFound("no", 404),
    "another one": lambda: Conflict("no", 409),
    "fenced": lambda: Fenced("no"),
}


def settled(fault: str) -> float:
    """Seconds after which a fault is over: what can be asked again is at once, a status that was
    given up is written again later.
    """
    return 1.0 if fault in ("busy", "no answer") else REWRITE_INTERVAL_SECONDS + 2.0


@pytest.mark.parametrize("done", [False, True], ids=["not done", "done"])
@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("method", ["pod_condition", "delete_pod"])
def test_whatever_fails(method: str, fault: str, done: bool) -> None:
    """At each request: the pod gets its node in the end, each victim is told of once, and nobody
    else goes.
    """

    async def story() -> None:
        async with contested(nodes=2) as world:
            world.kube.put(low("other", "4", "n2", priority=5))
            world.kube.fail(
                method, FAULTS[fault](), times=4 if fault == "never an answer" else 1, done=done
            )
            await fight(world, *THREE)
            await world.clock.advance(settled(fault))
            in_order(world)
            while dying := set(going(world)) & {"a", "b", "c"}:
                await gone(world, *dying)
            assert world.node("high") == "n1"
            assert going(world) == []

    asyncio.run(story())


@pytest.mark.parametrize("fault", ["gone", "another one"])
@pytest.mark.parametrize("method", ["pod_condition", "delete_pod"])
def test_one_answer_does_not_say_that_a_victim_is_gone(method: str, fault: str) -> None:
    """It may be a proxy's: a victim that is there is told all the same, at once."""

    async def story() -> None:
        async with contested() as world:
            world.kube.fail(method, FAULTS[fault]())
            await fight(world, *THREE)
            await world.clock.advance(0.5)
            assert sorted(going(world)) == ["a", "b", "c"]

    asyncio.run(story())


@pytest.mark.parametrize("lag", [False, True], ids=["seen", "not seen yet"])
def test_who_was_told_is_not_told_again(lag: bool) -> None:
    """The pod is tried again for another reason, before the watch shows that its victims are going,
    or after.
    """

    async def story() -> None:
        async with contested() as world:
            await fight(world, *THREE[:2], low("c", "2"), by=ALL)
            world.kube.silent = lag
            world.engine.queue.retry("uid-high", world.clock.boottime())
            await world.clock.advance(TRIED_AGAIN)
            assert sorted(calls(world, "delete_pod")) == [
                "delete_pod a",
                "delete_pod b",
                "delete_pod c",
            ]
            world.kube.silent = False

    asyncio.run(story())


def test_the_watch_is_behind() -> None:
    """Nothing is seen of what was written, and the pod is tried again: it waits for those who were
    told.
    """

    async def story() -> None:
        async with contested(nodes=2) as world:
            world.kube.put(low("other", "4", "n2", priority=5))
            for victim in THREE:
                world.kube.put(victim)
            world.kube.silent = True
            world.kube.put(ALL)
            await world.clock.advance(0.5)
            world.engine.queue.retry("uid-high", world.clock.boottime())
            await world.clock.advance(TRIED_AGAIN)
            assert len(calls(world, "delete_pod")) == 3
            assert (
                "terminating pod on the nominated node"
                in world.notes("FailedScheduling", "high")[-1]
            )
            world.kube.silent = False
            world.kube.relist()

    asyncio.run(story())


@pytest.mark.parametrize("fate", ["deleted", "deleted, with a finalizer", "bound elsewhere"])
def test_when_the_pod_needs_no_room_any_more_the_rest_is_spared(fate: str) -> None:
    """It goes, or another scheduler takes it, while its victims are being told."""

    async def story() -> None:
        async with contested(nodes=1) as world:
            gate = world.kube.hold("delete_pod")
            await fight(world, *THREE)
            pod = world.kube.pods["uid-high"]
            if fate == "deleted":
                world.kube.delete(pod)
            elif fate == "bound elsewhere":
                world.kube.put(
                    msgspec.structs.replace(
                        pod, spec=msgspec.structs.replace(pod.spec, node_name="n9")
                    )
                )
            else:
                when = "2026-01-01T00:00:00Z"
                world.kube.put(
                    msgspec.structs.replace(
                        pod, metadata=msgspec.structs.replace(pod.metadata, deletion_timestamp=when)
                    )
                )
            gate.set()
            await world.clock.advance(TRIED_AGAIN)
            assert going(world)[:2] == ["a", "b"]
            assert "c" not in going(world)
            assert len(world.engine.context.cache.nominations) == 0

    asyncio.run(story())


@pytest.mark.parametrize("what", ["gone", "going", "a namesake"])
def test_a_victim_that_changed_meanwhile(what: str) -> None:
    """Nothing is asked of the API server for one that is gone or goes; a pod that took its name is
    left alone. No event.
    """

    async def story() -> None:
        async with contested() as world:
            gate = world.kube.hold("delete_pod")
            await fight(world, *THREE)
            last = world.kube.pods["uid-c"]
            if what == "going":
                world.kube.put(low("c", "1", deletion_timestamp="2026-01-01T00:00:00Z"))
            else:
                world.kube.delete(last)
            if what == "a namesake":
                world.kube.put(low("c", "1", uid="uid-new", node="n9"))
            gate.set()
            await world.clock.advance(0.5)
            assert calls(world, "delete_pod") == ["delete_pod a", "delete_pod b"]
            assert world.notes("Preempted", "c") == []
            if what == "a namesake":
                assert world.kube.pods["uid-new"].metadata.deletion_timestamp is None

    asyncio.run(story())


def test_a_victim_that_is_going_already_is_left_alone() -> None:
    """Its room is waited for; nothing is counted, as in kube-scheduler."""

    async def story() -> None:
        async with contested() as world:
            await fight(world, low("a", "4", deletion_timestamp="2026-01-01T00:00:00Z"))
            assert nominated_node(world) == "n1"
            assert calls(world, "delete_pod", "evict_pod") == []
            assert (
                world.telemetry.counts["preempted", "1"],
                world.telemetry.counts["preemption", "attempt"],
            ) == (0, 1)
            await gone(world, "a")
            assert world.node("high") == "n1"

    asyncio.run(story())


def test_equals_do_not_preempt_each_other() -> None:
    """Nor does a lower one."""

    async def story() -> None:
        async with contested() as world:
            await fight(world, low("a", "4", priority=9), by=high())
            assert (going(world), nominated_node(world)) == ([], "")

    asyncio.run(story())


def test_two_pods_for_one_node() -> None:
    """The second one does not count on the first one's room: equals share what is there, and nobody
    goes twice.
    """

    async def story() -> None:
        async with contested() as world:
            world.kube.put(low("a", "2"))
            world.kube.put(low("b", "2"))
            for name in ("one", "two", "three"):
                world.kube.put(high(name, "2"))
            await world.clock.advance(1.0)
            assert going(world) == ["a", "b"]
            assert sorted(nominated_node(world, name) for name in ("one", "two", "three")) == [
                "",
                "n1",
                "n1",
            ]
            await gone(world, "a", "b")
            assert sorted(world.node(name) for name in ("one", "two", "three")) == ["", "n1", "n1"]

    asyncio.run(story())


@pytest.mark.parametrize("step", ["permit", "pre_bind"])
def test_a_victim_that_is_only_being_prepared_goes_back_to_the_queue(step: str) -> None:
    """It is not deleted: it waits for its turn again."""

    async def story() -> None:
        async with contested(a_body("test", plugins=STEPS)) as world:
            if step == "permit":
                world.steps.script["permit"].append(PermitWait(600.0))
            else:
                world.steps.gates["pre_bind"] = asyncio.Event()
            world.kube.put(make_pod("small", cpu="3", priority=1))
            await world.clock.advance(0.5)
            assert world.assumed == 1
            world.steps.gates.clear()
            world.kube.put(high())
            await world.clock.advance(TRIED_AGAIN)
            assert calls(world, "delete_pod") == []
            assert world.notes("Preempted", "small") == [
                "Preempted by pod uid-high on node n1 (in kube-scheduler memory)."
            ]
            assert (world.node("high"), world.node("small")) == ("n1", "")
            assert world.engine.queue.get("uid-small") is not None

    asyncio.run(story())


def test_a_leader_that_takes_over_in_the_middle_starts_no_second_round() -> None:
    """One of three victims was told when the old leader died: the node stays nominated, and the
    same pods go.
    """

    async def story() -> None:
        old = Running()
        async with old.leading(a_body("test"), nodes=2):
            old.kube.put(low("other", "4", "n2", priority=5))
            old.kube.fail("delete_pod", Forbidden("DELETE", 403))
            old.kube.fail("delete_pod", Fenced("dead"), times=99)
            await fight(old, *THREE)
            assert nominated_node(old) == "n1"
        new = Running(kube=old.kube)
        old.kube.pod_sinks.remove(old.engine.pod_sink)
        old.kube.release()
        async with new.leading(a_body("test"), nodes=0):
            for _ in range(3):
                await new.clock.advance(TRIED_AGAIN)
                await gone(new, *going(new))
            assert "other" not in going(new)
            assert new.node("high") == "n1"
            in_order(new)

    asyncio.run(story())


# ---- disruption budgets --------------------------------------------------------------------------


def test_budgets_are_asked_for() -> None:
    """The Eviction goes first, as it may be refused; then the condition says for whom."""

    async def story() -> None:
        async with contested(RESPECTFUL) as world:
            world.kube.put(budget(1))
            await fight(world, low("a", "4"))
            assert calls(world, "evict_pod", "delete_pod", "pod_condition") == [
                "pod_condition high",
                "evict_pod a",
                "pod_condition a",
            ]
            (condition,) = [
                one
                for one in world.kube.pods["uid-a"].status.conditions or ()
                if one.type == "DisruptionTarget"
            ]
            assert condition.reason == "PreemptionByScheduler"
            await gone(world, "a")
            assert world.node("high") == "n1"

    asyncio.run(story())


def test_a_budget_that_is_used_up_meanwhile() -> None:
    """The nomination is taken back and the pod told; it goes on once the budget lets a pod go."""

    async def story() -> None:
        async with contested(RESPECTFUL) as world:
            world.kube.put(budget(1))
            world.kube.fail(
                "evict_pod",
                EvictionBlocked("POST eviction", 429, "TooManyRequests", "Cannot evict pod"),
            )
            world.kube.fail(
                "evict_pod",
                EvictionBlocked("POST eviction", 429, "TooManyRequests", "Cannot evict pod"),
            )
            await fight(world, low("a", "4"))
            assert (nominated_node(world), going(world)) == ("", [])
            assert (
                "preemption: POST eviction: 429 TooManyRequests: Cannot evict pod"
                in world.notes("FailedScheduling", "high")
            )
            assert world.notes("Preempted") == []
            assert [one.type for one in world.kube.pods["uid-a"].status.conditions or ()] == []
            await world.clock.advance(10.0)
            assert going(world) == ["a"]

    asyncio.run(story())


def test_a_budget_that_allows_nothing_and_then_does() -> None:
    """The pod is not tried in vain meanwhile, and at once then."""

    async def story() -> None:
        async with contested(RESPECTFUL) as world:
            world.kube.put(budget(0))
            await fight(world, low("a", "4"))
            assert (
                "Preemption would violate a disruption budget"
                in world.notes("FailedScheduling", "high")[-1]
            )
            await world.clock.advance(20.0)
            assert len(world.notes("FailedScheduling", "high")) == 1
            world.kube.put(budget(1))
            await world.clock.advance(TRIED_AGAIN)
            assert (going(world), nominated_node(world)) == (["a"], "n1")

    asyncio.run(story())


@pytest.mark.parametrize("done", [False, True], ids=["not done", "done"])
@pytest.mark.parametrize("fault", FAULTS)
def test_whatever_fails_with_evictions(fault: str, done: bool) -> None:
    """As above."""

    async def story() -> None:
        async with contested(RESPECTFUL) as world:
            world.kube.put(budget(9))
            world.kube.fail(
                "evict_pod",
                FAULTS[fault](),
                times=4 if fault == "never an answer" else 1,
                done=done,
            )
            await fight(world, *THREE)
            await world.clock.advance(settled(fault))
            in_order(world)
            while dying := going(world):
                await gone(world, *dying)
            assert world.node("high") == "n1"
            assert calls(world, "delete_pod") == []

    asyncio.run(story())
