"""Pods are never bound before what they claim is theirs; until writing that is built, their binding fails and says so."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from moorage.core.claim_objects import Allocation, ClaimMeta, Consumer, ResourceClaim, ResourceClaimStatus
from moorage.core.objects import ClaimVolume, ObjectMeta, Volume
from moorage.core.plugins.dynamic_resources import ClaimedFor, Reservation
from moorage.core.storage_objects import (
    AnnotatedMeta,
    PersistentVolume,
    PersistentVolumeClaim,
    PersistentVolumeClaimSpec,
    StorageClass,
)
from moorage.engine.actors.device_binder import DeviceBinder
from moorage.engine.actors.intree import ACTORS
from moorage.ports.errors import EdgeError
from tests.builders import make_pod
from tests.engine.running import Running, make_tools
from tests.fakes.kube import InMemoryKube

POD = make_pod("p")
MINE, THEIRS = Consumer(resource="pods", name="p", uid="uid-p"), Consumer(resource="pods", name="q", uid="uid-q")


def claim(*consumers: Consumer) -> ResourceClaim:
    """A claim that is reserved for these."""
    status = ResourceClaimStatus(allocation=Allocation(), reserved_for=consumers)
    return ResourceClaim(ClaimMeta(name="gpu", namespace="default", uid="uid-gpu"), status=status)


@pytest.mark.parametrize(
    ("reserved", "binds"),
    [
        pytest.param(None, True, id="no claims"),
        pytest.param(Reservation((ClaimedFor(claim(THEIRS, MINE), None),)), True, id="its own already"),
        pytest.param(Reservation((ClaimedFor(claim(THEIRS), None),)), False, id="not reserved"),
        pytest.param(Reservation((ClaimedFor(claim(), Allocation()),)), False, id="not allocated"),
    ],
)
def test_devices_come_before_binding(reserved: Any, binds: bool) -> None:
    """The claim is named."""
    binding = DeviceBinder(make_tools(InMemoryKube())).pre_bind(POD, "n1", reserved)
    if binds:
        asyncio.run(binding)
    else:
        with pytest.raises(EdgeError, match="default/gpu"):
            asyncio.run(binding)


@pytest.mark.parametrize("bound", [True, False], ids=["bound claim", "claim that waits"])
def test_nobody_is_evicted_for_a_pod_that_cannot_be_bound(bound: bool) -> None:
    """A pod of higher priority preempts with a claim that has its volume, and not with one that waits for it."""

    async def story() -> None:
        world = Running()
        async with world.leading(nodes=1):
            annotations = {"pv.kubernetes.io/bind-completed": "yes"} if bound else None
            world.kube.put(StorageClass(ObjectMeta(name="late"), "csi.test", "WaitForFirstConsumer"))
            world.kube.put(PersistentVolume(AnnotatedMeta(name="pv")))
            spec = PersistentVolumeClaimSpec(storage_class_name="late", volume_name="pv" if bound else "")
            world.kube.put(PersistentVolumeClaim(AnnotatedMeta(name="c", namespace="default", annotations=annotations), spec))
            world.kube.put(make_pod("low", cpu="4", node="n1", priority=1))
            volume = Volume("v", persistent_volume_claim=ClaimVolume("c"))
            world.kube.put(make_pod("high", cpu="4", priority=9, volumes=(volume,)))
            await world.clock.advance(1.0)
            assert ("Preempted by pod uid-high on node n1" in world.notes("Preempted", "low")) is bound
            assert world.kube.pods["uid-high"].status.nominated_node_name == ("n1" if bound else "")

    asyncio.run(story())


@pytest.mark.parametrize("plugin", ["VolumeBinding", "DynamicResources"])
def test_plugins_that_claim_have_an_actor(plugin: str) -> None:
    """Which is asked before the pod is bound."""
    assert hasattr(ACTORS[plugin](make_tools(InMemoryKube())), "pre_bind")
