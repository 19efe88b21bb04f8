"""Conditions of pod groups: whether the minimum of a PodGroup was met, PodGroupInitiallyScheduled.

As with pods, it is written off the critical path, only where it differs from what the PodGroup has,
the newest one wins, and never two of one group at a time. Once it is True it stays so. Source:
kube-scheduler's pod group cycle (v1.37), and its reasons.
"""

from __future__ import annotations

import asyncio
import dataclasses
import datetime
import logging
from typing import Any, Final

from moorage.api.conditions import timestamp
from moorage.core.columns.store import Lister
from moorage.core.framework.status import REJECTED, Code, Status
from moorage.core.groups.group_spec import INITIALLY_SCHEDULED, GroupSpec
from moorage.core.objects.meta import key
from moorage.core.objects.pod_groups import PodGroup, PodGroupCondition
from moorage.engine.reports.pod_conditions import SCHEDULER_ERROR, UNSCHEDULABLE, cut_message
from moorage.ports.clock import Clock
from moorage.ports.errors import Conflict, EdgeError, Fenced, NotFound, Refused, Retryable
from moorage.ports.guards import guard
from moorage.ports.kube import KubeWriter, PodRef
from moorage.ports.retrying import Backoff

log = logging.getLogger(__name__)

SCHEDULED: Final = "Scheduled"
_MAX_ATTEMPTS, _AGAIN = 4, Backoff(0.1)


@dataclasses.dataclass(frozen=True, slots=True)
class _Update:
    uid: str
    status: str
    reason: str
    message: str


class GroupConditionWriter:
    """Says of PodGroups what became of their attempts."""

    def __init__(self, writes: KubeWriter, clock: Clock, store: Lister) -> None:
        self._writes = writes
        self._clock = clock
        self._groups = store.objects(PodGroup)
        self._pending: dict[str, _Update] = {}
        self._written_true: set[str] = set()
        """UIDs of groups whose condition was written as True, which the watch may not show yet."""
        self._wanted = asyncio.Event()

    def report(self, group: GroupSpec, outcome: Status) -> None:
        """An attempt of a group came to this. Of groups that others declare nothing is written."""
        if not group.is_kubernetes:
            return
        if outcome.code is Code.SUCCESS:
            update = _Update(group.uid, "True", SCHEDULED, "")
        else:
            reason = UNSCHEDULABLE if outcome.code in REJECTED else SCHEDULER_ERROR
            update = _Update(group.uid, "False", reason, cut_message(outcome.message))
        self._pending[group.name] = update
        self._wanted.set()

    async def run(self) -> None:
        """Write until cancelled, one after another."""
        while True:
            if not self._pending:
                self._wanted.clear()
                await self._wanted.wait()
                continue
            name = next(iter(self._pending))
            with guard("writing a pod group's condition", group=name):
                await self._patch(name, self._pending.pop(name))

    async def _patch(self, name: str, update: _Update) -> None:
        for failures in range(1, _MAX_ATTEMPTS + 1):
            group = self._groups.get(name)
            if group is None or group.metadata.uid != update.uid or name in self._pending:
                return
            if not self._is_news(group, update):
                return
            try:
                await self._writes.pod_group_condition(
                    PodRef(group.metadata.namespace, group.metadata.name, update.uid),
                    _condition(group, update, self._clock.now()),
                )
            except (Conflict, NotFound, Retryable) as error:
                await self._clock.sleep(_AGAIN.seconds(failures, error))
                continue
            except EdgeError as error:
                level = logging.INFO if isinstance(error, Fenced | Refused) else logging.WARNING
                text = "a pod group's condition was not written: %s"
                log.log(level, text, error, extra={"group": key(group)})
                return
            self._note_written(update)
            return
        text = "a pod group's condition was given up after %d attempts"
        log.warning(text, _MAX_ATTEMPTS, extra={"group": name})

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
