"""Member kinds: what all members of a pod group must have in common."""

from __future__ import annotations

from typing import Final, NamedTuple

from moorage.core.objects.pods import Pod, priority

DEFAULT_POLICY: Final = "PreemptLowerPriority"


class MemberKind(NamedTuple):
    """That of a member."""

    scheduler_name: str
    priority: int
    preemption_policy: str


def kind_of(pod: Pod) -> MemberKind:
    """That of this pod."""
    spec = pod.spec
    return MemberKind(spec.scheduler_name, priority(pod), spec.preemption_policy or DEFAULT_POLICY)
