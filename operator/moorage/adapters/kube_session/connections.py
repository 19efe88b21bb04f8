"""Plain HTTP/1.1 connections for the many small requests: bindings, events, conditions.

A general client spends about 165 µs of CPU on each of them, this one about 70
(docs/adr/0002-own-connections.md), and it can do what no general client offers: the guard is asked
and the request is written in one synchronous step, so a replica that was stopped and goes on when
another one leads has nothing half-way out; and what the kernel has not delivered is dropped when
the other side is silent, and whenever this side ends the connection, be that by dying. It knows
what the API server needs and no more: one request at a time per connection, keep-alive, answers
with a length, in chunks, or up to the connection's end; no redirects, no compression.
"""

from __future__ import annotations

import asyncio
import collections
import dataclasses
import socket
import ssl
import struct
import time
import urllib.parse
import weakref
from collections.abc import Callable
from typing import Any, cast

from moorage.adapters.kube_session.http_response import (
    CHUNKED,
    HttpResponse,
    body_length,
    cut,
    number,
)

CONNECT_TIMEOUT_SECONDS = 5.0
IDLE_SECONDS = 75.0
"""How long an idle connection is kept; the API server closes it after 90 s."""
MAX_HEAD_BYTES = 2**16
MAX_BODY_BYTES = 2**30
"""Of an answer: what is longer is no page of a list."""
UNACKNOWLEDGED_SECONDS = 30.0
"""Seconds without an acknowledgement after which the kernel gives a connection up."""


class ConnectionFailed(Exception):
    """There is no answer. ``sent``: the request, or a part of it, was written."""

    def __init__(self, text: str, *, sent: bool) -> None:
        super().__init__(text)
        self.sent = sent


@dataclasses.dataclass(slots=True)
class PendingRequest:
    """One request: its bytes, the guard that is asked right before they are written, and what came
    of it.
    """

    data: bytes
    guard: Callable[[], None] | None
    answer: asyncio.Future[HttpResponse] | None = None
    """Once it was written."""
    refused: Exception | None = None
    """What the guard raised."""

    def send(self, connection: HttpConnection) -> None:
        """Ask and write in one step."""
        try:
            if self.guard is not None:
                self.guard()
        except Exception as error:  # noqa: BLE001 - raised to whoever waits for the answer
            self.refused = error
        else:
            self.answer = connection.send(self.data)

    def cancel(self) -> None:
        """Nobody waits for the answer any more."""
        if self.answer is not None:
            self.answer.cancel()


class HttpConnection(asyncio.Protocol):
    """One connection; ``send`` when the last answer is complete.

    ``first`` is sent in the moment that the connection is open: so it goes out together with the
    end of the TLS handshake.
    """

    def __init__(self, first: PendingRequest, unacknowledged: float) -> None:
        self.reusable = False
        """Whether another request may follow."""
        self.idle_since = 0.0
        self._first: PendingRequest | None = first
        self._unacknowledged = unacknowledged
        self._given_up = False
        self._transport: asyncio.Transport | None = None
        self._answer: asyncio.Future[HttpResponse] | None = None
        self._buffer = bytearray()
        self._head = b""
        self._chunks: list[bytes] = []
        self._length = 0
        """Bytes that came of this answer."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        set_user_timeout(transport.get_extra_info("socket"), self._unacknowledged)
        if self._given_up:
            self._transport.abort()
            return
        self.reusable = True
        if self._first is not None:
            self._first.send(self)
            self._first = None

    def connection_lost(self, exc: Exception | None) -> None:
        """It has ended, by either side."""
        self.reusable = False
        if self._head and body_length(self._head) is None and exc is None:
            self._finish(bytes(self._buffer))
        elif self._answer is not None and not self._answer.done():
            text = f"the connection ended: {exc or 'closed by the server'}"
            self._answer.set_exception(ConnectionFailed(text, sent=True))

    def send(self, request: bytes) -> asyncio.Future[HttpResponse]:
        """Write a request at once; the future is its answer. Raises ConnectionFailed with nothing
        sent.
        """
        if not self.reusable or self._transport is None or self._transport.is_closing():
            raise ConnectionFailed("the connection was closed", sent=False)
        self._answer = asyncio.get_running_loop().create_future()
        self._transport.write(request)
        return self._answer

    def close(self) -> None:
        """Cut the connection, whatever is under way."""
        self.reusable, self._given_up = False, True
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(ConnectionFailed("the connection was given up", sent=True))
        if self._transport is not None:
            self._transport.abort()

    def data_received(self, data: bytes) -> None:
        """Bytes of an answer; those that nobody has asked for end the connection."""
        if self._answer is None or self._answer.done():
            self.close()
            return
        self._buffer += data
        self._length += len(data)
        try:
            if self._length > MAX_BODY_BYTES:
                raise ValueError(f"it is longer than {MAX_BODY_BYTES} bytes")
            body = self._take_body() if self._head or self._take_head() else None
        except ValueError as error:
            self._head, text = b"", f"the answer cannot be read: {error}"
            self._answer.set_exception(ConnectionFailed(text, sent=True))
            self.close()
            return
        if body is not None:
            self._finish(body)

    def _take_head(self) -> bool:
        """Cut the head off the buffer once it is all there; interim (1xx) heads are passed over.
        Raises ValueError.
        """
        while (end := self._buffer.find(b"\r\n\r\n")) >= 0:
            head = bytes(self._buffer[:end]).lower()
            del self._buffer[: end + 4]
            if not head.startswith(b"http/1.1 1"):
                number(head[9:12], 10)
                self._head = head
                return True
        if len(self._buffer) > MAX_HEAD_BYTES:
            raise ValueError(f"its head is longer than {MAX_HEAD_BYTES} bytes")
        return False

    def _take_body(self) -> bytes | None:
        """Cut the body off the buffer once it is all there. Raises ValueError for nonsense."""
        length = body_length(self._head)
        if length == CHUNKED:
            return b"".join(self._chunks) if self._take_chunks() else None
        if length is None or len(self._buffer) < length:
            return None
        return cut(self._buffer, length)

    def _take_chunks(self) -> bool:
        """Cut off those that are all there; whether the last one was among them."""
        while (end := self._buffer.find(b"\r\n", 0, MAX_HEAD_BYTES)) >= 0:
            size = number(bytes(self._buffer[:end]).partition(b";")[0].strip(), 16)
            if len(self._buffer) < end + size + 4:
                return False
            del self._buffer[: end + 2]
            self._chunks.append(cut(self._buffer, size))
            del self._buffer[:2]
            if not size:
                return True
        if len(self._buffer) > MAX_HEAD_BYTES:
            raise ValueError("a chunk does not say how long it is")
        return False

    def _finish(self, body: bytes) -> None:
        head, self._head = self._head, b""
        if self._buffer or b"\r\nconnection: close" in head:
            self.reusable = False
        self._buffer.clear()
        self._chunks, self._length = [], 0
        if self._answer is not None and not self._answer.done():
            self._answer.set_result(HttpResponse(int(head[9:12]), head, body))


class ConnectionPool:
    """A pool without a limit (callers bound their own concurrency) to one server; all headers but a
    request's own are ``headers``.
    """

    def __init__(
        self,
        server: str,
        context: ssl.SSLContext | None,
        server_name: str | None,
        unacknowledged: float = UNACKNOWLEDGED_SECONDS,
    ) -> None:
        url = urllib.parse.urlsplit(server)
        self.headers: dict[str, str] = {}
        self._host = url.hostname or ""
        self._port = url.port or (443 if url.scheme == "https" else 80)
        self._prefix = url.path.rstrip("/")
        self._netloc = url.netloc
        self._tls: dict[str, Any] = (
            {"ssl": context, "server_hostname": server_name or self._host}
            if url.scheme == "https"
            else {}
        )
        self._distrusted: weakref.WeakSet[HttpConnection] = weakref.WeakSet()
        """Those of a former context: they end when they are idle."""
        self._unacknowledged = unacknowledged
        self._idle: collections.deque[HttpConnection] = collections.deque()
        self._all: weakref.WeakSet[HttpConnection] = weakref.WeakSet()

    async def request(
        self, method: str, path: str, body: bytes | None, own: str, options: RequestOptions
    ) -> HttpResponse:
        """Send and wait for the answer; ``own`` are header lines of this request, each ended by
        CRLF: they count before common ones.

        Raises ConnectionFailed, and whatever the guard raises, with nothing written.
        """
        end = time.monotonic() + options.timeout
        data = self._bytes(f"{method} {self._prefix}{path}", own, body or b"")
        request = PendingRequest(data, options.guard)
        connection = None if options.fresh else self._take()
        if connection is not None:
            request.send(connection)
        else:
            connection = await self._open(request, min(options.timeout, CONNECT_TIMEOUT_SECONDS))
        try:
            if request.refused is not None:
                raise request.refused
            return await _in_time(cast(asyncio.Future[HttpResponse], request.answer), end)
        except TimeoutError as error:
            connection.close()
            raise ConnectionFailed(f"no answer within {options.timeout:g} s", sent=True) from error
        except asyncio.CancelledError:
            connection.close()
            raise
        finally:
            self._give_back(connection)

    def _bytes(self, target: str, own: str, body: bytes) -> bytes:
        common = "".join(f"{name}: {value}\r\n" for name, value in self.headers.items())
        head = f"{target} HTTP/1.1\r\nHost: {self._netloc}\r\n{own}{common}"
        return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body

    def trust(self, context: ssl.SSLContext) -> None:
        """Make connections with this context from now on, and use none of the others for another
        request.
        """
        if self._tls:
            self._tls["ssl"] = context
            self._distrusted.update(self._all)
            self.close()

    def sever(self) -> None:
        """End all connections at once; what they hold is dropped."""
        for connection in list(self._all):
            connection.close()

    def close(self) -> None:
        """End all idle connections."""
        while self._idle:
            self._idle.pop().close()

    def _take(self) -> HttpConnection | None:
        """The connection that was used last, so that those not needed grow old; old ones are
        closed.
        """
        oldest = time.monotonic() - IDLE_SECONDS
        while self._idle and self._idle[0].idle_since < oldest:
            self._idle.popleft().close()
        while self._idle:
            connection = self._idle.pop()
            if connection.reusable:
                return connection
        return None

    def _give_back(self, connection: HttpConnection) -> None:
        if connection in self._distrusted:
            connection.close()
        elif connection.reusable:
            connection.idle_since = time.monotonic()
            self._idle.append(connection)

    async def _open(self, first: PendingRequest, seconds: float) -> HttpConnection:
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(seconds):
                _, connection = await loop.create_connection(
                    lambda: self._made(first), self._host, self._port, **self._tls
                )
        except (OSError, TimeoutError) as error:
            first.cancel()
            text = f"cannot connect to {self._netloc}: {str(error) or type(error).__name__}"
            raise ConnectionFailed(text, sent=first.answer is not None) from error
        except asyncio.CancelledError:
            first.cancel()
            raise
        if first.answer is None and first.refused is None:
            raise ConnectionFailed("the connection was given up", sent=False)
        return connection

    def _made(self, first: PendingRequest) -> HttpConnection:
        """Known from here on: its first request is written before ``_open`` hears that it is
        open.
        """
        connection = HttpConnection(first, self._unacknowledged)
        self._all.add(connection)
        return connection


async def _in_time(answer: asyncio.Future[HttpResponse], end: float) -> HttpResponse:
    """The answer. Raises TimeoutError when there is none by ``end`` (time.monotonic). One timer is
    all it takes: asyncio.timeout was a twentieth of what a busy operator's loop does.
    """
    seconds = max(0.0, end - time.monotonic())
    late = asyncio.get_running_loop().call_later(seconds, _expire, answer)
    try:
        return await answer
    finally:
        late.cancel()


def _expire(answer: asyncio.Future[HttpResponse]) -> None:
    if not answer.done():
        answer.set_exception(TimeoutError())


def set_user_timeout(made: socket.socket, unacknowledged: float) -> None:
    """Have the kernel drop what it holds when the other side is silent for so many seconds, and
    whenever this side ends.
    """
    made.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, round(unacknowledged * 1000))
    made.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


@dataclasses.dataclass(frozen=True, slots=True)
class RequestOptions:
    """``timeout`` in seconds for all of it; ``guard`` is called right before the request is
    written; ``fresh``: on a new connection.
    """

    timeout: float
    guard: Callable[[], None] | None = None
    fresh: bool = False
