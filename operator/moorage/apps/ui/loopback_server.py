"""A small HTTP server on loopback: as bounded as the operator's, without TLS."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Awaitable, Callable
from typing import Final, cast

from aiohttp import web

from moorage.adapters.https_server.connections import ServerConnection
from moorage.ports.repeated_logs import once_per_bug

log = logging.getLogger(__name__)

ADDRESS: Final = "127.0.0.1"
MAX_CONNECTIONS: Final = 128
STOP_SECONDS: Final = 0.5

Answer = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]


class LoopbackServer:
    """Serves what ``answer`` answers and sends. Where there are too many connections, the one that
    has done nothing for longest is closed for the new one.
    """

    def __init__(self, port: int) -> None:
        """Listen; 0 takes any free port. Raises OSError."""
        self._socket = socket.create_server((ADDRESS, port), backlog=MAX_CONNECTIONS)
        self.port: int = self._socket.getsockname()[1]
        self._connections: dict[ServerConnection, None] = {}
        self._listening: asyncio.Server | None = None

    @property
    def connections(self) -> int:
        """How many there are."""
        return len(self._connections)

    async def start(self, answer: Answer) -> None:
        """Answer from now on."""
        self._answer = answer
        self._http = web.Server(self._handle, handler_cancellation=True)
        loop = asyncio.get_running_loop()
        self._listening = await loop.create_server(self._connection, sock=self._socket)

    async def stop(self) -> None:
        """End everything."""
        if self._listening is None:
            self._socket.close()
            return
        self._listening.close()
        await self._http.shutdown(STOP_SECONDS)
        for connection in list(self._connections):
            connection.end()

    def _connection(self) -> ServerConnection:
        if len(self._connections) >= MAX_CONNECTIONS:
            idle = (one for one in self._connections if one.idle)
            next(idle, next(iter(self._connections))).end()
        made = ServerConnection(self._http, None, _unsaid, self._forget)
        self._connections[made] = None
        return made

    def _forget(self, connection: ServerConnection) -> None:
        self._connections.pop(connection, None)

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        connection = cast(ServerConnection, request.protocol)
        connection.request_started()
        response: web.StreamResponse = web.Response(status=500, text="Internal Server Error\n")
        try:
            response = await self._answer(request)
        except ConnectionError:
            connection.end()  # nobody is there to be answered
        except Exception as error:
            extra = once_per_bug(error, path=request.path)
            log.exception("a request could not be answered", extra=extra)
            if request.writer.output_size:
                connection.end()  # the reader must not take a part for the whole
        finally:
            connection.request_answered()
            if connection in self._connections:
                self._connections[connection] = self._connections.pop(connection)
        return response


def _unsaid(reason: str) -> None:
    """Why a connection was ended: nobody reads that here."""
