"""Topology spread constraints: compiled, and pods counted by them.

What PodTopologySpread's two halves have in common: the hard constraints refuse nodes, the soft ones
rank them.
Source: kube-scheduler PodTopologySpread (v1.37), KEP-895, KEP-3022 (minDomains), KEP-3094
(policies), KEP-3243 (matchLabelKeys).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

import msgspec
import numpy as np
import numpy.typing as npt

from kubefacts.labels import Selector, compile_selector, equality
from moorage.core.columns.change_log import Versioned
from moorage.core.columns.domains import domains
from moorage.core.columns.nodes.label_columns import ABSENT
from moorage.core.columns.nodes.node_columns import NodeColumns
from moorage.core.columns.nodes.node_table import Aspect, Rows
from moorage.core.columns.nodes.row_selection import judge_each, rows_matching
from moorage.core.columns.pod_counters import Counts, PodQuery
from moorage.core.columns.snapshot import Snapshot
from moorage.core.objects.meta import Labels
from moorage.core.objects.pods import Pod, TopologySpreadConstraint
from moorage.core.pods.node_selection import NodeTerms, required_node_terms, untolerated_taints
from moorage.core.structures.remembering import byte_size, memoized

HARD, SOFT = "DoNotSchedule", "ScheduleAnyway"
Mask = npt.NDArray[np.bool_]

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(tuple[tuple[TopologySpreadConstraint, Labels], ...]).decode


@dataclasses.dataclass(frozen=True, slots=True)
class Constraint:
    """A compiled constraint. ``selector`` includes what matchLabelKeys add; nodes that the policies
    exclude do not count.
    """

    topology_key: str
    max_skew: int
    selector: Selector
    min_domains: int = 1
    honors_affinity: bool = True
    honors_taints: bool = False


Constraints = tuple[Constraint, ...]


def constraints_of(pod: Pod, when: str) -> Constraints:
    """The pod's own constraints of one kind (HARD or SOFT). Raises SelectorError."""
    labels = pod.metadata.labels or {}
    mine = [
        (one, {key: labels[key] for key in one.match_label_keys or () if key in labels})
        for one in pod.spec.topology_spread_constraints or ()
        if one.when_unsatisfiable == when
    ]
    return _compile(_encode(mine)) if mine else ()


@memoized(byte_size)
def _compile(encoded: bytes) -> Constraints:
    return tuple(
        compile_constraint(one, _and_equal(compile_selector(one.label_selector), labels))
        for one, labels in _decode(encoded)
    )


def _and_equal(selector: Selector, labels: Labels) -> Selector:
    """The selector with these labels' values; one that selects nothing stays so."""
    return (
        selector
        if selector.conditions is None
        else Selector(equality(labels) + selector.conditions)
    )


def compile_constraint(constraint: TopologySpreadConstraint, selector: Selector) -> Constraint:
    """A constraint with this selector, and what it leaves open filled in."""
    return Constraint(
        constraint.topology_key,
        constraint.max_skew,
        selector,
        1 if constraint.min_domains is None else constraint.min_domains,
        constraint.node_affinity_policy in (None, "Honor"),
        constraint.node_taints_policy == "Honor",
    )


@dataclasses.dataclass(frozen=True, slots=True)
class Included:
    """Which nodes count for a pod's constraints, by their policies."""

    pod: Pod
    terms: NodeTerms | None
    """The pod's node affinity and selector, None when it has none."""

    @classmethod
    def by(cls, pod: Pod) -> Included:
        """The nodes that count for this pod."""
        affinity = pod.spec.affinity
        picky = bool(pod.spec.node_selector) or (
            affinity is not None and affinity.node_affinity is not None
        )
        return cls(pod, required_node_terms(pod) if picky else None)

    def mask(self, constraint: Constraint, nodes: NodeColumns, rows: Rows) -> Mask:
        """Whether each row counts. -> bool[len(rows)]."""
        mask = nodes.live[rows].copy()
        if constraint.honors_affinity and self.terms is not None:
            mask &= rows_matching(self.terms, nodes, rows) != 0
        if constraint.honors_taints:
            tolerations = self.pod.spec.tolerations or ()
            mask &= (
                judge_each(
                    nodes.taint_set[rows],
                    lambda taints: (
                        not any(untolerated_taints(nodes.taint_sets[taints], tolerations))
                    ),
                )
                != 0
            )
        return mask


def with_all_keys(constraints: Constraints, nodes: NodeColumns, rows: Rows) -> Mask:
    """The rows whose nodes have the labels that all constraints go by."""
    mask = nodes.live[rows].copy()
    for key in dict.fromkeys(one.topology_key for one in constraints):
        mask &= domains(key, nodes, rows) != ABSENT
    return mask


def matching_pods(
    constraint: Constraint, namespace: str, snapshot: Snapshot
) -> tuple[Counts, tuple[Versioned, ...]]:
    """The pods that the constraint counts on each row, and what that depends on. -> int64[rows].

    A selector that selects everything counts nobody, as in kube-scheduler.
    """
    if constraint.selector.conditions == ():
        return np.zeros(snapshot.nodes.rows, np.int64), ()
    counter = snapshot.matching(PodQuery(frozenset((namespace,)), constraint.selector, alive=True))
    return counter.per_row(snapshot.nodes.rows), (counter,)


def watched(constraints: Iterable[Constraint], nodes: NodeColumns) -> tuple[Versioned, ...]:
    """The logs that these constraints depend on."""
    taints = any(constraint.honors_taints for constraint in constraints)
    return (
        (nodes.logs[Aspect.LABELS], nodes.logs[Aspect.TAINTS])
        if taints
        else (nodes.logs[Aspect.LABELS],)
    )
