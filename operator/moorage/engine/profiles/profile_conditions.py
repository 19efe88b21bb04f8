"""Profile conditions: what is to be said of a profile's spec, its references, our rights to serve
it, and who decides.
"""

from __future__ import annotations

import dataclasses
import datetime
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from moorage.api import conditions
from moorage.core.framework.extenders import SECRETS
from moorage.core.framework.registry import RequiredAccess
from moorage.core.framework.revisions import FieldError, Revision
from moorage.engine.profile_records import ProfileRecord
from moorage.ports.kube import ReplicaAnnouncement
from moorage.ports.stored_kinds import StoredKind, kinds_of

StatusBody = dict[str, Any]
RequiredRight: TypeAlias = StoredKind | RequiredAccess
"""A kind that plugins read, or what an actor does at the API server: only some profiles need the
rights to it.
"""


@dataclasses.dataclass(slots=True)
class StatusInputs:
    """What status says beside the records: the replicas, and the rights that are missing."""

    replicas: tuple[ReplicaAnnouncement, ...] = ()
    missing_rights: tuple[str, ...] = ()
    """Those that every profile needs."""
    missing_for: Mapping[RequiredRight, tuple[str, ...]] = dataclasses.field(default_factory=dict)
    """Those that only profiles need whose plugins read the kind, or whose actors do this."""


def profile_conditions(
    record: ProfileRecord, inputs: StatusInputs, old: Sequence[object], now: datetime.datetime
) -> list[StatusBody]:
    """Accepted, ResolvedRefs, Permitted, Active and the roll-up Ready."""
    references = [error for error in record.errors if error.reason in conditions.REFERENCE_REASONS]
    own = [error for error in record.errors if error.reason not in conditions.REFERENCE_REASONS]
    results = [
        condition_for(conditions.ConditionType.ACCEPTED, own, "Valid"),
        condition_for(conditions.ConditionType.RESOLVED_REFS, references, "Resolved"),
        _permitted(record, inputs),
        _active(record),
    ]
    ready = conditions.summarise(
        results, decided=record.active is not None and not record.suspended
    )
    return conditions.merge(old, [*results, ready], record.generation, now)


def condition_for(
    kind: conditions.ConditionType, errors: Sequence[FieldError], good: str
) -> conditions.ConditionResult:
    """The condition of this type: ``good`` is its reason where there are no errors."""
    if not errors:
        return conditions.ConditionResult(kind, True, good, "")
    return conditions.ConditionResult(kind, False, errors[0].reason, "; ".join(map(str, errors)))


def rights_required_by(revision: Revision) -> list[RequiredRight]:
    """What a revision's plugins and extenders need beside what every profile needs."""
    secrets = [SECRETS] if any(extender.secret for extender in revision.extenders) else []
    return [*kinds_of(revision), *revision.writes, *secrets]


def _permitted(record: ProfileRecord, inputs: StatusInputs) -> conditions.ConditionResult:
    """Whether the service account may do all that this profile needs."""
    made = record.resolution.made if record.resolution is not None else None
    needs = rights_required_by(made) if made is not None else []
    missing = [
        *inputs.missing_rights,
        *(right for need in needs for right in inputs.missing_for.get(need, ())),
    ]
    return conditions.ConditionResult(
        conditions.ConditionType.PERMITTED,
        not missing,
        "RBACMissing" if missing else "Permitted",
        "; ".join(missing),
    )


def _active(record: ProfileRecord) -> conditions.ConditionResult:
    active, desired = record.active, record.resolution.id if record.resolution is not None else ""
    if record.conflicts:
        return conditions.ConditionResult(
            conditions.ConditionType.ACTIVE, False, "Waiting", "its pods are another one's to place"
        )
    if active is None and record.errors:
        return conditions.ConditionResult(
            conditions.ConditionType.ACTIVE,
            False,
            "Waiting",
            record.lost or "no revision has been good yet",
        )
    if active is None or (active.revision.id != desired and not record.errors):
        why = f": {record.waiting_reason}" if record.waiting_reason else ""
        return conditions.ConditionResult(
            conditions.ConditionType.ACTIVE,
            False,
            "Waiting",
            f"revision {desired} is not swapped in yet{why}",
        )
    if record.waits_for:
        text = (
            f"revision {active.revision.id} waits: {', '.join(record.waits_for)} are not up to "
            f"date yet"
        )
        return conditions.ConditionResult(conditions.ConditionType.ACTIVE, False, "Waiting", text)
    if record.suspended:
        return conditions.ConditionResult(
            conditions.ConditionType.ACTIVE,
            False,
            "Suspended",
            "spec.suspend is true: pods stay queued",
        )
    if record.errors:
        return conditions.ConditionResult(
            conditions.ConditionType.ACTIVE,
            False,
            "LastGood",
            f"revision {active.revision.id} goes on deciding",
        )
    return conditions.ConditionResult(
        conditions.ConditionType.ACTIVE, True, "Deciding", f"revision {active.revision.id} decides"
    )
