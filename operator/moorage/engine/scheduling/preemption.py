"""Preemption: evicts the pods that must go so that another one fits.

The decision is made (which victims, which node); here it is carried out, off the loop, while the
pod itself stays in flight so that it is not tried again in between. First its status names the
node, so that a replica that takes over in the middle knows whom the room is for. Then the victims
go, all but the last at once and the last one when all others were evicted, as in kube-scheduler:
when one of them cannot be, at least one is spared.

How a victim goes: one that is only being prepared for its binding is sent back to the queue. Of the
others each gets a condition that says why and is deleted with its usual grace; or, where disruption
budgets are to be respected, the API server is asked to evict it, and the condition follows once it
did. What is written twice, after an answer that got lost or by a pod that is tried again, does no
harm: a victim that is on its way is left alone, and when the pod that they go for needs no room any
more nobody else is evicted.

For a group, which was placed on a copy of the state, all is looked at again before the first one
goes: nobody does if all members fit by then where they are nominated to, or the node of one is
gone.

The pod stays in flight until the watch has shown what became of them. Those without grace are gone
by then, and it is tried again once, not for each of them.
"""

from __future__ import annotations

import asyncio
import dataclasses
import functools
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeAlias

from moorage.core.cycle import cycle
from moorage.core.cycle.context import CycleContext, Diagnosis
from moorage.core.framework.interfaces import is_a
from moorage.core.framework.post_filter_contract import PodGroupPreemptionPlugin
from moorage.core.objects.meta import key
from moorage.core.objects.pods import Pod
from moorage.core.plugins.default_preemption.plugin import BY_PREEMPTION, NAME
from moorage.core.plugins.default_preemption.toll import toll_of
from moorage.core.queue.queued_pod import QueuedPodInfo, QueueState
from moorage.engine.background_tasks import BackgroundTasks
from moorage.engine.binding.binder import Binder
from moorage.engine.reports.pod_conditions import PodConditionWriter, pod_condition, pod_object
from moorage.engine.scheduling.group_scheduler import GroupDone
from moorage.engine.slices import DecisionTimeout, SliceRunner
from moorage.ports.bundle import Ports
from moorage.ports.errors import Conflict, EdgeError, EvictionBlocked, NotFound, Retryable
from moorage.ports.event_recorder import Event
from moorage.ports.kube import pod_ref
from moorage.ports.retrying import Backoff

log = logging.getLogger(__name__)

_MAX_CONCURRENT = 8
"""Pods whose victims are evicted at a time: the one decided first has its room first."""
_MAX_ATTEMPTS, _BACKOFF = 4, Backoff(0.1)
_MAX_CHECKS, _BETWEEN_CHECKS = 6, Backoff(0.02)
"""How often it is checked what became of the victims: for about a second in all."""


@dataclasses.dataclass(frozen=True, slots=True)
class PreemptionTask:
    """What is to be done for a pod, or the members of a PodGroup (``group``: its UID): the first
    one's diagnosis names the victims, each its own node. ``of_group``: whether it is for a group,
    also one that has no PodGroup.
    """

    waiting: Sequence[tuple[QueuedPodInfo, Diagnosis]]
    group: str = ""
    of_group: bool = False

    @property
    def diagnosis(self) -> Diagnosis:
        """Of the first one."""
        return self.waiting[0][1]

    @property
    def preemptor(self) -> str:
        """What it is for, as metrics call it."""
        return "podgroup" if self.of_group else "pod"

    @property
    def is_needed(self) -> bool:
        """Whether one of them still needs the room."""
        return any(
            entry.state is QueueState.IN_FLIGHT and entry.pod.metadata.deletion_timestamp is None
            for entry, _ in self.waiting
        )

    @property
    def note(self) -> str:
        """What is told of a victim, in kube-scheduler's words."""
        if self.group:
            return f"Preempted by podgroup {self.group} on node cluster"
        pod, node = self.diagnosis.pod, self.diagnosis.nominated_node
        return f"Preempted by pod {pod.metadata.uid} on node {node}"

    @property
    def condition(self) -> dict[str, str]:
        """Of a victim."""
        what = "podgroup" if self.group else "pod"
        name = self.diagnosis.pod.spec.scheduler_name
        text = f"{name}: preempting to accommodate a higher priority {what}"
        return {
            "type": "DisruptionTarget",
            "status": "True",
            "reason": BY_PREEMPTION,
            "message": text,
        }


def group_preemption(
    waiting: Sequence[tuple[QueuedPodInfo, Diagnosis]], done: GroupDone
) -> PreemptionTask:
    """For members of a PodGroup."""
    (entry, first), *others = waiting
    plugin = first.revision.deciders.get(NAME)
    by_eviction = is_a(plugin, PodGroupPreemptionPlugin) and plugin.asks_to_evict()
    first = dataclasses.replace(first, victims=done.victims, by_eviction=by_eviction)
    uid = done.group.uid if done.group is not None else ""
    return PreemptionTask([(entry, first), *others], uid, of_group=True)


PreemptionCallback: TypeAlias = Callable[[PreemptionTask, EdgeError | None], None]
"""Called on the loop's thread when an eviction has ended, whatever happened; None when all victims
were evicted.
"""


class NobodyEvicted(EdgeError):
    """It would have been of no use: the group is tried again as all is now."""


class Preemptor:
    """Carries out preemptions: victims are deleted or evicted."""

    def __init__(
        self,
        ports: Ports,
        context: CycleContext,
        pod_conditions: PodConditionWriter,
        binder: Binder,
    ) -> None:
        self.tasks = BackgroundTasks("an eviction")
        self._reads = ports.reads
        self._writes = ports.writes
        self._events = ports.events
        self._clock = ports.clock
        self._telemetry = ports.telemetry
        self._context = context
        self._cache = context.cache
        self._pod_conditions = pod_conditions
        self._binder = binder
        self._slices = SliceRunner(context.budget, ports.clock.boottime)
        self._free = asyncio.Semaphore(_MAX_CONCURRENT)

    def start(self, eviction: PreemptionTask, on_done: PreemptionCallback) -> None:
        """Evict in the background."""
        victims = eviction.diagnosis.victims
        if eviction.of_group or any(not one.metadata.deletion_timestamp for one in victims):
            known = (self._cache.pod_info(victim.metadata.uid) for victim in victims)
            toll = toll_of((one for one in known if one is not None), self._context.snapshot)
            self._telemetry.preempted(eviction.preemptor, *toll)
        self.tasks.start(self._run(eviction, on_done))

    async def _run(self, eviction: PreemptionTask, on_done: PreemptionCallback) -> None:
        outcome: EdgeError | None = EdgeError("the eviction was interrupted")
        try:
            async with self._free:
                await self._measured(eviction)
            await self._wait_for_victims(eviction.diagnosis.victims)
            outcome = None
        except EdgeError as error:
            outcome = error
        finally:
            on_done(eviction, outcome)

    async def _measured(self, eviction: PreemptionTask) -> None:
        """Carry it out, and say how long that took."""
        began, result = self._clock.boottime(), "error"
        try:
            await self._carry_out(eviction)
            result = "success"
        except NobodyEvicted:
            result = ""
            raise
        finally:
            if result:
                seconds = self._clock.boottime() - began
                self._telemetry.preemption_ended(eviction.preemptor, result, seconds)

    async def _carry_out(self, eviction: PreemptionTask) -> None:
        for entry, _ in eviction.waiting:
            await self._pod_conditions.flush(entry.uid)
        if eviction.of_group:
            await self._recheck(eviction)
        *most, last = eviction.diagnosis.victims
        failures = await asyncio.gather(
            *(self._evict(victim, eviction) for victim in most), return_exceptions=True
        )
        for failure in failures:
            if failure is not None:
                raise failure
        await self._evict(last, eviction)

    async def _recheck(self, eviction: PreemptionTask) -> None:
        """Whether the victims of a group are to go as all is now. Raises NobodyEvicted where a
        member's node is gone, or all members fit already where room is kept for them.
        """
        seats = [(one, one.nominated_node) for _, one in eviction.waiting if one.nominated_node]
        for _, node in seats:
            if node not in self._cache.nodes.row_of:
                raise NobodyEvicted(f"node {node!r} has been deleted, so nobody is evicted")
        crowded = {victim.spec.node_name for victim in eviction.diagnosis.victims}
        seats.sort(key=lambda seat: seat[1] not in crowded)  # these are the likeliest not to fit
        for one, node in seats:
            there = self._cache.nominations.siblings_of(one.pod)
            siblings = [there[uid] for uid in there if uid != one.pod.metadata.uid]
            fits = functools.partial(
                cycle.fits_on, one.pod, node, one.revision, self._context, siblings
            )
            try:
                if not await self._slices.run(fits):
                    return
            except DecisionTimeout:
                return  # as it was decided
        raise NobodyEvicted("the pod group fits now, so nobody is evicted")

    async def _wait_for_victims(self, victims: Sequence[Pod]) -> None:
        """Wait a moment until each is seen to be gone, or going with a grace."""
        for check in range(1, _MAX_CHECKS + 1):
            left = [
                record.pod.metadata
                for victim in victims
                if (record := self._cache.pod_info(victim.metadata.uid)) is not None
            ]
            if all(
                metadata.deletion_timestamp is not None
                and metadata.deletion_grace_period_seconds != 0
                for metadata in left
            ):
                return
            await self._clock.sleep(_BETWEEN_CHECKS.seconds(check))

    async def _evict(self, victim: Pod, eviction: PreemptionTask) -> None:
        """Have a victim go, unless it goes anyway or nobody needs its room any more."""
        record = self._cache.pod_info(victim.metadata.uid)
        if not eviction.is_needed or record is None or record.is_leaving:
            return
        pod, node = eviction.diagnosis.pod, eviction.diagnosis.nominated_node
        note = eviction.note
        why = f"preempted to make room for pod {key(pod)} of higher priority on node {node!r}"
        remove = self._ask_to_evict if eviction.diagnosis.by_eviction else self._delete
        if self._binder.preempt(victim.metadata.uid, why):
            note += " (in kube-scheduler memory)."
        elif not await remove(victim, eviction):
            return
        self._cache.mark_preempted(victim.metadata.uid)
        name, regarding, related = pod.spec.scheduler_name, pod_object(victim), pod_object(pod)
        event = Event(regarding, "Preempted", note, "Preempting", controller=name, related=related)
        self._events.record(event)

    async def _delete(self, victim: Pod, eviction: PreemptionTask) -> bool:
        """Whether it was there to be deleted."""
        return await self._write_condition(victim, eviction) and await self._write_with_retries(
            lambda: self._writes.delete_pod(pod_ref(victim)), victim
        )

    async def _ask_to_evict(self, victim: Pod, eviction: PreemptionTask) -> bool:
        """Likewise. Only then the condition: a pod that stays must not have it, and the API server
        sets one of its own.
        """
        done = await self._write_with_retries(
            lambda: self._writes.evict_pod(pod_ref(victim)), victim
        )
        if done:
            try:
                await self._write_condition(victim, eviction)
            except EdgeError as error:
                log.info(
                    "a pod was evicted, and its condition does not say for whom: %s",
                    error,
                    extra={"pod": key(victim)},
                )
        return done

    async def _write_condition(self, victim: Pod, eviction: PreemptionTask) -> bool:
        condition = pod_condition(victim, eviction.condition, self._clock.now())
        return await self._write_with_retries(
            lambda: self._writes.pod_condition(pod_ref(victim), condition), victim
        )

    async def _write_with_retries(self, write: Callable[[], Awaitable[None]], pod: Pod) -> bool:
        """Whether it was written, after some attempts perhaps; False: the pod was gone. Raises
        EdgeError when it could not be.
        """
        perhaps, ref = False, pod_ref(pod)
        for failures in range(1, _MAX_ATTEMPTS + 1):
            try:
                await write()
                return True
            except (NotFound, Conflict, Retryable) as error:
                if not isinstance(error, Retryable) and await self._reads.pod_node(ref) is None:
                    return perhaps  # gone by what was sent before, or by itself
                perhaps |= isinstance(error, Retryable) and error.outcome_unknown
                if failures == _MAX_ATTEMPTS:
                    raise
                await self._clock.sleep(_BACKOFF.seconds(failures, error))
            except EvictionBlocked:
                raise
            except EdgeError as error:
                log.warning("a pod could not be evicted: %s", error, extra={"pod": key(pod)})
                raise
        raise AssertionError("the last attempt returns or raises")
