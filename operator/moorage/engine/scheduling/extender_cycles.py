"""Extender cycles: runs the cycles of pods that extenders have a say about, while other pods are
decided.

The decision is core's (``core.cycle.extender_cycle``); here its questions are put, each with the
pod, and for extenders without a cache of their own the nodes, in full as the API server has them. A
pod stays in flight until its cycle ends. So many of a profile are asked about at a time; the others
of that profile wait in the queue's order, and one profile's slow extender holds up nobody else.
"""

from __future__ import annotations

import asyncio
import dataclasses
import itertools
import logging
from collections import Counter
from collections.abc import Awaitable, Iterable, Mapping, Sequence
from typing import TypeVar

from moorage.core.cycle import cycle, extender_cycle
from moorage.core.cycle.context import CycleContext, Decision, Diagnosis
from moorage.core.cycle.decisions import (
    Decided,
    DecidedBy,
    ExtenderAnswered,
    ExtenderCycleBegan,
    ExtenderCycleEnded,
)
from moorage.core.framework.cluster_events import ActionType, ClusterEvent, EventResource
from moorage.core.framework.evaluation.evaluation import Evaluation
from moorage.core.framework.extenders import (
    AskFilter,
    AskPriorities,
    AskVictims,
    Extender,
    ExtenderAnswer,
    ExtenderFailure,
    ExtenderQuestion,
    MetaVictims,
)
from moorage.core.framework.revisions import Revision
from moorage.core.objects.meta import key
from moorage.core.objects.pods import Pod
from moorage.core.queue.entry_heap import EntryHeap
from moorage.core.queue.queued_pod import QueuedPodInfo, QueueState
from moorage.core.queue.scheduling_queue import SchedulingQueue
from moorage.engine.background_tasks import BackgroundTasks
from moorage.engine.reports.pod_conditions import attempt_error
from moorage.engine.scheduling.attempt import SchedulingAttempt, give_back
from moorage.engine.scheduling.attempts import SchedulingAttempts
from moorage.engine.slices import DecisionTimeout, SliceRunner
from moorage.ports.bundle import Ports
from moorage.ports.errors import EdgeError
from moorage.ports.extender_calls import CandidateNodes, NodeVictims
from moorage.ports.guards import FAULTS, guard
from moorage.ports.kube import pod_ref

log = logging.getLogger(__name__)
T = TypeVar("T")

MAX_CYCLES_PER_PROFILE = 16
"""Pods of one profile that extenders are asked about at a time."""
REQUEUE_INTERVAL_SECONDS = 30.0
"""Seconds after which pods that extenders refused are tried again although nothing has happened: of
what an extender decides by there are no events.
"""
_MAX_READS = 16
_EXTENDER_UPDATED = ClusterEvent(EventResource.EXTENDER, ActionType.UPDATE)


@dataclasses.dataclass(slots=True, eq=False)
class _RunningCycle:
    """One cycle; ``pod`` and ``nodes`` are JSON as the API server had it when it was first
    needed.
    """

    number: int
    entry: QueuedPodInfo
    revision: Revision
    started: float
    task: asyncio.Task[None] | None = None
    running: bool = False
    ended: bool = False
    interruption: Diagnosis | None = None
    """What came of it when it was ended from outside; None: the pod is gone."""
    pod: bytes = b""
    nodes: Mapping[str, bytes] | None = None

    def failed(self, why: str) -> Diagnosis:
        """The outcome where it could not be decided."""
        return Diagnosis.error(self.entry.pod, self.revision, why)

    def end(self, outcome: Diagnosis | None) -> None:
        """End it with this outcome; None: the pod is gone, which is the last word. A task that has
        not begun must not be cancelled: it would not even end its cycle.
        """
        if not self.ended or self.interruption is not None:
            self.interruption, self.ended = outcome, True
        if self.running and self.task is not None:
            self.task.cancel()


class ExtenderCycles:
    """Runs such cycles."""

    def __init__(
        self,
        context: CycleContext,
        queue: SchedulingQueue,
        attempts: SchedulingAttempts,
        ports: Ports,
    ) -> None:
        self._context = context
        self._queue = queue
        self._attempts = attempts
        self._extenders = ports.extenders
        self._reads = ports.reads
        self._clock = ports.clock
        self._slices = SliceRunner(context.budget, ports.clock.boottime)
        self._work = BackgroundTasks("asking extenders")
        self._cycles: dict[QueuedPodInfo, _RunningCycle] = {}
        self._numbers = itertools.count(1)
        self._busy: Counter[str] = Counter()
        self._waiting = EntryHeap(queue.sort_key)
        self._reading = asyncio.Semaphore(_MAX_READS)
        self._again_at = 0.0

    def begin(self, entry: QueuedPodInfo, revision: Revision) -> None:
        """Begin the pod's cycle, or have it wait for its turn."""
        if self._busy[entry.scheduler_name] < MAX_CYCLES_PER_PROFILE:
            self._start(entry, revision)
        else:
            self._waiting.add(entry)

    def count(self, revision: Revision) -> int:
        """How many cycles are this revision's."""
        return sum(asking.revision is revision for asking in self._cycles.values())

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
        for entry, asking in self._cycles.items():
            if entry.scheduler_name == scheduler_name:
                asking.end(asking.failed(why))

    def interrupt_pod(self, uid: str) -> None:
        """Nothing is to be decided about this pod any more."""
        for entry, asking in self._cycles.items():
            if entry.uid == uid:
                asking.end(None)

    async def settle(self) -> None:
        """Break off all cycles, and wait until that is done."""
        for asking in self._cycles.values():
            asking.end(asking.failed("this replica stops"))
        await self._work.settle()

    # ---- one cycle -------------------------------------------------------------------------------

    def _start(self, entry: QueuedPodInfo, revision: Revision) -> None:
        self._busy[entry.scheduler_name] += 1
        asking = self._cycles[entry] = _RunningCycle(
            next(self._numbers), entry, revision, self._clock.boottime()
        )
        asking.task = self._work.start(self._run(asking))

    async def _run(self, asking: _RunningCycle) -> None:
        entry, name = asking.entry, asking.entry.scheduler_name
        outcome: Decision | None = None
        asking.running = True
        try:
            if asking.ended:
                raise asyncio.CancelledError  # it was broken off before it began
            outcome = await self._outcome(asking)
        except asyncio.CancelledError:
            broken_off = asking.failed("asking extenders was broken off")
            outcome = asking.interruption if asking.ended else broken_off
        finally:
            del self._cycles[entry]
            self._busy[name] -= 1
            with guard("ending a cycle with extenders", pod=key(entry.pod)):
                self._attempts.extender_cycle_ended(entry, outcome, asking.started)
            self._start_waiting(name)

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

    async def _outcome(self, asking: _RunningCycle) -> Decision | None:
        """What is decided, or why nothing could be; None when the pod is gone."""
        try:
            return await self._decide(asking)
        except EdgeError as error:
            return asking.failed(f"extenders could not be asked: {error}")
        except DecisionTimeout as error:
            return asking.failed(str(error))
        except FAULTS as error:  # a plugin's bug fails this pod's attempt, never the process
            fault = attempt_error(asking.entry.pod, asking.revision, error)
            self._context.cache.journal.append(Decided(fault, DecidedBy.NOBODY))
            return fault
        finally:
            self._context.cache.journal.append(ExtenderCycleEnded(asking.number))

    async def _decide(self, asking: _RunningCycle) -> Decision | None:
        """Go through the steps of the cycle, with the answers to its questions."""
        entry, pod, revision = asking.entry, asking.entry.pod, asking.revision
        journal, sampler = self._context.cache.journal, self._context.sampler
        steps = extender_cycle.extender_cycle(pod, revision, self._context)
        await self._filter_in_slices(asking)
        journal.append(ExtenderCycleBegan(asking.number, pod, revision, sampler.start))
        try:
            question = next(steps)
            while True:
                answer = await self._ask(asking, question)
                if answer is None or entry.state is not QueueState.IN_FLIGHT:
                    return None
                await self._filter_in_slices(asking)
                journal.append(ExtenderAnswered(asking.number, answer, sampler.start))
                question = steps.send(answer)
        except StopIteration as end:
            decided: Decision = end.value
            journal.append(Decided(decided, DecidedBy.EXTENDER_CYCLE, cycle=asking.number))
            return decided

    async def _filter_in_slices(self, asking: _RunningCycle) -> None:
        """Run the plugins over all nodes in slices, so that the next step finds the results."""
        pod, revision, context = asking.entry.pod, asking.revision, self._context

        def refresh() -> None:
            evaluation = cycle.run_filters(pod, revision, context)
            if isinstance(evaluation, Evaluation) and evaluation.fits:
                evaluation.refresh_scores(context.snapshot)

        await self._slices.run(refresh)

    # ---- questions -------------------------------------------------------------------------------

    async def _ask(
        self, asking: _RunningCycle, question: ExtenderQuestion
    ) -> ExtenderAnswer | None:
        """The answer, None when the pod is gone. Raises EdgeError where the API server fails, not
        where an extender does.
        """
        asking.pod = asking.pod or await self._reads.pod_json(pod_ref(asking.entry.pod)) or b""
        if not asking.pod:
            return None
        match question:
            case AskFilter(extender, nodes):
                candidates = await self._candidates(asking, extender, nodes)
                filtering = self._extenders.filter(extender, asking.pod, candidates)
                return await self._try(extender, asking, filtering)
            case AskPriorities():
                return await self._prioritize(asking, question)
            case AskVictims():
                return await self._process_preemption(asking, question)

    async def _prioritize(
        self, asking: _RunningCycle, question: AskPriorities
    ) -> tuple[Sequence[tuple[str, int]] | ExtenderFailure, ...]:
        """All extenders are asked at once, about nodes that were read before."""
        asked = [
            (extender, await self._candidates(asking, extender, question.nodes))
            for extender in question.extenders
        ]

        async def ask(
            one: Extender, nodes: CandidateNodes
        ) -> Sequence[tuple[str, int]] | ExtenderFailure:
            return await self._try(one, asking, self._extenders.prioritize(one, asking.pod, nodes))

        return tuple(await asyncio.gather(*itertools.starmap(ask, asked)))

    async def _process_preemption(
        self, asking: _RunningCycle, question: AskVictims
    ) -> Mapping[str, MetaVictims] | ExtenderFailure:
        extender = question.extender
        proposals: dict[str, NodeVictims] = {}
        for node, victims in question.victims.items():
            whole = await asyncio.gather(*(self._pod_json(pod, extender) for pod in victims.pods))
            known = {
                pod.metadata.uid: text
                for pod, text in zip(victims.pods, whole, strict=True)
                if text is not None
            }
            proposals[node] = NodeVictims(known, victims.num_pdb_violations)
        return await self._try(
            extender, asking, self._extenders.preempt(extender, asking.pod, proposals)
        )

    async def _pod_json(self, pod: Pod, extender: Extender) -> bytes | None:
        """The pod's JSON where its UID is not enough; None when it is gone."""
        if extender.node_cache_capable:
            return b""
        async with self._reading:
            return await self._reads.pod_json(pod_ref(pod))

    async def _candidates(
        self, asking: _RunningCycle, extender: Extender, names: Iterable[str]
    ) -> CandidateNodes:
        """The nodes to ask about; of those in full the ones that are gone by now are left out."""
        if extender.node_cache_capable:
            return CandidateNodes(tuple(names), {})
        if asking.nodes is None:
            asking.nodes = await self._reads.nodes_json()
        there = tuple(name for name in names if name in asking.nodes)
        return CandidateNodes(there, {name: asking.nodes[name] for name in there})

    async def _try(
        self, extender: Extender, asking: _RunningCycle, asked: Awaitable[T]
    ) -> T | ExtenderFailure:
        """The answer, or why there is none."""
        try:
            return await asked
        except EdgeError as error:
            log.warning(
                "an extender failed: %s",
                error,
                extra={"pod": key(asking.entry.pod), "extender": extender.url},
            )
            return ExtenderFailure(str(error))
