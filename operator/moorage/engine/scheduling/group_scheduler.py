"""The group scheduler: attempts of pod groups, and what is reported of their members and PodGroups.

``core.queue.pod_group_members`` says which members go together, ``core.cycle.group_scheduling``
places them; here both are joined to the engine.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Generator, Sequence
from typing import NamedTuple, TypeAlias

from moorage.core.cycle.context import CycleContext, Decision, Diagnosis
from moorage.core.cycle.group_attempt import GroupAttempt, attempt_of
from moorage.core.cycle.group_cycle import PlaceMember
from moorage.core.cycle.group_scheduling import GroupScheduling
from moorage.core.cycle.group_surroundings import GroupNews, OthersAround
from moorage.core.cycle.placed_members import uids_of
from moorage.core.framework.extenders import ExtenderAnswer, ExtenderQuestion
from moorage.core.framework.revisions import Revision
from moorage.core.framework.status import SUCCESS, Code, Status
from moorage.core.groups.group_spec import GroupSpec
from moorage.core.objects.pods import Pod
from moorage.core.queue.pod_group_members import PodGroupTracker
from moorage.core.queue.pod_group_state import PodGroupState
from moorage.core.queue.queued_pod import QueuedPodInfo, QueueState
from moorage.core.queue.scheduling_queue import SchedulingQueue
from moorage.core.recording.forks import fork
from moorage.engine.reports.group_conditions import GroupConditionWriter
from moorage.engine.reports.held_pods import HeldPods
from moorage.engine.reports.held_rooms import HeldRoom
from moorage.engine.reports.pod_conditions import (
    GATED,
    UNSCHEDULABLE,
    PodConditionUpdate,
    PodConditionWriter,
    pod_object,
)
from moorage.engine.scheduling.group_holds import HOLD_AFTER_SECONDS, HOLD_MESSAGE, GroupHolds
from moorage.ports.bundle import Ports
from moorage.ports.event_recorder import Event, ObjectRef

SETTLE_SECONDS = 1.0
"""Seconds between a change of a group that is not complete and what is written to its members: more
of them may be coming.
"""
REPORT_INTERVAL_SECONDS = 10.0
"""Seconds, at least, between two such reports: with each one all gated members are written to."""


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


class GroupReports(NamedTuple):
    """Who writes what is said of groups and their members."""

    pod_conditions: PodConditionWriter
    group_conditions: GroupConditionWriter
    held_pods: HeldPods


class GroupScheduler:
    """Begins attempts of pod groups and reports what comes of them."""

    def __init__(
        self,
        context: CycleContext,
        queue: SchedulingQueue,
        reports: GroupReports,
        ports: Ports,
    ) -> None:
        self._context = context
        self._queue = queue
        self._groups = queue.groups
        self._pod_conditions, self._group_conditions, self._held_pods = reports
        self._clock = ports.clock
        self._events = ports.events
        self._due: dict[PodGroupState, float] = {}
        """Groups that are not complete: when their members are to be written to."""
        self._last_report: dict[PodGroupState, float] = {}
        """When they last were."""
        self._unplaced: dict[PodGroupState, list[Diagnosis]] = {}
        """Groups that are complete and did not fit, and the diagnoses of their members."""
        self._overdue: dict[PodGroupState, float] = {}
        """Groups of which it was reported that they did not fit in time, and since when they had
        been complete.
        """
        self._placed_as: dict[PodGroupState, Status] = {}
        """What is to be said of groups once their minimum is bound: in which domain members lie."""
        self._scheduling = GroupScheduling(context, fork)
        self._holds = GroupHolds(context.cache.nominations, reports.pod_conditions, self._unplaced)

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
        if outcome.status.code is Code.SUCCESS:
            self._remember(group, outcome.status)
        else:
            self._group_conditions.report(attempt.group, outcome.status)
        note = self._overdue_note(group, now) if waits else ""
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
        group = self._groups.group_of_entry(entry)
        least = self._groups.min_count(group) or 0
        if least > 1:
            pod, name = diagnosis.pod, diagnosis.pod.metadata.name
            note = (
                f'pod group "{group.name}": {group.bound} members are bound (minMember {least}), '
                f"{name!r} is not: {diagnosis.message}"
            )
            self._emit(pod_object(pod), "GangIncomplete", note, group)
            self._emit_on_declaration(group, "GangIncomplete", note, pod_object(pod))

    def report_due(self, now: float) -> None:
        """Say what is due: why members are gated, which groups have their minimum on nodes, and
        which have not fitted in time.
        """
        self._holds.end_if_due(now)
        self._try_holding(now)
        self._report_met()
        self._report_gated(now)
        self._report_overdue(now)

    # ---- inside ----------------------------------------------------------------------------------

    def _remember(self, group: PodGroupState, status: Status) -> None:
        """What is said of where members lie, until their minimum is bound."""
        self._placed_as = {
            one: said
            for one, said in self._placed_as.items()
            if one.present and one.spec is not None
        }
        if status.reasons:
            self._placed_as[group] = status

    def _record_attempt(
        self, group: PodGroupState, outcomes: Sequence[Decision], waits: bool, holds: bool
    ) -> None:
        """Keep what the attempt of a group came to. ``waits``: whether it needed more members than
        were placed before; ``holds``: whether it might hold room.
        """
        refusals = [outcome for outcome in outcomes if isinstance(outcome, Diagnosis)]
        if holds and self._holds.attempted(group, refusals, self._clock.boottime()):
            first = pod_object(outcomes[0].pod)
            note = f'pod group "{group.name}" has waited in vain.{HOLD_MESSAGE}'
            self._emit(first, "GangHoldsRoom", note, group)
            self._emit_on_declaration(group, "GangHoldsRoom", note, first)
        if waits and len(refusals) == len(outcomes):
            self._unplaced[group] = refusals
        else:
            self._unplaced.pop(group, None)
            self._overdue.pop(group, None)

    def _try_holding(self, now: float) -> None:
        """Have groups tried that may hold room by now, and might not in their last attempt, though
        nothing has happened.
        """
        for group in list(self._unplaced):
            entry = next(iter(group.waiting.values()), None)
            due = group.complete_since + HOLD_AFTER_SECONDS
            if entry and entry.timestamp < due <= now and self._holds.may_hold(group, now):
                self._queue.retry(entry.uid, now)

    def _report_gated(self, now: float) -> None:
        reported = self._last_report = {
            group: at
            for group, at in self._last_report.items()
            if at + REPORT_INTERVAL_SECONDS > now
        }
        for group in self._groups.changed:
            earliest = reported.get(group, -REPORT_INTERVAL_SECONDS) + REPORT_INTERVAL_SECONDS
            self._due.setdefault(group, max(now + SETTLE_SECONDS, earliest))
        self._groups.changed.clear()
        for group in [group for group, due in self._due.items() if due <= now]:
            del self._due[group]
            reported[group] = now
            for entry in group.gated:
                message = self._groups.member_message(entry)
                self._pod_conditions.write(PodConditionUpdate(entry.pod, GATED, message))
                self._held_pods.look_at(entry)

    def _report_met(self) -> None:
        """Of groups that a former leader bound, too, which did not come to say it."""
        groups = self._groups
        for group in [one for one in groups.unsaid if self._queue.serves(one.scheduler_name)]:
            del groups.unsaid[group]
            spec = groups.spec(group) if groups.is_met_unsaid(group) else None
            if spec is not None:
                self._group_conditions.report(spec, self._placed_as.pop(group, SUCCESS))

    def _report_overdue(self, now: float) -> None:
        for group, diagnoses in list(self._unplaced.items()):
            if not group.complete or not group.waiting:
                del self._unplaced[group]
                self._overdue.pop(group, None)
            elif self._overdue.get(group) != group.complete_since and (
                reproach := self._overdue_note(group, now)
            ):
                self._overdue[group] = group.complete_since
                self._emit_on_declaration(group, "GangOverdue", diagnoses[0].message + reproach)
                for diagnosis in diagnoses:
                    self._pod_conditions.write(
                        PodConditionUpdate(
                            diagnosis.pod, UNSCHEDULABLE, diagnosis.message + reproach
                        )
                    )

    def _overdue_note(self, group: PodGroupState, now: float) -> str:
        """What is added to messages once the group has been complete for longer than its PodGroup
        allows.
        """
        spec = self._groups.spec(group)
        limit = spec.overdue_seconds if spec is not None else None
        if not limit or now - group.complete_since < limit:
            return ""
        return f" Enough members have been here for longer than scheduleTimeoutSeconds, {limit}."

    def _emit(
        self,
        regarding: ObjectRef,
        reason: str,
        note: str,
        group: PodGroupState,
        related: ObjectRef | None = None,
    ) -> None:
        event = Event(
            regarding,
            reason,
            note,
            "Scheduling",
            controller=group.scheduler_name,
            warning=True,
            related=related,
        )
        self._events.record(event)

    def _emit_on_declaration(
        self, group: PodGroupState, reason: str, note: str, related: ObjectRef | None = None
    ) -> None:
        spec = self._groups.spec(group)
        if spec is not None and spec.uid:
            api, namespace, name = spec.key
            regarding = ObjectRef("PodGroup", name, spec.uid, namespace, api)
            self._emit(regarding, reason, note, group, related)


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
