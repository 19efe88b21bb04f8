"""Work in slices, between which other tasks get their turn."""

from __future__ import annotations

import asyncio
import time

WATCH_SLICE_SECONDS = 0.004
"""Seconds of work after which other tasks get their turn."""


class WorkSlice:
    """Tells when other tasks should get their turn."""

    def __init__(self) -> None:
        self._until = time.perf_counter() + WATCH_SLICE_SECONDS

    @property
    def due(self) -> bool:
        """Whether the slice is over."""
        return time.perf_counter() > self._until

    async def rest(self) -> None:
        """Let the others run, and begin the next slice."""
        await asyncio.sleep(0)
        self._until = time.perf_counter() + WATCH_SLICE_SECONDS
