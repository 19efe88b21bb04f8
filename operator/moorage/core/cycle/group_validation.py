"""What members of a pod group must have in common, or none of them is tried.

Source: kube-scheduler's pod group cycle (v1.37), and its words.
"""

from __future__ import annotations

from collections.abc import Iterator

from moorage.core.cycle.group_attempt import GroupAttempt
from moorage.core.framework.status import SUCCESS, Status, error_status
from moorage.core.objects.pods import Pod, priority

_HEAD = "all pods in a single pod group should have the same"
DEFAULT_POLICY = "PreemptLowerPriority"


def validate(attempt: GroupAttempt) -> Status:
    """SUCCESS, or an error that names the first two that differ."""
    pods = (*attempt.members, *(pod for pod, _ in attempt.scheduled))
    return next((error_status(error) for error in _errors(attempt, pods)), SUCCESS)


def _errors(attempt: GroupAttempt, pods: tuple[Pod, ...]) -> Iterator[str]:
    """Members of groups that others than Kubernetes declare may differ in priority and policy."""
    first = pods[0]
    for pod in pods:
        if pod.spec.scheduler_name != first.spec.scheduler_name:
            names = f'"{pod.spec.scheduler_name}" and "{first.spec.scheduler_name}"'
            yield f"{_HEAD} .spec.schedulerName set, got: {names}"
        if not attempt.group.is_kubernetes:
            continue
        if priority(pod) != attempt.group.priority:
            got = f"{priority(pod)} and {attempt.group.priority}"
            yield f"{_HEAD} priority as the pod group's priority, got {got}"
        its, whose = attempt.group.preemption_policy, " as the pod group's preemption policy"
        if its is None:
            its, whose = _policy(first), ""
        if (mine := _policy(pod)) != its:
            yield f"{_HEAD} preemption policy{whose}, got {mine} and {its}"


def _policy(pod: Pod) -> str:
    return pod.spec.preemption_policy or DEFAULT_POLICY
