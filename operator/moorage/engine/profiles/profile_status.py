"""Reconciling: what the records say, written into the status of SchedulerProfiles and PluginConfigs by the leader.

Level-triggered: every round computes the whole status of each object and compares it with what was last written, and that with what
the API server shows. Conditions, revisions and the leader are written at once, those of one object at least a second apart; queue
counts when they changed, at least 5 s apart per profile, and the leader's renewTime every 30 s, at most 5 writes a second of these in
all. The status is ours: what somebody else writes there is mended at once, ever more seldom while he goes on.
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
from moorage.core.framework.interfaces import Point
from moorage.core.queue.scheduling_queue import Backlog
from moorage.engine.profiles.profile_conditions import Situation, judged, profile_conditions
from moorage.engine.profiles.records import ProfileRecord
from moorage.engine.profiles.swap import Swapper
from moorage.ports.clock import Clock
from moorage.ports.errors import EdgeError, Fenced, NotFound
from moorage.ports.guards import guard
from moorage.ports.kube import Writes
from moorage.ports.leadership import Leadership
from moorage.ports.repeated_logs import told_once

log = logging.getLogger(__name__)

ROUND = 0.5
"""Seconds between rounds when nothing urgent happens."""
APART = 1.0
QUEUE_APART = 5.0
RENEW_APART = 30.0
RETRY_APART = 5.0
WRITES_PER_SECOND = 5.0
MENDED_APART = 30.0
"""Seconds between two writes of a status that somebody else goes on changing, at most."""

Status = dict[str, Any]


class Key(NamedTuple):
    """An object; another one with the same name has another UID."""

    kind: str
    name: str
    uid: str


@dataclasses.dataclass(slots=True)
class _Written:
    """What was last written of one object, and when; the object's version as it was seen then, and how often in a row it was mended."""

    status: Status
    at: float
    version: str
    mends: int = 0


class Told(NamedTuple):
    """The status that an object should have, the object as it was last seen, and what writes it."""

    key: Key
    status: Status
    body: Body
    write: Callable[[str, Status], Awaitable[None]]


class Urgency(enum.Enum):
    """How soon a status is to be written."""

    NOW = enum.auto()
    SOON = enum.auto()
    NONE = enum.auto()


class Reconciler:
    """Writes status; see the module's docstring."""

    def __init__(self, swapper: Swapper, backlog: Backlog, writes: Writes, clock: Clock) -> None:
        self.situation = Situation()
        self._swapper = swapper
        self._backlog = backlog
        self._writes = writes
        self._clock = clock
        self._written: dict[Key, _Written] = {}
        self._not_before: dict[Key, float] = {}
        """When the next write of an object may be tried."""
        self._paced_at = 0.0
        self._poked = asyncio.Event()

    def poke(self) -> None:
        """Something changed that should be visible at once."""
        self._poked.set()

    async def run(self) -> None:
        """Reconcile until cancelled; does nothing until this replica leads."""
        while True:
            self._poked.clear()
            if self._swapper.leading and self._writes.open:
                await self.round()
            try:
                async with asyncio.timeout(ROUND):
                    await self._poked.wait()
            except TimeoutError:
                pass

    async def round(self) -> None:
        """One look at every object. Of what is not urgent a few are written, those that have waited longest."""
        later: list[Told] = []
        for key, make in self._objects():
            with guard("telling an object's status", object=f"{key.kind}/{key.name}"):
                told = make()
                urgency = Urgency.NOW if self._spoilt(told) else self._urgency(key, told.status)
                if urgency is Urgency.NOW:
                    await self._write(told)
                elif urgency is Urgency.SOON:
                    later.append(told)
            await asyncio.sleep(0)  # many objects must not hold up the loop
        later.sort(key=lambda told: self._written[told.key].at)
        for told in later[: self._quota()]:
            with guard("telling an object's status", object=f"{told.key.kind}/{told.key.name}"):
                await self._write(told)
        known = {_key("SchedulerProfile", record.body) for record in self._swapper.records.values()}
        known |= {_key("PluginConfig", body) for body in self._swapper.configs.values()}
        self._written = {key: written for key, written in self._written.items() if key in known}
        self._not_before = {key: moment for key, moment in self._not_before.items() if key in known}

    def _objects(self) -> Iterator[tuple[Key, Callable[[], Told]]]:
        """Each object, and what makes what is to be told of it: one by one, as things change between two writes."""
        for record in list(self._swapper.records.values()):
            if record.resolution is not None:
                yield _key("SchedulerProfile", record.body), functools.partial(self._of_profile, record)
        for name, body in list(self._swapper.configs.items()):
            yield _key("PluginConfig", body), functools.partial(self._of_config, name, body)

    def _of_profile(self, record: ProfileRecord) -> Told:
        return Told(_key("SchedulerProfile", record.body), self.profile_status(record), record.body, self._writes.profile_status)

    def _of_config(self, name: str, body: Body) -> Told:
        return Told(_key("PluginConfig", body), self.config_status(name, body), body, self._writes.plugin_config_status)

    # ---- what the status is ------------------------------------------------------------------------------------------------

    def profile_status(self, record: ProfileRecord) -> Status:
        """The whole status of a profile, conditions included; of one that another installation serves, no more than that."""
        active, resolution = record.active, record.resolution
        old = self._old_conditions(_key("SchedulerProfile", record.body), record.body)
        said = {
            "observedGeneration": record.generation,
            "conditions": profile_conditions(record, self.situation, old, self._clock.now()),
        }
        if any(error.reason == conditions.Reason.CLAIMED_BY_ANOTHER for error in record.conflicts):
            return said
        return {
            **said,
            "schedulerName": resolution.scheduler_name if resolution is not None else None,
            "desiredRevision": resolution.id if resolution is not None else None,
            "activeRevision": active.revision.id if active is not None else None,
            "activeSince": timestamp(active.since) if active is not None else None,
            "pluginConfigs": self._plugin_configs(record),
            "pluginConfigCount": len(resolution.configs) if resolution is not None else 0,
            "drainingCycles": self._swapper.drain(record),
            "leader": leader_status(self.situation.leadership()),
            "queue": self._queue(record),
            "effective": effective(record),
            "replicas": self._replicas(record),
            "claimedBy": self.situation.claimed_by,
        }

    def config_status(self, name: str, body: Mapping[str, Any]) -> Status:
        """The whole status of a PluginConfig."""
        users = sorted(r.name for r in self._swapper.records.values() if r.resolution is not None and name in r.resolution.configs)
        errors, text = self._swapper.config_facts.of(name, body)
        accepted = judged(conditions.Type.ACCEPTED, errors, "Valid")
        generation = bodies.generation(body)
        old = self._old_conditions(_key("PluginConfig", body), body)
        return {
            "observedGeneration": generation,
            "hash": text,
            "profiles": users,
            "profileCount": len(users),
            "conditions": conditions.merge(old, [accepted], generation, self._clock.now()),
        }

    def _old_conditions(self, key: Key, body: Body) -> Sequence[object]:
        written = self._written.get(key)
        found = (written.status if written is not None else bodies.status(body)).get("conditions")
        return found if isinstance(found, list) else []

    def _plugin_configs(self, record: ProfileRecord) -> list[Status]:
        desired = dict(record.resolution.configs) if record.resolution is not None else {}
        active = dict(record.active.resolution.configs) if record.active is not None else {}
        generations = (("observedGeneration", desired), ("activeGeneration", active))
        return [
            {"name": name, **{field: configs[name] for field, configs in generations if name in configs}}
            for name in sorted({*desired, *active})
        ]

    def _queue(self, record: ProfileRecord) -> Status:
        name = record.resolution.scheduler_name if record.resolution is not None else record.name
        counts = self._backlog.counts(name)
        queue: Status = {
            "active": counts.active + counts.held,
            "backoff": counts.backoff,
            "unschedulable": counts.unschedulable,
            "gated": counts.gated,
            "inFlight": counts.in_flight,
            "oldestPendingSince": None,
        }
        if counts.oldest is not None:
            age = datetime.timedelta(seconds=self._clock.boottime() - counts.oldest)
            queue["oldestPendingSince"] = timestamp((self._clock.now() - age).replace(microsecond=0))
        return queue

    def _replicas(self, record: ProfileRecord) -> list[Status]:
        leadership = self.situation.leadership()
        leader = leadership.identity if leadership is not None else ""
        return [
            {"identity": r.identity, "role": "Leader" if r.identity == leader else "Standby", "revision": r.revisions.get(record.name, "")}
            for r in sorted(self.situation.replicas, key=lambda replica: replica.identity)
        ]

    # ---- writing -----------------------------------------------------------------------------------------------------------

    def _urgency(self, key: Key, status: Status) -> Urgency:
        """How soon an object's status is to be written."""
        now, written = self._clock.boottime(), self._written.get(key)
        if now < self._not_before.get(key, now):
            return Urgency.NONE
        if written is None or _without(status) != _without(written.status):
            return Urgency.NOW
        counts_changed = any(status.get(name) != written.status.get(name) for name in ("queue", "drainingCycles"))
        queue_due = counts_changed and now >= written.at + QUEUE_APART
        renewal_due = status.get("leader") != written.status.get("leader") and now >= written.at + RENEW_APART
        return Urgency.SOON if queue_due or renewal_due else Urgency.NONE

    def _spoilt(self, told: Told) -> bool:
        """Whether somebody else has written into a status of ours since we did. Where another installation serves, it is not ours."""
        written = self._written.get(told.key)
        if written is None or _version(told.body) == written.version or self._clock.boottime() < self._not_before.get(told.key, 0.0):
            return False
        ours = told.key.kind != "SchedulerProfile" or "claimedBy" in told.status
        return ours and not _shown(bodies.status(told.body), written.status)

    def _quota(self) -> int:
        """How many writes that are not urgent may go out now."""
        now = self._clock.boottime()
        quota = int(min(now - self._paced_at, 1.0) * WRITES_PER_SECOND)
        self._paced_at = now if quota else self._paced_at
        return quota

    async def _write(self, told: Told) -> None:
        key, now = told.key, self._clock.boottime()
        before, spoilt, version = self._written.get(key), self._spoilt(told), _version(told.body)
        strange = bodies.status(told.body).keys() - told.status.keys() if spoilt else ()
        try:
            await told.write(key.name, {**dict.fromkeys(strange), **told.status})
        except EdgeError as error:
            # The API server may refuse every write of an object, as of one that its present schema would not have let in.
            level = logging.INFO if isinstance(error, NotFound | Fenced) else logging.WARNING
            log.log(
                level, "status was not written, next attempt in %.0f s: %s", RETRY_APART, error, extra={"object": f"{key.kind}/{key.name}"}
            )
            self._not_before[key] = now + RETRY_APART
        else:
            mends = before.mends + 1 if spoilt and before is not None and now < before.at + 2 * MENDED_APART else 0
            if spoilt:
                extra = told_once(f"mend {key}", object=f"{key.kind}/{key.name}")
                log.warning("status was changed by somebody else, and is mended", extra=extra)
            self._written[key] = _Written(told.status, now, version, mends)
            self._not_before[key] = now + min(APART * 2.0**mends, MENDED_APART)


def _key(kind: str, body: Body) -> Key:
    metadata = body["metadata"]
    return Key(kind, str(metadata["name"]), str(metadata.get("uid", "")))


def _version(body: Body) -> str:
    """The object's resourceVersion, "" where it has none, as in a file."""
    return str(body["metadata"].get("resourceVersion") or "")


def _shown(status: object, ours: object) -> bool:
    """Whether a status holds all of ours, and no more at any place that is ours. None stands for what is not there.

    When a condition last changed, and who uses a PluginConfig, is not compared: of these other installations may write their own.
    """
    if isinstance(ours, Mapping) and isinstance(status, Mapping):
        names = {*status, *ours} - {"lastTransitionTime", "profiles", "profileCount"}
        return all(_shown(status.get(name), ours.get(name)) for name in names)
    if isinstance(ours, (list, tuple)) and isinstance(status, (list, tuple)):
        return len(ours) == len(status) and all(map(_shown, status, ours))
    return bool(ours == status)


def effective(record: ProfileRecord) -> Status | None:
    """What really runs, in order, by extension point; weights at score. None takes a point away that was there before."""
    if record.active is None:
        return None
    revision = record.active.revision
    shown: Status = {point.value: list(names) or None for point, names in revision.points.items()}
    shown["score"] = [{"name": name, "weight": revision.weights[name]} for name in revision.points[Point.SCORE]] or None
    return shown


def leader_status(leadership: Leadership | None) -> Status | None:
    """Who leads, for status."""
    if leadership is None:
        return None
    return {
        "identity": leadership.identity,
        "since": leadership.since,
        "transitions": leadership.transitions,
        "renewTime": leadership.renewed,
    }


def _without(status: Status) -> Status:
    """The status less what may lag."""
    shown = {key: value for key, value in status.items() if key not in ("queue", "leader", "drainingCycles")}
    leader = status.get("leader") or {}
    return {**shown, "leader": {key: value for key, value in leader.items() if key != "renewTime"}}
