"""Profile status: what the records say, written into the status of SchedulerProfiles and
PluginConfigs by the leader; by an observer, into that of SchedulerProfiles nobody serves.

Level-triggered: every round computes the whole status of each object and compares it with what was
last written, and that with what the API server shows. Conditions, revisions and the leader are
written at once, those of one object at least a second apart; queue counts when they changed, at
least 5 s apart per profile, and the leader's renewTime every 30 s, at most 5 writes a second of
these in all. The status is ours: what somebody else writes there is mended at once, ever more
seldom while he goes on. What this release does not know may be a newer one's, and stays.
"""

from __future__ import annotations

import asyncio
import dataclasses
import enum
import functools
import logging
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from moorage.api import bodies
from moorage.api.bodies import Body
from moorage.api.conditions import ConditionType, is_known
from moorage.api.known_status import known_status
from moorage.core.structures.catching import Catching
from moorage.engine.live_revisions import LiveRevisions
from moorage.engine.profile_records import ProfileRecord, ProfileRecords
from moorage.engine.profiles.desired_status import StatusBuilder
from moorage.engine.profiles.profile_conditions import StatusBody
from moorage.ports.clock import Clock
from moorage.ports.errors import EdgeError, Fenced, NotFound
from moorage.ports.guards import guard
from moorage.ports.repeated_logs import once_per_cause
from moorage.ports.status_writer import StatusWriter

log = logging.getLogger(__name__)

ROUND_INTERVAL_SECONDS = 0.5
"""Seconds between rounds when nothing urgent happens."""
WRITE_INTERVAL_SECONDS = 1.0
QUEUE_WRITE_INTERVAL_SECONDS = 5.0
RENEW_INTERVAL_SECONDS = 30.0
RETRY_INTERVAL_SECONDS = 5.0
WRITES_PER_SECOND = 5.0
REPAIR_INTERVAL_SECONDS = 30.0
"""Seconds between two writes of a status that somebody else goes on changing, at most."""
_LAGGING = ("queue", "leader", "drainingCycles", "trial")
"""Fields that may lag behind: their changes alone are not written at once."""


class ObjectIdentity(NamedTuple):
    """An object; another one with the same name has another UID."""

    kind: str
    name: str
    uid: str


@dataclasses.dataclass(slots=True)
class _Written:
    """What was last written of one object, and when; the object's version as it was seen then, and
    how often in a row it was mended.
    """

    status: StatusBody
    at: float
    version: str
    repairs: int = 0


class DesiredStatus(NamedTuple):
    """The status that an object should have, the object as it was last seen, and what writes it."""

    identity: ObjectIdentity
    status: StatusBody
    body: Body
    write: Callable[[str, StatusBody], Awaitable[None]]


class Urgency(enum.Enum):
    """How soon a status is to be written."""

    NOW = enum.auto()
    SOON = enum.auto()
    NONE = enum.auto()


class ProfileStatusWriter:
    """Writes the status of SchedulerProfiles and PluginConfigs."""

    def __init__(
        self,
        live: LiveRevisions,
        records: ProfileRecords,
        builder: StatusBuilder,
        writes: StatusWriter,
        clock: Clock,
    ) -> None:
        self._live = live
        self._records = records
        self._builder = builder
        self._writes = writes
        self._clock = clock
        self._written: dict[ObjectIdentity, _Written] = {}
        self._not_before: dict[ObjectIdentity, float] = {}
        """When the next write of an object may be tried."""
        self._paced_at = 0.0
        self._notified = asyncio.Event()

    def notify(self) -> None:
        """Something changed that should be visible at once."""
        self._notified.set()

    async def run(self) -> None:
        """Reconcile until cancelled; does nothing until this replica has the lease."""
        while True:
            self._notified.clear()
            if self._live.answering and self._writes.open:
                await self.write_due()
            try:
                async with asyncio.timeout(ROUND_INTERVAL_SECONDS):
                    await self._notified.wait()
            except TimeoutError:
                pass

    async def write_due(self) -> None:
        """Write what is due; of what is not urgent a few, those that have waited longest."""
        later: list[DesiredStatus] = []
        for key, make in self._objects():
            with _guarded(key):
                desired = make()
                urgency = self._urgency(desired)
                if urgency is Urgency.NOW:
                    await self._write(desired)
                elif urgency is Urgency.SOON:
                    later.append(desired)
            await asyncio.sleep(0)  # many objects must not hold up the loop
        later.sort(key=lambda desired: self._written[desired.identity].at)
        for desired in later[: self._quota()]:
            with _guarded(desired.identity):
                await self._write(desired)
        self._forget_gone()

    def _forget_gone(self) -> None:
        profiles, configs = self._records.profiles.values(), self._records.configs.values()
        known = {_identity("SchedulerProfile", record.body) for record in profiles}
        known |= {_identity("PluginConfig", body) for body in configs}
        self._written = {key: written for key, written in self._written.items() if key in known}
        self._not_before = {key: moment for key, moment in self._not_before.items() if key in known}

    def _objects(self) -> Iterator[tuple[ObjectIdentity, Callable[[], DesiredStatus]]]:
        """Each object, and what makes its status: one by one, as things change between two
        writes.
        """
        for record in list(self._records.profiles.values()):
            if record.resolution is not None and not record.served_by:
                yield (
                    _identity("SchedulerProfile", record.body),
                    functools.partial(self._of_profile, record),
                )
        for name, body in list(self._records.configs.items()):
            if name not in self._referenced_by_unresolved():
                make = functools.partial(self._of_config, name, body)
                yield _identity("PluginConfig", body), make

    def _referenced_by_unresolved(self) -> set[str]:
        """PluginConfigs of which it is not known yet who uses them, as just after a start."""
        records = self._records.profiles.values()
        unresolved = (record.body for record in records if record.resolution is None)
        return {name for body in unresolved for name in bodies.references(body)}

    def _of_profile(self, record: ProfileRecord) -> DesiredStatus:
        identity = _identity("SchedulerProfile", record.body)
        return DesiredStatus(
            identity,
            self._builder.of_profile(record, self._old_conditions(identity, record.body)),
            record.body,
            self._writes.profile_status,
        )

    def _of_config(self, name: str, body: Body) -> DesiredStatus:
        identity = _identity("PluginConfig", body)
        return DesiredStatus(
            identity,
            self._builder.of_config(name, body, self._old_conditions(identity, body)),
            body,
            self._writes.plugin_config_status,
        )

    def _old_conditions(self, key: ObjectIdentity, body: Body) -> Sequence[object]:
        """Those that the API server shows, where ours are as we wrote them last."""
        shown = bodies.status(body).get("conditions")
        written = self._written.get(key)
        ours = filter(is_known, written.status["conditions"]) if written is not None else ()
        return [*(shown if isinstance(shown, list) else ()), *ours]

    # ---- writing ---------------------------------------------------------------------------------

    def _urgency(self, desired: DesiredStatus) -> Urgency:
        """How soon an object's status is to be written."""
        if self._is_overwritten(desired):
            return Urgency.NOW
        key, status = desired.identity, desired.status
        now, written = self._clock.boottime(), self._written.get(key)
        if now < self._not_before.get(key, now):
            return Urgency.NONE
        if written is None or _without_lagging(status) != _without_lagging(written.status):
            return Urgency.NOW
        changed = {name for name in _LAGGING if status.get(name) != written.status.get(name)}
        queue_due = changed - {"leader"} and now >= written.at + QUEUE_WRITE_INTERVAL_SECONDS
        renewal_due = "leader" in changed and now >= written.at + RENEW_INTERVAL_SECONDS
        return Urgency.SOON if queue_due or renewal_due else Urgency.NONE

    def _is_overwritten(self, desired: DesiredStatus) -> bool:
        """Whether somebody else has written into a status of ours since we did. Where another
        installation serves, it is not ours.
        """
        written = self._written.get(desired.identity)
        if (
            written is None
            or _version(desired.body) == written.version
            or self._clock.boottime() < self._not_before.get(desired.identity, 0.0)
        ):
            return False
        kind = desired.identity.kind
        ours = kind != "SchedulerProfile" or "observedBy" in desired.status
        now = bodies.status(desired.body)
        return ours and not _contains(_compared(kind, now), _compared(kind, written.status))

    def _quota(self) -> int:
        """How many writes that are not urgent may go out now."""
        now = self._clock.boottime()
        quota = int(min(now - self._paced_at, 1.0) * WRITES_PER_SECOND)
        self._paced_at = now if quota else self._paced_at
        return quota

    async def _write(self, desired: DesiredStatus) -> None:
        key, now, spoilt = desired.identity, self._clock.boottime(), self._is_overwritten(desired)
        found = known_status(key.kind, bodies.status(desired.body)) if spoilt else {}
        strange = found.keys() - desired.status.keys() - {"claimedBy"}  # nobody else's is taken
        try:
            await desired.write(key.name, {**dict.fromkeys(strange), **desired.status})
        except EdgeError as error:
            # The API server may refuse every write of an object, as of one that its present schema
            # would not have let in.
            level = logging.INFO if isinstance(error, NotFound | Fenced) else logging.WARNING
            text, extra = "status was not written, next attempt in %.0f s: %s", _named(key)
            log.log(level, text, RETRY_INTERVAL_SECONDS, error, extra=extra)
            self._not_before[key] = now + RETRY_INTERVAL_SECONDS
        else:
            self._record_write(desired, now, spoilt)

    def _record_write(self, desired: DesiredStatus, now: float, spoilt: bool) -> None:
        """Keep what was written, and when the next write may be: the later the more often in a row
        somebody else had changed it.
        """
        key, before, mends = desired.identity, self._written.get(desired.identity), 0
        if spoilt:
            extra = once_per_cause(f"mend {key}", **_named(key))
            log.warning("status was changed by somebody else, and is mended", extra=extra)
            if before is not None and now < before.at + 2 * REPAIR_INTERVAL_SECONDS:
                mends = before.repairs + 1
        self._written[key] = _Written(desired.status, now, _version(desired.body), mends)
        pause = min(WRITE_INTERVAL_SECONDS * 2.0**mends, REPAIR_INTERVAL_SECONDS)
        self._not_before[key] = now + pause


def _guarded(key: ObjectIdentity) -> Catching:
    return guard("writing an object's status", **_named(key))


def _named(key: ObjectIdentity) -> dict[str, str]:
    """An object for the log."""
    return {"object": f"{key.kind}/{key.name}"}


def _identity(kind: str, body: Body) -> ObjectIdentity:
    metadata = body["metadata"]
    return ObjectIdentity(kind, str(metadata["name"]), str(metadata.get("uid", "")))


def _version(body: Body) -> str:
    """The object's resourceVersion, "" where it has none, as in a file."""
    return str(body["metadata"].get("resourceVersion") or "")


def _compared(kind: str, status: Mapping[str, Any]) -> Mapping[str, Any]:
    """The status less what other releases may write into it, and other installations: who uses a
    PluginConfig, and whether these run it.
    """
    status = known_status(kind, status)
    if kind != "PluginConfig":
        return status
    found = status.get("conditions")
    kept = {name: status[name] for name in status if name not in ("profiles", "profileCount")}
    if isinstance(found, list):
        active = ConditionType.ACTIVE
        kept["conditions"] = [
            one for one in found if not (isinstance(one, Mapping) and one.get("type") == active)
        ]
    return kept


def _contains(status: object, ours: object) -> bool:
    """Whether a status holds all of ours, and no more at any place that is ours. None stands for
    what is not there.

    When a condition last changed is not compared: another installation may have seen it change.
    """
    if isinstance(ours, Mapping) and isinstance(status, Mapping):
        names = {*status, *ours} - {"lastTransitionTime"}
        return all(_contains(status.get(name), ours.get(name)) for name in names)
    if isinstance(ours, (list, tuple)) and isinstance(status, (list, tuple)):
        return len(ours) == len(status) and all(map(_contains, status, ours))
    return bool(ours == status)


def _without_lagging(status: StatusBody) -> StatusBody:
    """The status less what may lag, and less what only another release knows."""
    shown = {key: value for key, value in status.items() if key not in _LAGGING}
    shown["conditions"] = list(filter(is_known, status["conditions"]))
    leader = status.get("leader") or {}
    return {**shown, "leader": {key: value for key, value in leader.items() if key != "renewTime"}}
