"""Refusing nodes by hard topology spread constraints: no domain may get too far ahead of the
emptiest one.

Source: kube-scheduler PodTopologySpread's filtering (v1.37).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from moorage.core.columns.change_log import Versioned
from moorage.core.columns.domains import domains
from moorage.core.columns.nodes.label_columns import ABSENT
from moorage.core.columns.nodes.node_columns import NodeColumns
from moorage.core.columns.nodes.node_table import Rows
from moorage.core.columns.pod_counters import Counts
from moorage.core.columns.snapshot import Snapshot
from moorage.core.objects.pods import Pod
from moorage.core.plugins.pod_topology_spread.constraints import (
    Constraint,
    Constraints,
    Included,
    Mask,
    matching_pods,
    watched,
    with_all_keys,
)

FITS, NO_DOMAIN, TOO_UNEVEN = range(3)
UNCOUNTED = 2**62
"""In ``ConstraintCounts.counts``: no node of this domain counts. More than any number of pods, so
that it is never the least.
"""


class ConstraintCounts(NamedTuple):
    """A hard constraint with the pods that it matches in each domain (int64[domains]); ``own``: 1
    when it matches the pod itself.
    """

    constraint: Constraint
    counts: Counts
    own: int


class SpreadFilterState(NamedTuple):
    """All hard constraints of a pod, in their order, and which nodes count for them."""

    included: Included
    spreads: tuple[ConstraintCounts, ...]


def skews(
    pod: Pod, constraints: Constraints, snapshot: Snapshot
) -> tuple[SpreadFilterState, tuple[Versioned, ...]]:
    """Count the pods in each domain; and what the counts depend on."""
    nodes = snapshot.nodes
    eligible = with_all_keys(constraints, nodes, nodes.all_rows)
    included = Included.by(pod)
    depends = watched(constraints, nodes)
    spreads = []
    for constraint in constraints:
        pods, moving = matching_pods(constraint, pod.metadata.namespace, snapshot)
        depends += moving
        counted = eligible & included.mask(constraint, nodes, nodes.all_rows)
        own = int(constraint.selector.matches(pod.metadata.labels))
        counts = _per_counted_domain(pods, counted, constraint.topology_key, nodes)
        spreads.append(ConstraintCounts(constraint, counts, own))
    return SpreadFilterState(included, tuple(spreads)), depends


def judge(state: SpreadFilterState, nodes: NodeColumns, rows: Rows) -> npt.NDArray[np.int64]:
    """For each row, how it breaks the first constraint that it breaks. -> int64[len(rows)]."""
    codes = np.full(nodes.live[rows].size, FITS, np.int64)
    for constraint, counts, own in reversed(state.spreads):
        where = domains(constraint.topology_key, nodes, rows)
        there = counts[where]
        there[there == UNCOUNTED] = 0
        codes[there > constraint.max_skew + _least(constraint, counts) - own] = TOO_UNEVEN
        codes[where == ABSENT] = NO_DOMAIN
    return codes


def shift(
    state: SpreadFilterState, other: Pod, row: int, sign: int, nodes: NodeColumns
) -> SpreadFilterState:
    """The counts with one pod more (``sign`` 1) or less (-1) on this row.

    As in kube-scheduler, this counts what counting leaves out: pods being deleted, and those of a
    selector that selects everything.
    """
    here, constraints = np.array([row], np.intp), tuple(one.constraint for one in state.spreads)
    if (
        other.metadata.namespace != state.included.pod.metadata.namespace
        or not any(one.selector.matches(other.metadata.labels) for one in constraints)
        or not with_all_keys(constraints, nodes, here)[0]
    ):
        return state  # itself: rows with the same state are asked at once
    changed = []
    for constraint, counts, own in state.spreads:
        new = counts
        counted = constraint.selector.matches(other.metadata.labels)
        if counted and state.included.mask(constraint, nodes, here)[0]:
            new = counts.copy()
            new[domains(constraint.topology_key, nodes, here)] += sign
        changed.append(ConstraintCounts(constraint, new, own))
    return SpreadFilterState(state.included, tuple(changed))


def _per_counted_domain(pods: Counts, counted: Mask, key: str, nodes: NodeColumns) -> Counts:
    """The pods in each domain, on the rows that count; UNCOUNTED for domains without such a row. ->
    int64[domains].
    """
    column = nodes.labels.column(key)
    where = np.where(counted, column.codes[: counted.size], ABSENT)
    counts = np.bincount(where, weights=pods, minlength=len(column.values)).astype(np.int64)
    counts[np.bincount(where, minlength=len(column.values)) == 0] = UNCOUNTED
    counts[ABSENT] = UNCOUNTED
    return counts


def _least(constraint: Constraint, counts: Counts) -> int:
    """The number of pods in the emptiest domain; 0 while there are fewer domains than the
    constraint wants.
    """
    known = int(np.count_nonzero(counts != UNCOUNTED))
    return int(counts.min()) if known and known >= constraint.min_domains else 0
