"""Extended resources that stand for devices: a pod asks for them as for cpu, and gets devices of
the class that they belong to.

Source: kube-scheduler ``extendeddynamicresources`` and
dynamic-resource-allocation/deviceclass/extendedresourcecache (v1.36).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import msgspec

from kubefacts.quantities import NANO, nanos
from moorage.core.objects.meta import OwnerReference
from moorage.core.objects.pods import Container, ContainerExtendedResourceRequest, Pod
from moorage.core.objects.resource_claims import (
    ClaimMeta,
    DeviceClaim,
    DeviceClass,
    DeviceRequest,
    ExactDeviceRequest,
    ResourceClaim,
    ResourceClaimSpec,
)
from moorage.core.pods.resource_names import PREFIX

ANNOTATION = "resource.kubernetes.io/extended-resource-claim"
_SPELLING = re.compile(r"[+-]?\d*(\.(?P<fraction>\d*))?([eE](?P<power>[+-]?\d+)|(?P<suffix>\D*))")
_POWERS = {"n": -9, "u": -6, "m": -3, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
TO_BE_CREATED = "<extended-resources>"
"""The name of a claim that is not there yet; no real one can have it."""


def classes_by_resource(classes: Iterable[DeviceClass]) -> dict[str, DeviceClass]:
    """The class that each resource stands for. Of two with the same resource the younger counts,
    then the first by name.
    """
    found: dict[str, DeviceClass] = {}
    by_name = sorted(classes, key=lambda one: one.metadata.name, reverse=True)
    for one in sorted(by_name, key=lambda one: one.metadata.creation_timestamp or ""):
        if one.spec.extended_resource_name is not None:
            found[one.spec.extended_resource_name] = one
    return found | {PREFIX + one.metadata.name: one for one in by_name}


def is_extended_claim(claim: ResourceClaim) -> bool:
    """Whether the scheduler made this claim for a pod's extended resources."""
    return (claim.metadata.annotations or {}).get(ANNOTATION) == "true" and owner_of(claim) != ""


def owner_of(claim: ResourceClaim) -> str:
    """The uid of the object that controls the claim, "" for none."""
    return next(
        (owner.uid for owner in claim.metadata.owner_references or () if owner.controller), ""
    )


def claim_to_create(pod: Pod, requests: tuple[DeviceRequest, ...] = ()) -> ResourceClaim:
    """The claim for a pod's extended resources, as it will be created once the pod has a node."""
    owner = OwnerReference(
        api_version="v1", kind="Pod", name=pod.metadata.name, uid=pod.metadata.uid, controller=True
    )
    meta = ClaimMeta(
        TO_BE_CREATED,
        pod.metadata.namespace,
        f"{pod.metadata.uid}-extended-resources",
        owner_references=(owner,),
        annotations={ANNOTATION: "true"},
    )
    return ResourceClaim(meta, ResourceClaimSpec(DeviceClaim(requests=requests or None)))


class ExtendedResourceRequests(NamedTuple):
    """The requests that stand for a pod's extended resources, and which of them serves which
    container.
    """

    requests: tuple[DeviceRequest, ...] = ()
    mappings: tuple[ContainerExtendedResourceRequest, ...] = ()


def requests_for(
    pod: Pod, resources: Iterable[str], classes: Mapping[str, DeviceClass]
) -> ExtendedResourceRequests:
    """Requests for these resources of a pod, by name.

    App containers and sidecars get devices of their own. Init containers use those of long-lived
    ones after them first; what they need beyond is one more request, as large as the neediest asks
    for.
    """
    requests: list[DeviceRequest] = []
    mappings: list[ContainerExtendedResourceRequest] = []
    for resource in sorted(resources):
        one = _requests_for(pod, resource, classes[resource].metadata.name)
        requests += one.requests
        mappings += one.mappings
    return ExtendedResourceRequests(
        tuple(sorted(requests, key=lambda request: request.name)), tuple(mappings)
    )


def _requests_for(pod: Pod, resource: str, class_: str) -> ExtendedResourceRequests:
    inits = pod.spec.init_containers or ()
    containers = inits + (pod.spec.containers or ())
    brief = [i for i, container in enumerate(inits) if container.restart_policy != "Always"]
    lasting: dict[int, DeviceRequest] = {}
    extra: dict[int, DeviceRequest] = {}
    mappings: list[ContainerExtendedResourceRequest] = []
    for i in sorted(range(len(containers)), key=brief.__contains__):
        reusable = [one for j, one in lasting.items() if j > i] if i in brief else []
        request, found = _request(i, containers[i], resource, class_, reusable)
        mappings += found
        if request is not None:
            (extra if i in brief else lasting)[i] = request
    return _neediest_alone(tuple(extra.values()), tuple(lasting.values()), mappings)


def _neediest_alone(
    extra: Sequence[DeviceRequest],
    lasting: Sequence[DeviceRequest],
    mappings: Sequence[ContainerExtendedResourceRequest],
) -> ExtendedResourceRequests:
    """Of the extra requests only the largest, which serves all that they would."""
    most = sorted(extra, key=_count, reverse=True)[:1]  # the first of equals
    names = {request.name: most[0].name for request in extra}
    served = [
        msgspec.structs.replace(one, request_name=names.get(one.request_name, one.request_name))
        for one in mappings
    ]
    return ExtendedResourceRequests((*most, *lasting), tuple(served))


def _request(
    i: int, container: Container, resource: str, class_: str, reusable: Sequence[DeviceRequest]
) -> tuple[DeviceRequest | None, list[ContainerExtendedResourceRequest]]:
    """What the i-th container needs beyond what it can use of others, and all that it uses."""
    asked = (container.resources.requests if container.resources is not None else None) or {}
    count = _count_of(asked.get(resource, 0))
    if not count:
        return None, []
    uses: list[str] = []
    for request in reusable:
        if count <= 0:
            break
        uses.append(request.name)
        count -= _count(request)
    own = None
    if count > 0:
        exactly = ExactDeviceRequest(
            device_class_name=class_, allocation_mode="ExactCount", count=count
        )
        own = DeviceRequest(f"container-{i}-request-{sorted(asked).index(resource)}", exactly)
        uses.append(own.name)
    return own, [ContainerExtendedResourceRequest(container.name, resource, name) for name in uses]


def _count_of(quantity: str | int) -> int:
    """How many devices, as kube-scheduler reads it: none, where a fraction is spelt (``1000m``). An
    API server spells none.
    """
    spelling = _SPELLING.fullmatch(str(quantity))
    if spelling is None:
        return 0
    scale = int(spelling["power"] or _POWERS.get(spelling["suffix"], 0)) - len(
        spelling["fraction"] or ""
    )
    return nanos(quantity) // NANO if scale >= 0 else 0


def _count(request: DeviceRequest) -> int:
    return request.exactly.count if request.exactly is not None else 0
