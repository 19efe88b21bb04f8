"""An HTTPS server of ours on loopback, for tests: what it serves, whom it lets in, and clients of
all sorts.
"""

from __future__ import annotations

import asyncio
import collections
import contextlib
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import cast

import uvloop
from aiohttp import web

from moorage.adapters.https_server import (
    EndpointHandler,
    HttpEndpoints,
    HttpsServer,
    ListenAddress,
    RequestAnswerer,
    ServerTrust,
)
from moorage.adapters.serving_certificates import SelfSignedCertificate, ServingCertificates
from moorage.adapters.system_clock import SystemClock
from moorage.ports.clock import Clock
from moorage.ports.errors import EdgeError, Retryable
from moorage.ports.requesters import Caller, CallerRight, Denied

LOOPS: Mapping[str, Callable[[], asyncio.AbstractEventLoop]] = {
    "asyncio": asyncio.new_event_loop,
    "uvloop": uvloop.new_event_loop,
}


class Gate:
    """A gatekeeper that knows one token, and believes certificates. ``broken`` is what it raises
    instead.
    """

    def __init__(self) -> None:
        self.asked: list[tuple[str, Caller | None, str]] = []
        self.broken: Exception | None = None
        self.authorities = ""
        self.held = asyncio.Event()
        self.held.set()

    async def admit(
        self, token: str, certified: Caller | None, rights: Sequence[CallerRight]
    ) -> None:
        """Who has the token or a certificate may do everything, but for the user nobody."""
        self.asked.append((token, certified, " and ".join(map(str, rights))))
        await self.held.wait()
        if self.broken is not None:
            raise self.broken
        if certified is None and token != "good":
            raise Denied(401, "who are you")
        if certified is not None and certified.name == "nobody":
            raise Denied(403, "you may not")

    async def client_authorities(self) -> str:
        """As set."""
        if isinstance(self.broken, EdgeError):
            raise self.broken
        return self.authorities


async def explained(kind: str, pod: str) -> Mapping[str, object] | None:
    """Of one pod."""
    return {"pod": pod} if pod == "shop/web" else None


async def paged(request: web.BaseRequest, path: str, query: dict[str, str]) -> web.StreamResponse:
    """A page that says what is asked of it."""
    response = web.Response(text=f"page {path}{query.get('name', '')}\n")
    await response.prepare(request)
    await response.write_eof()
    return response


class ShownCertificate:
    """Another one after each ``renew``."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.renew()

    def renew(self) -> None:
        """As if the last one were near its end."""
        self.read = SelfSignedCertificate(("localhost", "127.0.0.1"), self._clock).read


class Serving:
    """A running server with its counts, and what its endpoints say; or it answers as ``given``
    does.
    """

    def __init__(self, given: RequestAnswerer | None = None) -> None:
        clock = SystemClock()
        self.gate = Gate()
        self.wrong: dict[str, str] = {}
        self.refused: collections.Counter[str] = collections.Counter()
        self.pulled = 0
        self.metrics = b"metric 1\n"
        checks = {name: (lambda name=name: self.wrong.get(name)) for name in ("loop", "feeds")}
        debug = {
            "none": lambda: self.items(0),
            "some": lambda: self.items(3),
            "endless": lambda: self.items(10**9),
        }
        debug |= {"down": down, "breaks": breaks}
        endpoints = HttpEndpoints(
            checks,
            {},
            checks,
            lambda: self.metrics,
            lambda: {"kind": "OperatorConfiguration"},
            debug,
            explained,
            paged,
        )
        self.shown = ShownCertificate(clock)
        self.certificates = ServingCertificates(self.shown, clock)
        self.server = HttpsServer(
            given or self.answering(endpoints),
            ListenAddress("127.0.0.1", 0),
            ServerTrust(self.certificates, self.gate.client_authorities),
            clock,
            lambda reason: self.refused.update([reason]),
        )
        self.port = 0

    def answering(self, endpoints: HttpEndpoints) -> EndpointHandler:
        """What answers: these endpoints, for whom the gate lets in."""
        return EndpointHandler(endpoints, self.gate)

    async def items(self, count: int) -> AsyncGenerator[Mapping[str, object], None]:
        """So many."""
        for i in range(count):
            self.pulled += 1
            yield {"i": i, "text": "ü" * (1 if count < 10 else 1000)}

    async def connect(
        self, client: ssl.SSLContext | None = None
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """A connection on which TLS is agreed on."""
        return await asyncio.open_connection("127.0.0.1", self.port, ssl=client or stranger())

    @staticmethod
    def reads(writer: asyncio.StreamWriter, whether: bool) -> None:
        """Stop or go on reading what comes on that connection."""
        transport = cast(asyncio.Transport, writer.transport)
        (transport.resume_reading if whether else transport.pause_reading)()

    async def raw(self, request: bytes, client: ssl.SSLContext | None = None) -> bytes:
        """All that comes back until the other side ends."""
        found = b""
        with contextlib.suppress(ConnectionError):
            reader, writer = await self.connect(client)
            with contextlib.closing(writer):
                writer.write(request)
                found = await asyncio.wait_for(reader.read(), 5)
        return found

    async def ask(
        self,
        path: str,
        *lines: str,
        method: str = "GET",
        client: ssl.SSLContext | None = None,
        body: bytes = b"",
    ) -> tuple[int, str]:
        """Status and text of one request; 0 where nothing came."""
        head = "".join(f"{line}\r\n" for line in (f"{method} {path} HTTP/1.0", *lines))
        found = await self.raw(head.encode() + b"\r\n" + body, client)
        line, _, text = found.partition(b"\r\n\r\n")
        return int(line.split()[1]) if line else 0, text.decode()

    async def good(self, path: str) -> tuple[int, str]:
        """The same with the token."""
        return await self.ask(path, "Authorization: Bearer good")


def stranger(certificate: Path | None = None, key: Path | None = None) -> ssl.SSLContext:
    """A client that takes every certificate, and has this one."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    if certificate is not None:
        context.load_cert_chain(certificate, key)
    return context


async def down() -> AsyncGenerator[Mapping[str, object], None]:
    """What needs the API server, which does not answer."""
    raise Retryable("nobody answers")
    yield {}


async def breaks() -> AsyncGenerator[Mapping[str, object], None]:
    """A fault after the first items."""
    yield {"i": 0}
    for _ in range(100):
        yield {"i": "x" * 1000}
    raise ZeroDivisionError


@contextlib.asynccontextmanager
async def serving(given: RequestAnswerer | None = None) -> AsyncIterator[Serving]:
    """One that listens, until the end."""
    served = Serving(given)
    served.port = await served.server.start()
    try:
        yield served
    finally:
        await served.server.stop()


def run(
    scenario: Callable[[Serving], Awaitable[None]],
    loop: str = "asyncio",
    given: Callable[[], RequestAnswerer | None] = lambda: None,
) -> None:
    """Run it with a server, on a loop of its own."""

    async def main() -> None:
        async with serving(given()) as served:
            await scenario(served)

    with asyncio.Runner(loop_factory=LOOPS[loop]) as runner:
        runner.run(main())
