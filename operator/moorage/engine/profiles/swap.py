"""The swap: from changed objects to one new live revision, or to a refusal that leaves the last
good one deciding.

Objects that change within the debounce are reconciled together. Reconciling resolves every profile
that may be concerned beside the live ones (nothing live is touched), stores what is new (the
leader, as a ControllerRevision), and then swaps: one reference per profile and what follows from
it, in one synchronous step. A profile whose spec is bad goes on with its last good revision, after
a restart with the newest stored one. One whose pods are somebody else's to place (an older profile
of that schedulerName, another installation, kube-scheduler) stands back.
"""

from __future__ import annotations

import asyncio
import dataclasses
import logging
from collections.abc import Mapping, Sequence

from moorage.api import bodies
from moorage.api.bodies import Body
from moorage.api.resolved_profile import Resolution, unresolved
from moorage.core.framework.revisions import FieldError
from moorage.engine.live_revisions import LiveRevisions
from moorage.engine.profile_records import ProfileRecord, ProfileRecords, foreign_profile
from moorage.engine.profiles.activation import RevisionActivator
from moorage.engine.profiles.ownership import ProfileOwnership
from moorage.engine.profiles.profile_listeners import ProfileListener
from moorage.engine.profiles.resolving import PluginConfigResults, ProfileResolver
from moorage.engine.profiles.stored_revisions import StoredRevisions
from moorage.engine.profiles.trials import ProfileTrials
from moorage.ports.bundle import Ports
from moorage.ports.errors import EdgeError
from moorage.ports.guards import FAULTS, guard, log_bug
from moorage.ports.repeated_logs import once_per_failure

log = logging.getLogger(__name__)

RETRY_SECONDS = 1.0
"""Seconds until a revision that could not be stored is tried again."""
OWNERSHIP_INTERVAL_SECONDS = 10.0
"""Seconds until profiles that somebody else may serve are checked again."""


@dataclasses.dataclass(eq=False, kw_only=True)
class ProfileSwapper:
    """Keeps the profile records and the live revisions in step with the objects."""

    live: LiveRevisions
    records: ProfileRecords
    resolver: ProfileResolver
    config_results: PluginConfigResults
    stored: StoredRevisions
    activator: RevisionActivator
    trials: ProfileTrials
    ownership: ProfileOwnership
    listener: ProfileListener
    ports: Ports
    _gone: dict[str, str] = dataclasses.field(default_factory=dict, init=False)
    """schedulerName -> profile, of those that went since the last reconciliation."""
    _listed: asyncio.Event = dataclasses.field(default_factory=asyncio.Event, init=False)
    _dirty: asyncio.Event = dataclasses.field(default_factory=asyncio.Event, init=False)
    _ownership_due: float = dataclasses.field(default=0.0, init=False)

    # ---- what comes in ---------------------------------------------------------------------------

    def profile_changed(self, name: str, body: Body | None) -> None:
        """A SchedulerProfile of this installation is in this state; None when it is gone."""
        record = self.records.profiles.get(name)
        if record is not None and (body is None or _identity(record.body) != _identity(body)):
            self._deleted(record)
            if body is None or record.uid != body["metadata"].get("uid"):
                self.stored.forget(record.uid)
            record = None
        if record is None and body is not None:
            self.records.profiles[name] = ProfileRecord(name, body)
        elif record is not None and body is not None:
            old, record.body = record.body, body
            if bodies.spec_version(old) != bodies.spec_version(body):
                record.stale = True
            elif bodies.status(old).get("claimedBy") == bodies.status(body).get("claimedBy"):
                return  # our own writes come back
        self._dirty.set()

    def foreign_profile_changed(self, name: str, body: Body | None) -> None:
        """One of another installation is in this state; None when it is gone, or none of theirs."""
        before, now = self.records.foreign.pop(name, None), body and foreign_profile(body)
        if now:
            self.records.foreign[name] = now
        if before != now:
            self._dirty.set()

    def plugin_config_changed(self, name: str, body: Body | None) -> None:
        """A PluginConfig is in this state; None when it is gone."""
        old = self.records.configs.get(name)
        if body is None:
            self.records.configs.pop(name, None)
            self.config_results.forget(name)
        else:
            self.records.configs[name] = body
            if old is not None and bodies.spec_version(old) == bodies.spec_version(body):
                return
        for record in self.records.profiles.values():
            if name in bodies.references(record.body):
                record.stale = True
        self._dirty.set()

    def listed(self) -> None:
        """Profiles and PluginConfigs have been listed once: from now on what is not there is
        missing.
        """
        self._listed.set()

    def lead(self) -> None:
        """This replica leads: its profiles say so, and what is not stored yet is stored."""
        identity = self.ports.election.identity
        for record in self.records.profiles.values():
            self.activator.serve_or_hold(record)  # it may wait, for a resource that is late
            self.ports.events.record(record.event("LeaderChanged", f"{identity} leads"))
        self._dirty.set()

    # ---- reconciling -----------------------------------------------------------------------------

    async def run(self, debounce: float) -> None:
        """Reconcile what changed, each time the debounce (seconds) has passed, until cancelled;
        once both kinds are listed.
        """
        await self._listed.wait()
        while True:
            await self._dirty.wait()
            await self.ports.clock.sleep(debounce)
            self._dirty.clear()
            done = False
            try:
                with guard("reconciling profiles"):
                    done = await self.reconcile()
            finally:
                if not done:  # whatever ended it: what changed is not forgotten
                    self._dirty.set()
            if not done:
                await self.ports.clock.sleep(RETRY_SECONDS)

    def quarantine(self, plugins: Mapping[str, str]) -> None:
        """These plugins must not be called from now on, for these reasons, and no others: no
        revision that has one of them goes on deciding.
        """
        self.resolver.quarantine(plugins)
        self.config_results.forget()
        for record in self.records.profiles.values():
            record.stale = True
            self.trials.end(record)
            if record.active is not None and any(
                name in plugins
                for names in record.active.revision.points.values()
                for name in names
            ):
                self.activator.deactivate(record)
        self._dirty.set()

    def tick(self, now: float) -> None:
        """Go on moving the pods of swapped profiles; at intervals, check whose the profiles are."""
        for record in self.records.profiles.values():
            with guard("moving pods whose profile was swapped", profile=record.name):
                self.activator.tick(record)
        if self.live.trials and any(map(self.trials.has_passed, self.records.profiles.values())):
            self._dirty.set()
        if now >= self._ownership_due:
            self._ownership_due = now + OWNERSHIP_INTERVAL_SECONDS
            self.recheck_ownership()

    def recheck_ownership(self) -> None:
        """Reconcile again where somebody else may serve a profile, now or no longer."""
        if any(
            record.conflicts or self.ownership.is_contested(record)
            for record in self.records.profiles.values()
        ):
            self._dirty.set()

    def recheck_kinds(self) -> None:
        """A list is there, or has caught up: reconcile profiles that may have waited for it."""
        if any(
            record.missing_kinds or record.waits_for for record in self.records.profiles.values()
        ):
            self._dirty.set()

    async def reconcile(self) -> bool:
        """Resolve, store, swap; False: something could not be stored, and is to be tried again."""
        await self._resolve_stale()
        records = self.records.profiles.values()
        settled = [record for record in records if record.resolution is not None]
        conflicts = await self._conflicts(settled)
        for record in settled:  # before anybody gets a name, whoever had it gives it up
            record.conflicts = conflicts[record.name]
            if record.conflicts:
                self.activator.deactivate(record)
        done = True
        for record in settled:
            if self.records.profiles.get(record.name) is record:  # it may be gone since we began
                with guard("settling a profile", profile=record.name):
                    done &= await self._reconcile(record)
        self._report_orphaned()
        self.listener.profiles_reconciled()
        return done

    async def _resolve_stale(self) -> None:
        """Resolve the profiles that have changed, or whose PluginConfigs have; where a bug ends
        that, a profile's last good revision goes on.
        """
        for record in list(self.records.profiles.values()):
            if not record.stale:
                continue
            record.stale, record.reconciled, record.useless = False, record.body, ()
            try:
                record.resolution = self.resolver(record.reconciled, self.records.configs)
            except FAULTS as error:
                log_bug("resolving a profile", error, profile=record.name)
                record.resolution = unresolved(record.reconciled, error)
            await asyncio.sleep(0)  # many profiles at once must not hold up the loop

    async def _conflicts(
        self, records: Sequence[ProfileRecord]
    ) -> dict[str, tuple[FieldError, ...]]:
        """By profile: why its pods are another profile's or another scheduler's to place."""
        found: dict[str, tuple[FieldError, ...]] = {record.name: () for record in records}
        for record, conflict in self.records.name_conflicts(records):
            found[record.name] += (conflict,)
        # At once: a Lease that is slow to be read holds up nobody else's.
        claims = await asyncio.gather(*(self.ownership.conflict(record) for record in records))
        for record, claim in zip(records, claims, strict=True):
            if claim is not None:
                found[record.name] += (claim,)
        return found

    async def _reconcile(self, record: ProfileRecord) -> bool:
        """One profile; False when its revision could not be stored for now."""
        resolution, active = record.resolution, record.active
        if resolution is None or record.errors:
            return await self._reject_spec(record)
        record.last_rejection = ""
        if record.paused and (active is None or active.revision.id != resolution.id):
            return await self._stay(record)
        if self.activator.misses_kinds(record, resolution):
            self.activator.serve_or_hold(record)
            return True
        if resolution.plan is not None or record.trial is not None:
            held = await self._held(record, resolution)
            if held is not None:
                return held
        if self.live.leading and not await self._store(record, resolution):
            return False
        if self.records.profiles.get(record.name) is not record:  # it went while it was stored
            return True
        active = record.active
        if active is None or active.revision.id != resolution.id:
            self.activator.activate(record, resolution)
        elif record.waits_for or not active.is_said_by(resolution):
            record.active = active.said_by(resolution)
            self.activator.serve_or_hold(record)
        return True

    async def _held(self, record: ProfileRecord, resolution: Resolution) -> bool | None:
        """Have what decided before go on while the revision is tried; None: it may be swapped in,
        False: something is to be tried again.

        A process that has only heard of the newest spec reads what decided before. One that begins
        to lead goes back to that, where it took the newest for the profile's first one.
        """
        active = record.active
        if active is None and not self.live.leading and not await self._reread_stored(record):
            return False
        if (
            (active is None or active.revision.id == resolution.id)
            and not self.stored.has(record, resolution.id)
            and not await self._restore_stored(record)
        ):
            return False
        if record.missing_kinds or self.trials.holds(record, resolution):
            self.activator.serve_or_hold(record)
            return True
        return None

    async def _reread_stored(self, record: ProfileRecord) -> bool:
        """Whoever leads may have stored revisions since our start; False when they could not be
        read for now.
        """
        try:
            await self.stored.restore()
        except EdgeError as error:
            extra = {"profile": record.name, **once_per_failure(error)}
            log.warning("stored revisions could not be read: %s", error, extra=extra)
            return False
        return True

    async def _stay(self, record: ProfileRecord) -> bool:
        """The profile is paused: what decided last goes on, whatever its spec says; False when that
        is to be tried again.

        A replica that takes over may have another one ready than the leader had.
        """
        self.trials.end(record)
        record.waiting_reason, active = "", record.active
        newest = self.stored.newest(record) if self.live.leading else ""
        done = (active is not None and newest in ("", active.revision.id)) or (
            await self._restore_stored(record)
        )
        if self.records.profiles.get(record.name) is record:
            self.activator.serve_or_hold(record)
        return done and await self._store_what_decides(record)

    async def _store(self, record: ProfileRecord, resolution: Resolution) -> bool:
        """Keep the revision for restarts; False when that failed for now."""
        try:
            await self.stored.store(record, resolution)
        except EdgeError as error:
            log.warning(
                "revision %s was not stored, so it is not swapped in yet: %s",
                resolution.id,
                error,
                extra={"profile": record.name},
            )
            record.waiting_reason = f"it could not be stored: {error}"
            return False
        record.waiting_reason = ""
        return True

    # ---- refusals --------------------------------------------------------------------------------

    async def _reject_spec(self, record: ProfileRecord) -> bool:
        """The spec is bad: the last good revision goes on, or the newest stored one is taken up;
        False when that is to be tried again.

        Where somebody else serves the pods, nothing of it goes on.
        """
        self.trials.end(record)
        known = (
            record.active is not None
            or bool(record.conflicts)
            or await self._restore_stored(record)
        )
        if self.records.profiles.get(record.name) is not record:  # it went while that was read
            return True
        self.activator.serve_or_hold(record)
        self._report_rejection(record)
        return known and await self._store_what_decides(record)

    async def _store_what_decides(self, record: ProfileRecord) -> bool:
        """An upgrade may have given it another name than it was stored by: have it stored by that
        too, so that whoever goes back finds it; False when that failed for now.
        """
        active = record.active
        if not self.live.leading or active is None or self.stored.has(record, active.revision.id):
            return True
        return await self._store(record, active.resolution)

    def _report_rejection(self, record: ProfileRecord) -> None:
        """Once for each generation and what is wrong with it; only a leader does."""
        text = "; ".join(map(str, record.errors))
        rejection = f"{record.generation} {text}"
        if not self.live.leading or record.last_rejection == rejection:
            return
        record.last_rejection = rejection
        self.ports.telemetry.swap(record.name, "refused", 0.0)
        active = record.active
        good = f"; revision {active.revision.id} goes on deciding" if active is not None else ""
        self.ports.events.record(record.event("Rejected", text + good, warning=True))

    async def _restore_stored(self, record: ProfileRecord) -> bool:
        """Let the last good revision decide, if there is one; False when it could not be read for
        now.
        """
        try:
            resolution = await self.stored.last_good(record)
        except EdgeError as error:
            record.lost = f"the revision that decided before could not be read: {error}"
            extra = {"profile": record.name, **once_per_failure(error)}
            log.warning("profile %s: %s", record.name, record.lost, extra=extra)
            return False
        if resolution is None or self.records.profiles.get(record.name) is not record:
            return True
        decides = record.active is not None and record.active.revision.id == resolution.id
        if not decides and not self.activator.misses_kinds(record, resolution):
            self.activator.activate(record, resolution, last_good=True)
        return True

    def _deleted(self, record: ProfileRecord) -> None:
        """The object is gone."""
        del self.records.profiles[record.name]
        self.activator.deactivate(record)
        if not record.conflicts:
            self._gone[bodies.scheduler_name(record.body)] = record.name

    def _report_orphaned(self) -> None:
        gone, self._gone = self._gone, {}
        for scheduler_name, profile in gone.items():
            if not any(self.records.asking_for(scheduler_name)):
                self.listener.profile_orphaned(scheduler_name, profile)


def _identity(body: Body) -> tuple[object, str]:
    """What makes it another profile: another object of that name, or another schedulerName."""
    return body["metadata"].get("uid"), bodies.scheduler_name(body)
