"""Outcomes: what becomes of a pod once its cycle has ended.

A placement is bound; of the others, some have actions run or room made for them first, and all end
in the queue, with a word on why. Whatever takes time runs beside the loop and comes back here when
it has ended. The pod is in flight until then.
"""

from __future__ import annotations

import asyncio
import dataclasses
import logging
from collections.abc import Sequence
from typing import Any

from moorage.core.columns.cache import Cache
from moorage.core.cycle import cycle
from moorage.core.cycle.context import Decision, Diagnosis, ScheduleResult
from moorage.core.framework.extenders import EXTENDER
from moorage.core.framework.object_changes import resources_freed
from moorage.core.framework.status import REJECTED, Code
from moorage.core.objects.meta import key
from moorage.core.objects.pods import on_node
from moorage.core.queue.group_moves import rejectors
from moorage.core.queue.queued_pod import QueuedPodInfo, QueueState
from moorage.core.queue.scheduling_queue import SchedulingQueue
from moorage.core.structures.catching import Catching
from moorage.engine.binding.binder import Binder
from moorage.engine.binding.outcome import BindingOutcome
from moorage.engine.intake.pod_sink import PodAdmission
from moorage.engine.reports.pod_conditions import (
    SCHEDULER_ERROR,
    UNSCHEDULABLE,
    PodConditionUpdate,
    PodConditionWriter,
    pod_object,
)
from moorage.engine.scheduling.group_scheduler import GroupDone, GroupScheduler
from moorage.engine.scheduling.nomination_controller import (
    NominationController,
    nominated_message,
)
from moorage.engine.scheduling.post_filter_actions import PostFilterAction, PostFilterActions
from moorage.engine.scheduling.preemption import (
    NobodyEvicted,
    PreemptionTask,
    Preemptor,
    group_preemption,
)
from moorage.ports.bundle import Ports
from moorage.ports.errors import EdgeError, EvictionBlocked
from moorage.ports.event_recorder import Event
from moorage.ports.guards import FAULTS, guard, log_bug

log = logging.getLogger(__name__)
decisions = logging.getLogger("moorage.decisions")


@dataclasses.dataclass(slots=True)
class CycleOutcomes:
    """Has a pod bound, or room made for it, or puts it back into the queue, as its cycle ended."""

    ports: Ports
    cache: Cache
    queue: SchedulingQueue
    pod_conditions: PodConditionWriter
    group_scheduler: GroupScheduler
    nomination_controller: NominationController
    binder: Binder
    preemptor: Preemptor
    actions: PostFilterActions
    admission: PodAdmission

    def handle(self, entry: QueuedPodInfo, outcome: Decision, started: float) -> None:
        """Bind the pod, make room for it, or put it back; its cycle began at ``started``."""
        seconds = self.ports.clock.boottime() - started
        self.ports.telemetry.algorithm(seconds)
        placement = outcome if isinstance(outcome, ScheduleResult) else None
        with self.undoing_on_error(entry, placement=placement):
            if isinstance(outcome, ScheduleResult):
                entry.attempt_started = started
                self.binder.start(entry, outcome, self.on_binding_done)
            elif outcome.post_filter_actions:
                self.actions.start(PostFilterAction(entry, outcome, seconds), self.on_actions_done)
            elif outcome.victims:
                self._preempt(entry, outcome, seconds)
            else:
                self._requeue_rejected(entry, outcome, seconds)
        if decisions.isEnabledFor(logging.INFO):
            _log_decision(outcome)

    def count_group(self, done: GroupDone, profile: str, seconds: float) -> None:
        """An attempt of a group came to its end. One that was not there any more is not counted."""
        if done.status is None:
            return
        result = "scheduled" if done.status.code is Code.SUCCESS else "error"
        if done.status.code in REJECTED:
            result = "waiting_on_preemption" if done.victims else "unschedulable"
        self.ports.telemetry.group_attempt(result, profile, seconds)

    def make_room_for_group(self, done: GroupDone, seconds: float) -> None:
        """Have the victims of a group evicted; its members are in flight until then."""
        waiting = [(entry, one) for entry, one in done.members if isinstance(one, Diagnosis)]
        with self.undoing_on_error(*(entry for entry, _ in waiting)):
            for entry, diagnosis in waiting:
                self._report(entry, diagnosis, seconds)
                self.nomination_controller.clear_lower(
                    diagnosis.pod, diagnosis.nominated_node or ""
                )
            self.preemptor.start(group_preemption(waiting, done), self.on_evicted)

    def undoing_on_error(
        self, *entries: QueuedPodInfo, placement: ScheduleResult | None = None
    ) -> Catching:
        """A bug that ends what is done inside takes the placement back; of these pods those in
        flight go to the queue, and say so.
        """
        return Catching(FAULTS, self._ended_by_bug, entries, placement)

    async def settle(self, seconds: float) -> None:
        """Wait, at most so long, for what is under way to end; bindings that are only being
        prepared are broken off.
        """
        self.binder.interrupt_all("this replica stops")
        settling = {
            "bindings": self.binder.tasks,
            "evictions": self.preemptor.tasks,
            "postFilter actions": self.actions.tasks,
        }
        for what, left in zip(
            settling,
            await asyncio.gather(*(work.settle(seconds) for work in settling.values())),
            strict=True,
        ):
            if left:
                log.warning("%d %s were not answered within %.1f s", left, what, seconds)

    # ---- what has ended --------------------------------------------------------------------------

    def on_binding_done(
        self, entry: QueuedPodInfo, placement: ScheduleResult, outcome: BindingOutcome
    ) -> None:
        """A binding: confirm it, or take the assumption back and move the pods that may fit now."""
        with self.undoing_on_error(entry, placement=None if outcome.bound else placement):
            if outcome.bound:
                self._bound(entry, placement)
            else:
                self._not_bound(entry, placement, outcome)

    def on_actions_done(self, action: PostFilterAction, error: str) -> None:
        """What a plugin wanted to be done for a pod is done, or could not be: either way the pod is
        tried again after its backoff.
        """
        entry, diagnosis = action.entry, action.diagnosis
        with self.undoing_on_error(entry):
            if diagnosis.victims and not error:
                self._preempt(entry, diagnosis, action.seconds)
                return
            changes: dict[str, Any] = {"unschedulable_plugins": frozenset()}
            if error:
                plugins = ", ".join(diagnosis.post_filter_actions)
                text = f"running PostFilter plugin {plugins}: {error}"
                changes = {"code": Code.ERROR, "message": text, "nominated_node": None}
            diagnosis = dataclasses.replace(diagnosis, **changes)
            self._requeue_rejected(entry, diagnosis, action.seconds)

    def on_evicted(self, eviction: PreemptionTask, error: EdgeError | None) -> None:
        """The victims of a pod are evicted, so it waits for their room; or could not be, so it is
        tried again.
        """
        for entry, diagnosis in eviction.waiting:
            self._evicted_for(entry, diagnosis, error)

    def _evicted_for(
        self, entry: QueuedPodInfo, diagnosis: Diagnosis, error: EdgeError | None
    ) -> None:
        with self.undoing_on_error(entry):
            # there will be no room: whoever may take what there is
            if isinstance(error, EvictionBlocked):
                self.nomination_controller.nominate(diagnosis.pod, "")
            kept_out_by = rejectors(entry, diagnosis.unschedulable_plugins, error is None)
            self.queue.requeue(entry, kept_out_by, self.ports.clock.boottime())
            if error is not None:
                no_fault = isinstance(error, (EvictionBlocked, NobodyEvicted))
                reason = UNSCHEDULABLE if no_fault else SCHEDULER_ERROR
                update = PodConditionUpdate(diagnosis.pod, reason, f"preemption: {error}")
                self.pod_conditions.report(update)

    # ---- inside ----------------------------------------------------------------------------------

    def _bound(self, entry: QueuedPodInfo, placement: ScheduleResult) -> None:
        now, pod = self.ports.clock.boottime(), placement.pod
        profile = placement.revision.scheduler_name
        self.queue.done(entry.uid)
        self.ports.telemetry.attempt("scheduled", profile, now - entry.attempt_started)
        self.ports.telemetry.bound(entry.attempts, now - entry.initial_attempt_timestamp)
        note = f"Successfully assigned {key(pod)} to {placement.node}"
        self.ports.events.record(
            Event(pod_object(pod), "Scheduled", note, "Binding", controller=profile)
        )

    def _not_bound(
        self, entry: QueuedPodInfo, placement: ScheduleResult, outcome: BindingOutcome
    ) -> None:
        now, pod = self.ports.clock.boottime(), placement.pod
        self._undo(placement)
        if outcome.node_changed:
            self.ports.telemetry.node_changed(placement.revision.scheduler_name)
        self.queue.move_on_event(resources_freed(on_node(pod, placement.node)), now)
        if outcome.gone:
            self.queue.done(entry.uid)
            return
        if outcome.fenced:
            self.queue.requeue(entry, frozenset(), now)
        else:
            diagnosis = outcome.diagnosis(placement)
            self.group_scheduler.binding_failed(entry, diagnosis)
            self._requeue_rejected(entry, diagnosis, now - entry.attempt_started)
        self.admission.admit_again(entry.uid)

    def _ended_by_bug(
        self,
        error: BaseException,
        entries: Sequence[QueuedPodInfo],
        placement: ScheduleResult | None,
    ) -> None:
        if placement is not None:
            self._undo(placement)
        for entry in entries:
            log_bug("what is done for a pod", error, pod=key(entry.pod))
            if entry.state is QueueState.IN_FLIGHT:
                with guard("sending a pod back to the queue", pod=key(entry.pod)):
                    self.queue.requeue(entry, frozenset(), self.ports.clock.boottime())
                    text = f"scheduling failed: {error!r}"
                    update = PodConditionUpdate(entry.pod, SCHEDULER_ERROR, text)
                    self.pod_conditions.report(update)

    def _undo(self, placement: ScheduleResult) -> None:
        with guard("taking back a placement", pod=key(placement.pod), node=placement.node):
            cycle.unreserve_and_forget(placement, self.cache)

    def _preempt(self, entry: QueuedPodInfo, diagnosis: Diagnosis, seconds: float) -> None:
        """Have room made for a pod. Pods of lower priority lose that node from now on."""
        self._report(entry, diagnosis, seconds)
        self.nomination_controller.clear_lower(diagnosis.pod, diagnosis.nominated_node or "")
        self.preemptor.start(PreemptionTask([(entry, diagnosis)]), self.on_evicted)

    def _requeue_rejected(self, entry: QueuedPodInfo, diagnosis: Diagnosis, seconds: float) -> None:
        """Back to the queue, and say why."""
        rejected = diagnosis.code in REJECTED
        kept_out_by = rejectors(entry, diagnosis.unschedulable_plugins, rejected)
        self.queue.requeue(
            entry, kept_out_by, self.ports.clock.boottime(), diagnosis.code is Code.PENDING
        )
        self._report(entry, diagnosis, seconds)

    def _report(self, entry: QueuedPodInfo, diagnosis: Diagnosis, seconds: float) -> None:
        """Say why, and keep the nomination, or end it; the pod's status follows."""
        result, reason = "error", SCHEDULER_ERROR
        if diagnosis.code in REJECTED:
            result, reason = "unschedulable", UNSCHEDULABLE
        pod, node = diagnosis.pod, diagnosis.nominated_node
        if node is not None:
            self.nomination_controller.nominate(pod, node, diagnosis.held)
        self.ports.telemetry.attempt(result, diagnosis.revision.scheduler_name, seconds)
        text = diagnosis.message + nominated_message(diagnosis.blocking_nominated_pods)
        update = PodConditionUpdate(pod, reason, text)
        if self._is_news(entry, diagnosis, update):
            self.pod_conditions.report(update)
        else:
            self.pod_conditions.write(update)

    def _is_news(
        self, entry: QueuedPodInfo, diagnosis: Diagnosis, update: PodConditionUpdate
    ) -> bool:
        """Whether an event is due: once for refusals of one kind in the backoff of the pod, however
        often something has it tried again.

        Extenders are asked again and again without any event: what they repeat is no news at all.
        """
        now, plugins = self.ports.clock.boottime(), diagnosis.unschedulable_plugins
        kind = update.reason, plugins or diagnosis.message, bool(diagnosis.victims)
        repeated = kind == entry.last_reported and now < entry.report_suppressed_until
        if repeated or (EXTENDER in plugins and self.pod_conditions.is_written(update)):
            return False
        entry.last_reported, entry.report_suppressed_until = kind, self.queue.backoff_end(entry)
        return True


def _log_decision(outcome: Decision) -> None:
    pod, revision = outcome.pod, outcome.revision
    extra = {
        "pod": key(pod),
        "uid": pod.metadata.uid,
        "profile": revision.scheduler_name,
        "revision": revision.id,
        "node": outcome.node if isinstance(outcome, ScheduleResult) else "",
    }
    decisions.info("decided", extra=extra)
