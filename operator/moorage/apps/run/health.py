"""Health: what /livez and /readyz ask, in one table each.

An outage of the API server makes a replica unready, never dead: a restart would not help. Dead is
what only a restart heals.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence

from moorage.apps.run.replica_state import ReplicaPhase, ReplicaState
from moorage.ports.clock import Clock
from moorage.ports.errors import EdgeError
from moorage.ports.http_calls import HttpCall, HttpSession
from moorage.ports.kube import Informer
from moorage.ports.leadership import Elector, Fence
from moorage.ports.repeated_logs import once_per_failure

log = logging.getLogger(__name__)

HealthCheck = Callable[[], str | None]
"""A short sentence about what is wrong; None when nothing is."""
HealthChecks = Mapping[str, HealthCheck]
"""By name."""

LEASE_SECONDS = 20.0
"""How long a leader may live on with its fence closed: losing the lease should have ended it long
before.
"""
FRESH_SECONDS = 150.0
"""Bookmarks come once a minute; two may be lost."""
STALE_FAILURES = 5
SILENT_FAILURES = 3
EXAMINE_SECONDS = 30.0


def lease_check(clock: Clock, fence: Fence, state: ReplicaState) -> HealthCheck:
    """Whether a replica that believes to lead still may write."""
    closed_since: float | None = None

    def check() -> str | None:
        nonlocal closed_since
        if fence.open or state.phase is not ReplicaPhase.LEADING:
            closed_since = None
            return None
        closed_since = clock.boottime() if closed_since is None else closed_since
        seconds = clock.boottime() - closed_since
        return (
            f"leading, but the lease ran out {seconds:.0f} s ago"
            if seconds > LEASE_SECONDS
            else None
        )

    return check


def apiserver_check(elector: Elector) -> HealthCheck:
    """Whether the API server answers: watches that it does not close tell of its silence late, the
    Lease is asked for all the time.
    """

    def check() -> str | None:
        failures = elector.failures
        return (
            f"the API server did not answer the last {failures} requests for the Lease"
            if failures >= SILENT_FAILURES
            else None
        )

    return check


def tasks_check(state: ReplicaState) -> HealthCheck:
    """Whether all tasks that should run for ever do."""
    return lambda: f"ended: {', '.join(names)}" if (names := state.dead()) else None


def informer_check(feed: Informer) -> HealthCheck:
    """Whether an informer has heard of the API server lately."""

    def check() -> str | None:
        if not feed.has_synced:
            return f"{feed.resource} are not listed yet"
        return (
            f"nothing heard about {feed.resource} for {feed.age:.0f} s"
            if feed.age > FRESH_SECONDS
            else None
        )

    return check


class WatchHealth:
    """Finds watches that stay broken although the API server answers: those only a restart
    heals.
    """

    def __init__(self, session: HttpSession, clock: Clock, feeds: Sequence[Informer]) -> None:
        self._session = session
        self._clock = clock
        self._feeds = feeds
        self._broken: list[str] = []

    def check(self) -> str | None:
        """What /livez says of them."""
        return (
            f"watches that cannot be opened again: {', '.join(self._broken)}"
            if self._broken
            else None
        )

    async def run(self) -> None:
        """Examine the informers every half minute, until cancelled."""
        while True:
            await self._clock.sleep(EXAMINE_SECONDS)
            suspects = [
                feed.resource
                for feed in self._feeds
                if feed.age > FRESH_SECONDS and feed.failures >= STALE_FAILURES
            ]
            self._broken = suspects if suspects and await self._answers() else []

    async def _answers(self) -> bool:
        try:
            await self._session.call(HttpCall("GET", "/version"))
        except EdgeError as error:
            log.warning("the API server does not answer: %s", error, extra=once_per_failure(error))
            return False
        return True
