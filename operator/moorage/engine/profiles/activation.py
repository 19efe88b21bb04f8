"""Activation: a revision begins to decide for a profile, is held, or decides no more.

Each is one synchronous step: which revision is live, how the queue takes the profile's pods, and
what becomes of those that are under way change together.
"""

from __future__ import annotations

import dataclasses
import logging

from moorage.api.resolved_profile import Resolution
from moorage.core.cycle.decisions import ProfileActivated, ProfileDeactivated, ProfileHeld
from moorage.core.framework.evaluation.evaluator import Evaluator
from moorage.core.framework.holds import Hold
from moorage.core.framework.revisions import Revision
from moorage.core.queue.scheduling_queue import SchedulingQueue
from moorage.engine.intake.synced_kinds import SyncedKinds
from moorage.engine.live_revisions import LiveRevisions, LiveTrial
from moorage.engine.profile_records import ActiveRevision, ProfileRecord
from moorage.engine.profiles.required_rights import MissingRights
from moorage.engine.scheduling.pods_under_way import PodsUnderWay
from moorage.ports.bundle import Ports

swaps = logging.getLogger("moorage.swaps")


@dataclasses.dataclass(frozen=True, slots=True)
class SwapTargets:
    """What a swap acts on beside the live revisions."""

    queue: SchedulingQueue
    evaluator: Evaluator
    under_way: PodsUnderWay


@dataclasses.dataclass(frozen=True, slots=True)
class RevisionNeeds:
    """What a revision needs so that it may decide."""

    synced: SyncedKinds
    rights: MissingRights


class RevisionActivator:
    """Has a revision decide for a profile, holds it, or ends it, in one synchronous step."""

    def __init__(
        self, live: LiveRevisions, targets: SwapTargets, needs: RevisionNeeds, ports: Ports
    ) -> None:
        self._live = live
        self._queue = targets.queue
        self._evaluator = targets.evaluator
        self._under_way = targets.under_way
        self._needs = needs
        self._clock = ports.clock
        self._journal = ports.journal
        self._events = ports.events
        self._telemetry = ports.telemetry

    def tick(self, record: ProfileRecord) -> None:
        """Move pods that a swap has not moved yet, and forget revisions that nothing goes on by."""
        self.requeue_due(record)
        record.prune_superseded(self._under_way.count)

    def activate(
        self, record: ProfileRecord, resolution: Resolution, last_good: bool = False
    ) -> None:
        """Make this revision decide from the next pod on, in one step: nobody sees half of it."""
        revision = resolution.revision
        started = self._clock.boottime()
        old = record.active.revision if record.active is not None else None
        tried, record.tried = record.tried, None
        record.active = ActiveRevision(revision, resolution, self._clock.now(), last_good)
        self._live[revision.scheduler_name] = revision
        self._journal.append(ProfileActivated(revision.scheduler_name, revision))
        self.serve_or_hold(record)
        if tried is not None:
            del self._live.trials[revision.scheduler_name]
            if tried.revision is not revision:
                record.superseded.append(tried.revision)
        if old is not None:
            record.superseded.append(old)
            record.pending_requeue |= revision.changed_since(old)
        self.requeue_due(record)
        self._report_swap(record, revision, old, started)
        if old is not None:
            self._evaluator.retire(old)

    def _report_swap(
        self, record: ProfileRecord, revision: Revision, old: Revision | None, started: float
    ) -> None:
        seconds = self._clock.boottime() - started
        self._telemetry.swap(record.name, "swapped", seconds)
        extra = {
            "profile": record.name,
            "revision": revision.id,
            "replaces": old.id if old is not None else "",
            "seconds": round(seconds, 6),
            "at": round(started + seconds, 4),
        }
        swaps.info("swapped", extra=extra)
        if self._live.leading:
            name = revision.scheduler_name
            note = f"Revision {revision.id} decides for pods with schedulerName {name!r}"
            self._events.record(record.event("Activated", note))

    def requeue_due(self, record: ProfileRecord) -> None:
        """Move the pods that changed plugins had refused, at most once per initial backoff of the
        profile.
        """
        now = self._clock.boottime()
        if (
            record.active is None
            or not record.pending_requeue
            or now < record.requeued_at + record.active.resolution.initial_backoff
        ):
            return
        name = record.active.revision.scheduler_name
        self._queue.move_rejected_by(name, record.pending_requeue, now)
        record.pending_requeue = frozenset()
        record.requeued_at = now

    def begin_trial(self, record: ProfileRecord, tried: Resolution, trial: LiveTrial) -> None:
        """From the next pod on another revision decides too."""
        record.tried = tried
        self._live.trials[tried.scheduler_name] = trial
        self.serve_or_hold(record)

    def end_trial(self, record: ProfileRecord) -> None:
        """It does no more; pods that it refused are tried again."""
        active, tried, record.tried = record.active, record.tried, None
        if tried is None or active is None:
            return
        del self._live.trials[tried.scheduler_name]
        record.superseded.append(tried.revision)
        record.pending_requeue |= active.revision.changed_since(tried.revision)
        self.serve_or_hold(record)
        self.requeue_due(record)
        self._evaluator.retire(tried.revision)

    def serve_or_hold(self, record: ProfileRecord) -> None:
        """Have the queue take its pods as the profile wants them now, or hold them."""
        if record.active is None:
            return
        revision = record.active.revision
        record.waits_for = self._needs.synced.missing(revision)
        record.lacks = self._needs.rights.holding(revision)
        name, hold = revision.scheduler_name, record.hold
        if hold != self._live.holds.get(name):
            self._note_hold(name, hold)
        config = None if hold else record.active.resolution.queue_config
        if config is not None and record.tried is not None:
            config = config.with_hints_of(record.tried.queue_config)
        self._queue.set_profile(name, config, self._clock.boottime())
        if hold is not None:
            why = f"SchedulerProfile {record.name!r} {hold.why}"
            self._under_way.interrupt_profile(name, why)

    def _note_hold(self, scheduler_name: str, hold: Hold | None) -> None:
        """Its pods are not tried from now on, or (None) again."""
        if hold is None:
            del self._live.holds[scheduler_name]
        else:
            self._live.holds[scheduler_name] = hold
        self._journal.append(ProfileHeld(scheduler_name, hold))

    def misses_kinds(self, record: ProfileRecord, resolution: Resolution) -> bool:
        """Whether a revision would decide by objects that are not up to date yet; then it waits for
        them, and says so.
        """
        record.missing_kinds = self._needs.synced.missing(resolution.revision)
        record.waiting_reason = (
            f"{', '.join(record.missing_kinds)} are not up to date yet"
            if record.missing_kinds
            else ""
        )
        return bool(record.missing_kinds)

    def deactivate(self, record: ProfileRecord) -> None:
        """It decides no more: pods of its schedulerName are held until a profile of that name
        decides.
        """
        self.end_trial(record)
        record.trial = None
        active, record.active = record.active, None
        if active is None:
            return
        revision = active.revision
        record.superseded.append(revision)
        del self._live[revision.scheduler_name]
        self._journal.append(ProfileDeactivated(revision.scheduler_name))
        if revision.scheduler_name in self._live.holds:
            self._note_hold(revision.scheduler_name, None)
        self._queue.set_profile(revision.scheduler_name, None, self._clock.boottime())
        self._under_way.interrupt_profile(
            revision.scheduler_name,
            f"SchedulerProfile {record.name!r} serves this schedulerName no more",
        )
        self._evaluator.retire(revision)
