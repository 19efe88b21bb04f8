"""Clean-up that is disturbed: at each of its awaits a second cause comes, and what was taken is
given back all the same.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from moorage.core.objects.resource_claims import (
    Allocation,
    Consumer,
    Device,
    ResourceClaim,
    ResourceSlice,
)
from moorage.engine.background_tasks import uninterrupted
from moorage.ports.errors import Forbidden, NotFound
from moorage.ports.kube import PodRef
from moorage.ports.retrying import MAX_REFUSED_SECONDS
from tests.engine.binding.test_device_binder import a_user, device, holders, world_with
from tests.engine.running import Running
from tests.fakes.clocks import settle

AWAITS = 7
"""As many requests as such a clean-up makes, and the one behind it."""
NO = Forbidden("PATCH", 403, "Forbidden", "policy")


def _node_goes(world: Running) -> None:
    world.kube.delete(world.kube.nodes["n1"])


def _pod_goes(world: Running) -> None:
    if "uid-p" in world.kube.pods:
        world.kube.delete(world.kube.pods["uid-p"])


def _is_cancelled(world: Running) -> None:
    for binding in list(world.engine.binder._bindings):
        assert binding.task is not None
        binding.task.cancel()


CAUSES: dict[str, Callable[[Running], object]] = {
    "its node goes": _node_goes,
    "the pod goes": _pod_goes,
    "its profile is suspended": lambda world: world.engine.under_way.interrupt_profile(
        "test", "suspended"
    ),
    "another pod needs its room": lambda world: world.engine.binder.preempt("uid-p", "preempted"),
    "the replica stops": lambda world: world.engine.binder.interrupt_all("this replica stops"),
    "its task is cancelled": _is_cancelled,
}


def disturb(world: Running, at: int, cause: Callable[[Running], object]) -> list[str]:
    """The cause comes during this request, counted from now, twice; the list has the requests."""
    turn, requests = world.kube._turn, list[str]()

    async def disturbed(method: str, deed: Callable[[], object] | None = None) -> None:
        requests.append(method)
        if len(requests) == at + 1:
            cause(world)
            asyncio.get_running_loop().call_soon(_is_cancelled, world)
        await turn(method, deed)

    world.kube._turn = disturbed  # type: ignore[method-assign]
    return requests


def fail_after_the_first(
    world: Running, at: int, cause: Callable[[Running], object]
) -> list[list[str]]:
    """The second claim cannot be reserved, so that the first one has to be given back: what is
    asked for meanwhile.
    """
    reserve, seen = world.kube.reserve_claim, list[list[str]]()

    async def reserve_claim(
        claim: ResourceClaim, consumer: Consumer, allocation: Allocation | None
    ) -> ResourceClaim:
        if claim.metadata.name == "d":
            if not seen:
                seen.append(disturb(world, at, cause))
            raise NO
        return await reserve(claim, consumer, allocation)

    world.kube.reserve_claim = reserve_claim  # type: ignore[method-assign]
    return seen


def fail_to_bind(world: Running, at: int, cause: Callable[[Running], object]) -> list[list[str]]:
    """All is prepared, and the binding is refused."""
    seen = list[list[str]]()

    async def bind(pod: PodRef, node: str) -> None:
        if not seen:
            seen.append(disturb(world, at, cause))
        raise NO

    world.kube.bind = bind  # type: ignore[method-assign]
    return seen


@pytest.mark.parametrize("fail", [fail_after_the_first, fail_to_bind])
@pytest.mark.parametrize("cause", CASES := list(CAUSES))
def test_a_second_cause_at_each_await(cause: str, fail: Callable[..., list[list[str]]]) -> None:
    """A pod's claims are free again when it is gone, whatever came in between."""

    async def story(at: int) -> int:
        async with world_with("c", "d") as world:
            slice_ = world.kube.others[ResourceSlice]["n1"]
            two = (*(slice_.spec.devices or ()), msgspec.convert({"name": "e"}, Device))
            world.kube.put(
                msgspec.structs.replace(
                    slice_, spec=msgspec.structs.replace(slice_.spec, devices=two)
                )
            )
            seen = fail(world, at, CAUSES[cause])
            world.kube.put(a_user("p", "c", "d"))
            await world.clock.advance(0.5)
            _pod_goes(world)
            await world.clock.advance(5)
            assert [(holders(world, name), device(world, name)) for name in "cd"] == [
                ([], ""),
                ([], ""),
            ]
            assert len(world.engine.binder) == 0
            assert world.assumed == 0
            (requests,) = seen
            return len(requests)

    assert sum(asyncio.run(story(at)) > at for at in range(AWAITS)) >= 4


def test_writes_that_find_nothing_are_no_proof() -> None:
    """A proxy says 404 for longer than a refusal is doubted: the claim is still there, so it is
    given back when that is over.
    """

    async def story() -> None:
        async with world_with("c") as world:
            world.kube.fail("bind", NO)
            world.kube.fail(
                "deallocate_claim", NotFound("PATCH", 404, "", "a proxy's page"), times=25
            )
            world.kube.put(a_user("p", "c"))
            await world.clock.advance(2 * MAX_REFUSED_SECONDS)
            assert holders(world, "c") == ["p"]
            world.kube.release()
            _pod_goes(world)
            await world.clock.advance(5)
            assert (holders(world, "c"), device(world, "c")) == ([], "")

    asyncio.run(story())


def test_uninterrupted() -> None:
    """It goes on to its end through any number of cancellations, of which one is raised then;
    without any it gives its result.
    """

    async def story() -> None:
        gates, done = [asyncio.Event() for _ in range(3)], list[int]()

        async def work() -> str:
            for i, gate in enumerate(gates):
                await gate.wait()
                done.append(i)
            return "done"

        async def caller() -> Any:
            return await uninterrupted(work())

        task = asyncio.create_task(caller())
        for gate in gates:
            await settle()
            task.cancel()
            await settle()
            assert not task.done()
            gate.set()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert done == [0, 1, 2]
        assert await uninterrupted(work()) == "done"

    asyncio.run(story())
