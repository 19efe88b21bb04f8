"""Groups that wait, as the operator tells of them: how many members, what these were told, and for
which group room is held, here and in the status of their profile.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from moorage.core.objects.pods import SchedulingGate
from moorage.engine.reports import inspection
from moorage.engine.scheduling.group_holds import HOLD_AFTER_SECONDS, MAX_HOLD_SECONDS
from tests.engine.running import Running
from tests.engine.scheduling.test_group_holds import filled, member
from tests.engine.scheduling.test_group_scheduler import come, group, run

API = "scheduling.x-k8s.io/v1alpha1"
STATUS_SECONDS = 7.0
"""Counts are written 5 s apart."""


async def told(world: Running) -> dict[str, Mapping[str, Any]]:
    """What is told of each group."""
    return {one["group"]: one async for one in world.engine.inspector.groups()}


async def queue_status(world: Running) -> Mapping[str, Any]:
    """status.queue of the profile, once it is written: the writer's rounds are of real time."""
    await world.engine.profile_status.write_due()
    found: Mapping[str, Any] = world.kube.statuses["SchedulerProfile", "test"]["queue"]
    return found


def test_who_waits_and_why() -> None:
    """A group that is short of members, one that does not fit, and one that does."""

    async def scenario(world: Running) -> None:
        come(world, group(3, name="short"), member("s0", "short"), member("s1", "short"))
        come(world, group(2, name="big"), *(member(f"b{i}", "big", cpu="9") for i in range(2)))
        come(world, group(2, name="fits"), *(member(f"f{i}", "fits") for i in range(2)))
        await world.clock.advance(STATUS_SECONDS)
        found = await told(world)
        assert sorted(found) == ["default/big", "default/short"]
        short, big = found["default/short"], found["default/big"]
        assert (short["waiting"], short["placed"], short["minCount"]) == (2, 0, 3)
        assert short["gateMessage"].endswith("2 of 3 members are here")
        assert (short["api"], short["profile"], short["roomHeldUntil"]) == (API, "test", "")
        assert big["gateMessage"] == ""
        assert any("2 Insufficient cpu" in one for one in big["messages"])
        assert len(big["messages"]) == len({*big["messages"]})
        assert (await queue_status(world))["groups"] == 2
        for name in ("b0", "b1", "s0", "s1"):
            world.kube.delete(world.kube.pods[f"uid-{name}"])
        await world.clock.advance(STATUS_SECONDS)
        assert await told(world) == {}
        assert (await queue_status(world))["groups"] == 0

    run(scenario)


def test_others_have_their_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Between members of one group, however many it has."""
    monkeypatch.setattr(inspection, "MEMBERS_PER_STEP", 2)

    async def scenario(world: Running) -> None:
        come(world, group(30), *(member(f"s{i}") for i in range(20)))
        await world.clock.advance(STATUS_SECONDS)
        turns = 0

        async def others() -> None:
            nonlocal turns
            while True:
                turns += 1
                await asyncio.sleep(0)

        task = asyncio.create_task(others())
        found = await told(world)
        task.cancel()
        assert found["default/g"]["waiting"] == 20
        assert turns >= 9

    run(scenario)


def test_a_group_of_gated_pods_does_not_wait() -> None:
    """Those that others declare count no member that is gated; it waits for its gate alone."""

    async def scenario(world: Running) -> None:
        gates = (SchedulingGate("a"),)
        come(world, group(2), member("g0", scheduling_gates=gates))
        await world.clock.advance(STATUS_SECONDS)
        assert await told(world) == {}
        assert (await queue_status(world))["groups"] == 0

    run(scenario)


def test_room_that_is_held() -> None:
    """For which group and until when; nothing once it is over."""

    async def scenario(world: Running) -> None:
        await filled(world)
        come(world, group(2), *(member(f"g{i}", cpu="4", priority=1000) for i in range(2)))
        await world.clock.advance(HOLD_AFTER_SECONDS + 10)
        until = (await told(world))["default/g"]["roomHeldUntil"]
        waiting = world.engine.inspector.waiting("uid-g0")
        assert waiting is not None
        assert waiting["groupRoomHeldUntil"] == until != ""
        lone = world.engine.inspector.waiting("uid-low0")
        assert lone is None or lone["groupRoomHeldUntil"] == ""
        shown = await queue_status(world)
        assert shown["roomHeldFor"] == "default/g"
        assert shown["roomHeldUntil"][:16] == until[:16]
        await world.clock.advance(MAX_HOLD_SECONDS)
        assert (await told(world))["default/g"]["roomHeldUntil"] == ""
        assert "roomHeldFor" not in await queue_status(world)

    run(scenario)
