"""TaintToleration: keeps pods off nodes whose taints they do not tolerate, and prefers nodes with
fewer soft taints.

Cost: each distinct set of taints is judged once; a node that changed costs a look-up.
Source: kube-scheduler TaintToleration (v1.37).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Hashable
from typing import ClassVar

from moorage.core.columns.nodes.node_table import Aspect, Rows
from moorage.core.columns.nodes.row_selection import judge_each
from moorage.core.columns.snapshot import Snapshot
from moorage.core.columns.store import Lister
from moorage.core.framework.cluster_events import (
    ActionType,
    ClusterEvent,
    ClusterEventWithHint,
    EventResource,
    shared_hint,
)
from moorage.core.framework.interfaces import (
    Codes,
    PreFilterResult,
    Scores,
    default_normalize_score,
)
from moorage.core.framework.status import SUCCESS, Code, Reason
from moorage.core.objects.nodes import Node
from moorage.core.objects.pods import Pod, Toleration
from moorage.core.pods.node_selection import SOFT, untolerated_taints

NAME = "TaintToleration"
TAINTED = Reason(
    "UntoleratedTaint", "node(s) had untolerated taint(s)", Code.UNSCHEDULABLE_AND_UNRESOLVABLE
)


def _is_kept_off(pod: Pod, node: Node) -> bool:
    return any(untolerated_taints(node.spec.taints or (), pod.spec.tolerations or ()))


def _lets_in(pod: Pod, event: ClusterEvent, _store: Lister) -> bool:
    """Whether the pod tolerates the node as it is now and did not before."""
    old, new = event.old, event.new
    if not isinstance(new, Node) or _is_kept_off(pod, new):
        return False
    return not isinstance(old, Node) or _is_kept_off(pod, old)


@dataclasses.dataclass(frozen=True, slots=True)
class TaintToleration:
    """Passes nodes of which the pod tolerates all hard taints; ranks by the soft taints that it
    does not tolerate.
    """

    name: ClassVar[str] = NAME
    reasons: ClassVar[tuple[Reason, ...]] = (TAINTED,)
    reads: ClassVar[frozenset[Aspect]] = frozenset({Aspect.TAINTS})
    events_to_register: ClassVar[tuple[ClusterEventWithHint, ...]] = (
        shared_hint(EventResource.NODE, ActionType.ADD | ActionType.UPDATE_NODE_TAINT, _lets_in),
        ClusterEventWithHint(EventResource.TARGET_POD, ActionType.UPDATE_POD_TOLERATION),
    )

    def hint_signature(self, pod: Pod) -> Hashable:
        return pod.spec.tolerations

    def pre_filter(self, pod: Pod, snapshot: Snapshot) -> PreFilterResult:
        """Nothing of its own: kube-scheduler has this point for pods that are to be resized."""
        return PreFilterResult(SUCCESS, pod)

    def filter(self, state: Pod, snapshot: Snapshot, rows: Rows) -> Codes:
        """1 where a hard taint is not tolerated."""
        nodes, tolerations = snapshot.nodes, state.spec.tolerations or ()
        return judge_each(
            nodes.taint_set[rows],
            lambda taints: any(untolerated_taints(nodes.taint_sets[taints], tolerations)),
        )

    def explain(self, state: Pod, code: int) -> tuple[tuple[Reason, str], ...]:
        """The only reason there is."""
        return ((TAINTED, ""),)

    def pre_score(self, pod: Pod, snapshot: Snapshot) -> PreFilterResult:
        """The tolerations that can cover a soft taint."""
        return PreFilterResult(
            SUCCESS,
            tuple(
                toleration
                for toleration in pod.spec.tolerations or ()
                if toleration.effect in ("", *SOFT)
            ),
        )

    def score(self, state: tuple[Toleration, ...], snapshot: Snapshot, rows: Rows) -> Scores:
        """How many soft taints are not tolerated: fewer are better, which ``normalize_score`` turns
        round.
        """
        nodes = snapshot.nodes
        return judge_each(
            nodes.taint_set[rows],
            lambda taints: len(list(untolerated_taints(nodes.taint_sets[taints], state, SOFT))),
        )

    def normalize_score(self, state: tuple[Toleration, ...], raw: Scores) -> Scores:
        """100 without soft taints, 0 for the node with the most."""
        return default_normalize_score(raw, reverse=True)
