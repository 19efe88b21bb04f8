"""A group's attempt: what is to be placed, and what of it is left by now."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Sequence
from typing import TypeVar

from moorage.core.columns.cache import Cache
from moorage.core.cycle.group_steps import AT_ANY_MOMENT, Moment, Steps, patiently
from moorage.core.cycle.group_surroundings import UNDISTURBED, GroupNews, GroupSurroundings
from moorage.core.cycle.placed_members import PlacedMembers, without
from moorage.core.framework.placement_contract import Assignments
from moorage.core.groups.group_spec import GroupSpec
from moorage.core.objects.pods import Pod, priority
from moorage.core.queue.pod_group_members import PodGroupTracker
from moorage.core.queue.queued_pod import QueuedPodInfo

T = TypeVar("T")


@dataclasses.dataclass(frozen=True, slots=True)
class GroupAttempt:
    """What is to be placed: the group, its members in the order in which they are tried, and those
    that have a node.
    """

    group: GroupSpec
    members: Sequence[Pod]
    scheduled: Assignments = ()
    """Members that have a node, assumed or bound, with its name."""
    moment: Moment = AT_ANY_MOMENT
    holds: bool = False
    """Whether room may be held for it if it does not fit and none can be made."""
    around: GroupSurroundings = UNDISTURBED

    def at_once(self, ask: Callable[[], T]) -> Steps[T]:
        """What is asked of the state of one moment; where time runs out, of a later one."""
        return patiently(functools.partial(self.moment, ask))

    def by_now(self, news: GroupNews) -> GroupAttempt:
        """The same, with the members that are left and the minCount of now."""
        group, lost = self.group, news.lost
        if news.min_count is not None:
            group = dataclasses.replace(group, min_count=news.min_count)
        members = [pod for pod in self.members if pod.metadata.uid not in lost]
        scheduled = without(self.scheduled, lost)
        return dataclasses.replace(self, group=group, members=members, scheduled=scheduled)

    @property
    def can_be_enough(self) -> bool:
        """Whether there are so many members that the group may fit."""
        there = len(self.members) + len(self.scheduled)
        return bool(self.members) and there >= self.group.min_count


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
    if group.met:  # the minimum was met: who replaces others needs nobody
        spec = dataclasses.replace(spec, min_count=1)
    return GroupAttempt(
        spec,
        [member.pod for member in sorted(members, key=_order)],
        PlacedMembers(tuple(group.placed), group.kinds, cache),
    )


def _order(entry: QueuedPodInfo) -> tuple[int, int, float, str]:
    """Lower for the member that is tried first."""
    pod = entry.pod
    return -priority(pod), -entry.attempts, entry.timestamp, pod.metadata.name
