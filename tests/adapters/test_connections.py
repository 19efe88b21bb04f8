"""Connections: answers of every shape in pieces of every size, reuse, and what counts as sent."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable

import pytest

from moorage.adapters.kube_session import connections as module
from moorage.adapters.kube_session.connections import (
    ConnectionFailed,
    ConnectionPool,
    RequestOptions,
)
from moorage.adapters.kube_session.http_response import HttpResponse
from moorage.ports.errors import Fenced

PLAIN = RequestOptions(timeout=5.0)
HEAD = b"HTTP/1.1 201 Created\r\n"
CHUNKED = b"Transfer-Encoding: chunked\r\n\r\n"


class Server:
    """Answers each request on each connection with the same bytes, in pieces; remembers what it
    got.
    """

    def __init__(self, answer: bytes, size: int = 10_000, *, ends: bool = False) -> None:
        self.requests: list[bytes] = []
        self.connections = 0
        self.tasks: list[asyncio.Task[None] | None] = []
        self._answer = answer
        self._size = size
        self._ends = ends

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection."""
        self.connections += 1
        self.tasks.append(asyncio.current_task())
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = int(head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0])
                self.requests.append(head + await reader.readexactly(length))
                for at in range(0, len(self._answer), self._size):
                    writer.write(self._answer[at : at + self._size])
                    await writer.drain()
                    await asyncio.sleep(0)
                if self._ends:
                    break
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()


@contextlib.asynccontextmanager
async def connections(server: Server) -> AsyncIterator[ConnectionPool]:
    """Connections to it."""
    listening = await asyncio.start_server(server.serve, "127.0.0.1", 0)
    port = listening.sockets[0].getsockname()[1]
    pool = ConnectionPool(f"http://127.0.0.1:{port}/prefix", None, None)
    pool.headers["User-Agent"] = "test"
    try:
        yield pool
    finally:
        pool.close()
        listening.close()
        await asyncio.gather(*(task for task in server.tasks if task is not None))


def ask(server: Server, times: int = 1, options: RequestOptions = PLAIN) -> list[HttpResponse]:
    """The answers to so many requests, one after another."""

    async def scenario() -> list[HttpResponse]:
        async with connections(server) as pool:
            return [
                await pool.request("POST", "/x?y=1", b"{}", "Content-Type: a/b\r\n", options)
                for _ in range(times)
            ]

    return asyncio.run(scenario())


@pytest.mark.parametrize("size", [1, 2, 7, 10_000])
@pytest.mark.parametrize(
    ("answer", "ends", "body"),
    [
        pytest.param(HEAD + b"Content-Length: 5\r\n\r\nhello", False, b"hello", id="length"),
        pytest.param(HEAD + b"Content-Length: 0\r\n\r\n", False, b"", id="empty"),
        pytest.param(
            HEAD + b"Transfer-Encoding: chunked\r\n\r\n3;a=b\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n",
            False,
            b"hello",
            id="chunks",
        ),
        pytest.param(
            HEAD + b"Transfer-Encoding: chunked\r\n\r\n5\r\n0\r\n\r\n\r\n0\r\n\r\n",
            False,
            b"0\r\n\r\n",
            id="chunk-like-an-end",
        ),
        pytest.param(
            b"HTTP/1.1 100 Continue\r\n\r\n" + HEAD + b"Content-Length: 2\r\n\r\nhi",
            False,
            b"hi",
            id="after-an-interim",
        ),
        pytest.param(
            HEAD + b"Connection: close\r\n\r\nto the end", True, b"to the end", id="up-to-the-end"
        ),
    ],
)
def test_answers_of_every_shape(answer: bytes, ends: bool, body: bytes, size: int) -> None:
    """Whatever the pieces, the answer is whole, twice in a row."""
    server = Server(answer, size, ends=ends)
    assert [(a.status, a.body) for a in ask(server, 2)] == [(201, body)] * 2
    assert server.connections == (2 if ends else 1)


def test_the_request_is_whole() -> None:
    """Path with the server's prefix, host, common and own headers, length and body."""
    server = Server(HEAD + b"Retry-After: 7\r\nContent-Length: 0\r\n\r\n")
    (answer,) = ask(server)
    head, _, body = server.requests[0].partition(b"\r\n\r\n")
    lines = head.decode().split("\r\n")
    assert lines[0] == "POST /prefix/x?y=1 HTTP/1.1"
    assert {"User-Agent: test", "Content-Type: a/b", "Content-Length: 2"} < set(lines)
    assert lines[1].startswith("Host: 127.0.0.1:")
    assert body == b"{}"
    assert answer.header(b"retry-after") == "7"


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(HEAD + b"Content-Length: many\r\n\r\n", id="length"),
        pytest.param(
            HEAD + b"Content-Length: -5\r\n\r\n5\r\nhello\r\n0\r\n\r\n", id="negative-length"
        ),
        pytest.param(HEAD + CHUNKED + b"zz\r\n0\r\n\r\n", id="chunk"),
        pytest.param(HEAD + CHUNKED + b"3\r\n0\r\n\r\n-8\r\n0\r\n\r\n", id="chunk-that-goes-back"),
        pytest.param(HEAD + CHUNKED + b"1" * 70_000, id="chunk-without-end"),
        pytest.param(HEAD + b"X: " + b"x" * 70_000, id="head-without-end"),
        pytest.param(b"HTTP/1.1 OK 200\r\nContent-Length: 0\r\n\r\n", id="status"),
        pytest.param(b"HTTP/1.1 2", id="cut-short"),
    ],
)
def test_nonsense_is_an_answer_that_did_not_come(
    answer: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    """What cannot be read may follow a deed that was done. The connection's end is no bug."""
    with pytest.raises(ConnectionFailed) as caught:
        ask(Server(answer, ends=True))
    assert caught.value.sent
    assert not caplog.records


@pytest.mark.parametrize(
    "head", [HEAD + CHUNKED + b"5000\r\n", HEAD + b"Content-Length: 20480\r\n\r\n", HEAD + b"\r\n"]
)
def test_an_answer_without_measure_is_given_up(
    head: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In whatever way it comes, no more of it is kept than any page of a list has."""
    monkeypatch.setattr(module, "MAX_BODY_BYTES", 10_000)
    with pytest.raises(ConnectionFailed, match="longer than 10000 bytes") as caught:
        ask(Server(head + b"x" * 20_480, 4096))
    assert caught.value.sent


def test_what_nobody_asked_for_is_no_answer() -> None:
    """A second answer to one request ends the connection, so that it is not taken for the next
    request's.
    """
    server = Server(
        HEAD + b"Content-Length: 2\r\n\r\nhi" + HEAD + b"Content-Length: 4\r\n\r\nevil", 41 - 12
    )

    async def scenario() -> None:
        async with connections(server) as pool:
            for _ in range(2):
                assert (await pool.request("POST", "/x", b"{}", "", PLAIN)).body == b"hi"
                await asyncio.sleep(0.05)
            assert server.connections == 2

    asyncio.run(scenario())


def test_silence_ends_in_time() -> None:
    """No answer within the time-out: the connection is given up, and the request may have been
    carried out.
    """
    with pytest.raises(ConnectionFailed, match="no answer within") as caught:
        ask(Server(b""), options=RequestOptions(timeout=0.05))
    assert caught.value.sent


def test_a_guard_that_says_no_leaves_the_connection_as_it_was() -> None:
    """Nothing is written, and the connection serves the next request."""
    server = Server(HEAD + b"Content-Length: 0\r\n\r\n")

    def closed() -> None:
        raise Fenced("closed")

    async def scenario() -> None:
        async with connections(server) as pool:
            with pytest.raises(Fenced):
                await pool.request("POST", "/x", b"{}", "", RequestOptions(5.0, closed))
            assert server.requests == []
            await pool.request("POST", "/x", b"{}", "", PLAIN)
            assert (server.connections, len(server.requests)) == (1, 1)

    asyncio.run(scenario())


@pytest.mark.parametrize("cancel", [lambda task: task.cancel()], ids=["cancelled"])
def test_a_cancelled_request_gives_its_connection_up(
    cancel: Callable[[asyncio.Task[HttpResponse]], object],
) -> None:
    """Its answer, if it still comes, must not be taken for the next one's."""
    server = Server(b"")

    async def scenario() -> None:
        async with connections(server) as pool:
            task = asyncio.create_task(pool.request("POST", "/x", b"{}", "", PLAIN))
            while not server.requests:
                await asyncio.sleep(0.01)
            cancel(task)
            with pytest.raises(asyncio.CancelledError):
                await task
            assert pool._take() is None

    asyncio.run(scenario())
