"""Failures: what is said and written when a pod could not be placed.

The pod is back in the queue at once; the event and the PodScheduled condition follow off the critical path. A condition is written
only where it differs from what the pod has, the newest one wins, and a few are in flight at a time, never two of one pod. Of a pod
that is gone or bound meanwhile nothing is said.
"""

from __future__ import annotations

import asyncio
import dataclasses
import datetime
import logging
from collections.abc import Callable

from moorage.core.objects import Pod
from moorage.engine.actors.contract import pod_ref
from moorage.ports.errors import EdgeError, Fenced, Refused, Retryable
from moorage.ports.kube import Writes
from moorage.ports.surroundings import Clock, Event, EventSink, ObjectRef

log = logging.getLogger(__name__)

UNSCHEDULABLE = "Unschedulable"
SCHEDULER_ERROR = "SchedulerError"
_ATTEMPTS = 4


@dataclasses.dataclass(frozen=True, slots=True)
class Verdict:
    """What a pod's condition should say."""

    pod: Pod
    reason: str
    message: str
    nominated_node: str | None = None


class Failures:
    """Says why pods wait. ``current(uid)`` gives the pod's newest state, None when it is gone or bound."""

    def __init__(self, writes: Writes, events: EventSink, clock: Clock, current: Callable[[str], Pod | None]) -> None:
        self._writes = writes
        self._events = events
        self._clock = clock
        self._current = current
        self._pending: dict[str, Verdict] = {}
        self._writing: dict[str, Verdict] = {}
        self._wanted = asyncio.Event()

    def report(self, verdict: Verdict) -> None:
        """Emit the event and have the condition written."""
        pod = verdict.pod
        if not self.note(verdict):
            return
        self._events.emit(
            Event(
                pod_object(pod),
                "FailedScheduling",
                verdict.message,
                "Scheduling",
                controller=pod.spec.scheduler_name,
                warning=True,
            )
        )

    def note(self, verdict: Verdict) -> bool:
        """Have the condition written, without an event. Returns whether the pod still waits."""
        uid = verdict.pod.metadata.uid
        if self._current(uid) is None:
            return False
        replaced = self._pending.get(uid) or self._writing.get(uid)
        if replaced is not None and verdict.nominated_node is None:  # what that one was to write of a nomination still holds
            verdict = dataclasses.replace(verdict, nominated_node=replaced.nominated_node)
        self._pending[uid] = verdict
        self._wanted.set()
        return True

    def report_once(self, verdict: Verdict) -> None:
        """The same, unless the pod was told exactly this before and has heard nothing else since."""
        uid = verdict.pod.metadata.uid
        last = self._pending.get(uid) or self._writing.get(uid)
        if _differs(verdict.pod, verdict) and (last is None or last.message != verdict.message):
            self.report(verdict)

    async def run(self) -> None:
        """Write conditions until cancelled; one worker, of which several may run."""
        while True:
            uid = next((uid for uid in self._pending if uid not in self._writing), None)
            if uid is None:
                self._wanted.clear()
                await self._wanted.wait()
                continue
            verdict = self._writing[uid] = self._pending.pop(uid)
            try:
                await self._write(verdict)
            finally:
                del self._writing[uid]

    async def _write(self, verdict: Verdict) -> None:
        uid = verdict.pod.metadata.uid
        for attempt in range(_ATTEMPTS):
            pod = self._current(uid)
            if pod is None or uid in self._pending or not _differs(pod, verdict):
                return
            try:
                await self._writes.pod_condition(pod_ref(pod), _condition(pod, verdict, self._clock.now()), verdict.nominated_node)
            except (Fenced, Refused) as error:
                log.info("a pod's condition was not written: %s", error, extra={"pod": pod.metadata.name})
            except Retryable as error:
                await self._clock.sleep(max(error.after, 0.1 * 2**attempt))
                continue
            except EdgeError as error:
                log.warning("a pod's condition was not written: %s", error, extra={"pod": pod.metadata.name})
            return
        log.warning("a pod's condition was given up after %d attempts", _ATTEMPTS, extra={"pod": verdict.pod.metadata.name})


def pod_object(pod: Pod) -> ObjectRef:
    """The pod as events name it."""
    return ObjectRef("Pod", pod.metadata.name, pod.metadata.uid, pod.metadata.namespace)


def _condition(pod: Pod, verdict: Verdict, now: datetime.datetime) -> dict[str, str]:
    """The condition to merge in; its transition time only where the status changes, else the one that stands there stays."""
    condition = {"type": "PodScheduled", "status": "False", "reason": verdict.reason, "message": verdict.message}
    if not any(c.type == "PodScheduled" and c.status == "False" for c in pod.status.conditions or ()):
        condition["lastTransitionTime"] = now.astimezone(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return condition


def _differs(pod: Pod, verdict: Verdict) -> bool:
    if verdict.nominated_node is not None and pod.status.nominated_node_name != verdict.nominated_node:
        return True
    return not any(
        c.type == "PodScheduled" and c.status == "False" and c.reason == verdict.reason and c.message == verdict.message
        for c in pod.status.conditions or ()
    )
