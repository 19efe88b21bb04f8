"""What DynamicResources hands to its actor: claims to reserve, and one to release."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from moorage.core.columns.store import Lister
from moorage.core.devices.device_demand import (
    DeviceDemand,
    DevicesFound,
    allocated,
)
from moorage.core.devices.pod_claims import (
    consumer_of_pod,
    consumers_of,
)
from moorage.core.framework.interfaces import ReserveResult
from moorage.core.framework.status import SUCCESS
from moorage.core.objects.meta import key
from moorage.core.objects.pod_groups import group_of
from moorage.core.objects.pods import ContainerExtendedResourceRequest
from moorage.core.objects.resource_claims import Allocation, Consumer, ResourceClaim


class ReservedClaim(NamedTuple):
    """A claim, the allocation that it is to get, None when it has one, and whom it is to be
    reserved for: the pod, or its PodGroup.
    """

    claim: ResourceClaim
    allocation: Allocation | None
    consumer: Consumer


class ClaimReservation(NamedTuple):
    """All claims of the pod, as the API server shows them; one that is not created yet is last,
    with the containers that use its requests.

    ``timeout``: how long devices may take to become usable, in seconds.
    """

    claims: tuple[ReservedClaim, ...]
    mappings: tuple[ContainerExtendedResourceRequest, ...]
    timeout: float


class ClaimRelease(NamedTuple):
    """A claim that has to give its devices back, or (``delete``) that is of no use any more, or
    that is not to be reserved for ``consumer`` any more.
    """

    claim: ResourceClaim
    delete: bool = False
    consumer: Consumer | None = None


def reserve_devices(
    wanted: DeviceDemand,
    found: DevicesFound,
    allocations: tuple[Allocation, ...],
    timeout: float,
    store: Lister,
) -> ReserveResult:
    """Take what was found, and what is being allocated for the pod's group, until that is
    undone.
    """
    ledger, uid, group = wanted.ledger, wanted.pod.metadata.uid, group_of(wanted.pod)
    pending = (claim for claim in wanted.claims if ledger.shared(claim, group) is claim)
    decided = (*pending, *allocated(found.claims, allocations))

    def undo() -> None:
        for claim in decided:
            ledger.release(claim, uid)

    for claim in decided:
        ledger.assume(claim, group, uid)
    claims = _reserved(wanted, found, decided, store)
    return ReserveResult(SUCCESS, ClaimReservation(claims, found.requested.mappings, timeout), undo)


def _reserved(
    wanted: DeviceDemand, found: DevicesFound, decided: Iterable[ResourceClaim], store: Lister
) -> tuple[ReservedClaim, ...]:
    """All claims of the pod; ``decided`` are those that get an allocation, as they will be."""
    pod, seen = wanted.pod, store.objects(ResourceClaim)
    consumers = consumers_of(pod, store)
    given = {claim.metadata.uid: claim.status.allocation for claim in decided}
    return tuple(
        ReservedClaim(
            seen.get(key(claim), claim),
            given.get(claim.metadata.uid),
            consumers.get(claim.metadata.name) or consumer_of_pod(pod),
        )
        for claim in (*wanted.claims, *found.claims[len(wanted.unallocated) :])
    )
