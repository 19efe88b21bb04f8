"""Profile status: what the records say, written into the status of SchedulerProfiles and
PluginConfigs by the leader.

Level-triggered: every round computes the whole status of each object and compares it with what was
last written, and that with what the API server shows. Conditions, revisions and the leader are
written at once, those of one object at least a second apart; queue counts when they changed, at
least 5 s apart per profile, and the leader's renewTime every 30 s, at most 5 writes a second of
these in all. The status is ours: what somebody else writes there is mended at once, ever more
seldom while he goes on.
"""

from __future__ import annotations

import asyncio
import dataclasses
import enum
import functools
import logging
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from moorage.api import bodies
from moorage.api.bodies import Body
from moorage.engine.live_revisions import LiveRevisions
from moorage.engine.profile_records import ProfileRecord, ProfileRecords
from moorage.engine.profiles.desired_status import StatusBuilder
from moorage.engine.profiles.profile_conditions import StatusBody
from moorage.ports.clock import Clock
from moorage.ports.errors import EdgeError, Fenced, NotFound
from moorage.ports.guards import guard
from moorage.ports.kube import KubeWriter
from moorage.ports.repeated_logs import once_per_cause

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
        writes: KubeWriter,
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
        """Reconcile until cancelled; does nothing until this replica leads."""
        while True:
            self._notified.clear()
            if self._live.leading and self._writes.open:
                await self.write_due()
            try:
                async with asyncio.timeout(ROUND_INTERVAL_SECONDS):
                    await self._notified.wait()
            except TimeoutError:
                pass

    async def write_due(self) -> None:
        """One look at every object. Of what is not urgent a few are written, those that have waited
        longest.
        """
        later: list[DesiredStatus] = []
        for key, make in self._objects():
            with guard("telling an object's status", object=f"{key.kind}/{key.name}"):
                desired = make()
                urgency = (
                    Urgency.NOW
                    if self._is_overwritten(desired)
                    else self._urgency(key, desired.status)
                )
                if urgency is Urgency.NOW:
                    await self._write(desired)
                elif urgency is Urgency.SOON:
                    later.append(desired)
            await asyncio.sleep(0)  # many objects must not hold up the loop
        later.sort(key=lambda desired: self._written[desired.identity].at)
        for desired in later[: self._quota()]:
            with guard(
                "telling an object's status",
                object=f"{desired.identity.kind}/{desired.identity.name}",
            ):
                await self._write(desired)
        known = {
            _identity("SchedulerProfile", record.body) for record in self._records.profiles.values()
        }
        known |= {_identity("PluginConfig", body) for body in self._records.configs.values()}
        self._written = {key: written for key, written in self._written.items() if key in known}
        self._not_before = {key: moment for key, moment in self._not_before.items() if key in known}

    def _objects(self) -> Iterator[tuple[ObjectIdentity, Callable[[], DesiredStatus]]]:
        """Each object, and what makes what is to be told of it: one by one, as things change
        between two writes.
        """
        for record in list(self._records.profiles.values()):
            if record.resolution is not None:
                yield (
                    _identity("SchedulerProfile", record.body),
                    functools.partial(self._of_profile, record),
                )
        for name, body in list(self._records.configs.items()):
            yield _identity("PluginConfig", body), functools.partial(self._of_config, name, body)

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
        written = self._written.get(key)
        found = (written.status if written is not None else bodies.status(body)).get("conditions")
        return found if isinstance(found, list) else []

    # ---- writing ---------------------------------------------------------------------------------

    def _urgency(self, key: ObjectIdentity, status: StatusBody) -> Urgency:
        """How soon an object's status is to be written."""
        now, written = self._clock.boottime(), self._written.get(key)
        if now < self._not_before.get(key, now):
            return Urgency.NONE
        if written is None or _without_lagging(status) != _without_lagging(written.status):
            return Urgency.NOW
        counts_changed = any(
            status.get(name) != written.status.get(name) for name in ("queue", "drainingCycles")
        )
        queue_due = counts_changed and now >= written.at + QUEUE_WRITE_INTERVAL_SECONDS
        renewal_due = (
            status.get("leader") != written.status.get("leader")
            and now >= written.at + RENEW_INTERVAL_SECONDS
        )
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
        ours = desired.identity.kind != "SchedulerProfile" or "claimedBy" in desired.status
        return ours and not _contains(bodies.status(desired.body), written.status)

    def _quota(self) -> int:
        """How many writes that are not urgent may go out now."""
        now = self._clock.boottime()
        quota = int(min(now - self._paced_at, 1.0) * WRITES_PER_SECOND)
        self._paced_at = now if quota else self._paced_at
        return quota

    async def _write(self, desired: DesiredStatus) -> None:
        key, now = desired.identity, self._clock.boottime()
        before, spoilt, version = (
            self._written.get(key),
            self._is_overwritten(desired),
            _version(desired.body),
        )
        strange = bodies.status(desired.body).keys() - desired.status.keys() if spoilt else ()
        try:
            await desired.write(key.name, {**dict.fromkeys(strange), **desired.status})
        except EdgeError as error:
            # The API server may refuse every write of an object, as of one that its present schema
            # would not have let in.
            level = logging.INFO if isinstance(error, NotFound | Fenced) else logging.WARNING
            log.log(
                level,
                "status was not written, next attempt in %.0f s: %s",
                RETRY_INTERVAL_SECONDS,
                error,
                extra={"object": f"{key.kind}/{key.name}"},
            )
            self._not_before[key] = now + RETRY_INTERVAL_SECONDS
        else:
            mends = (
                before.repairs + 1
                if spoilt and before is not None and now < before.at + 2 * REPAIR_INTERVAL_SECONDS
                else 0
            )
            if spoilt:
                extra = once_per_cause(f"mend {key}", object=f"{key.kind}/{key.name}")
                log.warning("status was changed by somebody else, and is mended", extra=extra)
            self._written[key] = _Written(desired.status, now, version, mends)
            self._not_before[key] = now + min(
                WRITE_INTERVAL_SECONDS * 2.0**mends, REPAIR_INTERVAL_SECONDS
            )


def _identity(kind: str, body: Body) -> ObjectIdentity:
    metadata = body["metadata"]
    return ObjectIdentity(kind, str(metadata["name"]), str(metadata.get("uid", "")))


def _version(body: Body) -> str:
    """The object's resourceVersion, "" where it has none, as in a file."""
    return str(body["metadata"].get("resourceVersion") or "")


def _contains(status: object, ours: object) -> bool:
    """Whether a status holds all of ours, and no more at any place that is ours. None stands for
    what is not there.

    When a condition last changed, and who uses a PluginConfig, is not compared: of these other
    installations may write their own.
    """
    if isinstance(ours, Mapping) and isinstance(status, Mapping):
        names = {*status, *ours} - {"lastTransitionTime", "profiles", "profileCount"}
        return all(_contains(status.get(name), ours.get(name)) for name in names)
    if isinstance(ours, (list, tuple)) and isinstance(status, (list, tuple)):
        return len(ours) == len(status) and all(map(_contains, status, ours))
    return bool(ours == status)


def _without_lagging(status: StatusBody) -> StatusBody:
    """The status less what may lag."""
    shown = {
        key: value
        for key, value in status.items()
        if key not in ("queue", "leader", "drainingCycles")
    }
    leader = status.get("leader") or {}
    return {**shown, "leader": {key: value for key, value in leader.items() if key != "renewTime"}}
