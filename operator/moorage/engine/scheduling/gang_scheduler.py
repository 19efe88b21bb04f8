"""The gang scheduler: attempts of pod groups, and what is reported of their members and PodGroups.

``core.queue.pod_group_members`` says which members go together, ``core.cycle.gang_cycle`` places
them; here both are joined to the engine.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Generator, Sequence
from typing import NamedTuple, Protocol, TypeAlias

from moorage.core.cycle.context import CycleContext, Decision, Diagnosis
from moorage.core.cycle.gang_cycle import Gang, place_gang
from moorage.core.cycle.group_attempts import GroupScheduling, attempt_of
from moorage.core.framework.placement_contract import Placement
from moorage.core.framework.revisions import Revision
from moorage.core.framework.status import SUCCESS, Code
from moorage.core.groups.group_spec import GroupSpec
from moorage.core.objects.meta import key
from moorage.core.objects.pods import Pod
from moorage.core.queue.pod_group_members import PodGroupState
from moorage.core.queue.queued_pod import QueuedPodInfo, QueueState
from moorage.core.queue.scheduling_queue import SchedulingQueue
from moorage.core.recording.forks import fork
from moorage.engine.reports.group_conditions import GroupConditionWriter
from moorage.engine.reports.held_pods import HeldPods
from moorage.engine.reports.pod_conditions import (
    GATED,
    UNSCHEDULABLE,
    PodConditionUpdate,
    PodConditionWriter,
    pod_object,
)
from moorage.engine.scheduling.gang_holds import HOLD_MESSAGE, GangNominations
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
    are nominated to.
    """

    members: Sequence[MemberOutcome]
    group: GroupSpec | None = None
    victims: tuple[Pod, ...] = ()


class MemberPlacer(Protocol):
    """Places pods in the cache, one by one, or says why not."""

    def member(self, pod: Pod, *, holds: bool) -> Decision:
        """``holds``: whether room may be held for it, and it be nominated instead."""

    def in_placement(self, pod: Pod, placement: Placement, /) -> Decision:
        """On one of these nodes."""


class GroupReports(NamedTuple):
    """Who writes what is said of groups and their members."""

    pod_conditions: PodConditionWriter
    group_conditions: GroupConditionWriter
    held_pods: HeldPods


class GangScheduler:
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
        self._scheduling = GroupScheduling(context, fork)
        self._holds = GangNominations(
            context.cache.nominations, reports.pod_conditions, self._unplaced
        )

    def attempt(
        self,
        entry: QueuedPodInfo,
        revision: Revision,
        placer: MemberPlacer,
        broken: Callable[[], str],
    ) -> Generator[bool, bool | None, GroupDone]:
        """Place the group of a pod that came with companions; what became of each. A PodGroup of
        Kubernetes is placed as ``GroupScheduling`` does, others as ``gang_cycle.place_gang``.
        """
        if entry.as_group:
            return (yield from self._attempt_pod_group(entry, revision, placer, broken))
        members = (entry, *entry.companions)
        group, now = self._groups.group_of_entry(entry), self._clock.boottime()
        holds = self._holds.may_hold(group, now)
        gang = self._gang(group, len(members), now, holds)
        pods = [member.pod for member in members]
        place_one = functools.partial(placer.member, holds=holds)
        outcomes = yield from place_gang(
            gang, pods, place_one, self._context, lambda: _gone(members) or broken()
        )
        self._record_attempt(group, outcomes, holds)
        return GroupDone(list(zip(members, outcomes, strict=True)))

    def member_bound(self, entry: QueuedPodInfo) -> None:
        """A pod was bound; once enough members of a PodGroup are, its condition says so."""
        if entry.group is None:
            return
        group = self._groups.group_of_entry(entry)
        spec = self._groups.spec(group)
        if spec is not None and not spec.initially_scheduled and group.bound >= spec.min_count:
            self._group_conditions.report(spec, SUCCESS)

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
        self._report_met()
        self._report_gated(now)
        self._report_overdue(now)

    # ---- inside ----------------------------------------------------------------------------------

    def _attempt_pod_group(
        self,
        entry: QueuedPodInfo,
        revision: Revision,
        placer: MemberPlacer,
        broken: Callable[[], str],
    ) -> Generator[bool, bool | None, GroupDone]:
        members = (entry, *entry.companions)
        attempt = attempt_of(members, self._groups, self._context.cache)
        if attempt is None:
            text = f'pod group "{entry.group}" is not there any more'
            return GroupDone([(one, Diagnosis.error(one.pod, revision, text)) for one in members])
        outcome = yield from self._scheduling.attempt(
            attempt, revision, placer.in_placement, lambda: _gone(members) or broken()
        )
        if outcome.status.code is not Code.SUCCESS:
            self._group_conditions.report(attempt.group, outcome.status)
        decided = [(member, outcome.members[member.uid]) for member in members]
        return GroupDone(decided, attempt.group, outcome.victims)

    def _gang(self, group: PodGroupState, members: int, now: float, holds: bool) -> Gang:
        """What is to be placed of a group, so many of whose members are in flight."""
        return Gang(
            group.name,
            needed=self._groups.needed(group) + members,  # in flight, they count as on their way
            min_member=self._groups.min_count(group) or 0,
            message_suffix=self._overdue_note(group, now),
            hold_message_suffix=HOLD_MESSAGE if holds else "",
        )

    def _record_attempt(
        self, group: PodGroupState, outcomes: Sequence[Decision], holds: bool
    ) -> None:
        """Keep what the attempt of a group came to; ``holds``: whether it might hold room."""
        refusals = [outcome for outcome in outcomes if isinstance(outcome, Diagnosis)]
        if holds and self._holds.attempted(group, refusals, self._clock.boottime()):
            first = pod_object(outcomes[0].pod)
            note = f'pod group "{group.name}" has waited in vain.{HOLD_MESSAGE}'
            self._emit(first, "GangHoldsRoom", note, group)
            self._emit_on_declaration(group, "GangHoldsRoom", note, first)
        if len(refusals) == len(outcomes):
            self._unplaced[group] = refusals
        else:
            self._unplaced.pop(group, None)
            self._overdue.pop(group, None)

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
        for group in [one for one in self._groups.met if self._queue.serves(one.scheduler_name)]:
            del self._groups.met[group]
            spec = self._groups.spec(group)
            if spec is not None and group.bound >= spec.min_count:
                self._group_conditions.report(spec, SUCCESS)

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
        return f" All members have been here for longer than scheduleTimeoutSeconds, {limit}."

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


def _gone(members: Sequence[QueuedPodInfo]) -> str:
    """Which member is not to be placed any more, "" when all are."""
    gone = next((member for member in members if member.state is not QueueState.IN_FLIGHT), None)
    return f"pod {key(gone.pod)} is gone, is going, or has a node" if gone is not None else ""
