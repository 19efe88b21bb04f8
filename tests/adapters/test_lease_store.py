"""The Lease: what goes over the wire, in a time zone that is not UTC."""

from __future__ import annotations

import asyncio
import contextlib
import datetime
import json
import time
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from aiohttp import web

from moorage.adapters.kube_session import KubeSession, KubeSource
from moorage.adapters.lease_store import KubeLeaseStore
from moorage.adapters.system_clock import SystemClock
from moorage.ports.errors import Conflict, Forbidden, NotFound, Retryable
from moorage.ports.leadership import LeaseRecord
from tests.adapters.api_server import StubApiServer, answers, api_server, status, streams
from tests.fakes.clocks import ManualClock

COLLECTION = "/apis/coordination.k8s.io/v1/namespaces/ns/leases"
PATH = COLLECTION + "/moorage"


@pytest.fixture(params=["America/St_Johns", "Asia/Kathmandu"])
def _elsewhere(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The process lives in a time zone with an odd offset."""
    monkeypatch.setenv("TZ", request.param)
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@contextlib.asynccontextmanager
async def lease() -> AsyncIterator[tuple[StubApiServer, KubeLeaseStore]]:
    """A server and one Lease on it."""
    async with api_server() as server:
        session = await KubeSession.open(
            KubeSource(master=server.url), "moorage/0 (me)", ManualClock()
        )
        try:
            yield server, KubeLeaseStore(session, "ns", "moorage", 0.3)
        finally:
            await session.close()


def body(holder: str = "a", version: str = "7", **metadata: Any) -> dict[str, Any]:
    """A Lease as the API server writes it."""
    spec = {"holderIdentity": holder, "leaseDurationSeconds": 15, "leaseTransitions": 2}
    times = {
        "acquireTime": "2026-01-02T03:04:05.000000Z",
        "renewTime": "2026-01-02T03:05:05.123456Z",
    }
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"resourceVersion": version, **metadata},
        "spec": spec | times,
    }


@pytest.mark.usefixtures("_elsewhere")
def test_times_are_utc_with_six_digits() -> None:
    """Read and written times are UTC whatever the process's zone is; a whole second has six digits,
    too, or it would be refused.
    """
    whole = datetime.datetime(2026, 1, 2, 3, 4, 5, tzinfo=datetime.UTC)
    later = datetime.datetime(
        2026, 1, 2, 3, 5, 5, 123456, tzinfo=datetime.timezone(datetime.timedelta(hours=-3))
    )

    async def scenario() -> None:
        async with lease() as (server, store):
            server.then("GET", PATH, answers(body()))
            server.then("PATCH", PATH, answers(body(version="8")))
            record, version = await store.read()
            assert (record.holder, record.duration, record.transitions, version) == (
                "a",
                15,
                2,
                "7",
            )
            assert record.acquired == whole
            assert record.renewed is not None and record.renewed.utcoffset() == datetime.timedelta()
            assert await store.replace(LeaseRecord("b", 15, whole, later, 3), "7") == "8"
            spec = json.loads(server.bodies[-1])["spec"]
            assert spec["acquireTime"] == "2026-01-02T03:04:05.000000Z"
            assert spec["renewTime"] == "2026-01-02T06:05:05.123456Z"
            assert server.requests[-1].headers["User-Agent"] == "moorage/0 (me)"

    asyncio.run(scenario())


@pytest.mark.usefixtures("_elsewhere")
def test_the_clock_is_aware_and_utc() -> None:
    """The wall clock gives UTC, aware; the boot time clock goes on."""

    async def scenario() -> None:
        clock = SystemClock()
        assert clock.now().utcoffset() == datetime.timedelta()
        assert abs(clock.now().timestamp() - time.time()) < 1
        before = clock.boottime()
        await clock.sleep(0.01)
        assert clock.boottime() >= before + 0.009

    asyncio.run(scenario())


def test_what_others_put_there_is_kept() -> None:
    """Only the spec is written, over exactly the version that was read, or over whatever a holder
    has.
    """
    record = LeaseRecord("b", 15, None, None, 3)
    spec = {
        "holderIdentity": "b",
        "leaseDurationSeconds": 15,
        "acquireTime": None,
        "renewTime": None,
        "leaseTransitions": 3,
    }

    async def scenario() -> None:
        async with lease() as (server, store):
            server.then("PATCH", PATH, answers(body(version="8")))
            assert await store.replace(record, "7") == "8"
            assert json.loads(server.bodies[-1]) == {
                "metadata": {"resourceVersion": "7"},
                "spec": spec,
            }
            assert server.requests[-1].content_type == "application/merge-patch+json"
            assert await store.rewrite(record, "a") == "8"
            first, *others = json.loads(server.bodies[-1])
            assert first == {"op": "test", "path": "/spec/holderIdentity", "value": "a"}
            assert others == [
                {"op": "add", "path": f"/spec/{field}", "value": value}
                for field, value in spec.items()
            ]
            assert server.requests[-1].content_type == "application/json-patch+json"

    asyncio.run(scenario())


def test_what_follows_a_request_without_an_answer_has_a_new_connection() -> None:
    """What happened to one connection may have happened to all that are as old; answers, also a no,
    show that it is alive.
    """

    async def scenario() -> None:
        async with lease() as (server, store):
            server.then(
                "GET",
                PATH,
                answers(body()),
                answers(body()),
                status(404, "NotFound"),
                streams(5.0),
                answers(body()),
                answers(body()),
            )

            async def port() -> object:
                with contextlib.suppress(NotFound, Retryable):
                    await store.read()
                transport = server.requests[-1].transport
                assert transport is not None
                return transport.get_extra_info("peername")[1]

            first, second, refused, hung, fresh, last = [await port() for _ in range(6)]
            assert first == second == refused == hung
            assert fresh == last != first

    asyncio.run(scenario())


def test_a_lease_without_spec_is_read_as_free() -> None:
    """Somebody made an empty Lease: nobody holds it."""

    async def scenario() -> None:
        async with lease() as (server, store):
            server.then(
                "GET", PATH, answers({"kind": "Lease", "metadata": {"resourceVersion": "1"}})
            )
            assert await store.read() == (LeaseRecord("", 0, None, None, 0), "1")

    asyncio.run(scenario())


@pytest.mark.parametrize(
    ("answer", "want", "unknown"),
    [
        (status(409, "Conflict"), Conflict, None),
        (status(404, "NotFound"), NotFound, None),
        (status(403, "Forbidden"), Forbidden, None),
        (status(500, "InternalError"), Retryable, True),
        (streams(5.0), Retryable, True),
        (streams(abort=True), Retryable, True),
        (answers(b"[1]"), Retryable, True),
        (answers({"spec": {"renewTime": "yesterday"}}), Retryable, True),
    ],
    ids=["409", "404", "403", "500", "hangs", "breaks", "no-object", "bad-time"],
)
def test_errors_are_translated(answer: Any, want: type[Exception], unknown: bool | None) -> None:
    """Whatever comes back, it is one of our errors; a server that hangs is given up within the
    time-out.
    """

    async def scenario() -> None:
        async with lease() as (server, store):
            server.then("POST", COLLECTION, answer)
            started = time.monotonic()
            with pytest.raises(want) as caught:
                await store.create(LeaseRecord("a", 15, None, None, 0))
            assert time.monotonic() - started < 1.5
            assert getattr(caught.value, "outcome_unknown", None) == unknown

    asyncio.run(scenario())


def test_every_request_is_given_up_in_time() -> None:
    """A server that hangs."""

    async def scenario() -> None:
        async with lease() as (server, store):
            server.then("GET", PATH, streams(3.0))
            server.then("PATCH", PATH, streams(3.0))
            record = LeaseRecord("a", 15, None, None, 0)
            for request in (store.read(), store.replace(record, "7"), store.rewrite(record, "a")):
                started = time.monotonic()
                with pytest.raises(Retryable):
                    await request
                assert time.monotonic() - started < 1.5

    asyncio.run(scenario())


@pytest.mark.parametrize(
    "body",
    [
        b"[" * 100_000,
        b'{"metadata":{"resourceVersion":"\xff"}}',
        b"null",
        b"{}",
        b'{"spec":[]}',
        b'{"spec":{"renewTime":"x"}}',
        b"",
    ],
)
def test_an_answer_that_is_no_lease_is_no_answer(body: bytes) -> None:
    """It is asked for again, as after a time-out: whether a write was carried out is not known."""

    async def odd(_: web.Request) -> web.StreamResponse:
        return web.Response(body=body)

    async def scenario() -> None:
        async with lease() as (server, store):
            for method in ("GET", "PATCH"):
                server.then(method, PATH, odd)
            with pytest.raises(Retryable) as read:
                await store.read()
            assert not read.value.outcome_unknown
            with pytest.raises(Retryable) as written:
                await store.replace(LeaseRecord("b", 15, None, None, 3), "7")
            assert written.value.outcome_unknown

    asyncio.run(scenario())
