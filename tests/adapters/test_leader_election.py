"""Leader election: the decision as a table, the elector in virtual time, many electors against one
Lease with faults.
"""

from __future__ import annotations

import asyncio
import contextlib
import datetime
import math
import random
from collections.abc import AsyncIterator, Callable

import pytest

from moorage.adapters.leader_election import (
    ATTEMPT_INTERVAL_SECONDS,
    MAX_CONCURRENT_RENEWALS,
    RELEASE_SECONDS,
    LeaderElectionTimes,
    LeaderElector,
    ObservedRecord,
    SingleReplica,
    claim,
    observe,
)
from moorage.ports.errors import Conflict, EdgeError, Forbidden, Invalid, NotFound, Retryable
from moorage.ports.leadership import Fence, LeaseRecord, late_seconds
from tests.fakes.clocks import EPOCH, ManualClock

THEN = EPOCH - datetime.timedelta(hours=1)


def record(holder: str, duration: int = 15, transitions: int = 3) -> LeaseRecord:
    """A record that was written an hour ago."""
    return LeaseRecord(holder, duration, THEN, THEN, transitions)


@pytest.mark.parametrize(
    ("seen", "now", "want"),
    [
        (None, 0.0, LeaseRecord("me", 15, EPOCH, EPOCH, 0)),
        (ObservedRecord(record("me"), "1", 0.0), 5.0, LeaseRecord("me", 15, THEN, EPOCH, 3)),
        (ObservedRecord(record("me"), "1", 0.0), 500.0, LeaseRecord("me", 15, THEN, EPOCH, 3)),
        (ObservedRecord(record("you"), "1", 0.0), 14.99, None),
        (ObservedRecord(record("you"), "1", 0.0), 15.0, LeaseRecord("me", 15, EPOCH, EPOCH, 4)),
        (ObservedRecord(record("you", duration=60), "1", 0.0), 59.0, None),
        (
            ObservedRecord(record("", duration=1), "1", 0.0),
            0.0,
            LeaseRecord("me", 15, EPOCH, EPOCH, 4),
        ),
    ],
    ids=[
        "no-lease",
        "mine",
        "mine-though-old",
        "theirs",
        "theirs-run-out",
        "by-its-own-duration",
        "given-back",
    ],
)
def test_claim(seen: ObservedRecord | None, now: float, want: LeaseRecord | None) -> None:
    """Who may write what: the times in the record never count, only how long it has not changed."""
    assert claim(seen, "me", now, EPOCH, 15.0) == want


def test_observe_restarts_the_clock_only_when_the_record_changed() -> None:
    """A new resourceVersion alone (a label, say) does not make a lease live."""
    first = observe(None, record("you"), "1", 10.0)
    again = observe(first, record("you"), "2", 20.0)
    changed = observe(again, LeaseRecord("you", 15, THEN, EPOCH, 3), "3", 30.0)
    assert (first.since, again.since, again.version, changed.since) == (10.0, 10.0, "2", 30.0)


class MemoryLease:
    """``ports.leadership.LeaseStore`` in memory; ``fault`` is asked before and after each deed and
    may raise.
    """

    def __init__(self) -> None:
        self.record: LeaseRecord | None = None
        self.version = 0
        self.requests: list[str] = []
        self.fault: Callable[[str], None] = lambda _when: None

    async def _ask(self, what: str, deed: Callable[[], None]) -> None:
        self.requests.append(what)
        await asyncio.sleep(0)
        self.fault("before")
        deed()
        self.fault("after")

    async def read(self) -> tuple[LeaseRecord, str]:
        """As it is."""
        await self._ask("read", lambda: None)
        if self.record is None:
            raise NotFound("GET lease", 404)
        return self.record, str(self.version)

    def _write(self, record: LeaseRecord, expected: str) -> None:
        if expected != ("" if self.record is None else str(self.version)):
            raise Conflict("PUT lease", 409)
        self.record, self.version = record, self.version + 1

    async def create(self, record: LeaseRecord) -> str:
        """Once."""
        await self._ask("create", lambda: self._write(record, ""))
        return str(self.version)

    async def replace(self, record: LeaseRecord, version: str) -> str:
        """Over this version."""
        await self._ask("replace", lambda: self._write(record, version))
        return str(self.version)

    async def rewrite(self, record: LeaseRecord, holder: str) -> str:
        """Over whatever this holder has."""

        def deed() -> None:
            if self.record is None:
                raise NotFound("PATCH lease", 404)
            if self.record.holder != holder:
                raise Invalid("PATCH lease", 422)
            self._write(record, str(self.version))

        await self._ask("rewrite", deed)
        return str(self.version)


class Replica:
    """An elector, its fence, and the task that acquires and holds."""

    def __init__(self, store: MemoryLease, clock: ManualClock, identity: str) -> None:
        self.fence = Fence(clock.boottime)
        self.elector = LeaderElector(store, self.fence, clock, identity, LeaderElectionTimes())
        self.acquired_at = math.nan
        self.lost_at = math.nan
        self._clock = clock
        self.task = asyncio.create_task(self._run())

    async def _run(self) -> None:
        await self.elector.acquire()
        self.acquired_at = self._clock.boottime()
        await self.elector.hold()
        self.lost_at = self._clock.boottime()

    async def stop(self) -> None:
        """Cancel what runs."""
        self.task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self.task


@contextlib.asynccontextmanager
async def replicas(
    *identities: str,
) -> AsyncIterator[tuple[ManualClock, MemoryLease, list[Replica]]]:
    """Replicas that compete for one Lease; the clock starts at 1000."""
    clock, store = ManualClock(), MemoryLease()
    made = [Replica(store, clock, identity) for identity in identities]
    try:
        yield clock, store, made
    finally:
        for replica in made:
            await replica.stop()


def down(_when: str) -> None:
    """The API server does not answer."""
    raise Retryable("no answer", outcome_unknown=True)


def refused(_when: str) -> None:
    """The API server says no."""
    raise Forbidden("PUT lease", 403)


def test_the_first_takes_it_and_renews_without_reading() -> None:
    """One read, one create, then a replace every two seconds; the fence is open all the time."""

    async def scenario() -> None:
        async with replicas("a") as (clock, store, (a,)):
            await clock.advance(0)
            assert a.acquired_at == 1000 and a.fence.open
            for _ in range(30):
                await clock.advance(1)
                assert a.fence.open
            assert store.requests == ["read", "create", *["rewrite"] * 15]
            leadership = a.elector.leadership
            assert leadership is not None
            assert (leadership.identity, leadership.transitions, leadership.since) == (
                "a",
                0,
                "2026-01-02T03:04:05Z",
            )
            assert leadership.renewed == "2026-01-02T03:04:35Z"

    asyncio.run(scenario())


def test_an_api_server_that_is_gone_ends_leadership_in_time() -> None:
    """No renewal for 10 s: hold returns and the fence is closed; until then it is open. The lease
    itself lasts 15 s.
    """

    async def scenario() -> None:
        async with replicas("a") as (clock, store, (a,)):
            await clock.advance(1)
            store.fault = down
            await clock.advance(8.9)
            assert a.fence.open and not a.task.done()
            await clock.advance(0.2)
            assert not a.fence.open
            assert a.lost_at == 1010

    asyncio.run(scenario())


def test_silence_is_counted_until_there_is_an_answer() -> None:
    """By the leader and by the standby; a no is an answer too."""

    async def scenario() -> None:
        async with replicas("a", "b") as (clock, store, (a, b)):
            await clock.advance(1)
            store.fault = down
            await clock.advance(8.5)
            assert a.elector.failures >= 3
            assert b.elector.failures >= 2
            store.fault = refused
            await clock.advance(0.5)
            assert a.elector.failures == 0
            store.fault = lambda _when: None
            await clock.advance(5)
            assert (a.elector.failures, b.elector.failures) == (0, 0)

    asyncio.run(scenario())


def test_the_fence_closes_by_itself_when_nobody_gets_to_run() -> None:
    """A process that was stopped finds its fence closed at once when it goes on: 15 s less the
    margin after the last renewal.
    """

    async def scenario() -> None:
        async with replicas("a") as (clock, _store, (a,)):
            await clock.advance(0)
            clock.jump(12.9)
            assert a.fence.open
            clock.jump(0.2)
            assert not a.fence.open

    asyncio.run(scenario())


def test_validity_counts_from_before_the_send() -> None:
    """A renewal whose answer took 9 s is worth 9 s less."""

    async def scenario() -> None:
        async with replicas("a") as (clock, store, (a,)):
            await clock.advance(1)
            store.fault = lambda when: clock.jump(9) if when == "after" else None
            await clock.advance(1.5)  # the renewal is sent at 1002 and answered at 1011
            store.fault = down
            clock.jump(1014.9 - clock.boottime())
            assert a.fence.open
            clock.jump(0.2)
            assert not a.fence.open

    asyncio.run(scenario())


def test_another_holder_ends_leadership_at_once() -> None:
    """Somebody wrote over our Lease: the next renewal conflicts, the read after it shows the
    holder, and that is the end.
    """

    async def scenario() -> None:
        async with replicas("a") as (clock, store, (a,)):
            await clock.advance(1)
            store.record, store.version = record("b"), 99
            await clock.advance(4)
            assert a.lost_at <= 1004 and not a.fence.open
            assert store.record.holder == "b"

    asyncio.run(scenario())


def test_a_dead_leader_is_replaced_after_its_lease() -> None:
    """The standby waits out the lease by its own clock, then leads; transitions count up."""

    async def scenario() -> None:
        async with replicas("a", "b") as (clock, store, (a, b)):
            await clock.advance(20)
            assert a.fence.open and not b.fence.open
            await a.stop()
            await clock.advance(14)
            assert math.isnan(b.acquired_at)
            await clock.advance(2 * 4.4 + 1)
            assert b.fence.open and b.acquired_at >= 1035
            assert store.record is not None and (store.record.holder, store.record.transitions) == (
                "b",
                1,
            )

    asyncio.run(scenario())


def test_a_released_lease_is_taken_at_the_next_try() -> None:
    """After release the fence is closed and the standby leads within one retry period with its
    jitter.
    """

    async def scenario() -> None:
        async with replicas("a", "b") as (clock, store, (a, b)):
            await clock.advance(7)
            await a.stop()
            await a.elector.release()
            assert not a.fence.open
            assert store.record is not None and (store.record.holder, store.record.duration) == (
                "",
                1,
            )
            await clock.advance(2 * 2.2)
            assert b.fence.open

    asyncio.run(scenario())


@pytest.mark.parametrize("done", [True, False], ids=["write-arrived", "write-did-not"])
def test_release_after_a_renewal_without_answer(done: bool) -> None:
    """A renewal that was cut off may or may not have arrived: release reads first, so that it gives
    the Lease back either way.
    """

    async def scenario() -> None:
        async with replicas("a") as (clock, store, (a,)):
            await clock.advance(1)
            store.fault = lambda when: (
                down(when) if when == ("after" if done else "before") else None
            )
            await clock.advance(1.5)
            store.fault = lambda _when: None
            await a.stop()
            await a.elector.release()
            assert store.record is not None and store.record.holder == ""

    asyncio.run(scenario())


def test_release_leaves_others_leases_alone(caplog: pytest.LogCaptureFixture) -> None:
    """What another holds is not given back; a fault while releasing is told, not raised."""

    async def scenario() -> None:
        async with replicas("a") as (clock, store, (a,)):
            await clock.advance(1)
            store.record, store.version = record("b"), 99
            await a.elector.release()
            assert store.record.holder == "b"
            store.fault = down
            released = asyncio.create_task(a.elector.release())
            await clock.advance(RELEASE_SECONDS)
            assert released.done()

    asyncio.run(scenario())
    assert "could not be given back" in caplog.text


def test_a_deleted_lease_is_made_again() -> None:
    """An administrator deletes the Lease: the holder makes it again and goes on leading."""

    async def scenario() -> None:
        async with replicas("a") as (clock, store, (a,)):
            await clock.advance(1)
            store.record = None
            store.fault = lambda _when: None
            await clock.advance(6)
            assert a.fence.open and store.record is not None

    asyncio.run(scenario())


Answers = Callable[[int, float], tuple[bool, float]]
"""By a request's number and its moment: whether the deed is done, and after how many seconds the
answer comes; one without deed breaks.
"""
NEVER = 10.0**9


class SlowLease(MemoryLease):
    """Deeds and answers as the test says."""

    def __init__(self, clock: ManualClock) -> None:
        super().__init__()
        self.answers: Answers = lambda _number, _now: (True, 0.0)
        self._clock = clock

    async def _ask(self, what: str, deed: Callable[[], None]) -> None:
        self.requests.append(what)
        done, seconds = self.answers(len(self.requests), self._clock.boottime())
        try:
            if done:
                deed()
        finally:
            await self._clock.sleep(seconds)
        if not done:
            raise Retryable("broken", outcome_unknown=True)


@pytest.mark.parametrize(
    "answers",
    [
        pytest.param(lambda _n, _now: (True, 7.5), id="each answer takes long"),
        pytest.param(
            lambda n, _now: (True, NEVER if n % 4 else 0.1),
            id="most answers are lost, all deeds are done",
        ),
        pytest.param(
            lambda n, _now: (n % 4 == 0, NEVER if n % 4 else 0.1), id="most requests hang"
        ),
        pytest.param(lambda _n, now: (now % 9 < 0.3, 0.1), id="most requests break"),
        pytest.param(
            lambda _n, now: (now % 1 < 0.1, 0.9 if now % 1 < 0.1 else 1 - now % 1),
            id="resets each second, slowly",
        ),
    ],
)
def test_one_answer_within_the_deadline_keeps_the_lease(answers: Answers) -> None:
    """Whatever becomes of the other requests; a minute long."""

    async def scenario() -> None:
        clock = ManualClock(1000.0)
        store = SlowLease(clock)
        replica = Replica(store, clock, "a")
        await clock.advance(1)
        store.answers = answers
        for _ in range(240):
            await clock.advance(0.25)
            assert replica.fence.open and not replica.task.done()
        await replica.stop()

    asyncio.run(scenario())


def test_a_server_that_refuses_is_not_asked_without_a_pause() -> None:
    """While the deadline comes nearer; what was answered in an earlier round is no answer."""

    async def scenario() -> None:
        async with replicas("a") as (clock, store, (a,)):
            await clock.advance(1)
            for fault in (down, refused):
                store.requests.clear()
                store.fault = fault
                await clock.advance(5)
                assert (
                    15
                    <= len(store.requests)
                    <= 2 * MAX_CONCURRENT_RENEWALS * 5 / ATTEMPT_INTERVAL_SECONDS
                    + 2 * MAX_CONCURRENT_RENEWALS
                )
                store.fault = lambda _when: None
                await clock.advance(1)
                assert a.fence.open

    asyncio.run(scenario())


def test_a_machine_that_slept_keeps_the_lease_that_nobody_took() -> None:
    """Its fence is closed meanwhile; one answer opens it again. Where another took the lease, the
    same question tells that.
    """

    async def scenario() -> None:
        async with replicas("a") as (clock, store, (a,)):
            await clock.advance(1)
            clock.jump(3600)
            assert not a.fence.open
            await clock.advance(0.1)
            assert a.fence.open
            clock.jump(3600)
            store.record, store.version = record("b"), 99
            await clock.advance(0.1)
            assert a.task.done() and not a.fence.open

    asyncio.run(scenario())


@pytest.mark.parametrize(
    ("before", "late"),
    [
        pytest.param(None, False, id="the first start"),
        pytest.param(record("", 1), False, id="given back"),
        pytest.param(record("b", 15), True, id="run out"),
    ],
)
def test_late_writes_are_known_of(before: LeaseRecord | None, late: bool) -> None:
    """Those of a leader that did not give its lease back may arrive for a while after it has run
    out.
    """

    async def scenario() -> None:
        clock, store = ManualClock(), MemoryLease()
        store.record = before
        replica = Replica(store, clock, "a")
        await clock.advance(25)
        assert replica.fence.open
        assert replica.elector.late_until == (1000 + 15 + late_seconds(15) if late else -math.inf)
        await replica.stop()

    asyncio.run(scenario())


@pytest.mark.parametrize("seed", range(8))
def test_never_two_leaders(seed: int) -> None:
    """Three replicas, requests that fail before or after the deed, answers that come late: at most
    one fence is open at any time.
    """

    async def scenario() -> None:
        dice = random.Random(seed)
        leaders: set[str] = set()
        async with replicas("a", "b", "c") as (clock, store, made):
            trouble = False

            def fault(_when: str) -> None:
                if dice.random() < (0.995 if trouble else 0.05):
                    raise Retryable("lost", outcome_unknown=True)
                if dice.random() < 0.1:
                    clock.jump(dice.random() * 1.8)

            store.fault = fault
            for step in range(1000):
                trouble = step // 100 % 2 == 1
                await clock.advance(0.1 + dice.random() * 0.2)
                opened = [replica.elector.identity for replica in made if replica.fence.open]
                assert len(opened) <= 1, (step, opened)
                leaders.update(opened)
                for index, replica in enumerate(made):
                    if replica.task.done():
                        made[index] = Replica(store, clock, f"{replica.elector.identity[0]}{step}")
        assert len(leaders) > 1

    asyncio.run(scenario())


def test_no_election_leads_for_ever() -> None:
    """leaderElect=false: the fence opens at once and stays open until release."""

    async def scenario() -> None:
        clock = ManualClock()
        fence = Fence(clock.boottime)
        elector = SingleReplica(fence, "me")
        assert not fence.open and elector.leadership is None and elector.identity == "me"
        await elector.acquire()
        clock.jump(10**9)
        assert fence.open
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(elector.hold(), 0.01)
        await elector.release()
        assert not fence.open

    asyncio.run(scenario())


@pytest.mark.parametrize(
    ("times", "margin", "overtake"),
    [(LeaderElectionTimes(), 2.0, 1.8), (LeaderElectionTimes(3.0, 2.0, 0.5), 0.5, 0.45)],
    ids=["defaults", "short"],
)
def test_times(times: LeaderElectionTimes, margin: float, overtake: float) -> None:
    """The margin fits between renew deadline and lease duration; a request is overtaken before the
    next renewal is due.
    """
    assert (times.margin, times.hedging_delay) == (margin, overtake)
    assert times.lease_duration - times.margin > times.renew_deadline
    assert issubclass(Retryable, EdgeError)
