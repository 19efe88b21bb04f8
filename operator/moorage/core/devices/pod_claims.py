"""The claims of a pod: which ResourceClaims it uses, and whether they can be used as they are.

A claim that a pod shares with its PodGroup (the PodGroup has an entry of the same name that refers
to the same) is reserved for the PodGroup, and belongs to it where it was made from a template.

Source: Kubernetes dynamic-resource-allocation/resourceclaim and kube-scheduler
``foreachPodResourceClaim`` (v1.37), texts included.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from moorage.core.columns.store import Lister
from moorage.core.objects.meta import key
from moorage.core.objects.pod_groups import PodGroup, PodGroupResourceClaim
from moorage.core.objects.pods import Pod, PodResourceClaim
from moorage.core.objects.resource_claims import (
    AllocatedDevice,
    Consumer,
    DeviceClass,
    DeviceCondition,
    DeviceSubRequest,
    ResourceClaim,
)

GROUP_NAME: Final = "scheduling.k8s.io"
"""The API group of PodGroups, as consumers and owners of claims have it."""


class ClaimError(ValueError):
    """A claim that can't be used now. The message is for people, and says nothing of what would
    help since an event will tell.
    """


def claim_names(pod: Pod) -> Iterator[tuple[str, bool]]:
    """The name of each claim, and whether it was generated for the pod. Raises ClaimError.

    Nothing stands for a claim that was not generated because it is not needed.
    """
    return _names(pod, pod.spec.resource_claims or ())


def _names(pod: Pod, uses: Iterable[PodResourceClaim]) -> Iterator[tuple[str, bool]]:
    generated = {
        status.name: status.resource_claim_name
        for status in pod.status.resource_claim_statuses or ()
    }
    for use in uses:
        if use.resource_claim_name is not None:
            yield use.resource_claim_name, False
        elif use.name not in generated or use.resource_claim_template_name is None:
            raise ClaimError(_not_there(pod, use))
        elif (name := generated[use.name]) is not None:
            yield name, True


def uses_claim(pod: Pod, name: str) -> bool:
    """Whether the pod uses the claim of this name, its own or a generated one."""
    own = (use.resource_claim_name for use in pod.spec.resource_claims or ())
    generated = (use.resource_claim_name for use in pod.status.resource_claim_statuses or ())
    return name in (*own, *generated)


def pod_group_of(pod: Pod, store: Lister) -> PodGroup | None:
    """The pod's PodGroup (``spec.schedulingGroup``), where it is there."""
    name = _group_name(pod)
    return store.objects(PodGroup).get(f"{pod.metadata.namespace}/{name}") if name else None


def consumers_of(pod: Pod, store: Lister) -> dict[str, Consumer]:
    """By name of claim: whom it is reserved for that the pod shares with its PodGroup, which is
    that group. Raises ClaimError.
    """
    group = pod_group_of(pod, store)
    if group is None:
        return {}
    shared = {_entry(one) for one in group.spec.resource_claims or ()}
    uses = tuple(use for use in pod.spec.resource_claims or () if _entry(use) in shared)
    return dict.fromkeys((name for name, _ in _names(pod, uses)), consumer_of_group(group))


def consumer_of_pod(pod: Pod) -> Consumer:
    """A pod as the consumer of a claim."""
    return Consumer(resource="pods", name=pod.metadata.name, uid=pod.metadata.uid)


def consumer_of_group(group: PodGroup) -> Consumer:
    """A PodGroup as the consumer of a claim."""
    return Consumer(GROUP_NAME, "podgroups", group.metadata.name, group.metadata.uid)


def group_claims(group: PodGroup, claims: Mapping[str, ResourceClaim]) -> Iterator[ResourceClaim]:
    """The claims of a PodGroup that are there; generated ones only if they are this group's."""
    generated = {
        one.name: one.resource_claim_name for one in group.status.resource_claim_statuses or ()
    }
    for use in group.spec.resource_claims or ():
        name = use.resource_claim_name or generated.get(use.name)
        claim = claims.get(f"{group.metadata.namespace}/{name}")
        if claim is not None and (
            use.resource_claim_name is not None or _controls(group.metadata.uid, claim)
        ):
            yield claim


def _entry(use: PodResourceClaim | PodGroupResourceClaim) -> tuple[str | None, ...]:
    return use.name, use.resource_claim_name, use.resource_claim_template_name


def _group_name(pod: Pod) -> str:
    group = pod.spec.scheduling_group
    return (group.pod_group_name if group is not None else None) or ""


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
        if generated and not _controls(pod.metadata.uid, claim):
            _check_group_controls(pod, claim)
        found.append(claim)
    return tuple(found)


def _controls(uid: str, claim: ResourceClaim) -> bool:
    return any(
        owner.controller and owner.uid == uid for owner in claim.metadata.owner_references or ()
    )


def _check_group_controls(pod: Pod, claim: ResourceClaim) -> None:
    """Raises ClaimError unless the pod's PodGroup controls the claim, as far as its name says."""
    group = _group_name(pod)
    if not any(
        owner.controller
        and (owner.kind, owner.name) == ("PodGroup", group)
        and owner.api_version.startswith(f"{GROUP_NAME}/")
        for owner in claim.metadata.owner_references or ()
    ):
        neither = f"neither Pod nor PodGroup {group} is the owner" if group else "Pod is not owner"
        raise ClaimError(
            f"ResourceClaim {key(claim)} was not created for Pod {key(pod)} ({neither})"
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


def is_reserved(claim: ResourceClaim, uid: str) -> bool:
    """Whether this pod or group has the claim reserved."""
    return any(consumer.uid == uid for consumer in claim.status.reserved_for or ())


def can_be_deallocated(claim: ResourceClaim, uid: str) -> bool:
    """Whether nobody but this pod or group has the claim reserved."""
    return all(consumer.uid == uid for consumer in claim.status.reserved_for or ())
