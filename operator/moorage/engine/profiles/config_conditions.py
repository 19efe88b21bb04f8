"""PluginConfig conditions: whether its arguments are valid, and whether the profiles that reference
it run its newest generation.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from moorage.api import bodies
from moorage.api.bodies import Body
from moorage.api.conditions import ConditionReason, ConditionResult, ConditionType
from moorage.core.framework.revisions import FieldError
from moorage.engine.profile_records import ProfileRecord
from moorage.engine.profiles.profile_conditions import activity_of, condition_for

MOST_NAMED = 5
"""Profiles that a message names."""


def config_conditions(
    name: str, body: Body, errors: Sequence[FieldError], users: Sequence[ProfileRecord]
) -> Iterator[ConditionResult]:
    """Accepted and Active of a PluginConfig with these faults, which these profiles reference."""
    accepted = condition_for(ConditionType.ACCEPTED, errors, ConditionReason.VALID)
    yield accepted
    behind = [record for record in users if not _runs(record, name, body)]
    text = _told(name, body, users, behind)
    if errors:
        text = f"{accepted.message}; {text}"
        yield ConditionResult(ConditionType.ACTIVE, False, accepted.reason, text)
    elif not users:
        yield ConditionResult(ConditionType.ACTIVE, None, ConditionReason.UNUSED, text)
    elif behind:
        yield ConditionResult(ConditionType.ACTIVE, False, _reason(behind[0]), text)
    else:
        yield ConditionResult(ConditionType.ACTIVE, True, ConditionReason.RUNNING, text)


def _told(
    name: str, body: Body, users: Sequence[ProfileRecord], behind: Sequence[ProfileRecord]
) -> str:
    generation = bodies.generation(body)
    if not users:
        return "no SchedulerProfile references it"
    if not behind:
        return f"generation {generation} is run by {_profiles(len(users))}"
    named = ", ".join(_state(record, name, body) for record in behind[:MOST_NAMED])
    more = f" and {len(behind) - MOST_NAMED} more" if len(behind) > MOST_NAMED else ""
    return f"{len(behind)} of {_profiles(len(users))} not at generation {generation}: {named}{more}"


def _profiles(count: int) -> str:
    return f"{count} profile{'' if count == 1 else 's'}"


def _state(record: ProfileRecord, name: str, body: Body) -> str:
    """What a profile does instead of running the newest generation, and why."""
    used = _used(record, name)
    if used is None:
        runs = "does not run it"
    elif _uid(used) != _uid(body):
        runs = "runs one of this name that was deleted"
    else:
        runs = f"runs generation {bodies.generation(used)}"
    return f"{record.name} {runs} ({_reason(record)})"


def _reason(record: ProfileRecord) -> ConditionReason:
    """Why a profile does not run what it references; it may not have been looked into yet."""
    reason, _ = activity_of(record)
    return ConditionReason.WAITING if reason is ConditionReason.DECIDING else reason


def _runs(record: ProfileRecord, name: str, body: Body) -> bool:
    """Whether what decides for the profile is made of the PluginConfig as it is now."""
    used = _used(record, name)
    return used is not None and (_uid(used), bodies.generation(used)) == (
        _uid(body),
        bodies.generation(body),
    )


def _used(record: ProfileRecord, name: str) -> Body | None:
    return record.active.resolution.used.get(name) if record.active is not None else None


def _uid(body: Body) -> object:
    return body["metadata"].get("uid")
