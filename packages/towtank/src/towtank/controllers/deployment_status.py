"""What a Deployment's status says: counters, and the conditions that `kubectl rollout status` and
`kubectl wait` read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from towtank.controllers.client import parse_time
from towtank.controllers.rollout import RolloutTarget
from towtank.model import conditions
from towtank.model.kinds import Body
from towtank.model.times import after, timestamp

_FORWARD = ("updatedReplicas", "readyReplicas", "availableReplicas")
_NO_LIMIT = 2**31 - 1


def status(
    deployment: Body, new: Body | None, olds: Sequence[Body], to: RolloutTarget, now: datetime
) -> Body:
    """The status as a whole."""
    counted = _counts(new, olds)
    said = [_available(counted, to), _progressing(deployment, new, counted, now)]
    failures = [conditions.find(new or {}, "ReplicaFailure")]
    dated = [_dated(deployment, each, now) for each in said + failures if each]
    return {
        **{name: value or None for name, value in counted.items()},
        "terminatingReplicas": sum(
            each.get("status", {}).get("terminatingReplicas", 0) for each in (new, *olds) if each
        ),
        "observedGeneration": deployment["metadata"].get("generation"),
        "conditions": dated,
    }


def deadline(deployment: Body) -> datetime | None:
    """When a rollout that does not move has to be looked at, if ever."""
    limit = deployment["spec"].get("progressDeadlineSeconds", _NO_LIMIT)
    said = conditions.find(deployment, "Progressing")
    if not said or said.get("reason") != "ReplicaSetUpdated" or limit == _NO_LIMIT:
        return None
    return after(_updated(deployment, said), limit)


def _counts(new: Body | None, olds: Sequence[Body]) -> dict[str, int]:
    statuses = [each.get("status", {}) for each in (new, *olds) if each]
    sums = {
        name: sum(each.get(name, 0) for each in statuses)
        for name in ("replicas", "readyReplicas", "availableReplicas")
    }
    updated: int = new.get("status", {}).get("replicas", 0) if new else 0
    return {
        **sums,
        "updatedReplicas": updated,
        "unavailableReplicas": _lacking(new, olds, sums["availableReplicas"]),
    }


def _lacking(new: Body | None, olds: Sequence[Body], available: int) -> int:
    wanted: int = sum(each["spec"].get("replicas", 1) for each in (new, *olds) if each)
    return max(wanted - available, 0)


def _available(counted: Mapping[str, int], to: RolloutTarget) -> Body:
    enough = counted["availableReplicas"] >= to.min_available
    return {
        "type": "Available",
        "status": "True" if enough else "False",
        "reason": "MinimumReplicasAvailable" if enough else "MinimumReplicasUnavailable",
        "message": f"Deployment {'has' if enough else 'does not have'} minimum availability.",
    }


def _progressing(
    deployment: Body, new: Body | None, counted: Mapping[str, int], now: datetime
) -> Body:
    """Whether it moves; {} where nothing is to be said."""
    before = conditions.find(deployment, "Progressing")
    if deployment["spec"].get("progressDeadlineSeconds", _NO_LIMIT) == _NO_LIMIT:
        return {}
    if deployment["spec"].get("paused"):
        return _says("Unknown", "DeploymentPaused", "Deployment is paused")
    about = f'ReplicaSet "{new["metadata"]["name"]}"' if new else "Deployment"
    if _is_complete(deployment, new, counted):
        return _says("True", "NewReplicaSetAvailable", f"{about} has successfully progressed.")
    moving = _says("True", "ReplicaSetUpdated", f"{about} is progressing.")
    if _moved(deployment.get("status", {}), counted) or "lastUpdateTime" not in before:
        return {**moving, "lastUpdateTime": timestamp(now)}
    if _is_late(deployment, now):
        return _says("False", "ProgressDeadlineExceeded", f"{about} has timed out progressing.")
    return moving


def _is_complete(deployment: Body, new: Body | None, counted: Mapping[str, int]) -> bool:
    """Whether there are none but new pods, and all that are wanted are available, or were once."""
    wanted = deployment["spec"].get("replicas", 1)
    return counted["replicas"] == counted["updatedReplicas"] and (
        counted["replicas"] == counted["availableReplicas"] == wanted
        or _has_succeeded(conditions.find(deployment, "Progressing"), new)
    )


def _is_late(deployment: Body, now: datetime) -> bool:
    said = conditions.find(deployment, "Progressing").get("reason")
    when = deadline(deployment)
    return said == "ProgressDeadlineExceeded" or (when is not None and when <= now)


def _updated(deployment: Body, said: Body) -> datetime:
    return parse_time(said.get("lastUpdateTime") or deployment["metadata"]["creationTimestamp"])


def _says(value: str, reason: str, message: str) -> Body:
    return {"type": "Progressing", "status": value, "reason": reason, "message": message}


def _has_succeeded(said: Body, new: Body | None) -> bool:
    """Whether the new set was complete once: scaling, and pods that fail later, do not take that
    back.
    """
    return (
        said.get("reason") == "NewReplicaSetAvailable"
        and new is not None
        and f'"{new["metadata"]["name"]}"' in said.get("message", "")
    )


def _moved(before: Mapping[str, int], counted: Mapping[str, int]) -> bool:
    """Whether there are more of the new pods, or fewer of the old ones, than when it was said
    last.
    """
    old = before.get("replicas", 0) - before.get("updatedReplicas", 0)
    return counted["replicas"] - counted["updatedReplicas"] < old or any(
        counted[name] > before.get(name, 0) for name in _FORWARD
    )


def _dated(deployment: Body, said: Body, now: datetime) -> Body:
    """With times: of the last change of anything, and of the status."""
    before, time = conditions.find(deployment, said["type"]), timestamp(now)
    same = all(before.get(name) == said.get(name) for name in ("status", "reason", "message"))
    updated = before.get("lastUpdateTime", time) if same else time
    return conditions.with_transition_time(deployment, {"lastUpdateTime": updated, **said}, time)
