"""Preempting: evicts the pods that must go so that another one fits.

The decision is made (which victims, which node); here it is carried out, off the loop: pods of lower priority lose their nomination
to the node, each victim gets a condition that says why and is deleted with its usual grace. The pod itself stays in flight until
all are told to go, so that it is not tried again in between, and then waits for their room like any refused pod. What is written
twice, after an answer that got lost or by a pod that is tried again, does no harm: a victim that is on its way is left alone.
"""

from __future__ import annotations

import asyncio
import dataclasses
import datetime
import logging
from collections.abc import Awaitable, Callable

from moorage.core.backlog.entries import Entry
from moorage.core.cycle import Diagnosis
from moorage.core.objects import Pod, key
from moorage.core.plugins.default_preemption import BY_PREEMPTION
from moorage.engine.actors.contract import pod_ref
from moorage.engine.failures import pod_object
from moorage.ports.errors import Conflict, EdgeError, NotFound, Retryable
from moorage.ports.kube import Writes
from moorage.ports.surroundings import Clock, Event, EventSink

log = logging.getLogger(__name__)

_AT_ONCE = 16
_ATTEMPTS = 4


@dataclasses.dataclass(frozen=True, slots=True)
class Eviction:
    """What is to be done for a pod: ``diagnosis`` names victims and node, ``outranked`` the pods nominated there that lose out."""

    entry: Entry
    diagnosis: Diagnosis
    outranked: tuple[Pod, ...] = ()


class Preemptor:
    """Carries out evictions; ``finish(eviction, error)`` is called on the loop's thread when one has ended, whatever happened."""

    def __init__(self, writes: Writes, events: EventSink, clock: Clock) -> None:
        self._writes = writes
        self._events = events
        self._clock = clock
        self._free = asyncio.Semaphore(_AT_ONCE)
        self._tasks: set[asyncio.Task[None]] = set()
        self.finish: Callable[[Eviction, EdgeError | None], None]

    def start(self, eviction: Eviction) -> None:
        """Evict in the background."""
        task = asyncio.get_running_loop().create_task(self._run(eviction))
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    async def settle(self, seconds: float) -> int:
        """Wait at most so long for all to end; returns how many did not."""
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=seconds)
        return len(self._tasks)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("an eviction ended with a bug", exc_info=error)

    async def _run(self, eviction: Eviction) -> None:
        errors: list[EdgeError | None] = [EdgeError("the eviction was interrupted")]
        try:
            released = await asyncio.gather(*(self._release(pod) for pod in eviction.outranked))
            errors = [*released, *await asyncio.gather(*(self._evict(victim, eviction) for victim in eviction.diagnosis.victims))]
        finally:
            self.finish(eviction, next((error for error in errors if error is not None), None))

    async def _release(self, pod: Pod) -> EdgeError | None:
        """The pod is not nominated any more."""
        return await self._insist(lambda: self._writes.pod_nomination(pod_ref(pod), ""), pod)

    async def _evict(self, victim: Pod, eviction: Eviction) -> EdgeError | None:
        if victim.metadata.deletion_timestamp is not None:
            return None
        pod, node = eviction.diagnosis.pod, eviction.diagnosis.nominated_node
        condition = _condition(pod.spec.scheduler_name, self._clock.now())
        error = await self._insist(lambda: self._writes.pod_condition(pod_ref(victim), condition), victim)
        error = error or await self._insist(lambda: self._writes.delete_pod(pod_ref(victim)), victim)
        if error is None:
            note = f"Preempted by pod {pod.metadata.uid} on node {node}"
            self._events.emit(
                Event(pod_object(victim), "Preempted", note, "Preempting", controller=pod.spec.scheduler_name, related=pod_object(pod))
            )
        return error

    async def _insist(self, write: Callable[[], Awaitable[None]], pod: Pod) -> EdgeError | None:
        """Write it, again if need be; None when it is done, or the pod is gone anyway."""
        for attempt in range(_ATTEMPTS):
            try:
                async with self._free:
                    await write()
            except (NotFound, Conflict):
                return None
            except Retryable as error:
                if attempt == _ATTEMPTS - 1:
                    return error
                await self._clock.sleep(max(error.after, 0.1 * 2**attempt))
            except EdgeError as error:
                log.warning("a pod could not be evicted: %s", error, extra={"pod": key(pod)})
                return error
            else:
                return None
        return None


def _condition(scheduler_name: str, now: datetime.datetime) -> dict[str, str]:
    return {
        "type": "DisruptionTarget",
        "status": "True",
        "reason": BY_PREEMPTION,
        "message": f"{scheduler_name}: preempting to accommodate a higher priority pod",
        "lastTransitionTime": now.astimezone(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
    }
