"""TopologyPlacementGenerator: a pod group with a topology constraint lies in one domain of that
label; once members run somewhere, in theirs.

``preferredTopologyKeys`` is ours, for groups without a constraint: labels in the order in which
they are preferred, say of racks, blocks and zones. A group goes to the smallest domain that takes
all of it; where none of the first label does, to one of the next, at last anywhere. Nothing is
refused because of it.

Cost: one look at each label's column for each attempt of a group.
Source: KEP-5732; kube-scheduler TopologyPlacementGenerator (v1.37).
"""

from __future__ import annotations

import dataclasses
from typing import ClassVar

import numpy as np

from kubefacts.names import qualified_name
from moorage.core.columns.domains import Domains, domains
from moorage.core.columns.nodes.label_columns import ABSENT
from moorage.core.columns.snapshot import Snapshot
from moorage.core.framework.arguments import ARGUMENTS, Violation
from moorage.core.framework.cluster_events import ClusterEventWithHint
from moorage.core.framework.placement_contract import Assignments, Division, PlacementPlan
from moorage.core.framework.status import Reason, Status, error_status
from moorage.core.groups.group_spec import GroupSpec
from moorage.core.objects.meta import key

NAME = "TopologyPlacementGenerator"
_MAX_KEYS = 8


@dataclasses.dataclass(frozen=True, slots=True)
class TopologyPlacementGeneratorArgs:
    """``preferred_topology_keys``: labels of nodes, the preferred one first."""

    __pydantic_config__: ClassVar = ARGUMENTS

    preferred_topology_keys: tuple[str, ...] = ()

    def validate(self) -> list[Violation]:
        """They must be able to be keys of labels, each of them once, and not many."""
        field, keys = "preferredTopologyKeys", self.preferred_topology_keys
        found = []
        if len(keys) > _MAX_KEYS:
            found.append(Violation(field, len(keys), f"must have at most {_MAX_KEYS} items"))
        for i, key_ in enumerate(keys):
            texts = ["stands here twice"] if key_ in keys[:i] else qualified_name(key_)
            found += [Violation(f"{field}[{i}]", key_, text) for text in texts]
        return found


@dataclasses.dataclass(frozen=True, slots=True)
class TopologyPlacementGenerator:
    """One placement for each value of the constraint's label."""

    name: ClassVar[str] = NAME
    reasons: ClassVar[tuple[Reason, ...]] = ()
    events_to_register: ClassVar[tuple[ClusterEventWithHint, ...]] = ()

    args: TopologyPlacementGeneratorArgs = TopologyPlacementGeneratorArgs()

    def plan_placements(
        self, group: GroupSpec, scheduled: Assignments, snapshot: Snapshot
    ) -> PlacementPlan | Status:
        """ERROR where members run in several domains, or in none."""
        if group.topology_key:
            division = _division(group.topology_key, scheduled, snapshot)
            return division if isinstance(division, Status) else PlacementPlan(division)
        keys = self.args.preferred_topology_keys
        divisions = (_division(one, scheduled, snapshot) for one in keys)
        useful = [
            one for one in divisions if isinstance(one, Division) and (one.domains != ABSENT).any()
        ]
        return PlacementPlan(preferred=useful)


def _division(topology_key: str, scheduled: Assignments, snapshot: Snapshot) -> Division | Status:
    """The nodes by a label; where members run, only those of their domain."""
    division = _by_label(topology_key, snapshot)
    theirs = _domains_of(scheduled, division.domains, snapshot)
    if isinstance(theirs, Status):
        return theirs
    if theirs:
        inside = np.isin(division.domains, list(theirs))
        division = division._replace(domains=np.where(inside, division.domains, ABSENT))
    return division


def _by_label(topology_key: str, snapshot: Snapshot) -> Division:
    nodes = snapshot.nodes
    codes = domains(topology_key, nodes, nodes.all_rows)
    there = np.where(nodes.live[nodes.all_rows], codes, ABSENT).astype(np.int32)
    return Division(topology_key, there, tuple(nodes.labels.column(topology_key).values))


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
