"""Holds: room that is kept free of pods of lower priority for the first gang that waits, so that a stream of these cannot starve it.

A gang holds nothing at first. One that has waited in vain for ``AFTER`` seconds may hold room, one gang at a time, the most important
one, the one that waits longest among equals; for ``LASTS`` seconds at most, and not again for as long. Its members are nominated: those
that fit to where they do, the others to nodes where they would without pods of lower priority, which stay until they end. Pods of its
own priority or a higher one are not kept out, so that who may not choose a priority cannot hold up others. A gang that would not fit
even then holds nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from moorage.core.columns.nominations import Nominations
from moorage.core.cycle.context import Diagnosis
from moorage.core.objects.pods import Pod, priority
from moorage.core.queue.pod_group_members import Group
from moorage.engine.reports.pod_conditions import Failures

AFTER = 30.0
LASTS = 300.0
LARGEST = 200
"""Members of a gang that room is held for, at most: it is tried without backoff while it holds some."""
NOTE = f" Room is held for the group against pods of lower priority, for {LASTS:g} s at most."


class Holds:
    """See the module's docstring. ``vain``: the groups that are complete and did not fit, with what was said of it."""

    def __init__(self, nominations: Nominations, failures: Failures, vain: Mapping[Group, Sequence[Diagnosis]]) -> None:
        self._nominations = nominations
        self._failures = failures
        self._vain = vain
        self._holder: Group | None = None
        self._until = 0.0
        self._resting: dict[Group, float] = {}
        """Groups that have held room in vain, or could not, and until when they may not again."""

    def may(self, group: Group, now: float) -> bool:
        """Whether a group whose attempt begins may hold room."""
        if self._holder is not None:
            return self._holder is group
        due = [other for other in self._vain if other is group or (other.complete and other.waiting)]
        due = [other for other in due if now - other.complete_since >= AFTER and now >= self._resting.get(other, 0.0)]
        due = [other for other in due if other.present <= LARGEST]
        return group in due and group is min(due, key=self._rank)

    def attempted(self, group: Group, refusals: Sequence[Diagnosis], now: float) -> bool:
        """The attempt of a group that might hold room ended so; whether it holds some from now on and did not before."""
        if any(refusal.held for refusal in refusals):
            begins = self._holder is not group
            if begins:
                self._holder, self._until = group, now + LASTS
            return begins
        self._holder = None
        self._rest(group, now + AFTER, now)
        return False

    def end_if_due(self, now: float) -> None:
        """Let go of what is held for too long, or by a group that cannot be placed any more. An attempt is waited for."""
        group = self._holder
        if group is None or group.flying or (now < self._until and group.complete and group.waiting):
            return
        self._holder = None
        self._rest(group, now + LASTS, now)
        for entry in group.waiting.values():
            if self._nominations.node(entry.uid):
                self._nominations.decide(entry.pod, "")
                self._failures.renominate(entry.pod)

    def _rest(self, group: Group, until: float, now: float) -> None:
        self._resting = {other: end for other, end in self._resting.items() if end > now} | {group: until}

    def _rank(self, group: Group) -> tuple[int, float]:
        return -max(map(priority, self._pods(group)), default=0), group.complete_since

    def _pods(self, group: Group) -> list[Pod]:
        return [diagnosis.pod for diagnosis in self._vain[group]]
