"""How watches end that do not end well: one answer, and a broken connection."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from typing import Any, cast

import pytest
from aiohttp import web as aiohttp_web

from towtank.handlers.dispatcher import RequestDispatcher
from towtank.model.api_errors import ApiError
from towtank.model.requests import ApiResponse
from towtank.serving import frontend, watch_streams
from towtank.serving.watch_streams import Watch, Watches
from towtank_tests.in_memory import InMemoryCluster

LINE = b'{"type":"BOOKMARK"}\n'
REQUEST = b"GET /api/v1/nodes?watch=1 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer x\r\n\r\n"


class FakeWatches:
    """Stands for answering, for all watches and for the one that is open."""

    def __init__(self, chunks: Callable[[], AsyncIterator[bytes]] | Exception) -> None:
        self._chunks = chunks
        self.closed = asyncio.Event()

    def answer(self, _: object) -> ApiResponse:
        """A watch."""
        return ApiResponse(200, InMemoryCluster().watching("/api/v1/nodes?watch=1"))

    def open(self, _: object) -> FakeWatches:
        """Itself."""
        if isinstance(self._chunks, Exception):
            raise self._chunks
        return self

    def chunks(self) -> AsyncIterator[bytes]:
        """Those that were given."""
        assert not isinstance(self._chunks, Exception)
        return self._chunks()

    def close(self) -> None:
        """Note it."""
        self.closed.set()


async def asked(told: FakeWatches, *, reads: bool = True) -> bytes:
    """All that is answered until the connection ends; a client that does not read gets nothing."""
    handler = frontend.HttpFrontend(
        cast(RequestDispatcher, told), cast(Watches, told), lambda token: token
    )
    runner = aiohttp_web.ServerRunner(handler.server(), shutdown_timeout=0.1)
    await runner.setup()
    await aiohttp_web.TCPSite(runner, "127.0.0.1", 0).start()
    reader, writer = await asyncio.open_connection(*runner.addresses[0][:2])
    try:
        writer.write(REQUEST)
        if not reads:
            reader._transport.pause_reading()  # type: ignore[attr-defined]
            await asyncio.wait_for(told.closed.wait(), 10)
            return b""
        return await asyncio.wait_for(
            _all(reader, b"\r\n\r\n" if isinstance(told._chunks, Exception) else None), 10
        )
    finally:
        writer.transport.abort()
        await runner.cleanup()


async def _all(reader: asyncio.StreamReader, until: bytes | None) -> bytes:
    read = b""
    try:
        if until:
            return await reader.readuntil(until)
        while chunk := await reader.read(65536):
            read += chunk
    except ConnectionError:
        return read
    return read


def test_a_fault_in_the_middle_of_a_watch_is_no_second_answer(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """What was told stays so; the stream has no end, the connection is broken, and it is logged."""

    async def chunks() -> AsyncIterator[bytes]:
        yield LINE
        await asyncio.sleep(0)
        raise KeyError("type")

    async def run() -> tuple[bytes, bool]:
        told = FakeWatches(chunks)
        return await asked(told), told.closed.is_set()

    with caplog.at_level(logging.ERROR):
        answer, closed = asyncio.run(run())
    assert answer.count(b"HTTP/1.1") <= 1 and b"500" not in answer
    assert not answer.endswith(b"0\r\n\r\n")
    assert closed
    assert [record.message for record in caplog.records] == ["a watch broke off"]


@pytest.mark.parametrize(
    ("fault", "code"), [(KeyError("x"), b"500"), (ApiError(429, "TooManyRequests", "x"), b"429")]
)
def test_a_watch_that_cannot_begin_is_refused(fault: Exception, code: bytes) -> None:
    """As any other request."""

    async def run() -> bytes:
        return await asked(FakeWatches(fault))

    assert asyncio.run(run()).startswith(b"HTTP/1.1 " + code)


def test_a_reader_that_does_not_read_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    """Soon, whatever is waiting for it."""
    monkeypatch.setattr(frontend, "_SEND_TIMEOUT_SECONDS", 0.1)

    async def chunks() -> AsyncIterator[bytes]:
        while True:
            yield LINE * 50_000

    async def run() -> None:
        await asked(FakeWatches(chunks), reads=False)

    asyncio.run(run())


def test_there_is_a_most_of_open_watches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of all resources together; one that is closed makes room."""
    monkeypatch.setattr(watch_streams, "MAX_OPEN_WATCHES", 2)

    async def run() -> None:
        one = InMemoryCluster()
        options: list[Any] = [
            one.watching(f"/api/v1/{plural}?watch=1") for plural in ("nodes", "namespaces", "pods")
        ]
        opened: list[Watch] = [one.watches.open(each) for each in options[:2]]
        with pytest.raises(ApiError) as refused:
            one.watches.open(options[2])
        assert refused.value.code == 429
        opened[0].close()
        assert isinstance(one.watches.open(options[2]), Watch)

    asyncio.run(run())
