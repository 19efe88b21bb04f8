"""Pod conditions: what is reported and written when a pod could not be placed.

The pod is back in the queue at once; the event and the PodScheduled condition follow off the
critical path. A condition is written only where it differs from what the pod has, and the newest
one wins. Of a pod that is gone or bound meanwhile nothing is written.

Nominations are written here too, and nowhere else: what goes out is the node that the pod is
nominated to at that moment, so that writes of one pod cannot overtake each other.
"""

from __future__ import annotations

import dataclasses
import datetime
import logging
from collections.abc import Callable, Mapping

from moorage.api.conditions import timestamp
from moorage.core.columns.cache import Cache
from moorage.core.cycle.context import Diagnosis
from moorage.core.framework.revisions import Revision
from moorage.core.objects.meta import key
from moorage.core.objects.pods import Pod
from moorage.engine.reports.status_updates import StatusUpdates
from moorage.ports.clock import Clock
from moorage.ports.event_recorder import Event, EventRecorder, ObjectRef
from moorage.ports.kube import KubeWriter, pod_ref
from moorage.ports.repeated_logs import once_per_bug

log = logging.getLogger(__name__)

UNSCHEDULABLE = "Unschedulable"
SCHEDULER_ERROR = "SchedulerError"
GATED = "SchedulingGated"
"""Not to be tried yet, so nothing that an autoscaler could add would help: those act on
Unschedulable alone.
"""
MAX_MESSAGE_LENGTH = 4096
"""Characters of a message: what pods ask for decides how long texts become, and they are kept until
they are written.
"""


@dataclasses.dataclass(frozen=True, slots=True)
class PodConditionUpdate:
    """What a pod's condition should say; without a ``reason`` only its nomination has to be
    written.
    """

    pod: Pod
    reason: str = ""
    message: str = ""

    def __post_init__(self) -> None:
        """Cut its message to what is written."""
        object.__setattr__(self, "message", cut_message(self.message))

    @property
    def uid(self) -> str:
        """The pod's."""
        return self.pod.metadata.uid

    @property
    def named(self) -> Mapping[str, str]:
        """The pod, for the log."""
        return {"pod": key(self.pod)}


def cut_message(message: str) -> str:
    """As much of it as is written."""
    if len(message) <= MAX_MESSAGE_LENGTH:
        return message
    return f"{message[: MAX_MESSAGE_LENGTH - 1]}\N{HORIZONTAL ELLIPSIS}"


class PodConditionWriter:
    """Says why pods wait. ``current(uid)`` gives the pod's newest state, None when it is gone or
    bound. ``cache`` says where it is nominated to at the moment of writing.
    """

    def __init__(
        self,
        writes: KubeWriter,
        events: EventRecorder,
        clock: Clock,
        current: Callable[[str], Pod | None],
        cache: Cache,
    ) -> None:
        self._writes = writes
        self._events = events
        self._clock = clock
        self._current = current
        self._cache = cache
        self._updates = StatusUpdates("a pod's condition", self._write_status, clock)

    def report(self, update: PodConditionUpdate) -> None:
        """Have the condition written and emit the event."""
        pod = update.pod
        if not self.write(update):
            return
        self._events.record(
            Event(
                pod_object(pod),
                "FailedScheduling",
                update.message,
                "Scheduling",
                controller=pod.spec.scheduler_name,
                warning=True,
            )
        )

    def write(self, update: PodConditionUpdate) -> bool:
        """Have the condition written, without an event. Returns whether the pod still waits."""
        if self._current(update.uid) is None:
            return False
        self._updates.put(update)
        return True

    def write_nomination(self, pod: Pod) -> None:
        """The pod is nominated to another node, or to none any more: have that written, and
        whatever else is yet to be written of it.
        """
        last = self._updates.newest(pod.metadata.uid)
        self.write(last if last is not None else PodConditionUpdate(pod))

    def is_newest(self, pod: Pod) -> bool:
        """Whether the pod still waits, in this very state."""
        now = self._current(pod.metadata.uid)
        return now is not None and now.metadata.resource_version == pod.metadata.resource_version

    def is_written(self, update: PodConditionUpdate) -> bool:
        """Whether the pod's condition says this already, or soon will."""
        last = self._updates.newest(update.uid)
        if last is not None and last.reason:  # what the pod shows now will be overwritten
            return (last.reason, last.message) == (update.reason, update.message)
        return not _differs(update.pod, update)

    def report_if_new(self, update: PodConditionUpdate) -> None:
        """The same, unless the pod's condition says exactly this already."""
        if not self.is_written(update):
            self.report(update)

    async def flush(self, uid: str) -> None:
        """Return when all that is to be written of this pod has been written, or given up; no other
        pod is waited for.
        """
        await self._updates.flush(uid)

    async def run(self) -> None:
        """Write conditions until cancelled; one worker, of which several may run."""
        await self._updates.run()

    async def _write_status(self, update: PodConditionUpdate) -> None:
        """Write what the pod's status does not say already."""
        pod = self._current(update.uid)
        if pod is None:
            return
        node = self._nomination_to_write(pod)
        if _differs(pod, update):
            condition = _condition(pod, update, self._clock.now())
            await self._writes.pod_condition(pod_ref(pod), condition, node)
        elif node is not None:
            await self._writes.pod_nomination(pod_ref(pod), node)

    def _nomination_to_write(self, pod: Pod) -> str | None:
        """The node that the pod is nominated to now, "" for none; None where its status is to be
        left as it is: it says so already, or the pod has its place, as far as we know.
        """
        uid = pod.metadata.uid
        node = self._cache.nominations.nominated_node(uid)
        placed = self._cache.pod_info(uid) is not None
        return None if placed or node == pod.status.nominated_node_name else node


def attempt_error(pod: Pod, revision: Revision, error: BaseException) -> Diagnosis:
    """The outcome of an attempt that a bug has ended."""
    log.error(
        "an attempt failed with a bug",
        exc_info=error,
        extra=once_per_bug(error, pod=key(pod), profile=revision.scheduler_name),
    )
    return Diagnosis.error(pod, revision, f"scheduling failed: {error!r}")


def pod_object(pod: Pod) -> ObjectRef:
    """The pod as events name it."""
    return ObjectRef("Pod", pod.metadata.name, pod.metadata.uid, pod.metadata.namespace)


def pod_condition(
    pod: Pod, content: Mapping[str, str], now: datetime.datetime
) -> dict[str, str | int]:
    """The condition to merge into the pod's status, with the generation that it is about and the
    time.

    ``content`` has type, status, reason and message.
    """
    observed = (
        {"observedGeneration": pod.metadata.generation}
        if pod.metadata.generation is not None
        else {}
    )
    return {**content, **observed, "lastTransitionTime": timestamp(now)}


def _condition(
    pod: Pod, update: PodConditionUpdate, now: datetime.datetime
) -> dict[str, str | int]:
    """Its transition time only where the status changes, else the one that stands there stays."""
    content = {
        "type": "PodScheduled",
        "status": "False",
        "reason": update.reason,
        "message": update.message,
    }
    condition = pod_condition(pod, content, now)
    if any(c.type == "PodScheduled" and c.status == "False" for c in pod.status.conditions or ()):
        del condition["lastTransitionTime"]
    return condition


def _differs(pod: Pod, update: PodConditionUpdate) -> bool:
    """Whether the pod's condition does not say this already."""
    return bool(update.reason) and not any(
        c.type == "PodScheduled"
        and c.status == "False"
        and c.reason == update.reason
        and c.message == update.message
        for c in pod.status.conditions or ()
    )
