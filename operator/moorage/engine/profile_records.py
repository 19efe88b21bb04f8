"""Profile records: what is known of each SchedulerProfile, from its object to the revision that
decides for it, of those of other installations, and of each PluginConfig.

Only ``engine.profiles`` writes these records; its ``profile_status`` turns them into status.
"""

from __future__ import annotations

import dataclasses
import datetime
from collections.abc import Callable, Iterable, Iterator
from typing import Literal

from moorage.api import bodies
from moorage.api.bodies import Body
from moorage.api.conditions import ConditionReason
from moorage.api.resolved_profile import Resolution
from moorage.core.framework.holds import SUSPENDED, Hold, lacks, waits_for
from moorage.core.framework.revisions import FieldError, Revision
from moorage.core.trials.trial import ProfileTrial
from moorage.ports.event_recorder import Event, ObjectRef


@dataclasses.dataclass(frozen=True, slots=True)
class ActiveRevision:
    """The revision that decides, what it was made of and since when; ``last_good`` when the
    object's spec is not what it is.
    """

    revision: Revision
    resolution: Resolution
    since: datetime.datetime
    last_good: bool = False

    def is_said_by(self, resolution: Resolution) -> bool:
        """Whether it is known to be what these objects say."""
        return (
            not self.last_good
            and resolution.profile is self.resolution.profile
            and resolution.configs == self.resolution.configs
        )

    def said_by(self, resolution: Resolution) -> ActiveRevision:
        """The same revision, which these objects say now. What was made for it stays."""
        made = self.resolution
        same = dataclasses.replace(resolution, made=made.made, queue_config=made.queue_config)
        return dataclasses.replace(self, resolution=same, last_good=False)


@dataclasses.dataclass(slots=True)
class ProfileRecord:
    """One SchedulerProfile of this installation."""

    name: str
    body: Body
    """The object as it is now."""
    reconciled: Body = dataclasses.field(default_factory=dict)
    """The object as it was when it was last reconciled: its status is about this."""
    stale: bool = True
    """Whether the object, or a PluginConfig that it references, has changed since."""
    resolution: Resolution | None = None
    """Of ``reconciled``; None before the first."""
    conflicts: tuple[FieldError, ...] = ()
    """Why another profile or another scheduler serves its pods; while there are any, no revision of
    it decides.
    """
    served_by: str = ""
    """Where this installation observes, namespace/lease of the one that serves it, "" for none."""
    active: ActiveRevision | None = None
    trial: ProfileTrial | None = None
    """Of a revision that is to decide after ``active``, or that was not taken over."""
    tried: Resolution | None = None
    """What is tried, while that goes on."""
    superseded: list[Revision] = dataclasses.field(default_factory=list)
    """Revisions that may still have bindings in flight."""
    pending_requeue: frozenset[str] = frozenset()
    """Plugins that a swap changed and whose refused pods are still to be moved."""
    requeued_at: float = float("-inf")
    last_rejection: str = ""
    """The refusal that was last recorded in an event."""
    lost: str = ""
    """Why a revision that decided before cannot decide now; "" where there is none."""
    useless: tuple[str, ...] = ()
    """Stored revisions that were all found to be of no use, since it was last reconciled."""
    waiting_reason: str = ""
    """Why a good revision is not swapped in yet."""
    missing_kinds: tuple[str, ...] = ()
    """Resources that the revision would decide by and that are not up to date yet."""
    waits_for: tuple[str, ...] = ()
    """The same of the active revision: while there are any, its pods are held."""
    lacks: tuple[str, ...] = ()
    """Rights without which the active revision cannot decide, or have done what it decides: the
    same.
    """

    @property
    def uid(self) -> str:
        return str(self.body["metadata"].get("uid", ""))

    @property
    def generation(self) -> int:
        """The generation that was last reconciled."""
        return bodies.generation(self.reconciled)

    @property
    def age(self) -> tuple[str, str]:
        """Orders profiles: the older one first, then by name."""
        return bodies.age(self.body)

    @property
    def title(self) -> str:
        """What it is called where others are told of it."""
        return f"SchedulerProfile {self.name!r}"

    @property
    def errors(self) -> tuple[FieldError, ...]:
        """All that is wrong with it."""
        return (self.resolution.errors if self.resolution is not None else ()) + self.conflicts

    @property
    def suspended(self) -> bool:
        """Whether its pods are to stay queued."""
        return bodies.suspended(self.reconciled)

    @property
    def hold(self) -> Hold | None:
        """Why its pods are not tried, whatever revision decides; None where they are."""
        if self.suspended:
            return SUSPENDED
        if self.lacks:
            return lacks(self.lacks)
        return waits_for(self.waits_for) if self.waits_for else None

    @property
    def paused(self) -> bool:
        """Whether what decides is to go on whatever its spec says."""
        return bodies.paused(self.reconciled)

    @property
    def reference(self) -> ObjectRef:
        """The profile as events name it."""
        return ObjectRef(
            "SchedulerProfile", self.name, self.uid, api_version="moorage.dev/v1alpha1"
        )

    def event(
        self,
        reason: Literal[
            "Activated", "LeaderChanged", "Rejected", "RolledBack", "TrialPassed", "TrialStarted"
        ],
        note: str,
        warning: bool = False,
    ) -> Event:
        """An event on the profile."""
        return Event(self.reference, reason, note, reason, controller="moorage", warning=warning)

    def prune_superseded(self, count: Callable[[Revision], int]) -> int:
        """Pods that are under way by superseded revisions, as ``count`` has them; a revision
        without any is forgotten.
        """
        counts = {revision: count(revision) for revision in self.superseded}
        self.superseded = [revision for revision in self.superseded if counts[revision]]
        return sum(counts.values())


@dataclasses.dataclass(frozen=True, slots=True)
class ForeignProfile:
    """A SchedulerProfile of another installation: what it asks for, and what it is called."""

    age: tuple[str, str]
    """As that of a ProfileRecord."""
    scheduler_name: str
    title: str


def foreign_profile(body: Body) -> ForeignProfile:
    """What is known of it."""
    name, controller = bodies.age(body)[1], bodies.controller_name(body)
    title = f"SchedulerProfile {name!r} (controllerName {controller!r})"
    return ForeignProfile(bodies.age(body), bodies.scheduler_name(body), title)


@dataclasses.dataclass(frozen=True, slots=True)
class ProfileRecords:
    """By name, the profiles of this installation, those of others, and all PluginConfigs."""

    profiles: dict[str, ProfileRecord] = dataclasses.field(default_factory=dict)
    foreign: dict[str, ForeignProfile] = dataclasses.field(default_factory=dict)
    configs: dict[str, Body] = dataclasses.field(default_factory=dict)

    def of_scheduler(self, scheduler_name: str) -> ProfileRecord | None:
        """The profile that has this schedulerName; None for a name of somebody else's."""
        records = self.profiles.values()
        return next(
            (record for record in records if bodies.scheduler_name(record.body) == scheduler_name),
            None,
        )

    def asking_for(self, scheduler_name: str) -> Iterator[ProfileRecord | ForeignProfile]:
        """All profiles with this schedulerName, of whichever installation."""
        for record in self.profiles.values():
            if bodies.scheduler_name(record.body) == scheduler_name:
                yield record
        for theirs in self.foreign.values():
            if theirs.scheduler_name == scheduler_name:
                yield theirs

    def name_conflicts(
        self, records: Iterable[ProfileRecord]
    ) -> Iterator[tuple[ProfileRecord, FieldError]]:
        """Those of these records that are younger than another profile of their schedulerName, of
        whichever installation.
        """
        owners: dict[str, ProfileRecord | ForeignProfile] = {}
        for theirs in sorted(self.foreign.values(), key=lambda one: one.age):
            owners.setdefault(theirs.scheduler_name, theirs)
        for record in sorted(records, key=lambda one: one.age):
            name = record.resolution.scheduler_name if record.resolution is not None else ""
            if not name:
                continue
            owner = owners.setdefault(name, record)
            if owner.age < record.age:
                yield record, name_conflict(owner, name)
            else:
                owners[name] = record


def name_conflict(owner: ProfileRecord | ForeignProfile, scheduler_name: str) -> FieldError:
    """What is wrong with a profile that is younger than the one which has its schedulerName."""
    text = f"{owner.title} is older and has this schedulerName already; choose another one"
    return FieldError("schedulerName", scheduler_name, text, ConditionReason.NAME_CONFLICT)
