"""Held profiles: what the pods of a profile are told that holds them all."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from moorage.api import bodies
from moorage.api.conditions import ConditionReason
from moorage.core.queue.scheduling_queue import SchedulingQueue
from moorage.engine.profile_records import ProfileRecord, ProfileRecords
from moorage.engine.profiles.profile_conditions import StatusInputs, activity_of, rights_missing

TEXTS: Final[Mapping[ConditionReason, str]] = {
    ConditionReason.SUSPENDED: "is suspended: its pods wait until spec.suspend is false",
    ConditionReason.PAUSED: (
        "is paused and no revision has decided before: its pods wait until spec.paused is false"
    ),
    ConditionReason.WAITING: "serves no pods yet: {}",
}
"""By the reason why it holds them; ``{}`` is what its condition Active says, with the rights that
are missing.
"""


def held_texts(
    records: ProfileRecords, queue: SchedulingQueue, inputs: StatusInputs
) -> dict[str, str]:
    """By schedulerName, why a profile holds its pods; less those whose spec is to blame, as their
    pods are told what is wrong with it.
    """
    texts = {}
    for record in records.profiles.values():
        name = bodies.scheduler_name(record.body)
        if not queue.serves(name) and (text := _held_text(record, inputs)):
            texts[name] = text
    return texts


def _held_text(record: ProfileRecord, inputs: StatusInputs) -> str:
    if (
        record.resolution is None
        or record.conflicts
        or (record.errors and (record.active is None or not record.suspended))
    ):
        return ""
    reason, message = activity_of(record)
    if record.suspended:
        reason = ConditionReason.SUSPENDED
    if missing := rights_missing(record, inputs):
        message += f"; the operator lacks the right to {', '.join(missing)}"
    text = TEXTS.get(reason, "").format(message)
    return f"SchedulerProfile {record.name!r} {text}" if text else ""
