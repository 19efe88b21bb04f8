"""Declared features, naively."""

from __future__ import annotations

from moorage.core.objects.nodes import Node
from moorage.core.objects.pods import Pod


def declared(pod: Pod, node: Node) -> bool:
    """Whether the node's kubelet says that it can do what the pod asks for."""
    can = node.status.declared_features or ()
    rules = [
        rule.action
        for box in (*(pod.spec.containers or ()), *(pod.spec.init_containers or ()))
        for rule in box.restart_policy_rules or ()
    ]
    if "RestartAllContainers" in rules and "RestartAllContainersOnContainerExits" not in can:
        return False
    on_host_as_others = (
        pod.spec.host_network and pod.spec.host_users is not None and not pod.spec.host_users
    )
    return not on_host_as_others or "UserNamespacesHostNetworkSupport" in can
