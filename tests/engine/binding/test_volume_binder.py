"""Having volumes bound or made: what is written for a pod, what it waits for, and what is left of
it when it comes to nothing.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from typing import Any

import msgspec
import pytest

from moorage.core.objects.storage import ClaimRef
from moorage.core.volumes.claims import BOUND_BY_CONTROLLER
from moorage.ports.errors import Conflict, EdgeError, Forbidden, NotFound, Retryable
from tests.engine.having_volumes import (
    a_claim,
    a_class,
    a_node,
    a_pod,
    a_volume,
    annotate,
    assumptions,
    bind,
    claim_in,
    selected,
    volume_in,
)
from tests.engine.running import TRIED_AGAIN, Running
from tests.engine.worlds import a_body
from tests.fakes.clocks import settle
from tests.fakes.kube import InMemoryKube


@contextlib.asynccontextmanager
async def world_with(provisioner: str = "", seconds: int = 600) -> AsyncIterator[Running]:
    """Nodes n1 and n2; class ``late`` of a driver, or with volume ``pv`` on n2; claim ``c``; so
    long to wait for volumes.
    """
    args = [{"name": "VolumeBinding", "args": {"bindTimeoutSeconds": seconds}}]
    async with Running().leading(a_body("test", pluginConfig=args), nodes=0) as world:
        for name in ("n1", "n2"):
            world.kube.put(a_node(name))
        world.kube.put(a_class(provisioner or "kubernetes.io/no-provisioner"))
        world.kube.put(a_claim("c"))
        if not provisioner:
            world.kube.put(a_volume("pv", "n2"))
        yield world


def run(story: Callable[[], Any]) -> None:
    """Let it happen."""
    asyncio.run(story())


def told(world: Running, pod: str = "p") -> str:
    """What the pod was told last."""
    return (world.notes("FailedScheduling", pod) or [""])[-1]


def test_a_volume_is_set_aside_and_waited_for() -> None:
    """It has the claim, as Kubernetes' own scheduler writes it, and the pod is not bound before the
    claim is.
    """

    async def story() -> None:
        async with world_with() as world:
            version = claim_in(world.kube, "c").metadata.resource_version
            world.kube.put(a_pod("p", "c"))
            await settle()
            pv = volume_in(world.kube, "pv")
            assert pv.spec.claim_ref == ClaimRef(
                "PersistentVolumeClaim", "v1", "default", "c", "uid-c", version
            )
            assert pv.metadata.annotations == {BOUND_BY_CONTROLLER: "yes"}
            await world.clock.advance(30)
            assert (world.node("p"), world.assumed, told(world)) == ("", 1, "")
            bind(world.kube, "c", "pv")
            await settle()
            assert (world.node("p"), assumptions(world)) == ("n2", [])

    run(story)


def test_a_volume_is_made_where_the_pod_goes() -> None:
    """The claim gets the node; a volume that is there but not bound yet is not enough."""

    async def story() -> None:
        async with world_with("csi.test") as world:
            world.kube.put(a_pod("p", "c"))
            await settle()
            node = selected(world.kube, "c")
            assert node in ("n1", "n2")
            world.kube.put(a_volume("made", node))
            claim = claim_in(world.kube, "c")
            world.kube.put(
                msgspec.structs.replace(
                    claim, spec=msgspec.structs.replace(claim.spec, volume_name="made")
                )
            )
            await world.clock.advance(5)
            assert world.node("p") == ""
            bind(world.kube, "c", "made")
            await settle()
            assert world.node("p") == node

    run(story)


def test_of_two_pods_one_gets_the_volume() -> None:
    """It counts as taken from the decision on, before anything is written; the other is told what
    it lacks.
    """

    async def story() -> None:
        async with world_with() as world:
            world.kube.put(a_claim("d"))
            gate = world.kube.hold("bind_volume")
            world.kube.put(a_pod("p", "c"))
            world.kube.put(a_pod("q", "d"))
            await settle()
            assert "didn't find available persistent volumes to bind" in told(world, "q")
            gate.set()
            await settle()
            bind(world.kube, "c", "pv")
            await world.clock.advance(TRIED_AGAIN)
            assert (world.node("p"), world.node("q"), assumptions(world)) == ("n2", "", [])

    run(story)


def test_two_pods_of_one_claim_wait_for_one_volume() -> None:
    """It is written once; the second waits for what was written for the first, also while that is
    not seen yet.
    """

    async def story() -> None:
        async with world_with("csi.test") as world:
            gate = world.kube.hold("select_node")
            for name in ("p", "q"):
                world.kube.put(a_pod(name, "c"))
            await settle()
            gate.set()
            await world.clock.advance(5)
            assert told(world, "q") == ""
            assert [write.method for write in world.kube.written].count("select_node") == 1
            node = selected(world.kube, "c")
            assert node is not None
            world.kube.put(a_volume("made", node))
            bind(world.kube, "c", "made")
            await settle()
            assert (world.node("p"), world.node("q")) == (node, node)

    run(story)


def give_up(kube: InMemoryKube) -> None:
    """The provisioner does."""
    annotate(kube, "c", {"other": "kept"})


FAILURES: dict[str, tuple[str, Callable[[InMemoryKube], object], str]] = {
    "provisioner-gives-up": ("csi.test", give_up, 'provisioning failed for PVC "c"'),
    "annotations-gone": (
        "csi.test",
        lambda kube: annotate(kube, "c", None),
        'selectedNode annotation reset for PVC "c"',
    ),
    "claim-to-be-made-deleted": (
        "csi.test",
        lambda kube: kube.delete(claim_in(kube, "c")),
        'failed to check provisioning pvc: could not find v1.PersistentVolumeClaim "default/c"',
    ),
    "made-elsewhere": (
        "csi.test",
        lambda kube: [kube.put(a_volume("made", "n9")), bind(kube, "c", "made")],
        'pv "made" node affinity doesn\'t match node',
    ),
    "claim-to-be-bound-deleted": (
        "",
        lambda kube: kube.delete(claim_in(kube, "c")),
        'failed to check binding: could not find v1.PersistentVolumeClaim "default/c"',
    ),
    "claim-made-anew": (
        "",
        lambda kube: kube.put(
            msgspec.structs.replace(
                a_claim("c"), metadata=msgspec.structs.replace(a_claim("c").metadata, uid="uid-2")
            )
        ),
        'failed to check binding: could not find v1.PersistentVolumeClaim "default/c"',
    ),
    "volume-deleted": (
        "",
        lambda kube: kube.delete(volume_in(kube, "pv")),
        'failed to check binding: could not find v1.PersistentVolume "pv"',
    ),
    "claim-taken-off": (
        "",
        lambda kube: kube.put(a_volume("pv", "n2")),
        'ClaimRef got reset for pv "pv"',
    ),
    "volume-out-of-reach": (
        "",
        lambda kube: kube.put(
            msgspec.structs.replace(volume_in(kube, "pv"), spec=a_volume("pv", "n9").spec)
        ),
        'pv "pv" node affinity doesn\'t match node "n2": no matching NodeSelectorTerms',
    ),
    "claim-bound-to-another": (
        "",
        lambda kube: [kube.put(a_volume("other", "n1")), bind(kube, "c", "other")],
        'claim "default/c" is bound to another volume than pv "pv"',
    ),
    "volume-given-to-another": (
        "",
        lambda kube: kube.put(
            a_volume(
                "pv",
                "n2",
                claimRef={
                    "kind": "PersistentVolumeClaim",
                    "namespace": "default",
                    "name": "c",
                    "uid": "uid-9",
                },
            )
        ),
        'claim "default/c" is bound to another volume than pv "pv"',
    ),
}


@pytest.mark.parametrize("case", FAILURES)
def test_what_ends_the_waiting(case: str) -> None:
    """The pod goes back to the queue and says why; nothing stays assumed."""
    provisioner, happens, why = FAILURES[case]

    async def story() -> None:
        async with world_with(provisioner) as world:
            world.kube.put(a_pod("p", "c"))
            await settle()
            happens(world.kube)
            await settle()
            assert (
                f'binding rejected: running PreBind plugin "VolumeBinding": binding volumes: {why}'
                in told(world)
            )
            assert (world.node("p"), world.assumed, assumptions(world)) == ("", 0, [])
            assert world.engine.queue.get("uid-p") is not None

    run(story)


def test_a_pod_is_tried_again_where_its_provisioner_gave_up() -> None:
    """The claim is free to be made elsewhere, and the pod gets its volume then."""

    async def story() -> None:
        async with world_with("csi.test") as world:
            world.kube.put(a_pod("p", "c"))
            await settle()
            first = selected(world.kube, "c")
            node = world.kube.nodes[first or ""]
            world.kube.put(
                msgspec.structs.replace(
                    node, spec=msgspec.structs.replace(node.spec, unschedulable=True)
                )
            )
            give_up(world.kube)
            await world.clock.advance(TRIED_AGAIN)
            second = selected(world.kube, "c")
            assert {first, second} == {"n1", "n2"}
            world.kube.put(a_volume("made", second or ""))
            bind(world.kube, "c", "made")
            await settle()
            assert world.node("p") == second

    run(story)


@pytest.mark.parametrize("seconds", [30, 0])
def test_waiting_has_an_end(seconds: int) -> None:
    """That of the profile's arguments; what was written stays, and the next attempt starts from
    there without writing it again.
    """

    async def story() -> None:
        async with world_with(seconds=seconds) as world:
            world.kube.put(a_pod("p", "c"))
            if seconds:
                await world.clock.advance(seconds - 1)
                assert told(world) == ""
            await world.clock.advance(1.5)
            assert "binding volumes: context deadline exceeded" in told(world)
            assert volume_in(world.kube, "pv").spec.claim_ref is not None
            await world.clock.advance(TRIED_AGAIN)
            bind(world.kube, "c", "pv")
            await world.clock.advance(3 * TRIED_AGAIN)
            assert (
                world.node("p"),
                [write.method for write in world.kube.written].count("bind_volume"),
            ) == ("n2", 1)

    run(story)


ERRORS: dict[str, EdgeError] = {
    "conflict": Conflict("PATCH", 409, "Conflict", "the object has been modified"),
    "gone": NotFound("PATCH", 404, "NotFound", "not found"),
    "no-right": Forbidden("PATCH", 403, "Forbidden", "may not patch"),
    "no-answer": Retryable("PATCH: no answer", outcome_unknown=True),
}


@pytest.mark.parametrize("done", [False, True], ids=["not done", "done"])
@pytest.mark.parametrize("error", ERRORS)
@pytest.mark.parametrize("method", ["bind_volume", "select_node"])
def test_a_write_that_fails(method: str, error: str, done: bool) -> None:
    """The pod is told and tried again, whether the write was done all the same or not; in the end
    it gets its volume.
    """

    async def story() -> None:
        async with world_with("csi.test" if method == "select_node" else "") as world:
            world.kube.fail(method, ERRORS[error], done=done)
            world.kube.put(a_pod("p", "c"))
            await settle()
            assert str(ERRORS[error]) in told(world)
            assert (world.assumed, assumptions(world)) == (0, [])
            await world.clock.advance(TRIED_AGAIN)
            if method == "select_node":
                world.kube.put(a_volume("pv", selected(world.kube, "c") or ""))
            bind(world.kube, "c", "pv")
            await settle()
            assert world.node("p") == (selected(world.kube, "c") or "n2")
            assert (assumptions(world), world.engine.queue.get("uid-p")) == ([], None)

    run(story)


@pytest.mark.parametrize("held", ["bind_volume", ""], ids=["while writing", "while waiting"])
def test_a_pod_that_goes_meanwhile(held: str) -> None:
    """Nothing is waited for any more, and nothing stays assumed."""

    async def story() -> None:
        async with world_with() as world:
            if held:
                world.kube.hold(held)
            pod = world.kube.put(a_pod("p", "c"))
            await settle()
            assert world.assumed == 1
            world.kube.delete(pod)
            await settle()
            assert (world.assumed, len(world.engine.binder), assumptions(world)) == (0, 0, [])

    run(story)


def test_a_watch_that_lags_does_not_hurt() -> None:
    """What was written counts until it is seen, for other pods too; a binding that fails before
    that leaves nothing.
    """

    async def story() -> None:
        async with world_with() as world:
            world.kube.put(a_claim("d"))
            world.kube.silent = True
            world.kube.put(a_pod("p", "c"))
            await world.clock.advance(5)
            assert volume_in(world.kube, "pv").spec.claim_ref is not None
            world.kube.put(a_pod("q", "d"))
            await world.clock.advance(5)
            assert "didn't find available persistent volumes to bind" in told(world, "q")
            assert (told(world), world.assumed, len(assumptions(world))) == ("", 1, 1)
            world.kube.silent = False
            bind(world.kube, "c", "pv")
            world.kube.relist()
            await settle()
            assert (world.node("p"), assumptions(world)) == ("n2", [])

    run(story)
