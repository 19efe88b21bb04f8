"""The extender runner: runs the cycles of pods that extenders have a say about, alone or members of
a group, while other pods are decided.

The decision is core's (``core.cycle.extender_cycle``); here its questions are put, each with the
pod, and for extenders without a cache of their own the nodes, in full as the API server has them.
"""

from __future__ import annotations

import asyncio
import dataclasses
import functools
import itertools
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TypeVar

from moorage.core.cycle import extender_cycle
from moorage.core.cycle.context import CycleContext, Decision, Diagnosis
from moorage.core.cycle.decisions import (
    Decided,
    DecidedBy,
    ExtenderAnswered,
    ExtenderCycleBegan,
    ExtenderCycleEnded,
)
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
from moorage.core.framework.placement_contract import Placement
from moorage.core.framework.revisions import Revision
from moorage.core.objects.meta import key
from moorage.core.objects.pods import Pod
from moorage.core.queue.queued_pod import QueuedPodInfo, QueueState
from moorage.engine.background_tasks import BackgroundTasks
from moorage.engine.reports.pod_conditions import attempt_error
from moorage.engine.scheduling.whole_objects import WholeObjects
from moorage.engine.slices import DecisionTimeout, SliceRunner
from moorage.ports.bundle import Ports
from moorage.ports.errors import EdgeError
from moorage.ports.extender_calls import CandidateNodes, NodeVictims
from moorage.ports.guards import FAULTS, guard
from moorage.ports.kube import pod_ref

log = logging.getLogger(__name__)
T = TypeVar("T")

_MAX_READS = 16
_GONE = ExtenderFailure("the pod is gone, is going, or has a node")


@dataclasses.dataclass(slots=True, eq=False)
class RunningCycle:
    """One cycle, or one question about a member on a copy; ``objects`` are what is sent."""

    entry: QueuedPodInfo
    revision: Revision
    started: float
    context: CycleContext
    placement: Placement | None = None
    """The nodes that a member of a group is tried on; None for a pod alone."""
    task: asyncio.Task[None] | None = None
    running: bool = False
    ended: bool = False
    interruption: Diagnosis | None = None
    """What came of it when it was ended from outside; None: the pod is gone."""
    number: int = 0
    objects: WholeObjects = dataclasses.field(default_factory=WholeObjects)

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


class ExtenderRunner:
    """Runs such cycles, one of a pod at a time."""

    def __init__(self, context: CycleContext, ports: Ports) -> None:
        self._extenders = ports.extenders
        self._reads = ports.reads
        self._nodes = context.cache.nodes
        self._slices = SliceRunner(context.budget, ports.clock.boottime)
        self._work = BackgroundTasks("asking extenders")
        self._cycles: set[RunningCycle] = set()
        self._numbers = itertools.count(1)
        self._reading = asyncio.Semaphore(_MAX_READS)

    def start(self, asking: RunningCycle, ended: Callable[[Decision | None], None]) -> None:
        """Begin a cycle; ``ended`` is called with what is decided, in the same piece as that
        happens, or None where the pod is gone, is going, or has a node.
        """
        asking.number = next(self._numbers)
        self._cycles.add(asking)
        asking.task = self._work.start(self._run(asking, self._outcome, ended))

    def put(
        self,
        asking: RunningCycle,
        question: ExtenderQuestion,
        answered: Callable[[ExtenderAnswer], None],
    ) -> None:
        """Put a question about a member of a group that is decided on a copy; ``answered`` is
        called with the answer, or why there is none.
        """

        def ended(answer: ExtenderAnswer | Diagnosis | None) -> None:
            if isinstance(answer, Diagnosis):
                answer = ExtenderFailure(answer.message)
            answered(_GONE if answer is None else answer)

        self._cycles.add(asking)
        answer = functools.partial(self._answer, question)
        asking.task = self._work.start(self._run(asking, answer, ended))

    def count(self, revision: Revision) -> int:
        """How many cycles are this revision's."""
        return sum(asking.revision is revision for asking in self._cycles)

    def interrupt_profile(self, scheduler_name: str, why: str) -> None:
        """Break off the cycles of this profile's pods."""
        for asking in self._cycles:
            if asking.entry.scheduler_name == scheduler_name:
                asking.end(asking.failed(why))

    def interrupt_pod(self, uid: str) -> None:
        """Nothing is to be decided about this pod any more."""
        for asking in self._cycles:
            if asking.entry.uid == uid:
                asking.end(None)

    async def settle(self) -> None:
        """Break off all cycles, and wait until that is done."""
        for asking in self._cycles:
            asking.end(asking.failed("this replica stops"))
        await self._work.settle()

    # ---- one cycle -------------------------------------------------------------------------------

    async def _run(
        self,
        asking: RunningCycle,
        work: Callable[[RunningCycle], Awaitable[T]],
        ended: Callable[[T | Diagnosis | None], None],
    ) -> None:
        """``ended`` is called with what comes of the work, whatever happens."""
        outcome: T | Diagnosis | None = None
        asking.running = True
        try:
            if asking.ended:
                raise asyncio.CancelledError  # it was broken off before it began
            outcome = await work(asking)
        except asyncio.CancelledError:
            broken_off = asking.failed("asking extenders was broken off")
            outcome = asking.interruption if asking.ended else broken_off
        finally:
            self._cycles.discard(asking)
            with guard("ending a cycle with extenders", pod=key(asking.entry.pod)):
                ended(outcome)

    async def _outcome(self, asking: RunningCycle) -> Decision | None:
        """What is decided, or why nothing could be; None when the pod is gone."""
        try:
            return await self._decide(asking)
        except EdgeError as error:
            return asking.failed(f"extenders could not be asked: {error}")
        except DecisionTimeout as error:
            return asking.failed(str(error))
        except FAULTS as error:  # a plugin's bug fails this pod's attempt, never the process
            fault = attempt_error(asking.entry.pod, asking.revision, error)
            asking.context.cache.journal.append(Decided(fault, DecidedBy.NOBODY))
            return fault
        finally:
            asking.context.cache.journal.append(ExtenderCycleEnded(asking.number))

    async def _decide(self, asking: RunningCycle) -> Decision | None:
        """Go through the steps of the cycle, with the answers to its questions."""
        entry, pod, revision = asking.entry, asking.entry.pod, asking.revision
        context = asking.context
        journal, sampler = context.cache.journal, context.sampler
        steps = extender_cycle.extender_cycle(pod, revision, context, asking.placement)
        await self._filter_in_slices(asking)
        on, start = asking.placement, sampler.start
        journal.append(
            ExtenderCycleBegan(asking.number, pod, revision, start, on, context.makes_room)
        )
        try:
            question = next(steps)
            while True:
                answer = await self._ask(asking, question)
                if answer is None or entry.state is not QueueState.IN_FLIGHT:
                    return None
                await self._filter_in_slices(asking)
                start, room = sampler.start, context.makes_room
                journal.append(ExtenderAnswered(asking.number, answer, start, room))
                question = steps.send(answer)
        except StopIteration as end:
            decided: Decision = end.value
            journal.append(Decided(decided, DecidedBy.EXTENDER_CYCLE, cycle=asking.number))
            return decided

    async def _filter_in_slices(self, asking: RunningCycle) -> None:
        """Run the plugins over all nodes in slices, so that the next step finds the results."""
        pod, revision, context = asking.entry.pod, asking.revision, asking.context

        look = functools.partial(extender_cycle.look_at_nodes, pod, revision, context)
        await self._slices.run(look)

    # ---- questions -------------------------------------------------------------------------------

    async def _answer(
        self, question: ExtenderQuestion, asking: RunningCycle
    ) -> ExtenderAnswer | None:
        """The same as ``_ask``, with a failure of the API server as an answer."""
        try:
            return await self._ask(asking, question)
        except EdgeError as error:
            return ExtenderFailure(f"extenders could not be asked: {error}")

    async def _ask(self, asking: RunningCycle, question: ExtenderQuestion) -> ExtenderAnswer | None:
        """The answer, None when the pod is gone. Raises EdgeError where the API server fails, not
        where an extender does.
        """
        pod = await asking.objects.pod(asking.entry.pod, self._reads)
        if not pod:
            return None
        match question:
            case AskFilter(extender, nodes):
                candidates = await self._candidates(asking, extender, nodes)
                filtering = self._extenders.filter(extender, pod, candidates)
                return await self._try(extender, asking, filtering)
            case AskPriorities():
                return await self._prioritize(asking, pod, question)
            case AskVictims():
                return await self._process_preemption(asking, pod, question)

    async def _prioritize(
        self, asking: RunningCycle, pod: bytes, question: AskPriorities
    ) -> tuple[Sequence[tuple[str, int]] | ExtenderFailure, ...]:
        """All extenders are asked at once, about nodes that were read before."""
        asked = [
            (extender, await self._candidates(asking, extender, question.nodes))
            for extender in question.extenders
        ]

        async def ask(
            one: Extender, nodes: CandidateNodes
        ) -> Sequence[tuple[str, int]] | ExtenderFailure:
            return await self._try(one, asking, self._extenders.prioritize(one, pod, nodes))

        return tuple(await asyncio.gather(*itertools.starmap(ask, asked)))

    async def _process_preemption(
        self, asking: RunningCycle, preemptor: bytes, question: AskVictims
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
            extender, asking, self._extenders.preempt(extender, preemptor, proposals)
        )

    async def _pod_json(self, pod: Pod, extender: Extender) -> bytes | None:
        """The pod's JSON where its UID is not enough; None when it is gone."""
        if extender.node_cache_capable:
            return b""
        async with self._reading:
            return await self._reads.pod_json(pod_ref(pod))

    async def _candidates(
        self, asking: RunningCycle, extender: Extender, names: tuple[str, ...]
    ) -> CandidateNodes:
        """The nodes to ask about; of those in full the ones that are gone by now are left out."""
        if extender.node_cache_capable:
            return CandidateNodes(names)
        return await asking.objects.candidates(names, self._nodes, self._reads)

    async def _try(
        self, extender: Extender, asking: RunningCycle, asked: Awaitable[T]
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
