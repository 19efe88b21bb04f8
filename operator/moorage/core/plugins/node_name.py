"""NodeName: a pod that names its node in spec.nodeName goes there or nowhere.

Cost: one comparison for each node that changed, and only for pods that name a node.
Source: kube-scheduler NodeName (v1.37).
"""

from __future__ import annotations

import dataclasses
from typing import ClassVar

import numpy as np

from moorage.core.columns.nodes.node_table import Aspect, Rows
from moorage.core.columns.snapshot import Snapshot
from moorage.core.framework.cluster_events import ActionType, ClusterEventWithHint, EventResource
from moorage.core.framework.interfaces import Codes, PreFilterResult
from moorage.core.framework.status import SUCCESS, Code, Reason
from moorage.core.objects.pods import Pod

NAME = "NodeName"
OTHER_NODE = Reason(
    "NodeNameMismatch",
    "node(s) didn't match the requested node name",
    Code.UNSCHEDULABLE_AND_UNRESOLVABLE,
)


@dataclasses.dataclass(frozen=True, slots=True)
class NodeName:
    """Narrows to the requested node, and passes it, or every node when none is requested."""

    name: ClassVar[str] = NAME
    reasons: ClassVar[tuple[Reason, ...]] = (OTHER_NODE,)
    reads: ClassVar[frozenset[Aspect]] = frozenset({Aspect.MEMBERSHIP})
    events_to_register: ClassVar[tuple[ClusterEventWithHint, ...]] = (
        ClusterEventWithHint(EventResource.NODE, ActionType.ADD),
    )

    def pre_filter(self, pod: Pod, snapshot: Snapshot) -> PreFilterResult:
        """Leave all other nodes out."""
        wanted = pod.spec.node_name
        return PreFilterResult(SUCCESS, pod, frozenset({wanted}) if wanted else None)

    def filter(self, state: Pod, snapshot: Snapshot, rows: Rows) -> Codes:
        """1 for every row but the requested node's."""
        wanted = state.spec.node_name
        numbers = np.arange(snapshot.nodes.rows)[rows]
        if not wanted:
            return np.zeros(numbers.size, np.int64)
        return np.asarray(numbers != snapshot.nodes.row_of.get(wanted, -1), np.int64)

    def explain(self, state: Pod, code: int) -> tuple[tuple[Reason, str], ...]:
        """The only reason there is."""
        return ((OTHER_NODE, ""),)
