"""HTTP to the API server, as the adapters that speak to it share it: one call, one stream, and what a refusal means.

``kube_session`` implements ``Session``; feeds, writes, reads and events use it and never see an HTTP library.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import AsyncGenerator, Callable
from typing import Any, Protocol

from moorage.ports.errors import Conflict, EdgeError, Expired, Forbidden, Invalid, NotFound, Protected, Retryable

JSON = "application/json"
JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_MERGE_PATCH = "application/strategic-merge-patch+json"


@dataclasses.dataclass(frozen=True, slots=True)
class Call:
    """One request. ``path`` begins with / and holds the query, both already quoted; ``timeout`` is in seconds, for all of it."""

    method: str
    path: str
    body: bytes | None = None
    content_type: str = JSON
    timeout: float = 15.0
    guard: Callable[[], None] | None = None
    """Called right before each send, after all that could wait; what it raises stops the call (the fence)."""
    fresh: bool = False
    """On a connection that is opened for it: those that are open may be dead."""
    accept: str = ""
    """Which form of the answer is wanted; "" for whole objects as JSON."""


class Session(Protocol):
    """Calls and streams; raises only what ``ports.errors`` lists."""

    async def call(self, call: Call) -> bytes:
        """The body of a 2xx answer; everything else is raised."""

    def stream(self, path: str) -> AsyncGenerator[bytes, None]:
        """The chunks of an endless answer as they come; the first is empty and says that the stream is open."""


def refusal(request: str, code: int, body: bytes, retry_after: str = "") -> EdgeError:
    """The error for an answer that is no 2xx: its HTTP code, its body (a metav1.Status or anything) and its Retry-After."""
    status = _status(body)
    reason, message = str(status.get("reason") or ""), str(status.get("message") or body[:500].decode(errors="replace"))
    if code == 410:
        return Expired(f"{request}: 410 {reason}: {message[:500]}")
    causes = [cause for cause in (status.get("details") or {}).get("causes") or () if cause.get("reason") == "DisruptionBudget"]
    if code == 429 and causes:
        return Protected(request, code, reason, " ".join([message, *(str(cause.get("message") or "") for cause in causes)]))
    if code == 429 or code >= 500:
        after = max(_seconds(retry_after), _seconds((status.get("details") or {}).get("retryAfterSeconds")))
        # 429 is said before anything is done; after a 5xx it may have been done all the same.
        return Retryable(f"{request}: {code} {reason}: {message[:500]}", after=after, outcome_unknown=code >= 500)
    kind = {401: Forbidden, 403: Forbidden, 404: NotFound, 409: Conflict}.get(code, Invalid)
    return kind(request, code, reason, message)


def _status(body: bytes) -> dict[str, Any]:
    """The Status in a body, {} when it is something else (a proxy's HTML, nothing at all)."""
    try:
        status = json.loads(body)
    except ValueError:
        return {}
    return status if isinstance(status, dict) else {}


def _seconds(value: Any) -> float:
    """Seconds of a Retry-After; 0 for none and for a date, which the API server never sends."""
    try:
        return max(0.0, float(value))
    except (TypeError, ValueError):
        return 0.0
