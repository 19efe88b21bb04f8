"""NodeResourcesFit: a node must have what the pod asks for; prefers emptier nodes, fuller ones, or
those near a shape of use.

Cost: one subtraction per resource for each node that changed, and a few more for its score.
Source: kube-scheduler NodeResourcesFit (v1.37).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Hashable, Sequence
from typing import ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from kubefacts.quantities import QuantityError
from moorage.core.columns.nodes.node_table import Aspect, Rows
from moorage.core.columns.snapshot import Snapshot
from moorage.core.columns.store import Lister
from moorage.core.framework.cluster_events import (
    ActionType,
    ClusterEvent,
    ClusterEventWithHint,
    EventResource,
    shared_hint,
)
from moorage.core.framework.interfaces import (
    Codes,
    PreFilterResult,
    Scores,
    Shortfall,
)
from moorage.core.framework.placement_contract import AlikePods, Proposal
from moorage.core.framework.status import SUCCESS, Code, Reason, error_status
from moorage.core.framework.utilization_shape import shape_table
from moorage.core.groups.group_spec import GroupSpec
from moorage.core.objects.meta import HasMetadata
from moorage.core.objects.nodes import Node
from moorage.core.objects.pods import Pod, priority
from moorage.core.objects.resource_claims import DeviceClass
from moorage.core.plugins.node_resources.fit_arguments import (
    NodeResourcesFitArgs,
    ScoringStrategy,
)
from moorage.core.plugins.node_resources.placement_scores import fullness
from moorage.core.plugins.node_resources.resource_allocation import (
    DEVICE_KINDS,
    ONE,
    TOP,
    ZERO,
    Int64Array,
    Share,
    depends,
    device_class,
    shares,
    usage,
)
from moorage.core.plugins.node_resources.room import room_for
from moorage.core.pods.requests import FIT, PODS, SCORED, USED, allocatable_amounts, pod_amounts
from moorage.core.pods.resource_names import PREFIX, is_delegable

NAME = "NodeResourcesFit"
TOO_MANY_PODS = Reason("TooManyPods", "Too many pods", Code.UNSCHEDULABLE)
INSUFFICIENT = Reason("InsufficientResource", "Insufficient {}", Code.UNSCHEDULABLE)
TOO_SMALL = Reason("NodeTooSmall", "Insufficient {}", Code.UNSCHEDULABLE_AND_UNRESOLVABLE)
"""Not even the empty node has enough."""


# ---- what wakes a pod that was refused -----------------------------------------------------------


def _names_resource(pod: Pod, event: ClusterEvent, _store: Lister) -> bool:
    """Whether a class of devices is new or stands for something else than before, and the pod asks
    for that.
    """
    old, new = event.old, event.new
    if not isinstance(new, DeviceClass):
        return False
    name, wanted = new.spec.extended_resource_name, pod_amounts(pod, FIT)
    if isinstance(old, DeviceClass):
        return name != old.spec.extended_resource_name and name in wanted
    return name in wanted or PREFIX + new.metadata.name in wanted


# ---- the plugin ----------------------------------------------------------------------------------

_FIRST = {"cpu": 0, "memory": 1, "ephemeral-storage": 2}
_PODS_BIT = 1
_SLOTS = 30
"""A code has a bit for the number of pods and two for each resource: lacking now, lacking on the
empty node.
"""


class RequestedResource(NamedTuple):
    """A resource that a pod asks for: how much, in the node table's unit, and its bits. Numbers are
    int64[].

    ``delegated``: devices stand for it, so a node that has none of it is DynamicResources'
    business.
    """

    resource: str
    amount: Int64Array
    lacking: Int64Array
    too_small: Int64Array
    delegated: bool = False


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class FitScoring:
    """What a pod's scores are made of: resources, the strategy's type and, if it has a shape, the
    score at each percent of use.
    """

    shares: tuple[Share, ...]
    type: str
    table: Int64Array | None

    def score(
        self, capacity: Int64Array, requested: Int64Array
    ) -> tuple[Scores, npt.NDArray[np.bool_]]:
        """One resource's score on each node and whether it counts there. A node that has none of it
        is not judged by it.
        """
        present = capacity != ZERO
        divisor = np.maximum(capacity, ONE)
        if self.type == "LeastAllocated":
            return np.maximum(capacity - requested, ZERO) * TOP // divisor, present
        used = np.minimum(requested, capacity) * TOP // divisor
        if self.table is None:
            return used, present
        scores = self.table.take(used) * present
        return scores, scores > ZERO


@dataclasses.dataclass(frozen=True, slots=True)
class NodeResourcesFit:
    """Passes nodes with enough left of everything; ranks them as its strategy says."""

    name: ClassVar[str] = NAME
    reasons: ClassVar[tuple[Reason, ...]] = (TOO_MANY_PODS, INSUFFICIENT, TOO_SMALL)
    reads: ClassVar[frozenset[Aspect]] = frozenset({Aspect.RESOURCES})
    required_kinds: ClassVar[frozenset[type[HasMetadata]]] = DEVICE_KINDS

    args: NodeResourcesFitArgs = dataclasses.field(default_factory=NodeResourcesFitArgs)

    @property
    def events_to_register(self) -> tuple[ClusterEventWithHint, ...]:
        """Pods that leave or take less (this pod, too), nodes that are new or have more, classes of
        devices.
        """
        return (
            shared_hint(
                EventResource.ASSIGNED_POD,
                ActionType.DELETE | ActionType.UPDATE_POD_SCALE_DOWN,
                self._frees_resources,
            ),
            ClusterEventWithHint(EventResource.TARGET_POD, ActionType.UPDATE_POD_SCALE_DOWN),
            shared_hint(
                EventResource.NODE,
                ActionType.ADD | ActionType.UPDATE_NODE_ALLOCATABLE,
                self._makes_room,
            ),
            shared_hint(
                EventResource.DEVICE_CLASS, ActionType.ADD | ActionType.UPDATE, _names_resource
            ),
        )

    def hint_signature(self, pod: Pod) -> Hashable:
        """What it asks for."""
        return tuple(tuple(pod_amounts(pod, counting).items()) for counting in (FIT, USED))

    def pre_filter(self, pod: Pod, snapshot: Snapshot) -> PreFilterResult:
        """What nodes must have: cpu, memory and ephemeral storage first, then the rest by name."""
        try:
            amounts = self._counted(pod)
        except QuantityError as error:
            return PreFilterResult(error_status(str(error)))
        names = sorted(amounts, key=lambda name: (_FIRST.get(name, len(_FIRST)), name))
        store = snapshot.store
        wanted = (
            _wanted(i, name, amounts[name], device_class(name, store) is not None)
            for i, name in enumerate(names)
        )
        delegable = any(map(is_delegable, names))
        depends_on = (store.version_counter(DeviceClass),) if delegable else ()
        return PreFilterResult(SUCCESS, tuple(wanted), depends_on=depends_on)

    def filter(self, state: tuple[RequestedResource, ...], snapshot: Snapshot, rows: Rows) -> Codes:
        """Bits as ``_SLOTS`` says."""
        nodes = snapshot.nodes
        full = nodes.requested[PODS][rows] >= nodes.allocatable[PODS][rows]
        codes: Codes = full.astype(np.int64)
        for resource, amount, lacking, too_small, delegated in state:
            there = nodes.amounts(resource, rows)
            if there is None:
                if not delegated:
                    codes |= lacking | too_small
                continue
            allocatable, requested = there
            lacks, is_small = allocatable - requested < amount, allocatable < amount
            if delegated:
                lacks, is_small = lacks & (allocatable != ZERO), is_small & (allocatable != ZERO)
            codes |= lacks * lacking
            codes |= is_small * too_small
        return codes

    def shortfalls(
        self, state: tuple[RequestedResource, ...], snapshot: Snapshot, rows: npt.NDArray[np.intp]
    ) -> dict[str, Shortfall]:
        """What ``filter`` looks at, as amounts."""
        nodes = snapshot.nodes
        left = nodes.allocatable[PODS][rows] - nodes.requested[PODS][rows]
        found = {"pods": Shortfall(1, ONE - left)}
        for resource, amount, _, _, delegated in state:
            nothing = np.zeros(rows.size, np.int64)
            allocatable, requested = nodes.amounts(resource, rows) or (nothing, nothing)
            lacking = amount - (allocatable - requested)
            elsewhere = delegated & (allocatable == ZERO)
            found[resource] = Shortfall(int(amount), np.where(elsewhere, ZERO, lacking))
        return found

    def explain(
        self, state: tuple[RequestedResource, ...], code: int
    ) -> tuple[tuple[Reason, str], ...]:
        """One reason for each thing that is lacking."""
        why = [(TOO_MANY_PODS, "")] if code & _PODS_BIT else []
        for resource, _, lacking, too_small, _ in state:
            if code & lacking:
                why.append((TOO_SMALL if code & too_small else INSUFFICIENT, resource))
        return tuple(why)

    def pre_score(self, pod: Pod, snapshot: Snapshot) -> PreFilterResult:
        """The resources that count, and the shape as a table."""
        strategy = self.args.scoring_strategy or ScoringStrategy()
        try:
            counted = shares(strategy.resources, pod_amounts(pod, SCORED), snapshot.store)
        except QuantityError as error:
            return PreFilterResult(error_status(str(error)))
        ratio = strategy.requested_to_capacity_ratio
        table = shape_table(ratio.shape or ()) if ratio is not None else None
        return PreFilterResult(
            SUCCESS,
            FitScoring(counted, strategy.type, table),
            depends_on=depends(counted, snapshot.store),
        )

    def score(self, state: FitScoring, snapshot: Snapshot, rows: Rows) -> Scores:
        """The weighted mean of the resources' scores, 0 for a node that has none of them."""
        size = snapshot.nodes.live[rows].size
        total, weights = np.zeros(size, np.int64), np.zeros(size, np.int64)
        for share, capacity, requested in usage(state.shares, snapshot, rows, nonzero=True):
            scores, counts = state.score(capacity, requested + share.amount)
            total += scores * share.weight
            weights += counts * share.weight
        weights = np.maximum(weights, ONE)
        if state.table is not None:
            # a shape's mean is rounded, the other strategies drop the fraction
            total += weights // 2
        mean: Scores = total // weights
        return mean

    def room_for(self, pods: Sequence[Pod], snapshot: Snapshot) -> Sequence[AlikePods]:
        """As ``filter`` counts."""
        return room_for(pods, self._counted, snapshot)

    def score_placements(
        self, _group: GroupSpec, proposals: Sequence[Proposal], snapshot: Snapshot
    ) -> Scores:
        """What packs best is best, whatever the strategy's type."""
        resources = (self.args.scoring_strategy or ScoringStrategy()).resources
        return np.array([fullness(one, resources, snapshot) for one in proposals], np.int64)

    def _frees_resources(self, pod: Pod, event: ClusterEvent, store: Lister) -> bool:
        """Whether a pod left a node, or one asks for less of something that this pod asks for; and
        that may be enough.

        kube-scheduler's hint does not ask what the node has left, so that pods which come and go
        wake one that is too large for them all.
        """
        old, new = event.old, event.new
        if not isinstance(old, Pod):
            return False
        gone_from = old.spec.node_name or old.status.nominated_node_name
        node = new.spec.node_name if isinstance(new, Pod) else gone_from
        wanted = self._counted(pod)
        if not node or not store.room.might_take(node, wanted, priority(pod)):
            return False
        if not isinstance(new, Pod):
            return True
        before, after = pod_amounts(old, USED), pod_amounts(new, USED)
        return any(before.get(name, 0) > after.get(name, 0) for name in wanted)

    def _makes_room(self, pod: Pod, event: ClusterEvent, store: Lister) -> bool:
        """Whether the pod would fit the node if that were empty, and the node is new, has more of
        something, or devices do instead.

        Resources to be ignored are, where kube-scheduler's hint knows no arguments and leaves a pod
        that asks for one waiting.
        """
        old, new = event.old, event.new
        if not isinstance(new, Node):
            return False
        now, wanted = allocatable_amounts(new), self._counted(pod) | {"pods": 1}
        delegated = [
            name for name in wanted if not now.get(name) and device_class(name, store) is not None
        ]
        lacking = (name for name, amount in wanted.items() if amount > now.get(name, 0))
        if any(name not in delegated for name in lacking):
            return False
        if not isinstance(old, Node) or delegated:
            return True
        before = allocatable_amounts(old)
        return any(now.get(name, 0) > before.get(name, 0) for name in wanted)

    def _counted(self, pod: Pod) -> dict[str, int]:
        """What the pod asks for and nodes must have."""
        amounts = pod_amounts(pod, FIT).items()
        return {name: amount for name, amount in amounts if amount and not self.args.ignores(name)}


# ---- pure helpers --------------------------------------------------------------------------------


def _wanted(i: int, resource: str, amount: int, delegated: bool) -> RequestedResource:
    """The i-th resource. Those from the last slot on share it: in a pod that asks for so many, then
    all of them are named.
    """
    slot = min(i, _SLOTS - 1)
    return RequestedResource(
        resource, np.array(amount), np.array(2 << 2 * slot), np.array(4 << 2 * slot), delegated
    )
