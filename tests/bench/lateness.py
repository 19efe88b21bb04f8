"""How late others are while the event loop is busy: a task on it, and what renews the lease, which
has a thread of its own.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import time
from collections.abc import AsyncIterator
from typing import Final

from moorage.adapters.leader_election import LeaderElectionTimes, LeaderElector
from moorage.adapters.system_clock import SystemClock
from moorage.apps.run.side_loop import SideLoop
from moorage.ports.leadership import Fence, LeaseRecord
from tests.adapters.test_leader_election import MemoryLease

SLEEP: Final = 0.01
"""Seconds that the task sleeps."""
RENEWED_EVERY: Final = 0.1
"""Seconds; in an operator it is two, of which there would be few."""


@dataclasses.dataclass
class Lateness:
    """Seconds, the worst so far: ``turn`` in own time of the main loop's thread, ``renewal`` by the
    clock, so that other load on the machine counts.
    """

    turn: float = 0.0
    renewal: float = 0.0


class _NotedLease(MemoryLease):
    """Notes how late renewals are, as they arrive."""

    def __init__(self, worst: Lateness) -> None:
        super().__init__()
        self._worst = worst
        self._last: float | None = None

    async def rewrite(self, record: LeaseRecord, holder: str) -> str:
        """A renewal."""
        now, last = time.monotonic(), self._last
        self._last = now
        if last is not None:
            self._worst.renewal = max(self._worst.renewal, now - last - RENEWED_EVERY)
        return await super().rewrite(record, holder)


@contextlib.asynccontextmanager
async def lateness() -> AsyncIterator[Lateness]:
    """Measure while this is entered."""
    worst, clock = Lateness(), SystemClock()
    times = LeaderElectionTimes(retry_period=RENEWED_EVERY)
    elector = LeaderElector(_NotedLease(worst), Fence(clock.boottime), clock, "me", times)

    async def lead() -> None:
        await elector.acquire()
        await elector.hold()

    with SideLoop() as side:
        tasks = [asyncio.create_task(side.run(lead())), asyncio.create_task(_sleep(worst))]
        try:
            yield worst
            ended = [task for task in tasks if task.done()]
            assert not ended, f"the lease was lost, or a task has failed: {ended}"
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)


async def _sleep(worst: Lateness) -> None:
    """Whoever is not run meanwhile sees less own time pass, and is not late by that."""
    while True:
        began = time.thread_time()
        await asyncio.sleep(SLEEP)
        worst.turn = max(worst.turn, time.thread_time() - began - SLEEP)
