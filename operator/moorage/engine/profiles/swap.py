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
from collections.abc import Callable, Collection, Sequence

from moorage.api import bodies
from moorage.api.bodies import Body
from moorage.api.resolution import Resolution
from moorage.core.framework.evaluation.evaluator import Evaluator
from moorage.core.framework.revisions import FieldError, Revision
from moorage.core.queue.scheduling_queue import SchedulingQueue
from moorage.engine.live_revisions import LiveRevisions
from moorage.engine.profile_records import ActiveRevision, ProfileRecord, name_conflicts
from moorage.engine.profiles.ownership import ProfileOwnership
from moorage.engine.profiles.resolving import PluginConfigResults, ProfileResolver, resolve
from moorage.engine.profiles.stored_revisions import StoredRevisions
from moorage.engine.scheduling.pods_under_way import PodsUnderWay
from moorage.ports.bundle import Ports
from moorage.ports.errors import EdgeError
from moorage.ports.event_recorder import Event, ObjectRef
from moorage.ports.guards import guard
from moorage.ports.repeated_logs import once_per_failure

log = logging.getLogger(__name__)
swaps = logging.getLogger("moorage.swaps")

RETRY_SECONDS = 1.0
"""Seconds until a revision that could not be stored is tried again."""
OWNERSHIP_INTERVAL_SECONDS = 10.0
"""Seconds between looks at profiles that somebody else may serve."""
CONTROLLER = "moorage"


@dataclasses.dataclass(frozen=True, slots=True)
class SwapTargets:
    """What a swap acts on beside the live revisions."""

    queue: SchedulingQueue
    evaluator: Evaluator
    under_way: PodsUnderWay


class ProfileSwapper:
    """Keeps the profile records and the live revisions in step with the objects."""

    def __init__(
        self,
        live: LiveRevisions,
        targets: SwapTargets,
        resolver: ProfileResolver,
        ports: Ports,
        claims: ProfileOwnership,
    ) -> None:
        self.records: dict[str, ProfileRecord] = {}
        self.configs: dict[str, Body] = {}
        self.stored = StoredRevisions(ports.reads, ports.writes, resolver)
        self.changed: Callable[[], None] = lambda: None
        """Called when a record changed, so that status follows."""
        self.orphaned: Callable[[str, str], None] = lambda scheduler_name, profile: None
        """Called when a profile is gone and no other one has its schedulerName."""
        self.lacking: Callable[[Revision], tuple[str, ...]] = lambda revision: ()
        """The resources that a revision would decide by and that are not listed yet, or not caught
        up since this replica leads.
        """
        self._live = live
        self._queue = targets.queue
        self._evaluator = targets.evaluator
        self._under_way = targets.under_way
        self._resolver = resolver
        self.config_facts = PluginConfigResults(resolver)
        self._clock = ports.clock
        self._events = ports.events
        self._telemetry = ports.telemetry
        self._ownership = claims
        self._gone: dict[str, str] = {}
        """schedulerName -> profile, of those that went since the last reconciliation."""
        self._dirty = asyncio.Event()
        self._ownership_due = 0.0

    # ---- what comes in ---------------------------------------------------------------------------

    def profile_changed(self, name: str, body: Body | None) -> None:
        """A SchedulerProfile of this installation is in this state; None when it is gone."""
        record = self.records.get(name)
        if record is not None and (body is None or _identity(record.body) != _identity(body)):
            self._deleted(record)
            if body is None or record.uid != body["metadata"].get("uid"):
                self.stored.forget(record.uid)
            record = None
        if record is None and body is not None:
            self.records[name] = ProfileRecord(name, body)
        elif record is not None and body is not None:
            old, record.body = record.body, body
            if _version(old) != _version(body):
                record.stale = True
            elif bodies.status(old).get("claimedBy") == bodies.status(body).get("claimedBy"):
                return  # our own writes come back
        self._dirty.set()

    def plugin_config_changed(self, name: str, body: Body | None) -> None:
        """A PluginConfig is in this state; None when it is gone."""
        old = self.configs.get(name)
        if body is None:
            self.configs.pop(name, None)
            self.config_facts.forget(name)
        else:
            self.configs[name] = body
            if old is not None and _version(old) == _version(body):
                return
        for record in self.records.values():
            if name in bodies.references(record.body):
                record.stale = True
        self._dirty.set()

    def lead(self, identity: str) -> None:
        """This replica leads: its profiles say so, and what is not stored yet is stored."""
        for record in self.records.values():
            self._apply_suspension(record)  # it may have to wait, for a resource that is late
            self._emit(record, "LeaderChanged", f"{identity} leads", warning=False)
        self._dirty.set()

    # ---- reconciling -----------------------------------------------------------------------------

    async def run(self, debounce: float) -> None:
        """Reconcile what changed, each time the debounce (seconds) has passed, until cancelled."""
        while True:
            await self._dirty.wait()
            await self._clock.sleep(debounce)
            self._dirty.clear()
            if not await self.reconcile():
                await self._clock.sleep(RETRY_SECONDS)
                self._dirty.set()

    def quarantine(self, plugins: Collection[str]) -> None:
        """These plugins must not be called from now on, or may be again: no revision that has one
        of them goes on deciding.
        """
        self.config_facts.forget()
        for record in self.records.values():
            record.stale = True
            if record.active is not None and any(
                name in plugins
                for names in record.active.revision.points.values()
                for name in names
            ):
                self._deactivate(record)
        self._dirty.set()

    def tick(self, now: float) -> None:
        """Move whom swaps still owe it, and look from time to time whose the profiles are."""
        for record in self.records.values():
            with guard("moving pods whose profile was swapped", profile=record.name):
                self.requeue_due(record)
        if now >= self._ownership_due:
            self._ownership_due = now + OWNERSHIP_INTERVAL_SECONDS
            self.recheck_ownership()

    def recheck_ownership(self) -> None:
        """Look again at profiles that somebody else may serve, now or no longer."""
        if any(
            record.conflicts or self._ownership.is_contested(record)
            for record in self.records.values()
        ):
            self._dirty.set()

    def recheck_kinds(self) -> None:
        """A list is there, or has caught up: look again at profiles that may have waited for it."""
        if any(record.missing_kinds or record.waits_for for record in self.records.values()):
            self._dirty.set()

    async def reconcile(self) -> bool:
        """Resolve, store, swap; False when something could not be stored and is to be tried
        again.
        """
        for record in list(self.records.values()):
            if record.stale:
                record.stale, record.reconciled, record.useless = False, record.body, ()
                record.resolution = resolve(record, self._resolver, self.configs)
                await asyncio.sleep(0)  # many profiles at once must not hold up the loop
        settled = [record for record in self.records.values() if record.resolution is not None]
        conflicts = await self._conflicts(settled)
        for record in settled:  # before anybody gets a name, whoever had it gives it up
            record.conflicts = conflicts[record.name]
            if record.conflicts:
                self._deactivate(record)
        done = True
        for record in settled:
            if self.records.get(record.name) is record:  # it may be gone since we began
                with guard("settling a profile", profile=record.name):
                    done &= await self._reconcile(record)
        self._report_orphaned()
        self.changed()
        return done

    async def _conflicts(
        self, records: Sequence[ProfileRecord]
    ) -> dict[str, tuple[FieldError, ...]]:
        """By profile: why its pods are another profile's or another scheduler's to place."""
        found: dict[str, tuple[FieldError, ...]] = {record.name: () for record in records}
        for record, conflict in name_conflicts(records):
            found[record.name] += (conflict,)
        # At once: a Lease that is slow to be read holds up nobody else's.
        claims = await asyncio.gather(*(self._ownership.conflict(record) for record in records))
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
        if self._misses_kinds(record, resolution):
            self._apply_suspension(record)
            return True
        if self._live.leading and not await self._store(record, resolution):
            return False
        if self.records.get(record.name) is not record:  # it went while it was stored
            return True
        if active is None or active.last_good or active.revision.id != resolution.id:
            self.swap(record, resolution)
        elif record.waits_for:
            self._apply_suspension(record)
        return True

    def _misses_kinds(self, record: ProfileRecord, resolution: Resolution) -> bool:
        """Whether a revision would decide by objects that are not up to date yet; then it waits for
        them, and says so.
        """
        record.missing_kinds = self.lacking(resolution.revision)
        record.waiting_reason = (
            f"{', '.join(record.missing_kinds)} are not up to date yet"
            if record.missing_kinds
            else ""
        )
        return bool(record.missing_kinds)

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

    # ---- the swap --------------------------------------------------------------------------------

    def swap(self, record: ProfileRecord, resolution: Resolution, last_good: bool = False) -> None:
        """Make this revision decide, from the next pod on. One synchronous step: nobody sees half
        of it.
        """
        revision = resolution.revision
        started = self._clock.boottime()
        old = record.active.revision if record.active is not None else None
        record.active = ActiveRevision(revision, resolution, self._clock.now(), last_good)
        self._live[revision.scheduler_name] = revision
        self._apply_suspension(record)
        if old is not None:
            self._supersede(record, old)
            record.pending_requeue |= revision.changed_since(old)
        self.requeue_due(record)
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
        if old is not None:
            self._evaluator.retire(old)
        if self._live.leading:
            self._emit(
                record,
                "Activated",
                (
                    f"Revision {revision.id} decides for pods with schedulerName "
                    f"{revision.scheduler_name!r}"
                ),
                warning=False,
            )

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
        queue = self._queue
        queue.move_rejected_by(record.active.revision.scheduler_name, record.pending_requeue, now)
        record.pending_requeue = frozenset()
        record.requeued_at = now

    def prune_superseded(self, record: ProfileRecord) -> int:
        """Bindings in flight that superseded revisions decided; those without any are forgotten."""
        counts = {revision: self._under_way.count(revision) for revision in record.superseded}
        record.superseded = [revision for revision in record.superseded if counts[revision]]
        return sum(counts.values())

    def _supersede(self, record: ProfileRecord, revision: Revision) -> None:
        """Remember who may have bindings in flight, and forget who has none left: on a standby
        nobody else does.
        """
        record.superseded.append(revision)
        self.prune_superseded(record)

    # ---- refusals --------------------------------------------------------------------------------

    async def _reject_spec(self, record: ProfileRecord) -> bool:
        """The spec is bad: the last good revision goes on, or the newest stored one is taken up;
        False when that is to be tried again.

        Where somebody else serves the pods, nothing of it goes on.
        """
        known = (
            record.active is not None
            or bool(record.conflicts)
            or await self._restore_stored(record)
        )
        if self.records.get(record.name) is not record:  # it went while it was looked for
            return True
        self._apply_suspension(record)
        text = "; ".join(map(str, record.errors))
        if self._live.leading and record.last_rejection != f"{record.generation} {text}":
            record.last_rejection = f"{record.generation} {text}"
            self._telemetry.swap(record.name, "refused", 0.0)
            good = (
                f"; revision {record.active.revision.id} goes on deciding"
                if record.active is not None
                else ""
            )
            self._emit(record, "Rejected", text + good, warning=True)
        return known

    async def _restore_stored(self, record: ProfileRecord) -> bool:
        """Let the last good revision decide, if there is one; False when it could not be read for
        now.
        """
        try:
            resolution = await self.stored.last_good(record)
        except EdgeError as error:
            record.lost = f"the revision that decided before could not be read: {error}"
            log.warning(
                "profile %s: %s",
                record.name,
                record.lost,
                extra={"profile": record.name, **once_per_failure(error)},
            )
            return False
        if (
            resolution is not None
            and self.records.get(record.name) is record
            and not self._misses_kinds(record, resolution)
        ):
            self.swap(record, resolution, last_good=True)
        return True

    def _apply_suspension(self, record: ProfileRecord) -> None:
        """Tell the scheduling queue how the profile wants its pods queued now, if at all."""
        if record.active is None:
            return
        revision = record.active.revision
        record.waits_for = self.lacking(revision)
        config = (
            None if record.suspended or record.waits_for else record.active.resolution.queue_config
        )
        self._queue.set_profile(revision.scheduler_name, config, self._clock.boottime())
        if config is None:
            why = (
                "is suspended"
                if record.suspended
                else f"waits until {', '.join(record.waits_for)} are up to date"
            )
            self._under_way.interrupt_profile(
                revision.scheduler_name, f"SchedulerProfile {record.name!r} {why}"
            )

    def _deleted(self, record: ProfileRecord) -> None:
        """The object is gone."""
        del self.records[record.name]
        self._deactivate(record)
        if not record.conflicts:
            self._gone[bodies.scheduler_name(record.body)] = record.name

    def _deactivate(self, record: ProfileRecord) -> None:
        """It decides no more: pods of its schedulerName are held until a profile of that name
        decides.
        """
        active, record.active = record.active, None
        if active is None:
            return
        revision: Revision = active.revision
        self._supersede(record, revision)
        del self._live[revision.scheduler_name]
        self._queue.set_profile(revision.scheduler_name, None, self._clock.boottime())
        self._under_way.interrupt_profile(
            revision.scheduler_name,
            f"SchedulerProfile {record.name!r} serves this schedulerName no more",
        )
        self._evaluator.retire(revision)

    def _report_orphaned(self) -> None:
        gone, self._gone = self._gone, {}
        wanted = {bodies.scheduler_name(record.body) for record in self.records.values()}
        for scheduler_name, profile in gone.items():
            if scheduler_name not in wanted:
                self.orphaned(scheduler_name, profile)

    def _emit(self, record: ProfileRecord, reason: str, note: str, *, warning: bool) -> None:
        self._events.record(
            Event(
                profile_object(record), reason, note, reason, controller=CONTROLLER, warning=warning
            )
        )


def profile_object(record: ProfileRecord) -> ObjectRef:
    """The profile as events name it."""
    return ObjectRef(
        "SchedulerProfile", record.name, record.uid, api_version="moorage.dev/v1alpha1"
    )


def _identity(body: Body) -> tuple[object, str]:
    """What makes it another profile: another object of that name, or another schedulerName."""
    return body["metadata"].get("uid"), bodies.scheduler_name(body)


def _version(body: Body) -> tuple[object, object]:
    """What changes when the object's spec does, or when it is another object of that name."""
    return body["metadata"].get("uid"), body["metadata"].get("generation")
