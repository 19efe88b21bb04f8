"""What ``moorage status`` and ``moorage queue`` say, as the page reads it.

The operator that leads is asked, else the API server alone; what is left out then is said.
"""

from __future__ import annotations

import collections
from collections.abc import Mapping
from typing import Any

from moorage.apps.reach.operator_choice import OperatorChoice
from moorage.apps.reach.operators import reached
from moorage.apps.reach.surroundings import NotInstalled, surroundings
from moorage.apps.status.status_answers import document_of_status
from moorage.apps.ui.questions import denied
from moorage.apps.ui.queue_pages import depth_of, page_queue
from moorage.apps.waiting.queue_answers import queue_of
from moorage.apps.worlds.cluster_choice import ClusterChoice
from moorage.apps.worlds.reaching import Connection
from moorage.apps.worlds.world_frame import WorldFrame
from moorage.core.objects.pods import Pod

Document = dict[str, Any]


async def operator_document(
    connection: Connection, cluster: ClusterChoice, document: str
) -> Document | None:
    """Status or queue; None where the cluster knows nothing of Moorage. Raises Denied."""
    with denied():
        try:
            around = await surroundings(connection)
        except NotInstalled:
            return None
        choice, installation = OperatorChoice(), around.installation
        async with reached(connection.session, cluster, choice, installation) as operator:
            if document == "status":
                found = await document_of_status(connection.name, around, operator)
                return {**page_status(found), **_source(found, connection)}
            found = await queue_of(connection, around, operator)
            return {**page_queue(found), **_source(found, connection)}


def _source(found: Mapping[str, Any], connection: Connection) -> Document:
    operator = found["operator"]
    source = f"the operator, {operator}" if operator else f"the API server, {connection.name}"
    return {"at": found["at"], "source": source, "leftOut": found["leftOut"]}


# ---- status --------------------------------------------------------------------------------------


NO_STATUS: Document = {
    "answer": "No SchedulerProfile yet.",
    "problems": [],
    "profiles": [],
    "groups": None,
    "replicas": [],
    "rates": None,
}
"""Of a cluster without Moorage."""
_SEVERITY = {"Trial": "trial", "Paused": "warn", "Suspended": "warn"}
"""By state; any other is bad."""


def with_pods(status: Document, frame: WorldFrame) -> Document:
    """The page's Status with how many pods of each profile are on nodes."""
    placed = (info.pod for info in frame.placed)
    pods = collections.Counter(one.spec.scheduler_name for one in placed if isinstance(one, Pod))
    profiles = [{**one, "pods": pods[one["schedulerName"]]} for one in status["profiles"]]
    return {**status, "profiles": profiles}


def page_status(found: Mapping[str, Any]) -> Document:
    """The Status document, in the page's words."""
    messages = {one["profile"]: one["message"] for one in found["problems"]}
    asked = bool(found["operator"])
    return {
        "answer": found["answer"],
        "problems": [_problem(one) for one in found["problems"]],
        "profiles": [
            _line(one, messages.get(one["name"], ""), asked=asked) for one in found["profiles"]
        ],
        "groups": found["groups"],
        "replicas": [_replica(one) for one in found["replicas"]],
        "rates": _rates(found),
    }


def _problem(problem: Mapping[str, Any]) -> Document:
    return {
        "severity": _SEVERITY.get(problem["state"], "bad"),
        "profile": problem["profile"],
        "text": problem["message"],
        "since": None,
        "next": problem["next"],
    }


_OF_LINES = ("name", "schedulerName", "preset", "created", "ready", "state", "reason")


def _line(profile: Mapping[str, Any], message: str, *, asked: bool) -> Document:
    rates = {"placed": profile["podsPerSecond"], "p99": profile["p99Seconds"]}
    return {
        **{name: profile[name] for name in _OF_LINES},
        "message": message,
        "activeRevision": profile["revision"],
        "activeSince": profile["activeSince"],
        "desiredRevision": profile["desiredRevision"],
        "trial": profile["trial"],
        "queue": depth_of(profile["queue"]),
        "rates": rates if asked else None,
        "pods": None,
    }


def _replica(replica: Mapping[str, Any]) -> Document:
    return {
        "name": replica["identity"],
        "role": replica["role"],
        "revisions": f"{replica['revisionsReady']} of {replica['revisions']}",
        "watches": None,
        "since": replica["since"],
    }


def _rates(found: Mapping[str, Any]) -> Document | None:
    if not found["operator"]:
        return None
    slowest = [one["p99Seconds"] for one in found["profiles"] if one["p99Seconds"] is not None]
    placed = sum(one["podsPerSecond"] or 0.0 for one in found["profiles"])
    return {"placed": placed, "p99": max(slowest, default=None)}
