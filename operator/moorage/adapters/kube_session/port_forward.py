"""Port forwarding: a port of loopback whose connections end at a port of a pod, by the API server.

The kubelet's protocol over WebSocket: each message begins with the number of its channel, 0 for
data and 1 for errors; the first on each channel begins with the port as well (two bytes). There is
one WebSocket for each connection.
Source: k8s.io/kubelet, pkg/cri/streaming/portforward/websocket.go (v1.36).
"""

from __future__ import annotations

import asyncio
import contextlib
import urllib.parse
from collections.abc import AsyncIterator

import aiohttp

from moorage.adapters.kube_session import KubeSession
from moorage.ports.errors import EdgeError, Retryable

PROTOCOL = "v4.channel.k8s.io"
DATA, ERROR = 0, 1
_PORT_BYTES = 2
_READ_BYTES = 2**16


class PortForward:
    """Carries connections; ``path`` is that of the pod's subresource."""

    def __init__(self, session: KubeSession, path: str) -> None:
        self.port = 0
        """Of loopback."""
        self.failure: EdgeError | None = None
        """Why the last connection could not be carried."""
        self._session = session
        self._path = path

    async def carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection, to its end."""
        try:
            async with self._session.websocket(self._path, PROTOCOL) as socket:
                sending = asyncio.create_task(_send(reader, socket), name="port forward")
                try:
                    await self._receive(socket, writer)
                finally:
                    sending.cancel()
        except EdgeError as error:
            self.failure = error
        except ConnectionError:
            pass  # this side has gone
        finally:
            writer.close()

    async def _receive(
        self, socket: aiohttp.ClientWebSocketResponse, writer: asyncio.StreamWriter
    ) -> None:
        begun: set[int] = set()
        async for message in socket:
            if message.type is not aiohttp.WSMsgType.BINARY or not message.data:
                continue
            channel, data = message.data[0], message.data[1:]
            if channel not in begun:
                begun.add(channel)
                data = data[_PORT_BYTES:]
            if data and channel == ERROR:
                raise Retryable(f"{self._path}: {data[:500].decode(errors='replace')}")
            writer.write(data)
            await writer.drain()


@contextlib.asynccontextmanager
async def forwarded(
    session: KubeSession, namespace: str, pod: str, port: int
) -> AsyncIterator[PortForward]:
    """A port of loopback that leads there. What fails does so when somebody connects."""
    place, name = (urllib.parse.quote(part, safe="") for part in (namespace, pod))
    path = f"/api/v1/namespaces/{place}/pods/{name}/portforward?ports={port}"
    forward = PortForward(session, path)
    server = await asyncio.start_server(forward.carry, "127.0.0.1", 0)
    forward.port = int(server.sockets[0].getsockname()[1])
    async with server:
        yield forward


async def _send(reader: asyncio.StreamReader, socket: aiohttp.ClientWebSocketResponse) -> None:
    """What comes from this side, and its end."""
    with contextlib.suppress(ConnectionError):
        while data := await reader.read(_READ_BYTES):
            await socket.send_bytes(bytes([DATA]) + data)
        await socket.close()
