"""NodeUnschedulable: a cordoned node takes only pods that tolerate that.

Cost: one array look-up for each node that changed.
Source: kube-scheduler NodeUnschedulable (v1.37).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Hashable
from typing import ClassVar

import numpy as np

from moorage.core.columns.nodes.node_table import Aspect, Rows
from moorage.core.columns.snapshot import Snapshot
from moorage.core.columns.store import Lister
from moorage.core.framework.cluster_events import (
    ActionType,
    ClusterEvent,
    ClusterEventWithHint,
    EventResource,
    shared_hint,
)
from moorage.core.framework.interfaces import Codes, PreFilterResult
from moorage.core.framework.status import SUCCESS, Code, Reason
from moorage.core.objects.nodes import Node, Taint
from moorage.core.objects.pods import Pod
from moorage.core.pods.node_selection import tolerates

NAME = "NodeUnschedulable"
CORDONED = Reason(
    "NodeUnschedulable", "node(s) were unschedulable", Code.UNSCHEDULABLE_AND_UNRESOLVABLE
)
CORDON = Taint("node.kubernetes.io/unschedulable", "", "NoSchedule")
"""What a pod has to tolerate to go to a cordoned node, whether the node carries this taint or
not.
"""


def _tolerates_cordon(pod: Pod) -> bool:
    return any(tolerates(toleration, CORDON) for toleration in pod.spec.tolerations or ())


def _is_uncordoned(pod: Pod, event: ClusterEvent, _store: Lister) -> bool:
    """Whether a node takes pods and did not before."""
    old, new = event.old, event.new
    if not isinstance(new, Node) or new.spec.unschedulable:
        return False
    return not isinstance(old, Node) or bool(old.spec.unschedulable)


def _tolerates_now(_pod: Pod, event: ClusterEvent, _store: Lister) -> bool:
    """Whether this pod tolerates a cordon now."""
    return isinstance(event.new, Pod) and _tolerates_cordon(event.new)


@dataclasses.dataclass(frozen=True, slots=True)
class NodeUnschedulable:
    """Passes nodes that are not cordoned, and all of them for a pod that tolerates it."""

    name: ClassVar[str] = NAME
    reasons: ClassVar[tuple[Reason, ...]] = (CORDONED,)
    reads: ClassVar[frozenset[Aspect]] = frozenset({Aspect.TAINTS})
    events_to_register: ClassVar[tuple[ClusterEventWithHint, ...]] = (
        shared_hint(
            EventResource.NODE, ActionType.ADD | ActionType.UPDATE_NODE_TAINT, _is_uncordoned
        ),
        shared_hint(EventResource.TARGET_POD, ActionType.UPDATE_POD_TOLERATION, _tolerates_now),
    )

    def hint_signature(self, pod: Pod) -> Hashable:
        return pod.spec.tolerations

    def pre_filter(self, pod: Pod, snapshot: Snapshot) -> PreFilterResult:
        """Nothing of its own: kube-scheduler has this point for pods that are to be resized."""
        return PreFilterResult(SUCCESS, pod)

    def filter(self, state: Pod, snapshot: Snapshot, rows: Rows) -> Codes:
        """1 for cordoned nodes."""
        cordoned = snapshot.nodes.unschedulable[rows].astype(np.int64)
        return cordoned * (not _tolerates_cordon(state))

    def explain(self, state: Pod, code: int) -> tuple[tuple[Reason, str], ...]:
        """The only reason there is."""
        return ((CORDONED, ""),)
