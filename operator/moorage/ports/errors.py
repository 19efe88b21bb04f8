"""What can go wrong at an edge, in our words.

::

    EdgeError
    +-- Refused              the API server answered no
    |   +-- Conflict         409: it changed meanwhile, or exists already
    |   +-- NotFound         404: it is gone, or the API lacks this resource
    |   +-- Forbidden        401, 403: a right is missing
    |   +-- EvictionBlocked  429 to an eviction: a disruption budget does not let the pod go now
    |   +-- Invalid          any other 4xx: asking again cannot help
    +-- Retryable            429, 5xx, time-outs, broken connections: ask again;
    |                        ``outcome_unknown`` when it may have been done
    +-- Fenced               not sent: our lease may have run out
    +-- ResourceExpired      410: a list or watch has to start over
    +-- MainLoopBusy         the side loop asked the main loop and had no answer in time

Adapters raise nothing else for what the network or the API server do; the cause is chained. A
broken invariant of our own is no EdgeError and is not caught where these are.
"""

from __future__ import annotations


class EdgeError(Exception):
    """Base of all of them; the text names the request and, trimmed, what came back."""


class Refused(EdgeError):
    """The API server answered no; ``status`` is the HTTP code, ``reason`` the Status' reason,
    ``message`` its message.
    """

    def __init__(self, request: str, status: int, reason: str = "", message: str = "") -> None:
        super().__init__(f"{request}: {status} {reason}: {message[:500]}")
        self.status = status
        self.reason = reason
        self.message = message


class Conflict(Refused):
    """The API server's 409."""


class NotFound(Refused):
    """The API server's 404."""


class Forbidden(Refused):
    """The API server's 401 or 403."""


class EvictionBlocked(Refused):
    """429 with the cause DisruptionBudget."""


class Invalid(Refused):
    """Any other 4xx."""


class Retryable(EdgeError):
    """Ask again, not before ``after`` seconds. ``status``: the HTTP code, 0 without an answer."""

    def __init__(
        self, text: str, *, after: float = 0.0, outcome_unknown: bool = False, status: int = 0
    ) -> None:
        super().__init__(text)
        self.after = after
        self.outcome_unknown = outcome_unknown
        self.status = status


class Fenced(EdgeError):
    """The write was not sent, as this replica may no longer be the leader."""


class ResourceExpired(EdgeError):
    """The resource version is too old for the API server."""


class MainLoopBusy(EdgeError):
    """The main loop did not answer in time: a decision takes long, or hangs."""
