"""Ranking nodes by soft topology spread constraints: the fewer matching pods beside a node, the
better.

How much a constraint weighs depends on how many domains the candidates have, so that only
candidates together can be ranked.
Source: kube-scheduler PodTopologySpread's scoring (v1.37).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from moorage.core.columns.change_log import Versioned
from moorage.core.columns.domains import Domains, domains
from moorage.core.columns.nodes.label_columns import ABSENT
from moorage.core.columns.pod_counters import Counts
from moorage.core.columns.snapshot import Snapshot
from moorage.core.framework.interfaces import MAX_NODE_SCORE, NodeScores
from moorage.core.objects.nodes import HOSTNAME
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


class ScoredConstraint(NamedTuple):
    """A soft constraint: for each row its domain (None: every row is its own), whether it has one,
    and the matching pods in it.
    """

    max_skew: int
    domains: Domains | None
    has_domain: Mask
    pods: Counts


class SpreadScoreState(NamedTuple):
    """``ignored``: rows that lack a label which all must have."""

    ignored: Mask
    constraints: tuple[ScoredConstraint, ...]


def spread_score_state(
    pod: Pod, constraints: Constraints, all_keys: bool, snapshot: Snapshot
) -> tuple[SpreadScoreState, tuple[Versioned, ...]]:
    """What ``score_feasible`` needs, and what it depends on. ``all_keys``: nodes that lack a
    topology's label are ignored.
    """
    nodes, every = snapshot.nodes, snapshot.nodes.all_rows
    eligible = with_all_keys(constraints, nodes, every) if all_keys else nodes.live[every]
    included = Included.by(pod)
    depends = watched(constraints, nodes)
    found = []
    for constraint in constraints:
        pods, moving = matching_pods(constraint, pod.metadata.namespace, snapshot)
        depends += moving
        if constraint.topology_key == HOSTNAME:
            has_domain = domains(HOSTNAME, nodes, every) != ABSENT
            found.append(ScoredConstraint(constraint.max_skew, None, has_domain, pods.copy()))
        else:
            counted = np.where(eligible & included.mask(constraint, nodes, every), pods, 0)
            found.append(_summed(constraint, counted, snapshot))
    return SpreadScoreState(~eligible, tuple(found)), depends


def _summed(constraint: Constraint, pods: Counts, snapshot: Snapshot) -> ScoredConstraint:
    """The pods in the domain of each row."""
    nodes = snapshot.nodes
    has_domain = domains(constraint.topology_key, nodes, nodes.all_rows) != ABSENT
    where = _domains_or_blank(constraint, snapshot)
    sums = np.bincount(where, weights=pods).astype(np.int64)
    return ScoredConstraint(constraint.max_skew, where, has_domain, sums[where])


def spread_scores(state: SpreadScoreState, rows: npt.NDArray[np.intp]) -> NodeScores:
    """Scores of the candidates, in which domains of a smaller topology weigh less; ignored ones get
    0.
    """
    ignored = state.ignored[rows]
    some = bool(ignored.any())
    candidates = rows[~ignored] if some else rows
    total = np.zeros(candidates.size)
    for max_skew, where, has_domain, pods in state.constraints:
        size = (
            candidates.size if where is None else np.count_nonzero(np.bincount(where[candidates]))
        )
        scores = pods[candidates] * math.log(size + 2) + (max_skew - 1)
        total += scores if has_domain.all() else np.where(has_domain[candidates], scores, 0.0)
    whole = np.floor(total)
    raw = (whole + (total - whole >= 0.5)).astype(np.int64)
    most, least = int(raw.max(initial=0)), int(raw.min()) if raw.size else 0
    normalized = (
        MAX_NODE_SCORE * (most + least - raw) // most if most else np.full_like(raw, MAX_NODE_SCORE)
    )
    return (
        NodeScores(_with_ignored(raw, ignored), _with_ignored(normalized, ignored))
        if some
        else NodeScores(raw, normalized)
    )


def _with_ignored(scores: Counts, ignored: Mask) -> Counts:
    """The scores in their places among all rows, 0 in the others."""
    every = np.zeros(ignored.size, np.int64)
    every[~ignored] = scores
    return every


def _domains_or_blank(constraint: Constraint, snapshot: Snapshot) -> Domains:
    """A copy of the rows' domains, in which a missing label and an empty value are the same, as in
    kube-scheduler's maps.
    """
    column = snapshot.nodes.labels.column(constraint.topology_key)
    where = column.codes[: snapshot.nodes.rows].copy()
    where[where == column.code("")] = ABSENT
    return where
