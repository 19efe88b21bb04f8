"""Unbound claims: a pod waits for news of its claim; it is not tried again and again."""

from __future__ import annotations

import asyncio

import pytest

from moorage.core.objects.pods import ClaimVolume, Volume
from moorage.core.objects.storage import (
    AnnotatedMeta,
    PersistentVolume,
    PersistentVolumeClaim,
    PersistentVolumeClaimSpec,
)
from tests.builders import make_pod
from tests.engine.running import Running
from tests.engine.worlds import a_body


@pytest.mark.parametrize(
    "storage_class",
    [None, "", "missing"],
    ids=["no class", "an empty class", "a class that there is not"],
)
def test_a_pod_whose_claim_nobody_binds(storage_class: str | None) -> None:
    """One attempt, one event, until the claim is bound; then it is placed."""

    async def story() -> None:
        async with Running().leading(a_body("test")) as world:
            meta = AnnotatedMeta(name="data", namespace="default", uid="uid-data")
            world.kube.put(
                PersistentVolumeClaim(
                    meta, PersistentVolumeClaimSpec(storage_class_name=storage_class)
                )
            )
            world.kube.put(
                make_pod("a", volumes=(Volume("v", persistent_volume_claim=ClaimVolume("data")),))
            )
            for _ in range(10):
                world.clock.jump(20)
                await world.clock.advance(0.3)
            entry = world.engine.queue.get("uid-a")
            assert entry is not None
            assert (entry.attempts, entry.state, entry.unschedulable_plugins) == (
                1,
                "unschedulable",
                {"VolumeBinding"},
            )
            assert len(world.notes("FailedScheduling", "a")) == 1
            world.kube.put(PersistentVolume(AnnotatedMeta(name="disk", uid="uid-disk")))
            bound = AnnotatedMeta(
                name="data",
                namespace="default",
                uid="uid-data",
                annotations={"pv.kubernetes.io/bind-completed": "yes"},
            )
            spec = PersistentVolumeClaimSpec(storage_class_name=storage_class, volume_name="disk")
            world.kube.put(PersistentVolumeClaim(bound, spec))
            await world.clock.advance(2)
            assert world.node("a")

    asyncio.run(story())
