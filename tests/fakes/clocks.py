"""Virtual time."""

from __future__ import annotations

import asyncio
import datetime
import heapq
import itertools
from typing import Any

EPOCH = datetime.datetime(2026, 1, 2, 3, 4, 5, tzinfo=datetime.UTC)


async def settle(rounds: int = 20) -> None:
    """Let everything run that can run without time passing, so many rounds at most."""
    ready: Any = vars(asyncio.get_running_loop()).get("_ready", (None,))
    for _ in range(rounds):
        await asyncio.sleep(0)
        if not ready:  # nobody else is about to run: asyncio has no public word for that
            return


class ManualClock:
    """``ports.clock.Clock`` whose time passes only in ``advance``."""

    def __init__(self, boottime: float = 1000.0) -> None:
        self._start = self._boottime = boottime
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []
        self._order = itertools.count()

    def boottime(self) -> float:
        """Virtual seconds."""
        return self._boottime

    def now(self) -> datetime.datetime:
        """The wall clock, which goes with the virtual seconds."""
        return EPOCH + datetime.timedelta(seconds=self._boottime - self._start)

    async def sleep(self, seconds: float) -> None:
        """Wait until a test has advanced the time so far."""
        woken: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleepers, (self._boottime + seconds, next(self._order), woken))
        await woken

    async def advance(self, seconds: float) -> None:
        """Let time pass: sleepers wake in order, each at its own moment, and what they start runs
        before time goes on.
        """
        end = self._boottime + seconds
        await settle()
        while self._sleepers and self._sleepers[0][0] <= end:
            at, _, woken = heapq.heappop(self._sleepers)
            self._boottime = max(self._boottime, at)
            if not woken.done():
                woken.set_result(None)
            await settle()
        self._boottime = max(self._boottime, end)
        await settle()

    def jump(self, seconds: float) -> None:
        """Let time pass as it does for a process that is stopped: nobody wakes in between."""
        self._boottime += seconds

    @property
    def sleeping(self) -> int:
        """How many wait for time to pass."""
        return sum(not woken.done() for _, _, woken in self._sleepers)


class EagerClock(ManualClock):
    """Virtual time that passes by itself: a sleep is over at once, and remembered in ``slept``."""

    def __init__(self) -> None:
        super().__init__()
        self.slept: list[float] = []

    async def sleep(self, seconds: float) -> None:
        """Let that much time pass."""
        self.slept.append(seconds)
        self.jump(seconds)
        await asyncio.sleep(0)
