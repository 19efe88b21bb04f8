"""Pods: a status that sums up phase, reasons and containers."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from towtank.model import conditions
from towtank.model.kinds import Body
from towtank.tables.ages import Age
from towtank.tables.cells import (
    NONE,
    Cells,
    KindPrinter,
    columns,
    condition,
    created,
    deleted,
    name,
    spec,
    status,
)

_Statuses = Sequence[Mapping[str, Any]]
_OVER = ("Succeeded", "Failed")


def row_conditions(pod: Body) -> list[Body]:
    """Clients hide, or grey out, what is over."""
    phase = status(pod).get("phase")
    if phase not in _OVER:
        return []
    return [
        {
            "type": "Completed",
            "status": "True",
            "reason": phase,
            "message": f"The pod has {phase.lower()}.",
        }
    ]


def _cells(pod: Body, age: Age) -> Cells:
    said, wanted = status(pod), spec(pod)
    sidecars = _sidecars(pod)
    ready, reason, counted = _progress(pod, sidecars)
    return [
        name(pod),
        f"{ready}/{len(wanted.get('containers') or ()) + len(sidecars)}",
        _ending(pod) or reason,
        _restarts(counted, age),
        created(pod, age),
        next((each.get("ip") for each in said.get("podIPs") or ()), "") or NONE,
        wanted.get("nodeName") or NONE,
        said.get("nominatedNodeName") or NONE,
        _gates(pod),
    ]


def _sidecars(pod: Body) -> set[str]:
    beginning = spec(pod).get("initContainers") or ()
    return {each["name"] for each in beginning if each.get("restartPolicy") == "Always"}


def _progress(pod: Body, sidecars: Collection[str]) -> tuple[int, str, _Statuses]:
    """How many containers are ready, what the pod is at, and whose restarts count."""
    began: _Statuses = status(pod).get("initContainerStatuses") or ()
    run: _Statuses = status(pod).get("containerStatuses") or ()
    count = len(spec(pod).get("initContainers") or ())
    place, beginning = _beginning(began, count, sidecars)
    ready = sum(each["name"] in sidecars and _ready_sidecar(each) for each in began[:place])
    began = began[: place + 1]
    if beginning and condition(pod, "Initialized") != "True":
        return ready, beginning, began
    reason = _running(pod, run, beginning or _phase(pod))
    counted = [*(each for each in began if each["name"] in sidecars), *run]
    return ready + sum(_ready(each) for each in run), reason, counted


def _phase(pod: Body) -> str:
    if conditions.find(pod, "PodScheduled").get("reason") == "SchedulingGated":
        return "SchedulingGated"
    return str(status(pod).get("reason") or status(pod).get("phase", ""))


def _ending(pod: Body) -> str:
    if not deleted(pod):
        return ""
    if status(pod).get("reason") == "NodeLost":
        return "Unknown"
    return "" if status(pod).get("phase") in _OVER else "Terminating"


def _beginning(began: _Statuses, count: int, sidecars: Collection[str]) -> tuple[int, str]:
    """The first init container that holds up the others, and what it is at; "" where none does."""
    for index, each in enumerate(began):
        ended, waiting = _state(each, "terminated"), _state(each, "waiting")
        if ended is not None and not ended.get("exitCode"):
            continue
        if each["name"] in sidecars and each.get("started"):
            continue
        if ended is not None:
            return index, f"Init:{_outcome(ended)}"
        if waiting and waiting.get("reason", "PodInitializing") != "PodInitializing":
            return index, f"Init:{waiting['reason']}"
        return index, f"Init:{index}/{count}"
    return len(began), ""


def _running(pod: Body, run: _Statuses, reason: str) -> str:
    """The first container that has a reason says it; others make a difference only to one that is
    completed.
    """
    failed = ""
    for each in reversed(run):
        ended, waiting = _state(each, "terminated"), _state(each, "waiting")
        if waiting and waiting.get("reason"):
            reason = waiting["reason"]
        elif ended is not None:
            reason = _outcome(ended)
            failed = reason if ended.get("exitCode") else failed
    if reason != "Completed":
        return reason
    running = any(_ready(each) for each in run)
    if running and condition(pod, "Ready") == "True":
        return "Running"
    return failed or ("NotReady" if running else reason)


def _outcome(ended: Mapping[str, Any]) -> str:
    if ended.get("reason"):
        return str(ended["reason"])
    return (
        f"Signal:{ended['signal']}"
        if ended.get("signal")
        else f"ExitCode:{ended.get('exitCode', 0)}"
    )


def _state(each: Mapping[str, Any], kind: str) -> Mapping[str, Any] | None:
    return (each.get("state") or {}).get(kind)


def _ready(each: Mapping[str, Any]) -> bool:
    waits = (_state(each, "waiting") or {}).get("reason")
    return (
        bool(each.get("ready"))
        and _state(each, "running") is not None
        and not waits
        and _state(each, "terminated") is None
    )


def _ready_sidecar(each: Mapping[str, Any]) -> bool:
    ended = _state(each, "terminated")
    return bool(each.get("started") and each.get("ready")) and (
        ended is None or bool(ended.get("exitCode"))
    )


def _restarts(counted: Iterable[Mapping[str, Any]], age: Age) -> str:
    count, last = 0, ""
    for each in counted:
        count += each.get("restartCount", 0)
        last = max(
            last, ((each.get("lastState") or {}).get("terminated") or {}).get("finishedAt") or ""
        )
    return f"{count} ({age(last)} ago)" if count and last else str(count)


def _gates(pod: Body) -> str:
    gates = spec(pod).get("readinessGates")
    if not gates:
        return NONE
    return f"{sum(condition(pod, gate['conditionType']) == 'True' for gate in gates)}/{len(gates)}"


PODS = KindPrinter(
    columns("Name, Ready, Status, Restarts, Age, IP*, Node*, Nominated Node*, Readiness Gates*"),
    _cells,
)
