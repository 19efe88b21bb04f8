"""Health and metrics over HTTP."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
from collections.abc import AsyncGenerator, AsyncIterator, Mapping

import aiohttp
import pytest
from aiohttp import web
from aiohttp.test_utils import make_mocked_request

from moorage.adapters.http_server import Endpoints, HttpServer, _array
from moorage.ports.errors import Retryable

WRONG: dict[str, str | None] = {}


def endpoints() -> Endpoints:
    """Checks whose verdict is what WRONG holds."""
    checks = {name: (lambda name=name: WRONG.get(name)) for name in ("loop", "feeds")}
    debug = {"none": lambda: items(0), "some": lambda: items(3), "down": down}
    return Endpoints(healthz=checks, livez={}, readyz=checks, metrics=lambda: b"metric 1\n", debug=debug)


async def items(count: int) -> AsyncGenerator[Mapping[str, object], None]:
    """So many."""
    for i in range(count):
        yield {"i": i, "text": "ü"}


async def down() -> AsyncGenerator[Mapping[str, object], None]:
    """What needs the API server, which does not answer."""
    raise Retryable("nobody answers")
    yield {}


@contextlib.asynccontextmanager
async def serving() -> AsyncIterator[str]:
    """A running server's address."""
    server = HttpServer(endpoints(), "127.0.0.1", 0)
    port = await server.start()
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        await server.stop()


async def get(url: str, host: str = "") -> tuple[int, str]:
    """Status and text."""
    headers = {"Host": host} if host else {}
    async with aiohttp.ClientSession() as session, session.get(url, headers=headers) as response:
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


@pytest.mark.parametrize(("path", "found"), [("/debug/none", []), ("/debug/some", [{"i": i, "text": "ü"} for i in range(3)])])
def test_debug_is_json(path: str, found: list[object]) -> None:
    """An array, sent as its items come."""

    async def scenario() -> None:
        async with serving() as url:
            status, text = await get(url + path)
            assert (status, json.loads(text)) == (200, found)
            assert (await get(url + "/debug/down")) == (503, "nobody answers\n")

    asyncio.run(scenario())


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("localhost:8080", 200),
        ("127.0.0.1", 200),
        ("[::1]:80", 200),
        ("moorage.moorage-system.svc", 403),
        ("10.0.0.7", 403),
        ("evil.example", 403),
    ],
)
def test_debug_answers_on_loopback_only(host: str, status: int) -> None:
    """By its own names, so that no page in a browser on this machine can have it under another one."""

    async def scenario() -> None:
        async with serving() as url:
            assert (await get(url + "/debug/some", host))[0] == status
            assert (await get(url + "/metrics", host))[0] == 200

    asyncio.run(scenario())


@pytest.mark.parametrize(
    ("remote", "status"),
    [("127.0.0.1", 200), ("::1", 200), ("::ffff:127.0.0.1", 200), ("10.0.0.7", 403), ("::ffff:10.0.0.7", 403), ("", 403)],
)
def test_debug_answers_to_loopback_only(remote: str, status: int) -> None:
    """Whatever the request says of itself, it is the peer's address that counts."""

    async def scenario() -> int:
        request = make_mocked_request("GET", "/debug/none", headers={"Host": "localhost", "X-Forwarded-For": "127.0.0.1"}).clone(
            remote=remote
        )
        try:
            await _array(lambda: items(0))(request)
        except web.HTTPForbidden as refused:
            return refused.status
        return 200

    assert asyncio.run(scenario()) == status


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
