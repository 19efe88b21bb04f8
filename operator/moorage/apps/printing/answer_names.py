"""The names in an answer, one a line: ``-o name``, as `xargs` takes them.

Profiles and revisions are as commands take them (``PROFILE@REVISION``), pods ``NAMESPACE/NAME``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

Body = Mapping[str, Any]


def names_in(kind: str, body: Body) -> Iterable[str]:
    """Of a document of this kind, each once."""
    return dict.fromkeys(filter(None, NAMES[kind](body)))


def _explained(body: Body) -> Iterable[str]:
    placement = body.get("placement") or {}
    return [body.get("node") or placement.get("node") or ""]


def _members_nodes(body: Body) -> Iterable[str]:
    return [one["node"] for one in (body["group"] or {}).get("members", ())]


def _fitted(body: Body) -> Iterable[str]:
    for workload in body["workloads"]:
        yield from (one["node"] for one in workload["placements"])


def _simulated(body: Body) -> Iterable[str]:
    """Nodes where each is drained, else pods without a place."""
    if body["question"] == "eachNodeDrained":
        return [one["node"] for one in body["drains"] if one["done"]]
    waiting = body["onlyB"] if body["question"] == "recording" else body["worlds"][-1]["waiting"]
    return [one["pod"] for one in waiting]


def _tuned(body: Body) -> Iterable[str]:
    """The file of the profile that is recommended."""
    recommendation = body["recommendation"]
    return [] if recommendation is None else [recommendation["file"]]


NAMES: Final[Mapping[str, Callable[[Body], Iterable[str]]]] = {
    "Check": lambda body: [f"{one['kind']}/{one['name']}" for one in body["objects"]],
    "Diff": lambda body: [one["setting"] for one in body["differences"]],
    "Fit": _fitted,
    "History": lambda body: [f"{body['profile']}@{one['revision']}" for one in body["revisions"]],
    "Moment": lambda body: body["profiles"],
    "Pause": lambda body: [f"{body['profile']}@{body['held']}"],
    "PodExplanation": _explained,
    "PodGroupExplanation": _members_nodes,
    "Queue": lambda body: [one["pod"] for one in body["pods"]],
    "Replay": lambda body: [one["pod"] for one in body["differences"]],
    "Rollback": lambda body: [f"{body['profile']}@{body['to']}"],
    "Simulation": _simulated,
    "Status": lambda body: [one["name"] for one in body["profiles"]],
    "Tuning": _tuned,
    "Trial": lambda body: [one["pod"] for one in body["pairs"]],
}
