"""DeviceScoring: prefers nodes, and on these devices, that leave the most for what is to be
expected.

Devices that are near each other are given together: whole islands stay free where others do, and
the smallest sufficient one is taken. Then counts how much expected waste grows (``waste``), a pod's
cpu and memory included, so pods without claims are drawn away from devices that they would strand.
Beside it, leaving much behind costs a little, which fills nodes up.

Scores are places: 100 for the best nodes, one less for each better score. Beside other plugins its
weight says how many of their points a place is worth.
Cost: a search for devices for each distinct state of what nodes offer, kept for all pods that ask
for the same; a few numbers for each kind of request and each node that changed, or for all nodes
where demand is learnt.
"""

from __future__ import annotations

import dataclasses
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from kubefacts.labels import SelectorError
from kubefacts.quantities import QuantityError
from moorage.core.columns.change_log import Versioned
from moorage.core.columns.nodes.node_table import Aspect, Rows
from moorage.core.columns.snapshot import Snapshot
from moorage.core.devices.device_demand import demand_of
from moorage.core.devices.pod_claims import ClaimError
from moorage.core.devices.pools import AllocationError
from moorage.core.framework.cluster_events import ClusterEventWithHint
from moorage.core.framework.interfaces import MAX_NODE_SCORE, PreFilterResult, Scores
from moorage.core.framework.status import SKIP, SUCCESS, Reason
from moorage.core.objects.meta import HasMetadata
from moorage.core.objects.pods import Pod
from moorage.core.objects.resource_claims import (
    DeviceClass,
    DeviceTaintRule,
    ResourceClaim,
    ResourceSlice,
)
from moorage.core.plugins.device_scoring.arguments import DeviceScoringArgs
from moorage.core.plugins.device_scoring.demand import (
    Demand,
    LearntDemand,
    LearntDemandVersion,
    told_demand,
)
from moorage.core.plugins.device_scoring.device_order import DeviceOrder
from moorage.core.plugins.device_scoring.device_outcomes import (
    DeviceOutcome,
    DeviceOutcomes,
    NodeStocks,
    OutcomeSearch,
)
from moorage.core.plugins.device_scoring.device_units import WHOLE
from moorage.core.plugins.device_scoring.islands import WORST
from moorage.core.plugins.device_scoring.waste import Int64Array
from moorage.core.pods.requests import BASIC, CPU, pod_requests

NAME = "DeviceScoring"
_FINE = 64
"""Costs are counted in so many parts of a thousandth of a device."""
_LEFT_COST = 30
"""To leave all cpu of the largest node, or ``_DEVICES`` devices, costs so many thousandths of a
device: as waste grows by little everywhere, nodes are filled up. Chosen with a plain replay of the
openb trace (tests/bench/openb), in which none and half as much did about equally well.
"""
_DEVICES = 8
_MOST_COST = 2**39


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class DeviceScoringState:
    """What a template takes (millicores, bytes), what comes of a search for its devices (None where
    it wants none), and by what nodes are measured.
    """

    cpu: int
    memory: int
    search: OutcomeSearch | None
    demand: Demand
    stocks: NodeStocks
    most_cpu: int


@dataclasses.dataclass(frozen=True, slots=True)
class DeviceScoring:
    """Prefers nodes and devices."""

    name: ClassVar[str] = NAME
    reasons: ClassVar[tuple[Reason, ...]] = ()
    reads: ClassVar[frozenset[Aspect]] = frozenset(
        {Aspect.RESOURCES, Aspect.LABELS, Aspect.ALLOCATABLE, Aspect.DEVICES}
    )
    required_kinds: ClassVar[frozenset[type[HasMetadata]]] = frozenset(
        {ResourceClaim, ResourceSlice, DeviceClass, DeviceTaintRule}
    )
    events_to_register: ClassVar[tuple[ClusterEventWithHint, ...]] = ()

    args: DeviceScoringArgs = dataclasses.field(default_factory=DeviceScoringArgs)

    def candidate_order(self, snapshot: Snapshot) -> DeviceOrder:
        """By islands, then by what is to be expected, with weights rounded to powers of two: what
        is known of searches holds for longer.
        """
        demand = self._demand(snapshot)
        stocks = snapshot.store.index(DeviceOutcomes).stocks(demand.requests)
        return self._order(demand, stocks)

    def pre_score(self, pod: Pod, snapshot: Snapshot) -> PreFilterResult:
        """What the pod wants, and what others are expected to."""
        store = snapshot.store
        classes, slices = store.version_counter(DeviceClass), store.version_counter(ResourceSlice)
        depends: tuple[Versioned, ...] = classes, slices, snapshot.nodes.logs[Aspect.ALLOCATABLE]
        if not store.objects(ResourceSlice):
            return PreFilterResult(SKIP, depends_on=(slices,))
        if not self.args.demand:
            depends = (*depends, LearntDemandVersion(snapshot))
        try:
            wanted, taken = demand_of(pod, store), pod_requests(pod)
        except (ClaimError, SelectorError, QuantityError):
            return PreFilterResult(SKIP, depends_on=depends)
        demand = self._demand(snapshot)
        stocks = store.index(DeviceOutcomes).stocks(demand.requests)
        search = (
            OutcomeSearch(wanted, self._order(demand, stocks), stocks, snapshot.budget)
            if wanted is not None
            else None
        )
        most = int(snapshot.nodes.allocatable[CPU][snapshot.nodes.all_rows].max(initial=1))
        state = DeviceScoringState(taken.cpu, taken.memory, search, demand, stocks, most)
        return PreFilterResult(SUCCESS, state, depends_on=depends)

    def score(self, state: DeviceScoringState, snapshot: Snapshot, rows: Rows) -> Scores:
        """The higher the better, 0 at most: islands, then waste and what is left. int64[rows]."""
        before, after, islands = _stocks(state, snapshot, rows)
        table, demand = state.stocks.table, state.demand
        cpu, memory = (_left(name, snapshot, rows) for name in ("cpu", "memory"))
        growth = table.expected(after, demand, cpu - state.cpu, memory - state.memory)
        growth -= table.expected(before, demand, cpu, memory)
        cost = growth * _FINE // max(int(demand.weights.sum()), 1)
        left = np.maximum(cpu - state.cpu, 0) * _LEFT_COST * _FINE // state.most_cpu
        left += table.total[after] * _LEFT_COST * _FINE // (_DEVICES * WHOLE)
        # nodes without devices are for others to rank
        cost += np.where(table.total[before] == 0, 0, left)
        return -(islands * _MOST_COST + np.clip(cost, 1 - _MOST_COST // 2, _MOST_COST // 2))

    def normalize_score(self, _state: object, raw: Scores) -> Scores:
        """Places: 100 for the best, one less for each better score, 0 from there on."""
        distinct = np.unique(raw)
        better = distinct.size - 1 - np.searchsorted(distinct, raw)
        return np.maximum(MAX_NODE_SCORE - better, 0)

    def _order(self, demand: Demand, stocks: NodeStocks) -> DeviceOrder:
        weights = np.zeros(len(stocks.table.requests), np.int64)
        weights[stocks.table.rows(demand.requests)] = _rounded(demand.by_request)
        return DeviceOrder(self.args.islands, tuple(weights.tolist()), stocks.table)

    def _demand(self, snapshot: Snapshot) -> Demand:
        if self.args.demand:
            return told_demand(self.args)
        learnt = snapshot.store.index(LearntDemand)
        learnt.catch_up(snapshot)
        return learnt.demand()


def _stocks(
    state: DeviceScoringState, snapshot: Snapshot, rows: Rows
) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp], Int64Array]:
    """What nodes offer before and after the pod (stocks), and what it costs of islands."""
    nodes = snapshot.nodes
    state.stocks.forget_if_many()
    nothing = state.stocks.table.stock(())
    search = state.search
    ways = [] if search is None else search.ways(nodes, rows).tolist()
    known = {} if search is None else search.known()
    found = []
    for place, row in enumerate(np.arange(nodes.rows)[rows].tolist()):
        node = nodes.nodes[row]
        try:
            now = nothing if node is None else state.stocks.stock(node)
            outcome: DeviceOutcome | None = DeviceOutcome(now, 0)
            if node is not None and search is not None and ways[place] >= 0:
                outcome = search.outcome(node, ways[place], known)
        except AllocationError:
            now, outcome = nothing, None
        found.append((now, *(outcome or DeviceOutcome(now, WORST))))
    numbers = np.array(found, np.int64).reshape(-1, 3).T
    return numbers[0].astype(np.intp), numbers[1].astype(np.intp), numbers[2]


def _left(resource: str, snapshot: Snapshot, rows: Rows) -> Int64Array:
    nodes, place = snapshot.nodes, BASIC[resource]
    left: Int64Array = nodes.allocatable[place][rows] - nodes.requested[place][rows]
    return left


def _rounded(weights: Int64Array) -> tuple[int, ...]:
    """Shares, in 1024ths and as powers of two."""
    total = max(int(weights.sum()), 1)
    return tuple(1 << (1024 * weight // total).bit_length() for weight in weights.tolist())
