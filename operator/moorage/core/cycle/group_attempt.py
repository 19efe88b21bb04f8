"""A group's attempt: what is to be placed, and what of it is left by now."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Sequence
from typing import TypeVar

from moorage.core.cycle.group_steps import AT_ANY_MOMENT, Moment, Steps, patiently
from moorage.core.cycle.group_surroundings import UNDISTURBED, GroupNews, GroupSurroundings
from moorage.core.framework.placement_contract import Assignments
from moorage.core.groups.group_spec import GroupSpec
from moorage.core.objects.pods import Pod

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
        scheduled = [one for one in self.scheduled if one[0].metadata.uid not in lost]
        return dataclasses.replace(self, group=group, members=members, scheduled=scheduled)

    @property
    def can_be_enough(self) -> bool:
        """Whether there are so many members that the group may fit."""
        there = len(self.members) + len(self.scheduled)
        return bool(self.members) and there >= self.group.min_count
