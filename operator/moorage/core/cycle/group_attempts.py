"""A whole attempt of a pod group: what members must have in common, the cycle, and room that is
made for a group that does not fit.

Source: kube-scheduler's pod group cycle (v1.37).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Sequence

from moorage.core.columns.cache import Cache
from moorage.core.cycle.context import CycleContext
from moorage.core.cycle.group_cycle import (
    GroupAttempt,
    GroupResult,
    PlaceMember,
    Steps,
    schedule_group,
)
from moorage.core.cycle.group_outcome import GroupOutcome, group_outcome
from moorage.core.cycle.group_post_filter import NO_ROOM, GroupPostFilters
from moorage.core.cycle.group_preemption import Fork
from moorage.core.cycle.group_validation import validate
from moorage.core.framework.revisions import Revision
from moorage.core.framework.status import Code
from moorage.core.objects.pods import Pod, priority
from moorage.core.queue.pod_group_members import PodGroupTracker
from moorage.core.queue.queued_pod import QueuedPodInfo


class GroupScheduling:
    """Attempts groups on one context. ``fork`` copies the state, for what nobody else may see."""

    def __init__(
        self,
        context: CycleContext,
        fork: Callable[[CycleContext, Collection[str]], Steps[CycleContext]],
    ) -> None:
        self._context = context
        self._fork = fork

    def attempt(
        self,
        attempt: GroupAttempt,
        revision: Revision,
        place: PlaceMember,
        broken: Callable[[], str] = lambda: "",
    ) -> Steps[GroupOutcome]:
        """The outcome of an attempt; ``place`` and ``broken`` as in ``schedule_group``."""
        common, room = validate(attempt), NO_ROOM
        if common.code is not Code.SUCCESS:
            return group_outcome(attempt, GroupResult(common), revision)
        result = yield from schedule_group(attempt, place, self._context, revision, broken)
        if result.status.code is Code.UNSCHEDULABLE:
            plugins = GroupPostFilters(revision, self._context, self._copy)
            room = yield from plugins.run(attempt, result)
        return group_outcome(attempt, result, revision, room)

    @property
    def _copy(self) -> Fork:
        return lambda without: self._fork(self._context, without)


def attempt_of(
    members: Sequence[QueuedPodInfo], groups: PodGroupTracker, cache: Cache
) -> GroupAttempt | None:
    """What is to be tried of the PodGroup of these, which are in flight; None where it is not there
    any more.
    """
    group = groups.group_of_entry(members[0])
    spec = groups.spec(group)
    if spec is None:
        return None
    if group.begun:  # the minimum was met: who replaces others needs nobody
        spec = dataclasses.replace(spec, min_count=1)
    there = [info for uid in group.assigned if (info := cache.pod_info(uid)) is not None]
    return GroupAttempt(
        spec,
        [member.pod for member in sorted(members, key=_order)],
        [(info.pod, info.node) for info in there if isinstance(info.pod, Pod)],
    )


def _order(entry: QueuedPodInfo) -> tuple[int, int, float, str]:
    """Lower for the member that is tried first."""
    pod = entry.pod
    return -priority(pod), -entry.attempts, entry.timestamp, pod.metadata.name
