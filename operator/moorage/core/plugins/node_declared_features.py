"""NodeDeclaredFeatures: a pod that needs something which not every kubelet can do goes where the
kubelet says that it can.

Cost: nothing for pods that need no feature; else one look-up for each node that changed.
Source: kube-scheduler NodeDeclaredFeatures and component-helpers/nodedeclaredfeatures (v1.37).
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
from moorage.core.framework.status import SKIP, SUCCESS, Code, Reason, Why
from moorage.core.objects.nodes import Node
from moorage.core.objects.pods import Pod

NAME = "NodeDeclaredFeatures"
NOT_DECLARED = Reason(
    "FeatureNotDeclared",
    "node(s) didn't match Pod's required features",
    Code.UNSCHEDULABLE_AND_UNRESOLVABLE,
)


def required_features(pod: Pod) -> frozenset[str]:
    """The features that a pod needs of its node."""
    spec = pod.spec
    containers = (spec.containers or ()) + (spec.init_containers or ())
    needs = {
        "RestartAllContainersOnContainerExits": any(
            rule.action == "RestartAllContainers"
            for container in containers
            for rule in container.restart_policy_rules or ()
        ),
        "UserNamespacesHostNetworkSupport": spec.host_network and spec.host_users is False,
    }
    return frozenset(feature for feature, needed in needs.items() if needed)


def _declares_anew(_pod: Pod, event: ClusterEvent, _store: Lister) -> bool:
    """Whether a node is new, or says something else than before."""
    old, new = event.old, event.new
    if not isinstance(old, Node) or not isinstance(new, Node):
        return True
    return (old.status.declared_features or ()) != (new.status.declared_features or ())


def _needs_something_else(_pod: Pod, event: ClusterEvent, _store: Lister) -> bool:
    """Whether this pod changed so that it needs other features."""
    old, new = event.old, event.new
    if not isinstance(old, Pod) or not isinstance(new, Pod):
        return False
    return required_features(old) != required_features(new)


@dataclasses.dataclass(frozen=True, slots=True)
class NodeDeclaredFeatures:
    """Passes nodes that declare all that the pod needs."""

    name: ClassVar[str] = NAME
    reasons: ClassVar[tuple[Reason, ...]] = (NOT_DECLARED,)
    reads: ClassVar[frozenset[Aspect]] = frozenset({Aspect.FEATURES})
    events_to_register: ClassVar[tuple[ClusterEventWithHint, ...]] = (
        shared_hint(
            EventResource.NODE,
            ActionType.ADD | ActionType.UPDATE_NODE_DECLARED_FEATURE,
            _declares_anew,
        ),
        shared_hint(EventResource.TARGET_POD, ActionType.UPDATE, _needs_something_else),
    )

    def hint_signature(self, pod: Pod) -> Hashable:
        """Hints look at what an event is about alone."""
        return ()

    def pre_filter(self, pod: Pod, snapshot: Snapshot) -> PreFilterResult:
        """What the pod needs; most need nothing."""
        features = required_features(pod)
        return PreFilterResult(SUCCESS, features) if features else PreFilterResult(SKIP)

    def filter(self, state: frozenset[str], snapshot: Snapshot, rows: Rows) -> Codes:
        """1 where something is missing."""
        found = np.arange(snapshot.nodes.rows)[rows].tolist()
        nodes = (snapshot.nodes.nodes[row] for row in found)
        return np.array(
            [
                node is None or not state.issubset(node.status.declared_features or ())
                for node in nodes
            ],
            np.int64,
        )

    def explain(self, state: frozenset[str], code: int) -> Why:
        return ((NOT_DECLARED, ""),)
