"""Allocations: what was found, as it is written into a claim.

Source: Kubernetes dynamic-resource-allocation/structured, ``Allocate`` and ``createNodeSelector``
(v1.37).
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import msgspec

from moorage.core.devices.allocator import ClaimAssignment, DeviceAssignment
from moorage.core.devices.pools import AllocationError
from moorage.core.objects.resource_claims import (
    AllocatedConfiguration,
    AllocatedDevice,
    Allocation,
    DeviceAllocation,
    DeviceConfiguration,
    Reach,
    ResourceClaim,
)
from moorage.core.objects.selector_terms import NodeSelector, NodeSelectorTerm, Requirement
from moorage.core.pods.node_selection import NODE_NAME


def allocation_of(claim: ResourceClaim, answer: ClaimAssignment, node: str) -> Allocation:
    """The claim's allocation on this node. Raises AllocationError."""
    results = tuple(_result(claim, i, given) for i, given in enumerate(answer.devices))
    config = [_widened(one, answer) for one in _of_classes(answer) + _of_claim(claim, answer)]
    return Allocation(
        DeviceAllocation(results or None, tuple(config) or None),
        _node_selector(claim, answer.devices, node),
    )


def made_at(allocation: Allocation, when: str) -> Allocation:
    """The allocation with the time (RFC 3339) from which on its devices are made usable."""
    return msgspec.structs.replace(allocation, allocation_timestamp=when)


def _result(claim: ResourceClaim, place: int, given: DeviceAssignment) -> AllocatedDevice:
    wish, candidate = given.query, given.candidate
    shared = given.consumes is not None
    return AllocatedDevice(
        request=wish.reference,
        driver=candidate.id.driver,
        pool=candidate.id.pool,
        device=candidate.id.device,
        admin_access=wish.admin or None,
        tolerations=wish.tolerations or None,
        binding_conditions=candidate.device.binding_conditions,
        binding_failure_conditions=candidate.device.binding_failure_conditions,
        share_id=_share_id(claim.metadata.uid, place) if shared else None,
        consumed_capacity=given.consumes or None,
    )


def _share_id(claim: str, place: int) -> str:
    """What tells the shares of a device apart. Drawn by chance in kube-scheduler; here nothing
    is.
    """
    digest = hashlib.blake2b(f"{claim}/{place}".encode(), digest_size=16).hexdigest()
    return f"{digest[:8]}-{digest[8:12]}-8{digest[13:16]}-8{digest[17:20]}-{digest[20:]}"


def _of_classes(answer: ClaimAssignment) -> list[AllocatedConfiguration]:
    """What each class says, once, for all of its requests."""
    by_class: dict[str, list[str]] = {}
    said: dict[str, Sequence[DeviceConfiguration]] = {}
    for wish in answer.chosen:
        by_class.setdefault(wish.class_.metadata.name, []).append(wish.reference)
        said[wish.class_.metadata.name] = wish.class_.spec.config or ()
    return [
        AllocatedConfiguration("FromClass", tuple(references), config.opaque)
        for name, references in by_class.items()
        for config in said[name]
    ]


def _of_claim(claim: ResourceClaim, answer: ClaimAssignment) -> list[AllocatedConfiguration]:
    """What the claim says, for all of its requests or for one of these."""
    return [
        AllocatedConfiguration("FromClaim", config.requests, config.opaque)
        for config in claim.spec.devices.config or ()
        if not config.requests or any(wish.named_in(config.requests) for wish in answer.chosen)
    ]


def _widened(config: AllocatedConfiguration, answer: ClaimAssignment) -> AllocatedConfiguration:
    """Where all requests are named, none is."""
    if all(wish.named_in(config.requests) for wish in answer.chosen):
        return msgspec.structs.replace(config, requests=None)
    return config


def _node_selector(
    claim: ResourceClaim, given: Sequence[DeviceAssignment], node: str
) -> NodeSelector | None:
    """Where all devices can be used: on one node, where all selectors match, or (None) anywhere."""
    fields: list[Requirement] = []
    expressions: list[Requirement] = []
    for one in given:
        spec = one.candidate.slice.spec
        reach: Reach = one.candidate.device if spec.per_device_node_selection else spec
        if reach.node_name is not None or one.candidate.device.binds_to_node:
            only = Requirement(NODE_NAME, "In", (node,))
            return NodeSelector((NodeSelectorTerm(match_fields=(only,)),))
        term = _only_term(claim, reach.node_selector)
        _add(fields, term.match_fields or ())
        _add(expressions, term.match_expressions or ())
    if not fields and not expressions:
        return None
    return NodeSelector((NodeSelectorTerm(tuple(expressions) or None, tuple(fields) or None),))


def _only_term(claim: ResourceClaim, selector: NodeSelector | None) -> NodeSelectorTerm:
    """The term of a selector, an empty one where it has none. Raises AllocationError for more."""
    terms = (selector.node_selector_terms if selector is not None else None) or ()
    if len(terms) > 1:
        text = f"unsupported ResourceSlice.NodeSelector with {len(terms)} terms"
        raise AllocationError(f"create NodeSelector for claim {claim.metadata.name}: {text}")
    return terms[0] if terms else NodeSelectorTerm()


def _add(found: list[Requirement], more: Sequence[Requirement]) -> None:
    """Requirements that are not there yet; the order of their values tells nothing."""
    known = {(one.key, one.operator, frozenset(one.values or ())) for one in found}
    found += [
        one for one in more if (one.key, one.operator, frozenset(one.values or ())) not in known
    ]
