"""The search for devices, node by node."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from kubefacts.quantities import QuantityError
from moorage.core.columns.nodes.node_table import Rows
from moorage.core.columns.snapshot import Snapshot
from moorage.core.devices.device_demand import (
    Alternatives,
    DeviceDemand,
    DevicesFound,
)
from moorage.core.devices.device_searches import AllocationTimeout
from moorage.core.devices.pools import AllocationError, AlternativesFailed, PoolState
from moorage.core.objects.nodes import Node
from moorage.core.plugins.dynamic_resources.verdicts import (
    CANNOT_ALLOCATE,
    CODE_OF,
    INVALID_POOLS,
    DynamicResourcesState,
    KnownBy,
)

_MAX_ALTERNATIVES = 8
"""The most that a request may have; the first scores as much, the next one less."""

_MAX_KNOWN_SHAPES = 8192
"""Shapes, beside one for each node, of which it is remembered what came of a search: each
allocation may make a new one.
"""
JudgeFn = Callable[[DeviceDemand, Node, DevicesFound | None], int]
"""What a plugin makes of what was found on a node."""


class NodeSearch:
    """Looks for devices for a pod, node by node. One node stands for all of its shape, also as to
    how long the search takes; what comes of it goes by no other shape.
    """

    def __init__(
        self, state: DynamicResourcesState, snapshot: Snapshot, seconds: float, *, judge: JudgeFn
    ) -> None:
        self._state = state
        self._demand = state.demand
        self._nodes = snapshot.nodes
        self._budget = snapshot.budget
        self._seconds = seconds
        self._judge = judge

    def run(self, ways: Alternatives, rows: Rows) -> Iterator[tuple[int, int]]:
        """(place among the rows, what ``judge`` says) for each node on which something has to be
        found; faults for those that fail. Raises OutOfTime.
        """
        if len(self._state.known) > _MAX_KNOWN_SHAPES + self._nodes.rows:
            self._state.known.clear()
        numbers = np.arange(self._nodes.rows)[rows]
        needed = np.flatnonzero((ways >= 0) if self._demand.unallocated else (ways > 0))
        for place, row in zip(needed.tolist(), numbers[needed].tolist(), strict=True):
            node = self._nodes.nodes[row]
            if node is not None:
                yield place, self._code(node, int(ways[place]))

    def _code(self, node: Node, way: int) -> int:
        """What is said of a node: what is known of its shape, or what a search comes to."""
        devices, known = self._demand.devices, self._state.known
        try:
            new = not devices.is_shape_known(node)
            shape = way, devices.shape(node)
            if new:
                self._budget.check()
        except AllocationError as error:
            return self._state.fault(str(error))
        of: KnownBy = shape if shape in known else (*shape, node.metadata.name)
        if of not in known:
            of = self._search(node, shape)
            self._budget.check()
        code = known[of]
        if code is None:
            return self._state.fault(
                f"node {node.metadata.name}: timed out trying to allocate devices"
            )
        return code

    def _search(self, node: Node, shape: tuple[int, int]) -> KnownBy:
        """Search on a node, and remember what came of it; under what."""
        of: KnownBy = shape
        code: int | None = None
        try:
            code = self._find(node, shape[0])
        except AllocationTimeout:
            pass
        except (AllocationError, QuantityError) as error:  # it may name the node's pools
            of, code = (*shape, node.metadata.name), self._state.fault(str(error))
        self._state.known[of] = code
        return of

    def _find(self, node: Node, way: int) -> int:
        try:
            found = self._demand.find(node, way, self._seconds, self._budget)
        except AlternativesFailed as fault:
            return self._state.exclusion(str(fault))
        if found is not None:
            self._demand.allocations(found, node)  # raises where it could not be written down
        return self._judge(self._demand, node, found)


def filter_code(wanted: DeviceDemand, node: Node, found: DevicesFound | None) -> int:
    """The code of a node: 0 where devices were found, else why none were."""
    if found is not None:
        return 0
    invalid = any(pool.state is PoolState.INVALID for pool in wanted.ledger.available(node).pools)
    return CODE_OF[INVALID_POOLS if invalid else CANNOT_ALLOCATE]


def alternatives_score(_wanted: DeviceDemand, _node: Node, found: DevicesFound | None) -> int:
    """How good the alternatives are."""
    chosen = (
        [wish for answer in found.assignments for wish in answer.chosen]
        if found is not None
        else []
    )
    return sum(
        _MAX_ALTERNATIVES - wish.alternative for wish in chosen if wish.alternative is not None
    )
