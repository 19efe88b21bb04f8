"""Gangs: attempts of pod groups, and what their members and their PodGroups are told.

``core.queue.pod_group_members`` says which members go together, ``core.cycle.gang_cycle`` places them; here both are joined to the engine.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Generator, Sequence
from typing import Protocol, TypeAlias

from moorage.core.cycle.context import Diagnosis, Placement, Scheduler
from moorage.core.cycle.gang_cycle import Gang, placing
from moorage.core.objects.meta import key
from moorage.core.objects.pod_groups import API, PodGroup
from moorage.core.objects.pods import Pod
from moorage.core.queue.pod_group_members import Group
from moorage.core.queue.queued_pod import Entry, Place
from moorage.core.queue.scheduling_queue import Backlog
from moorage.engine.reports.pod_conditions import GATED, UNSCHEDULABLE, Failures, Verdict, pod_object
from moorage.engine.scheduling.gang_holds import NOTE, Holds
from moorage.ports.bundle import Surroundings
from moorage.ports.event_recorder import Event, ObjectRef

QUIET = 1.0
"""Seconds between a change of a group that is not complete and what its members are told: more of them may be coming."""
REST = 10.0
"""Seconds, at least, between two such tellings: with each one all gated members are written to."""


Member: TypeAlias = tuple[Entry, Placement | Diagnosis]
"""A member of a group, and what became of it."""


class HoldingPlacer(Protocol):
    """Places one pod, or says why not; whether it may be nominated instead."""

    def __call__(self, pod: Pod, *, holds: bool) -> Placement | Diagnosis:
        """For real."""


class Gangs:
    """See the module's docstring."""

    def __init__(self, scheduler: Scheduler, backlog: Backlog, failures: Failures, around: Surroundings) -> None:
        self._scheduler = scheduler
        self._backlog = backlog
        self._groups = backlog.groups
        self._failures = failures
        self._clock = around.clock
        self._events = around.events
        self._due: dict[Group, float] = {}
        """Groups that are not complete: when their members are to be told."""
        self._told: dict[Group, float] = {}
        """When they last were."""
        self._vain: dict[Group, list[Diagnosis]] = {}
        """Groups that are complete and did not fit, and what was said of it."""
        self._overdue: dict[Group, float] = {}
        """Groups of which it was told that they did not fit in time, and since when they had been complete."""
        self._holds = Holds(scheduler.cache.nominations, failures, self._vain)
        scheduler.cache.placed = self._groups.placed
        scheduler.cache.store.follow(PodGroup, self._declared)

    def placing(self, entry: Entry, place: HoldingPlacer, broken: Callable[[], str]) -> Generator[bool, bool | None, list[Member]]:
        """Place the group of a pod that came with companions, as ``core.cycle.gang_cycle.placing``; what became of each."""
        members = (entry, *entry.companions)
        group = self._groups.of(entry)
        needed = self._groups.needed(group) + len(members)  # as they are in flight, they count as on their way
        least, now = self._groups.min_member(group) or 0, self._clock.boottime()
        holds = self._holds.may(group, now)
        gang = Gang(group.name, needed, least, self._reproach(group, now), NOTE if holds else "")
        pods, place_one = [member.pod for member in members], functools.partial(place, holds=holds)
        outcomes = yield from placing(gang, pods, place_one, self._scheduler, lambda: _gone(members) or broken())
        refusals = [outcome for outcome in outcomes if isinstance(outcome, Diagnosis)]
        if holds and self._holds.attempted(group, refusals, self._clock.boottime()):
            note = f'pod group "{group.name}" has waited in vain.{NOTE}'
            self._emit(pod_object(entry.pod), "GangHoldsRoom", note, group)
            self._emit_on_declaration(group, "GangHoldsRoom", note, pod_object(entry.pod))
        if len(refusals) == len(outcomes):
            self._vain[group] = refusals
        else:
            self._vain.pop(group, None)
            self._overdue.pop(group, None)
        return list(zip(members, outcomes, strict=True))

    def unbound(self, entry: Entry, diagnosis: Diagnosis) -> None:
        """A pod that was placed could not be bound. A member of a group goes first the next time, and its group is told."""
        if not entry.group or entry.place is not Place.IN_FLIGHT:
            return
        self._backlog.hurry(entry)
        group = self._groups.of(entry)
        least = self._groups.min_member(group) or 0
        if least > 1:
            pod, name = diagnosis.pod, diagnosis.pod.metadata.name
            note = f'pod group "{group.name}": {group.bound} members are bound (minMember {least}), {name!r} is not: {diagnosis.message}'
            self._emit(pod_object(pod), "GangIncomplete", note, group)
            self._emit_on_declaration(group, "GangIncomplete", note, pod_object(pod))

    def tell(self, now: float) -> None:
        """Say what is due: why members are gated, and which groups have not fitted in time."""
        self._holds.end_if_due(now)
        self._tell_gated(now)
        self._tell_overdue(now)

    # ---- inside ------------------------------------------------------------------------------------------------------------

    def _tell_gated(self, now: float) -> None:
        for group in self._groups.news:
            self._due.setdefault(group, max(now + QUIET, self._told.get(group, -REST) + REST))
        self._groups.news.clear()
        for group in [group for group, due in self._due.items() if due <= now]:
            del self._due[group]
            self._told = {other: at for other, at in self._told.items() if at + REST > now} | {group: now}
            for entry in group.gated:
                self._failures.note(Verdict(entry.pod, GATED, self._groups.why(group)))

    def _tell_overdue(self, now: float) -> None:
        for group, diagnoses in list(self._vain.items()):
            if not group.complete or not group.waiting:
                del self._vain[group]
                self._overdue.pop(group, None)
            elif self._overdue.get(group) != group.complete_since and (reproach := self._reproach(group, now)):
                self._overdue[group] = group.complete_since
                self._emit_on_declaration(group, "GangOverdue", diagnoses[0].message + reproach)
                for diagnosis in diagnoses:
                    self._failures.note(Verdict(diagnosis.pod, UNSCHEDULABLE, diagnosis.message + reproach))

    def _declared(self, old: PodGroup | None, new: PodGroup | None) -> None:
        declaration = new or old
        if declaration is not None:
            self._groups.declared(key(declaration))

    def _reproach(self, group: Group, now: float) -> str:
        """What is added to messages once the group has been complete for longer than its PodGroup allows."""
        declaration = self._groups.declaration(group)
        limit = declaration.spec.schedule_timeout_seconds if declaration is not None else None
        if not limit or now - group.complete_since < limit:
            return ""
        return f" All members have been here for longer than scheduleTimeoutSeconds, {limit}."

    def _emit(self, regarding: ObjectRef, reason: str, note: str, group: Group, related: ObjectRef | None = None) -> None:
        event = Event(regarding, reason, note, "Scheduling", controller=group.scheduler_name, warning=True, related=related)
        self._events.emit(event)

    def _emit_on_declaration(self, group: Group, reason: str, note: str, related: ObjectRef | None = None) -> None:
        declaration = self._groups.declaration(group)
        if declaration is not None:
            meta = declaration.metadata
            self._emit(ObjectRef("PodGroup", meta.name, meta.uid, meta.namespace, API), reason, note, group, related)


def _gone(members: Sequence[Entry]) -> str:
    """Which member is not to be placed any more, "" when all are."""
    gone = next((member for member in members if member.place is not Place.IN_FLIGHT), None)
    return f"pod {key(gone.pod)} is gone, is going, or has a node" if gone is not None else ""
