"""Documents about one profile, from the API server: history, trial and differences."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any, Final

from moorage.api.resolution import Resolver
from moorage.apps.exit_status import NoAnswer, WrongUse
from moorage.apps.revisions import diff as comparing
from moorage.apps.revisions import history as past
from moorage.apps.revisions.diff import DiffSide
from moorage.apps.revisions.profile_view import view
from moorage.apps.status.profile_problems import RUNNING
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
        "toGo": _to_go(found),
    }


def _to_go(trial: Mapping[str, Any]) -> int | None:
    """Pods until a trial that runs ends."""
    running = trial.get("verdict") == RUNNING
    return max(0, trial["pods"] - trial["decided"]) if running else None


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
