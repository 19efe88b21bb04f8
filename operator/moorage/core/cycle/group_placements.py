"""Placements: the sets of nodes that are tried for a pod group, and how good each of them is.

A group without a topology constraint has one placement, all nodes. With one it has a placement for
each value of the constraint's label; once members run somewhere, only theirs.
Source: KEP-5732; kube-scheduler TopologyPlacementGenerator, PodGroupPodsCount and NodeResourcesFit
(v1.37).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from moorage.core.columns.domains import domains
from moorage.core.columns.nodes.label_columns import ABSENT
from moorage.core.columns.nodes.node_columns import NodeColumns
from moorage.core.columns.snapshot import Snapshot
from moorage.core.framework.interfaces import MAX_NODE_SCORE
from moorage.core.framework.status import Code, Status, error_status
from moorage.core.objects.meta import key
from moorage.core.objects.pods import Pod
from moorage.core.pods.requests import SCORED, pod_amounts

NO_PLACEMENTS = Status(Code.UNSCHEDULABLE, ("no feasible placements found",))
_SCORED_RESOURCES = ("cpu", "memory")


@dataclasses.dataclass(frozen=True, slots=True)
class Placement:
    """Nodes that a group is tried on: those with this value (``name``) of the label ``key``, or the
    node of this name, or all. Which nodes these are is looked up whenever it is asked: they come
    and go while the group is placed, and a replay knows no more than this.
    """

    key: str = ""
    name: str = ""

    def rows(self, nodes: NodeColumns) -> npt.NDArray[np.bool_] | None:
        """bool[capacity]; None for all nodes, also where all have the value."""
        if not self.key:
            return _only(self.name, nodes) if self.name else None
        inside, rows = np.zeros(nodes.live.size, bool), nodes.all_rows
        code = nodes.labels.column(self.key).code(self.name)
        if code != ABSENT:
            inside[rows] = nodes.live[rows] & (domains(self.key, nodes, rows) == code)
        return None if int(inside.sum()) == len(nodes) else inside


def _only(node: str, nodes: NodeColumns) -> npt.NDArray[np.bool_]:
    inside = np.zeros(nodes.live.size, bool)
    if node in nodes.row_of:
        inside[nodes.row_of[node]] = True
    return inside


ALL_NODES = Placement()


class Proposal(NamedTuple):
    """A placement that takes enough members: how many of the group run there then, and the pods
    that would be new.
    """

    placement: Placement
    scheduled: int
    pods: Sequence[Pod]


PlacementScorer: TypeAlias = Callable[[Sequence[Proposal], Snapshot], Sequence[int]]
"""A score for each proposal, the higher the better."""


def placements(
    topology_key: str, scheduled: Sequence[tuple[Pod, str]], snapshot: Snapshot
) -> list[Placement] | Status:
    """Those to be tried, by name; ``scheduled`` are the members that have a node, with its name. A
    status where there are none.
    """
    if not topology_key:
        return [ALL_NODES]
    nodes = snapshot.nodes
    values = nodes.labels.column(topology_key).values
    codes = domains(topology_key, nodes, nodes.all_rows)
    there = np.where(nodes.live[nodes.all_rows], codes, ABSENT)
    found = {int(code) for code in np.unique(there)} - {ABSENT}
    if scheduled:
        where = _domains_of(scheduled, there, snapshot)
        if isinstance(where, Status):
            return where
        found &= where
    names = sorted(values[code] or "" for code in found)
    return [Placement(topology_key, name) for name in names] or NO_PLACEMENTS


def _domains_of(
    scheduled: Sequence[tuple[Pod, str]], there: npt.NDArray[np.int32], snapshot: Snapshot
) -> set[int] | Status:
    """The one domain that members run in."""
    head = "cannot determine domain for already scheduled pods: "
    found: dict[int, str] = {}
    for pod, node in scheduled:
        row = snapshot.nodes.row_of.get(node)
        code = ABSENT if row is None else int(there[row])
        if code == ABSENT:
            return error_status(f"{head}no topology domain found for pod {key(pod)}")
        found[code] = node
    if len(found) > 1:
        return error_status(f"{head}more than 1 domain found for pod group: {_names(found)}")
    return set(found)


def _names(found: dict[int, str]) -> str:
    return ", ".join(sorted(found.values()))


def score_proposals(proposals: Sequence[Proposal], snapshot: Snapshot) -> list[int]:
    """How many members run there, and how full its nodes are then: what packs best is best."""
    counts, fullness = pods_counts(proposals), [_fullness(one, snapshot) for one in proposals]
    return [count + full for count, full in zip(counts, fullness, strict=True)]


def pods_counts(proposals: Sequence[Proposal]) -> list[int]:
    """PodGroupPodsCount: members that run there, 0..100 of the most."""
    counts = [one.scheduled + len(one.pods) for one in proposals]
    most = max(1, *counts)
    return [MAX_NODE_SCORE * count // most for count in counts]


def _fullness(proposal: Proposal, snapshot: Snapshot) -> int:
    """NodeResourcesFit: what is asked of the nodes of a placement, 0..100 of what they have, the
    mean of cpu and memory.
    """
    nodes, rows = snapshot.nodes, proposal.placement.rows(snapshot.nodes)
    inside = (nodes.live if rows is None else rows & nodes.live).nonzero()[0]
    asked = [pod_amounts(pod, SCORED) for pod in proposal.pods]
    scores = []
    for i, resource in enumerate(_SCORED_RESOURCES):
        there = nodes.amounts(resource, inside)
        capacity = 0 if there is None else int(there[0].sum())
        if capacity:
            taken = int(nodes.non_zero_requested[i][inside].sum())
            taken += sum(amounts.get(resource, 0) for amounts in asked)
            scores.append(min(taken, capacity) * MAX_NODE_SCORE // capacity)
    return sum(scores) // len(scores) if scores else 0
