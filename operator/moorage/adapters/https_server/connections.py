"""Connections: each has a deadline, and a bound for what it may send and for what it leaves
unread.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable
from typing import cast

from aiohttp import web

HEAD_BYTES = 32 * 1024
"""Of a request, all of it: none here needs a body."""
BUFFER_BYTES = 64 * 1024
"""Of an answer that is not read, before no more of it is made."""
HEAD_SECONDS = 10.0
"""From a connection's beginning to its first whole request, TLS included."""
REQUEST_SECONDS = 60.0
"""For an answer, until it is read."""
IDLE_SECONDS = 60.0
"""To the next request."""

FaultListener = Callable[[str], None]
"""Told why, in a word, when a connection is ended for its fault: malformed, long, late."""


class ServerConnection(web.RequestHandler):
    """One connection's HTTP. ``refuse`` is told of its faults, ``ended`` when it is over."""

    def __init__(
        self,
        server: web.Server,
        context: ssl.SSLContext | None,
        refuse: FaultListener,
        ended: Callable[[ServerConnection], None],
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
        self._refuse = refuse
        self._ended = ended
        self._room = HEAD_BYTES
        self._wire: asyncio.Transport | None = None
        self._over = False
        self._deadline = loop.call_later(HEAD_SECONDS, self._late)

    # ---- a request -------------------------------------------------------------------------------

    def request_started(self) -> None:
        """A request has come in."""
        self.idle, self._room = False, HEAD_BYTES
        self._wait(REQUEST_SECONDS, self._late)

    def request_answered(self) -> None:
        """Wait for the next request: the last one is answered."""
        self.idle = True
        self._wait(IDLE_SECONDS, self.end)

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
