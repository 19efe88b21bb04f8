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
import datetime
import enum
import functools
import logging
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from moorage.api import bodies, conditions
from moorage.api.bodies import Body
from moorage.api.conditions import timestamp
from moorage.core.framework.interfaces import ExtensionPoint
from moorage.core.queue.scheduling_queue import SchedulingQueue
from moorage.engine.live_revisions import LiveRevisions
from moorage.engine.profile_records import ProfileRecord
from moorage.engine.profiles.profile_conditions import (
    StatusInputs,
    condition_for,
    profile_conditions,
)
from moorage.engine.profiles.swap import ProfileSwapper
from moorage.ports.clock import Clock
from moorage.ports.errors import EdgeError, Fenced, NotFound
from moorage.ports.guards import guard
from moorage.ports.kube import KubeWriter
from moorage.ports.leadership import Leadership
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

StatusBody = dict[str, Any]


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
    """Writes status; see the module's docstring."""

    def __init__(
        self,
        live: LiveRevisions,
        swapper: ProfileSwapper,
        queue: SchedulingQueue,
        writes: KubeWriter,
        clock: Clock,
    ) -> None:
        self.inputs = StatusInputs()
        self._live = live
        self._swapper = swapper
        self._queue = queue
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
            _identity("SchedulerProfile", record.body) for record in self._swapper.records.values()
        }
        known |= {_identity("PluginConfig", body) for body in self._swapper.configs.values()}
        self._written = {key: written for key, written in self._written.items() if key in known}
        self._not_before = {key: moment for key, moment in self._not_before.items() if key in known}

    def _objects(self) -> Iterator[tuple[ObjectIdentity, Callable[[], DesiredStatus]]]:
        """Each object, and what makes what is to be told of it: one by one, as things change
        between two writes.
        """
        for record in list(self._swapper.records.values()):
            if record.resolution is not None:
                yield (
                    _identity("SchedulerProfile", record.body),
                    functools.partial(self._of_profile, record),
                )
        for name, body in list(self._swapper.configs.items()):
            yield _identity("PluginConfig", body), functools.partial(self._of_config, name, body)

    def _of_profile(self, record: ProfileRecord) -> DesiredStatus:
        return DesiredStatus(
            _identity("SchedulerProfile", record.body),
            self.profile_status(record),
            record.body,
            self._writes.profile_status,
        )

    def _of_config(self, name: str, body: Body) -> DesiredStatus:
        return DesiredStatus(
            _identity("PluginConfig", body),
            self.config_status(name, body),
            body,
            self._writes.plugin_config_status,
        )

    # ---- what the status is ----------------------------------------------------------------------

    def profile_status(self, record: ProfileRecord) -> StatusBody:
        """The whole status of a profile, conditions included; of one that another installation
        serves, no more than that.
        """
        active, resolution = record.active, record.resolution
        old = self._old_conditions(_identity("SchedulerProfile", record.body), record.body)
        said = {
            "observedGeneration": record.generation,
            "conditions": profile_conditions(record, self.inputs, old, self._clock.now()),
        }
        if any(
            error.reason == conditions.ConditionReason.CLAIMED_BY_ANOTHER
            for error in record.conflicts
        ):
            return said
        return {
            **said,
            "schedulerName": resolution.scheduler_name if resolution is not None else None,
            "desiredRevision": resolution.id if resolution is not None else None,
            "activeRevision": active.revision.id if active is not None else None,
            "activeSince": timestamp(active.since) if active is not None else None,
            "pluginConfigs": self._plugin_configs(record),
            "pluginConfigCount": len(resolution.configs) if resolution is not None else 0,
            "drainingCycles": self._swapper.prune_superseded(record),
            "leader": leader_status(self.inputs.leadership()),
            "queue": self._queue_status(record),
            "effective": effective_plugins(record),
            "replicas": self._replicas(record),
            "claimedBy": self.inputs.claimed_by,
        }

    def config_status(self, name: str, body: Mapping[str, Any]) -> StatusBody:
        """The whole status of a PluginConfig."""
        users = sorted(
            r.name
            for r in self._swapper.records.values()
            if r.resolution is not None and name in r.resolution.configs
        )
        errors, text = self._swapper.config_facts.of(name, body)
        accepted = condition_for(conditions.ConditionType.ACCEPTED, errors, "Valid")
        generation = bodies.generation(body)
        old = self._old_conditions(_identity("PluginConfig", body), body)
        return {
            "observedGeneration": generation,
            "hash": text,
            "profiles": users,
            "profileCount": len(users),
            "conditions": conditions.merge(old, [accepted], generation, self._clock.now()),
        }

    def _old_conditions(self, key: ObjectIdentity, body: Body) -> Sequence[object]:
        written = self._written.get(key)
        found = (written.status if written is not None else bodies.status(body)).get("conditions")
        return found if isinstance(found, list) else []

    def _plugin_configs(self, record: ProfileRecord) -> list[StatusBody]:
        desired = dict(record.resolution.configs) if record.resolution is not None else {}
        active = dict(record.active.resolution.configs) if record.active is not None else {}
        generations = (("observedGeneration", desired), ("activeGeneration", active))
        return [
            {
                "name": name,
                **{field: configs[name] for field, configs in generations if name in configs},
            }
            for name in sorted({*desired, *active})
        ]

    def _queue_status(self, record: ProfileRecord) -> StatusBody:
        name = record.resolution.scheduler_name if record.resolution is not None else record.name
        counts = self._queue.counts(name)
        status: StatusBody = {
            "active": counts.active + counts.unserved,
            "backoff": counts.backoff,
            "unschedulable": counts.unschedulable,
            "gated": counts.gated,
            "inFlight": counts.in_flight,
            "oldestPendingSince": None,
        }
        if counts.oldest is not None:
            age = datetime.timedelta(seconds=self._clock.boottime() - counts.oldest)
            status["oldestPendingSince"] = timestamp(
                (self._clock.now() - age).replace(microsecond=0)
            )
        return status

    def _replicas(self, record: ProfileRecord) -> list[StatusBody]:
        leadership = self.inputs.leadership()
        leader = leadership.identity if leadership is not None else ""
        return [
            {
                "identity": r.identity,
                "role": "Leader" if r.identity == leader else "Standby",
                "revision": r.revisions.get(record.name, ""),
            }
            for r in sorted(self.inputs.replicas, key=lambda replica: replica.identity)
        ]

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


def effective_plugins(record: ProfileRecord) -> StatusBody | None:
    """What really runs, in order, by extension point; weights at score. None takes a point away
    that was there before.
    """
    if record.active is None:
        return None
    revision = record.active.revision
    shown: StatusBody = {
        point.value: list(names) or None for point, names in revision.points.items()
    }
    shown["score"] = [
        {"name": name, "weight": revision.weights[name]}
        for name in revision.points[ExtensionPoint.SCORE]
    ] or None
    return shown


def leader_status(leadership: Leadership | None) -> StatusBody | None:
    """Who leads, for status."""
    if leadership is None:
        return None
    return {
        "identity": leadership.identity,
        "since": leadership.since,
        "transitions": leadership.transitions,
        "renewTime": leadership.renewed,
    }


def _without_lagging(status: StatusBody) -> StatusBody:
    """The status less what may lag."""
    shown = {
        key: value
        for key, value in status.items()
        if key not in ("queue", "leader", "drainingCycles")
    }
    leader = status.get("leader") or {}
    return {**shown, "leader": {key: value for key, value in leader.items() if key != "renewTime"}}
