"""A few answers of an API server over real HTTP on a loopback port, scripted by a test."""

from __future__ import annotations

import asyncio
import collections
import contextlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

from aiohttp import web

Answer = Callable[[web.Request], Awaitable[web.StreamResponse]]


class StubApiServer:
    """Answers each request with the next answer scripted for its method and path (without the
    query); remembers requests.
    """

    def __init__(self) -> None:
        self.url = ""
        self.requests: list[web.Request] = []
        self.bodies: list[bytes] = []
        self._answers: dict[tuple[str, str], collections.deque[Answer]] = collections.defaultdict(
            collections.deque
        )
        self._last: dict[tuple[str, str], Answer] = {}

    def then(self, method: str, path: str, *answers: Answer) -> None:
        """Add answers; the last one is repeated for ever."""
        self._answers[method, path].extend(answers)

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Answer."""
        self.requests.append(request)
        self.bodies.append(await request.read())
        key = request.method, request.path
        if self._answers[key]:
            self._last[key] = self._answers[key].popleft()
        if key not in self._last:
            return web.json_response(
                {"kind": "Status", "code": 404, "reason": "NotFound", "message": f"no {key}"},
                status=404,
            )
        return await self._last[key](request)

    def queries(self, path: str, **wanted: str) -> list[dict[str, str]]:
        """Queries of the requests for a path whose query holds what is wanted."""
        found = [dict(request.query) for request in self.requests if request.path == path]
        return [
            query
            for query in found
            if all(query.get(key) == value for key, value in wanted.items())
        ]


@contextlib.asynccontextmanager
async def api_server() -> AsyncIterator[StubApiServer]:
    """A running server."""
    server = StubApiServer()
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", server.handle)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    server.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    try:
        yield server
    finally:
        await runner.cleanup()


def answers(body: Any, status: int = 200, headers: dict[str, str] | None = None) -> Answer:
    """A plain answer: JSON, or bytes as they are."""

    async def answer(_request: web.Request) -> web.StreamResponse:
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        return web.Response(
            body=raw, status=status, headers=headers, content_type="application/json"
        )

    return answer


def status(
    code: int,
    reason: str = "",
    message: str = "",
    headers: dict[str, str] | None = None,
    **details: Any,
) -> Answer:
    """A metav1.Status."""
    body = {
        "kind": "Status",
        "apiVersion": "v1",
        "code": code,
        "reason": reason,
        "message": message,
        "details": details,
    }
    return answers(body, code, headers)


def streams(*chunks: bytes | float | asyncio.Event, abort: bool = False) -> Answer:
    """A watch that sends chunks; a number pauses so many seconds, an event until it is set; then it
    ends, or with ``abort`` breaks.
    """

    async def answer(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        await response.prepare(request)
        for chunk in chunks:
            if isinstance(chunk, bytes):
                await response.write(chunk)
            elif isinstance(chunk, asyncio.Event):
                await chunk.wait()
            else:
                await asyncio.sleep(chunk)
        if abort and request.transport is not None:
            request.transport.abort()
        return response

    return answer


def line(kind: str, obj: Any) -> bytes:
    """A watch line as the API server writes it: compact, type first."""
    return json.dumps({"type": kind, "object": obj}, separators=(",", ":")).encode() + b"\n"


def forwards(port: int, fault: str = "") -> Answer:
    """A pod's port, forwarded as a kubelet does over WebSocket; ``fault`` is what it says of the
    connection instead.
    """

    async def answer(request: web.Request) -> web.StreamResponse:
        socket = web.WebSocketResponse(protocols=("v4.channel.k8s.io",))
        await socket.prepare(request)
        begin = int(request.query["ports"]).to_bytes(2, "little")
        for channel in (b"\0", b"\1"):
            await socket.send_bytes(channel + begin)
        if fault:
            await socket.send_bytes(b"\1" + fault.encode())
            return socket
        reader, writer = await asyncio.open_connection("127.0.0.1", port)

        async def back() -> None:
            while data := await reader.read(1000):
                await socket.send_bytes(b"\0" + data)
            await socket.close()

        sending = asyncio.create_task(back())
        async for message in socket:
            assert message.data[:1] == b"\0"
            writer.write(message.data[1:])
        sending.cancel()
        writer.close()
        return socket

    return answer
