"""What members of a pod group must have in common, or none of them is tried.

Source: kube-scheduler's pod group cycle (v1.37), and its words.
"""

from __future__ import annotations

from collections.abc import Iterator

from moorage.core.cycle.group_attempt import GroupAttempt
from moorage.core.cycle.placed_members import kinds_of
from moorage.core.framework.status import SUCCESS, Status, error_status
from moorage.core.groups.member_kinds import MemberKind, kind_of

_HEAD = "all pods in a single pod group should have the same"


def validate(attempt: GroupAttempt) -> Status:
    """SUCCESS, or an error that names the first two that differ."""
    kinds = map(kind_of, attempt.members)
    both = dict.fromkeys((*kinds, *sorted(kinds_of(attempt.scheduled))))
    return next((error_status(error) for error in _errors(attempt, tuple(both))), SUCCESS)


def _errors(attempt: GroupAttempt, kinds: tuple[MemberKind, ...]) -> Iterator[str]:
    """Members of groups that others than Kubernetes declare may differ in priority and policy."""
    first = kinds[0]
    for kind in kinds:
        if kind.scheduler_name != first.scheduler_name:
            names = f'"{kind.scheduler_name}" and "{first.scheduler_name}"'
            yield f"{_HEAD} .spec.schedulerName set, got: {names}"
        if not attempt.group.is_kubernetes:
            continue
        if kind.priority != attempt.group.priority:
            got = f"{kind.priority} and {attempt.group.priority}"
            yield f"{_HEAD} priority as the pod group's priority, got {got}"
        its, whose = attempt.group.preemption_policy, " as the pod group's preemption policy"
        if its is None:
            its, whose = first.preemption_policy, ""
        if (mine := kind.preemption_policy) != its:
            yield f"{_HEAD} preemption policy{whose}, got {mine} and {its}"
