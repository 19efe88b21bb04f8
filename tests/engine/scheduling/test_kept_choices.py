"""Devices and volumes that a pod will choose once its victims are gone: nobody of less importance
has them meanwhile, on any node.
"""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest

from moorage.core.objects.pods import ClaimVolume, Pod, PodResourceClaim, Volume
from moorage.core.objects.resource_claims import DeviceClass, ResourceClaim, ResourceSlice
from tests.engine.having_volumes import a_claim, a_class, bind, volume_in
from tests.engine.having_volumes import a_volume as near
from tests.engine.preemptions import contested, going, gone, high, low, nominated_node
from tests.engine.running import TRIED_AGAIN, Running


def a_network_device(world: Running) -> None:
    """One device that all nodes reach, and claims for one."""
    world.kube.put(
        msgspec.convert(
            {"metadata": {"name": "gpu"}, "spec": {"extendedResourceName": "x.io/gpu"}}, DeviceClass
        )
    )
    spec = {
        "driver": "x",
        "allNodes": True,
        "pool": {"name": "net", "generation": 1, "resourceSliceCount": 1},
        "devices": [{"name": "d"}],
    }
    world.kube.put(
        msgspec.convert(
            {"metadata": {"name": "net", "uid": "uid-net"}, "spec": spec}, ResourceSlice
        )
    )
    request = {
        "name": "r",
        "exactly": {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 1},
    }
    for name in ("high", "late"):
        metadata = {"name": name, "namespace": "default", "uid": f"uid-{name}"}
        world.kube.put(
            msgspec.convert(
                {"metadata": metadata, "spec": {"devices": {"requests": [request]}}}, ResourceClaim
            )
        )


def a_network_volume(world: Running) -> None:
    """One volume that all nodes reach, and claims."""
    world.kube.put(a_class())
    pv = near("pv", "n1")
    world.kube.put(
        msgspec.structs.replace(pv, spec=msgspec.structs.replace(pv.spec, node_affinity=None))
    )
    for name in ("high", "late"):
        world.kube.put(a_claim(name))


def wanting(kind: str, claim: str) -> dict[str, Any]:
    """A pod's spec with this claim."""
    if kind == "device":
        return {"resource_claims": (PodResourceClaim("r", resource_claim_name=claim),)}
    return {"volumes": (Volume("v", persistent_volume_claim=ClaimVolume(claim)),)}


@pytest.mark.parametrize("kind", ["device", "volume"])
def test_what_the_preemptor_will_choose_is_left_to_it(kind: str) -> None:
    """The only device or volume is not taken from another node while its victim goes; nobody else
    has to go, and it is told why.
    """

    async def story() -> None:
        async with contested(nodes=2) as world:
            (a_network_device if kind == "device" else a_network_volume)(world)
            world.kube.put(low("a", "4"))
            world.kube.put(low("full", "3", "n2", priority=9))
            world.kube.put(high(cpu="2", **wanting(kind, "high")))
            await world.clock.advance(0.5)
            assert (nominated_node(world), going(world)) == ("n1", ["a"])
            world.kube.put(late(kind))
            await world.clock.advance(TRIED_AGAIN)
            assert world.node("late") == ""
            assert (
                "Room is kept on n1 for default/high" in world.notes("FailedScheduling", "late")[-1]
            )
            await gone(world, "a")
            if kind == "volume":
                ref = volume_in(world.kube, "pv").spec.claim_ref
                assert ref is not None
                assert ref.name == "high"
                bind(world.kube, "high", "pv")
                await world.clock.advance(1.0)
            assert (world.node("high"), world.node("late"), going(world)) == ("n1", "", [])

    asyncio.run(story())


@pytest.mark.parametrize("kind", ["device", "volume"])
def test_what_was_kept_is_free_when_the_pod_is_gone(kind: str) -> None:
    """Whoever waited for it is tried again then."""

    async def story() -> None:
        async with contested(nodes=2) as world:
            (a_network_device if kind == "device" else a_network_volume)(world)
            world.kube.put(low("a", "4"))
            world.kube.put(low("full", "3", "n2", priority=9))
            world.kube.put(high(cpu="2", **wanting(kind, "high")))
            world.kube.put(late(kind))
            await world.clock.advance(TRIED_AGAIN)
            assert world.node("late") == ""
            world.kube.delete(world.kube.pods["uid-high"])
            await world.clock.advance(TRIED_AGAIN)
            if kind == "volume":
                bind(world.kube, "late", "pv")
                await world.clock.advance(1.0)
            assert world.node("late") == "n2"

    asyncio.run(story())


def late(kind: str) -> Pod:
    """A pod that fits on n2 and wants the same thing."""
    return high("late", cpu="100m", priority=0, **wanting(kind, "late"))
