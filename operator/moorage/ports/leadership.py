"""Leadership: the Lease as it is stored, what the engine sees of the election, and the fence: the
moment until which this replica may write.

The lease adapter moves the deadline with each renewal; everything that writes passes the fence
right before it sends. Time is CLOCK_BOOTTIME seconds, which goes on while a machine sleeps and
never jumps.

The fence is asked when a write is handed to the kernel, which may deliver it later.
``late_seconds`` bounds that: connections that carry such writes are given up by the kernel after so
long without an acknowledgement, and whoever leads next waits it out.
"""

from __future__ import annotations

import dataclasses
import datetime
import math
from collections.abc import Callable
from typing import Protocol

from moorage.ports.errors import Fenced

MAX_LATE_SECONDS = 5.0


@dataclasses.dataclass(frozen=True, slots=True)
class Leadership:
    """Who leads, as the Lease says."""

    identity: str
    since: str
    transitions: int
    renewed: str


class Election(Protocol):
    """Leader election as the engine sees it."""

    @property
    def identity(self) -> str:
        """Ours: host name and a random part."""

    @property
    def leadership(self) -> Leadership | None:
        """The newest that was read, None before the first."""


class Elector(Election, Protocol):
    """Leader election over a Lease."""

    @property
    def failures(self) -> int:
        """Attempts in a row to read or renew it that the API server did not answer."""

    @property
    def late_until(self) -> float:
        """Boot time until which writes of the leader before may still arrive; long past when there
        was none, or it gave the lease back.
        """

    async def acquire(self) -> None:
        """Return when this replica holds the lease (the fence is open then)."""

    async def hold(self) -> None:
        """Renew until the lease is lost; return then (the fence is closed)."""

    async def release(self) -> None:
        """Give the lease back so that another replica takes over at once."""


@dataclasses.dataclass(frozen=True, slots=True)
class LeaseRecord:
    """The part of a coordination.k8s.io/v1 LeaseSpec that election uses; times are aware, duration
    is in seconds.
    """

    holder: str
    duration: int
    acquired: datetime.datetime | None
    renewed: datetime.datetime | None
    transitions: int


class LeaseStore(Protocol):
    """One Lease object. Raises only what ``ports.errors`` lists; every request ends within the
    store's own time-out.

    Requests may overlap. One that follows another without an answer goes over a connection of its
    own.
    """

    async def read(self) -> tuple[LeaseRecord, str]:
        """The record and its resourceVersion; NotFound when there is no Lease yet."""

    async def create(self, record: LeaseRecord) -> str:
        """Make the Lease, return its resourceVersion; Conflict when another was faster."""

    async def replace(self, record: LeaseRecord, version: str) -> str:
        """Write over exactly ``version``, return the new one; Conflict when it changed
        meanwhile.
        """

    async def rewrite(self, record: LeaseRecord, holder: str) -> str:
        """Write over whatever version ``holder`` holds, return the new one; Invalid when another
        holds it, NotFound when it is gone.

        Doing it twice does no harm, so an answer that was lost needs no reading.
        """


def late_seconds(lease_duration: float) -> float:
    """How long the kernel may try to deliver a write of a leader with such a lease."""
    return min(MAX_LATE_SECONDS, lease_duration / 4)


class Fence:
    """Closed until ``extend`` is called; closed again when the deadline passes or ``close`` is
    called.
    """

    def __init__(self, boottime: Callable[[], float]) -> None:
        self._boottime = boottime
        self._deadline = -math.inf
        self.stopped_writes = 0
        """How many writes were stopped here."""

    @property
    def open(self) -> bool:
        """Whether a write may be sent now."""
        return self._boottime() < self._deadline

    def extend(self, deadline: float) -> None:
        """Writes may be sent until ``deadline`` (last successful renewal + leaseDuration -
        margin).
        """
        self._deadline = deadline

    def close(self) -> None:
        """Let no more writes pass."""
        self._deadline = -math.inf

    def check(self, what: str) -> None:
        """Raise ``Fenced`` unless open; ``what`` names the write."""
        if not self.open:
            self.stopped_writes += 1
            raise Fenced(f"{what}: not sent, the lease is not held or may have run out")
