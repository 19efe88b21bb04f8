"""Pods are never bound before what they claim is theirs; until writing that is built, their binding fails and says so."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from moorage.core.claim_objects import Allocation, ClaimMeta, Consumer, ResourceClaim, ResourceClaimStatus
from moorage.core.plugins.dynamic_resources import ClaimedFor, Reservation
from moorage.engine.actors import ACTORS, DeviceBinder
from moorage.ports.errors import EdgeError
from tests.builders import make_pod
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
    binding = DeviceBinder(InMemoryKube()).pre_bind(POD, "n1", reserved)
    if binds:
        asyncio.run(binding)
    else:
        with pytest.raises(EdgeError, match="default/gpu"):
            asyncio.run(binding)


@pytest.mark.parametrize("plugin", ["VolumeBinding", "DynamicResources"])
def test_plugins_that_claim_have_an_actor(plugin: str) -> None:
    """Which is asked before the pod is bound."""
    assert hasattr(ACTORS[plugin](InMemoryKube()), "pre_bind")
