"""Background tasks: work of one kind that goes on beside the loop, piece by piece, each ending by
itself; and the signal that wakes the loop.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any, TypeVar

from moorage.ports.guards import guard

log = logging.getLogger(__name__)
T = TypeVar("T")


async def uninterrupted(work: Coroutine[Any, Any, T]) -> T:
    """Do this to its end, however often the caller is cancelled meanwhile: what takes something
    back must not be left half done.

    A cancellation is raised when the work has ended.
    """
    task, cancelled = asyncio.ensure_future(work), False
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError:
            cancelled = True
    if cancelled:
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("what must not be left half done failed", exc_info=error)
        raise asyncio.CancelledError
    return task.result()


class WorkSignal:
    """Wakes the scheduling loop, by whoever may have made something ready for it."""

    def __init__(self) -> None:
        self._work = asyncio.Event()

    def wake_up(self) -> None:
        """There may be something to do."""
        self._work.set()

    async def wait(self) -> None:
        """Wait for the next call of ``wake_up``."""
        self._work.clear()
        await self._work.wait()


class BackgroundTasks:
    """The pieces that are under way; ``what`` is one of them, for the log. Belongs to the event
    loop's thread.
    """

    def __init__(self, what: str) -> None:
        self._what = what
        self._tasks: set[asyncio.Task[None]] = set()

    def start(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Begin one; a bug that ends it is logged."""
        task = asyncio.get_running_loop().create_task(self._guarded(work))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def settle(self, seconds: float | None = None) -> int:
        """Wait, at most so long, for all that are under way to end; returns how many did not."""
        tasks = set(self._tasks)
        return len((await asyncio.wait(tasks, timeout=seconds))[1]) if tasks else 0

    async def _guarded(self, work: Coroutine[Any, Any, None]) -> None:
        with guard(self._what):
            await work
