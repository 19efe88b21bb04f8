"""Answers that are parsed by a library: one object that is too deep must not end the watch of
all.
"""

from __future__ import annotations

import asyncio
import json
from typing import Any

import aiohttp
import pytest
from aiohttp import web

from moorage.adapters.kube_session.parseable import ParseableResponse

LEVELS = 5_000
DEEP = b'{"name":"deep","args":' + b'{"a":' * LEVELS + b"1" + b"}" * LEVELS + b"}"
FINE = b'{"name":"fine"}'


def event(body: bytes) -> bytes:
    """A line about it."""
    return (
        b'{"type":"ADDED","object":{"metadata":{"name":"x","resourceVersion":"5"},'
        + body[1:]
        + b"}"
    )


async def serve(answer: bytes) -> Any:
    """What is read of this answer, by lines and as a document."""

    async def handle(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        for i in range(0, len(answer), 10_000):
            await response.write(answer[i : i + 10_000])
        return response

    app = web.Application()
    app.router.add_get("/", handle)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    url = f"http://127.0.0.1:{runner.addresses[0][1]}/"
    try:
        async with aiohttp.ClientSession(response_class=ParseableResponse) as session:
            if b"\n" not in answer:
                async with session.get(url) as response:
                    return await response.json(content_type=None)
            async with session.get(url) as response:
                read = b"".join([chunk async for chunk in response.content.iter_chunked(1 << 20)])
            return [json.loads(line) for line in read.splitlines()]
    finally:
        await runner.cleanup()


@pytest.mark.parametrize("ending", [b"", b"\n"])
def test_lines(ending: bytes) -> None:
    """The others come as they are, whatever ends the stream."""
    found = asyncio.run(serve(b"\n".join(map(event, (FINE, DEEP, FINE))) + ending))
    assert [one["object"]["name"] for one in found] == ["fine", "deep", "fine"]


@pytest.mark.parametrize(
    "line",
    [
        b"nonsense",
        b"[" * 100_000,
        b"\xff",
        b"null",
        b'{"type":"ADDED"}',
        b'{"type":"ADDED","object":null}',
        b'{"type":null,"object":{"metadata":{}}}',
        b'{"type":"MODIFIED","object":{"metadata":null}}',
        b'{"type":"MODIFIED","object":{"metadata":{"name":"a","resourceVersion":"x"}}}',
        b'{"type":"MODIFIED","object":{"metadata":{"name":[],"resourceVersion":"1"}}}',
    ],
)
def test_a_line_that_is_no_event_costs_itself(line: bytes) -> None:
    """Kopf would end at it; what it was about is found by the comparison with the API server."""
    found = asyncio.run(serve(b"\n".join((event(FINE), line, event(FINE))) + b"\n"))
    assert [one["object"]["name"] for one in found] == ["fine", "fine"]


@pytest.mark.parametrize(
    "body", [{"metadata": {}, "code": 500, "message": "etcd"}, {"code": 410}, {}, None]
)
def test_any_error_is_one_after_which_a_watch_lists_anew(body: Any) -> None:
    """At another one Kopf would end for good."""
    (found,) = asyncio.run(
        serve(json.dumps({"type": "ERROR", "object": body}, separators=(",", ":")).encode() + b"\n")
    )
    assert (found["type"], found["object"]["code"]) == ("ERROR", 410)


def test_a_document() -> None:
    """A list of them."""
    found = asyncio.run(serve(b'{"items":[' + b",".join((FINE, DEEP, FINE)) + b"]}"))
    assert [one["name"] for one in found["items"]] == ["fine", "deep", "fine"]
