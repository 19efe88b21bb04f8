"""Conditions of pod groups: whether the minimum of a PodGroup was met, PodGroupInitiallyScheduled.

As with pods, it is written off the critical path, only where it differs from what the PodGroup has,
and the newest one wins. Once it is True it stays so. Source: kube-scheduler's pod group cycle
(v1.37), and its reasons.
"""

from __future__ import annotations

import dataclasses
import datetime
from collections.abc import Mapping
from typing import Any, Final

from moorage.api.conditions import timestamp
from moorage.core.columns.store import Lister
from moorage.core.framework.status import REJECTED, Code, Status
from moorage.core.groups.group_spec import INITIALLY_SCHEDULED, GroupSpec
from moorage.core.objects.pod_groups import PodGroup, PodGroupCondition
from moorage.engine.reports.pod_conditions import SCHEDULER_ERROR, UNSCHEDULABLE, cut_message
from moorage.engine.reports.status_updates import StatusUpdates
from moorage.ports.clock import Clock
from moorage.ports.kube import KubeWriter, PodRef

SCHEDULED: Final = "Scheduled"


@dataclasses.dataclass(frozen=True, slots=True)
class _Update:
    uid: str
    name: str
    """namespace/name"""
    status: str
    reason: str
    message: str

    @property
    def named(self) -> Mapping[str, str]:
        """The group, for the log."""
        return {"group": self.name}


class GroupConditionWriter:
    """Says of PodGroups what became of their attempts."""

    def __init__(self, writes: KubeWriter, clock: Clock, store: Lister) -> None:
        self._writes = writes
        self._clock = clock
        self._groups = store.objects(PodGroup)
        self._written_true: set[str] = set()
        """UIDs of groups whose condition was written as True, which the watch may not show yet."""
        self._updates = StatusUpdates("a pod group's condition", self._write, clock)

    def report(self, group: GroupSpec, outcome: Status) -> None:
        """An attempt of a group came to this. Of groups that others declare nothing is written."""
        if not group.is_kubernetes:
            return
        if outcome.code is Code.SUCCESS:
            value, reason = "True", SCHEDULED
        else:
            reason = UNSCHEDULABLE if outcome.code in REJECTED else SCHEDULER_ERROR
            value = "False"
        message = cut_message(outcome.message)
        self._updates.put(_Update(group.uid, group.name, value, reason, message))

    async def run(self) -> None:
        """Write conditions until cancelled; one worker, of which several may run."""
        await self._updates.run()

    async def _write(self, update: _Update) -> None:
        """Write what the group's status does not say already."""
        group = self._groups.get(update.name)
        if group is None or group.metadata.uid != update.uid or not self._is_news(group, update):
            return
        await self._writes.pod_group_condition(
            PodRef(group.metadata.namespace, group.metadata.name, update.uid),
            _condition(group, update, self._clock.now()),
        )
        self._note_written(update)

    def _is_news(self, group: PodGroup, update: _Update) -> bool:
        shown = _shown(group)
        if update.uid in self._written_true or (shown is not None and shown.status == "True"):
            return False
        return shown is None or (shown.status, shown.reason, shown.message) != (
            update.status,
            update.reason,
            update.message,
        )

    def _note_written(self, update: _Update) -> None:
        """Groups that are gone are forgotten when others are written."""
        if update.status == "True":
            alive = {group.metadata.uid for group in self._groups.values()}
            self._written_true = {*(self._written_true & alive), update.uid}


def _shown(group: PodGroup) -> PodGroupCondition | None:
    conditions = group.status.conditions or ()
    return next((one for one in conditions if one.type == INITIALLY_SCHEDULED), None)


def _condition(group: PodGroup, update: _Update, now: datetime.datetime) -> dict[str, Any]:
    """Its transition time only where the status changes, else the one that stands there stays."""
    content: dict[str, Any] = {
        "type": INITIALLY_SCHEDULED,
        "status": update.status,
        "reason": update.reason,
        "message": update.message,
    }
    if group.metadata.generation is not None:
        content["observedGeneration"] = group.metadata.generation
    shown = _shown(group)
    if shown is None or shown.status != update.status:
        content["lastTransitionTime"] = timestamp(now)
    return content
