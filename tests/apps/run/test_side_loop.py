"""Two threads with a loop each: who runs where, what crosses, and that neither waits for ever for
the other.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncGenerator, Callable, Coroutine
from typing import Any, TypeVar

import pytest

from moorage.apps.run import side_loop
from moorage.apps.run.side_loop import OneLoop, Side, SideLoop
from moorage.ports.errors import MainLoopBusy

T = TypeVar("T")
NAMES = ["a", "b", "c", "d", "e"]


def on_both(scenario: Callable[[SideLoop], Coroutine[Any, Any, T]]) -> T:
    """Run it on a main loop that has a side."""

    async def main() -> T:
        with SideLoop() as side:
            async with asyncio.timeout(30):
                return await scenario(side)

    return asyncio.run(main())


async def here() -> int:
    """Which thread runs this."""
    return threading.get_ident()


def test_each_runs_where_it_belongs() -> None:
    """``run`` on the side's thread, ``ask`` on the main loop's, with what they return."""

    async def scenario(side: SideLoop) -> None:
        assert await side.run(here()) != threading.get_ident()

        async def asks() -> int:
            return await side.ask(here)

        assert await side.run(asks()) == threading.get_ident()

    on_both(scenario)


@pytest.mark.parametrize(
    "error", [ValueError("a bug"), TimeoutError("of its own")], ids=["bug", "its own time-out"]
)
def test_errors_cross_as_they_are(error: Exception) -> None:
    """In both directions."""

    async def fails() -> None:
        raise error

    async def scenario(side: SideLoop) -> None:
        for work in (fails(), side.ask(fails)):
            with pytest.raises(type(error), match=str(error)):
                await side.run(work)

    on_both(scenario)


def test_the_side_goes_on_while_the_main_loop_is_held() -> None:
    """That is what it is for; a question is given up in time, and the next one is answered."""

    async def scenario(side: SideLoop) -> None:
        async def asks() -> float:
            await asyncio.sleep(0.1)
            began = time.monotonic()
            with pytest.raises(MainLoopBusy, match=r"within 0\.1 s"):
                await side.ask(here, 0.1)
            return time.monotonic() - began

        asked = asyncio.create_task(side.run(asks()))
        await asyncio.sleep(0.02)
        time.sleep(0.5)  # noqa: ASYNC251 - a long decision
        assert await asked < 0.4
        assert await side.run(side.ask(here)) == threading.get_ident()

    on_both(scenario)


def test_what_is_cancelled_ends_on_the_side() -> None:
    """Soon after."""

    async def scenario(side: SideLoop) -> None:
        ended = threading.Event()

        async def works() -> None:
            try:
                await asyncio.get_running_loop().create_future()
            finally:
                ended.set()

        task = asyncio.create_task(side.run(works()))
        await asyncio.sleep(0.02)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await asyncio.to_thread(ended.wait, 2)

    on_both(scenario)


def test_the_end_ends_what_still_runs() -> None:
    """Leaving the context ends the thread, and no task is left behind by it."""
    ended = threading.Event()

    async def works() -> None:
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            ended.set()

    async def scenario(side: SideLoop) -> SideLoop:
        left = asyncio.create_task(side.run(works()))
        await asyncio.sleep(0.02)
        assert not left.done()
        return side

    side = on_both(scenario)
    assert ended.is_set() and not side._thread.is_alive()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_nobody_waits_for_a_thread_that_has_ended() -> None:
    """SystemExit ends an event loop: whoever waits for what ran there hears of it."""

    async def exits() -> None:
        raise SystemExit(3)

    async def for_ever() -> None:
        await asyncio.get_running_loop().create_future()

    async def scenario(side: SideLoop) -> None:
        other = asyncio.create_task(side.run(for_ever()))
        await asyncio.sleep(0.02)
        with pytest.raises(SystemExit):
            await side.run(exits())
        await asyncio.wait({other}, timeout=2)
        assert other.cancelled()

    on_both(scenario)


@pytest.mark.parametrize("lot", [1, 2, 5, 500])
@pytest.mark.parametrize("two", [True, False], ids=["two loops", "one loop"])
def test_generators_cross_in_lots(lot: int, two: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """All items, in order, made on the main loop; and it is closed where somebody stops early."""
    monkeypatch.setattr(side_loop, "ITEMS_PER_BATCH", lot)
    closed: list[int] = []

    async def names() -> AsyncGenerator[str, None]:
        main = threading.get_ident()
        try:
            for name in NAMES:
                await asyncio.sleep(0)
                assert threading.get_ident() == main == await here()
                yield name
        finally:
            closed.append(main)

    async def scenario(side: Side) -> None:
        async def reads(stop: str) -> list[str]:
            got = []
            items = side.each(names)
            async for name in items:
                got.append(name)
                if name == stop:
                    break
            await items.aclose()
            return got

        assert await side.run(reads("")) == NAMES
        assert await side.run(reads("b")) == NAMES[:2]
        await asyncio.sleep(0.05)
        assert closed == [threading.get_ident()] * 2

    if two:
        on_both(scenario)
    else:
        asyncio.run(scenario(OneLoop()))


def test_a_generator_that_takes_too_long_is_given_up() -> None:
    """And closed."""
    closed = threading.Event()

    async def stuck() -> AsyncGenerator[str, None]:
        try:
            yield "a"
            await asyncio.sleep(60)
        finally:
            closed.set()

    async def scenario(side: SideLoop) -> None:
        async def reads() -> list[str]:
            return [name async for name in side.each(stuck, 0.1)]

        with pytest.raises(MainLoopBusy):
            await side.run(reads())
        await asyncio.sleep(0.05)
        assert closed.is_set()

    on_both(scenario)
