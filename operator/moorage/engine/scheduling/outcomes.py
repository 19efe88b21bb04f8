"""Handover: what becomes of a pod once its cycle has ended.

A placement is bound; of the others, some have errands run or room made for them first, and all end in the queue, with a word on why.
Whatever takes time runs beside the loop and comes back here when it has ended. The pod is in flight until then.
"""

from __future__ import annotations

import asyncio
import dataclasses
import logging
from collections.abc import Callable, Sequence

from moorage.core.columns.cache import Cache
from moorage.core.cycle import cycle
from moorage.core.cycle.context import Diagnosis, Placement
from moorage.core.framework.extenders import EXTENDER
from moorage.core.framework.object_changes import room_freed
from moorage.core.framework.status import REFUSALS, Code
from moorage.core.objects.meta import key
from moorage.core.objects.pods import on_node
from moorage.core.queue.queued_pod import Entry, Place
from moorage.core.queue.scheduling_queue import Backlog
from moorage.core.structures.catching import Catching
from moorage.engine.binding.binder import Binder
from moorage.engine.binding.sender import Outcome
from moorage.engine.reports.pod_conditions import SCHEDULER_ERROR, UNSCHEDULABLE, Failures, Verdict, pod_object
from moorage.engine.scheduling.gang_scheduler import Gangs
from moorage.engine.scheduling.nomination_controller import Promises, kept_for, made_room
from moorage.engine.scheduling.post_filter_actions import Errand, Errands
from moorage.engine.scheduling.preemption import Eviction, Preemptor
from moorage.ports.bundle import Surroundings
from moorage.ports.errors import EdgeError, Protected
from moorage.ports.event_recorder import Event
from moorage.ports.guards import FAULTS, guard, tell

log = logging.getLogger(__name__)
decisions = logging.getLogger("moorage.decisions")


@dataclasses.dataclass(slots=True)
class Handover:
    """See the module's docstring."""

    around: Surroundings
    cache: Cache
    backlog: Backlog
    failures: Failures
    gangs: Gangs
    promises: Promises
    binder: Binder
    preemptor: Preemptor
    errands: Errands
    unbound: Callable[[str], None] = lambda _: None
    """Called with the UID of each pod that still waits after its binding failed."""

    def conclude(self, entry: Entry, outcome: Placement | Diagnosis, started: float) -> None:
        """The cycle that began at ``started`` is over: the pod is bound, has room made for it, or goes back to the queue."""
        seconds = self.around.clock.boottime() - started
        self.around.telemetry.algorithm(seconds)
        with self.sure(entry, placement=outcome if isinstance(outcome, Placement) else None):
            if isinstance(outcome, Placement):
                entry.started = started
                self.binder.start(entry, outcome, self.finish)
            elif outcome.errands:
                self.errands.start(Errand(entry, outcome, seconds), self.errand_done)
            elif outcome.victims:
                self._preempt(entry, outcome, seconds)
            else:
                self._refuse(entry, outcome, seconds)
        if decisions.isEnabledFor(logging.INFO):
            pod, revision, node = outcome.pod, outcome.revision, outcome.node if isinstance(outcome, Placement) else ""
            decisions.info(
                "decided",
                extra={"pod": key(pod), "uid": pod.metadata.uid, "profile": revision.scheduler_name, "revision": revision.id, "node": node},
            )

    def sure(self, *entries: Entry, placement: Placement | None = None) -> Catching:
        """A bug that ends what is done inside takes the placement back; of these pods those in flight go to the queue, and say so."""
        return Catching(FAULTS, self._ended_by_bug, entries, placement)

    async def settle(self, seconds: float) -> None:
        """Wait, at most so long, for what is under way to end; bindings that are only being prepared are broken off."""
        self.binder.break_off("this replica stops")
        settling = {"bindings": self.binder.work, "evictions": self.preemptor.work, "errands": self.errands.work}
        for what, left in zip(settling, await asyncio.gather(*(work.settle(seconds) for work in settling.values())), strict=True):
            if left:
                log.warning("%d %s were not answered within %.1f s", left, what, seconds)

    # ---- what has ended ----------------------------------------------------------------------------------------------------

    def finish(self, entry: Entry, placement: Placement, outcome: Outcome) -> None:
        """A binding: confirm it, or take the assumption back and wake whom that frees."""
        with self.sure(entry, placement=None if outcome.bound else placement):
            if outcome.bound:
                self._bound(entry, placement)
            else:
                self._not_bound(entry, placement, outcome)

    def errand_done(self, errand: Errand, error: str) -> None:
        """What a plugin wanted to be done for a pod is done, or could not be: either way the pod is tried again after its backoff."""
        entry, diagnosis = errand.entry, dataclasses.replace(errand.diagnosis, errands={})
        with self.sure(entry):
            if error:
                text = f"running PostFilter plugin {', '.join(errand.diagnosis.errands)}: {error}"
                self._refuse(entry, dataclasses.replace(diagnosis, code=Code.ERROR, message=text, nominated_node=None), errand.seconds)
            elif diagnosis.victims:
                self._preempt(entry, diagnosis, errand.seconds)
            else:
                self._refuse(entry, dataclasses.replace(diagnosis, rejectors=frozenset()), errand.seconds)

    def evicted(self, eviction: Eviction, error: EdgeError | None) -> None:
        """The victims of a pod were told to go, so it waits for their room; or could not be, so it is tried again."""
        entry, diagnosis = eviction.entry, eviction.diagnosis
        with self.sure(entry):
            if isinstance(error, Protected):  # there will be no room: whoever may take what there is
                self.promises.decide(diagnosis.pod, "")
            self.backlog.requeue(entry, frozenset() if error else diagnosis.rejectors, self.around.clock.boottime())
            if error is not None:
                reason = UNSCHEDULABLE if isinstance(error, Protected) else SCHEDULER_ERROR
                self.failures.report(Verdict(diagnosis.pod, reason, f"preemption: {error}"))

    # ---- inside ------------------------------------------------------------------------------------------------------------

    def _bound(self, entry: Entry, placement: Placement) -> None:
        now, pod, profile = self.around.clock.boottime(), placement.pod, placement.revision.scheduler_name
        self.backlog.done(entry.uid)
        self.around.telemetry.attempt("scheduled", profile, now - entry.started)
        self.around.telemetry.bound(entry.attempts, now - entry.first_queued_at)
        note = f"Successfully assigned {key(pod)} to {placement.node}"
        self.around.events.emit(Event(pod_object(pod), "Scheduled", note, "Binding", controller=profile))

    def _not_bound(self, entry: Entry, placement: Placement, outcome: Outcome) -> None:
        now, pod = self.around.clock.boottime(), placement.pod
        self._take_back(placement)
        if outcome.overtaken:
            self.around.telemetry.overtaken(placement.revision.scheduler_name)
        self.backlog.wake(room_freed(on_node(pod, placement.node)), now)
        if outcome.status is None:
            self.backlog.done(entry.uid)
            return
        if outcome.fenced:
            self.backlog.requeue(entry, frozenset(), now)
        else:
            rejectors = frozenset({outcome.rejector} if outcome.rejector else ())
            diagnosis = Diagnosis(pod, placement.revision, outcome.status.code, outcome.status.message, rejectors)
            self.gangs.unbound(entry, diagnosis)
            self._refuse(entry, diagnosis, now - entry.started)
        self.unbound(entry.uid)

    def _ended_by_bug(self, error: BaseException, entries: Sequence[Entry], placement: Placement | None) -> None:
        if placement is not None:
            self._take_back(placement)
        for entry in entries:
            tell("what is done for a pod", error, pod=key(entry.pod))
            if entry.place is Place.IN_FLIGHT:
                with guard("sending a pod back to the queue", pod=key(entry.pod)):
                    self.backlog.requeue(entry, frozenset(), self.around.clock.boottime())
                    self.failures.report(Verdict(entry.pod, SCHEDULER_ERROR, f"scheduling failed: {error!r}"))

    def _take_back(self, placement: Placement) -> None:
        with guard("taking back a placement", pod=key(placement.pod), node=placement.node):
            cycle.undo(placement, self.cache)

    def _preempt(self, entry: Entry, diagnosis: Diagnosis, seconds: float) -> None:
        """Have room made for a pod. Pods of lower priority lose that node from now on."""
        self._tell(entry, diagnosis, seconds)
        self.promises.outrank(diagnosis.pod, diagnosis.nominated_node or "")
        if any(victim.metadata.deletion_timestamp is None for victim in diagnosis.victims):
            self.around.telemetry.preempted(len(diagnosis.victims))
        self.preemptor.start(Eviction(entry, diagnosis), self.evicted)

    def _refuse(self, entry: Entry, diagnosis: Diagnosis, seconds: float) -> None:
        """Back to the queue, and say why."""
        rejectors = diagnosis.rejectors if diagnosis.code in REFUSALS else frozenset()
        self.backlog.requeue(entry, rejectors, self.around.clock.boottime(), diagnosis.code is Code.PENDING)
        self._tell(entry, diagnosis, seconds)

    def _tell(self, entry: Entry, diagnosis: Diagnosis, seconds: float) -> None:
        """Say why, and keep the promise of a node, or break it; the pod's status follows."""
        refused = diagnosis.code in REFUSALS
        pod, profile, node = diagnosis.pod, diagnosis.revision.scheduler_name, diagnosis.nominated_node
        if node is not None:
            self.promises.decide(pod, node, diagnosis.held)
        self.around.telemetry.attempt("unschedulable" if refused else "error", profile, seconds)
        text = diagnosis.message + made_room(diagnosis) + kept_for(diagnosis.kept_by)
        verdict = Verdict(pod, UNSCHEDULABLE if refused else SCHEDULER_ERROR, text)
        (self.failures.report if self._is_news(entry, diagnosis, verdict) else self.failures.note)(verdict)

    def _is_news(self, entry: Entry, diagnosis: Diagnosis, verdict: Verdict) -> bool:
        """Whether an event is due: once for refusals of one kind in the backoff of the pod, however often something has it tried again.

        Extenders are asked again and again without any event: what they repeat is no news at all.
        """
        now, said = self.around.clock.boottime(), diagnosis.rejectors or diagnosis.message
        kind = verdict.reason, said, bool(diagnosis.victims)
        if (kind == entry.told and now < entry.told_until) or (EXTENDER in diagnosis.rejectors and self.failures.told(verdict)):
            return False
        entry.told, entry.told_until = kind, self.backlog.backoff_end(entry)
        return True
