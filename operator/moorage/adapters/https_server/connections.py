"""Connections: each has a deadline, and a bound for what it may send and for what it leaves
unread.
"""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections.abc import Awaitable, Callable, Collection, Iterable, MutableMapping
from typing import Any, cast

from aiohttp import web

from moorage.ports.repeated_logs import once_per_bug

log = logging.getLogger(__name__)

HEAD_BYTES = 32 * 1024
"""Of a request, all of it but the body."""
BUFFER_BYTES = 64 * 1024
"""Of an answer that is not read, before no more of it is made."""
HEAD_SECONDS = 10.0
"""From a connection's beginning to its first whole request, TLS included."""
REQUEST_SECONDS = 60.0
"""For an answer, until it is read."""
IDLE_SECONDS = 120.0
"""To the next request. API servers, as all of Go's clients, close a connection after 90: were we
first, a POST that is on its way would be lost.
"""

Answer = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]
"""Answers a request and sends the answer."""
FaultListener = Callable[[str], None]
"""Told why, in a word, when a connection is ended for its fault: malformed, long, late."""


class ServerConnection(web.RequestHandler):
    """One connection's HTTP. ``refuse`` is told of its faults, ``ended`` when it is over;
    ``body_bytes`` may come with a request.
    """

    def __init__(
        self,
        server: web.Server,
        context: ssl.SSLContext | None,
        refuse: FaultListener,
        ended: Callable[[ServerConnection], None],
        body_bytes: int = 0,
    ) -> None:
        loop = asyncio.get_running_loop()
        super().__init__(
            server,
            loop=loop,
            access_log=None,  # type: ignore[arg-type]  # there is none
            keepalive_timeout=IDLE_SECONDS,
            lingering_time=0,
            max_line_size=HEAD_BYTES,
            max_field_size=HEAD_BYTES,
        )
        self.context = context
        """Of its TLS; None where it has none."""
        self.idle = False
        """Whether a request was answered, and the next one has not come."""
        self.ends_next = False
        """Whether it ends with its next answer."""
        self._refuse = refuse
        self._ended = ended
        self._room = self._most = HEAD_BYTES + body_bytes
        self._wire: asyncio.Transport | None = None
        self._over = False
        self._deadline = loop.call_later(HEAD_SECONDS, self._late)

    # ---- a request -------------------------------------------------------------------------------

    def request_started(self) -> None:
        """A request has come in."""
        self.idle, self._room = False, self._most
        self._wait(REQUEST_SECONDS, self._late)

    def request_answered(self) -> None:
        """Wait for the next request: the last one is answered."""
        self.idle, self._room = True, self._most  # some of that one comes before it is started
        self._wait(IDLE_SECONDS, self.end)

    async def begin(self, response: web.StreamResponse, request: web.BaseRequest) -> None:
        """Send the head of an answer. If the connection ends with it, its client is told there:
        else the next request could come to a connection that is closed.
        """
        if self.ends_next:
            response.force_close()
        await response.prepare(request)

    def end(self) -> None:
        """End the connection, whatever is under way."""
        self._over = True
        self._deadline.cancel()
        if self._wire is not None:
            self._wire.abort()
        self._ended(self)

    def _wait(self, seconds: float, then: Callable[[], None]) -> None:
        self._deadline.cancel()
        if not self._over:
            self._deadline = self._loop.call_later(seconds, then)

    def _late(self) -> None:
        self._refuse("late")
        self.end()

    # ---- what asyncio and aiohttp call -----------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """TLS is agreed on."""
        self._wire = cast(asyncio.Transport, transport)
        self._wire.set_write_buffer_limits(high=BUFFER_BYTES)
        super().connection_made(transport)

    def data_received(self, data: bytes) -> None:
        """More of a request, or of the next ones."""
        self._room -= len(data)
        if self._room < 0:
            self._refuse("long")
            self.end()
        else:
            super().data_received(data)

    def connection_lost(self, exc: BaseException | None) -> None:
        self._wire = None
        self.end()
        super().connection_lost(exc)

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        """What is no HTTP; aiohttp would log a traceback. Faults of our own never come here: the
        server answers those itself.
        """
        self._refuse("malformed")
        response = web.Response(status=400, text="this is no HTTP request\n")
        response.force_close()
        return response


# ---- what servers do with them -------------------------------------------------------------------


async def answered(
    request: web.BaseRequest, answer: Answer, connections: MutableMapping[ServerConnection, Any]
) -> web.StreamResponse:
    """The answer to a request, whatever goes wrong. Its connection becomes the last of these: it
    has just done something, so it gives way to new ones after all others.
    """
    connection = cast(ServerConnection, request.protocol)
    connection.request_started()
    response: web.StreamResponse = web.Response(status=500, text="Internal Server Error\n")
    try:
        response = await answer(request)
    except ConnectionError:
        connection.end()  # nobody is there to be answered
    except Exception as error:
        extra = once_per_bug(error, path=request.path)
        log.exception("a request could not be answered", extra=extra)
        if request.writer.output_size:
            connection.end()  # the reader must not take a part for the whole
    finally:
        connection.request_answered()
        if connection in connections:
            connections[connection] = connections.pop(connection)
    if connection.ends_next:
        response.force_close()  # its head may have been sent before that was known
    return response


def gives_way(
    connections: Iterable[ServerConnection], spared: Collection[object] = ()
) -> ServerConnection | None:
    """Which of these, in the order in which they last did something, is ended for a new one: the
    first that waits for its next request, and loses nothing by it; else the first. None: all are
    spared.
    """
    found = [each for each in connections if each not in spared]
    return next((each for each in found if each.idle), found[0] if found else None)
