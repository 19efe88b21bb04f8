"""TaintToleration: keeps pods off nodes whose taints they do not tolerate, and prefers nodes with fewer soft taints.

Cost: each distinct set of taints is judged once; a node that changed costs a look-up.
Source: kube-scheduler TaintToleration (v1.36).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Hashable
from typing import ClassVar

from moorage.core.columns.nodes.node_table import Aspect, Rows
from moorage.core.columns.nodes.row_selection import judge_each
from moorage.core.columns.snapshot import Snapshot
from moorage.core.columns.store import Objects
from moorage.core.framework.cluster_events import Action, ClusterEvent, Resource, Wake
from moorage.core.framework.interfaces import Codes, Prepared, Scores, default_normalize
from moorage.core.framework.status import SUCCESS, Code, Reason
from moorage.core.objects.nodes import Node
from moorage.core.objects.pods import Pod, Toleration
from moorage.core.pods.node_selection import SOFT, untolerated

NAME = "TaintToleration"
TAINTED = Reason("UntoleratedTaint", "node(s) had untolerated taint(s)", Code.UNRESOLVABLE)


def _is_kept_off(pod: Pod, node: Node) -> bool:
    return any(untolerated(node.spec.taints or (), pod.spec.tolerations or ()))


def _lets_in(pod: Pod, event: ClusterEvent, _store: Objects) -> bool:
    """Whether the pod tolerates the node as it is now and did not before."""
    old, new = event.old, event.new
    if not isinstance(new, Node) or _is_kept_off(pod, new):
        return False
    return not isinstance(old, Node) or _is_kept_off(pod, old)


def _is_about(pod: Pod, event: ClusterEvent, _store: Objects) -> bool:
    """Whether it is this pod whose tolerations changed."""
    return isinstance(event.new, Pod) and event.new.metadata.uid == pod.metadata.uid


@dataclasses.dataclass(frozen=True, slots=True)
class TaintToleration:
    """Passes nodes of which the pod tolerates all hard taints; ranks by the soft taints that it does not tolerate."""

    name: ClassVar[str] = NAME
    reasons: ClassVar[tuple[Reason, ...]] = (TAINTED,)
    reads: ClassVar[frozenset[Aspect]] = frozenset({Aspect.TAINTS})
    wakes: ClassVar[tuple[Wake, ...]] = (
        Wake(Resource.NODE, Action.ADD | Action.UPDATE_NODE_TAINT, _lets_in, shared=True),
        Wake(Resource.POD, Action.UPDATE_POD_TOLERATION, _is_about, shared=True),
    )

    def heeds(self, pod: Pod) -> Hashable:
        """What it tolerates."""
        return pod.spec.tolerations

    def filter(self, state: Pod, snapshot: Snapshot, rows: Rows) -> Codes:
        """1 where a hard taint is not tolerated."""
        nodes, tolerations = snapshot.nodes, state.spec.tolerations or ()
        return judge_each(nodes.taint_set[rows], lambda taints: any(untolerated(nodes.taint_sets[taints], tolerations)))

    def explain(self, state: Pod, code: int) -> tuple[tuple[Reason, str], ...]:
        """The only reason there is."""
        return ((TAINTED, ""),)

    def pre_score(self, pod: Pod, snapshot: Snapshot) -> Prepared:
        """The tolerations that can cover a soft taint."""
        return Prepared(SUCCESS, tuple(toleration for toleration in pod.spec.tolerations or () if toleration.effect in ("", *SOFT)))

    def score(self, state: tuple[Toleration, ...], snapshot: Snapshot, rows: Rows) -> Scores:
        """How many soft taints are not tolerated: fewer are better, which ``normalize`` turns round."""
        nodes = snapshot.nodes
        return judge_each(nodes.taint_set[rows], lambda taints: len(list(untolerated(nodes.taint_sets[taints], state, SOFT))))

    def normalize(self, state: tuple[Toleration, ...], raw: Scores) -> Scores:
        """100 without soft taints, 0 for the node with the most."""
        return default_normalize(raw, reverse=True)
