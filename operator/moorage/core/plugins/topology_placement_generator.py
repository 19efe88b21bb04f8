"""TopologyPlacementGenerator: a pod group with a topology constraint lies in one domain of that
label; once members run somewhere, in theirs.

Cost: one look at the label's column for each attempt of a group.
Source: KEP-5732; kube-scheduler TopologyPlacementGenerator (v1.37).
"""

from __future__ import annotations

import dataclasses
from typing import ClassVar

import numpy as np

from moorage.core.columns.domains import Domains, domains
from moorage.core.columns.nodes.label_columns import ABSENT
from moorage.core.columns.snapshot import Snapshot
from moorage.core.framework.cluster_events import ClusterEventWithHint
from moorage.core.framework.placement_contract import Assignments, Division, PlacementPlan
from moorage.core.framework.status import Reason, Status, error_status
from moorage.core.groups.group_spec import GroupSpec
from moorage.core.objects.meta import key

NAME = "TopologyPlacementGenerator"


@dataclasses.dataclass(frozen=True, slots=True)
class TopologyPlacementGenerator:
    """One placement for each value of the constraint's label."""

    name: ClassVar[str] = NAME
    reasons: ClassVar[tuple[Reason, ...]] = ()
    events_to_register: ClassVar[tuple[ClusterEventWithHint, ...]] = ()

    def plan_placements(
        self, group: GroupSpec, scheduled: Assignments, snapshot: Snapshot
    ) -> PlacementPlan | Status:
        """ERROR where members run in several domains, or in none."""
        if not group.topology_key:
            return PlacementPlan()
        division = division_by(group.topology_key, snapshot)
        theirs = _domains_of(scheduled, division.domains, snapshot)
        if isinstance(theirs, Status):
            return theirs
        if theirs:
            inside = np.isin(division.domains, list(theirs))
            division = division._replace(domains=np.where(inside, division.domains, ABSENT))
        return PlacementPlan(division)


def division_by(topology_key: str, snapshot: Snapshot) -> Division:
    """The nodes by a label."""
    nodes = snapshot.nodes
    codes = domains(topology_key, nodes, nodes.all_rows)
    there = np.where(nodes.live[nodes.all_rows], codes, ABSENT).astype(np.int32)
    return Division(topology_key, there, nodes.labels.column(topology_key).values)


def _domains_of(
    scheduled: Assignments, there: Domains, snapshot: Snapshot
) -> frozenset[int] | Status:
    """The one domain that members run in; none where no member runs."""
    head = "cannot determine domain for already scheduled pods: "
    found: dict[int, str] = {}
    for pod, node in scheduled:
        row = snapshot.nodes.row_of.get(node)
        code = ABSENT if row is None else int(there[row])
        if code == ABSENT:
            return error_status(f"{head}no topology domain found for pod {key(pod)}")
        found[code] = node
    if len(found) > 1:
        names = ", ".join(sorted(found.values()))
        return error_status(f"{head}more than 1 domain found for pod group: {names}")
    return frozenset(found)
