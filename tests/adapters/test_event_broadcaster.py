"""Events: what is sent, merged, limited, dropped, and tried again."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import json
import logging
from collections.abc import AsyncIterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moorage.adapters import event_broadcaster
from moorage.adapters.event_broadcaster import EventBroadcaster, shortened_note
from moorage.ports.errors import Conflict, Forbidden, NotFound, Retryable
from moorage.ports.event_recorder import Event, ObjectRef
from tests.fakes.clocks import EPOCH, EagerClock, settle
from tests.fakes.kube import ScriptedHttp
from tests.fakes.sinks import CountingTelemetry

POD = ObjectRef("Pod", "web-1", "uid-1", "ns")
EVENT = Event(
    POD,
    "FailedScheduling",
    "0/1 nodes are available.",
    "Scheduling",
    controller="binpack",
    warning=True,
)
COLLECTION = "/apis/events.k8s.io/v1/namespaces/ns/events"


@dataclasses.dataclass
class Bench:
    """A sender that runs, and what it was given to run with."""

    sender: EventBroadcaster
    http: ScriptedHttp
    clock: EagerClock
    telemetry: CountingTelemetry

    def sent(self) -> list[tuple[str, str, Any]]:
        """Method, last part of the path, body of each call."""
        return [
            (call.method, call.path.rsplit("/", 1)[1], json.loads(call.body))
            for call in self.http.calls
        ]


@contextlib.asynccontextmanager
async def sending(workers: int = 2, host: str = "host") -> AsyncIterator[Bench]:
    """A running sender whose API server says yes to everything unless scripted."""
    http, clock, telemetry = ScriptedHttp(), EagerClock(), CountingTelemetry()
    http.default = b"{}"
    sender = EventBroadcaster(http, clock, telemetry, host, workers)
    task = asyncio.create_task(sender.run())
    try:
        yield Bench(sender, http, clock, telemetry)
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


def test_an_event_as_the_api_server_wants_it() -> None:
    """Every field of events.k8s.io/v1; empty parts of references are left out."""

    async def scenario() -> None:
        async with sending() as bench:
            bench.sender.record(dataclasses.replace(EVENT, related=ObjectRef("Node", "n1", "")))
            await bench.sender.flush(1)
            stamp = int(EPOCH.timestamp()) * 10**9
            assert bench.sent() == [
                (
                    "POST",
                    "events",
                    {
                        "apiVersion": "events.k8s.io/v1",
                        "kind": "Event",
                        "metadata": {"name": f"web-1.{stamp:x}", "namespace": "ns"},
                        "eventTime": "2026-01-02T03:04:05.000000Z",
                        "reportingController": "binpack",
                        "reportingInstance": "binpack-host",
                        "action": "Scheduling",
                        "reason": "FailedScheduling",
                        "regarding": {
                            "apiVersion": "v1",
                            "kind": "Pod",
                            "namespace": "ns",
                            "name": "web-1",
                            "uid": "uid-1",
                        },
                        "related": {"apiVersion": "v1", "kind": "Node", "name": "n1"},
                        "note": "0/1 nodes are available.",
                        "type": "Warning",
                    },
                )
            ]
            assert bench.http.calls[0].path == COLLECTION

    asyncio.run(scenario())


def test_limits_of_length() -> None:
    """Cluster-scoped objects' events live in default; instance and name are cut to what the API
    server takes.
    """

    async def scenario() -> None:
        async with sending(host="h" * 200) as bench:
            profile = ObjectRef(
                "SchedulerProfile", "p" * 253, "uid-p", api_version="moorage.dev/v1alpha1"
            )
            bench.sender.record(
                Event(profile, "Activated", "x" * 5000, "Activate", controller="moorage")
            )
            await bench.sender.flush(1)
            body = bench.sent()[0][2]
            assert bench.http.calls[0].path == "/apis/events.k8s.io/v1/namespaces/default/events"
            assert (
                body["metadata"]["namespace"] == "default" and len(body["metadata"]["name"]) == 253
            )
            assert len(body["reportingInstance"]) == 128
            assert body["note"] == "x" * 1020 + " ..."
            assert body["type"] == "Normal"

    asyncio.run(scenario())


def test_notes_are_one_printable_line() -> None:
    """Whatever an extender or an annotation said."""

    async def scenario() -> None:
        async with sending() as bench:
            profile = ObjectRef(
                "SchedulerProfile", "p", "uid-p", api_version="moorage.dev/v1alpha1"
            )
            bench.sender.record(
                Event(profile, "Activated", "no\n\x1b[31m\u202e", "Activate", controller="moorage")
            )
            await bench.sender.flush(1)
            assert bench.sent()[0][2]["note"] == r"no\n\x1b[31m\u202e"

    asyncio.run(scenario())


@given(st.text(max_size=2000))
def test_notes_are_cut_between_characters(note: str) -> None:
    """At most 1024 bytes of valid UTF-8, the beginning of the note, marked when cut."""
    cut = shortened_note(note)
    assert len(cut.encode()) <= 1024
    assert cut == note or (
        cut.endswith(" ...")
        and note.startswith(cut.removesuffix(" ..."))
        and len(note.encode()) > 1024
    )


def test_what_is_to_be_told_once_has_one_name() -> None:
    """Whichever replica tells it, and whenever: the API server refuses the second, which is no
    fault. Another text, or another object, is another event.
    """
    once = dataclasses.replace(EVENT, once=True)

    async def names(*events: Event, hours: float = 0, **sender: Any) -> list[str]:
        async with sending(**sender) as bench:
            bench.clock.jump(3600 * hours)
            for event in events:
                bench.http.answers.append(Conflict("POST", 409))
                bench.sender.record(event)
                await bench.sender.flush(1)
            assert bench.telemetry.counts["event", "failed"] == 0
            return [body["metadata"]["name"] for _, _, body in bench.sent()]

    other = dataclasses.replace(once, note="another")
    elsewhere = dataclasses.replace(once, regarding=dataclasses.replace(POD, uid="uid-2"))
    first = asyncio.run(names(once, other, elsewhere))
    assert len({*first}) == 3
    assert all(name.startswith("web-1.") for name in first)
    assert asyncio.run(names(once, hours=1, host="another")) == first[:1]


def test_repetitions_become_a_series() -> None:
    """The same event within six minutes: created once, then counted from two on; another note is
    another event.
    """

    async def scenario() -> None:
        async with sending() as bench:
            for _ in range(3):
                bench.sender.record(EVENT)
                await settle()
                bench.clock.jump(60)
            bench.sender.record(dataclasses.replace(EVENT, note="0/2 nodes are available."))
            await settle()
            first, second, third, fourth = bench.sent()
            name = first[2]["metadata"]["name"]
            assert second == (
                "PATCH",
                name,
                {"series": {"count": 2, "lastObservedTime": "2026-01-02T03:05:05.000000Z"}},
            )
            assert third == (
                "PATCH",
                name,
                {"series": {"count": 3, "lastObservedTime": "2026-01-02T03:06:05.000000Z"}},
            )
            assert fourth[0] == "POST" and fourth[2]["metadata"]["name"] != name
            assert bench.http.calls[1].content_type == "application/merge-patch+json"

    asyncio.run(scenario())


def test_a_series_ends_after_six_minutes_of_silence() -> None:
    """What comes later is a new event."""

    async def scenario() -> None:
        async with sending() as bench:
            bench.sender.record(EVENT)
            await settle()
            bench.clock.jump(event_broadcaster.SERIES_SECONDS)
            bench.sender.record(EVENT)
            await settle()
            assert [method for method, _, _ in bench.sent()] == ["POST", "POST"]

    asyncio.run(scenario())


def test_repetitions_while_one_is_being_sent_are_told_at_once_after_it() -> None:
    """While the create is on its way, repetitions only raise the count; one patch brings them
    all.
    """

    async def scenario() -> None:
        async with sending(workers=4) as bench:
            gate = asyncio.Event()

            async def slow(_call: Any) -> bytes:
                await gate.wait()
                return b"{}"

            bench.http.answers.append(slow)
            bench.sender.record(EVENT)
            await settle()
            for _ in range(5):
                bench.sender.record(EVENT)
            await settle()
            assert len(bench.http.calls) == 1
            gate.set()
            await settle()
            assert [
                (method, body.get("series", {}).get("count")) for method, _, body in bench.sent()
            ] == [("POST", None), ("PATCH", 6)]
            assert bench.telemetry.counts["event", "merged"] == 5

    asyncio.run(scenario())


def test_an_object_has_a_budget() -> None:
    """25 at once, then one more each five minutes, for each object and controller alone; a limited
    count goes with the next.
    """

    async def scenario() -> None:
        async with sending() as bench:
            for number in range(30):
                bench.sender.record(dataclasses.replace(EVENT, note=f"note {number}"))
            await settle(200)
            assert len(bench.http.calls) == event_broadcaster.BURST
            assert bench.telemetry.counts["event", "limited"] == 5
            other = dataclasses.replace(EVENT, regarding=ObjectRef("Pod", "web-2", "uid-2", "ns"))
            bench.sender.record(other)
            await settle()
            assert len(bench.http.calls) == event_broadcaster.BURST + 1
            bench.clock.jump(event_broadcaster.REFILL_SECONDS)
            bench.sender.record(dataclasses.replace(EVENT, note="note 29"))
            bench.sender.record(dataclasses.replace(EVENT, note="note 28"))
            await settle()
            assert len(bench.http.calls) == event_broadcaster.BURST + 2
            assert bench.sent()[-1][2]["series"]["count"] == 2

    asyncio.run(scenario())


def test_an_event_that_expired_is_created_again() -> None:
    """A patch that finds nothing: a new event, with the count so far."""

    async def scenario() -> None:
        async with sending() as bench:
            bench.sender.record(EVENT)
            await settle()
            bench.http.answers.append(NotFound("PATCH", 404))
            bench.sender.record(EVENT)
            await settle()
            methods = [
                (method, body.get("series", {}).get("count")) for method, _, body in bench.sent()
            ]
            assert methods == [("POST", None), ("PATCH", 2), ("POST", 2)]
            assert bench.sent()[0][2]["metadata"]["name"] != bench.sent()[2][2]["metadata"]["name"]

    asyncio.run(scenario())


def test_faults_are_tried_again_refusals_are_not(caplog: pytest.LogCaptureFixture) -> None:
    """A time-out is tried again, as late as asked for; an event that exists by then counts as sent;
    a refusal is logged once.
    """

    async def scenario() -> None:
        async with sending(workers=1) as bench:
            bench.http.answers.extend(
                [
                    Retryable("x", after=3.0),
                    Retryable("y", outcome_unknown=True),
                    Conflict("POST", 409),
                ]
            )
            bench.sender.record(EVENT)
            await settle()
            assert bench.clock.slept == [3.0, 0.4]
            assert bench.telemetry.counts["event", "sent"] == 1
            bench.http.answers.append(
                Forbidden("POST", 403, "Forbidden", "namespace is being terminated")
            )
            bench.sender.record(dataclasses.replace(EVENT, note="other"))
            await settle()
            assert bench.telemetry.counts["event", "failed"] == 1
            calls = len(bench.http.calls)
            bench.http.answers.extend([Retryable("x")] * 500)
            began = bench.clock.boottime()
            bench.sender.record(dataclasses.replace(EVENT, note="third"))
            await settle(5000)
            assert bench.telemetry.counts["event", "failed"] == 2
            assert (
                event_broadcaster.GIVE_UP_SECONDS
                <= bench.clock.boottime() - began
                < event_broadcaster.GIVE_UP_SECONDS + 10
            )
            assert 100 < len(bench.http.calls) - calls < 150, "a few seconds apart"
            names = {body["metadata"]["name"] for _, _, body in bench.sent()[calls:]}
            assert len(names) == 1, "so that none is made twice"

    asyncio.run(scenario())
    assert "namespace is being terminated" in caplog.text


def test_one_that_always_breaks_keeps_no_other_from_being_sent() -> None:
    """It goes behind the others; what ends its way is counted once."""

    async def scenario() -> None:
        async with sending(workers=1) as bench:

            async def answer(call: Any) -> bytes:
                if b"poison" in call.body:
                    raise Retryable("x", outcome_unknown=True)
                return b""

            bench.http.answers.extend([answer] * 1000)
            bench.sender.record(dataclasses.replace(EVENT, note="poison"))
            for number in range(10):
                bench.sender.record(dataclasses.replace(EVENT, note=str(number)))
            await settle(200)
            assert bench.telemetry.counts["event", "sent"] == 10

    asyncio.run(scenario())


def test_a_full_queue_drops_and_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits: what does not fit is counted."""
    monkeypatch.setattr(event_broadcaster, "MAX_QUEUED_EVENTS", 3)
    telemetry = CountingTelemetry()

    async def scenario() -> EventBroadcaster:
        sender = EventBroadcaster(ScriptedHttp(), EagerClock(), telemetry, "host")
        for number in range(5):
            sender.record(dataclasses.replace(EVENT, note=str(number)))
        return sender

    assert asyncio.run(scenario()).dropped == 2
    assert telemetry.counts["event", "dropped"] == 2


def test_flush_gives_up_in_time(caplog: pytest.LogCaptureFixture) -> None:
    """An API server that hangs does not hold up the end of the process."""

    async def scenario() -> None:
        async with sending(workers=1) as bench:

            async def never(_call: Any) -> bytes:
                await asyncio.get_running_loop().create_future()
                return b""

            bench.http.answers.append(never)
            bench.sender.record(EVENT)
            bench.sender.record(dataclasses.replace(EVENT, note="other"))
            await settle()
            async with asyncio.timeout(10):
                await bench.sender.flush(0.05)

    asyncio.run(scenario())
    assert "2 events were not sent before the end" in caplog.text


def test_memory_is_bounded() -> None:
    """Ten thousand objects: the tables keep the newest few thousand only."""

    async def scenario() -> None:
        async with sending() as bench:
            bench.sender.record(EVENT)
            for number in range(10_000):
                bench.sender.record(
                    dataclasses.replace(
                        EVENT, regarding=ObjectRef("Pod", f"p{number}", f"u{number}", "ns")
                    )
                )
                if number % 500 == 0:
                    await bench.sender.flush(5)
                    bench.sender.record(EVENT)
            assert len(bench.sender._series) <= event_broadcaster.MAX_TABLE_ENTRIES + 1
            assert len(bench.sender._buckets) <= event_broadcaster.MAX_TABLE_ENTRIES
            assert bench.sender._series[EVENT].count == 21  # what goes on is not among the oldest

    asyncio.run(scenario())


def test_every_event_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    """Warnings as warnings, with the object and the reason as fields, merged ones too."""

    async def scenario() -> None:
        async with sending() as bench:
            bench.sender.record(EVENT)
            bench.sender.record(EVENT)

    with caplog.at_level(logging.INFO):
        asyncio.run(scenario())
    logged = [
        record
        for record in caplog.records
        if record.getMessage() == "event: 0/1 nodes are available."
    ]
    assert [(r.levelno, r.__dict__["pod"], r.__dict__["reason"]) for r in logged] == [
        (logging.WARNING, "ns/web-1", "FailedScheduling")
    ] * 2


def test_names_never_repeat() -> None:
    """Two events of one object in the same microsecond have different names."""

    async def scenario() -> None:
        async with sending() as bench:
            for note in "abc":
                bench.sender.record(dataclasses.replace(EVENT, note=note))
            await bench.sender.flush(1)
            names = [body["metadata"]["name"] for _, _, body in bench.sent()]
            assert len(set(names)) == 3

    asyncio.run(scenario())
