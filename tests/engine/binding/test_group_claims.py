"""Claims that members of a pod group share: written once, for the group, and kept as long as a
member needs them.
"""

from __future__ import annotations

import asyncio
import dataclasses
from typing import Any

import msgspec
import pytest

from moorage.core.framework.status import SUCCESS
from moorage.core.objects.meta import ObjectMeta
from moorage.core.objects.pod_groups import (
    GangSchedulingPolicy,
    PodGroup,
    PodGroupResourceClaim,
    PodGroupSchedulingPolicy,
    PodGroupSpec,
)
from moorage.core.objects.pods import Pod, PodResourceClaim, PodSchedulingGroup
from moorage.core.objects.resource_claims import Consumer
from moorage.core.plugins.dynamic_resources.claim_reservation import ClaimRelease
from moorage.engine.binding.actors.contract import PermitWait
from moorage.engine.binding.actors.device_binder import DeviceBinder
from moorage.engine.binding.actors.siblings import Siblings
from moorage.ports.errors import Conflict, Forbidden, Retryable
from tests.builders import make_pod
from tests.engine.binding.test_device_binder import (
    ALLOCATED,
    CONFLICT,
    change,
    device,
    holders,
    stored,
    told,
    world_with,
    written,
)
from tests.engine.running import TRIED_AGAIN, Running, make_tools
from tests.fakes.clocks import settle

OF_GROUP = Consumer("scheduling.k8s.io", "podgroups", "g", "uid-g")
NO = Forbidden("POST", 403, "Forbidden", "no")


def group(least: int, *claims: str) -> PodGroup:
    """A PodGroup that has these claims."""
    entries = tuple(PodGroupResourceClaim(name, resource_claim_name=name) for name in claims)
    policy = PodGroupSchedulingPolicy(gang=GangSchedulingPolicy(least))
    spec = PodGroupSpec(scheduling_policy=policy, resource_claims=entries or None)
    return PodGroup(ObjectMeta("g", "default", "uid-g"), spec)


def member(name: str, *claims: str, **spec: Any) -> Pod:
    """A pod of the group with these claims."""
    uses = tuple(PodResourceClaim(one, resource_claim_name=one) for one in claims)
    return make_pod(
        name, resource_claims=uses, scheduling_group=PodSchedulingGroup("g"), cpu="1", **spec
    )


def come(world: Running, *objects: Any) -> None:
    """These are created."""
    for obj in objects:
        world.kube.put(obj)


def nodes(world: Running, names: str) -> list[str]:
    """Where these pods are."""
    return [world.node(name) for name in names]


@pytest.mark.parametrize("shared", [True, False], ids=["the group's", "each member's"])
def test_members_share_a_claim(shared: bool) -> None:
    """It is allocated once, and reserved for the group, once; or for each member."""

    async def story() -> None:
        async with world_with("c") as world:
            come(
                world, group(3, *(("c",) if shared else ())), *(member(name, "c") for name in "pqr")
            )
            await world.clock.advance(TRIED_AGAIN)
            assert nodes(world, "pqr") == ["n1"] * 3
            assert sorted(holders(world)) == (["g"] if shared else ["p", "q", "r"])
            writes = ["protect_claim"] + ["reserve_claim"] * (1 if shared else 3)
            assert written(world) == writes
            if shared:
                assert stored(world).status.reserved_for == (OF_GROUP,)

    asyncio.run(story())


def test_one_that_comes_later_has_nothing_to_write() -> None:
    """The claim is the group's already."""

    async def story() -> None:
        async with world_with("c") as world:
            come(world, group(1, "c"), member("p", "c"))
            await world.clock.advance(TRIED_AGAIN)
            come(world, member("q", "c"))
            await world.clock.advance(TRIED_AGAIN)
            assert nodes(world, "pq") == ["n1"] * 2
            assert written(world) == ["protect_claim", "reserve_claim"]

    asyncio.run(story())


def test_a_claim_that_another_member_needs_stays() -> None:
    """One is not bound, and the other one is."""

    async def story() -> None:
        async with world_with("c") as world:
            world.kube.fail("bind", NO)
            come(world, group(2, "c"), member("p", "c"), member("q", "c"))
            await settle()
            assert sorted(nodes(world, "pq")) == ["", "n1"]
            assert (device(world), holders(world)) == ("n1", ["g"])
            await world.clock.advance(TRIED_AGAIN)
            assert nodes(world, "pq") == ["n1"] * 2
            assert written(world) == ["protect_claim", "reserve_claim"]

    asyncio.run(story())


def test_no_member_left_no_claim_left() -> None:
    """All fail at the same moment: the devices go back, once."""

    async def story() -> None:
        async with world_with("c") as world:
            gate = world.kube.hold("bind")
            world.kube.fail("bind", NO, times=2)
            come(world, group(2, "c"), member("p", "c"), member("q", "c"))
            await settle()
            assert holders(world) == ["g"]
            gate.set()
            await settle()
            once = ["protect_claim", "reserve_claim", "deallocate_claim"]
            assert written(world) == once + once[:2], "then they are tried again"
            assert (nodes(world, "pq"), holders(world)) == (["n1"] * 2, ["g"])

    asyncio.run(story())


@pytest.mark.parametrize("error", [CONFLICT, Retryable("lost", outcome_unknown=True), NO])
@pytest.mark.parametrize("done", [False, True], ids=["not done", "done"])
@pytest.mark.parametrize("method", ["protect_claim", "reserve_claim"])
def test_a_write_that_fails(method: str, error: Conflict, done: bool) -> None:
    """The next member writes what the first one could not; in the end all are bound."""

    async def story() -> None:
        async with world_with("c") as world:
            world.kube.fail(method, error, done=done)
            come(world, group(2, "c"), member("p", "c"), member("q", "c"))
            await world.clock.advance(6 * TRIED_AGAIN)
            assert nodes(world, "pq") == ["n1"] * 2
            assert (device(world), holders(world)) == ("n1", ["g"])

    asyncio.run(story())


@pytest.mark.parametrize("seen", [True, False], ids=["seen", "the watch lags"])
def test_a_member_waits_for_what_is_being_given_back(seen: bool) -> None:
    """One was not bound, and its claim is being given back, when another one comes that was placed
    by what the claim was before: it is not bound with a claim that has no devices any more.
    """

    async def story() -> None:
        async with world_with("c") as world:
            world.kube.fail("bind", NO)
            gate = world.kube.hold("deallocate_claim")
            come(world, group(1, "c"), member("p", "c"))
            await settle()
            come(world, member("q", "c"))
            await settle()
            assert nodes(world, "q") == [""]
            world.kube.silent = not seen
            gate.set()
            await settle()
            assert "claim default/c got deallocated elsewhere in the meantime" in told(world, "q")
            world.kube.silent = False
            world.kube.relist()
            await world.clock.advance(6 * TRIED_AGAIN)
            assert (nodes(world, "pq"), holders(world)) == (["n1"] * 2, ["g"])

    asyncio.run(story())


def test_what_a_member_needs_is_not_given_back_for_another() -> None:
    """It was decided to be given back before the member got its node."""

    async def story() -> None:
        async with world_with("c") as world:
            come(world, group(1, "c"), member("p", "c"))
            await settle()
            engine = world.engine
            siblings = Siblings(engine.context.cache, engine.pod_groups)
            tools = dataclasses.replace(make_tools(world.kube), siblings=siblings)
            before, late = written(world), member("q", "c")
            for action in (
                ClaimRelease(stored(world)),
                ClaimRelease(stored(world), consumer=OF_GROUP),
            ):
                await DeviceBinder(tools).run_action(late, action)
                assert written(world) == before
            world.kube.delete(world.kube.pods["uid-p"])
            await settle()
            await DeviceBinder(tools).run_action(late, ClaimRelease(stored(world), False, OF_GROUP))
            assert (device(world), holders(world)) == ("n1", [])

    asyncio.run(story())


@pytest.mark.parametrize("pool", ["n1", "n2"], ids=["the same devices", "other devices"])
def test_others_allocate_it_meanwhile(pool: str) -> None:
    """Another scheduler's devices will do if they are the same."""

    async def story() -> None:
        async with world_with("c") as world:
            gate = world.kube.hold("protect_claim")
            come(world, group(1, "c"), member("p", "c"))
            await settle()
            result = {"request": "r", "driver": "x", "pool": pool, "device": "d"}
            allocation = msgspec.convert(
                {"devices": {"results": [result]}}, type(ALLOCATED), strict=False
            )
            world.kube.protected.add("default/c")
            change(world, allocation=allocation, reserved_for=(OF_GROUP,))
            gate.set()
            await world.clock.advance(0.5)
            elsewhere = "claim default/c got allocated elsewhere in the meantime"
            assert (elsewhere in told(world)) is (pool == "n2")
            assert nodes(world, "p") == ["n1"]

    asyncio.run(story())


def test_a_claim_that_is_not_the_groups_is_reserved_for_each() -> None:
    """The first one is not bound while the second one is still held: it has the claim no more, and
    its devices stay for the other one.
    """

    async def story() -> None:
        async with world_with("c") as world:
            world.steps.script["permit"] += [SUCCESS, PermitWait(5.0)]
            world.kube.fail("bind", NO)
            come(world, group(2), member("p", "c"), member("q", "c"))
            await settle()
            writes = ["protect_claim", "reserve_claim", "release_claim"]
            assert (written(world)[:3], device(world)) == (writes, "n1")
            (held,) = world.engine.binder.waiting_pods
            held.allow("Steps")
            await world.clock.advance(3 * TRIED_AGAIN)
            assert (nodes(world, "pq"), sorted(holders(world))) == (["n1"] * 2, ["p", "q"])
            assert "deallocate_claim" not in written(world)

    asyncio.run(story())
