"""Start order, hand-over and the ways to end, with fakes for every part."""

from __future__ import annotations

import asyncio
import gc
import math
import os
import signal
from collections.abc import Callable, Collection, Coroutine, Iterator
from contextlib import suppress
from typing import Any

import pytest

from moorage.adapters.event_broadcaster import EventBroadcaster
from moorage.adapters.https_server import HttpsServer
from moorage.apps.run import supervisor
from moorage.apps.run.replica_state import ReplicaPhase, ReplicaState
from moorage.apps.run.side_loop import OneLoop
from moorage.apps.run.supervisor import REFUSED_SECONDS, SupervisedParts, Supervisor
from moorage.engine.engine import Engine
from moorage.engine.reports.inspection import CacheInspector
from moorage.handlers.kopf_operator import EmbeddedKopf
from moorage.ports.errors import Forbidden, Retryable
from moorage.ports.leadership import Leadership
from tests.fakes.clocks import EagerClock, settle
from tests.fakes.kube import ScriptedInformer


@pytest.fixture(autouse=True)
def collector() -> Iterator[None]:
    """Give the collector of the test process back as it was."""
    before = gc.get_threshold()
    yield
    gc.unfreeze()
    gc.set_threshold(*before)


async def forever() -> None:
    """A task that does what a root task should."""
    await asyncio.get_running_loop().create_future()


class FakeParts:
    """Everything that a Supervisor runs; ``told`` keeps what was called, in order."""

    def __init__(self) -> None:
        self.told: list[str] = []
        self.clock = EagerClock()
        self.state = ReplicaState()
        self.granted, self.lost, self.died = asyncio.Event(), asyncio.Event(), asyncio.Event()
        self.in_flight: asyncio.Event | None = None
        self.restores: list[Exception] = []
        self.feeds = [ScriptedInformer("pods"), ScriptedInformer("nodes")]
        self.background: dict[str, Callable[[], Coroutine[Any, Any, None]]] = {
            "background": self.dying
        }
        self.aborted: list[int] = []
        self.identity, self.failures, self.late_until = "me", 0, -math.inf
        self.holding = self.stuck = False
        self.late: list[str] = []
        self.leadership = Leadership("me", "", 0, "")
        self.supervisor = Supervisor(self.parts(), self.aborted.append)

    def parts(self) -> SupervisedParts:
        """As apps would build them."""
        return SupervisedParts(
            state=self.state,
            clock=self.clock,
            side=OneLoop(),
            elector=self,
            engine=_Engine(self),
            feeds=self.feeds,
            events=_Events(self),
            server=_Server(self),
            kopf=_Kopf(self),
            background=self.background,
            prepare=self.prepare,
            warm=self.warm,
            sever=lambda: self.told.append("severed"),
            on_leading=lambda: self.told.append("led"),
            close=self.close,
        )

    def synced(self) -> None:
        """Every list is in, every watch up to date."""
        for feed in self.feeds:
            feed.has_synced = True
            feed.caught_up.set()

    async def dying(self) -> None:
        """A background task that ends with an error when the test says so."""
        await self.died.wait()
        raise RuntimeError("a bug")

    # ---- the elector -----------------------------------------------------------------------------

    async def acquire(self) -> None:
        """When the test grants it."""
        await self.granted.wait()
        self.told.append("acquired")

    async def hold(self) -> None:
        """Until the test takes it away."""
        self.holding = True
        try:
            await self.lost.wait()
        finally:
            self.holding = False

    async def release(self) -> None:
        """Given back; whoever still held it would take it again."""
        self.told.append("released while held" if self.holding else "released")

    # ---- the rest --------------------------------------------------------------------------------

    async def prepare(self) -> None:
        """What must be there before an election."""
        self.told.append("prepared")

    async def warm(self) -> None:
        """Connections before the first bindings."""
        self.told.append("warm")

    async def close(self) -> None:
        """The connections' end, or a part that does not close."""
        if self.stuck:
            with suppress(asyncio.CancelledError):
                await forever()
            raise asyncio.CancelledError
        self.told.append("closed")


class _Engine(Engine):
    """Tells ``parts`` what is called."""

    def __init__(self, parts: FakeParts) -> None:
        self._parts = parts
        self.inspector = _Inspector(parts)

    async def restore(self) -> None:
        """Fails as often as scripted."""
        if self._parts.restores:
            raise self._parts.restores.pop(0)
        self._parts.told.append("restored")

    async def run(self) -> None:
        self._parts.told.append("engine runs")
        await forever()

    def lead(self, late: Collection[str] = ()) -> None:
        self._parts.told.append("leads")
        self._parts.late = list(late)

    def caught_up(self, resource: str) -> None:
        if resource in self._parts.late:
            self._parts.told.append(f"{resource} caught up late")

    async def settle(self, seconds: float) -> None:
        """As long as a binding is in flight."""
        self._parts.told.append("settles")
        if self._parts.in_flight is not None:
            async with asyncio.timeout(seconds):
                await self._parts.in_flight.wait()
        self._parts.told.append("settled")


class _Inspector(CacheInspector):
    def __init__(self, parts: FakeParts) -> None:
        self._told = parts.told

    def request(self) -> None:
        self._told.append("looks inside")


class _Kopf(EmbeddedKopf):
    """Takes the signals as the real one does."""

    def __init__(self, parts: FakeParts) -> None:
        self._told = parts.told
        self.tasks: Collection[asyncio.Task[Any]] = ()

    async def start(self) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGUSR2):
            loop.add_signal_handler(number, self._told.append, "Kopf got the signal")
        self.tasks = [asyncio.create_task(forever(), name="watcher")]

    async def stop(self) -> None:
        self._told.append("Kopf stopped")
        for task in self.tasks:
            task.cancel()


class _Events(EventBroadcaster):
    def __init__(self, parts: FakeParts) -> None:
        self._parts = parts

    async def run(self) -> None:
        await forever()

    async def flush(self, seconds: float) -> None:
        self._parts.told.append("events flushed")


class _Server(HttpsServer):
    def __init__(self, parts: FakeParts) -> None:
        self._parts = parts

    async def start(self) -> int:
        self._parts.told.append("serves")
        return 1

    async def stop(self) -> None:
        self._parts.told.append("server stopped")


def run(scenario: Callable[[FakeParts], Coroutine[Any, Any, None]]) -> tuple[int, FakeParts]:
    """Run a supervisor while ``scenario`` moves its parts; gives the exit status."""

    async def both() -> tuple[int, FakeParts]:
        parts = FakeParts()
        supervised = asyncio.create_task(parts.supervisor.run())
        await settle()
        await scenario(parts)
        async with asyncio.timeout(30):
            return await supervised, parts

    return asyncio.run(both())


async def leading(parts: FakeParts) -> None:
    """Get as far as deciding."""
    parts.synced()
    parts.granted.set()
    async with asyncio.timeout(30):
        while parts.state.phase is not ReplicaPhase.LEADING:
            await asyncio.sleep(0)


async def signalled(number: signal.Signals) -> None:
    """Send this process a signal, and let it arrive and have its effect."""
    os.kill(os.getpid(), number)
    await asyncio.sleep(0.02)
    await settle()


CLOSED = ["Kopf stopped", "server stopped", "closed"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_in_order(number: signal.Signals) -> None:
    """Bindings settle, events go out, then the lease is given back; Kopf's own handler is not
    called.
    """

    async def scenario(parts: FakeParts) -> None:
        await leading(parts)
        parts.told.clear()
        await signalled(number)

    status, parts = run(scenario)
    assert status == 0
    assert parts.told == ["settles", "settled", "events flushed", "severed", "released", *CLOSED]
    assert parts.aborted == []


def test_a_look_inside_ends_nothing() -> None:
    """SIGUSR2 asks for one; the replica goes on."""

    async def scenario(parts: FakeParts) -> None:
        await leading(parts)
        parts.told.clear()
        await signalled(signal.SIGUSR2)
        assert parts.told == ["looks inside"]
        assert parts.state.phase is ReplicaPhase.LEADING
        await signalled(signal.SIGTERM)

    assert run(scenario)[0] == 0


def test_a_binding_in_flight_ends_before_the_lease_is_given_back() -> None:
    """The next leader must not see a pod unbound that is just being bound."""

    async def scenario(parts: FakeParts) -> None:
        await leading(parts)
        parts.in_flight = asyncio.Event()
        await signalled(signal.SIGTERM)
        assert parts.told[-1] == "settles"
        parts.in_flight.set()

    status, parts = run(scenario)
    assert status == 0
    assert parts.told.index("settled") < parts.told.index("released")


def test_a_second_signal_ends_at_once() -> None:
    """Even while bindings are being waited for."""

    async def scenario(parts: FakeParts) -> None:
        await leading(parts)
        parts.in_flight = asyncio.Event()
        await signalled(signal.SIGTERM)
        assert parts.aborted == []
        await signalled(signal.SIGINT)
        assert parts.aborted == [1]
        parts.in_flight.set()

    run(scenario)


def test_a_standby_ends_in_order_too() -> None:
    """It has not led, so there is little to do."""

    async def scenario(_parts: FakeParts) -> None:
        await signalled(signal.SIGTERM)

    status, parts = run(scenario)
    assert status == 0
    assert "leads" not in parts.told
    assert parts.told[-4:] == ["released", *CLOSED]


def test_a_lost_lease_ends_at_once_with_1() -> None:
    """Nothing is waited for and nothing given back: another may lead already."""

    async def scenario(parts: FakeParts) -> None:
        await leading(parts)
        parts.told.clear()
        parts.lost.set()

    status, parts = run(scenario)
    assert status == 1
    assert parts.aborted == [1]
    assert parts.told == CLOSED


@pytest.mark.parametrize("die", ["background", "Kopf", "engine"])
def test_a_task_that_ends_ends_the_process(die: str, caplog: pytest.LogCaptureFixture) -> None:
    """In order, with 1, and the log says which task it was."""

    async def scenario(parts: FakeParts) -> None:
        await leading(parts)
        parts.told.clear()
        if die == "background":
            parts.died.set()
        elif die == "Kopf":
            next(task for task in asyncio.all_tasks() if task.get_name() == "watcher").cancel()
        else:
            next(task for task in asyncio.all_tasks() if task.get_name() == "engine").cancel()

    status, parts = run(scenario)
    assert status == 1
    assert parts.told == ["settles", "settled", "events flushed", "severed", "released", *CLOSED]
    assert {
        "background": "background failed",
        "Kopf": "Kopf's watcher ended",
        "engine": "engine ended",
    }[die] in caplog.text


@pytest.mark.parametrize(
    "listed_first",
    [
        pytest.param(True, id="listed, then caught up"),
        pytest.param(False, id="caught up, then listed"),
    ],
)
def test_nothing_is_decided_before_lease_lists_and_catching_up(listed_first: bool) -> None:
    """Each of the three holds it back, and stored revisions are read again after the lease was
    had.
    """

    async def scenario(parts: FakeParts) -> None:
        assert parts.told == ["serves", "restored", "engine runs", "prepared"]
        assert parts.state.phase is ReplicaPhase.STANDBY
        parts.granted.set()
        await settle()
        assert parts.state.phase is ReplicaPhase.CATCHING_UP
        for step in (listed_first, not listed_first):
            for feed in parts.feeds:
                await settle()
                assert "leads" not in parts.told
                if step:
                    feed.has_synced = True
                else:
                    feed.caught_up.set()
        await settle()
        assert parts.told == [
            "serves",
            "restored",
            "engine runs",
            "prepared",
            "acquired",
            "warm",
            "restored",
            "leads",
            "led",
        ]
        await signalled(signal.SIGTERM)

    assert run(scenario)[0] == 0


@pytest.mark.parametrize(
    ("free", "calls"),
    [
        pytest.param(True, ["catch up", "run"], id="free"),
        pytest.param(False, ["run", "catch up"], id="another's"),
    ],
)
def test_a_lease_that_is_free_is_had_before_the_first_lists(free: bool, calls: list[str]) -> None:
    """Then they are newer than it, and no bookmark is waited for; a standby lists all the same."""

    async def story() -> None:
        parts = FakeParts()
        if free:
            parts.granted.set()
        supervised = asyncio.create_task(parts.supervisor.run())
        await settle()
        parts.granted.set()
        await settle()
        assert [feed.calls for feed in parts.feeds] == [calls, calls]
        await signalled(signal.SIGTERM)
        assert await supervised == 0

    asyncio.run(story())


def test_a_feed_that_only_some_profiles_need_holds_nobody_else_back(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """One that is not listed is not waited for, one that does not catch up only for a while;
    profiles that read them are.
    """

    async def scenario(parts: FakeParts) -> None:
        parts.feeds += [
            ScriptedInformer("services", optional=True),
            ScriptedInformer("replicasets", optional=True),
        ]
        parts.feeds[2].has_synced = True
        for feed in parts.feeds[:2]:
            feed.has_synced = True
            feed.caught_up.set()
        parts.granted.set()
        await settle()
        assert "leads" in parts.told
        assert parts.late == ["replicasets", "services"]
        parts.feeds[3].caught_up.set()
        await settle()
        assert "replicasets caught up late" in parts.told
        assert "services caught up late" not in parts.told
        await signalled(signal.SIGTERM)

    assert run(scenario)[0] == 0
    assert "so profiles that read them wait: replicasets, services" in caplog.text


def test_late_writes_of_the_leader_before_are_waited_for(caplog: pytest.LogCaptureFixture) -> None:
    """And what arrived is caught up with then: no informer has been asked before."""

    async def scenario(parts: FakeParts) -> None:
        clock = parts.clock
        parts.late_until = clock.boottime() + 3.75
        asked: list[float] = []

        class Asked(ScriptedInformer):
            async def wait_caught_up(self) -> None:
                asked.append(clock.boottime())
                await super().wait_caught_up()

        parts.feeds[:] = [Asked("pods"), Asked("nodes")]
        await leading(parts)
        assert min(asked) >= parts.late_until
        await signalled(signal.SIGTERM)

    caplog.set_level("INFO")
    assert run(scenario)[0] == 0
    assert "its last writes may still arrive" in caplog.text


def test_a_lease_that_is_lost_while_catching_up_is_never_led_with() -> None:
    """First lists may take long; another replica may have the lease by then."""

    async def scenario(parts: FakeParts) -> None:
        parts.granted.set()
        await settle()
        parts.lost.set()

    status, parts = run(scenario)
    assert status == 1
    assert "leads" not in parts.told


def test_stored_revisions_are_read_until_it_succeeds() -> None:
    """An API server that is away at the start costs time, not the last good revisions."""

    async def scenario(parts: FakeParts) -> None:
        await settle()
        parts.told.clear()
        parts.restores = [Retryable("away"), Retryable("away")]
        await leading(parts)
        assert parts.told == ["acquired", "warm", "restored", "leads", "led"]
        await signalled(signal.SIGTERM)

    assert run(scenario)[0] == 0


@pytest.mark.parametrize(
    ("refusals", "waits", "restored"),
    [(3, 3, True), (40, REFUSED_SECONDS, False)],
    ids=["for a moment", "for good"],
)
def test_a_right_that_seems_to_be_missing(refusals: int, waits: float, restored: bool) -> None:
    """An API server that has just started refuses what it allows: only after half a minute is it
    believed, and then it goes on without.

    When the lease is had what was read before will do.
    """

    async def scenario() -> None:
        parts = FakeParts()
        parts.restores = [Forbidden("GET", 403) for _ in range(refusals)]
        await parts.supervisor._restore()
        assert (sum(parts.clock.slept), "restored" in parts.told) == (waits, restored)
        parts.restores = [Forbidden("GET", 403)]
        parts.supervisor._restored.set()
        await parts.supervisor._restore()
        assert sum(parts.clock.slept) == waits

    asyncio.run(scenario())


def test_the_collector_is_quiet_after_the_first_lists() -> None:
    """What they brought is frozen, and collections are rare from then on."""

    async def scenario(parts: FakeParts) -> None:
        assert gc.get_freeze_count() == 0
        await leading(parts)
        assert gc.get_freeze_count() > 0
        assert gc.get_threshold()[0] == 50_000
        await signalled(signal.SIGTERM)

    run(scenario)


def test_dead_tasks_are_told_to_livez() -> None:
    """None while all is well, and none while ending."""

    async def scenario(parts: FakeParts) -> None:
        await leading(parts)
        assert parts.state.dead() == []
        parts.died.set()
        for _ in range(3):
            await asyncio.sleep(0)
            if parts.state.phase is not ReplicaPhase.STOPPING and parts.state.dead():
                assert parts.state.dead() == ["background"]

    run(scenario)


def test_the_end_is_bounded(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A part that does not close holds nothing up."""
    monkeypatch.setattr(supervisor, "CLOSE_SECONDS", 0.05)

    async def scenario(parts: FakeParts) -> None:
        parts.stuck = True
        await signalled(signal.SIGTERM)

    assert run(scenario)[0] == 0
    assert "not everything could be closed" in caplog.text
