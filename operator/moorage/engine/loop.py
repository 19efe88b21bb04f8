"""The loop: takes the next pod, decides, hands over, and again.

Decisions are made one after another on the event loop's thread; between slices of a few milliseconds the loop lets watches and
bindings have their turn. A pod is decided by the revision that is live at that moment and keeps it to the end of its binding.
"""

from __future__ import annotations

import asyncio
import dataclasses
import logging
from collections.abc import Callable

from moorage.core import cycle, gangs
from moorage.core.backlog.backlog import Backlog
from moorage.core.backlog.entries import Entry
from moorage.core.cluster_events import Action, ClusterEvent, Resource
from moorage.core.cycle import Diagnosis, Placement, Scheduler
from moorage.core.extending import asked
from moorage.core.framework.extenders import EXTENDER
from moorage.core.framework.profiles import Revision
from moorage.core.objects import Pod, key, on_node
from moorage.core.verdicts import REFUSALS, Code
from moorage.engine.binding import Binder, Outcome
from moorage.engine.errands import Errand, Errands
from moorage.engine.extending import Extending
from moorage.engine.failures import SCHEDULER_ERROR, UNSCHEDULABLE, Failures, Verdict, pod_object
from moorage.engine.gangs import Gangs
from moorage.engine.preempting import Eviction, Preemptor
from moorage.engine.promises import Promises
from moorage.ports.errors import EdgeError, Protected
from moorage.ports.surroundings import Clock, Event, EventSink, Telemetry

log = logging.getLogger(__name__)
decisions = logging.getLogger("moorage.decisions")

ALONE = "extenders can only be asked about pods that are placed one by one, not about a pod group"
SLICE = 0.004
"""Seconds of deciding before others get their turn."""


class Loop:
    """See the module's docstring. ``live`` maps a schedulerName to the revision that decides; swapping writes it."""

    def __init__(self, scheduler: Scheduler, backlog: Backlog, binder: Binder, preemptor: Preemptor, failures: Failures) -> None:
        self.live: dict[str, Revision] = {}
        self.scheduler = scheduler
        self.backlog = backlog
        self.binder = binder
        self.preemptor = preemptor
        self.failures = failures
        self.gangs = Gangs(backlog, scheduler, failures)
        self.extending: Extending
        self.deciding = False
        """Whether this replica leads and may decide; set once it may, cleared for good when it stops."""
        self.unbound: Callable[[str], None] = lambda _: None
        """Called with the UID of each pod that still waits after its binding failed."""
        self._work = asyncio.Event()
        binder.finish = self.finish
        binder.news = scheduler.cache.news
        binder.objection = lambda placement: cycle.objection(placement, scheduler)
        preemptor.finish, preemptor.settle_status = self.evicted, failures.settle
        preemptor.record, preemptor.displace = scheduler.cache.record, binder.displace
        self.errands = Errands(binder.actors)
        self.errands.finish = self.errand_done

    def connect(self, clock: Clock, events: EventSink, telemetry: Telemetry, may_write: Callable[[], bool]) -> None:
        """Give the loop its surroundings; it decides only while ``may_write`` says so, or binding would be in vain."""
        self._clock, self._events, self._telemetry, self._may_write = clock, events, telemetry, may_write
        self.promises = Promises(self.scheduler.cache, self.backlog, self.failures, clock, self._ours)
        self.scheduler.snapshot.now, self.scheduler.snapshot.count_error = clock.boottime, telemetry.expression_failed
        self.gangs.connect(clock, events)
        self.binder.took = lambda point, status, profile, seconds: telemetry.extension_point(point.label, status, profile, seconds)
        self.binder.waited = telemetry.permit_wait

    def ask_by(self, extending: Extending) -> None:
        """Have extenders asked by this."""
        self.extending = extending
        extending.again, extending.finish = self.attempt_again, self.extended

    def poke(self) -> None:
        """There may be something to do."""
        self._work.set()

    async def run(self) -> None:
        """Decide until cancelled."""
        while True:
            # 1. Wait for the right to decide, for a pod, for a free binding.
            await self.binder.wait_free()
            decides = self.deciding and self._may_write()
            entry = self.backlog.pop(self._clock.boottime()) if decides else None
            if entry is None and decides and self.backlog.behind:
                await asyncio.sleep(0)
                continue
            if entry is None:
                self._work.clear()
                await self._work.wait()
                continue

            # 2. Decide a slice of pods, one by one, then let the others run.
            until = self._clock.boottime() + SLICE
            while entry is not None:
                self.attempt(entry)
                more = self.deciding and self.binder.free and self._clock.boottime() < until
                entry = self.backlog.pop(self._clock.boottime()) if more else None
            await asyncio.sleep(0)

    def attempt(self, entry: Entry) -> None:
        """One scheduling attempt, up to the hand-over to binding or back to the queue."""
        started = self._clock.boottime()
        pod, revision = entry.pod, self.live[entry.scheduler_name]
        if pod.metadata.deletion_timestamp is not None:
            self._skip(entry)
            return
        if entry.companions:
            self._attempt_together(entry, revision, started)
            return
        if revision.extenders and self.extending.takes(entry, revision):
            return
        try:
            outcome = cycle.decide(pod, revision, self.scheduler)
            if isinstance(outcome, Placement):
                outcome = cycle.commit(outcome, self.scheduler)
        except Exception as error:  # noqa: BLE001  # a plugin's bug fails this pod's attempt, never the process
            outcome = _broken(pod, revision, error)
        self.conclude(entry, outcome, started)

    def attempt_again(self, entry: Entry) -> None:
        """A pod that waited until there was room to ask extenders about it has its turn."""
        if entry.scheduler_name in self.live and self.deciding and self._may_write():
            self.attempt(entry)
        else:
            self.backlog.requeue(entry, frozenset(), self._clock.boottime())

    def extended(self, entry: Entry, outcome: Placement | Diagnosis | None, started: float) -> None:
        """Extenders have had their say; None: the pod is gone, is going, or has a node."""
        if outcome is None:
            self.backlog.done(entry.uid)
        elif not (self.deciding and self._may_write()):
            self.backlog.requeue(entry, frozenset(), self._clock.boottime())
        else:
            try:
                if isinstance(outcome, Placement):
                    outcome = cycle.commit(outcome, self.scheduler)
            except Exception as error:  # noqa: BLE001  # as above
                outcome = _broken(outcome.pod, outcome.revision, error)
            self.conclude(entry, outcome, started)
        self.poke()

    def recall(self, scheduler_name: str, why: str) -> None:
        """What is under way for this profile's pods is broken off, as far as it can be."""
        self.extending.recall(scheduler_name, why)
        self.binder.recall(scheduler_name, why)

    def draining(self, revision: Revision) -> int:
        """How many pods are on their way by this revision."""
        return self.extending.draining(revision) + self.binder.draining(revision)

    def _attempt_together(self, entry: Entry, revision: Revision, started: float) -> None:
        """One attempt of a whole pod group: each of its members is handed over, or goes back."""

        def place(pod: Pod) -> Placement | Diagnosis:
            if revision.extenders and asked(pod, revision):
                return Diagnosis(pod, revision, Code.UNRESOLVABLE, ALONE, frozenset({EXTENDER}))
            try:
                return gangs.place(pod, revision, self.scheduler)
            except Exception as error:  # noqa: BLE001  # as above: it is logged, and is the pod's outcome
                return _broken(pod, revision, error)

        outcomes = self.gangs.attempt(entry, place)
        share = (self._clock.boottime() - started) / len(outcomes)
        for member, outcome in outcomes:
            self.conclude(member, outcome, self._clock.boottime() - share)

    def conclude(self, entry: Entry, outcome: Placement | Diagnosis, started: float) -> None:
        """The cycle is over: the pod goes on to binding, has room made for it, or goes back to the queue."""
        pod, revision, now = outcome.pod, outcome.revision, self._clock.boottime()
        self._telemetry.algorithm(now - started)
        if isinstance(outcome, Placement):
            entry.started = started
            self.binder.start(entry, outcome)
        elif outcome.errands:
            self.errands.start(Errand(entry, outcome, now - started))
        elif outcome.victims:
            self._preempt(entry, outcome, now - started)
        else:
            self._refuse(entry, outcome, now - started)
        if decisions.isEnabledFor(logging.INFO):
            node = outcome.node if isinstance(outcome, Placement) else ""
            decisions.info(
                "decided",
                extra={"pod": key(pod), "uid": pod.metadata.uid, "profile": revision.scheduler_name, "revision": revision.id, "node": node},
            )

    def finish(self, entry: Entry, placement: Placement, outcome: Outcome) -> None:
        """A binding ended: confirm it, or take the assumption back and wake whom that frees."""
        now, pod = self._clock.boottime(), placement.pod
        profile = placement.revision.scheduler_name
        if outcome.bound:
            self.backlog.done(pod.metadata.uid)
            self._telemetry.attempt("scheduled", profile, now - entry.started)
            self._telemetry.bound(entry.attempts, now - entry.first_queued_at)
            note = f"Successfully assigned {key(pod)} to {placement.node}"
            self._events.emit(Event(pod_object(pod), "Scheduled", note, "Binding", controller=profile))
        else:
            cycle.undo(placement, self.scheduler.cache)
            if outcome.overtaken:
                self._telemetry.overtaken(profile)
            self.backlog.wake(ClusterEvent(Resource.ASSIGNED_POD, Action.DELETE, old=on_node(pod, placement.node)), now)
            if outcome.status is None:
                self.backlog.done(pod.metadata.uid)
            elif outcome.fenced:
                self.backlog.requeue(entry, frozenset(), now)
            else:
                rejectors = frozenset({outcome.rejector} if outcome.rejector else ())
                diagnosis = Diagnosis(pod, placement.revision, outcome.status.code, outcome.status.message, rejectors)
                self.gangs.unbound(entry, diagnosis)
                self._refuse(entry, diagnosis, now - entry.started)
            if outcome.status is not None:
                self.unbound(pod.metadata.uid)
        self.poke()

    def errand_done(self, errand: Errand, error: str) -> None:
        """What a plugin wanted to be done for a pod is done, or could not be: either way the pod is tried again after its backoff."""
        diagnosis = dataclasses.replace(errand.diagnosis, errands={})
        if error:
            text = f"running PostFilter plugin {', '.join(errand.diagnosis.errands)}: {error}"
            self._refuse(errand.entry, dataclasses.replace(diagnosis, code=Code.ERROR, message=text, nominated_node=None), errand.seconds)
        elif diagnosis.victims:
            self._preempt(errand.entry, diagnosis, errand.seconds)
        else:
            self._refuse(errand.entry, dataclasses.replace(diagnosis, rejectors=frozenset()), errand.seconds)
        self.poke()

    def evicted(self, eviction: Eviction, error: EdgeError | None) -> None:
        """The victims of a pod were told to go, so it waits for their room; or could not be, so it is tried again."""
        entry, diagnosis = eviction.entry, eviction.diagnosis
        if isinstance(error, Protected):  # there will be no room: whoever may take what there is
            self.promises.decide(diagnosis.pod, "")
        self.backlog.requeue(entry, frozenset() if error else diagnosis.rejectors, self._clock.boottime())
        if error is not None:
            reason = UNSCHEDULABLE if isinstance(error, Protected) else SCHEDULER_ERROR
            self.failures.report(Verdict(diagnosis.pod, reason, f"preemption: {error}"))
        self.poke()

    def _preempt(self, entry: Entry, diagnosis: Diagnosis, seconds: float) -> None:
        """Have room made for a pod, which stays in flight meanwhile. Pods of lower priority lose that node from now on."""
        self._tell(diagnosis, seconds)
        self.promises.outrank(diagnosis.pod, diagnosis.nominated_node or "")
        if any(victim.metadata.deletion_timestamp is None for victim in diagnosis.victims):
            self._telemetry.preempted(len(diagnosis.victims))
        self.preemptor.start(Eviction(entry, diagnosis))

    def _refuse(self, entry: Entry, diagnosis: Diagnosis, seconds: float) -> None:
        """Back to the queue, and say why."""
        rejectors = diagnosis.rejectors if diagnosis.code in REFUSALS else frozenset()
        self.backlog.requeue(entry, rejectors, self._clock.boottime(), diagnosis.code is Code.PENDING)
        self._tell(diagnosis, seconds)

    def _tell(self, diagnosis: Diagnosis, seconds: float) -> None:
        """Say why, and keep the promise of a node, or break it; the pod's status follows."""
        refused = diagnosis.code in REFUSALS
        pod, profile, node = diagnosis.pod, diagnosis.revision.scheduler_name, diagnosis.nominated_node
        if node is not None:
            self.promises.decide(pod, node)
        self._telemetry.attempt("unschedulable" if refused else "error", profile, seconds)
        self.failures.report(Verdict(pod, UNSCHEDULABLE if refused else SCHEDULER_ERROR, diagnosis.message))

    def _ours(self, scheduler_name: str) -> bool:
        """Whether such pods are for us to place and to write to."""
        return self.deciding and scheduler_name in self.live

    def _skip(self, entry: Entry) -> None:
        """A pod that is being deleted is not placed any more; the watch takes it out."""
        pod = entry.pod
        self.backlog.done(pod.metadata.uid)
        note = f"skip schedule deleting pod: {key(pod)}"
        self._events.emit(Event(pod_object(pod), "FailedScheduling", note, "Scheduling", controller=entry.scheduler_name, warning=True))


def _broken(pod: Pod, revision: Revision, error: Exception) -> Diagnosis:
    """The outcome of an attempt that a bug has ended."""
    log.error("an attempt failed with a bug", exc_info=error, extra={"pod": key(pod), "profile": revision.scheduler_name})
    return Diagnosis(pod, revision, Code.ERROR, f"scheduling failed: {error!r}")
