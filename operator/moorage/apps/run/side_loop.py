"""The side loop: a thread with an event loop of its own, for what must go on while a decision takes
long.

The lease, health and metrics live there, with connections of their own. What crosses between the
two threads:

* ``run`` (called on the main loop): do this on the side, and give me the outcome.
* ``ask`` and ``each`` (called on the side): have this done on the main loop, where cache and queue
  may be looked at, and give me the answer, but I do not wait for ever: ``MainLoopBusy``.
* Values that are replaced whole, and only read on the other side: the fence's deadline, who leads,
  how old a watch is.

No locks. ``OneLoop`` has the same face and puts both on the loop that runs, for tests in virtual
time.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import threading
from collections.abc import AsyncGenerator, Callable, Coroutine, Mapping
from types import TracebackType
from typing import Any, Protocol, TypeAlias, TypeVar

from moorage.ports.errors import MainLoopBusy

T = TypeVar("T")

Tasks: TypeAlias = Mapping[str, Callable[[], Coroutine[Any, Any, None]]]
"""What should run for ever, by name."""
Question = Callable[[], Coroutine[Any, Any, T]]

ASK_SECONDS = 5.0
"""How long the side waits for an answer of the main loop, unless it is said otherwise."""
END_SECONDS = 2.0
"""For what still runs on the side at the end."""
ITEMS_PER_BATCH = 500
"""Items that cross at a time."""


class Side(Protocol):
    """Both loops, from either."""

    async def run(self, work: Coroutine[Any, Any, T]) -> T:
        """On the main loop: the outcome of ``work``, which runs on the side. Cancelled, it has that
        end, and does not wait.
        """

    async def ask(self, question: Question[T], seconds: float = ASK_SECONDS) -> T:
        """On the side: the outcome of ``question``, which runs on the main loop. Raises
        MainLoopBusy after ``seconds``.
        """

    def each(
        self, items: Callable[[], AsyncGenerator[T, None]], seconds: float = ASK_SECONDS
    ) -> AsyncGenerator[T, None]:
        """On the side: what a generator of the main loop gives; ``seconds`` are for each lot of
        items.
        """


def on_the_side(side: Side, **runs: Callable[[], Coroutine[Any, Any, None]]) -> Tasks:
    """Tasks of the main loop that wait for these, which run on the side."""

    async def run(name: str) -> None:
        await side.run(runs[name]())

    return {name: functools.partial(run, name) for name in runs}


class SideLoop:
    """``Side`` with a thread: from entering the context, on the main loop, to leaving it."""

    def __init__(self) -> None:
        self._main = asyncio.get_running_loop()
        # Not uvloop: there is little to do here, and credential plugins are started from here, too.
        self._loop = asyncio.new_event_loop()
        # A daemon: whatever hangs on the side must not keep the process from ending.
        self._thread = threading.Thread(target=self._run_loop, name="side loop", daemon=True)

    def __enter__(self) -> SideLoop:
        self._thread.start()
        return self

    def __exit__(
        self,
        _type: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        with contextlib.suppress(RuntimeError):  # it has ended, and its loop is closed
            self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(2 * END_SECONDS)

    async def run(self, work: Coroutine[Any, Any, T]) -> T:
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, self._loop))

    async def ask(self, question: Question[T], seconds: float = ASK_SECONDS) -> T:
        answer, limit = (
            asyncio.run_coroutine_threadsafe(question(), self._main),
            asyncio.timeout(seconds),
        )
        try:
            async with limit:
                return await asyncio.wrap_future(answer)
        except TimeoutError as error:
            if not limit.expired():
                raise  # the question's own
            raise MainLoopBusy(f"the main loop did not answer within {seconds:g} s") from error

    async def each(
        self, items: Callable[[], AsyncGenerator[T, None]], seconds: float = ASK_SECONDS
    ) -> AsyncGenerator[T, None]:
        source = items()

        async def lot() -> list[T]:
            taken: list[T] = []
            async for item in source:
                taken.append(item)
                if len(taken) == ITEMS_PER_BATCH:
                    break
            return taken

        try:
            while taken := await self.ask(lot, seconds):
                for item in taken:
                    yield item
        finally:
            # Where a lot was cut short the generator has ended by that.
            asyncio.run_coroutine_threadsafe(source.aclose(), self._main)

    def _run_loop(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_forever()
        finally:
            # also where a task ended the thread, by SystemExit: nobody may wait for ever for what
            # ran here
            try:
                self._loop.run_until_complete(self._end())
            finally:
                self._loop.close()

    async def _end(self) -> None:
        left = asyncio.all_tasks(self._loop) - {asyncio.current_task()}
        for task in left:
            task.cancel()
        if left:
            await asyncio.wait(left, timeout=END_SECONDS)


class OneLoop:
    """``Side`` without a thread."""

    async def run(self, work: Coroutine[Any, Any, T]) -> T:
        return await work

    async def ask(self, question: Question[T], seconds: float = ASK_SECONDS) -> T:
        return await question()

    def each(
        self, items: Callable[[], AsyncGenerator[T, None]], seconds: float = ASK_SECONDS
    ) -> AsyncGenerator[T, None]:
        return items()
