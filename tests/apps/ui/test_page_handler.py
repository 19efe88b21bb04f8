"""The page over HTTP, asked by a real client: who may, what is answered, and what it bounds."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import json
import re
import socket
from collections.abc import Awaitable, Callable
from typing import Any

import aiohttp
import pytest

from moorage.apps.ui import event_stream, loopback_server
from moorage.apps.ui.page_handler import HEADERS, MAX_UNDER_WAY
from moorage.apps.ui.questions import PARAMETERS, REQUIRED, Question
from tests.apps.ui.fixture_files import variants
from tests.apps.ui.serve_fixtures import FixtureSource
from tests.apps.ui.visitors import Visited, visited

FILES = variants()


def visit(scenario: Callable[[Visited, FixtureSource], Awaitable[None]]) -> None:
    """Have it happen."""

    async def happens() -> None:
        source = FixtureSource(FILES["harbor"])
        async with visited(source) as page:
            await scenario(page, source)

    asyncio.run(happens())


# ---- who may -------------------------------------------------------------------------------------

STRANGERS: dict[str, dict[str, str]] = {
    "no cookie": {"Cookie": ""},
    "another cookie": {"Cookie": "moorage-{port}=guessed"},
    "a cookie of another port": {"Cookie": "moorage-1={cookie}"},
    "a name that was bent to loopback": {"Host": "evil.example:{port}"},
    "another port's name": {"Host": "127.0.0.1:1"},
    "no name": {"Host": ""},
    "another origin": {"Origin": "https://evil.example"},
    "the null origin": {"Origin": "null"},
    "another port's origin": {"Origin": "http://127.0.0.1:1"},
}


@pytest.mark.parametrize("who", STRANGERS)
def test_strangers_see_nothing(who: str) -> None:
    """Neither documents, nor files, nor events."""

    async def scenario(page: Visited, source: FixtureSource) -> None:
        cookie = page.doorkeeper.cookie(page.doorkeeper.token)
        port = str(page.server.port)
        usual = {"Cookie": f"moorage-{port}={cookie}"}
        headers = {
            name: value.format(port=port, cookie=cookie)
            for name, value in {**usual, **STRANGERS[who]}.items()
        }
        async with aiohttp.ClientSession() as stranger:
            for path in ("/ui/", "/ui/api/nodes", "/ui/events", "/ui/static/index.html"):
                async with stranger.get(page.url(path), headers=headers) as answer:
                    assert (path, answer.status) == (path, 403)
                    assert "harbor" not in await answer.text()
            async with stranger.get(page.url("/ui/api/overview"), headers=usual) as answer:
                assert answer.status == 200

    visit(scenario)


def test_the_cookie_is_for_this_page_alone() -> None:
    """No script reads it, no other site's request carries it, no other path gets it."""

    async def scenario(page: Visited, source: FixtureSource) -> None:
        answer, _ = await page.get(f"/open/{page.doorkeeper.token}")
        (cookie,) = answer.headers.getall("Set-Cookie")
        assert cookie.startswith(f"moorage-{page.server.port}=")
        assert {"HttpOnly", "Path=/ui/", "SameSite=Strict"} <= set(cookie.split("; "))
        assert page.doorkeeper.token not in cookie

    visit(scenario)


def test_the_page_that_opens_has_an_icon() -> None:
    """Else a browser asks for /favicon.ico, and complains that it may not have it."""

    async def scenario(page: Visited, source: FixtureSource) -> None:
        _, body = await page.get(f"/open/{page.doorkeeper.token}")
        found = re.search(r'<link rel="icon" href="([^"]+)">', body.decode())
        assert found is not None
        answer, _ = await page.get(found[1])
        assert (answer.status, answer.content_type) == (200, "image/svg+xml")

    visit(scenario)


def test_a_token_for_once_opens_once() -> None:
    """Who comes second is refused, and the first one's cookie is void: one of both was a thief."""

    async def scenario(page: Visited, source: FixtureSource) -> None:
        token = page.doorkeeper.token_for_once()
        statuses = []
        jar = aiohttp.CookieJar(unsafe=True)
        async with aiohttp.ClientSession(cookie_jar=jar) as client:
            for path in ("/ui/", f"/open/{token}", "/ui/", f"/open/{token}", "/ui/"):
                async with client.get(page.url(path)) as answer:
                    statuses.append(answer.status)
        assert statuses == [403, 200, 200, 403, 403]
        answer, _ = await page.get("/ui/")
        assert answer.status == 200  # who has the printed one goes on

    visit(scenario)


@pytest.mark.parametrize("token", ["", "guessed", "x" * 5000, "%00", "ü"])
def test_other_tokens_open_nothing(token: str) -> None:
    """Whatever they look like."""

    async def scenario(page: Visited, source: FixtureSource) -> None:
        answer, _ = await page.get(f"/open/{token}")
        assert answer.status == 403
        assert "Set-Cookie" not in answer.headers

    visit(scenario)


# ---- what is answered ----------------------------------------------------------------------------

ASKED = {
    **{name: {} for name in PARAMETERS if name not in REQUIRED},
    "node": {"name": "general-1843"},
    "pod": {"name": "ml/eval-vision-0"},
    "history": {"profile": "binpack"},
    "trial": {"profile": "binpack"},
    "diff": {"a": "binpack@9d02aa71", "b": "binpack@3f9c1b2a"},
    "compare": {"b": "binpack@3f9c1b2a"},
    "find": {"text": "gpu"},
}


def test_every_answer_has_the_headers() -> None:
    """Files, documents, refusals, events: what a browser may do with them is always said."""

    async def scenario(page: Visited, source: FixtureSource) -> None:
        answers = [
            (await page.get(path))[0]
            for path in ("/ui/", "/ui/nodes", "/ui/api/nodes", "/ui/api/none", "/none", "/open/x")
        ]
        tag = {"If-None-Match": answers[2].headers["ETag"]}
        answers.append((await page.get("/ui/api/nodes", headers=tag))[0])
        async with page.client.post(page.url("/ui/")) as answer:
            answers.append(answer)
        async with page.client.get(page.url("/ui/events")) as answer:
            answers.append(answer)
        assert [one.status for one in answers] == [200, 200, 200, 404, 403, 403, 304, 405, 200]
        for one in answers:
            assert HEADERS.items() <= dict(one.headers).items()
        assert "unsafe" not in HEADERS["Content-Security-Policy"]

    visit(scenario)


def test_every_document_says_what_it_is() -> None:
    """Kind, answer, moment and source, and what could not be had."""

    async def scenario(page: Visited, source: FixtureSource) -> None:
        assert ASKED.keys() == PARAMETERS.keys()
        for name, parameters in ASKED.items():
            answer, body = await page.get(f"/ui/api/{name}", params=parameters)
            assert (name, answer.status) == (name, 200)
            told = json.loads(body)
            assert told["answer"]
            assert {"apiVersion", "kind", "at", "source", "leftOut"} <= told.keys()

    visit(scenario)


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"])
def test_it_only_reads(method: str) -> None:
    """HEAD and GET alone are answered."""

    async def scenario(page: Visited, source: FixtureSource) -> None:
        for path in ("/ui/api/nodes", "/ui/", "/ui/events"):
            async with page.client.request(method, page.url(path), data=b"x") as answer:
                assert answer.status == 405
                assert answer.headers["Allow"] == "GET, HEAD"
        async with page.client.head(page.url("/ui/api/nodes")) as answer:
            assert (answer.status, await answer.read()) == (200, b"")

    visit(scenario)


WRONG = {
    "overview?at=yesterday": 400,
    "overview?at=99999999999999999999": 400,
    "overview?at=0001-01-01T00:00:00%2B23:00": 400,
    "overview?at=9999-12-31T23:59:59-23:00": 400,
    "overview?other=1": 400,
    "pod": 400,
    "pod?name=": 400,
    "pod?name=noslash": 400,
    "pod?name=a/b&name=c/d": 400,
    "pod?name=a/b&n%61me=a%2Fb": 400,
    "nodes?at=&at=": 400,
    "pod?name=/x": 400,
    "pod?name=a/%00": 400,
    "pod?name=a/none": 404,
    f"pod?name=a/{'n' * 5000}": 400,
    "node?name=none": 404,
    "nodes/": 404,
    "": 404,
    "diff?a=1": 400,
    "decisions?limit=0": 400,
    "decisions?limit=-1": 400,
    "decisions?limit=1e3": 400,
    "decisions?limit=501": 400,
    f"decisions?limit={'9' * 500}": 400,
    f"decisions?limit=000000001{'9' * 500}": 400,
    "decisions?limit=%D9%A3": 400,
}


@pytest.mark.parametrize("path", WRONG, ids=lambda path: path[:40])
def test_wrong_questions_are_refused(path: str) -> None:
    """With a sentence, and never by a fault."""

    async def scenario(page: Visited, source: FixtureSource) -> None:
        answer, body = await page.get(f"/ui/api/{path}")
        assert answer.status == WRONG[path]
        assert json.loads(body)["error"]

    visit(scenario)


@pytest.mark.parametrize(
    "path",
    [
        "static/../page_handler.py",
        "static/%2e%2e/page_handler.py",
        "static/..%2fpage_handler.py",
        "static//etc/passwd",
        "static/",
        "static/__init__.py",
    ],
)
def test_no_path_leaves_the_files(path: str) -> None:
    """Names are looked up in a table."""

    async def scenario(page: Visited, source: FixtureSource) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", page.server.port)
        cookie = page.doorkeeper.cookie(page.doorkeeper.token)
        port = page.server.port
        writer.write(
            f"GET /ui/{path} HTTP/1.1\r\nHost: localhost:{port}\r\n"
            f"Cookie: moorage-{port}={cookie}\r\nConnection: close\r\n\r\n".encode()
        )
        answer = await reader.read()
        writer.close()
        await writer.wait_closed()
        assert b" 404 " in answer.partition(b"\r\n")[0]
        assert b"import" not in answer

    visit(scenario)


def test_documents_are_compressed_and_known_again() -> None:
    """The better of what the browser takes; a tag, so that nothing is sent twice."""

    async def scenario(page: Visited, source: FixtureSource) -> None:
        sizes = {}
        for accepted, encoding in (
            ("gzip, deflate, br, zstd", "zstd"),
            ("gzip", "gzip"),
            ("zstd;q=0, gzip;q=0.5", "gzip"),
            ("identity", None),
        ):
            headers = {"Accept-Encoding": accepted}
            async with page.client.get(
                page.url("/ui/api/nodes"), headers=headers, auto_decompress=False
            ) as answer:
                body = await answer.read()
                assert answer.headers.get("Content-Encoding") == encoding
                assert answer.headers["Vary"] == "Accept-Encoding"
                sizes[encoding] = len(body)
                if encoding == "gzip":
                    assert len(json.loads(gzip.decompress(body))["names"]) == 5000
        assert sizes["zstd"] < 60_000 < 400_000 < sizes[None] < 600_000

    visit(scenario)


# ---- events --------------------------------------------------------------------------------------

EVENT = re.compile(r"event: changed\nid: ([0-9a-f]+)-(\d+)\ndata: (.*)\n")


async def heard(page: Visited, seconds: float, last: str = "") -> list[tuple[str, list[str]]]:
    """Ids and documents of the events that come within so long."""
    headers = {"Last-Event-ID": last} if last else {}
    text = ""
    with contextlib.suppress(TimeoutError):
        async with (
            asyncio.timeout(seconds),
            page.client.get(page.url("/ui/events"), headers=headers) as answer,
        ):
            async for chunk in answer.content.iter_any():
                text += chunk.decode()
    return [
        (f"{life}-{number}", json.loads(data)["documents"])
        for life, number, data in EVENT.findall(text)
    ]


def test_many_changes_are_two_events_a_second() -> None:
    """Each with all that changed since the one before."""

    async def scenario(page: Visited, source: FixtureSource) -> None:
        async def change() -> None:
            for _ in range(200):
                source.changes.add(["nodes", "queue"])
                await asyncio.sleep(0.01)

        _, events = await asyncio.gather(change(), heard(page, 2.0))
        assert 3 <= len(events) <= 6
        assert [documents for _, documents in events[1:]] == [["nodes", "queue"]] * len(events[1:])

    visit(scenario)


def test_who_comes_back_misses_nothing() -> None:
    """By the number of the last event; one of another life of the process gets everything."""

    async def scenario(page: Visited, source: FixtureSource) -> None:
        ((last, nothing),) = await heard(page, 0.2)
        assert nothing == []
        source.changes.add(["status"])
        source.changes.add(["nodes"])
        ((_, documents),) = await heard(page, 0.2, last)
        assert documents == ["nodes", "status"]
        for foreign in ("0000-1", "x", f"{source.changes.life}-x"):
            ((_, everything),) = await heard(page, 0.2, foreign)
            assert everything == sorted(PARAMETERS)
        ((_, nothing),) = await heard(page, 0.2, last + "9" * 4000)
        assert nothing == []

    visit(scenario)


def test_listeners_are_bounded() -> None:
    """One more is told to come later; when one goes there is room."""

    async def scenario(page: Visited, source: FixtureSource) -> None:
        async with contextlib.AsyncExitStack() as stack:
            for _ in range(event_stream.MAX_LISTENERS):
                answer = await stack.enter_async_context(page.client.get(page.url("/ui/events")))
                assert answer.status == 200
            refused, _ = await page.get("/ui/events")
            assert refused.status == 429
            answered, _ = await page.get("/ui/api/overview")
            assert answered.status == 200
        async with asyncio.timeout(5):
            while not await heard(page, 0.2):
                await asyncio.sleep(0.05)

    visit(scenario)


def test_a_listener_that_does_not_read_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its connection ends; others hear on."""
    monkeypatch.setattr(event_stream, "WRITE_SECONDS", 0.3)
    monkeypatch.setattr(event_stream, "BETWEEN_SECONDS", 0.0)

    async def scenario(page: Visited, source: FixtureSource) -> None:
        port, cookie = page.server.port, page.doorkeeper.cookie(page.doorkeeper.token)
        with socket.create_connection(("127.0.0.1", port)) as deaf:
            deaf.send(
                f"GET /ui/events HTTP/1.1\r\nHost: localhost:{port}\r\n"
                f"Cookie: moorage-{port}={cookie}\r\n\r\n".encode()
            )
            await asyncio.to_thread(deaf.recv, 1)
            before = page.server.connections
            long = [f"{'long-name-of-a-document-' * 2000}{i}" for i in range(100)]
            async with asyncio.timeout(10):
                while page.server.connections >= before:
                    source.changes.add(long)
                    await asyncio.sleep(0.01)
        assert (await page.get("/ui/api/overview"))[0].status == 200

    visit(scenario)


# ---- bounds --------------------------------------------------------------------------------------


def test_a_thousand_connections_leave_room() -> None:
    """Those that do nothing give way; who asks is answered."""

    async def scenario(page: Visited, source: FixtureSource) -> None:
        idle = [await asyncio.open_connection("127.0.0.1", page.server.port) for _ in range(1000)]
        assert page.server.connections <= loopback_server.MAX_CONNECTIONS
        assert (await page.get("/ui/api/status"))[0].status == 200
        for _, writer in idle:
            writer.close()
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()

    visit(scenario)


def test_documents_under_way_are_bounded() -> None:
    """One more is told to come later."""

    class Slow(FixtureSource):
        def __init__(self) -> None:
            super().__init__(FILES["harbor"])
            self.go_on = asyncio.Event()
            self.asked = 0

        async def document(self, question: Question) -> Any:
            self.asked += 1
            await self.go_on.wait()
            return await super().document(question)

    async def happens() -> None:
        source = Slow()
        async with visited(source) as page:

            async def get() -> int:
                return (await page.get("/ui/api/status"))[0].status

            tasks = [asyncio.create_task(get()) for _ in range(MAX_UNDER_WAY)]
            while source.asked < MAX_UNDER_WAY:
                await asyncio.sleep(0.01)
            assert await get() == 429
            source.go_on.set()
            assert await asyncio.gather(*tasks) == [200] * MAX_UNDER_WAY

    asyncio.run(happens())
