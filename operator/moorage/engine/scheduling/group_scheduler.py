"""The group scheduler: attempts of pod groups.

``core.queue.pod_group_members`` says which members go together, ``core.cycle.group_scheduling``
places them; here both are joined to the engine. What is told: ``engine.reports.group_reports``.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Generator, Sequence
from typing import TypeAlias

from moorage.core.cycle.context import CycleContext, Decision, Diagnosis
from moorage.core.cycle.group_attempt import GroupAttempt, attempt_of
from moorage.core.cycle.group_cycle import PlaceMember
from moorage.core.cycle.group_scheduling import GroupScheduling
from moorage.core.cycle.group_surroundings import GroupNews, OthersAround
from moorage.core.cycle.placed_members import uids_of
from moorage.core.framework.extenders import ExtenderAnswer, ExtenderQuestion
from moorage.core.framework.revisions import Revision
from moorage.core.framework.status import Status
from moorage.core.groups.group_spec import GroupSpec
from moorage.core.objects.pods import Pod
from moorage.core.queue.pod_group_members import PodGroupTracker
from moorage.core.queue.pod_group_state import PodGroupState
from moorage.core.queue.queued_pod import QueuedPodInfo, QueueState
from moorage.core.queue.scheduling_queue import SchedulingQueue
from moorage.core.recording.forks import fork
from moorage.engine.reports.group_reports import GroupReporter
from moorage.engine.reports.held_rooms import HeldRoom
from moorage.engine.scheduling.group_holds import HOLD_AFTER_SECONDS, HOLD_MESSAGE, GroupHolds
from moorage.ports.clock import Clock

MemberOutcome: TypeAlias = tuple[QueuedPodInfo, Decision]
"""A member of a group, and what became of it."""


@dataclasses.dataclass(frozen=True, slots=True)
class GroupDone:
    """What became of a group. ``victims`` have to go so that members of the PodGroup fit where they
    are nominated to. ``status``: of the group; None where it was not there any more.
    """

    members: Sequence[MemberOutcome]
    group: GroupSpec | None = None
    victims: tuple[Pod, ...] = ()
    status: Status | None = None


class GroupScheduler:
    """Begins attempts of pod groups, and has it told what comes of them."""

    def __init__(
        self,
        context: CycleContext,
        queue: SchedulingQueue,
        reporter: GroupReporter,
        clock: Clock,
    ) -> None:
        self._context = context
        self._queue = queue
        self._groups = queue.groups
        self._reporter = reporter
        self._clock = clock
        self._scheduling = GroupScheduling(context, fork)
        self._holds = GroupHolds(
            context.cache.nominations, reporter.pod_conditions, reporter.unplaced
        )

    @property
    def held_room(self) -> HeldRoom | None:
        """As ``RoomHolder``."""
        return self._holds.held_room

    def attempt(
        self,
        entry: QueuedPodInfo,
        revision: Revision,
        place: PlaceMember,
        broken: Callable[[], str],
        others: OthersAround,
    ) -> Generator[bool, bool | None, GroupDone]:
        """Place the group of a pod that came with companions; what became of each."""
        members = (entry, *entry.companions)
        attempt = attempt_of(members, self._groups, self._context.cache)
        if attempt is None:
            text = f'pod group "{entry.group}" is not there any more'
            return GroupDone([(one, Diagnosis.error(one.pod, revision, text)) for one in members])
        group, now = self._groups.group_of_entry(entry), self._clock.boottime()
        waits = _waits(attempt, group)
        holds = waits and self._holds.may_hold(group, now)
        around = _Around(members, attempt, group, self._groups, others)
        outcome = yield from self._scheduling.attempt(
            dataclasses.replace(attempt, holds=holds, around=around),
            revision,
            place,
            lambda: around.gone or broken(),
        )
        self._reporter.decided(group, attempt.group, outcome.status)
        note = self._reporter.overdue_note(group, now) if waits else ""
        decided = [_with_note(outcome.members[member.uid], note) for member in members]
        self._record_attempt(group, decided, waits, holds)
        told = list(zip(members, decided, strict=True))
        return GroupDone(told, attempt.group, outcome.victims, outcome.status)

    def binding_failed(self, entry: QueuedPodInfo, diagnosis: Diagnosis) -> None:
        """A pod that was placed could not be bound. A member of a group goes first the next time,
        and its group is reported.
        """
        if not entry.group or entry.state is not QueueState.IN_FLIGHT:
            return
        self._queue.prioritise(entry)
        self._reporter.binding_failed(self._groups.group_of_entry(entry), diagnosis)

    def report_due(self, now: float) -> None:
        """Say what is due: why members are gated, which groups have their minimum on nodes, and
        which have not fitted in time.
        """
        self._holds.end_if_due(now)
        self._try_holding(now)
        self._reporter.report_due(now)

    # ---- inside ----------------------------------------------------------------------------------

    def _record_attempt(
        self, group: PodGroupState, outcomes: Sequence[Decision], waits: bool, holds: bool
    ) -> None:
        """Keep what the attempt of a group came to. ``waits``: whether it needed more members than
        were placed before; ``holds``: whether it might hold room.
        """
        refusals = [outcome for outcome in outcomes if isinstance(outcome, Diagnosis)]
        if holds and self._holds.attempted(group, refusals, self._clock.boottime()):
            self._reporter.holds_room(group, outcomes[0].pod, HOLD_MESSAGE)
        fits = not waits or len(refusals) < len(outcomes)
        self._reporter.attempted(group, () if fits else refusals)

    def _try_holding(self, now: float) -> None:
        """Have groups tried that may hold room by now, and might not in their last attempt, though
        nothing has happened.
        """
        for group in list(self._reporter.unplaced):
            entry = next(iter(group.waiting.values()), None)
            due = group.complete_since + HOLD_AFTER_SECONDS
            if entry and entry.timestamp < due <= now and self._holds.may_hold(group, now):
                self._queue.retry(entry.uid, now)


@dataclasses.dataclass(frozen=True, slots=True)
class _Around:
    """``GroupSurroundings``: what the queue knows of a group that is being placed."""

    members: Sequence[QueuedPodInfo]
    attempt: GroupAttempt
    group: PodGroupState
    groups: PodGroupTracker
    others: OthersAround

    @property
    def gone(self) -> str:
        """Whether the PodGroup is another one by now, or none: then why, else ""."""
        spec, was = self.groups.spec(self.group), self.attempt.group
        there = spec is not None and spec.uid == was.uid
        return "" if there else f'pod group "{was.name}" is not there any more'

    @property
    def asks_extenders(self) -> bool:
        return self.others.asks_extenders

    def may_make_room(self) -> bool:
        return self.others.may_make_room()

    def ask(self, pod: Pod, question: ExtenderQuestion) -> ExtenderAnswer:
        return self.others.ask(pod, question)

    def news(self) -> GroupNews:
        lost = {one.uid for one in self.members if one.state is not QueueState.IN_FLIGHT}
        lost |= set(uids_of(self.attempt.scheduled)).difference(self.group.assigned)
        spec = self.groups.spec(self.group)
        if spec is None or self.group.met:
            return GroupNews(frozenset(lost))
        return GroupNews(frozenset(lost), spec.min_count)


def _waits(attempt: GroupAttempt, group: PodGroupState) -> bool:
    """Whether a group needs more members than are placed. Members beyond its minimum are waited for
    by nobody.
    """
    return not group.met and len(attempt.scheduled) < attempt.group.min_count


def _with_note(outcome: Decision, note: str) -> Decision:
    """What a member that is not placed is told beside its reason."""
    if not isinstance(outcome, Diagnosis) or not (note or outcome.held):
        return outcome
    message = outcome.message + note + (HOLD_MESSAGE if outcome.held else "")
    return dataclasses.replace(outcome, message=message)
