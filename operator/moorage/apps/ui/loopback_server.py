"""A small HTTP server on loopback: as bounded as the operator's, without TLS."""

from __future__ import annotations

import asyncio
import socket
from typing import Final

from aiohttp import web

from moorage.adapters.https_server.connections import (
    Answer,
    ServerConnection,
    answered,
    gives_way,
)

ADDRESS: Final = "127.0.0.1"
MAX_CONNECTIONS: Final = 128
STOP_SECONDS: Final = 0.5


class LoopbackServer:
    """Serves what ``answer`` answers and sends. Where there are too many connections, one is
    closed for the new one (``gives_way``).
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
        crowded = len(self._connections) >= MAX_CONNECTIONS
        if crowded and (least := gives_way(self._connections)) is not None:
            least.end()
        made = ServerConnection(self._http, None, _unsaid, self._forget)
        self._connections[made] = None
        return made

    def _forget(self, connection: ServerConnection) -> None:
        self._connections.pop(connection, None)

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        return await answered(request, self._answer, self._connections)


def _unsaid(reason: str) -> None:
    """Why a connection was ended: nobody reads that here."""
