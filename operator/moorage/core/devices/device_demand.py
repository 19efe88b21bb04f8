"""What a pod wants of dynamic resources, compiled: which of its claims are allocated, and what else
must be found on a node.

Shared by all that DynamicResources does; a value that follows from the pod and what the store has.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

import msgspec
import numpy as np
import numpy.typing as npt

from kubefacts.labels import SelectorError
from kubefacts.quantities import QuantityError
from moorage.core.columns.kept_choices import KeptChoices
from moorage.core.columns.nodes.node_columns import NodeColumns
from moorage.core.columns.nodes.node_table import Aspect, Rows
from moorage.core.columns.nodes.row_selection import rows_matching
from moorage.core.columns.snapshot import Snapshot
from moorage.core.columns.store import Lister, Store
from moorage.core.devices.allocation_results import allocation_of
from moorage.core.devices.allocator import ClaimAssignment
from moorage.core.devices.candidate_order import CandidateOrder
from moorage.core.devices.device_searches import AllocationTimeout, SoughtDevices
from moorage.core.devices.device_supply import DeviceSupply, KeptDevices
from moorage.core.devices.extended_resources import (
    ExtendedResourceRequests,
    claim_to_create,
    classes_by_resource,
    requests_for,
)
from moorage.core.devices.ledger import DeviceLedger
from moorage.core.devices.pod_claims import ClaimError, binding_failed, check_classes, claims_of
from moorage.core.devices.pools import AllocationError
from moorage.core.devices.uses import device_uses_of
from moorage.core.objects.meta import key
from moorage.core.objects.nodes import Node
from moorage.core.objects.pod_groups import group_of
from moorage.core.objects.pods import Pod
from moorage.core.objects.resource_claims import Allocation, DeviceClass, ResourceClaim
from moorage.core.pods.node_selection import NodeTerms, compile_node_selector
from moorage.core.pods.requests import FIT, pod_amounts
from moorage.core.pods.resource_names import is_delegable
from moorage.core.structures.budget import Budget
from moorage.core.structures.sparse import HAS

_MAX_KEPT_CHOICES = 16
Alternatives = npt.NDArray[np.int64]
"""int64[rows]: bit k is set where the k-th extended resource comes from devices; -1 where one comes
from nowhere.
"""


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class DevicesFound:
    """What was found for a pod on a node: an answer for each claim that had none, and the claims
    (names, requests) themselves.
    """

    claims: tuple[ResourceClaim, ...]
    assignments: tuple[ClaimAssignment, ...]
    requested: ExtendedResourceRequests


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class DeviceDemand:
    """``claims`` are the pod's own; one that is being allocated for its group is as it will be.
    ``terms``: where each of them can be used, None for everywhere
    or if it has no devices yet.

    ``resources``: the extended resources that the pod asks for. ``stale``: a claim for these that
    an earlier attempt left behind. ``devices``: what is searched.
    """

    pod: Pod
    claims: tuple[ResourceClaim, ...]
    terms: tuple[NodeTerms | None, ...]
    resources: tuple[str, ...]
    classes: Mapping[str, DeviceClass]
    stale: ResourceClaim | None
    ledger: DeviceLedger
    devices: DeviceSupply
    sought: dict[tuple[int, float], tuple[SoughtDevices, ExtendedResourceRequests]] = (
        dataclasses.field(default_factory=dict, init=False)
    )
    """By alternatives, and how long a search may take."""

    @property
    def unallocated(self) -> tuple[ResourceClaim, ...]:
        """The claims that have no devices yet."""
        return tuple(claim for claim in self.claims if claim.status.allocation is None)

    def alternatives(self, nodes: NodeColumns, rows: Rows) -> Alternatives:
        """Where each extended resource comes from: from devices, where a class stands for it and
        the node itself has none.
        """
        ways: Alternatives = np.zeros(nodes.live[rows].size, np.int64)
        for k, resource in enumerate(self.resources):
            there = nodes.amounts(resource, rows)
            none = np.ones(ways.size, bool) if there is None else there[HAS] == 0
            if resource in self.classes:
                ways[none] |= 1 << k
            else:
                ways[none & ~_listed(resource, nodes, rows)] = -1
        return ways

    def unavailable(
        self, nodes: NodeColumns, rows: Rows
    ) -> Iterator[tuple[ResourceClaim, npt.NDArray[np.bool_]]]:
        """The claims that have devices which can't be used everywhere, with where not:
        bool[rows].
        """
        for claim, terms in zip(self.claims, self.terms, strict=True):
            if binding_failed(claim):
                yield claim, np.ones(nodes.live[rows].size, bool)
            elif terms is not None:
                yield claim, rows_matching(terms, nodes, rows) == 0

    def find(
        self,
        node: Node,
        way: int,
        seconds: float,
        budget: Budget,
        order: CandidateOrder | None = None,
    ) -> DevicesFound | None:
        """Devices for all that lacks them, tried in this order. Raises AllocationError,
        AllocationTimeout, OutOfTime.
        """
        key = way, seconds
        if key not in self.sought:
            self.sought[key] = self._seek(way, seconds)
        sought, requested = self.sought[key]
        if order is not None:
            sought = sought._replace(order=order)
        found = self.ledger.searches.find(sought, node, self.devices, budget)
        return None if found is None else DevicesFound(tuple(sought.claims), found, requested)

    def _seek(self, way: int, seconds: float) -> tuple[SoughtDevices, ExtendedResourceRequests]:
        """What is sought where devices stand for these resources."""
        resources = [resource for k, resource in enumerate(self.resources) if way >> k & 1]
        requested = requests_for(self.pod, resources, self.classes)
        claims = self.unallocated + (
            (claim_to_create(self.pod, requested.requests),) if resources else ()
        )
        return SoughtDevices(_digest(claims, seconds), claims, seconds), requested

    def without_kept(self, kept: Sequence[KeptDevices]) -> DeviceDemand:
        """The same where these are kept for others."""
        return dataclasses.replace(self, devices=self.ledger.without_kept(kept))

    def allocations(self, found: DevicesFound, node: Node) -> tuple[Allocation, ...]:
        """What was found, as it is written into the claims. Raises AllocationError."""
        return tuple(
            allocation_of(claim, answer, node.metadata.name)
            for claim, answer in zip(found.claims, found.assignments, strict=True)
        )


def demand_of(pod: Pod, store: Lister) -> DeviceDemand | None:
    """None when the pod has nothing to do with devices. Raises ClaimError, SelectorError,
    QuantityError.
    """
    claims = claims_of(pod, store.objects(ResourceClaim)) if pod.spec.resource_claims else ()
    resources = tuple(delegable(pod))
    classes = classes_by_resource(store.objects(DeviceClass).values()) if resources else {}
    if not any(resource in classes for resource in resources):
        resources = ()
    if not claims and not resources:
        return None
    ledger = store.index(DeviceLedger)
    claims = tuple(_as_decided(claim, pod, ledger) for claim in claims)
    for claim in claims:
        if claim.status.allocation is None:
            check_classes(claim, store.objects(DeviceClass))
    stale = ledger.extended_claim(pod) if resources else None
    return DeviceDemand(
        pod, claims, tuple(map(_terms, claims)), resources, classes, stale, ledger, ledger
    )


def _as_decided(claim: ResourceClaim, pod: Pod, ledger: DeviceLedger) -> ResourceClaim:
    """A claim that is just being allocated as it will be, for a member of the group that this is
    done for. Raises ClaimError for everybody else.
    """
    if claim.status.allocation is not None or not ledger.is_assumed(claim):
        return claim
    if (decided := ledger.shared(claim, group_of(pod))) is None:
        raise ClaimError(f"resource claim {key(claim)} is in the process of being allocated")
    return decided


def demand_content(pod: Pod, store: Lister) -> bytes:
    """All that a pod's claims say which its wants depend on; or why there is nothing to be had."""
    ledger = store.index(DeviceLedger)
    try:
        claims = claims_of(pod, store.objects(ResourceClaim))
        claims = tuple(_as_decided(claim, pod, ledger) for claim in claims)
    except ClaimError as error:
        return str(error).encode()
    stale = ledger.extended_claim(pod)
    content = [(claim.spec, claim.status.allocation, binding_failed(claim)) for claim in claims]
    return msgspec.json.encode((content, stale is not None))


def allocated(
    claims: Sequence[ResourceClaim], allocations: Sequence[Allocation]
) -> tuple[ResourceClaim, ...]:
    """The claims as they will be."""
    return tuple(
        msgspec.structs.replace(
            claim, status=msgspec.structs.replace(claim.status, allocation=allocation)
        )
        for claim, allocation in zip(claims, allocations, strict=True)
    )


# ---- what nominated pods will get ----------------------------------------------------------------


def kept_devices(snapshot: Snapshot, seconds: float) -> Mapping[str, KeptDevices]:
    """By nominated pod (UID): what it will get on its node, as things are. Raises OutOfTime."""
    store, logs = snapshot.store, snapshot.nodes.logs
    clocks = (
        store.index(DeviceLedger).version_counter,
        store.version_counter(ResourceClaim),
        store.version_counter(DeviceClass),
    )
    rests_on = (*clocks, logs[Aspect.LABELS], logs[Aspect.ALLOCATABLE])
    by_seconds = store.index(_kept_choices)
    if seconds not in by_seconds and len(by_seconds) >= _MAX_KEPT_CHOICES:
        by_seconds.clear()
    return by_seconds[seconds].all(
        snapshot, rests_on, functools.partial(_choose_devices, snapshot, seconds)
    )


def _kept_choices(_store: Store) -> defaultdict[float, KeptChoices[KeptDevices]]:
    """By how long a search may take: profiles that differ in that may differ in what they find."""
    return defaultdict(KeptChoices)


def _choose_devices(
    snapshot: Snapshot, seconds: float, pod: Pod, row: int, others: Sequence[KeptDevices]
) -> KeptDevices | None:
    """What a pod gets on its node beside what is kept for others; None where that fails."""
    node = snapshot.nodes.nodes[row]
    try:
        wanted = demand_of(pod, snapshot.store)
        if wanted is None or node is None:
            return None
        wanted = _beside(wanted, others)
        way = int(wanted.alternatives(snapshot.nodes, np.array([row]))[0])
        if way < 0 or not (way or wanted.claims):
            return None
        found = wanted.find(node, way, seconds, snapshot.budget)
        return None if found is None else _kept(wanted, found, node)
    except (ClaimError, SelectorError, QuantityError, AllocationError, AllocationTimeout):
        return None


def _beside(wanted: DeviceDemand, others: Sequence[KeptDevices]) -> DeviceDemand:
    """What is to be found when these are kept for others: not their devices, and no claim that one
    of them gets.
    """
    not_mine = frozenset[str]().union(*(kept.claims for kept in others))
    claims = tuple(claim for claim in wanted.unallocated if claim.metadata.uid not in not_mine)
    return dataclasses.replace(
        wanted.without_kept(others), claims=claims, terms=(None,) * len(claims)
    )


def _kept(wanted: DeviceDemand, found: DevicesFound, node: Node) -> KeptDevices:
    claims = allocated(found.claims, wanted.allocations(found, node))
    return KeptDevices(
        frozenset(claim.metadata.uid for claim in wanted.claims),
        tuple(use for claim in claims for use in device_uses_of(claim)),
    )


def delegable(pod: Pod) -> Iterator[str]:
    """The resources that a pod asks for which devices could stand for, by name. Raises
    QuantityError.
    """
    return (
        resource
        for resource, amount in sorted(pod_amounts(pod, FIT).items())
        if amount and is_delegable(resource)
    )


def _terms(claim: ResourceClaim) -> NodeTerms | None:
    allocation = claim.status.allocation
    return (
        None
        if allocation is None or allocation.node_selector is None
        else compile_node_selector(allocation.node_selector)
    )


def _digest(claims: Sequence[ResourceClaim], seconds: float) -> str:
    """The same where the same is sought for as long, names of claims aside."""
    content = msgspec.json.encode(([claim.spec for claim in claims], seconds))
    return hashlib.blake2b(content, digest_size=16).hexdigest()


def _listed(resource: str, nodes: NodeColumns, rows: Rows) -> npt.NDArray[np.bool_]:
    """Where the node names the resource, if only to say that it has none: bool[rows]."""
    found = (nodes.nodes[row] for row in np.arange(nodes.rows)[rows].tolist())
    return np.array(
        [node is not None and resource in (node.status.allocatable or {}) for node in found], bool
    )
