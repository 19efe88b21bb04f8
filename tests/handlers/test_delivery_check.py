"""The comparison of what Kopf delivered with what the API server has, in virtual time."""

from __future__ import annotations

import asyncio
import json
import urllib.parse
from collections.abc import AsyncGenerator, Callable, Mapping
from typing import Any

import pytest

from moorage.handlers import delivery_check
from moorage.handlers.deliveries import Deliveries
from moorage.handlers.delivery_check import DeliveryCheck, WatcherDied
from moorage.ports.errors import EdgeError, NotFound, Retryable
from moorage.ports.http_calls import METADATA_ALONE, HttpCall
from tests.fakes.clocks import EagerClock

PATH = "/apis/example.dev/v1/things"


class Timeline(EagerClock):
    """Virtual time that passes while somebody sleeps; ``at`` holds what happens on the way, by
    seconds since the start.
    """

    def __init__(self) -> None:
        super().__init__()
        self._began = self.boottime()
        self.at: list[tuple[float, Callable[[], None]]] = []

    @property
    def time(self) -> float:
        """Seconds since the start."""
        return self.boottime() - self._began

    async def sleep(self, seconds: float) -> None:
        """Let the time pass, and what is due happen."""
        await super().sleep(seconds)
        for due in [entry for entry in self.at if entry[0] <= self.time]:
            self.at.remove(due)
            due[1]()


class Server:
    """Answers lists: objects by name with their version, or an error."""

    def __init__(self) -> None:
        self.version = 1
        self.objects: dict[str, int] = {}
        self.errors: list[EdgeError] = []
        self.odd_answers: list[bytes] = []
        self.lists = 0

    def put(self, name: str) -> None:
        """Make or change an object."""
        self.version += 1
        self.objects[name] = self.version

    def delete(self, name: str) -> None:
        """Delete an object."""
        self.version += 1
        del self.objects[name]

    def body(self, name: str) -> dict[str, Any]:
        """An object as it is now."""
        return {"metadata": {"name": name, "resourceVersion": str(self.objects[name])}}

    async def call(self, call: HttpCall) -> bytes:
        """A list."""
        path, _, query = call.path.partition("?")
        assert (call.method, path) == ("GET", PATH)
        asked = urllib.parse.parse_qs(query)
        name = asked.get("fieldSelector", [""])[0].removeprefix("metadata.name=")
        self.lists += not name and "continue" not in asked
        if self.errors:
            raise self.errors.pop(0)
        if self.odd_answers:
            return self.odd_answers.pop(0)
        if name:
            return self._list([name] if name in self.objects else [])
        assert call.accept == METADATA_ALONE
        first, names = int(asked.get("continue", ["0"])[0]), list(self.objects)
        rest = {"continue": str(first + 2)} if len(names) > first + 2 else {}
        return self._list(names[first : first + 2], **rest)

    def _list(self, names: list[str], **more: str) -> bytes:
        items = [self.body(name) for name in names]
        return json.dumps(
            {"metadata": {"resourceVersion": str(self.version), **more}, "items": items}
        ).encode()

    def stream(self, path: str) -> AsyncGenerator[bytes, None]:
        """Comparing watches nothing."""
        raise AssertionError("nobody asks for a stream")


class Bench:
    """A DeliveryCheck with a server, a clock and a Kopf that delivers what the test says."""

    def __init__(self) -> None:
        self.server, self.clock = Server(), Timeline()
        self.state: dict[str, int] = {}
        self.kind = Deliveries("things", self._tell)
        self.listed_at: float | None = None
        self.comparing = DeliveryCheck(
            self.server, self.clock, "/apis/example.dev/v1", [self.kind], self._listed
        )

    def kopf(self, name: str) -> None:
        """Kopf delivers an object as it is now."""
        self.kind.deliver(self.server.body(name), deleted=False)

    async def run(self, seconds: float) -> None:
        """Run until so much time has passed. Raises what ``DeliveryCheck.run`` raises."""
        task = asyncio.get_running_loop().create_task(self.comparing.run())
        while self.clock.time < seconds and not task.done():
            await asyncio.sleep(0)
        if task.done():
            await task
        task.cancel()

    def _tell(self, name: str, body: Mapping[str, Any] | None) -> None:
        if body is None:
            del self.state[name]
        else:
            self.state[name] = int(body["metadata"]["resourceVersion"])

    def _listed(self) -> None:
        self.listed_at = self.clock.time


def test_an_empty_cluster_is_listed_at_once() -> None:
    """With no objects at all nothing has to be waited for."""
    bench = Bench()
    asyncio.run(bench.run(1.0))
    assert bench.listed_at == 0.0
    assert bench.comparing.problem is None


def test_listed_means_that_kopf_has_delivered_all() -> None:
    """The engine is told only when the last object of the list has come."""
    bench = Bench()
    bench.server.put("a")
    bench.server.put("b")
    bench.clock.at = [(1.0, lambda: bench.kopf("a")), (3.0, lambda: bench.kopf("b"))]
    asyncio.run(bench.run(10.0))
    assert bench.listed_at == pytest.approx(3.0, abs=delivery_check.POLL_SECONDS)
    assert bench.state == bench.server.objects


def test_what_is_owed_may_stand_on_any_page() -> None:
    """A list comes by pages of metadata, and what is owed is read whole."""
    bench = Bench()
    for number in range(5):
        bench.server.put(f"a{number}")
    asyncio.run(bench.run(delivery_check.FIRST_GRACE_SECONDS + 1))
    assert bench.state == bench.server.objects


def test_a_silent_kopf_does_not_stop_the_start(caplog: pytest.LogCaptureFixture) -> None:
    """What Kopf has not delivered in time is handed over, with an error in the log that names
    it.
    """
    bench = Bench()
    bench.server.put("a")
    asyncio.run(bench.run(delivery_check.FIRST_GRACE_SECONDS + 1))
    assert bench.state == bench.server.objects
    assert bench.listed_at == pytest.approx(
        delivery_check.FIRST_GRACE_SECONDS, abs=2 * delivery_check.POLL_SECONDS
    )
    assert "things" in caplog.text and "'a'" in caplog.text


@pytest.mark.parametrize(
    ("error", "want"),
    [
        pytest.param(NotFound(f"GET {PATH}", 404), "are the CRDs installed", id="no CRD yet"),
        pytest.param(Retryable("no route"), "no route", id="API server away"),
    ],
)
def test_the_first_list_is_tried_until_it_comes(error: EdgeError, want: str) -> None:
    """Readiness says what is wrong meanwhile."""
    bench = Bench()
    bench.server.errors = [error] * 3
    problems: list[str | None] = []
    bench.clock.at = [(0.1, lambda: problems.append(bench.comparing.problem))]
    asyncio.run(bench.run(30.0))
    assert want in str(problems[0])
    assert bench.listed_at == pytest.approx(0.5 + 1.0 + 2.0)


def test_a_missed_change_is_made_up_for_within_the_period() -> None:
    """A change and a deletion that Kopf never tells reach the engine after one comparison."""
    bench = Bench()
    bench.server.put("changed")
    bench.server.put("vanished")
    bench.clock.at = [
        (0.05, lambda: bench.kopf("changed")),
        (0.05, lambda: bench.kopf("vanished")),
        (20.0, lambda: bench.server.put("changed")),
        (20.0, lambda: bench.server.delete("vanished")),
    ]
    asyncio.run(bench.run(delivery_check.PERIOD_SECONDS + delivery_check.GRACE_SECONDS + 1))
    assert bench.state == bench.server.objects


def test_a_late_delivery_is_no_strike() -> None:
    """What comes within the grace period was under way: however often that happens, the watcher
    lives.
    """
    bench = Bench()
    for minute in range(1, 8):
        at = minute * delivery_check.PERIOD_SECONDS
        # The grace period of each comparison moves the next one by the time that Kopf took.
        bench.clock.at += [
            (at - 1, lambda: bench.server.put("a")),
            (at + 2.5, lambda: bench.kopf("a")),
        ]
    asyncio.run(bench.run(7 * delivery_check.PERIOD_SECONDS))
    assert bench.state == bench.server.objects


def test_a_dead_watcher_ends_the_process() -> None:
    """Three comparisons in a row with something owed: only a restart helps."""
    bench = Bench()
    bench.clock.at = [(minute * 60.0 - 1, lambda: bench.server.put("a")) for minute in range(1, 6)]
    with pytest.raises(WatcherDied, match="things"):
        asyncio.run(bench.run(10 * delivery_check.PERIOD_SECONDS))
    assert bench.server.lists == 1 + delivery_check.MAX_FAILED_COMPARISONS


def test_strikes_are_counted_in_a_row() -> None:
    """A comparison that finds nothing owed clears the count."""
    bench = Bench()
    bench.clock.at = [(at, lambda: bench.server.put("a")) for at in (50.0, 110.0, 240.0, 310.0)]
    asyncio.run(bench.run(8 * delivery_check.PERIOD_SECONDS))
    assert bench.state == bench.server.objects


def test_a_list_that_fails_changes_nothing() -> None:
    """An outage of the API server, or a vanished CRD, is no sign of anything."""
    bench = Bench()
    bench.server.put("a")
    bench.clock.at = [
        (0.05, lambda: bench.kopf("a")),
        (
            30.0,
            lambda: bench.server.errors.extend([Retryable("away"), NotFound(f"GET {PATH}", 404)]),
        ),
    ]
    asyncio.run(bench.run(4 * delivery_check.PERIOD_SECONDS))
    assert bench.state == {"a": 2}


@pytest.mark.parametrize(
    "answer",
    [
        b"<html>",
        b"[]",
        b'{"items": null, "metadata": {}}',
        b'{"metadata": {"resourceVersion": "1"}}',
    ],
)
def test_an_answer_that_is_no_list_is_an_edge_error(answer: bytes) -> None:
    """A proxy's page, or anything else, is tried again like any failure."""
    bench = Bench()
    bench.server.odd_answers = [answer]
    asyncio.run(bench.run(5.0))
    assert bench.listed_at == 0.5
