"""What stands between the operator and an API server in some reproductions."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
import struct
import threading
import time
from collections.abc import Callable
from typing import Any


class HttpProxy:
    """Between the operator and the API server, over plain HTTP. What it should do is set while it
    runs.

    ``answer(method, path, body)`` gives (status, text) to answer instead of asking, or None; status
    0 breaks the connection; ``hold(method, path)`` true: neither the request nor anything of its
    answer gets through until it is false; ``line(path, line)`` gives what a line of a watch
    becomes, b"" to drop it.
    """

    def __init__(self, rig: Any) -> None:
        self.answer: Callable[[str, str, bytes], tuple[int, str] | None] = (
            lambda method, path, body: None
        )
        self.hold: Callable[[str, str], bool] = lambda method, path: False
        self.line: Callable[[str, bytes], bytes] = lambda path, line: line
        self.asked: list[tuple[float, str, str]] = []
        self.unanswered = 0
        """How many requests are under way, watches aside."""
        self._rig = rig
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self.url = ""

    def __enter__(self) -> HttpProxy:
        self._thread = threading.Thread(target=self._main, daemon=True)
        self._thread.start()
        self._ready.wait(10)
        return self

    def __exit__(self, *ended: Any) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    def _main(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_until_complete(self._serve())
        self._loop.run_forever()
        self._loop.run_until_complete(self._runner.cleanup())
        self._loop.run_until_complete(self._session.close())
        self._loop.close()

    async def _serve(self) -> None:
        import aiohttp
        from aiohttp import web

        self._tls = ssl.create_default_context(cafile=str(self._rig.authority_file))
        self._session = aiohttp.ClientSession(
            timeout=aiohttp.ClientTimeout(total=None),
            connector=aiohttp.TCPConnector(limit=0, ssl=self._tls),
        )
        app = web.Application(client_max_size=1 << 28)
        app.router.add_route("*", "/{path:.*}", self._handle)
        self._runner = web.AppRunner(
            app, access_log=None, handler_cancellation=True, shutdown_timeout=0.1
        )
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        self.url = f"http://127.0.0.1:{self._runner.addresses[0][1]}"
        self._ready.set()

    async def _handle(self, request: Any) -> Any:
        counts = "watch=" not in request.raw_path
        self.unanswered += counts
        try:
            return await self._answered(request)
        finally:
            self.unanswered -= counts

    async def _answered(self, request: Any) -> Any:
        from aiohttp import web

        body = await request.read()
        path = request.raw_path
        self.asked.append((time.monotonic(), request.method, path))
        while self.hold(request.method, path):
            await asyncio.sleep(0.05)
        if (instead := self.answer(request.method, path, body)) is not None:
            status, text = instead
            if not status:
                request.transport.abort()
            return web.Response(
                status=status or 500,
                text=text,
                content_type="application/json" if text.startswith("{") else "text/html",
            )
        drop = {
            "host",
            "connection",
            "keep-alive",
            "transfer-encoding",
            "accept-encoding",
            "content-length",
        }
        headers = {k: v for k, v in request.headers.items() if k.lower() not in drop}
        async with self._session.request(
            request.method,
            self._rig.server + path,
            data=body or None,
            headers=headers,
            allow_redirects=False,
        ) as r:
            out = web.StreamResponse(
                status=r.status,
                headers={
                    k: v
                    for k, v in r.headers.items()
                    if k.lower()
                    not in {"connection", "transfer-encoding", "content-length", "content-encoding"}
                },
            )
            await out.prepare(request)
            if "watch=" in path:
                rest = b""
                async for part in r.content.iter_any():
                    *lines, rest = (rest + part).split(b"\n")
                    for line in lines:
                        while self.hold(request.method, path):
                            await asyncio.sleep(0.05)
                        if line and (kept := self.line(path, line)):
                            await out.write(kept + b"\n")
            else:
                async for part in r.content.iter_any():
                    await out.write(part)
            await out.write_eof()
            return out


class TcpProxy:
    """Passes bytes, TLS and all; ``reset`` breaks every connection, ``silent`` true holds all
    bytes, ``delay`` (s) holds each piece.
    """

    def __init__(self, rig: Any) -> None:
        self._to = ("127.0.0.1", int(rig.server.rpartition(":")[2]))
        self._pairs: set[tuple[socket.socket, socket.socket]] = set()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"https://127.0.0.1:{self._listener.getsockname()[1]}"
        self.resets = 0
        self.silent = False
        self.delay = 0.0

    def __enter__(self) -> TcpProxy:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *ended: Any) -> None:
        self._listener.close()
        self.reset()

    def reset(self) -> None:
        """RST on every connection, on both sides."""
        for pair in list(self._pairs):
            self._pairs.discard(pair)
            self.resets += 1
            for s in pair:
                with contextlib.suppress(OSError):
                    s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                    s.shutdown(socket.SHUT_RD)
                    s.close()

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
                far = socket.create_connection(self._to)
            except OSError:
                return
            self._pairs.add((near, far))
            for one, other in ((near, far), (far, near)):
                threading.Thread(
                    target=self._pump, args=(one, other, (near, far)), daemon=True
                ).start()

    def _pump(
        self, one: socket.socket, other: socket.socket, pair: tuple[socket.socket, socket.socket]
    ) -> None:
        with contextlib.suppress(OSError):
            while data := one.recv(65536):
                while self.silent:
                    time.sleep(0.05)
                if self.delay:
                    time.sleep(self.delay)
                other.sendall(data)
        self._pairs.discard(pair)
        for s in pair:
            with contextlib.suppress(OSError):
                s.shutdown(socket.SHUT_RDWR)
