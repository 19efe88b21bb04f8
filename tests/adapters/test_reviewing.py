"""Reviews over HTTPS: what is answered, and what anybody may send."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

import pytest

from moorage.adapters.https_server import ReviewHandler, reviewing
from moorage.ports.errors import MainLoopBusy
from moorage.ports.requesters import Denied
from tests.adapters.serving import LOOPS, Serving, run

both_loops = pytest.mark.parametrize("loop", LOOPS)


class Reviews:
    """Answers with what was sent, or as a test says."""

    def __init__(self) -> None:
        self.under_way = self.most = self.answered = 0
        self.held = asyncio.Event()
        self.held.set()
        self.fault: Exception | None = None

    async def review(self, body: bytes) -> bytes:
        """Once it is not held."""
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        try:
            await self.held.wait()
            if self.fault is not None:
                raise self.fault
            self.answered += 1
            return b"reviewed " + body
        finally:
            self.under_way -= 1


def reviewed(
    scenario: Callable[[Serving, Reviews], Awaitable[None]], loop: str = "asyncio"
) -> None:
    """Run it with a server of one path."""
    made: list[Reviews] = []

    def handler() -> ReviewHandler:
        made.append(Reviews())
        return ReviewHandler({"/admission": made[0].review})

    run(lambda served: scenario(served, made[0]), loop, handler)


async def post(
    served: Serving, body: bytes, path: str = "/admission", length: int | None = None
) -> tuple[int, str]:
    """Status and text."""
    head = f"Content-Length: {len(body) if length is None else length}"
    return await served.ask(path, head, method="POST", body=body)


@both_loops
def test_a_review_is_answered(loop: str) -> None:
    """Small, empty and as large as may be; nobody is asked who he is."""

    async def scenario(served: Serving, reviews: Reviews) -> None:
        assert await post(served, b"this") == (200, "reviewed this")
        assert await post(served, b"") == (200, "reviewed ")
        large = b"x" * reviewing.BODY_BYTES
        assert await post(served, large) == (200, "reviewed " + large.decode())
        assert served.gate.asked == []

    reviewed(scenario, loop)


@both_loops
def test_connections_are_used_again(loop: str) -> None:
    """As API servers do: each request has room of its own."""

    async def scenario(served: Serving, reviews: Reviews) -> None:
        reader, writer = await served.connect()
        body = b"x" * (reviewing.BODY_BYTES - 100)
        for _ in range(3):
            writer.write(b"POST /admission HTTP/1.1\r\nHost: x\r\n")
            writer.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
            head = await reader.readuntil(b"\r\n\r\n")
            assert b" 200 " in head
            await reader.readexactly(len(body) + len("reviewed "))
        writer.close()

    reviewed(scenario, loop)


@both_loops
def test_nothing_else_is_answered(loop: str) -> None:
    """Neither other paths nor methods, nor what is too long, whoever says how long it is."""

    async def scenario(served: Serving, reviews: Reviews) -> None:
        assert await post(served, b"x", "/assign") == (404, "there is nothing here\n")
        for path in ("/metrics", "/livez", "/", "/ui/"):
            assert (await served.ask(path))[0] == 404
        assert await served.ask("/admission") == (405, "only POST is allowed\n")
        large = b"x" * (reviewing.BODY_BYTES + 1)
        assert (await post(served, large))[0] == 413
        chunk = b"%x\r\n" % len(large) + large + b"\r\n0\r\n\r\n"
        head = b"POST /admission HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
        head += b"Transfer-Encoding: chunked\r\n\r\n"
        assert b" 413 " in (await served.raw(head + chunk)).partition(b"\r\n")[0]
        assert await post(served, b"x") == (200, "reviewed x")

    reviewed(scenario, loop)


def test_a_few_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """The others wait for their turn, no longer than an API server waits."""
    monkeypatch.setattr(reviewing, "ANSWER_SECONDS", 2.0)

    async def scenario(served: Serving, reviews: Reviews) -> None:
        reviews.held.clear()
        async with asyncio.TaskGroup() as group:
            asked = [group.create_task(post(served, b"x")) for _ in range(12)]
            while reviews.under_way < reviewing.MAX_REVIEWS:
                await asyncio.sleep(0)
            reviews.held.set()
        assert {task.result()[0] for task in asked} == {200}
        assert (reviews.most, reviews.answered) == (reviewing.MAX_REVIEWS, 12)
        reviews.held.clear()
        async with asyncio.TaskGroup() as group:
            asked = [group.create_task(post(served, b"x")) for _ in range(6)]
        assert {task.result() for task in asked} == {(503, "no answer within 2 s\n")}
        reviews.held.set()
        assert await post(served, b"x") == (200, "reviewed x")

    reviewed(scenario)


def test_who_sends_slowly_loses_his_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    """A body that does not come holds up nobody for long."""
    monkeypatch.setattr(reviewing, "BODY_SECONDS", 0.2)

    async def scenario(served: Serving, reviews: Reviews) -> None:
        async with asyncio.TaskGroup() as group:
            slow = [group.create_task(post(served, b"x", length=1000)) for _ in range(8)]
            quick = group.create_task(post(served, b"x"))
        assert {task.result()[0] for task in slow} == {408}
        assert quick.result() == (200, "reviewed x")

    reviewed(scenario)


def test_a_fault_is_told_as_such(caplog: pytest.LogCaptureFixture) -> None:
    """What the review says itself, a main loop that is busy, and a bug."""

    async def scenario(served: Serving, reviews: Reviews) -> None:
        faults = [
            (Denied(400, "no review"), (400, "no review\n")),
            (MainLoopBusy("busy"), (503, "busy\n")),
            (ZeroDivisionError(), (500, "Internal Server Error\n")),
        ]
        for reviews.fault, want in faults:
            assert await post(served, b"x") == want
        reviews.fault = None
        assert await post(served, b"x") == (200, "reviewed x")

    reviewed(scenario)
    bugs = [record for record in caplog.records if record.levelno >= logging.ERROR]
    assert len(bugs) == 1
