"""Leader election over a Lease: who may write, and until when.

``claim`` and ``observe`` decide, without I/O; ``LeaderElector`` reads, writes and waits. Two
clocks, never mixed: what another replica wrote is judged by how long it has not changed on *our*
boot time clock; the times in the record are for people.

Our own hold counts from before the request that renewed it was sent, another's from after we saw
it: between the two there is no moment at which two replicas believe that they lead.

Times as client-go's leader election has them (15 s lease, 10 s renew deadline, 2 s retry period),
but one answer within the renew deadline is enough to keep the lease, whatever becomes of the other
requests: a renewal is one request that asks for nothing but our name in the Lease, so it can be
sent again and again, each time on a new connection, without waiting for the one before.
"""

from __future__ import annotations

import asyncio
import collections
import contextlib
import dataclasses
import datetime
import logging
import math
import random
from collections.abc import Callable, Coroutine, Iterator
from typing import Any

from moorage.api.conditions import timestamp
from moorage.ports.clock import Clock
from moorage.ports.errors import EdgeError, Invalid, NotFound, Refused
from moorage.ports.leadership import Fence, Leadership, LeaseRecord, LeaseStore, late_seconds
from moorage.ports.repeated_logs import once_per_failure

log = logging.getLogger(__name__)

ACQUIRE_JITTER = 1.2
MAX_MARGIN_SECONDS = 2.0
ATTEMPT_INTERVAL_SECONDS = 0.25
"""Seconds within which no more than two attempts begin."""
MAX_CONCURRENT_RENEWALS = 3
"""Renewals that are sent together once one had no answer: each may be the one that gets through."""
RELEASE_SECONDS = 3.0

LeaseAttempt = Callable[[], Coroutine[Any, Any, bool | None]]
"""Whether it came to what was wanted, by an answer; None when there was no answer."""
AttemptTask = asyncio.Task[bool | None]


@dataclasses.dataclass(frozen=True, slots=True)
class LeaderElectionTimes:
    """Seconds. A replica that cannot renew gives up after ``renew_deadline``; another may lead
    after ``lease_duration``.
    """

    lease_duration: float = 15.0
    renew_deadline: float = 10.0
    retry_period: float = 2.0

    @property
    def margin(self) -> float:
        """How long before the lease's end the fence closes: time for a write that was just sent to
        arrive.
        """
        return min(MAX_MARGIN_SECONDS, (self.lease_duration - self.renew_deadline) / 2)

    @property
    def hedging_delay(self) -> float:
        """After this time a request without an answer is overtaken by another one."""
        return 0.9 * self.retry_period


@dataclasses.dataclass(frozen=True, slots=True)
class ObservedRecord:
    """A record, its resourceVersion, and since when (boot time) it has been so as far as we saw."""

    record: LeaseRecord
    version: str
    since: float


def observe(
    before: ObservedRecord | None, record: LeaseRecord, version: str, now: float
) -> ObservedRecord:
    """What is known after a read: the clock starts anew only when the record changed."""
    unchanged = before is not None and before.record == record
    return ObservedRecord(
        record, version, before.since if before is not None and unchanged else now
    )


def claim(
    seen: ObservedRecord | None, identity: str, now: float, wall: datetime.datetime, duration: float
) -> LeaseRecord | None:
    """The record to write in order to hold the lease; None while another holds it."""
    seconds = math.ceil(duration)
    if seen is None:
        return LeaseRecord(identity, seconds, wall, wall, 0)
    held = seen.record
    if held.holder == identity:
        return LeaseRecord(identity, seconds, held.acquired or wall, wall, held.transitions)
    if held.holder and now < seen.since + held.duration:
        return None
    return LeaseRecord(identity, seconds, wall, wall, held.transitions + 1)


class LeaderElector:
    """``ports.leadership.Elector``. A request may be overtaken by others, and the first that is
    answered counts.
    """

    def __init__(
        self,
        store: LeaseStore,
        fence: Fence,
        clock: Clock,
        identity: str,
        times: LeaderElectionTimes,
    ) -> None:
        self._store = store
        self._fence = fence
        self._clock = clock
        self._identity = identity
        self._times = times
        self._observed: ObservedRecord | None = None
        self._claimed = False
        """Whether we have tried to write our name into it."""
        self._held = False
        """Whether it was ours by the last answer, so that renewing it needs no reading."""
        self._renewed = -math.inf
        self._late_until = -math.inf
        self.failures = 0
        """Attempts in a row that the API server did not answer."""

    @property
    def identity(self) -> str:
        return self._identity

    @property
    def leadership(self) -> Leadership | None:
        """Who leads, as last read or written; holder "" after a release."""
        if self._observed is None:
            return None
        record = self._observed.record
        return Leadership(
            record.holder, _text(record.acquired), record.transitions, _text(record.renewed)
        )

    @property
    def late_until(self) -> float:
        return self._late_until

    async def acquire(self) -> None:
        """Return when this replica holds the lease and the fence is open."""
        while True:
            with _tries() as tries:
                if await self._answered(self._attempt, math.inf, tries):
                    return
            # Jittered, so that standbys do not all ask at the same moment.
            await self._clock.sleep(
                self._times.retry_period * (1 + ACQUIRE_JITTER * random.random())
            )

    async def hold(self) -> None:
        """Renew until the lease is another's or could not be renewed for the renew deadline; the
        fence is closed then.
        """
        pause = self._times.retry_period
        with _tries() as tries:
            while True:
                deadline = self._renewed + self._times.renew_deadline
                await self._clock.sleep(max(0.0, min(pause, deadline - self._clock.boottime())))
                # Once at least: a machine that was asleep for longer may find its lease as it was.
                until = max(deadline, self._clock.boottime() + self._times.hedging_delay)
                renewed = await self._answered(self._attempt, until, tries)
                if not renewed and self._lost:
                    break
                pause = self._times.retry_period if renewed else ATTEMPT_INTERVAL_SECONDS
        self._fence.close()
        leader = self._observed.record.holder if self._observed else ""
        log.error("the lease is lost", extra={"leader": leader})

    async def release(self) -> None:
        """Give the lease back. Where that fails it runs out by itself, which the log tells."""
        self._fence.close()
        with _tries() as tries:
            until = self._clock.boottime() + RELEASE_SECONDS
            if self._claimed and await self._answered(self._give_back, until, tries) is None:
                log.warning("the lease could not be given back, it runs out by itself")

    @property
    def _lost(self) -> bool:
        """Whether there is no use in trying to renew any longer."""
        if self._observed is not None and self._observed.record.holder not in ("", self._identity):
            return True
        return self._clock.boottime() >= self._renewed + self._times.renew_deadline

    async def _answered(
        self, attempt: LeaseAttempt, until: float, tries: set[AttemptTask]
    ) -> bool | None:
        """What the first attempt says that is answered; None when there is no answer until then.

        One that takes long is overtaken by others, on connections of their own, and may still be
        answered later. One that failed is followed at once: where connections are broken again and
        again, what begins right after a break has the best chance. But a server which refuses
        connections is not asked without a pause.
        """
        for ended in [task for task in tries if task.done()]:
            tries.discard(ended)
            ended.result()  # what it was answered is no news any more
        at_once, begins = 1, collections.deque([-math.inf] * 2, 2)
        while (left := until - self._clock.boottime()) > 0:
            if (pause := begins[0] + ATTEMPT_INTERVAL_SECONDS - self._clock.boottime()) > 0:
                await self._clock.sleep(pause)
            begins.append(self._clock.boottime())
            tries |= {asyncio.create_task(attempt()) for _ in range(at_once)}
            answer = await self._first(tries, min(self._times.hedging_delay, left))
            if answer is not None:
                self.failures = 0
                return answer
            self.failures += 1
            at_once = MAX_CONCURRENT_RENEWALS if self._held else 1
        return None

    async def _first(self, tries: set[AttemptTask], seconds: float) -> bool | None:
        """The first answer within so many seconds; None as soon as there is nothing to wait for.
        Those that have ended are taken out.
        """
        enough = asyncio.create_task(self._clock.sleep(seconds))
        try:
            while tries and not enough.done():
                done, _ = await asyncio.wait({enough, *tries}, return_when=asyncio.FIRST_COMPLETED)
                for task in tries & done:
                    tries.discard(task)
                    if (answer := task.result()) is not None:
                        return answer
            return None
        finally:
            enough.cancel()

    async def _attempt(self) -> bool | None:
        """Try once to get or renew the lease: whether it is ours; None when there was no answer."""
        try:
            if self._held and await self._renew():
                return True
            await self._read_lease()
            record = self._claim()
            if record is None:
                return False
            self._claimed = True
            if self._observed is not None and self._observed.record.holder == self._identity:
                return await self._renew()
            await self._take(record)
        except EdgeError as error:
            extra = once_per_failure(error, "lease ")
            log.warning("the lease was not acquired or renewed: %s", error, extra=extra)
            return False if isinstance(error, Refused) else None
        return True

    def _claim(self) -> LeaseRecord | None:
        now, wall = self._clock.boottime(), self._clock.now()
        return claim(self._observed, self._identity, now, wall, self._times.lease_duration)

    async def _take(self, record: LeaseRecord) -> None:
        """Write our name where there was no lease, or none that still counts."""
        self._record_late_writes()
        sent = self._clock.boottime()
        if self._observed is None:
            version = await self._store.create(record)
        else:
            version = await self._store.replace(record, self._observed.version)
        self._won(record, version, sent)

    async def _renew(self) -> bool:
        """Write our name anew where it stands; False when it stands there no longer."""
        record = self._claim()
        if record is None:
            return False
        sent = self._clock.boottime()
        try:
            version = await self._store.rewrite(record, self._identity)
        except (NotFound, Invalid):
            self._held = False
            return False
        self._won(record, version, sent)
        return True

    def _won(self, record: LeaseRecord, version: str, sent: float) -> None:
        """The lease is ours, by a request that was sent at that moment."""
        if sent < self._renewed:
            return  # overtaken
        self._observed, self._held, self._renewed = (
            ObservedRecord(record, version, sent),
            True,
            sent,
        )
        self._fence.extend(self._renewed + self._times.lease_duration - self._times.margin)

    async def _give_back(self) -> bool | None:
        """Try once: True when it is not ours any more."""
        now = self._clock.now()
        record = LeaseRecord(
            "", 1, now, now, self._observed.record.transitions if self._observed else 0
        )
        try:
            version = await self._store.rewrite(record, self._identity)
        except Refused:
            return False  # it is another's, or gone
        except EdgeError as error:
            log.warning(
                "the lease was not given back: %s", error, extra=once_per_failure(error, "lease ")
            )
            return None
        self._observed, self._held = ObservedRecord(record, version, self._clock.boottime()), False
        return True

    async def _read_lease(self) -> None:
        try:
            record, version = await self._store.read()
        except NotFound:
            self._observed = None
        else:
            self._observed = observe(self._observed, record, version, self._clock.boottime())

    def _record_late_writes(self) -> None:
        """We are about to follow a leader that did not give its lease back."""
        if self._observed is not None and self._observed.record.holder:
            self._late_until = (
                self._observed.since
                + self._observed.record.duration
                + late_seconds(self._observed.record.duration)
            )


class SingleReplica:
    """``ports.leadership.Elector`` for a single replica (leaderElect=false): leads from the start,
    for ever.
    """

    def __init__(self, fence: Fence, identity: str) -> None:
        self._fence = fence
        self._identity = identity
        self.failures = 0
        """There is nobody to ask."""
        self.late_until = -math.inf
        """Nor is it known whether somebody led before."""

    @property
    def identity(self) -> str:
        return self._identity

    @property
    def leadership(self) -> Leadership | None:
        """There is no Lease to read."""
        return None

    async def acquire(self) -> None:
        """Lead at once: nobody else may."""
        self._fence.extend(math.inf)

    async def hold(self) -> None:
        """Return never: this lease cannot be lost."""
        await asyncio.get_running_loop().create_future()

    async def release(self) -> None:
        self._fence.close()


@contextlib.contextmanager
def _tries() -> Iterator[set[AttemptTask]]:
    """Attempts that are under way; those that still are at the end are cut off."""
    tries: set[AttemptTask] = set()
    try:
        yield tries
    finally:
        for task in tries:
            task.cancel()


def _text(time: datetime.datetime | None) -> str:
    """As Kubernetes writes times, to the second; "" for none."""
    return timestamp(time) if time is not None else ""
