"""Leader election over a Lease: who may write, and until when.

``claim`` and ``observe`` decide, without I/O; ``LeaseElector`` reads, writes and waits. Two clocks, never mixed: what another replica
wrote is judged by how long it has not changed on *our* boot time clock; the times in the record are for people.

Our own hold counts from before the request that renewed it was sent, another's from after we saw it: between the two there is no
moment at which two replicas believe that they lead.

Behaviour as client-go's leader election (15 s lease, 10 s renew deadline, 2 s retry period).
"""

from __future__ import annotations

import asyncio
import dataclasses
import datetime
import logging
import math
import random

from moorage.api.conditions import timestamp
from moorage.ports.errors import EdgeError, NotFound, Refused
from moorage.ports.fencing import Fence
from moorage.ports.kube import Leadership
from moorage.ports.leases import LeaseRecord, LeaseStore
from moorage.ports.surroundings import Clock

log = logging.getLogger(__name__)

ACQUIRE_JITTER = 1.2
MAX_MARGIN = 2.0


@dataclasses.dataclass(frozen=True, slots=True)
class LeaseTimes:
    """Seconds. A replica that cannot renew gives up after ``renew_deadline``; another may lead after ``lease_duration``."""

    lease_duration: float = 15.0
    renew_deadline: float = 10.0
    retry_period: float = 2.0

    @property
    def margin(self) -> float:
        """How long before the lease's end the fence closes: time for a write that was just sent to arrive."""
        return min(MAX_MARGIN, (self.lease_duration - self.renew_deadline) / 2)

    @property
    def request_timeout(self) -> float:
        """For one request: an API server that hangs costs one attempt, not all of them."""
        return 0.9 * self.retry_period


@dataclasses.dataclass(frozen=True, slots=True)
class Observed:
    """A record, its resourceVersion, and since when (boot time) it has been so as far as we saw."""

    record: LeaseRecord
    version: str
    at: float


def observe(before: Observed | None, record: LeaseRecord, version: str, now: float) -> Observed:
    """What is known after a read: the clock starts anew only when the record changed."""
    unchanged = before is not None and before.record == record
    return Observed(record, version, before.at if before is not None and unchanged else now)


def claim(seen: Observed | None, identity: str, now: float, wall: datetime.datetime, duration: float) -> LeaseRecord | None:
    """The record to write in order to hold the lease; None while another holds it."""
    seconds = math.ceil(duration)
    if seen is None:
        return LeaseRecord(identity, seconds, wall, wall, 0)
    held = seen.record
    if held.holder == identity:
        return LeaseRecord(identity, seconds, held.acquired or wall, wall, held.transitions)
    if held.holder and now < seen.at + held.duration:
        return None
    return LeaseRecord(identity, seconds, wall, wall, held.transitions + 1)


class LeaseElector:
    """``ports.kube.Elector``. ``store`` must end each request within ``times.request_timeout``."""

    def __init__(self, store: LeaseStore, fence: Fence, clock: Clock, identity: str, times: LeaseTimes) -> None:
        self._store = store
        self._fence = fence
        self._clock = clock
        self._identity = identity
        self._times = times
        self._seen: Observed | None = None
        self._current = False
        """Whether ``_seen`` is what we ourselves wrote last, so that the next renewal needs no read."""
        self._renewed = -math.inf
        self.failures = 0
        """Attempts in a row that the API server did not answer."""

    @property
    def identity(self) -> str:
        """Ours."""
        return self._identity

    @property
    def leadership(self) -> Leadership | None:
        """Who leads, as last read or written; holder "" after a release."""
        if self._seen is None:
            return None
        record = self._seen.record
        return Leadership(record.holder, _text(record.acquired), record.transitions, _text(record.renewed))

    async def acquire(self) -> None:
        """Return when this replica holds the lease and the fence is open."""
        while not await self._attempt():
            # Jittered, so that standbys do not all ask at the same moment.
            await self._clock.sleep(self._times.retry_period * (1 + ACQUIRE_JITTER * random.random()))

    async def hold(self) -> None:
        """Renew until the lease is another's or could not be renewed for the renew deadline; the fence is closed then."""
        while True:
            left = self._renewed + self._times.renew_deadline - self._clock.boottime()
            await self._clock.sleep(max(0.0, min(self._times.retry_period, left)))
            if not await self._attempt() and self._lost:
                break
        self._fence.close()
        log.error("the lease is lost", extra={"leader": self._seen.record.holder if self._seen else ""})

    async def release(self) -> None:
        """Give the lease back. Where that fails it runs out by itself, which the log tells."""
        self._fence.close()
        try:
            if not self._current:
                await self._look()
            if self._seen is None or self._seen.record.holder != self._identity:
                return
            now = self._clock.now()
            record = LeaseRecord("", 1, now, now, self._seen.record.transitions)
            version = await self._store.replace(record, self._seen.version)
        except EdgeError as error:
            log.warning("the lease could not be given back, it runs out by itself: %s", error)
            return
        self._seen, self._current = Observed(record, version, self._clock.boottime()), False

    @property
    def _lost(self) -> bool:
        """Whether there is no use in trying to renew any longer."""
        if self._seen is not None and self._seen.record.holder not in ("", self._identity):
            return True
        return self._clock.boottime() >= self._renewed + self._times.renew_deadline

    async def _attempt(self) -> bool:
        """Try once to get or renew the lease."""
        try:
            if not self._current:
                await self._look()
            record = claim(self._seen, self._identity, self._clock.boottime(), self._clock.now(), self._times.lease_duration)
            if record is None:
                self.failures = 0
                return False
            self._current = False  # until the answer is here, nobody knows what the Lease says
            sent = self._clock.boottime()
            if self._seen is None:
                version = await self._store.create(record)
            else:
                version = await self._store.replace(record, self._seen.version)
        except EdgeError as error:
            log.warning("the lease was not acquired or renewed: %s", error)
            self.failures = 0 if isinstance(error, Refused) else self.failures + 1  # a no is an answer
            return False
        self._seen, self._current, self._renewed, self.failures = Observed(record, version, sent), True, sent, 0
        self._fence.extend(sent + self._times.lease_duration - self._times.margin)
        return True

    async def _look(self) -> None:
        try:
            record, version = await self._store.read()
        except NotFound:
            self._seen = None
        else:
            self._seen = observe(self._seen, record, version, self._clock.boottime())


class NoElection:
    """``ports.kube.Elector`` for a single replica (leaderElect=false): leads from the start, for ever."""

    def __init__(self, fence: Fence, identity: str) -> None:
        self._fence = fence
        self._identity = identity
        self.failures = 0
        """There is nobody to ask."""

    @property
    def identity(self) -> str:
        """Ours."""
        return self._identity

    @property
    def leadership(self) -> Leadership | None:
        """There is no Lease to read."""
        return None

    async def acquire(self) -> None:
        """Open the fence."""
        self._fence.extend(math.inf)

    async def hold(self) -> None:
        """Never lost."""
        await asyncio.get_running_loop().create_future()

    async def release(self) -> None:
        """Close the fence."""
        self._fence.close()


def _text(time: datetime.datetime | None) -> str:
    """As Kubernetes writes times, to the second; "" for none."""
    return timestamp(time) if time is not None else ""
