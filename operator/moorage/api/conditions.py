"""Conditions: what is said of an object in its status, with every type and reason that there is.

Pure: who decides hands in results, ``merge`` makes them the list that is written. A condition that
says the same as before keeps its lastTransitionTime, so that an unchanged object is not written.
"""

from __future__ import annotations

import datetime
import enum
import functools
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, Literal, NamedTuple, Self

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

MAX_MESSAGE_CHARACTERS = 1024
"""Characters of a message; what is longer is cut."""
MAX_OF_OTHERS = 16
"""Conditions of other releases that are kept in an object's status."""
_REQUIRED = ("type", "status", "lastTransitionTime", "reason", "message")


class _Explained(enum.StrEnum):
    """Names with what they mean; docs/conditions.md is made of them."""

    meaning: str

    def __new__(cls, value: str, meaning: str) -> Self:
        member = str.__new__(cls, value)
        member._value_ = value
        member.meaning = meaning
        return member


class ConditionType(_Explained):
    """The condition types, with what True means."""

    ACCEPTED = "Accepted", "The spec is valid by itself and among the other objects."
    RESOLVED_REFS = (
        "ResolvedRefs",
        "Every configRef names a PluginConfig that exists, is valid and is for that plugin.",
    )
    PERMITTED = (
        "Permitted",
        "The operator's service account holds every right that the enabled plugins need.",
    )
    ACTIVE = (
        "Active",
        (
            "Pods are decided by desiredRevision. Of a PluginConfig: every profile that "
            "references it runs its newest generation."
        ),
    )
    PROGRESSING = (
        "Progressing",
        "A new revision is being tried; there is no such condition without a trial.",
    )
    ASSIGNED = (
        "Assigned",
        (
            "Pods that spec.assign selects get the profile as they are created, where that is "
            "installed; there is no such condition without spec.assign."
        ),
    )
    NODES_SHARED = (
        "NodesShared",
        (
            "A profile of another installation may place pods on nodes that this one may use; "
            "there is no such condition while no other installation has profiles."
        ),
    )
    READY = (
        "Ready",
        (
            "Accepted, ResolvedRefs, Permitted and Active are all True; else it says why. "
            "Unknown: a former revision decides."
        ),
    )


_TYPES = frozenset(map(str, ConditionType))


class ConditionReason(_Explained):
    """The reasons, with what each tells the reader."""

    # True
    VALID = "Valid", "Nothing is wrong with the spec."
    RESOLVED = "Resolved", "Every reference leads to a valid PluginConfig."
    RIGHTS_HELD = "Permitted", "Nothing is missing."
    DECIDING = (
        "Deciding",
        (
            "desiredRevision decides; the message names what its plugins read and the API server "
            "does not have."
        ),
    )
    READY = "Ready", "Pods are scheduled as the spec says."
    RUNNING = "Running", "Every profile that references the PluginConfig runs this generation."
    ASSIGNED = "Assigned", "The profile serves, and no older one could select the same pods."
    # Unknown
    UNUSED = "Unused", "No profile references the PluginConfig: Active is Unknown."
    # Accepted
    INVALID_SPEC = (
        "InvalidSpec",
        "A field has a value that it can't have; the message has its path.",
    )
    UNKNOWN_PLUGIN = "UnknownPlugin", "No plugin has this name."
    INVALID_PLUGIN_ARGS = (
        "InvalidPluginArgs",
        "The arguments of a plugin are wrong; the message has the field's path.",
    )
    NAME_CONFLICT = "NameConflict", "An older profile has the same schedulerName."
    QUEUE_SORT_CONFLICT = (
        "QueueSortConflict",
        "There is one queue for all profiles: a profile can't have a queueSort plugin of its own.",
    )
    CLAIMED_BY_ANOTHER = (
        "ClaimedByAnother",
        "Another installation of the operator serves this profile.",
    )
    DEFAULT_SCHEDULER_ACTIVE = (
        "DefaultSchedulerActive",
        "schedulerName is default-scheduler, and kube-scheduler is running.",
    )
    NOT_YET_SUPPORTED = (
        "NotYetSupported",
        "A plugin of kube-scheduler that this version does not have yet.",
    )
    PLUGIN_QUARANTINED = (
        "PluginQuarantined",
        (
            "A plugin hung in a call and must not be called any more; the message says how to "
            "lift that."
        ),
    )
    # ResolvedRefs
    PLUGIN_CONFIG_NOT_FOUND = "PluginConfigNotFound", "There is no PluginConfig of this name."
    PLUGIN_CONFIG_INVALID = "PluginConfigInvalid", "The PluginConfig is there but not Accepted."
    PLUGIN_MISMATCH = "PluginMismatch", "The PluginConfig is for another plugin."
    # Permitted
    RBAC_MISSING = (
        "RBACMissing",
        (
            "The service account lacks a right; the message has verb and resource. Pods wait "
            "where nothing can be decided or bound without it."
        ),
    )
    # Active
    WAITING = "Waiting", "desiredRevision is not swapped in yet, or waits for objects or rights."
    OBSERVING = (
        "Observing",
        "This installation is an observer: it explains pods by activeRevision, and places none.",
    )
    SUSPENDED = "Suspended", "spec.suspend is true: pods stay queued."
    PAUSED = (
        "Paused",
        "spec.paused is true: the revision that decided goes on, whatever the spec says since.",
    )
    LAST_GOOD = (
        "LastGood",
        "The spec is bad; the last good revision goes on deciding: Ready is Unknown.",
    )
    ROLLED_BACK = (
        "RolledBack",
        "A new revision was tried and not taken over; the former one goes on deciding.",
    )
    # Active and Progressing
    TRIAL = "Trial", "A new revision is being tried; the former one goes on deciding."
    # Assigned; InvalidSpec and Suspended, too
    ASSIGN_CONFLICT = (
        "AssignConflict",
        "An older profile, which the message names, could select the same pod.",
    )
    NOT_ACTIVE = "NotActive", "The profile places no pods now; Active says why."
    # NodesShared
    ALL_NODES = "AllNodes", "Neither profile has a pool: both may use all nodes."
    POOLS_MEET = (
        "PoolsMeet",
        "By NodeAffinity's addedAffinity, a node could be in the pools of both.",
    )
    POOLS_APART = "PoolsApart", "No node can be in this profile's pool and in one of theirs."
    # Progressing
    TRIAL_PASSED = "TrialPassed", "The new revision was no worse, and decides."
    TRIAL_FAILED = "TrialFailed", "The new revision was worse, or its trial was stopped."
    DEADLINE = "Deadline", "No pod came for so long that the trial was given up."


REFERENCE_REASONS = frozenset(
    {
        ConditionReason.PLUGIN_CONFIG_NOT_FOUND,
        ConditionReason.PLUGIN_CONFIG_INVALID,
        ConditionReason.PLUGIN_MISMATCH,
    }
)
"""Faults of references: they count for ResolvedRefs, all others for Accepted."""

_ROLLED_UP = (
    ConditionType.ACCEPTED,
    ConditionType.RESOLVED_REFS,
    ConditionType.PERMITTED,
    ConditionType.ACTIVE,
)


class Condition(BaseModel):
    """One aspect of the object's state."""

    model_config = ConfigDict(alias_generator=to_camel, frozen=True, use_attribute_docstrings=True)

    type: Annotated[str, Field(max_length=316)]
    """What it is about."""
    status: Literal["True", "False", "Unknown"]
    """Whether it holds."""
    observed_generation: Annotated[int, Field(ge=0)] | None = None
    """The generation of the spec that it is about."""
    last_transition_time: Annotated[str, Field(json_schema_extra={"format": "date-time"})]
    """When status last changed."""
    reason: Annotated[str, Field(min_length=1, max_length=1024)]
    """Why, in one word."""
    message: Annotated[str, Field(max_length=32768)]
    """Why, for people."""


class ConditionResult(NamedTuple):
    """What was found on one aspect; status None is Unknown."""

    type: ConditionType
    status: bool | None
    reason: str
    message: str = ""


def summarise(results: Iterable[ConditionResult], *, decided: bool = False) -> ConditionResult:
    """Ready: True, or the first of its parts that is not.

    ``decided``: some revision decides. Unknown then, with Active's reason, where that is not the
    one that the spec asks for.
    """
    ready = functools.partial(ConditionResult, ConditionType.READY)
    by_type = {result.type: result for result in results}
    active = by_type.get(ConditionType.ACTIVE)
    for part in _ROLLED_UP:
        if (result := by_type.get(part)) is None:
            return ready(None, ConditionReason.WAITING, f"{part} is not known yet")
        if result.status is not True:
            if decided and active is not None and active.status is False:
                texts = dict.fromkeys((active.message, result.message))
                return ready(None, active.reason, "; ".join(texts))
            return ready(*result[1:])
    return ready(True, ConditionReason.READY)


def merge(
    old: Sequence[object],
    results: Iterable[ConditionResult],
    generation: int,
    now: datetime.datetime,
) -> list[dict[str, Any]]:
    """The conditions to write, in the results' order, then those that only another release knows.

    ``old`` is the list that stands in status, whatever it holds; of ours only the times of
    conditions whose status is the same are kept. ``now`` is aware.
    """
    before = {item.get("type"): item for item in old if isinstance(item, Mapping)}
    ours = [_condition(result, before.get(result.type), generation, now) for result in results]
    others = [dict(item) for item in before.values() if not is_known(item)]
    return [*ours, *others[:MAX_OF_OTHERS]]


def is_known(condition: object) -> bool:
    """Whether a condition is this release's to judge, as all is that is no whole condition."""
    if not isinstance(condition, Mapping):
        return True
    whole = all(isinstance(condition.get(name), str) for name in _REQUIRED)
    return not whole or condition["type"] in _TYPES


def _condition(
    result: ConditionResult, old: Mapping[str, Any] | None, generation: int, now: datetime.datetime
) -> dict[str, Any]:
    status = "Unknown" if result.status is None else str(result.status)
    since = (
        old.get("lastTransitionTime") if old is not None and old.get("status") == status else None
    )
    return {
        "type": str(result.type),
        "status": status,
        "observedGeneration": generation,
        "lastTransitionTime": since or timestamp(now),
        "reason": str(result.reason),
        "message": truncated(result.message),
    }


def timestamp(moment: datetime.datetime) -> str:
    """As Kubernetes writes times: RFC 3339, whole seconds, UTC."""
    return moment.astimezone(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def truncated(text: str) -> str:
    """The text, or its beginning and an ellipsis."""
    return text if len(text) <= MAX_MESSAGE_CHARACTERS else text[: MAX_MESSAGE_CHARACTERS - 1] + "…"
