"""The Lease over the generated client: what goes over the wire, in a time zone that is not UTC."""

from __future__ import annotations

import asyncio
import contextlib
import datetime
import json
import time
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from moorage.adapters.kube_leases import KubeLease
from moorage.adapters.kube_session import KubeSession, KubeSource
from moorage.adapters.wall_clock import SystemClock
from moorage.ports.errors import Conflict, Forbidden, NotFound, Retryable
from moorage.ports.leases import LeaseRecord
from tests.adapters.api_server import ApiServer, answers, api_server, status, streams
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
async def lease() -> AsyncIterator[tuple[ApiServer, KubeLease]]:
    """A server and one Lease on it."""
    async with api_server() as server:
        session = await KubeSession.open(KubeSource(master=server.url), "moorage/0 (me)", ManualClock())
        try:
            yield server, KubeLease(session.api, "ns", "moorage", 0.3)
        finally:
            await session.close()


def body(holder: str = "a", version: str = "7", **metadata: Any) -> dict[str, Any]:
    """A Lease as the API server writes it."""
    spec = {"holderIdentity": holder, "leaseDurationSeconds": 15, "leaseTransitions": 2}
    times = {"acquireTime": "2026-01-02T03:04:05.000000Z", "renewTime": "2026-01-02T03:05:05.123456Z"}
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"resourceVersion": version, **metadata},
        "spec": spec | times,
    }


@pytest.mark.usefixtures("_elsewhere")
def test_times_are_utc_with_six_digits() -> None:
    """Read and written times are UTC whatever the process's zone is; even a whole second is written with microseconds."""
    whole = datetime.datetime(2026, 1, 2, 3, 4, 5, tzinfo=datetime.UTC)
    later = datetime.datetime(2026, 1, 2, 3, 5, 5, 123456, tzinfo=datetime.timezone(datetime.timedelta(hours=-3)))

    async def scenario() -> None:
        async with lease() as (server, store):
            server.then("GET", PATH, answers(body()))
            server.then("PUT", PATH, answers(body(version="8")))
            record, version = await store.read()
            assert (record.holder, record.duration, record.transitions, version) == ("a", 15, 2, "7")
            assert record.acquired == whole
            assert record.renewed is not None and record.renewed.utcoffset() == datetime.timedelta()
            assert await store.replace(LeaseRecord("b", 15, whole, later, 3), "7") == "8"
            spec = json.loads(server.bodies[-1])["spec"]
            assert spec["acquireTime"] == "2026-01-02T03:04:05.000001+00:00"
            assert spec["renewTime"] == "2026-01-02T06:05:05.123456+00:00"
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
    """Labels, annotations and owners of the Lease survive a renewal; the write names the version that it replaces."""

    async def scenario() -> None:
        async with lease() as (server, store):
            owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": "u"}
            server.then("GET", PATH, answers(body(labels={"a": "b"}, annotations={"c": "d"}, ownerReferences=[owner])))
            server.then("PUT", PATH, answers(body(version="8")))
            record, version = await store.read()
            await store.replace(record, version)
            metadata = json.loads(server.bodies[-1])["metadata"]
            assert metadata["labels"] == {"a": "b"} and metadata["annotations"] == {"c": "d"}
            assert metadata["ownerReferences"] == [owner] and metadata["resourceVersion"] == "7"

    asyncio.run(scenario())


def test_a_lease_without_spec_is_read_as_free() -> None:
    """Somebody made an empty Lease: nobody holds it."""

    async def scenario() -> None:
        async with lease() as (server, store):
            server.then("GET", PATH, answers({"kind": "Lease", "metadata": {"resourceVersion": "1"}}))
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
    """Everything that the generated client raises is one of ours; a server that hangs is given up within the time-out."""

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
    """A server that hangs: read and replace end within the time-out, too."""

    async def scenario() -> None:
        async with lease() as (server, store):
            server.then("GET", PATH, streams(3.0))
            server.then("PUT", PATH, streams(3.0))
            for request in (store.read(), store.replace(LeaseRecord("a", 15, None, None, 0), "7")):
                started = time.monotonic()
                with pytest.raises(Retryable):
                    await request
                assert time.monotonic() - started < 1.5

    asyncio.run(scenario())
