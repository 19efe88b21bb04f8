"""Documents about profiles, from the API server: status, history, trial and differences."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from typing import Any, Final

from moorage.api import bodies
from moorage.api.bodies import Body
from moorage.api.resolution import Resolver
from moorage.apps.exit_status import NoAnswer, WrongUse
from moorage.apps.revisions import diff as comparing
from moorage.apps.revisions import history as past
from moorage.apps.revisions.diff import DiffSide
from moorage.apps.revisions.profile_view import view
from moorage.apps.ui.questions import Question
from moorage.apps.worlds.reaching import Connection
from moorage.ports.requesters import Denied

OF_PROFILES: Final = ("history", "trial", "diff")


async def profile_document(
    connection: Connection, question: Question, resolver: Resolver
) -> dict[str, Any]:
    """Without what all documents have. Raises Denied."""
    try:
        match question.document:
            case "history":
                return await _history(connection, question.profile, resolver)
            case "trial":
                return await _trial(connection, question.profile)
        return await _difference(connection, question, resolver)
    except WrongUse as error:
        raise Denied(404, str(error)) from error
    except NoAnswer as error:
        raise Denied(503, str(error)) from error


async def _history(connection: Connection, profile: str, resolver: Resolver) -> dict[str, Any]:
    found = await view(connection, profile)
    entries = past.entries(found, resolver, datetime.datetime.now(datetime.UTC))
    why = found.condition("Accepted").get("message") or "the operator has not looked at it yet"
    answer = f"{profile} has no good revision yet: {why}"
    if found.active:
        answer = f"{profile} decides with {found.active}."
    return {"kind": "History", "answer": answer, **past.document(found, entries)}


async def _trial(connection: Connection, profile: str) -> dict[str, Any]:
    status = (await view(connection, profile)).status
    trial = status.get("trial")
    found: Mapping[str, Any] = trial if isinstance(trial, Mapping) else {}
    answer = "No trial runs. Start one: spec.rollout.strategy: Canary"
    if found:
        decided, regressions = (found.get(name, 0) for name in ("decided", "regressions"))
        answer = f"{found.get('verdict', '')}: {decided} pods decided by both, {regressions} worse."
    return {
        "kind": "Trial",
        "answer": answer,
        "profile": profile,
        "trial": dict(found) or None,
        "pairs": list(found.get("regressed") or ()),
        "toGo": None,
    }


async def _difference(
    connection: Connection, question: Question, resolver: Resolver
) -> dict[str, Any]:
    sides: list[DiffSide] = []
    for name in (question.a, question.b):
        profile, _, revision = name.partition("@")
        sides.append(comparing.from_cluster(await view(connection, profile), revision))
    found = comparing.compared(sides[0], sides[1], resolver)
    document = comparing.document(found)
    asked = {"a": question.a, "b": question.b}
    return {"kind": "Difference", "answer": found.sentence, **document, **asked}


# ---- status --------------------------------------------------------------------------------------


def status_of(profiles: Sequence[Body]) -> dict[str, Any]:
    """What the profiles' objects say; nothing of queues and rates, which an operator alone has."""
    lines = [_line(body) for body in sorted(profiles, key=lambda body: body["metadata"]["name"])]
    wrong = [line for line in lines if line["state"] == "Refused"]
    if not lines:
        answer = "No SchedulerProfile yet."
    elif wrong:
        answer = f"{len(wrong)} of {len(lines)} profiles need a look."
    else:
        answer = f"All {len(lines)} profiles run what their specs say."
    return {
        "answer": answer,
        "problems": [_problem(line) for line in wrong],
        "profiles": lines,
        "replicas": [],
        "rates": None,
    }


def _problem(line: Mapping[str, Any]) -> dict[str, Any]:
    goes_on = f" {line['activeRevision']} goes on deciding." if line["activeRevision"] else ""
    return {
        "severity": "bad",
        "profile": line["name"],
        "text": f"{line['message']}{goes_on}",
        "since": None,
        "next": f"moorage diff {line['name']} --spec",
    }


def _line(body: Body) -> dict[str, Any]:
    status, spec = bodies.status(body), body.get("spec") or {}
    conditions = {one.get("type"): one for one in status.get("conditions") or ()}
    ready = conditions.get("Ready") or {}
    refused = next(
        (
            one
            for kind in ("Accepted", "ResolvedRefs", "Programmed", "Active")
            if (one := conditions.get(kind) or {}).get("status") == "False"
        ),
        {},
    )
    metadata = body["metadata"]
    return {
        "name": metadata["name"],
        "schedulerName": spec.get("schedulerName") or metadata["name"],
        "preset": spec.get("preset") or "Default",
        "created": metadata.get("creationTimestamp"),
        "ready": ready.get("status") or "Unknown",
        "state": _state(body, status, ready, refused),
        "reason": refused.get("reason") or ready.get("reason") or "",
        "message": refused.get("message") or ready.get("message") or "",
        "activeRevision": status.get("activeRevision") or None,
        "activeSince": (conditions.get("Active") or {}).get("lastTransitionTime"),
        "desiredRevision": status.get("desiredRevision") or None,
        "trial": status.get("trial") or None,
        "queue": None,
        "rates": None,
        "pods": None,
    }


def _state(
    body: Body, status: Mapping[str, Any], ready: Mapping[str, Any], refused: Mapping[str, Any]
) -> str:
    if (status.get("trial") or {}).get("verdict") == "SoFarNoWorse":
        return "Trial"
    if bodies.paused(body):
        return "Paused"
    if (body.get("spec") or {}).get("suspend"):
        return "Suspended"
    if refused:
        return "Refused"
    return "Ready" if ready.get("status") == "True" else "Pending"
