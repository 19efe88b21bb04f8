"""The session: answers, refusals, faults, credentials, streams, over real HTTP."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from moorage.adapters.kube_session import (
    CREDENTIALS_PERIOD_SECONDS,
    KubeconfigError,
    KubeSession,
    KubeSource,
)
from moorage.ports.errors import (
    Conflict,
    EvictionBlocked,
    Fenced,
    Forbidden,
    Invalid,
    NotFound,
    ResourceExpired,
    Retryable,
)
from moorage.ports.http_calls import HttpCall
from tests.adapters.api_server import StubApiServer, answers, api_server, status, streams
from tests.fakes.clocks import ManualClock

KUBECONFIG = """
apiVersion: v1
kind: Config
current-context: here
contexts: [{name: here, context: {cluster: here, user: me}}]
clusters: [{name: here, cluster: {server: "SERVER"}}]
users: [{name: me, user: {tokenFile: TOKEN}}]
"""

SPENT = {
    "reason": "DisruptionBudget",
    "message": "The disruption budget web needs 2 healthy pods and has 2 currently",
}


@contextlib.asynccontextmanager
async def connected(
    source: KubeSource | None = None, **options: Any
) -> AsyncIterator[tuple[StubApiServer, KubeSession]]:
    """A server and a session to it."""
    async with api_server() as server:
        session = await KubeSession.open(
            source or KubeSource(master=server.url),
            "moorage/0 (me)",
            options.pop("clock", ManualClock()),
            **options,
        )
        try:
            yield server, session
        finally:
            await session.close()


@pytest.mark.parametrize(
    ("answer", "want", "text"),
    [
        (
            status(409, "Conflict", "already assigned"),
            Conflict,
            "POST /x: 409 Conflict: already assigned",
        ),
        (status(404, "NotFound", "no such pod"), NotFound, "no such pod"),
        (status(403, "Forbidden", "cannot create"), Forbidden, "cannot create"),
        (status(401, "Unauthorized", "who?"), Forbidden, "who?"),
        (status(422, "Invalid", "metadata.uid"), Invalid, "metadata.uid"),
        (
            status(429, "TooManyRequests", "Cannot evict", causes=[SPENT]),
            EvictionBlocked,
            "Cannot evict The disruption budget web needs 2",
        ),
        (status(410, "Expired", "too old"), ResourceExpired, "too old"),
        (answers(b"<html>moved</html>", 302, {"Location": "/y"}), Invalid, "<html>moved</html>"),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_refusals_are_translated(answer: Any, want: type[Exception], text: str) -> None:
    """Each status that is no 2xx becomes its own error, with the request and the API server's
    words; redirects are not followed.
    """

    async def scenario() -> None:
        async with connected() as (server, session):
            server.then("POST", "/x", answer)
            with pytest.raises(want, match=text):
                await session.call(HttpCall("POST", "/x", b"{}"))
            assert "/y" not in [request.path for request in server.requests]

    asyncio.run(scenario())


@pytest.mark.parametrize(
    ("answer", "after", "unknown"),
    [
        (status(429, "TooManyRequests", "later", {"Retry-After": "7"}), 7.0, False),
        (status(429, "TooManyRequests", "later", retryAfterSeconds=3), 3.0, False),
        (status(503, "ServiceUnavailable", "etcd is down"), 0.0, True),
        (answers(b"", 500), 0.0, True),
    ],
    ids=["429-header", "429-details", "503", "500-empty"],
)
def test_retryable_says_when_and_whether_it_was_done(
    answer: Any, after: float, unknown: bool
) -> None:
    """Retry-After is honoured, from the header or the Status; after a 5xx the request may have been
    carried out.
    """

    async def scenario() -> None:
        async with connected() as (server, session):
            server.then("POST", "/x", answer)
            with pytest.raises(Retryable) as caught:
                await session.call(HttpCall("POST", "/x", b"{}"))
            assert (caught.value.after, caught.value.outcome_unknown) == (after, unknown)

    asyncio.run(scenario())


def test_nobody_listens_means_not_sent() -> None:
    """A refused connection is Retryable, and the outcome is known: nothing was done."""

    async def scenario() -> None:
        with socket.socket() as unused:
            unused.bind(("127.0.0.1", 0))
            session = await KubeSession.open(
                KubeSource(master=f"http://127.0.0.1:{unused.getsockname()[1]}"),
                "moorage/0",
                ManualClock(),
            )
            with pytest.raises(Retryable) as caught:
                await session.call(HttpCall("POST", "/x", b"{}"))
            assert not caught.value.outcome_unknown
            await session.close()

    asyncio.run(scenario())


def test_a_broken_or_silent_answer_has_an_unknown_outcome() -> None:
    """A connection that ends after the request, or an answer that does not come in time, may hide a
    deed that was done.
    """

    async def broken(request: web.Request) -> web.StreamResponse:
        assert request.transport is not None
        request.transport.abort()
        return web.Response()

    async def scenario() -> None:
        silence = asyncio.Event()
        async with connected() as (server, session):
            server.then("POST", "/broken", broken)
            server.then("POST", "/silent", streams(silence))
            for call in (
                HttpCall("POST", "/broken", b"{}"),
                HttpCall("POST", "/silent", b"{}", timeout=0.05),
            ):
                with pytest.raises(Retryable) as caught:
                    await session.call(call)
                assert caught.value.outcome_unknown
            silence.set()

    asyncio.run(scenario())


def test_the_guard_is_asked_before_every_send() -> None:
    """A fence that closes stops the call: before the first send, though its connection is open, and
    before the second after a 401.
    """

    async def scenario() -> None:
        for passes, sent in ((0, 0), (1, 1)):
            left = passes

            def guard() -> None:
                nonlocal left
                left -= 1
                if left < 0:
                    raise Fenced("closed meanwhile")

            async with connected() as (server, session):
                server.then("POST", "/x", status(401))
                with pytest.raises(Fenced):
                    await session.call(HttpCall("POST", "/x", b"{}", guard=guard))
                assert len(server.requests) == sent

    async def bodiless() -> None:
        def guard() -> None:
            raise Fenced("closed")

        async with connected() as (server, session):
            with pytest.raises(Fenced):
                await session.call(HttpCall("DELETE", "/x", guard=guard))
            assert not server.requests

    asyncio.run(bodiless())

    asyncio.run(scenario())


def test_a_rotated_token_is_read_after_a_401_and_after_a_minute(tmp_path: Path) -> None:
    """The token file is read again at most once a minute, and at once when the API server says 401;
    lent sessions follow.
    """
    token = tmp_path / "token"
    token.write_text("one\n")
    kubeconfig = tmp_path / "kubeconfig"

    async def checked(request: web.Request) -> web.StreamResponse:
        known = request.headers["Authorization"] == f"Bearer {token.read_text().strip()}"
        return web.json_response({}, status=200 if known else 401)

    async def scenario() -> None:
        async with api_server() as server:
            server.then("GET", "/x", checked)
            server.then("GET", "/any", answers({}))
            kubeconfig.write_text(
                KUBECONFIG.replace("SERVER", server.url).replace("TOKEN", str(token))
            )
            clock = ManualClock()
            session = await KubeSession.open(
                KubeSource(kubeconfig=str(kubeconfig)), "moorage/0 (me)", clock
            )
            lent = session.new_client_session()

            async def used(path: str) -> str:
                await session.call(HttpCall("GET", path))
                return server.requests[-1].headers["Authorization"]

            assert await used("/x") == "Bearer one"
            token.write_text("two\n")
            assert await used("/any") == "Bearer one"
            assert await used("/x") == "Bearer two"
            token.write_text("three")
            clock.jump(CREDENTIALS_PERIOD_SECONDS)
            assert await used("/any") == "Bearer three"
            assert lent.headers["Authorization"] == "Bearer three"
            assert server.requests[-1].headers["User-Agent"] == "moorage/0 (me)"
            token.unlink()
            clock.jump(CREDENTIALS_PERIOD_SECONDS)
            assert await used("/any") == "Bearer three"
            await session.close()

    asyncio.run(scenario())


def test_a_lent_session_can_be_closed() -> None:
    """Whoever closes the session that was lent (Kopf, at its end) leaves our connections alone."""

    async def scenario() -> None:
        async with connected() as (server, session):
            server.then("GET", "/x", answers({}))
            lent = session.new_client_session()
            async with lent.get(session.server + "/x") as response:
                assert response.status == 200
            await lent.close()
            assert await session.call(HttpCall("GET", "/x")) == b"{}"

    asyncio.run(scenario())


def test_warm_opens_connections_ahead() -> None:
    """After warm(8) eight connections are open, and eight calls at a time need no new one."""

    async def scenario() -> None:
        async with connected() as (server, session):
            server.then("GET", "/version", streams(0.02))
            server.then("GET", "/x", streams(0.02))
            await session.warm(8)
            peers = {
                request.transport.get_extra_info("peername")
                for request in server.requests
                if request.transport
            }
            assert len(peers) == 8
            await asyncio.gather(*(session.call(HttpCall("GET", "/x")) for _ in range(8)))
            again = {
                request.transport.get_extra_info("peername")
                for request in server.requests
                if request.transport
            }
            assert again == peers

    asyncio.run(scenario())


def test_a_stream_says_that_it_is_open_then_gives_chunks() -> None:
    """The first chunk is empty and comes before the API server has anything to say; a refused
    stream raises.
    """

    async def scenario() -> None:
        ready = asyncio.Event()
        async with connected() as (server, session):
            server.then(
                "GET",
                "/watch",
                streams(ready, b"one", 0.01, b"two"),
                status(410, "Expired", "too old"),
            )
            chunks = session.stream("/watch?watch=true")
            assert await anext(chunks) == b""
            ready.set()
            assert b"".join([chunk async for chunk in chunks]) == b"onetwo"
            with pytest.raises(ResourceExpired):
                await anext(session.stream("/watch?watch=true"))

    asyncio.run(scenario())


def test_requests_are_observed() -> None:
    """Every answer is told with the server's host, its method and code; no answer is told as
    <error>.
    """
    seen: list[tuple[str, str]] = []

    async def scenario() -> None:
        hosts: set[str] = set()

        def observe(host: str, method: str, code: str, seconds: float) -> None:
            hosts.add(host)
            seen.append((method, code))

        async with connected(observe=observe) as (server, session):
            server.then("GET", "/x", answers({}), status(404))
            server.then("GET", "/watch", streams(b"x"))
            await session.call(HttpCall("GET", "/x"))
            with pytest.raises(NotFound):
                await session.call(HttpCall("GET", "/x"))
            assert [chunk async for chunk in session.stream("/watch")] == [b"", b"x"]
            assert hosts == {server.url.removeprefix("http://")}

    asyncio.run(scenario())
    assert seen == [("GET", "200"), ("GET", "404"), ("GET", "200")]


@pytest.mark.parametrize(
    ("text", "want"),
    [
        (None, "no such file"),
        ("", "kubeconfig"),
        ("{nonsense", "kubeconfig"),
        (
            (
                "apiVersion: v1\nkind: Config\ncurrent-context: gone\ncontexts: []\nclusters: "
                "[]\nusers: []\n"
            ),
            "gone",
        ),
        (KUBECONFIG.replace("TOKEN", "/nowhere"), "/nowhere"),
        (
            KUBECONFIG.replace("SERVER", "https://h")
            .replace("server", "certificate-authority-data: AAAA, server")
            .replace("File", ""),
            "certificate",
        ),
    ],
    ids=["absent", "empty", "no-yaml", "unknown-context", "no-token-file", "bad-certificate"],
)
def test_a_bad_kubeconfig_is_named(tmp_path: Path, text: str | None, want: str) -> None:
    """Whatever is wrong with the file, the error names it."""
    path = tmp_path / "kubeconfig"
    if text is not None:
        path.write_text(text)

    async def scenario() -> None:
        with pytest.raises(KubeconfigError, match=want) as caught:
            await KubeSession.open(KubeSource(kubeconfig=str(path)), "moorage/0", ManualClock())
        assert str(path) in str(caught.value)

    asyncio.run(scenario())


def test_outside_a_pod_without_kubeconfig_it_says_what_to_give() -> None:
    """Neither file nor service account: the text names the flag."""

    async def scenario() -> None:
        with pytest.raises(KubeconfigError, match="no --kubeconfig given and not in a pod"):
            await KubeSession.open(KubeSource(), "moorage/0", ManualClock())

    asyncio.run(scenario())
