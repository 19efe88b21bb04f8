"""What DynamicResources hands to its actor: claims to reserve, and one to release."""

from __future__ import annotations

from typing import NamedTuple

from moorage.core.framework.interfaces import ReserveResult
from moorage.core.framework.status import SUCCESS
from moorage.core.objects.pods import ContainerExtendedResourceRequest
from moorage.core.objects.resource_claims import Allocation, ResourceClaim
from moorage.core.plugins.dynamic_resources.device_demand import (
    DeviceDemand,
    DevicesFound,
    allocated,
)


class ReservedClaim(NamedTuple):
    """A claim to be reserved for the pod, and the allocation that it is to get, None when it has
    one.
    """

    claim: ResourceClaim
    allocation: Allocation | None


class ClaimReservation(NamedTuple):
    """All claims of the pod; one that is not created yet is last, with the containers that use its
    requests.

    ``timeout``: how long devices may take to become usable, in seconds.
    """

    claims: tuple[ReservedClaim, ...]
    mappings: tuple[ContainerExtendedResourceRequest, ...]
    timeout: float


class ClaimRelease(NamedTuple):
    """A claim that has to give its devices back, or (``delete``) that is of no use any more."""

    claim: ResourceClaim
    delete: bool = False


def reserve_devices(
    wanted: DeviceDemand, found: DevicesFound, allocations: tuple[Allocation, ...], timeout: float
) -> ReserveResult:
    """Take what was found, until that is undone."""
    given = dict(zip((claim.metadata.uid for claim in found.claims), allocations, strict=True))
    claims = wanted.claims + found.claims[len(wanted.unallocated) :]
    assumed = allocated(found.claims, allocations)

    def undo() -> None:
        for claim in assumed:
            wanted.ledger.release(claim)

    for claim in assumed:
        wanted.ledger.assume(claim)
    value = tuple(ReservedClaim(claim, given.get(claim.metadata.uid)) for claim in claims)
    return ReserveResult(SUCCESS, ClaimReservation(value, found.requested.mappings, timeout), undo)
