"""The system's clock, for all that is not a test."""

from __future__ import annotations

import asyncio
import datetime
import time


class SystemClock:
    """``ports.clock.Clock`` over the operating system."""

    def boottime(self) -> float:
        """Seconds of CLOCK_BOOTTIME: unlike CLOCK_MONOTONIC it goes on while the machine is
        suspended, as leases do.
        """
        return time.clock_gettime(time.CLOCK_BOOTTIME)

    def now(self) -> datetime.datetime:
        """The wall clock in UTC, aware."""
        return datetime.datetime.now(datetime.UTC)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
