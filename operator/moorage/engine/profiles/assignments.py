"""Assignments: which profiles ask for pods that name no scheduler, and which of them may have some.

All profiles of the cluster count, as API servers ask all of them (docs/adr/0020).
"""

from __future__ import annotations

import functools

from moorage.api.assignment import AssigningProfile, assigning
from moorage.api.bodies import Body
from moorage.api.conditions import ConditionReason, ConditionResult, ConditionType
from moorage.engine.profile_records import ProfileRecord


class Assignments:
    """Those of all profiles that assign."""

    def __init__(self) -> None:
        self.by_age: tuple[AssigningProfile, ...] = ()
        """The oldest one first. It is replaced whole, so other threads may read it."""
        self._profiles: dict[str, AssigningProfile] = {}
        self._rivals: dict[str, AssigningProfile | None] = {}
        """What has been found out since the last change."""

    def profile_changed(self, name: str, body: Body | None) -> None:
        """A profile of whichever installation is in this state; None: it is gone."""
        before = self._profiles.pop(name, None)
        now = assigning(body) if body is not None else None
        if now is not None:
            self._profiles[name] = now
        if before != now:
            self.by_age = tuple(sorted(self._profiles.values(), key=lambda one: one.age))
            self._rivals.clear()

    def of(self, name: str) -> AssigningProfile | None:
        """The profile of this name; None where it does not assign."""
        return self._profiles.get(name)

    def rival(self, profile: AssigningProfile) -> AssigningProfile | None:
        """The oldest profile that is older and could ask for a pod that this one asks for."""
        if profile.name not in self._rivals:
            found = (one for one in self.by_age if one.is_before(profile))
            self._rivals[profile.name] = next(found, None)
        return self._rivals[profile.name]


def assignment_condition(
    record: ProfileRecord, assignments: Assignments, idle: str
) -> ConditionResult | None:
    """The condition Assigned; None where the profile does not assign. ``idle``: why it places no
    pods, "" where it does.
    """
    profile = assignments.of(record.name)
    if profile is None:
        return None
    assigned = functools.partial(ConditionResult, ConditionType.ASSIGNED)
    if profile.assignment is None:
        text = "spec.assign cannot be read; Accepted says why"
        return assigned(False, ConditionReason.INVALID_SPEC, text)
    if (rival := assignments.rival(profile)) is not None:
        text = (
            f"SchedulerProfile {rival.name!r} is older and could select the same pod: have a key "
            f"in the selectors of both tell them apart"
        )
        return assigned(False, ConditionReason.ASSIGN_CONFLICT, text)
    if record.suspended:
        text = "spec.suspend is true: pods that name no scheduler are left to others"
        return assigned(False, ConditionReason.SUSPENDED, text)
    if idle:
        return assigned(False, ConditionReason.NOT_ACTIVE, idle)
    return assigned(True, ConditionReason.ASSIGNED)
