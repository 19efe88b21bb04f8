"""Held pods: who waits without being tried is told why, once."""

from __future__ import annotations

from typing import Any

import pytest

from moorage.core.objects.pods import SchedulingGate
from moorage.engine.reports.held_pods import (
    MAX_TAKEN_PER_STEP,
    MAX_TOLD_PER_STEP,
    TELL_AFTER_SECONDS,
    TELL_AGAIN_SECONDS,
)
from tests.builders import make_pod
from tests.engine.running import Running
from tests.engine.scheduling.test_group_scheduler import come, group, member
from tests.engine.test_out_of_tree import in_a_loop
from tests.engine.worlds import a_body
from tests.fakes.kube import InMemoryKube

SUSPENDED = "SchedulerProfile 'test' is suspended: its pods wait until spec.suspend is false"
GATES = "waiting for scheduling gates: [example.com/quota other]"
SOON = TELL_AFTER_SECONDS + 1


def told(world: Running, pod: str = "") -> list[str]:
    """What held pods were told."""
    return world.notes("Waiting", pod)


async def edit(world: Running, generation: int, **spec: Any) -> None:
    """The profile is changed, and pods have time to be told."""
    world.engine.profile_changed("test", a_body("test", generation=generation, **spec))
    await world.clock.advance(SOON)


def gated(name: str) -> Any:
    """A pod with two gates."""
    gates = (SchedulingGate("example.com/quota"), SchedulingGate("other"))
    return make_pod(name, scheduling_gates=gates)


@in_a_loop
async def test_pods_of_a_suspended_profile() -> None:
    """Those that wait already and those that come; each once, and nothing when it goes on."""
    async with Running().leading(a_body("test"), nodes=0) as world:
        world.kube.put(make_pod("early"))
        await world.clock.advance(SOON)
        assert told(world) == []
        await edit(world, 2, suspend=True)
        world.kube.put(make_pod("late"))
        await world.clock.advance(SOON)
        assert (told(world, "early"), told(world, "late")) == ([SUSPENDED], [SUSPENDED])
        await world.clock.advance(3 * TELL_AGAIN_SECONDS)
        await edit(world, 3)
        assert len(told(world)) == 2
        event = next(event for event in world.events.events if event.reason == "Waiting")
        assert (event.controller, event.warning, event.once) == ("test", False, True)


@in_a_loop
async def test_what_is_over_soon_is_not_told() -> None:
    """Gates that others open at once, a pod that goes."""
    async with Running().leading(a_body("test")) as world:
        world.kube.put(gated("a"))
        world.kube.put(gated("b"))
        await world.clock.advance(TELL_AFTER_SECONDS / 2)
        world.kube.put(make_pod("a"))
        world.kube.delete(world.kube.pods["uid-b"])
        await world.clock.advance(2 * SOON)
        assert world.node("a")
        assert told(world) == []


@in_a_loop
async def test_gates_are_named_by_one_event() -> None:
    """A gate less is told a minute later at the earliest."""
    async with Running().leading(a_body("test")) as world:
        world.kube.put(gated("a"))
        await world.clock.advance(SOON)
        assert told(world, "a") == [GATES]
        await world.clock.advance(2 * TELL_AGAIN_SECONDS)
        assert told(world, "a") == [GATES]


@in_a_loop
async def test_a_gang_says_how_many_are_missing() -> None:
    """To each member, and again when that has changed, at a pace."""
    async with Running().leading(a_body("test")) as world:
        come(world, group(4), member("a"))
        await world.clock.advance(SOON)
        one, two, three = (
            f'waiting for pod group "default/g": {here} of 4 members are here' for here in (1, 2, 3)
        )
        assert told(world, "a") == [one]
        come(world, member("b"))
        await world.clock.advance(12)
        come(world, member("c"))
        await world.clock.advance(12)
        assert told(world, "a") == [one]
        assert told(world, "b") == [two]
        await world.clock.advance(TELL_AGAIN_SECONDS)
        assert (told(world, "a"), told(world, "b")) == ([one, three], [two, three])
        assert world.notes("FailedScheduling") == []


@pytest.mark.parametrize(
    ("first", "then", "text"),
    [
        (
            {"paused": True},
            {"paused": True, "suspend": True},
            (
                "SchedulerProfile 'test' is paused and no revision has decided before: "
                "its pods wait until spec.paused is false"
            ),
        ),
        ({"preset": "Best"}, {"preset": "Best"}, ""),
    ],
    ids=["paused", "bad"],
)
@in_a_loop
async def test_profiles_that_never_decided(
    first: dict[str, Any], then: dict[str, Any], text: str
) -> None:
    """What is wrong with a spec is told otherwise; another reason is told after a minute."""
    async with Running().leading(a_body("test", **first)) as world:
        world.kube.put(make_pod("a"))
        await world.clock.advance(SOON)
        assert told(world, "a") == ([text] if text else [])
        assert len(world.notes("FailedScheduling", "a")) == (not text)
        await edit(world, 2, **then)
        await world.clock.advance(TELL_AGAIN_SECONDS + 1)
        assert told(world, "a") == ([text, SUSPENDED] if text else [])


@in_a_loop
async def test_what_a_profile_waits_for_is_named_with_the_right_that_is_missing() -> None:
    """A profile whose plugins read what cannot be listed."""
    kube = InMemoryKube()
    kube.forbidden = {("list", "", "services")}
    async with Running(kube).leading(a_body("test"), lead=False) as world:
        world.engine.lead(["services"])
        await world.clock.advance(1)
        world.kube.put(make_pod("a"))
        await world.clock.advance(SOON)
        (text,) = told(world, "a")
        assert text.startswith("SchedulerProfile 'test' serves no pods yet: revision ")
        why = (
            "waits: services are not up to date yet; the operator lacks the right to list services"
        )
        assert text.endswith(why)


@in_a_loop
async def test_a_standby_tells_nobody_and_a_new_leader_all() -> None:
    """By events of the same names, so what was told already is not told twice."""
    async with Running().leading(a_body("test"), lead=False) as world:
        world.kube.put(gated("a"))
        await world.clock.advance(10 * SOON)
        world.kube.put(gated("b"))
        world.kube.delete(world.kube.pods["uid-b"])
        assert told(world) == []
        assert len(world.engine.queue_reports.held) <= 2
        world.engine.lead()
        await world.clock.advance(SOON)
        assert told(world) == [GATES]


@in_a_loop
async def test_many_are_told_at_a_pace() -> None:
    """So that what decides has the API server first."""
    async with Running().leading(a_body("test", suspend=True)) as world:
        for i in range(3 * MAX_TOLD_PER_STEP):
            world.kube.put(make_pod(f"p{i}"))
        await world.clock.advance(TELL_AFTER_SECONDS + 0.3)
        assert 0 < len(told(world)) < 3 * MAX_TOLD_PER_STEP
        await world.clock.advance(2)
        assert len(told(world)) == 3 * MAX_TOLD_PER_STEP


@in_a_loop
async def test_the_same_again_is_not_told() -> None:
    """A member that came and went has changed the group, and nothing for those that wait."""
    async with Running().leading(a_body("test")) as world:
        come(world, group(3), member("a"))
        await world.clock.advance(SOON)
        come(world, member("b"))
        world.kube.delete(world.kube.pods["uid-b"])
        await world.clock.advance(2 * TELL_AGAIN_SECONDS)
        assert told(world) == ['waiting for pod group "default/g": 1 of 3 members are here']


@in_a_loop
async def test_very_many_that_come_to_be_held_at_once_are_taken_in_steps() -> None:
    """As after a takeover: none of them is lost, and no step goes through all."""
    async with Running().leading(a_body("test"), nodes=0) as world:
        held, reports = world.engine.held_pods, world.engine.queue_reports
        for i in range(MAX_TAKEN_PER_STEP + 10):
            reports.pod_held(f"uid-{i}")
        held.tick(0.0, {})
        assert len(reports.held) == 10
        held.tick(0.0, {})
        assert not reports.held
