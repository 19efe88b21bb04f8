"""Our HTTPS server, as kube-scheduler's: health for everybody; metrics, configuration and looks
inside for those who have the right. Admission has another one, for the API servers.

Nobody can take up what others need: what a connection may send, how long it may take and how many
there are is bounded. Where there are too many, one is closed for the new one, so a probe always
gets in: one that waits for its next request, else the one that has done nothing for longest. It
runs on any event loop: what belongs to another one is asked for by the functions in
``HttpEndpoints``.
"""

from __future__ import annotations

import asyncio
import dataclasses
import errno
import functools
import itertools
import logging
import os
import socket
from collections.abc import Awaitable, Callable, Collection
from typing import Any, NamedTuple, Protocol

from aiohttp import web

from moorage.adapters.https_server.answering import (
    EndpointHandler,
    HealthCheck,
    HttpEndpoints,
    ItemSource,
)
from moorage.adapters.https_server.connections import (
    HEAD_BYTES,
    HEAD_SECONDS,
    ServerConnection,
    answered,
    gives_way,
)
from moorage.adapters.https_server.reviewing import ReviewHandler
from moorage.ports.clock import Clock
from moorage.ports.errors import EdgeError
from moorage.ports.repeated_logs import once_per_cause
from moorage.ports.requesters import Certificates

__all__ = [
    "EndpointHandler",
    "HealthCheck",
    "HttpEndpoints",
    "HttpsServer",
    "ItemSource",
    "ListenAddress",
    "ReviewHandler",
    "ServerTrust",
]

log = logging.getLogger(__name__)

MAX_CONNECTIONS = 256
STOP_SECONDS = 1.0
"""For requests under way when the server stops, and for a connection's end to be heard."""
REFRESH_SECONDS = 10.0
"""How soon other certificates are noticed, and other authorities of clients."""
LOT = 4
"""Connections that are taken before other tasks have their turn: few enough that one can agree on
TLS before a flood makes it give way.
"""
BACKLOG = 4096
"""Connections that wait in the kernel: where those are too many it drops some, which come again
seconds later.
"""
FULL_SECONDS = 0.1
"""Until the next attempt where the process may open no more files."""
_PLAIN = b"HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n"
_TLS_HANDSHAKE = b"\x16"
"""How every TLS connection begins."""


_REASONS = {
    "plain": "it speaks plain HTTP",
    "handshake": (
        "there was no TLS that both sides want: an old version, an unknown or expired client "
        "certificate"
    ),
    "malformed": "what it sent is no HTTP",
    "long": "its request is too long",
    "late": "its request, or the reading of the answer, took too long",
    "crowded": "there are too many, and it was of least use",
}
_FULL = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)


class RequestAnswerer(Protocol):
    """Answers requests, and sends the answers."""

    body_bytes: int
    """How much may come with a request."""

    @property
    def admitted(self) -> Collection[object]:
        """Connections with requests that are not to be broken off for other connections."""

    def answer(self, request: web.BaseRequest) -> Awaitable[web.StreamResponse]:
        """Answer and send; what is returned has been sent."""


class ListenAddress(NamedTuple):
    """Where to listen; port 0 takes any free one. ``setting`` is what the port is configured by."""

    host: str
    port: int
    setting: str = "serving.securePort"


async def _nobody() -> str:
    return ""


@dataclasses.dataclass(frozen=True, slots=True)
class ServerTrust:
    """What is shown to callers, and what reads who vouches for theirs: certificates in PEM, "" for
    nobody. It raises EdgeError.
    """

    certificates: Certificates
    client_authorities: Callable[[], Awaitable[str]] = _nobody


class HttpsServer:
    """Serves what ``answering`` answers. ``refused`` counts connections that were ended, by a word
    for why.
    """

    def __init__(
        self,
        answering: RequestAnswerer,
        address: ListenAddress,
        trust: ServerTrust,
        clock: Clock,
        refused: Callable[[str], None],
    ) -> None:
        self._address = address
        self._certificates = trust.certificates
        self._client_authorities = trust.client_authorities
        self._clock = clock
        self._authorities = ""
        self._refused = refused
        self._answering = answering
        self._connections: dict[ServerConnection, asyncio.Task[None]] = {}
        """With what agrees on TLS. Those that have done nothing for longest come first."""
        self._listening: dict[socket.socket, asyncio.Task[None]] = {}

    async def start(self) -> int:
        """Listen; returns the port. Raises OSError when the address cannot be had."""
        self._http = web.Server(self._handle, handler_cancellation=True)
        for listening in await _bound(self._address):
            self._listening[listening] = asyncio.create_task(self._accept(listening), name="accept")
        return int(next(iter(self._listening)).getsockname()[1])

    async def run(self) -> None:
        """Keep certificates and authorities up to date. Raises when a fault ended its listening."""
        while True:
            for task in self._listening.values():
                if task.done():
                    task.result()
            believed = self._authorities
            try:
                self._authorities = await self._client_authorities()
            except EdgeError as error:
                text = "whose client certificates count could not be read: %s"
                log.warning(text, error, extra=once_per_cause("client authorities"))
            if self._certificates.refresh(self._authorities):
                # What their clients showed was judged by the old ones. A request that is under way,
                # or the first that is still to come, is answered; the connection ends with it.
                for connection in self._connections:
                    connection.ends_next = True
                if believed != self._authorities:
                    # Not for a certificate of ours: an API server's POST may be on its way, and
                    # POSTs are not sent again.
                    for connection in [each for each in self._connections if each.idle]:
                        connection.end()
            await self._clock.sleep(REFRESH_SECONDS)

    async def stop(self) -> None:
        """Stop listening; requests under way have a second to end."""
        for listening, task in self._listening.items():
            task.cancel()
            listening.close()
        if self._listening:
            await self._http.shutdown(STOP_SECONDS)
        for connection in list(self._connections):
            connection.end()

    # ---- connections -----------------------------------------------------------------------------

    async def _accept(self, listening: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        for number in itertools.count(1):
            try:
                accepted, _ = await loop.sock_accept(listening)
            except OSError as error:
                extra = once_per_cause(f"accept {error.errno}")
                log.warning("a connection could not be taken: %s", error, extra=extra)
                if error.errno in _FULL:
                    self._make_room()
                await self._clock.sleep(FULL_SECONDS)
                continue
            self._connect(accepted)
            if not number % LOT:
                await asyncio.sleep(0)

    def _connect(self, accepted: socket.socket) -> None:
        """Begin a connection, in another's place where there are too many."""
        if len(self._connections) >= MAX_CONNECTIONS:
            self._make_room()
        connection = ServerConnection(
            self._http,
            self._certificates.context,
            self._refuse,
            self._forget,
            self._answering.body_bytes,
        )
        self._connections[connection] = welcome = asyncio.create_task(
            self._welcome(connection, accepted), name="welcome"
        )
        welcome.add_done_callback(functools.partial(_welcomed, connection, accepted))

    async def _welcome(self, connection: ServerConnection, accepted: socket.socket) -> None:
        """Agree on TLS; from then on the connection goes by itself."""
        try:
            if (first := await _first_byte(accepted)) == _TLS_HANDSHAKE:
                await asyncio.get_running_loop().connect_accepted_socket(
                    lambda: connection,
                    accepted,
                    ssl=connection.context,
                    ssl_handshake_timeout=HEAD_SECONDS,
                    ssl_shutdown_timeout=STOP_SECONDS,
                )
            elif first:
                self._refuse("plain")
                accepted.recv(HEAD_BYTES)  # what stays unread would have the answer thrown away
                accepted.send(_PLAIN)
        except OSError:  # that of TLS is one
            self._refuse("handshake")

    def _make_room(self) -> None:
        """End a connection that is of least use; one whose caller was admitted is spared."""
        if (least := gives_way(self._connections, self._answering.admitted)) is not None:
            self._refuse("crowded")
            least.end()

    def _forget(self, connection: ServerConnection) -> None:
        if (welcome := self._connections.pop(connection, None)) is not None:
            welcome.cancel()

    # ---- requests --------------------------------------------------------------------------------

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        return await answered(request, self._answering.answer, self._connections)

    def _refuse(self, reason: str) -> None:
        self._refused(reason)
        log.warning(
            "a connection was ended: %s",
            _REASONS[reason],
            extra=once_per_cause(f"connection {reason}"),
        )


def _welcomed(connection: ServerConnection, accepted: socket.socket, _: asyncio.Task[None]) -> None:
    """Also called for a task that was cancelled before it began, which has no ``finally``."""
    if not connection.connected:
        accepted.close()
        connection.end()


async def _bound(address: ListenAddress) -> list[socket.socket]:
    """Sockets that listen at all addresses of that name. Raises OSError."""
    found = await asyncio.get_running_loop().getaddrinfo(
        address.host, address.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )
    places = dict.fromkeys((family, place) for family, _, _, _, place in found)
    sockets: list[socket.socket] = []
    try:
        for family, place in places:
            sockets.append(_listening(family, place, alone=len(places) == 1))
    except OSError as error:
        for each in sockets:
            each.close()
        where = f"serving.bindAddress {address.host}, {address.setting} {address.port}"
        why = os.strerror(error.errno or 0).lower()
        raise OSError(error.errno, f"{where}: {why}") from error
    return sockets


def _listening(family: socket.AddressFamily, place: Any, *, alone: bool) -> socket.socket:
    """``alone``: it may take IPv4 as well, where it is one of IPv6."""
    both = alone and family == socket.AF_INET6 and socket.has_dualstack_ipv6()
    made = socket.create_server(place, family=family, backlog=BACKLOG, dualstack_ipv6=both)
    made.setblocking(False)
    return made


async def _first_byte(accepted: socket.socket) -> bytes:
    """Wait for it, and leave it where it is; "" when the other side has gone."""
    loop, there = asyncio.get_running_loop(), asyncio.Event()
    loop.add_reader(accepted, there.set)
    try:
        await there.wait()
    finally:
        loop.remove_reader(accepted)
    return accepted.recv(1, socket.MSG_PEEK)
