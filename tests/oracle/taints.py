"""Taints, naively. What TaintToleration and NodeUnschedulable must agree with."""

from __future__ import annotations

from moorage.core.objects.nodes import Node, Taint
from moorage.core.objects.pods import Pod, Toleration


def covers(toleration: Toleration, taint: Taint) -> bool:
    """Whether a toleration covers a taint."""
    right_effect = not toleration.effect or toleration.effect == taint.effect
    right_key = not toleration.key or toleration.key == taint.key
    equal = toleration.operator in ("", "Equal") and toleration.value == taint.value
    return right_effect and right_key and (equal or toleration.operator == "Exists")


def covered(pod: Pod, taint: Taint) -> bool:
    """Whether one of the pod's tolerations covers a taint."""
    return any(covers(toleration, taint) for toleration in pod.spec.tolerations or ())


def kept_off(pod: Pod, node: Node) -> bool:
    """Whether a taint that is more than a wish keeps the pod off."""
    return any(
        taint.effect != "PreferNoSchedule" and not covered(pod, taint)
        for taint in node.spec.taints or ()
    )


def cordoned(pod: Pod, node: Node) -> bool:
    """Whether the node is cordoned and the pod minds."""
    return bool(node.spec.unschedulable) and not covered(
        pod, Taint("node.kubernetes.io/unschedulable", "", "NoSchedule")
    )


def unwelcome(pod: Pod, node: Node) -> int:
    """How many wishes the pod would go against."""
    return sum(
        taint.effect == "PreferNoSchedule" and not covered(pod, taint)
        for taint in node.spec.taints or ()
    )
