"""Group reports: what is told of pod groups, in conditions of their members and PodGroups and in
events.

Who places groups says what came of them; some of that is told at once, some when it is due: why
members are gated, which groups have their minimum on nodes, and which have not fitted in time.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from moorage.core.cycle.context import Diagnosis
from moorage.core.framework.status import SUCCESS, Code, Status
from moorage.core.groups.group_spec import GroupSpec
from moorage.core.objects.pods import Pod
from moorage.core.queue.pod_group_state import PodGroupState
from moorage.core.queue.scheduling_queue import SchedulingQueue
from moorage.engine.reports.group_conditions import GroupConditionWriter
from moorage.engine.reports.held_pods import HeldPods
from moorage.engine.reports.pod_conditions import (
    GATED,
    UNSCHEDULABLE,
    PodConditionUpdate,
    PodConditionWriter,
    pod_object,
)
from moorage.ports.event_recorder import Event, EventRecorder, ObjectRef

SETTLE_SECONDS = 1.0
"""Seconds between a change of a group that is not complete and what is written to its members: more
of them may be coming.
"""
REPORT_INTERVAL_SECONDS = 10.0
"""Seconds, at least, between two such reports: with each one all gated members are written to."""


class GroupReports(NamedTuple):
    """Who writes what is said of groups and their members."""

    pod_conditions: PodConditionWriter
    group_conditions: GroupConditionWriter
    held_pods: HeldPods


class GroupReporter:
    """Tells what becomes of groups."""

    def __init__(
        self, queue: SchedulingQueue, reports: GroupReports, events: EventRecorder
    ) -> None:
        self._queue = queue
        self._groups = queue.groups
        self.pod_conditions, self._group_conditions, self._held_pods = reports
        self._events = events
        self._due: dict[PodGroupState, float] = {}
        """Groups that are not complete: when their members are to be written to."""
        self._last_report: dict[PodGroupState, float] = {}
        """When they last were."""
        self.unplaced: dict[PodGroupState, Sequence[Diagnosis]] = {}
        """Groups that are complete and did not fit, and the diagnoses of their members."""
        self._overdue: dict[PodGroupState, float] = {}
        """Groups of which it was reported that they did not fit in time, and since when they had
        been complete.
        """
        self._placed_as: dict[PodGroupState, Status] = {}
        """What is to be said of groups once their minimum is bound: in which domain members lie."""

    def decided(self, group: PodGroupState, spec: GroupSpec, status: Status) -> None:
        """What came of a group. Of one that fits it is kept where members lie, until its minimum is
        bound.
        """
        if status.code is not Code.SUCCESS:
            self._group_conditions.report(spec, status)
            return
        self._placed_as = {
            one: said
            for one, said in self._placed_as.items()
            if one.present and one.spec is not None
        }
        if status.reasons:
            self._placed_as[group] = status

    def attempted(self, group: PodGroupState, refusals: Sequence[Diagnosis]) -> None:
        """An attempt is over; ``refusals``: of all members of one that waits in vain."""
        if refusals:
            self.unplaced[group] = refusals
        else:
            self.unplaced.pop(group, None)
            self._overdue.pop(group, None)

    def holds_room(self, group: PodGroupState, pod: Pod, message: str) -> None:
        """Room is held from now on; ``pod`` is one of its members."""
        note = f'pod group "{group.name}" has waited in vain.{message}'
        self._emit(pod_object(pod), "GangHoldsRoom", note, group)
        self._emit_on_declaration(group, "GangHoldsRoom", note, pod_object(pod))

    def binding_failed(self, group: PodGroupState, diagnosis: Diagnosis) -> None:
        """A member that was placed could not be bound, so the group may be there in part."""
        least = self._groups.min_count(group) or 0
        if least > 1:
            pod, name = diagnosis.pod, diagnosis.pod.metadata.name
            note = (
                f'pod group "{group.name}": {group.bound} members are bound (minMember {least}), '
                f"{name!r} is not: {diagnosis.message}"
            )
            self._emit(pod_object(pod), "GangIncomplete", note, group)
            self._emit_on_declaration(group, "GangIncomplete", note, pod_object(pod))

    def overdue_note(self, group: PodGroupState, now: float) -> str:
        """What is added to messages once the group has been complete for longer than its PodGroup
        allows.
        """
        spec = self._groups.spec(group)
        limit = spec.overdue_seconds if spec is not None else None
        if not limit or now - group.complete_since < limit:
            return ""
        return f" Enough members have been here for longer than scheduleTimeoutSeconds, {limit}."

    def report_due(self, now: float) -> None:
        """Say what is due."""
        self._report_met()
        self._report_gated(now)
        self._report_overdue(now)

    # ---- inside ----------------------------------------------------------------------------------

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
                self.pod_conditions.write(PodConditionUpdate(entry.pod, GATED, message))
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
        for group, diagnoses in list(self.unplaced.items()):
            if not group.complete or not group.waiting:
                del self.unplaced[group]
                self._overdue.pop(group, None)
            elif self._overdue.get(group) != group.complete_since and (
                reproach := self.overdue_note(group, now)
            ):
                self._overdue[group] = group.complete_since
                self._emit_on_declaration(group, "GangOverdue", diagnoses[0].message + reproach)
                for diagnosis in diagnoses:
                    self.pod_conditions.write(
                        PodConditionUpdate(
                            diagnosis.pod, UNSCHEDULABLE, diagnosis.message + reproach
                        )
                    )

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
