"""Having resource claims allocated: what is written for a pod, what it waits for, and that no
device is ever given twice.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from typing import Any

import msgspec
import pytest

from moorage.api.operator_config import OperatorConfiguration
from moorage.core.columns.store import Store
from moorage.core.devices.ledger import DeviceLedger
from moorage.core.objects.pods import ContainerExtendedResourceRequest, Pod, PodResourceClaim
from moorage.core.objects.resource_claims import (
    AllocatedDeviceStatus,
    Consumer,
    DeviceClass,
    DeviceCondition,
    ResourceClaim,
    ResourceClaimStatus,
    ResourceSlice,
)
from moorage.ports.errors import Conflict, EdgeError, Forbidden, NotFound, Retryable
from moorage.ports.retrying import AFTER_FAILURE, MAX_REFUSED_SECONDS
from tests.builders import make_node, make_pod
from tests.engine.running import STEPS, TRIED_AGAIN, Running
from tests.engine.worlds import a_body, on_node
from tests.fakes.clocks import settle
from tests.fakes.kube import InMemoryKube

CONFLICT = Conflict("PATCH", 409, "Conflict", "the object has been modified")
NO_ANSWER = Retryable("PATCH: no answer", outcome_unknown=True)
OTHER = Consumer(resource="pods", name="q", uid="uid-q")


def a_slice(node: str, **device: Any) -> ResourceSlice:
    """A node's one device."""
    spec = {
        "driver": "x",
        "nodeName": node,
        "pool": {"name": node, "generation": 1, "resourceSliceCount": 1},
    }
    document = {
        "metadata": {"name": node, "uid": f"uid-{node}"},
        "spec": {**spec, "devices": [{"name": "d", **device}]},
    }
    return msgspec.convert(document, ResourceSlice)


def a_claim(name: str = "c") -> ResourceClaim:
    """A claim for one device."""
    request = {
        "name": "r",
        "exactly": {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 1},
    }
    document = {
        "metadata": {"name": name, "namespace": "default", "uid": f"uid-{name}"},
        "spec": {"devices": {"requests": [request]}},
    }
    return msgspec.convert(document, ResourceClaim)


def a_user(name: str, *claims: str) -> Pod:
    """A pod with these claims."""
    return make_pod(
        name,
        resource_claims=tuple(PodResourceClaim(one, resource_claim_name=one) for one in claims),
    )


def asking(name: str) -> Pod:
    """A pod that asks for a device by its extended resource."""
    pod = make_pod(name)
    (container,) = pod.spec.containers or ()
    resources = msgspec.structs.replace(container.resources, requests={"cpu": "1", "x.io/gpu": "1"})  # type: ignore[type-var]  # there
    spec = msgspec.structs.replace(
        pod.spec, containers=(msgspec.structs.replace(container, resources=resources),)
    )
    return msgspec.structs.replace(pod, spec=spec)


@contextlib.asynccontextmanager
async def world_with(
    *claims: str, nodes: int = 1, seconds: int = 600, slots: int = 64, **device: Any
) -> AsyncIterator[Running]:
    """Nodes with a device each, claims, and so long for devices to become usable; in the end the
    ledger must be right.
    """
    args = [{"name": "DynamicResources", "args": {"bindingTimeout": f"{seconds}s"}}]
    config = OperatorConfiguration.model_validate({"bindConcurrency": slots})
    bodies = [a_body(name, plugins=STEPS, pluginConfig=args) for name in ("test", "other")]
    async with Running(config=config).leading(*bodies, nodes=0) as world:
        world.kube.put(
            msgspec.convert(
                {"metadata": {"name": "gpu"}, "spec": {"extendedResourceName": "x.io/gpu"}},
                DeviceClass,
            )
        )
        for i in range(nodes):
            world.kube.put(make_node(f"n{i + 1}"))
            world.kube.put(a_slice(f"n{i + 1}", **device))
        for name in claims:
            world.kube.put(a_claim(name))
        yield world
        await settle()
        if not len(world.engine.binder):
            assert kept(world.engine.context.cache.store) == kept(made_anew(world.kube))


def made_anew(kube: InMemoryKube) -> Store:
    """A store that was told only what the API server has."""
    store = Store()
    for kind in (ResourceSlice, ResourceClaim):
        for obj in kube.others[kind].values():
            store.put(obj)
    return store


def kept(store: Store) -> list[object]:
    """What a ledger knows of who has which device, and what it takes for decided."""
    ledger = store.index(DeviceLedger)
    return [ledger._uses._of, ledger._uses._in, ledger._decided]


def stored(world: Running, name: str = "c") -> ResourceClaim:
    """The claim as the API server has it."""
    found: ResourceClaim = world.kube.others[ResourceClaim][f"default/{name}"]
    return found


def holders(world: Running, name: str = "c") -> list[str]:
    """Whom a claim is reserved for."""
    return [one.name for one in stored(world, name).status.reserved_for or ()]


def device(world: Running, name: str = "c") -> str:
    """The pool of the claim's device, "" when it has none."""
    allocation = stored(world, name).status.allocation
    return "" if allocation is None else (allocation.devices.results or ())[0].pool


def change(world: Running, name: str = "c", **status: Any) -> None:
    """Somebody writes a claim's status."""
    claim = stored(world, name)
    world.kube.put(
        msgspec.structs.replace(claim, status=msgspec.structs.replace(claim.status, **status))
    )


def told(world: Running, pod: str = "p") -> str:
    """What the pod was told last."""
    return (world.notes("FailedScheduling", pod) or [""])[-1]


def written(world: Running) -> list[str]:
    """The writes about claims, in order."""
    return [write.method for write in world.kube.written if "claim" in write.method]


def test_a_claim_is_allocated_and_reserved_before_its_pod_is_bound() -> None:
    """First the finalizer, then devices and pod at once, with the time; the binding comes last."""

    async def story() -> None:
        async with world_with("c") as world:
            gate = world.kube.hold("bind")
            world.kube.put(a_user("p", "c"))
            await settle()
            assert (written(world), device(world), holders(world)) == (
                ["protect_claim", "reserve_claim"],
                "n1",
                ["p"],
            )
            allocation = stored(world).status.allocation
            assert allocation is not None and allocation.allocation_timestamp is not None
            assert allocation.allocation_timestamp.startswith("2026-01-02T03:04:")
            gate.set()
            await settle()
            assert world.node("p") == "n1"

    asyncio.run(story())


def test_two_pods_share_a_claim() -> None:
    """The second waits until its allocation is there, and is added to it then."""

    async def story() -> None:
        async with world_with("c") as world:
            for name in ("p", "q"):
                world.kube.put(a_user(name, "c"))
            await world.clock.advance(TRIED_AGAIN)
            assert (world.node("p"), world.node("q"), holders(world)) == ("n1", "n1", ["p", "q"])
            assert written(world) == ["protect_claim", "reserve_claim", "reserve_claim"]

    asyncio.run(story())


def test_an_extended_resource_gets_a_claim_of_its_own() -> None:
    """It is created for the pod, which is told its name and which request is for which
    container.
    """

    async def story() -> None:
        async with world_with() as world:
            world.kube.put(asking("p"))
            await settle()
            assert world.node("p") == "n1"
            (claim,) = world.kube.others[ResourceClaim].values()
            assert claim.metadata.name.startswith("p-extended-resources-")
            assert [
                (owner.kind, owner.name, owner.controller)
                for owner in claim.metadata.owner_references
            ] == [("Pod", "p", True)]
            status = world.kube.pods["uid-p"].status.extended_resource_claim_status
            assert status is not None and status.resource_claim_name == claim.metadata.name
            assert status.request_mappings == (
                ContainerExtendedResourceRequest("c", "x.io/gpu", "container-0-request-1"),
            )
            assert [one.name for one in claim.status.reserved_for] == ["p"]

    asyncio.run(story())


ERRORS: dict[str, EdgeError] = {
    "gone": NotFound("PATCH", 404, "NotFound", "not found"),
    "no-right": Forbidden("PATCH", 403, "Forbidden", "may not patch"),
    "no-answer": NO_ANSWER,
    "conflict": CONFLICT,
}


@pytest.mark.parametrize("done", [False, True], ids=["not done", "done"])
@pytest.mark.parametrize("error", ERRORS)
@pytest.mark.parametrize("method", ["protect_claim", "reserve_claim"])
def test_a_write_that_fails(method: str, error: str, done: bool) -> None:
    """Whether it was done all the same or not: the pod gets its claim in the end, and nobody else's
    device.
    """

    async def story() -> None:
        async with world_with("c") as world:
            world.kube.fail(method, ERRORS[error], done=done)
            world.kube.put(a_user("p", "c"))
            await world.clock.advance(3 * TRIED_AGAIN)
            assert (world.node("p"), device(world), holders(world)) == ("n1", "n1", ["p"])
            assert (told(world) != "") is (error in ("gone", "no-right"))

    asyncio.run(story())


@pytest.mark.parametrize("done", [False, True], ids=["not done", "done"])
@pytest.mark.parametrize("method", ["create_claim", "reserve_claim", "pod_claim", "bind"])
def test_an_extended_claim_that_fails(method: str, done: bool) -> None:
    """The claim that was created goes again, also one whose name nobody was told; in the end there
    is one.
    """

    async def story() -> None:
        async with world_with() as world:
            error = (
                Retryable("lost", outcome_unknown=True)
                if method == "create_claim"
                else Forbidden("PATCH", 403, "Forbidden", "no")
            )
            world.kube.fail(method, error, done=done)
            world.kube.put(asking("p"))
            await world.clock.advance(6 * TRIED_AGAIN)
            (claim,) = world.kube.others[ResourceClaim].values()
            assert [one.name for one in claim.status.reserved_for] == ["p"]
            if not (method == "bind" and done):
                assert world.node("p") == "n1"

    asyncio.run(story())


@pytest.mark.parametrize(
    ("reserved_for", "left"),
    [(None, ("", [])), ((OTHER,), ("n1", ["q"]))],
    ids=["ours alone", "another pod's too"],
)
def test_what_was_given_for_a_pod_goes_back_when_it_is_not_bound(
    reserved_for: tuple[Consumer, ...] | None, left: Any
) -> None:
    """The claim is not reserved for it any more, and without devices if nobody else has it."""

    async def story() -> None:
        async with world_with("c") as world:
            gate = world.kube.hold("bind")
            world.kube.fail("bind", Forbidden("POST", 403, "Forbidden", "no"), times=2)
            world.kube.put(a_user("p", "c"))
            await settle()
            assert holders(world) == ["p"]
            if reserved_for:
                change(
                    world, reserved_for=(*(stored(world).status.reserved_for or ()), *reserved_for)
                )
            gate.set()
            await settle()
            assert (device(world), holders(world)) == left
            assert world.assumed == 0

    asyncio.run(story())


def test_a_claim_of_a_pod_that_others_have_bound_stays() -> None:
    """Whoever bound it needs the claim as it is."""

    async def story() -> None:
        async with world_with("c") as world:
            gate = world.kube.hold("bind")
            world.kube.put(a_user("p", "c"))
            await settle()
            world.kube.pods["uid-p"] = on_node(world.kube.pods["uid-p"], "n9")
            gate.set()
            await settle()
            assert (device(world), holders(world)) == ("n1", ["p"])

    asyncio.run(story())


@pytest.mark.parametrize(
    "held",
    ["protect_claim", "reserve_claim", ""],
    ids=["protecting", "reserving", "waiting for devices"],
)
def test_a_pod_that_goes_meanwhile(held: str) -> None:
    """A write that is under way is waited for and taken back: its device is free again, and not
    before.
    """

    async def story() -> None:
        async with world_with(
            "c", "d", bindingConditions=["ready"], bindingFailureConditions=["broken"]
        ) as world:
            gate = world.kube.hold(held) if held else asyncio.Event()
            pod = world.kube.put(a_user("p", "c"))
            await settle()
            world.kube.delete(pod)
            await settle()
            if held:
                world.kube.put(a_user("q", "d"))
                await settle()
                assert "cannot allocate all claims" in told(world, "q")
                gate.set()
            await settle()
            assert (
                device(world),
                holders(world),
                world.engine.context.cache.pod_info("uid-p"),
            ) == ("", [], None)
            if held:
                await world.clock.advance(TRIED_AGAIN)
                assert device(world, "d") == "n1"

    asyncio.run(story())


def test_pods_have_their_claims_written_in_turns() -> None:
    """So many at a time, and a pod that has its claims is bound before the others begin. One that
    goes while it waits for its turn has nothing written.
    """

    async def story() -> None:
        names = [f"c{i}" for i in range(4)]
        async with world_with(*names, nodes=4, slots=1) as world:
            gate = world.kube.hold("reserve_claim")
            pods = [world.kube.put(a_user(f"p{i}", name)) for i, name in enumerate(names)]
            await settle()
            assert world.assumed == 4
            assert written(world) == ["protect_claim"]
            world.kube.delete(pods[3])
            await settle()
            gate.set()
            await settle()
            order = [write.method for write in world.kube.written]
            last = len(order) - 1 - order[::-1].index("protect_claim")
            assert order.index("bind") < last
            assert [world.node(f"p{i}") != "" for i in range(3)] == [True] * 3
            assert (device(world, "c3"), holders(world, "c3")) == ("", [])
            assert written(world).count("protect_claim") == 3

    asyncio.run(story())


def test_claims_that_are_not_written_hold_up_no_other_profile() -> None:
    """Each profile's pods have turns of their own."""

    async def story() -> None:
        async with world_with("c", "d", nodes=2, slots=1) as world:
            gate = world.kube.hold("reserve_claim")
            world.kube.put(a_user("p", "c"))
            await settle()
            others = a_user("q", "d")
            spec = msgspec.structs.replace(others.spec, scheduler_name="other")
            world.kube.put(msgspec.structs.replace(others, spec=spec))
            await settle()
            assert written(world) == ["protect_claim"] * 2
            gate.set()
            await settle()
            assert world.node("p") and world.node("q")

    asyncio.run(story())


def test_a_device_stays_taken_while_the_watch_lags() -> None:
    """From the decision until the claim is seen: also when binding fails and giving it back
    fails.
    """

    async def story() -> None:
        async with world_with("c", "d") as world:
            world.kube.silent = True
            world.kube.fail("bind", Forbidden("POST", 403, "Forbidden", "no"))
            world.kube.fail(
                "deallocate_claim", Forbidden("PATCH", 403, "Forbidden", "no"), times=50
            )
            gate = world.kube.hold("pod_condition")
            world.kube.put(a_user("p", "c"))
            await world.clock.advance(MAX_REFUSED_SECONDS + AFTER_FAILURE.longest)
            assert (device(world), world.assumed) == ("n1", 0)
            world.kube.put(a_user("q", "d"))
            await settle()
            assert "cannot allocate all claims" in told(world, "q")
            world.kube.silent = False
            gate.set()
            world.kube.relist()
            await world.clock.advance(2 * TRIED_AGAIN)
            assert (world.node("p"), device(world), device(world, "d")) == ("n1", "n1", "")

    asyncio.run(story())


ALLOCATED = msgspec.convert(
    {
        "allocation": {
            "devices": {"results": [{"request": "r", "driver": "x", "pool": "n1", "device": "d"}]}
        }
    },
    ResourceClaimStatus,
).allocation


def test_a_claim_that_comes_and_goes_unseen() -> None:
    """Its device is free again when it is deleted: no watch will ever say so."""

    async def story() -> None:
        async with world_with("d") as world:
            world.kube.silent = True
            gate = world.kube.hold("bind")
            world.kube.fail("bind", Forbidden("POST", 403, "Forbidden", "no"))
            pod = world.kube.put(asking("p"))
            await settle()
            assert written(world) == ["create_claim", "reserve_claim", "pod_claim"]
            gate.set()
            await settle()
            world.kube.delete(pod)
            world.kube.silent = False
            assert list(world.kube.others[ResourceClaim]) == ["default/d"]
            world.kube.put(a_user("q", "d"))
            await settle()
            assert world.node("q") == "n1"

    asyncio.run(story())


CHANGES: dict[str, tuple[Callable[[Running], object], str]] = {
    "deleted": (
        lambda world: world.kube.put(
            msgspec.structs.replace(
                stored(world),
                metadata=msgspec.structs.replace(
                    stored(world).metadata, deletion_timestamp="2026-01-01T00:00:00Z"
                ),
            )
        ),
        "claim default/c got deleted in the meantime",
    ),
    "gone": (lambda world: world.kube.delete(stored(world)), "not found"),
    "allocated": (
        lambda world: change(world, allocation=ALLOCATED, reserved_for=(OTHER,)),
        "claim default/c got allocated elsewhere in the meantime",
    ),
}


@pytest.mark.parametrize("case", CHANGES)
def test_a_claim_that_others_change_meanwhile(case: str) -> None:
    """It is looked at again, and left alone as what it has become."""
    happens, why = CHANGES[case]

    async def story() -> None:
        async with world_with("c") as world:
            gate = world.kube.hold("protect_claim")
            world.kube.put(a_user("p", "c"))
            await settle()
            happens(world)
            gate.set()
            await world.clock.advance(1)
            assert why in world.notes("FailedScheduling", "p")[0]
            if case == "allocated":
                assert (device(world), holders(world)[0]) == ("n1", "q")

    asyncio.run(story())


def test_a_claim_that_is_deallocated_before_it_is_reserved() -> None:
    """A claim that had devices at the decision must have them when it is reserved."""

    async def story() -> None:
        async with world_with("c") as world:
            change(world, allocation=ALLOCATED, reserved_for=(OTHER,))
            world.kube.protected.add("default/c")
            gate = world.kube.hold("reserve_claim")
            world.kube.put(a_user("p", "c"))
            await settle()
            change(world, allocation=None, reserved_for=None)
            gate.set()
            await world.clock.advance(0.5)
            assert "claim default/c got deallocated elsewhere in the meantime" in told(world)
            await world.clock.advance(TRIED_AGAIN)
            assert (world.node("p"), holders(world)) == ("n1", ["p"])

    asyncio.run(story())


# ---- devices that have to be made usable ---------------------------------------------------------


def say(
    world: Running, condition: str, status: str = "True", reason: str = "", message: str = ""
) -> None:
    """The driver says something of the claim's device."""
    conditions = (DeviceCondition(condition, status, reason, message),)
    change(world, devices=(AllocatedDeviceStatus("x", device(world), "d", conditions),))


def slow_world(
    *claims: str, seconds: int = 600, nodes: int = 1
) -> contextlib.AbstractAsyncContextManager[Running]:
    """Devices that are made usable after they are allocated."""
    return world_with(
        *claims,
        nodes=nodes,
        seconds=seconds,
        bindingConditions=["ready"],
        bindingFailureConditions=["broken"],
    )


def test_a_pod_waits_until_its_devices_can_be_used() -> None:
    """All of their conditions must be true."""

    async def story() -> None:
        async with slow_world("c") as world:
            world.kube.put(a_user("p", "c"))
            await world.clock.advance(60)
            say(world, "ready", "False")
            await world.clock.advance(60)
            assert (world.node("p"), world.assumed, told(world)) == ("", 1, "")
            say(world, "ready")
            await settle()
            assert world.node("p") == "n1"

    asyncio.run(story())


def test_devices_are_not_usable_before_they_are_seen() -> None:
    """A state of the claim from before it was written says nothing."""

    async def story() -> None:
        async with slow_world("c") as world:
            world.kube.silent = True
            world.kube.put(a_user("p", "c"))
            await settle()
            claim = stored(world)
            assert claim.status.allocation is not None
            world.kube.silent = False
            for sink in world.kube.other_sinks[ResourceClaim]:
                sink.put(
                    msgspec.structs.replace(
                        a_claim(),
                        metadata=msgspec.structs.replace(a_claim().metadata, resource_version="0"),
                    )
                )
            await settle()
            assert (world.node("p"), told(world)) == ("", "")
            say(world, "ready")
            await settle()
            assert world.node("p") == "n1"

    asyncio.run(story())


@pytest.mark.parametrize("ending", ["failed", "late"])
def test_devices_that_cannot_be_used_are_given_back(ending: str) -> None:
    """The pod is told, and the claim is free for other devices."""

    async def story() -> None:
        async with slow_world("c", seconds=30) as world:
            gate = world.kube.hold("deallocate_claim")
            world.kube.put(a_user("p", "c"))
            await settle()
            if ending == "failed":
                say(world, "broken", "True", "Burnt", "smells")
            await world.clock.advance(31)
            gate.set()
            await settle()
            why = (
                'device binding failed: claim=c, reason=Burnt, message="smells"'
                if ending == "failed"
                else "device binding timeout: claim=c"
            )
            assert f'running PreBind plugin "DynamicResources": {why}' in told(world)
            assert (device(world), holders(world)) == ("", [])

    asyncio.run(story())


def test_the_time_that_devices_have_counts_from_their_allocation() -> None:
    """A claim that an earlier leader had allocated does not get all of it again, and goes back
    too.
    """

    async def story() -> None:
        async with slow_world("c", seconds=60) as world:
            world.kube.put(a_user("p", "c"))
            await settle()
            claim = stored(world)
        async with slow_world(seconds=60) as world:
            world.kube.put(claim)
            await world.clock.advance(50)
            world.kube.put(a_user("p", "c"))
            await world.clock.advance(9)
            assert (holders(world), told(world)) == (["p"], "")
            gate = world.kube.hold("reserve_claim")
            await world.clock.advance(2)
            assert "device binding timeout: claim=c" in told(world)
            assert (device(world), holders(world)) == ("", [])
            gate.set()

    asyncio.run(story())


# ---- post-filter actions -------------------------------------------------------------------------


def elsewhere(world: Running) -> None:
    """The claim has a device on a node that takes no pods."""
    only = {
        "nodeSelectorTerms": [
            {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n9"]}]}
        ]
    }
    result = {"request": "r", "driver": "x", "pool": "n9", "device": "d"}
    status = msgspec.convert(
        {"allocation": {"devices": {"results": [result]}, "nodeSelector": only}},
        ResourceClaimStatus,
    )
    change(world, allocation=status.allocation)


def test_a_claim_that_keeps_a_pod_from_all_nodes_gives_its_devices_back() -> None:
    """The pod is told so, waits while that is done, and gets other devices."""

    async def story() -> None:
        async with world_with("c") as world:
            elsewhere(world)
            gate = world.kube.hold("deallocate_claim")
            world.kube.put(a_user("p", "c"))
            await world.clock.advance(5)
            assert told(world) == ""
            gate.set()
            await settle()
            assert "deallocation of ResourceClaim completed" in told(world)
            await world.clock.advance(TRIED_AGAIN)
            assert (world.node("p"), device(world)) == ("n1", "n1")

    asyncio.run(story())


@pytest.mark.parametrize(
    "error",
    [CONFLICT, NO_ANSWER, Forbidden("PATCH", 403, "Forbidden", "may not")],
    ids=["conflict", "lost", "no right"],
)
@pytest.mark.parametrize("done", [False, True], ids=["not done", "done"])
def test_a_post_filter_action_that_fails(error: EdgeError, done: bool) -> None:
    """The pod is told and tried again, until the claim is free."""

    async def story() -> None:
        async with world_with("c") as world:
            elsewhere(world)
            world.kube.fail("deallocate_claim", error, done=done)
            world.kube.put(a_user("p", "c"))
            await settle()
            assert str(error) in told(world)
            await world.clock.advance(3 * TRIED_AGAIN)
            assert (world.node("p"), device(world)) == ("n1", "n1")

    asyncio.run(story())
