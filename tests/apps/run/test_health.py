"""What /livez and /readyz ask."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

import pytest

from moorage.adapters.leader_election import SingleReplica
from moorage.apps.run import health
from moorage.apps.run.replica_state import ReplicaPhase, ReplicaState
from moorage.ports.errors import EdgeError, Retryable
from moorage.ports.http_calls import HttpCall
from moorage.ports.leadership import Fence
from tests.fakes.clocks import ManualClock
from tests.fakes.kube import ScriptedInformer


class Server:
    """Answers /version, or not."""

    def __init__(self, error: EdgeError | None = None) -> None:
        self.error = error

    async def call(self, call: HttpCall) -> bytes:
        """The version."""
        if self.error is not None:
            raise self.error
        return b"{}"

    def stream(self, path: str) -> AsyncGenerator[bytes, None]:
        """Not used."""
        raise AssertionError("nobody asks for a stream")


def test_a_silent_api_server_is_told_after_a_few_attempts() -> None:
    """One that is only restarted is not."""
    elector = SingleReplica(Fence(ManualClock().boottime), "me")
    check = health.apiserver_check(elector)
    elector.failures = health.SILENT_FAILURES - 1
    assert check() is None
    elector.failures += 1
    assert check() == "the API server did not answer the last 3 requests for the Lease"


def test_a_leader_without_its_lease_is_dead_after_a_while() -> None:
    """Not at once: ending takes a moment. Not while it is no leader."""
    clock = ManualClock()
    fence = Fence(clock.boottime)
    state = ReplicaState()
    state.phase = ReplicaPhase.LEADING
    check = health.lease_check(clock, fence, state)
    fence.extend(clock.boottime() + 10)
    assert check() is None
    clock.jump(10)
    assert check() is None
    clock.jump(health.LEASE_SECONDS + 1)
    assert check() == "leading, but the lease ran out 21 s ago"
    state.phase = ReplicaPhase.STANDBY
    assert check() is None
    state.phase = ReplicaPhase.LEADING
    assert check() is None, "counted anew"


def test_dead_tasks_are_named() -> None:
    """All of them, unless the replica is about to end."""

    async def scenario() -> None:
        state = ReplicaState()
        check = health.tasks_check(state)
        state.tasks = {
            name: asyncio.create_task(asyncio.sleep(seconds))
            for name, seconds in {"engine": 0, "events": 0, "feed": 60}.items()
        }
        assert check() is None
        await asyncio.wait([state.tasks["engine"], state.tasks["events"]])
        assert check() == "ended: engine, events"
        state.phase = ReplicaPhase.STOPPING
        assert check() is None
        state.tasks["feed"].cancel()

    asyncio.run(scenario())


def test_a_feed_is_fresh_once_listed_and_while_heard() -> None:
    """Lists and bookmarks both count."""
    feed = ScriptedInformer("pods")
    check = health.informer_check(feed)
    assert check() == "pods are not listed yet"
    feed.has_synced = True
    assert check() is None
    feed.age = health.FRESH_SECONDS + 1
    assert check() == "nothing heard about pods for 151 s"


@pytest.mark.parametrize(
    ("age", "failures", "error", "want"),
    [
        pytest.param(1.0, 0, None, None, id="fresh"),
        pytest.param(1.0, 99, None, None, id="fresh again after failures"),
        pytest.param(999.0, 1, None, None, id="being opened again"),
        pytest.param(999.0, 99, Retryable("away"), None, id="the API server is away"),
        pytest.param(
            999.0, 99, None, "watches that cannot be opened again: pods", id="broken for good"
        ),
    ],
)
def test_only_what_a_restart_heals_is_dead(
    age: float, failures: int, error: EdgeError | None, want: str | None
) -> None:
    """A watch that cannot be opened although the API server answers."""

    async def scenario() -> None:
        clock, feed = ManualClock(), ScriptedInformer("pods")
        feed.age, feed.failures = age, failures
        broken = health.WatchHealth(Server(error), clock, [feed])
        task = asyncio.create_task(broken.run())
        assert broken.check() is None
        await clock.advance(health.EXAMINE_SECONDS)
        assert broken.check() == want
        feed.age = 0.0
        await clock.advance(health.EXAMINE_SECONDS)
        assert broken.check() is None
        task.cancel()

    asyncio.run(scenario())
