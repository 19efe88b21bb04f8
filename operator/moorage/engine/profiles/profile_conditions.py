"""Profile conditions: how a profile's spec is, its references, our rights to serve it, and who
decides.
"""

from __future__ import annotations

import dataclasses
import datetime
from collections.abc import Sequence
from typing import Any

from moorage.api import conditions
from moorage.api.conditions import ConditionReason, ConditionResult, ConditionType
from moorage.core.framework.revisions import FieldError
from moorage.engine.intake.synced_kinds import SyncedKinds
from moorage.engine.profile_records import ProfileRecord, ProfileRecords
from moorage.engine.profiles.assignments import Assignments, assignment_condition
from moorage.engine.profiles.required_rights import MissingRights
from moorage.engine.profiles.shared_nodes import SharedNodes
from moorage.engine.profiles.trial_reports import activity, progressing
from moorage.ports.kube import ReplicaAnnouncement

StatusBody = dict[str, Any]


@dataclasses.dataclass(slots=True)
class StatusInputs:
    """What status says beside the records: the replicas, the rights that are missing, which
    profiles assign, which of other installations share nodes with ours, whether this
    installation decides nothing, and what the API server has.
    """

    replicas: tuple[ReplicaAnnouncement, ...] = ()
    rights: MissingRights = dataclasses.field(default_factory=MissingRights)
    assignments: Assignments = dataclasses.field(default_factory=Assignments)
    shared_nodes: SharedNodes = dataclasses.field(
        default_factory=lambda: SharedNodes(ProfileRecords())
    )
    observes: bool = False
    synced: SyncedKinds = dataclasses.field(default_factory=lambda: SyncedKinds(()))


def profile_conditions(
    record: ProfileRecord, inputs: StatusInputs, old: Sequence[object], now: datetime.datetime
) -> list[StatusBody]:
    """Accepted, ResolvedRefs, Permitted, Active, Progressing where something is tried, Assigned
    where the spec has assign, NodesShared beside other installations, and the roll-up Ready.
    """
    references = [error for error in record.errors if error.reason in conditions.REFERENCE_REASONS]
    own = [error for error in record.errors if error.reason not in conditions.REFERENCE_REASONS]
    results = [
        condition_for(ConditionType.ACCEPTED, own, ConditionReason.VALID),
        condition_for(ConditionType.RESOLVED_REFS, references, ConditionReason.RESOLVED),
        _permitted(record, inputs),
        _active(record, inputs),
    ]
    decided = record.active is not None and not record.suspended and not inputs.observes
    ready = conditions.summarise(results, decided=decided)
    if record.trial is not None:
        results.append(progressing(record.trial))
    idle = _idle(record, inputs)
    if (assigned := assignment_condition(record, inputs.assignments, idle)) is not None:
        results.append(assigned)
    if (shared := inputs.shared_nodes.condition(record)) is not None:
        results.append(shared)
    return conditions.merge(old, [*results, ready], record.generation, now)


def condition_for(
    kind: ConditionType, errors: Sequence[FieldError], good: ConditionReason
) -> ConditionResult:
    """The condition of this type: ``good`` is its reason where there are no errors."""
    if not errors:
        return ConditionResult(kind, True, good, "")
    return ConditionResult(kind, False, errors[0].reason, "; ".join(map(str, errors)))


def rights_missing(record: ProfileRecord, inputs: StatusInputs) -> Sequence[str]:
    """What the service account may not do of all that this profile needs, by its spec and by the
    revision that decides.
    """
    made = record.resolution.made if record.resolution is not None else None
    return tuple(dict.fromkeys((*inputs.rights.of(made), *record.lacks)))


def _permitted(record: ProfileRecord, inputs: StatusInputs) -> ConditionResult:
    missing = rights_missing(record, inputs)
    return ConditionResult(
        ConditionType.PERMITTED,
        not missing,
        ConditionReason.RBAC_MISSING if missing else ConditionReason.RIGHTS_HELD,
        "; ".join(missing),
    )


def _active(record: ProfileRecord, inputs: StatusInputs) -> ConditionResult:
    """Whether the revision that the spec asks for decides, and what it decides without."""
    reason, message = _activity(record, inputs)
    deciding = reason is ConditionReason.DECIDING
    if deciding and record.active is not None:
        absent = inputs.synced.unserved(record.active.revision)
        message += "".join(f"; the API server has no {one.resource} of {one.api}" for one in absent)
    return ConditionResult(ConditionType.ACTIVE, deciding, reason, message)


def _idle(record: ProfileRecord, inputs: StatusInputs) -> str:
    """Why it places no pods, "" where some revision of it does."""
    serves = record.active is not None and not record.waits_for and not record.lacks
    return "" if serves and not inputs.observes else _activity(record, inputs)[1]


def _activity(record: ProfileRecord, inputs: StatusInputs) -> tuple[ConditionReason, str]:
    """As ``activity_of``; of an observer, whose revisions only explain, which one does."""
    if not inputs.observes or record.active is None or record.waits_for:
        return activity_of(record)
    text = f"an observer explains pods by revision {record.active.revision.id}, and places none"
    return ConditionReason.OBSERVING, text


def activity_of(record: ProfileRecord) -> tuple[ConditionReason, str]:
    """What the profile does, and about which revision that is."""
    active, desired = record.active, record.resolution.id if record.resolution is not None else ""
    if record.conflicts:
        return ConditionReason.WAITING, "its pods are another one's to place"
    if active is None and record.errors:
        return ConditionReason.WAITING, record.lost or "no revision has been good yet"
    if record.paused and not record.errors and (active is None or active.revision.id != desired):
        goes_on = f"{active.revision.id} goes on deciding" if active else "none decided before"
        return ConditionReason.PAUSED, f"spec.paused is true: {goes_on}; revision {desired} waits"
    tried = active is not None and record.trial is not None and record.trial.revision == desired
    if active is None or (active.revision.id != desired and not record.errors and not tried):
        why = f": {record.waiting_reason}" if record.waiting_reason else ""
        return ConditionReason.WAITING, f"revision {desired} is not swapped in yet{why}"
    revision = f"revision {active.revision.id}"
    if record.waits_for:
        text = f"{revision} waits: {', '.join(record.waits_for)} are not up to date yet"
        return ConditionReason.WAITING, text
    if record.lacks:
        return ConditionReason.WAITING, f"{revision} waits for rights of the operator"
    if record.suspended:
        return ConditionReason.SUSPENDED, "spec.suspend is true: pods stay queued"
    if record.trial is not None and tried and active.revision.id != desired:
        return activity(record.trial)
    if record.errors:
        return ConditionReason.LAST_GOOD, f"{revision} goes on deciding"
    return ConditionReason.DECIDING, f"{revision} decides"
