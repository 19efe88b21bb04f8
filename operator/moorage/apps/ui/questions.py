"""What may be asked of the page: paths and parameters, read and bounded in one place."""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
from collections.abc import Iterator, Mapping
from typing import Final

from moorage.apps.exit_status import CommandError, WrongUse
from moorage.ports.requesters import Denied

MAX_CHARACTERS: Final = 600
"""Of a parameter: a namespace, a name and what is between."""
MAX_DECISIONS: Final = 500

PARAMETERS: Final[Mapping[str, tuple[str, ...]]] = {
    "overview": ("at",),
    "status": ("at",),
    "queue": ("at",),
    "nodes": ("at", "b"),
    "node": ("name", "at"),
    "pod": ("name", "at", "profile"),
    "history": ("profile",),
    "trial": ("profile",),
    "diff": ("a", "b"),
    "timeline": (),
    "decisions": ("at", "limit"),
    "compare": ("b",),
    "find": ("text",),
}
"""Of each document, by its path below ``api/``."""
REQUIRED: Final[Mapping[str, tuple[str, ...]]] = {
    "node": ("name",),
    "pod": ("name",),
    "history": ("profile",),
    "trial": ("profile",),
    "diff": ("a", "b"),
    "compare": ("b",),
    "find": ("text",),
}


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One document, with its parameters; "" and None where they are not given. ``at``: seconds
    since 1970.
    """

    document: str
    at: float | None = None
    name: str = ""
    profile: str = ""
    a: str = ""
    b: str = ""
    text: str = ""
    limit: int = 50


def parse(document: str, query: dict[str, str]) -> Question:
    """What is asked, by what ``parameters`` has read. Raises Denied."""
    known = PARAMETERS.get(document)
    if known is None:
        raise Denied(404, f"there is no document {document[:40]!r}")
    if unknown := sorted(query.keys() - set(known)):
        what = f"it takes {', '.join(known)}" if known else "it takes none"
        raise Denied(400, f"{document} has no parameter {unknown[0][:40]!r}: {what}")
    for name in REQUIRED.get(document, ()):
        if not query.get(name):
            raise Denied(400, f"{document} needs the parameter {name}")
    for name, value in query.items():
        if len(value) > MAX_CHARACTERS or not value.isprintable():
            raise Denied(400, f"{name} is too long, or not printable")
    texts = {name: value for name, value in query.items() if name not in ("at", "limit")}
    if document == "pod" and not all(query["name"].partition("/")):
        raise Denied(400, "name must be NAMESPACE/NAME")
    return Question(document=document, at=_moment(query), limit=_limit(query), **texts)


@contextlib.contextmanager
def denied() -> Iterator[None]:
    """What ends a command is told as a refusal: there is no such thing, or it cannot be said now.
    Raises Denied.
    """
    try:
        yield
    except WrongUse as error:
        raise Denied(404, str(error)) from error
    except CommandError as error:
        raise Denied(503, str(error)) from error


def _moment(query: Mapping[str, str]) -> float | None:
    text = query.get("at")
    if not text:
        return None
    try:
        found = datetime.datetime.fromisoformat(text)
        in_utc = found.astimezone(datetime.UTC) if found.tzinfo else found  # of the year 10000?
        seconds = in_utc.replace(tzinfo=datetime.UTC).timestamp()
    except (ValueError, OverflowError):
        seconds = -1.0
    if seconds < 0:
        raise Denied(400, "at is no moment: write it as 2026-11-27T14:32:08Z")
    return seconds


def _limit(query: Mapping[str, str]) -> int:
    text = query.get("limit", "50")
    is_number = len(text) < 9 and text.isascii() and text.isdigit()
    if not is_number or not 1 <= int(text) <= MAX_DECISIONS:
        raise Denied(400, f"limit must be a number from 1 to {MAX_DECISIONS}")
    return int(text)
