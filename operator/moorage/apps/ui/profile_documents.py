"""Documents about profiles: history, trial and differences, of profiles with their stored
revisions, wherever these are from.
"""

from __future__ import annotations

import datetime
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, TypeAlias

from moorage.api.resolution import Resolver
from moorage.apps.revisions import diff as comparing
from moorage.apps.revisions import history as past
from moorage.apps.revisions.diff import DiffSide
from moorage.apps.revisions.profile_view import ProfileView
from moorage.apps.status.profile_problems import RUNNING
from moorage.apps.ui.questions import Question, denied

OF_PROFILES: Final = ("history", "trial", "diff")
Views: TypeAlias = Mapping[str, ProfileView]
"""By the profile's name."""


async def views_of(question: Question, view: Callable[[str], Awaitable[ProfileView]]) -> Views:
    """The profiles that a question is about, each looked at once. Raises Denied."""
    asked = [question.profile] if question.profile else map(_profile, (question.a, question.b))
    with denied():
        return {name: await view(name) for name in dict.fromkeys(asked)}


def profile_document(question: Question, views: Views, resolver: Resolver) -> dict[str, Any]:
    """Without what all documents have; takes milliseconds, as revisions are made to be compared.
    Raises Denied.
    """
    with denied():
        match question.document:
            case "history":
                return _history(views[question.profile], resolver)
            case "trial":
                return _trial(views[question.profile])
        return _difference(views, question, resolver)


def _profile(name: str) -> str:
    return name.partition("@")[0]


def _history(found: ProfileView, resolver: Resolver) -> dict[str, Any]:
    entries = past.entries(found, resolver, datetime.datetime.now(datetime.UTC))
    return {"kind": "History", **past.document(found, entries)}


def _trial(view: ProfileView) -> dict[str, Any]:
    trial = view.status.get("trial")
    found: Mapping[str, Any] = trial if isinstance(trial, Mapping) else {}
    answer = "No trial runs. Start one: spec.rollout.strategy: Canary"
    if found:
        decided, regressions = (found.get(name, 0) for name in ("decided", "regressions"))
        answer = f"{found.get('verdict', '')}: {decided} pods decided by both, {regressions} worse."
    return {
        "kind": "Trial",
        "answer": answer,
        "profile": view.name,
        "trial": dict(found) or None,
        "pairs": list(found.get("regressed") or ()),
        "elsewhere": list(found.get("elsewhere") or ()),
        "toGo": _to_go(found),
    }


def _to_go(trial: Mapping[str, Any]) -> int | None:
    """Pods until a trial that runs ends."""
    running = trial.get("verdict") == RUNNING
    return max(0, trial["pods"] - trial["decided"]) if running else None


def _difference(views: Views, question: Question, resolver: Resolver) -> dict[str, Any]:
    sides: list[DiffSide] = []
    for name in (question.a, question.b):
        profile, _, revision = name.partition("@")
        sides.append(comparing.from_cluster(views[profile], revision))
    found = comparing.compared(sides[0], sides[1], resolver)
    document = comparing.document(found)
    asked = {"a": question.a, "b": question.b}
    return {"kind": "Difference", **document, **asked}
