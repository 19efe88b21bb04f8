"""The search for devices, node by node."""

from __future__ import annotations

from collections.abc import Callable

from moorage.core.devices.pools import PoolState
from moorage.core.objects.nodes import Node
from moorage.core.plugins.dynamic_resources.device_demand import DeviceDemand, DevicesFound
from moorage.core.plugins.dynamic_resources.verdicts import CANNOT_ALLOCATE, CODE_OF, INVALID_POOLS

_MAX_ALTERNATIVES = 8
"""The most that a request may have; the first scores as much, the next one less."""

JudgeFn = Callable[[DeviceDemand, Node, DevicesFound | None], int]
"""What a plugin makes of what was found on a node."""


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
