"""Swapping: from changed objects to one new live revision, or to a refusal that leaves the last good one deciding.

Objects that change within the debounce are settled together. Settling resolves every profile that may be concerned beside the live
ones (nothing live is touched), stores what is new (the leader, as a ControllerRevision), and then swaps: one reference per profile
and what follows from it, in one synchronous step. A profile whose spec is bad goes on with its last good revision, after a restart
with the newest stored one.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import Protocol

from moorage.api.bodies import Body, references
from moorage.api.resolution import Resolution
from moorage.core.backlog.backlog import Backlog
from moorage.core.framework.profiles import FieldError, Revision
from moorage.engine.claims import Claims
from moorage.engine.loop import Loop
from moorage.engine.profiles import Active, ProfileRecord, name_conflicts
from moorage.ports.errors import Conflict, EdgeError
from moorage.ports.kube import Revision as StoredRevision
from moorage.ports.kube import Writes
from moorage.ports.surroundings import Clock, Event, EventSink, ObjectRef, Telemetry

log = logging.getLogger(__name__)
swaps = logging.getLogger("moorage.swaps")

KEPT = 5
"""Stored revisions per profile."""
RETRY = 1.0
"""Seconds until a revision that could not be stored is tried again."""
CONTROLLER = "moorage"
OUTSIDE = ("ClaimedByAnother", "DefaultSchedulerActive")


class Resolver(Protocol):
    """Turns a profile's object and the PluginConfigs into a revision or a list of errors; pure."""

    def __call__(self, profile: Body, configs: dict[str, Body]) -> Resolution:
        """Never raises for what the objects hold."""

    def config_errors(self, body: Body) -> tuple[FieldError, ...]:
        """What is wrong with a PluginConfig by itself."""


class Swapper:
    """Keeps the profile records and the live revisions in step with the objects."""

    def __init__(self, loop: Loop, resolver: Resolver, writes: Writes, claims: Claims) -> None:
        self.records: dict[str, ProfileRecord] = {}
        self.configs: dict[str, Body] = {}
        self.stored: dict[str, list[StoredRevision]] = {}
        """By profile UID, oldest first."""
        self.leading = False
        self.changed: Callable[[], None] = lambda: None
        """Called when a record changed, so that status follows."""
        self._loop = loop
        self._resolver = resolver
        self._writes = writes
        self._claims = claims
        self._dirty = asyncio.Event()

    def connect(self, clock: Clock, events: EventSink, telemetry: Telemetry) -> None:
        """Give it its surroundings."""
        self._clock, self._events, self._telemetry = clock, events, telemetry

    # ---- what comes in -----------------------------------------------------------------------------------------------------

    def profile_seen(self, name: str, body: Body | None) -> None:
        """A SchedulerProfile of this installation is in this state; None when it is gone."""
        record = self.records.get(name)
        if body is None:
            self._drop(name)
        elif record is None:
            self.records[name] = ProfileRecord(name, body)
        else:
            same = _version(record.body) == _version(body)
            record.body = body
            if same:
                return
            record.resolution = None
        self._dirty.set()

    def plugin_config_seen(self, name: str, body: Body | None) -> None:
        """A PluginConfig is in this state; None when it is gone."""
        old = self.configs.get(name)
        if body is None:
            self.configs.pop(name, None)
        else:
            self.configs[name] = body
            if old is not None and _version(old) == _version(body):
                return
        for record in self.records.values():
            if name in references(record.body):
                record.resolution = None
        self._dirty.set()

    def lead(self, identity: str) -> None:
        """From now on this replica stores revisions and tells of them."""
        self.leading = True
        for record in self.records.values():
            self._tell(record, "LeaderChanged", f"{identity} leads", warning=False)
        self._dirty.set()

    # ---- settling ----------------------------------------------------------------------------------------------------------

    async def run(self, debounce: float) -> None:
        """Settle what changed, each time the debounce (seconds) has passed, until cancelled."""
        while True:
            await self._dirty.wait()
            await self._clock.sleep(debounce)
            self._dirty.clear()
            if not await self.settle():
                await self._clock.sleep(RETRY)
                self._dirty.set()

    def config_errors(self, body: Body) -> tuple[FieldError, ...]:
        """What is wrong with a PluginConfig by itself."""
        return self._resolver.config_errors(body)

    def review_claims(self) -> None:
        """Look again at profiles that are left to somebody else."""
        if any(error.reason in OUTSIDE for record in self.records.values() for error in record.conflicts):
            self._dirty.set()

    async def settle(self) -> bool:
        """Resolve, store, swap; False when something could not be stored and is to be tried again."""
        for record in list(self.records.values()):
            record.conflicts = ()
            if record.resolution is None:
                record.resolution = self._resolver(record.body, self.configs)
                await asyncio.sleep(0)  # many profiles at once must not hold up the loop
        for record, conflict in list(name_conflicts(self.records.values())):
            record.conflicts = (conflict,)
        for record in list(self.records.values()):
            if (claim := await self._claims.conflict(record)) is not None:
                record.conflicts += (claim,)
        done = True
        for record in list(self.records.values()):
            if record.errors:
                self._refuse(record)
            elif record.resolution is not None and (
                record.active is None or record.active.last_good or record.active.revision.id != record.resolution.id
            ):
                done &= await self._store_and_swap(record, record.resolution)
            elif self.leading and record.resolution is not None:
                done &= await self._store(record, record.resolution)
                self._apply_suspension(record)
            record.said = record.said if record.errors else ""
        self.changed()
        return done

    async def _store_and_swap(self, record: ProfileRecord, resolution: Resolution) -> bool:
        if self.leading and not await self._store(record, resolution):
            return False
        if self.records.get(record.name) is record and record.resolution is resolution:  # it may have changed while it was stored
            self.swap(record, resolution)
        return True

    async def _store(self, record: ProfileRecord, resolution: Resolution) -> bool:
        """Keep the revision for restarts, and the newest few of its kind; False when that failed for now."""
        kept = self.stored.setdefault(record.uid, [])
        if any(stored.data.get("revision") == resolution.id for stored in kept):
            return True
        number = max((stored.number for stored in kept), default=0) + 1
        name = f"{record.name}-{resolution.id}"
        stored = StoredRevision(name, record.name, number, {**resolution.document, "revision": resolution.id, "uid": record.uid})
        try:
            await self._writes.create_revision(stored)
            kept.append(stored)
            while len(kept) > KEPT:
                await self._writes.delete_revision(kept[0].name)
                kept.pop(0)
        except Conflict:
            kept.append(stored)
        except EdgeError as error:
            log.warning("revision %s was not stored, so it is not swapped in yet: %s", name, error, extra={"profile": record.name})
            return False
        return True

    # ---- the swap ----------------------------------------------------------------------------------------------------------

    def swap(self, record: ProfileRecord, resolution: Resolution, last_good: bool = False) -> None:
        """Make this revision decide, from the next pod on. One synchronous step: nobody sees half of it."""
        revision = resolution.revision
        started = self._clock.boottime()
        old = record.active.revision if record.active is not None else None
        record.active = Active(revision, resolution, self._clock.now(), last_good)
        self._loop.live[revision.scheduler_name] = revision
        self._apply_suspension(record)
        if old is not None:
            record.superseded.append(old)
            record.owed |= revision.changed_since(old)
        self.move_owed(record)
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
            self._loop.scheduler.runner.retire(old)
        if self.leading:
            self._tell(
                record,
                "Activated",
                f"Revision {revision.id} decides for pods with schedulerName {revision.scheduler_name!r}",
                warning=False,
            )
        self._loop.poke()

    def move_owed(self, record: ProfileRecord) -> None:
        """Move the pods that changed plugins had refused, at most once per initial backoff of the profile."""
        now = self._clock.boottime()
        if record.active is None or not record.owed or now < record.moved_at + record.active.resolution.initial_backoff:
            return
        backlog: Backlog = self._loop.backlog
        backlog.wake_profile(record.active.revision.scheduler_name, record.owed, now)
        record.owed = frozenset()
        record.moved_at = now
        self._loop.poke()

    def drain(self, record: ProfileRecord) -> int:
        """Bindings in flight that superseded revisions decided; those without any are forgotten."""
        counts = {revision: self._loop.binder.draining(revision) for revision in record.superseded}
        record.superseded = [revision for revision in record.superseded if counts[revision]]
        return sum(counts.values())

    # ---- refusals ----------------------------------------------------------------------------------------------------------

    def _refuse(self, record: ProfileRecord) -> None:
        """The present spec is bad: the last good revision goes on, or the newest stored one is taken up again."""
        if record.active is None:
            self._take_up_stored(record)
        text = "; ".join(map(str, record.errors))
        if self.leading and record.said != f"{record.generation} {text}":
            record.said = f"{record.generation} {text}"
            self._telemetry.swap(record.name, "refused", 0.0)
            good = f"; revision {record.active.revision.id} goes on deciding" if record.active is not None else ""
            self._tell(record, "Rejected", text + good, warning=True)

    def _take_up_stored(self, record: ProfileRecord) -> None:
        for stored in reversed(self.stored.get(record.uid, [])):
            resolution = self._resolver(stored.data["profile"], dict(stored.data["pluginConfigs"]))
            if not resolution.errors:
                self.swap(record, resolution, last_good=True)
                return
            log.error("stored revision %s cannot be used: %s", stored.name, resolution.errors, extra={"profile": record.name})

    def _apply_suspension(self, record: ProfileRecord) -> None:
        """Let the backlog know what the profile's queue looks like now."""
        if record.active is not None:
            view = None if record.suspended else record.active.resolution.queue_view
            self._loop.backlog.set_profile(record.active.revision.scheduler_name, view, self._clock.boottime())

    def _drop(self, name: str) -> None:
        """The object is gone: its pods are held until it, or another profile of that schedulerName, comes."""
        record = self.records.pop(name, None)
        if record is None or record.active is None:
            return
        revision: Revision = record.active.revision
        del self._loop.live[revision.scheduler_name]
        self._loop.backlog.set_profile(revision.scheduler_name, None, self._clock.boottime())
        self._loop.scheduler.runner.retire(revision)

    def _tell(self, record: ProfileRecord, reason: str, note: str, *, warning: bool) -> None:
        regarding = ObjectRef("SchedulerProfile", record.name, record.uid, api_version="moorage.dev/v1alpha1")
        self._events.emit(Event(regarding, reason, note, reason, controller=CONTROLLER, warning=warning))


def _version(body: Body) -> tuple[object, object]:
    """What changes when the object's spec does, or when it is another object of that name."""
    return body["metadata"].get("uid"), body["metadata"].get("generation")


def by_profile(revisions: Sequence[StoredRevision]) -> dict[str, list[StoredRevision]]:
    """Stored revisions by their profile's UID, oldest first."""
    found: dict[str, list[StoredRevision]] = {}
    for revision in sorted(revisions, key=lambda revision: revision.number):
        found.setdefault(str(revision.data.get("uid", "")), []).append(revision)
    return found
