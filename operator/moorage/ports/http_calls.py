"""HTTP to the API server, as the adapters that speak to it share it: one call, one stream, and what
a refusal means.

``kube_session`` implements ``HttpSession``; reflectors, writes, reads and events use it and never
see an HTTP library.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import AsyncGenerator, Callable
from typing import Any, Protocol, TypeVar

from moorage.ports.errors import (
    Conflict,
    EdgeError,
    EvictionBlocked,
    Forbidden,
    Invalid,
    NotFound,
    ResourceExpired,
    Retryable,
)

JSON = "application/json"
METADATA_ALONE = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"
"""The form of a list that has no more than the metadata of objects, where a server has that."""
JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_MERGE_PATCH = "application/strategic-merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"
MAX_RETRY_AFTER_SECONDS = 60.0
"""Seconds that a Retry-After is heeded: a wrong one must not silence a watch for a year."""
T = TypeVar("T")


@dataclasses.dataclass(frozen=True, slots=True)
class HttpCall:
    """One request. ``path`` begins with / and holds the query, both already quoted; ``timeout`` is
    in seconds, for all of it.
    """

    method: str
    path: str
    body: bytes | None = None
    content_type: str = JSON
    timeout: float = 15.0
    guard: Callable[[], None] | None = None
    """Called right before each send, after all that could wait; what it raises stops the call (the
    fence).
    """
    fresh: bool = False
    """On a connection that is opened for it: those that are open may be dead."""
    accept: str = ""
    """Which form of the answer is wanted; "" for whole objects as JSON."""


class HttpSession(Protocol):
    """Calls and streams; raises only what ``ports.errors`` lists."""

    async def call(self, call: HttpCall) -> bytes:
        """The body of a 2xx answer; everything else is raised."""

    def stream(self, path: str) -> AsyncGenerator[bytes, None]:
        """The chunks of an endless answer as they come; the first is empty and says that the stream
        is open.
        """


def next_page(request: str, page: str, following: str) -> str:
    """The page that follows this one of a list; both are named by their tokens, "" is the first and
    none. Raises Retryable for a page that names itself, as the list would have no end.
    """
    if following and following == page:
        text = "the list goes round: a page names itself as the next one"
        raise Retryable(f"{request}: {text}")
    return following


def error_from_response(request: str, code: int, body: bytes, retry_after: str = "") -> EdgeError:
    """The error for an answer that is no 2xx. Its body is a metav1.Status, or anything."""
    status = _status(body)
    details = _of(dict, status.get("details"))
    reason = _of(str, status.get("reason"))[:100]
    said = _of(str, status.get("message")) or body[:500].decode(errors="replace")
    message = " ".join(said.splitlines())  # stands in a sentence
    text = f"{request}: {code} {reason}: {message[:500]}"
    if code == 410:
        return ResourceExpired(text)
    if code == 429 and (budgets := _budgets(details)):
        return EvictionBlocked(request, code, reason, " ".join([message, *budgets]))
    if code == 429 or code >= 500:
        after = max(_seconds(retry_after), _seconds(details.get("retryAfterSeconds")))
        # 429 is said before anything is done; after a 5xx it may have been done all the same.
        return Retryable(text, after=after, outcome_unknown=code >= 500, status=code)
    kind = {401: Forbidden, 403: Forbidden, 404: NotFound, 409: Conflict}.get(code, Invalid)
    return kind(request, code, reason, message)


def _budgets(details: dict[str, Any]) -> list[str]:
    """What is said of the budgets that forbid an eviction."""
    causes = [_of(dict, cause) for cause in _of(list, details.get("causes"))]
    blocking = [cause for cause in causes if cause.get("reason") == "DisruptionBudget"]
    return [_of(str, cause.get("message")) for cause in blocking]


def _status(body: bytes) -> dict[str, Any]:
    """The Status in a body, {} when it is something else (a proxy's HTML, nothing at all)."""
    try:
        status = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return _of(dict, status)


def _of(kind: type[T], value: object) -> T:
    """The value where it is of this kind, else an empty one: whoever stands before the API server
    may have written it.
    """
    return value if isinstance(value, kind) else kind()


def _seconds(value: Any) -> float:
    """Seconds of a Retry-After, MAX_RETRY_AFTER_SECONDS at most; 0 for none and for a date, which
    the API server never sends.
    """
    try:
        return min(MAX_RETRY_AFTER_SECONDS, max(0.0, float(value)))
    except (TypeError, ValueError, OverflowError):
        return 0.0
