"""Whole searches, for tests."""

from __future__ import annotations

from collections.abc import Sequence

from moorage.core.devices.allocator import Allocator, ClaimAssignment
from moorage.core.devices.uses import AvailableDevices
from moorage.core.objects.resource_claims import ResourceClaim


def search(
    claims: Sequence[ResourceClaim], offer: AvailableDevices
) -> tuple[ClaimAssignment, ...] | None:
    """A whole search, set down as often as that can be."""
    found = Allocator(claims, offer)
    while not found.run(lambda: True):
        pass
    return found.assignments
