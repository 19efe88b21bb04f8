"""Attempts of pod groups on the wire: what changed of their placed members since the last attempt.

A group of thousands that is placed bit by bit has an attempt for each bit, and nearly the same
members on nodes each time. So an entry has those that came and went since the entry before it, and
all of them where none was written since the last key frame.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from moorage.core.columns.changes import Entry
from moorage.core.cycle.decisions import GroupAttemptBegan
from moorage.core.framework.revisions import Revision
from moorage.core.groups.group_spec import GroupSpec
from moorage.core.objects.pod_groups import GroupKey
from moorage.core.objects.pods import Pod

_FACTS: Final = ("attempt", "group", "members", "holds")


class WiredGroup(Entry, frozen=True, tag=38):
    """``whole``: ``came`` are all that have a node, whatever was written before."""

    attempt: int
    group: GroupSpec
    members: tuple[Pod, ...]
    revision: int
    holds: bool
    whole: bool
    came: tuple[str, ...]
    went: tuple[str, ...] = ()

    def as_now(self) -> WiredGroup:
        """It is."""
        return self


class WiredWholeGroup(Entry, frozen=True, tag=36):
    """As the first recordings with groups have it: with all UIDs. Those of a few hours had a bool
    before the revision, which nobody reads any more; ``rest`` is what follows then.
    """

    attempt: int
    group: GroupSpec
    members: tuple[Pod, ...]
    scheduled: tuple[str, ...]
    revision: int | bool
    holds: bool | int = False
    rest: bool = False

    def as_now(self) -> WiredGroup:
        """The same, as it is written now."""
        shifted = isinstance(self.revision, bool)
        number, holds = (self.holds, self.rest) if shifted else (self.revision, self.holds)
        head = self.attempt, self.group, self.members
        return WiredGroup(*head, int(number), bool(holds), whole=True, came=self.scheduled)


class LastPlacedMembers:
    """The placed members (UIDs) of each group at its last attempt, for who writes or reads."""

    def __init__(self) -> None:
        self._last: dict[tuple[GroupKey, str], tuple[str, ...]] = {}

    def clear(self) -> None:
        """What was written before is not there for who reads."""
        self._last.clear()

    def wired(self, began: GroupAttemptBegan, revision: int) -> WiredGroup:
        """The entry; ``revision``: the number of the attempt's."""
        which, now = _which(began), began.scheduled
        before = self._last.get(which)
        self._last[which] = now
        facts = {name: getattr(began, name) for name in _FACTS}
        if before is not None:
            there, known = set(now), set(before)
            came = tuple(uid for uid in now if uid not in known)
            went = tuple(uid for uid in before if uid not in there)
            if _changed(before, came, went) == now:
                return WiredGroup(**facts, revision=revision, whole=False, came=came, went=went)
        return WiredGroup(**facts, revision=revision, whole=True, came=now)

    def read(self, wired: WiredGroup, revision: Revision | None) -> GroupAttemptBegan | None:
        """What was written; None where its revision cannot be made here, or what it goes on from is
        not known.
        """
        which = _which(wired)
        before = () if wired.whole else self._last.get(which)
        if before is None:
            return None
        now = self._last[which] = _changed(before, wired.came, wired.went)
        if revision is None:
            return None
        facts: dict[str, Any] = {name: getattr(wired, name) for name in _FACTS}
        return GroupAttemptBegan(**facts, scheduled=now, revision=revision)


def _which(entry: GroupAttemptBegan | WiredGroup) -> tuple[GroupKey, str]:
    """Members that name another schedulerName are another group."""
    return entry.group.key, entry.members[0].spec.scheduler_name


def _changed(before: Sequence[str], came: Sequence[str], went: Sequence[str]) -> tuple[str, ...]:
    gone = set(went)
    return (*(uid for uid in before if uid not in gone), *came)
