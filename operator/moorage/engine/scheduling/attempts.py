"""Scheduling attempts: who is tried when its turn comes, and the attempt of a single pod.

A pod that is being deleted is let go. What comes of an attempt is committed and handed to
``CycleOutcomes``. A pod is decided by the revision that is live at that moment and keeps it to the
end of its binding.
"""

from __future__ import annotations

from moorage.core.cycle import cycle
from moorage.core.cycle.context import CycleContext, Decision, Diagnosis
from moorage.core.cycle.decisions import Decided, DecidedBy
from moorage.core.framework.revisions import Revision
from moorage.core.objects.meta import key
from moorage.core.queue.queued_pod import QueuedPodInfo, QueueState
from moorage.core.queue.scheduling_queue import SchedulingQueue
from moorage.core.structures.budget import OutOfTime
from moorage.engine.live_revisions import LiveRevisions, LiveTrial
from moorage.engine.reports.pod_conditions import attempt_error, pod_object
from moorage.engine.scheduling.attempt import SchedulingAttempt, give_back
from moorage.engine.scheduling.group_attempts import GroupAttempts
from moorage.engine.slices import MAX_DECISION_SECONDS, TOO_LONG_MESSAGE
from moorage.ports.bundle import Ports
from moorage.ports.event_recorder import Event
from moorage.ports.guards import FAULTS


class SchedulingAttempts:
    """Admits pods to their attempts, decides single ones, and hands over what comes of it."""

    def __init__(
        self,
        context: CycleContext,
        queue: SchedulingQueue,
        live: LiveRevisions,
        group_attempts: GroupAttempts,
        ports: Ports,
    ) -> None:
        self.group_attempts = group_attempts
        self.outcomes = group_attempts.outcomes
        self._context = context
        self._queue = queue
        self._live = live
        self._clock = ports.clock
        self._events = ports.events
        self._writes = ports.writes

    @property
    def allowed(self) -> bool:
        """Whether pods may be decided about: without the right to write binding would be in
        vain.
        """
        return self._live.deciding and self._writes.open

    def admit(self, attempt: SchedulingAttempt) -> Revision | None:
        """The revision that a pod is decided by now; None where it is not to be decided: then it
        is let go, or goes back to the queue.
        """
        entry = attempt.entry
        revision = self._live.get(entry.scheduler_name)
        if (
            revision is None
            or not self._queue.serves(entry.scheduler_name)
            or entry.state is not QueueState.IN_FLIGHT
            or (entry.group and self.group_attempts.includes(attempt))
        ):
            give_back(entry, self._queue, self._clock.boottime())
            return None
        if entry.pod.metadata.deletion_timestamp is not None:
            self._skip(entry)
            return None
        return revision

    def decide(self, attempt: SchedulingAttempt, revision: Revision) -> None:
        """Decide about a single pod, which has its place from then on. Raises OutOfTime, but not
        for ever.
        """
        pod, journal = attempt.entry.pod, self._context.cache.journal
        trial = self._live.trials.get(revision.scheduler_name)
        if trial is not None:
            revision = trial.revision_for(pod)
        sampled_from, room = self._context.sampler.start, self._context.makes_room
        try:
            outcome = cycle.decide(pod, revision, self._context)
            journal.append(Decided(outcome, DecidedBy.CYCLE, sampled_from, makes_room=room))
            self._compare(trial, outcome, attempt)
            outcome = self._commit(outcome)
        except OutOfTime:
            if attempt.spent < MAX_DECISION_SECONDS:
                raise
            outcome = Diagnosis.error(pod, revision, TOO_LONG_MESSAGE)
            journal.append(Decided(outcome, DecidedBy.NOBODY))
            self._compare(trial, outcome, attempt)
        except FAULTS as error:  # a plugin's bug fails this pod's attempt, never the process
            outcome = attempt_error(pod, revision, error)
            journal.append(Decided(outcome, DecidedBy.NOBODY))
            self._compare(trial, outcome, attempt)
        self._handle(attempt.entry, outcome, attempt.started)

    def extender_cycle_ended(
        self, entry: QueuedPodInfo, outcome: Decision | None, started: float
    ) -> None:
        """Extenders have had their say; None: the pod is gone, is going, or has a node."""
        with self.outcomes.undoing_on_error(entry):
            if outcome is None:
                self._queue.done(entry.uid)
            elif not self.allowed:
                self._queue.requeue(entry, frozenset(), self._clock.boottime())
            else:
                self._handle(entry, self._commit(outcome), started)

    # ---- inside ----------------------------------------------------------------------------------

    def _compare(
        self, trial: LiveTrial | None, outcome: Decision, attempt: SchedulingAttempt
    ) -> None:
        """Where a trial runs, hear what the other revision says, before anything is done."""
        if trial is not None:
            trial.compare(outcome, self._clock.boottime() - attempt.started)

    def _commit(self, outcome: Decision) -> Decision:
        if isinstance(outcome, Diagnosis):
            return outcome
        try:
            return cycle.assume_and_reserve(outcome, self._context)
        except FAULTS as error:  # as above
            return attempt_error(outcome.pod, outcome.revision, error)

    def _handle(self, entry: QueuedPodInfo, outcome: Decision, started: float) -> None:
        if isinstance(outcome, Diagnosis):
            self.group_attempts.note_kept_out(entry.uid)
        self.outcomes.handle(entry, outcome, started)

    def _skip(self, entry: QueuedPodInfo) -> None:
        """A pod that is being deleted is not placed any more; the watch takes it out."""
        self._queue.done(entry.uid)
        give_back(entry, self._queue, self._clock.boottime())
        regarding, note = pod_object(entry.pod), f"skip schedule deleting pod: {key(entry.pod)}"
        self._events.record(
            Event(
                regarding,
                "FailedScheduling",
                note,
                "Scheduling",
                controller=entry.scheduler_name,
                warning=True,
            )
        )
