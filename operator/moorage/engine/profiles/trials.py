"""Trials: a new revision of a profile decides only once it was compared with the one that does.

``ProfileSwapper`` asks ``holds`` before it swaps. Pairs are made by ``RunningTrial``; here trials
begin and end, are saved for whoever leads next, and told.
"""

from __future__ import annotations

import dataclasses
import logging

from moorage.api.conditions import timestamp
from moorage.api.resolved_profile import Resolution
from moorage.core.cycle.context import CycleContext
from moorage.core.trials.plans import TrialPlan, Verdict
from moorage.core.trials.trial import ProfileTrial, read_trial, trial_document
from moorage.engine.live_revisions import LiveRevisions
from moorage.engine.profile_records import ProfileRecord, ProfileRecords
from moorage.engine.profiles.activation import RevisionActivator
from moorage.engine.profiles.profile_status import ProfileStatusWriter
from moorage.engine.profiles.stored_revisions import StoredRevisions
from moorage.engine.profiles.trial_reports import trial_summary
from moorage.engine.scheduling.running_trial import RunningTrial
from moorage.ports.bundle import Ports
from moorage.ports.errors import EdgeError
from moorage.ports.guards import guard
from moorage.ports.repeated_logs import once_per_failure

log = logging.getLogger(__name__)

ROUND_SECONDS = 0.5
SAVE_INTERVAL_SECONDS = 5.0
"""Seconds between two saves of counts: so much of a trial is lost with its leader, at most."""


@dataclasses.dataclass(slots=True, eq=False)
class _Kept:
    """A trial that began or was taken up here; ``saved``: its document as it was last written, and
    when.
    """

    trial: ProfileTrial
    running: RunningTrial
    saved: str = ""
    saved_at: float = float("-inf")
    told: bool = False


@dataclasses.dataclass(eq=False, kw_only=True)
class ProfileTrials:
    """Begins, takes up, ends and saves the trials of all profiles."""

    live: LiveRevisions
    records: ProfileRecords
    stored: StoredRevisions
    activator: RevisionActivator
    bound: CycleContext
    """Of the decisions that count."""
    status: ProfileStatusWriter
    ports: Ports
    _kept: dict[str, _Kept] = dataclasses.field(default_factory=dict, init=False)
    """By profile."""

    # ---- for the swapper -------------------------------------------------------------------------

    def holds(self, record: ProfileRecord, resolution: Resolution) -> bool:
        """Whether a good revision is not to decide yet, as it is tried first, or was tried in vain.

        One that decided before is not tried: whoever goes back does not want to wait. An observer
        decides nothing, and so tries nothing.
        """
        plan, active = resolution.plan, record.active
        if active is not None and active.revision.id == resolution.id:
            if record.trial is not None and record.trial.verdict is Verdict.PASSED:
                return False  # it is still told
            plan = None
        if plan is None or active is None or self.stored.has(record, resolution.id):
            self.end(record)
            return False
        if not self.live.leading:
            return not self.live.observing  # whoever leads tries it
        trial = self._trial_of(record, resolution, plan)
        if trial is not record.trial:
            self.end(record)
            self._begin(record, resolution, trial)
        if resolution.stopped == resolution.id and not trial.final:
            trial.verdict = Verdict.STOPPED
        return trial.verdict is not Verdict.PASSED

    def end(self, record: ProfileRecord) -> None:
        """There is nothing more to be tried, and nothing to be said of it."""
        record.trial = None
        self._kept.pop(record.name, None)
        self.activator.end_trial(record)

    def has_passed(self, record: ProfileRecord) -> bool:
        """Whether a revision that has passed is still to be swapped in."""
        return record.tried is not None and (
            record.trial is not None and record.trial.verdict is Verdict.PASSED
        )

    # ---- by the clock ----------------------------------------------------------------------------

    async def run(self) -> None:
        """Save, act on deadlines and tell, until cancelled."""
        while True:
            await self.ports.clock.sleep(ROUND_SECONDS)
            for name, kept in list(self._kept.items()):
                record = self.records.profiles.get(name)
                if record is None or record.trial is not kept.trial:
                    self._kept.pop(name, None)  # the profile is gone, or decides no more
                    continue
                with guard("looking after a trial", profile=name):
                    await self._look_after(record, kept)

    async def _look_after(self, record: ProfileRecord, kept: _Kept) -> None:
        trial, now = kept.trial, self.ports.clock.boottime()
        if record.hold is not None:
            kept.running.paired_at = now
        elif not trial.final and now >= kept.running.paired_at + trial.plan.deadline_seconds:
            trial.verdict = Verdict.TOO_FEW_PODS
        if trial.final and trial.verdict is not Verdict.PASSED:
            self.activator.end_trial(record)
        if trial.final or now >= kept.saved_at + SAVE_INTERVAL_SECONDS:
            await self._save(record, kept)
        if trial.final and not kept.told and record.trial is trial:
            kept.told = True
            self._tell_end(record, trial)

    async def _save(self, record: ProfileRecord, kept: _Kept) -> None:
        """Write down how it stands, where that is news."""
        document = trial_document(kept.trial)
        if document == kept.saved:
            return
        kept.saved_at = self.ports.clock.boottime()
        try:
            await self.stored.save_trial(record, kept.trial.against, document)
        except EdgeError as error:
            extra = {"profile": record.name, **once_per_failure(error)}
            log.warning("how a trial stands was not saved: %s", error, extra=extra)
        else:
            kept.saved = document

    # ---- inside ----------------------------------------------------------------------------------

    def _trial_of(
        self, record: ProfileRecord, resolution: Resolution, plan: TrialPlan
    ) -> ProfileTrial:
        """The one that is known, here or of the leader before; else a new one."""
        against = record.active.revision.id if record.active is not None else ""
        for trial in (record.trial, read_trial(self.stored.trial(record, against))):
            if (
                trial is not None
                and trial.continues(plan, resolution.id, against)
                and (not trial.final or trial.generation == record.generation)
            ):
                return trial
        return ProfileTrial(
            plan=plan,
            revision=resolution.id,
            against=against,
            since=timestamp(self.ports.clock.now()),
            generation=record.generation,
        )

    def _begin(self, record: ProfileRecord, resolution: Resolution, trial: ProfileTrial) -> None:
        """Begin it, or take it up; one that has ended is only remembered."""
        record.trial = trial
        if trial.final or record.active is None:
            return
        running = RunningTrial(
            trial, record.active.revision, resolution.revision, self.bound, self.ports
        )
        self._kept[record.name] = _Kept(trial, running)
        self.activator.begin_trial(record, resolution, running)
        if not trial.counts.decided:
            note = f"{trial.plan.strategy} of revision {trial.revision} against {trial.against}"
            self.ports.events.record(record.event("TrialStarted", note))

    def _tell_end(self, record: ProfileRecord, trial: ProfileTrial) -> None:
        self.status.notify()
        self.ports.telemetry.trial_ended(record.name, trial.verdict)
        text = trial_summary(trial)
        if trial.verdict is Verdict.PASSED:
            self.ports.events.record(record.event("TrialPassed", text))
        else:
            self.ports.events.record(record.event("RolledBack", text, warning=True))
