"""Room for pods, as NodeResourcesFit counts it: how many of such pods each node could take at
most.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np

from kubefacts.quantities import QuantityError
from moorage.core.columns.snapshot import Snapshot
from moorage.core.framework.placement_contract import AlikePods
from moorage.core.objects.pods import Pod
from moorage.core.plugins.node_resources.resource_allocation import Int64Array, device_class
from moorage.core.pods.requests import PODS, Amounts

_MAX_KINDS = 16
"""Kinds of members that are looked at; of others nothing is known."""


def room_for(
    pods: Sequence[Pod], counted: Callable[[Pod], Amounts], snapshot: Snapshot
) -> list[AlikePods]:
    """Pods by what is ``counted`` of their requests, each kind as if it were alone."""
    kinds: Counter[tuple[tuple[str, int], ...]] = Counter()
    unknown = 0
    for pod in pods:
        try:
            kind = tuple(sorted(counted(pod).items()))
        except QuantityError:
            unknown += 1
            continue
        if kind in kinds or len(kinds) < _MAX_KINDS:
            kinds[kind] += 1
        else:
            unknown += 1
    found = [AlikePods(count, _most(dict(kind), snapshot)) for kind, count in kinds.items()]
    return [*found, AlikePods(unknown, None)] if unknown else found


def _most(amounts: Amounts, snapshot: Snapshot) -> Int64Array:
    """int64[rows]. Where devices stand for a resource they are not counted."""
    nodes = snapshot.nodes
    rows = nodes.all_rows
    most: Int64Array = nodes.allocatable[PODS][rows] - nodes.requested[PODS][rows]
    for name, amount in amounts.items():
        there = nodes.amounts(name, rows)
        delegated = device_class(name, snapshot.store) is not None
        if there is None:
            most = most if delegated else np.zeros_like(most)
            continue
        allocatable, requested = there
        fits = (allocatable - requested) // amount
        elsewhere = (allocatable == 0) if delegated else np.zeros(most.size, bool)
        most = np.where(elsewhere, most, np.minimum(most, fits))
    return np.maximum(most, 0)
