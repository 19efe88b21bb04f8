"""The contracts of placementGenerate and placementScore: on which nodes a pod group may be tried
together, and which of those that take it are best.

Source: kube-scheduler's placement plugins (v1.37), with all placements in one call.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Final, NamedTuple, Protocol, TypeAlias, runtime_checkable

import numpy as np
import numpy.typing as npt

from moorage.core.columns.domains import Domains, domains
from moorage.core.columns.nodes.label_columns import ABSENT
from moorage.core.columns.nodes.node_columns import NodeColumns
from moorage.core.columns.snapshot import Snapshot
from moorage.core.framework.interfaces import Plugin, Scores
from moorage.core.framework.status import Status
from moorage.core.groups.group_spec import GroupSpec
from moorage.core.objects.pods import Pod

Assignments: TypeAlias = Sequence[tuple[Pod, str]]
"""Pods, each with the name of its node."""


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


ALL_NODES: Final = Placement()


class Division(NamedTuple):
    """The nodes by the value of a label. ``domains``: a code for each row, ABSENT where the node is
    in none; ``names``: the value of each code.
    """

    key: str
    domains: Domains
    names: Sequence[str | None]


class PlacementPlan(NamedTuple):
    """Where a group may be tried. ``required``: it has to lie in one of these domains; None: it may
    lie anywhere. ``preferred``: before, the smallest domain that takes all members will do, first
    of the first division.
    """

    required: Division | None = None
    preferred: Sequence[Division] = ()


class AlikePods(NamedTuple):
    """So many pods that ask for the same, and how many such pods each row has room for at most:
    int64[rows], None where that is not known.
    """

    number: int
    most: npt.NDArray[np.int64] | None


class Proposal(NamedTuple):
    """A placement that takes enough members: how many of the group have a node already, and those
    that would get one.
    """

    placement: Placement
    scheduled: int
    assignments: Assignments


@runtime_checkable
class PlacementGeneratePlugin(Plugin, Protocol):
    """Says where a pod group may be tried; at most one in a profile. Without one a group is tried
    on all nodes.
    """

    def plan_placements(
        self, group: GroupSpec, scheduled: Assignments, snapshot: Snapshot
    ) -> PlacementPlan | Status:
        """``scheduled`` are the members that have a node. A status where there is no way."""


@runtime_checkable
class RoomPlugin(Plugin, Protocol):
    """A filter plugin that knows how many pods nodes take at most, so that sets of nodes without
    enough room need not be tried.
    """

    def room_for(self, pods: Sequence[Pod], snapshot: Snapshot) -> Sequence[AlikePods]:
        """All of the pods, by what they ask for."""


@runtime_checkable
class PlacementScorePlugin(Plugin, Protocol):
    """Ranks the placements that take enough members of a group, where there are several."""

    def score_placements(
        self, group: GroupSpec, proposals: Sequence[Proposal], snapshot: Snapshot
    ) -> Scores:
        """0..100 for each of them, the higher the better. int64[len(proposals)]. Nobody is assumed
        on their nodes.
        """
