"""Health and metrics over HTTP."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator

import aiohttp
import pytest

from moorage.adapters.http_server import Endpoints, HttpServer

WRONG: dict[str, str | None] = {}


def endpoints() -> Endpoints:
    """Checks whose verdict is what WRONG holds."""
    checks = {name: (lambda name=name: WRONG.get(name)) for name in ("loop", "feeds")}
    return Endpoints(healthz=checks, livez={}, readyz=checks, metrics=lambda: b"metric 1\n")


@contextlib.asynccontextmanager
async def serving() -> AsyncIterator[str]:
    """A running server's address."""
    server = HttpServer(endpoints(), "127.0.0.1", 0)
    port = await server.start()
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        await server.stop()


async def get(url: str) -> tuple[int, str]:
    """Status and text."""
    async with aiohttp.ClientSession() as session, session.get(url) as response:
        return response.status, await response.text()


@pytest.mark.parametrize(
    ("path", "wrong", "status", "text"),
    [
        ("/readyz", {}, 200, "ok"),
        ("/livez", {"feeds": "pods are not listed"}, 200, "ok"),
        ("/healthz?verbose", {}, 200, "[+]loop ok\n[+]feeds ok\nhealthz check passed\n"),
        ("/readyz", {"feeds": "pods are not listed"}, 500, "[+]loop ok\n[-]feeds failed: pods are not listed\nreadyz check failed\n"),
        ("/readyz?exclude=feeds", {"feeds": "x"}, 200, "ok"),
        ("/readyz/loop", {"feeds": "x"}, 200, "ok"),
        ("/readyz/feeds", {"feeds": "x"}, 500, "[-]feeds failed: x\nreadyz check failed\n"),
        ("/metrics", {}, 200, "metric 1\n"),
    ],
)
def test_answers(path: str, wrong: dict[str, str], status: int, text: str) -> None:
    """The forms of kube-scheduler's health answers."""
    WRONG.clear()
    WRONG.update(wrong)

    async def scenario() -> None:
        async with serving() as url:
            assert await get(url + path) == (status, text)

    asyncio.run(scenario())


@pytest.mark.parametrize("path", ["/readyz/unknown", "/", "/debug"])
def test_unknown_paths(path: str) -> None:
    """404 for what there is not."""

    async def scenario() -> None:
        async with serving() as url:
            assert (await get(url + path))[0] == 404

    asyncio.run(scenario())


def test_a_taken_port_is_an_error() -> None:
    """The caller is told; stopping what never started is fine."""

    async def scenario() -> None:
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            server = HttpServer(endpoints(), "127.0.0.1", taken.getsockname()[1])
            with pytest.raises(OSError, match="address already in use"):
                await server.start()
            await server.stop()
        await HttpServer(endpoints(), "127.0.0.1", 0).stop()

    asyncio.run(scenario())
