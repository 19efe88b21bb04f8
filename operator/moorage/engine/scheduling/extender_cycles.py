"""Extender cycles: has pods alone decided with the extenders that have a say about them, while
other pods are decided.

A pod stays in flight until its cycle ends. So many of a profile are asked about at a time; the
others of that profile wait in the queue's order, and one profile's slow extender holds up nobody
else.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from moorage.core.cycle import extender_cycle
from moorage.core.cycle.context import CycleContext, Decision
from moorage.core.framework.cluster_events import ActionType, ClusterEvent, EventResource
from moorage.core.framework.revisions import Revision
from moorage.core.objects.meta import key
from moorage.core.queue.entry_heap import EntryHeap
from moorage.core.queue.queued_pod import QueuedPodInfo
from moorage.core.queue.scheduling_queue import SchedulingQueue
from moorage.engine.scheduling.attempt import SchedulingAttempt, give_back
from moorage.engine.scheduling.attempts import SchedulingAttempts
from moorage.engine.scheduling.extender_runner import ExtenderRunner, RunningCycle
from moorage.ports.clock import Clock
from moorage.ports.guards import guard

MAX_CYCLES_PER_PROFILE = 16
"""Pods of one profile that extenders are asked about at a time."""
REQUEUE_INTERVAL_SECONDS = 30.0
"""Seconds after which pods that extenders refused are tried again although nothing has happened: of
what an extender decides by there are no events.
"""
_EXTENDER_UPDATED = ClusterEvent(EventResource.EXTENDER, ActionType.UPDATE)


class ExtenderCycles:
    """Runs such cycles."""

    def __init__(
        self,
        context: CycleContext,
        queue: SchedulingQueue,
        attempts: SchedulingAttempts,
        runner: ExtenderRunner,
        clock: Clock,
    ) -> None:
        self._context = context
        self._queue = queue
        self._attempts = attempts
        self._runner = runner
        self._clock = clock
        self._busy: Counter[str] = Counter()
        self._waiting = EntryHeap(queue.sort_key)
        self._again_at = 0.0

    def begin(self, entry: QueuedPodInfo, revision: Revision) -> None:
        """Begin the pod's cycle, or have it wait for its turn."""
        if self._busy[entry.scheduler_name] < MAX_CYCLES_PER_PROFILE:
            self._start(entry, revision)
        else:
            self._waiting.add(entry)

    def count(self, revision: Revision) -> int:
        """How many cycles are this revision's, members of groups included."""
        return self._runner.count(revision)

    def requeue_rejected(self, live: Iterable[Revision]) -> None:
        """Have refused pods tried again from time to time, where any of these revisions asks
        extenders.
        """
        now = self._clock.boottime()
        if now >= self._again_at and any(revision.extenders for revision in live):
            self._again_at = now + REQUEUE_INTERVAL_SECONDS
            self._queue.move_on_event(_EXTENDER_UPDATED, now)

    def interrupt_profile(self, scheduler_name: str, why: str) -> None:
        """Break off the cycles of this profile's pods: they go back to the queue, and so do those
        that wait for their turn.
        """
        while (entry := self._waiting.first_of(scheduler_name)) is not None:
            self._waiting.discard(entry)
            self._queue.put_back(entry, self._clock.boottime())
        self._runner.interrupt_profile(scheduler_name, why)

    def interrupt_pod(self, uid: str) -> None:
        """Nothing is to be decided about this pod any more."""
        self._runner.interrupt_pod(uid)

    async def settle(self) -> None:
        """Break off all cycles, and wait until that is done."""
        await self._runner.settle()

    # ---- one cycle -------------------------------------------------------------------------------

    def _start(self, entry: QueuedPodInfo, revision: Revision) -> None:
        name, started = entry.scheduler_name, self._clock.boottime()
        self._busy[name] += 1

        def ended(outcome: Decision | None) -> None:
            self._busy[name] -= 1
            with guard("handing over what extenders left", pod=key(entry.pod)):
                self._attempts.extender_cycle_ended(entry, outcome, started)
            self._start_waiting(name)

        self._runner.start(RunningCycle(entry, revision, started, self._context), ended)

    def _start_waiting(self, name: str) -> None:
        """Let those that wait have their turn, as far as there is room."""
        while self._busy[name] < MAX_CYCLES_PER_PROFILE:
            entry = self._waiting.first_of(name)
            if entry is None:
                break
            self._waiting.discard(entry)
            with self._attempts.outcomes.undoing_on_error(entry):
                self._start_or_give_back(entry)

    def _start_or_give_back(self, entry: QueuedPodInfo) -> None:
        """Begin the cycle of a pod that has waited; where it may not be decided about any more, or
        no extender has a say about it by now, it goes back to the queue.
        """
        attempt = SchedulingAttempt(entry, self._clock.boottime())
        revision = self._attempts.admit(attempt) if self._attempts.allowed else None
        if revision is not None and extender_cycle.extenders_interested(entry.pod, revision):
            self._start(entry, revision)
        else:
            give_back(entry, self._queue, attempt.started)
