"""Admission: what is wrong with an object that is about to be stored, by the code that makes the
condition Accepted.

What the object says by itself is an error: it is not to be stored. What depends on other objects,
on other installations or on time is a warning, as objects that are applied together come one by
one. What memory holds is read and nothing is changed, so a dry run is as any other.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Literal

from moorage.api import bodies
from moorage.api.bodies import Body
from moorage.api.conditions import ConditionReason
from moorage.api.pod_reviews import DEFAULT_SCHEDULER
from moorage.core.framework.revisions import FieldError
from moorage.engine.profile_records import ProfileRecords, name_conflict
from moorage.engine.profiles.resolving import ProfileResolver

Kind = Literal["PluginConfig", "SchedulerProfile"]

ERRORS = frozenset(
    {
        ConditionReason.INVALID_SPEC,
        ConditionReason.INVALID_PLUGIN_ARGS,
        ConditionReason.QUEUE_SORT_CONFLICT,
        ConditionReason.NOT_YET_SUPPORTED,
        ConditionReason.UNKNOWN_PLUGIN,
        ConditionReason.NAME_CONFLICT,
    }
)
"""What a profile of this installation is refused for; all else is a warning."""
CONFIG_ERRORS = frozenset({ConditionReason.INVALID_SPEC, ConditionReason.INVALID_PLUGIN_ARGS})
"""The same of a PluginConfig, which may be another installation's, with plugins of its own."""
_KUBE_SCHEDULER_MAY_RUN = (
    "while kube-scheduler is running it serves this name, and the profile waits: its condition "
    "Accepted says so"
)


@dataclasses.dataclass(frozen=True, slots=True)
class AdmissionVerdict:
    """Why an object must not be stored, nothing where it may; and what else its author should
    know.
    """

    errors: tuple[FieldError, ...] = ()
    warnings: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True, slots=True)
class AdmissionJudge:
    """Judges objects of both kinds. ``controller_name`` is this installation's: profiles of others
    are not for it to judge.
    """

    records: ProfileRecords
    resolver: ProfileResolver
    controller_name: str

    def judge(self, kind: Kind, new: Body, old: Body | None) -> AdmissionVerdict:
        """What is said of the object ``new``; ``old`` is what it is to replace, None at its
        creation.
        """
        if kind == "PluginConfig":
            return _verdict(self.resolver.config_errors(new), CONFIG_ERRORS)
        if bodies.controller_name(new) != self.controller_name:
            return AdmissionVerdict()
        faults = self.resolver(new, self.records.configs).errors
        if old is None:
            return _verdict([*faults, *self._conflicts_at_creation(new)], ERRORS)
        record = self.records.profiles.get(new["metadata"]["name"])
        known = record.conflicts if record is not None else ()
        return _verdict([*faults, *known], ERRORS - {ConditionReason.NAME_CONFLICT})

    def _conflicts_at_creation(self, profile: Body) -> Iterator[FieldError]:
        """Another profile has its schedulerName; and, with a name that kube-scheduler serves, that
        it may do so now.
        """
        scheduler_name, name = bodies.scheduler_name(profile), profile["metadata"]["name"]
        others = [
            other for other in self.records.asking_for(scheduler_name) if other.age[1] != name
        ]
        if others:
            yield name_conflict(min(others, key=lambda other: other.age), scheduler_name)
        if scheduler_name == DEFAULT_SCHEDULER:
            reason = ConditionReason.DEFAULT_SCHEDULER_ACTIVE
            yield FieldError("schedulerName", scheduler_name, _KUBE_SCHEDULER_MAY_RUN, reason)


def _verdict(faults: Sequence[FieldError], refused: frozenset[ConditionReason]) -> AdmissionVerdict:
    return AdmissionVerdict(
        tuple(fault for fault in faults if fault.reason in refused),
        tuple(str(fault) for fault in faults if fault.reason not in refused),
    )
