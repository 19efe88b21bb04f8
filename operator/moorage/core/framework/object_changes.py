"""Object changes: which cluster events an update of a pod or a node stands for.

An update says only that something differs; what differs decides whom it may wake, so that a
heartbeat wakes nobody.
Source: kube-scheduler ``PodSchedulingPropertiesChange`` and ``NodeSchedulingPropertiesChange``
(v1.37), order included.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec

from kubefacts.quantities import QuantityError, nanos
from moorage.core.framework.cluster_events import ActionType, ClusterEvent, EventResource
from moorage.core.objects.nodes import Node
from moorage.core.objects.pods import Pod
from moorage.core.pods.requests import USED, pod_amounts, takes_alike


def pod_changes(old: Pod, new: Pod) -> list[ClusterEvent]:
    """The events of the update of a pod that has a node, or that waits and may be freed by it; at
    least one: UPDATE when no aspect that has a name changed. Raises QuantityError.
    """
    less, more = _scaled(old, new)
    changed = {
        ActionType.UPDATE_POD_LABEL: (old.metadata.labels or {}) != (new.metadata.labels or {}),
        ActionType.UPDATE_POD_SCALE_DOWN: less,
        ActionType.UPDATE_POD_SCALE_UP: more,
        ActionType.UPDATE_POD_SCHEDULING_GATES_ELIMINATED: bool(old.spec.scheduling_gates)
        and not new.spec.scheduling_gates,
        ActionType.UPDATE_POD_TOLERATION: len(old.spec.tolerations or ())
        != len(new.spec.tolerations or ()),
        ActionType.UPDATE_POD_GENERATED_RESOURCE_CLAIM: (old.status.resource_claim_statuses or ())
        != (new.status.resource_claim_statuses or ())
        or old.status.extended_resource_claim_status != new.status.extended_resource_claim_status,
    }
    resource = EventResource.ASSIGNED_POD if new.spec.node_name else EventResource.TARGET_POD
    actions = [action for action, differs in changed.items() if differs]
    return [ClusterEvent(resource, action, old, new) for action in actions or [ActionType.UPDATE]]


def node_changes(old: Node, new: Node) -> list[ClusterEvent]:
    """The events of a node's update; none for a heartbeat. UPDATE_NODE_TAINT comes twice when both
    causes of it are there.
    """
    actions = [action for action, aspect in _NODE_ASPECTS if aspect(old) != aspect(new)]
    if old.spec.unschedulable and not new.spec.unschedulable:
        actions.insert(0, ActionType.UPDATE_NODE_TAINT)
    return [ClusterEvent(EventResource.NODE, action, old, new) for action in actions]


def resources_freed(pod: Pod) -> ClusterEvent:
    """The event of what a pod takes on its spec.nodeName being free again: it is gone, or is to go
    there no more.
    """
    return ClusterEvent(EventResource.ASSIGNED_POD, ActionType.DELETE, old=pod)


def _scaled(old: Pod, new: Pod) -> tuple[bool, bool]:
    """Whether the pod asks for less of something than before, or not at all, and whether for more,
    or anew; what its kubelet has given counts.
    """
    if takes_alike(old, new):
        return False, False
    before, after = pod_amounts(old, USED), pod_amounts(new, USED)
    return _has_more(before, after), _has_more(after, before)


def _has_more(one: Mapping[str, int], other: Mapping[str, int]) -> bool:
    return any(amount > other.get(name, -1) for name, amount in one.items())


def _amounts(node: Node) -> Mapping[str, int | str]:
    """Allocatable in nano-units; "1" and "1000m" are the same, and what cannot be read stands for
    itself.
    """
    return {name: _amount(quantity) for name, quantity in (node.status.allocatable or {}).items()}


def _amount(quantity: str | int) -> int | str:
    try:
        return nanos(quantity)
    except QuantityError:
        return str(quantity)


def _conditions(node: Node) -> dict[str, str]:
    return {condition.type: condition.status for condition in node.status.conditions or ()}


_NODE_ASPECTS: tuple[tuple[ActionType, Callable[[Node], object]], ...] = (
    (ActionType.UPDATE_NODE_ALLOCATABLE, _amounts),
    (ActionType.UPDATE_NODE_LABEL, lambda node: node.metadata.labels or {}),
    (ActionType.UPDATE_NODE_TAINT, lambda node: node.spec.taints or ()),
    (ActionType.UPDATE_NODE_CONDITION, _conditions),
    (ActionType.UPDATE_NODE_ANNOTATION, lambda node: node.metadata.annotations or {}),
    (ActionType.UPDATE_NODE_PREEMPTION_POLICY, lambda node: node.spec.pod_preemption_policy),
    (ActionType.UPDATE_NODE_DECLARED_FEATURE, lambda node: node.status.declared_features or ()),
)
"""The event of each aspect of a node that differs, in this order."""


def only_status_changed(old: Pod, new: Pod) -> bool:
    """Whether nothing differs but what schedulers write to say why a pod waits: that is no reason
    to try it again.
    """
    told = msgspec.structs.replace(
        new.status,
        conditions=old.status.conditions,
        nominated_node_name=old.status.nominated_node_name,
    )
    metadata = msgspec.structs.replace(new.metadata, resource_version=old.metadata.resource_version)
    return old.spec == new.spec and old.metadata == metadata and old.status == told
