"""The claims of a pod: which ResourceClaims it uses, and whether they can be used as they are.

Source: Kubernetes dynamic-resource-allocation/resourceclaim and kube-scheduler
``foreachPodResourceClaim`` (v1.36), texts included.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from moorage.core.objects.meta import key
from moorage.core.objects.pods import Pod, PodResourceClaim
from moorage.core.objects.resource_claims import (
    AllocatedDevice,
    DeviceClass,
    DeviceCondition,
    DeviceSubRequest,
    ResourceClaim,
)


class ClaimError(ValueError):
    """A claim that can't be used now. The message is for people, and says nothing of what would
    help since an event will tell.
    """


def claim_names(pod: Pod) -> Iterator[tuple[str, bool]]:
    """The name of each claim, and whether it was generated for the pod. Raises ClaimError.

    Nothing stands for a claim that was not generated because it is not needed.
    """
    generated = {
        status.name: status.resource_claim_name
        for status in pod.status.resource_claim_statuses or ()
    }
    for use in pod.spec.resource_claims or ():
        if use.resource_claim_name is not None:
            yield use.resource_claim_name, False
        elif use.name not in generated or use.resource_claim_template_name is None:
            raise ClaimError(_not_there(pod, use))
        elif (name := generated[use.name]) is not None:
            yield name, True


def _not_there(pod: Pod, use: PodResourceClaim) -> str:
    if use.resource_claim_template_name is None:
        return (
            f'pod "{key(pod)}", spec.resourceClaim "{use.name}": none of the supported fields '
            f"are set"
        )
    return f'pod "{key(pod)}": ResourceClaim not created yet'


def claims_of(pod: Pod, claims: Mapping[str, ResourceClaim]) -> tuple[ResourceClaim, ...]:
    """The pod's claims. Raises ClaimError for one that is missing, on its way out, or somebody
    else's.
    """
    found: list[ResourceClaim] = []
    for name, generated in claim_names(pod):
        place = f"{pod.metadata.namespace}/{name}"
        claim = claims.get(place)
        if claim is None:
            raise ClaimError(f'could not find ResourceClaim "{place}"')
        if claim.metadata.deletion_timestamp is not None:
            raise ClaimError(f'resourceclaim "{name}" is being deleted')
        if generated and not _controls(pod, claim):
            raise ClaimError(
                f"ResourceClaim {place} was not created for Pod {key(pod)} (Pod is not owner)"
            )
        found.append(claim)
    return tuple(found)


def _controls(pod: Pod, claim: ResourceClaim) -> bool:
    return any(
        owner.controller and owner.uid == pod.metadata.uid
        for owner in claim.metadata.owner_references or ()
    )


def check_classes(claim: ResourceClaim, classes: Mapping[str, DeviceClass]) -> None:
    """Raises ClaimError for a request of a class that is not there."""
    for request in claim.spec.devices.requests or ():
        named: list[tuple[str, DeviceSubRequest]]
        if request.exactly is not None:
            named = [(request.name, request.exactly)]
        else:
            named = [(f"{request.name}/{one.name}", one) for one in request.first_available or ()]
        if not named:
            raise ClaimError(
                f"resource claim {key(claim)}, request {request.name}: unknown request type"
            )
        for name, asked in named:
            if asked.device_class_name not in classes:
                raise ClaimError(
                    f"request {name}: device class {asked.device_class_name} does not exist"
                )


# ---- allocated claims ----------------------------------------------------------------------------


def binding_failed(claim: ResourceClaim) -> bool:
    """Whether a device that the claim got turned out not to be usable."""
    return binding_failure(claim) is not None


def binding_failure(claim: ResourceClaim) -> DeviceCondition | None:
    """Why a device that the claim got can't be used, None if nobody says so."""
    for result in _to_be_bound(claim):
        met = _met(result, claim)
        for failure in result.binding_failure_conditions or ():
            if failure in met:
                return met[failure]
    return None


def binding_pending(claim: ResourceClaim) -> bool:
    """Whether a device that the claim got is still to become usable."""
    return any(
        condition not in _met(result, claim)
        for result in _to_be_bound(claim)
        for condition in result.binding_conditions or ()
    )


def _to_be_bound(claim: ResourceClaim) -> Iterator[AllocatedDevice]:
    """The claim's devices that are made usable only once they are allocated."""
    allocation = claim.status.allocation
    results = (allocation.devices.results if allocation is not None else None) or ()
    return (result for result in results if result.binding_conditions)


def _met(result: AllocatedDevice, claim: ResourceClaim) -> dict[str, DeviceCondition]:
    """The conditions that are true of a device, by type."""
    place = (result.driver, result.pool, result.device)
    status = next(
        (one for one in claim.status.devices or () if (one.driver, one.pool, one.device) == place),
        None,
    )
    return {
        one.type: one
        for one in (status.conditions if status is not None else None) or ()
        if one.status == "True"
    }


def is_reserved(claim: ResourceClaim, pod: Pod) -> bool:
    """Whether the pod has the claim reserved."""
    return any(consumer.uid == pod.metadata.uid for consumer in claim.status.reserved_for or ())


def can_be_deallocated(claim: ResourceClaim, pod: Pod) -> bool:
    """Whether nobody but this pod has the claim reserved."""
    reserved = claim.status.reserved_for or ()
    return not reserved or (len(reserved) == 1 and reserved[0].uid == pod.metadata.uid)
