"""Clocks, as the engine sees them."""

from __future__ import annotations

import datetime
from typing import Protocol


class Clock(Protocol):
    """Real time, or a test's own."""

    def boottime(self) -> float:
        """Seconds of CLOCK_BOOTTIME: never jumps, goes on during suspend. For durations, deadlines,
        the queue.
        """

    def now(self) -> datetime.datetime:
        """The wall clock, aware, UTC. For what people read; never compared with another
        machine's.
        """

    async def sleep(self, seconds: float) -> None: ...
