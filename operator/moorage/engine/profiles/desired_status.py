"""Desired status: what the status of a SchedulerProfile or a PluginConfig should say."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from moorage.api import bodies, conditions
from moorage.api.bodies import Body
from moorage.api.conditions import timestamp
from moorage.core.framework.interfaces import ExtensionPoint
from moorage.core.queue.scheduling_queue import SchedulingQueue
from moorage.engine.profile_records import ProfileRecord, ProfileRecords
from moorage.engine.profiles.config_conditions import config_conditions
from moorage.engine.profiles.profile_conditions import (
    StatusBody,
    StatusInputs,
    profile_conditions,
)
from moorage.engine.profiles.resolving import PluginConfigResults
from moorage.engine.profiles.trial_reports import trial_status
from moorage.engine.reports.held_rooms import RoomHolder, wall_time
from moorage.engine.scheduling.pods_under_way import PodsUnderWay
from moorage.ports.clock import Clock
from moorage.ports.leadership import Election, Leadership


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class StatusBuilder:
    """Builds the status that an object should have. ``old``: the conditions that it has."""

    records: ProfileRecords
    config_results: PluginConfigResults
    queue: SchedulingQueue
    rooms: RoomHolder
    under_way: PodsUnderWay
    inputs: StatusInputs
    election: Election
    own_lease: str
    """namespace/lease of this installation."""
    clock: Clock

    def of_profile(self, record: ProfileRecord, old: Sequence[object]) -> StatusBody:
        """The whole status of a profile, conditions included; of one that another installation
        serves, no more than that.
        """
        active, resolution = record.active, record.resolution
        accepted = {
            "observedGeneration": record.generation,
            "conditions": profile_conditions(record, self.inputs, old, self.clock.now()),
        }
        if any(
            error.reason == conditions.ConditionReason.CLAIMED_BY_ANOTHER
            for error in record.conflicts
        ):
            return accepted
        return {
            **accepted,
            "schedulerName": resolution.scheduler_name if resolution is not None else None,
            "desiredRevision": (resolution.id or None) if resolution is not None else None,
            "activeRevision": active.revision.id if active is not None else None,
            "activeSince": timestamp(active.since) if active is not None else None,
            "pluginConfigs": self._plugin_configs(record),
            "pluginConfigCount": len(resolution.configs) if resolution is not None else 0,
            "drainingCycles": record.prune_superseded(self.under_way.count),
            "leader": leader_status(self.election.leadership),
            "queue": self._queue_status(record),
            "effective": effective_plugins(record),
            "replicas": self._replicas(record),
            "trial": trial_status(record.trial),
            **self._who_serves(record),
        }

    def _who_serves(self, record: ProfileRecord) -> StatusBody:
        """An observer leaves the claim of others, also of one that is gone: the name stays taken
        until a decider takes it over.
        """
        if not self.inputs.observes:
            return {"claimedBy": self.own_lease, "observedBy": None}
        own = bodies.status(record.body).get("claimedBy") == self.own_lease
        return {"observedBy": self.own_lease, **({"claimedBy": None} if own else {})}

    def of_config(self, name: str, body: Body, old: Sequence[object]) -> StatusBody:
        """The whole status of a PluginConfig."""
        users = sorted(
            (
                record
                for record in self.records.profiles.values()
                if record.resolution is not None and name in record.resolution.used
            ),
            key=lambda record: record.name,
        )
        errors, text = self.config_results.of(name, body)
        generation, now = bodies.generation(body), self.clock.now()
        results = config_conditions(name, body, errors, users)
        return {
            "observedGeneration": generation,
            "hash": text,
            "profiles": [record.name for record in users],
            "profileCount": len(users),
            "conditions": conditions.merge(old, results, generation, now),
        }

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
        counts = self.queue.counts(name)
        status: StatusBody = {
            "active": counts.active + counts.unserved,
            "backoff": counts.backoff,
            "unschedulable": counts.unschedulable,
            "gated": counts.gated,
            "inFlight": counts.in_flight,
            "oldestPendingSince": self._time(counts.oldest),
            "groups": len(self.queue.groups.that_wait.get(name, ())),
            "roomHeldFor": None,
            "roomHeldUntil": None,
        }
        if (held := self.rooms.held_room) is not None and held.group.scheduler_name == name:
            status["roomHeldFor"] = held.group.name
            status["roomHeldUntil"] = self._time(held.until)
        return status

    def _time(self, boottime: float | None) -> str | None:
        """A moment of the boot clock in whole seconds, as status shows it."""
        if boottime is None:
            return None
        return timestamp(wall_time(boottime, self.clock).replace(microsecond=0))

    def _replicas(self, record: ProfileRecord) -> list[StatusBody]:
        leadership = self.election.leadership
        leader = leadership.identity if leadership is not None else ""
        return [
            {
                "identity": r.identity,
                "role": "Leader" if r.identity == leader else "Standby",
                "revision": r.revisions.get(record.name, ""),
            }
            for r in sorted(self.inputs.replicas, key=lambda replica: replica.identity)
        ]


def effective_plugins(record: ProfileRecord) -> StatusBody | None:
    """What really runs, in order, by extension point, with weights where something is scored. None
    takes a point away that was there before.
    """
    if record.active is None:
        return None
    revision = record.active.revision
    shown: StatusBody = {
        point.value: list(names) or None for point, names in revision.points.items()
    }
    weighted = (
        (ExtensionPoint.SCORE, revision.weights),
        (ExtensionPoint.PLACEMENT_SCORE, revision.placement_weights),
    )
    for point, weights in weighted:
        shown[point.value] = [
            {"name": name, "weight": weights[name]} for name in revision.points[point]
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
