"""Freed memory is given back."""

from __future__ import annotations

import asyncio
import ctypes
from pathlib import Path

import pytest

from moorage.apps.run.freed_memory import PERIOD_SECONDS, give_back
from tests.fakes.clocks import ManualClock

BLOCK, BLOCKS = 20_000, 4_000


def resident() -> int:
    """Bytes."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmRSS"))


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "malloc_trim"), reason="glibc's")
def test_what_is_free_between_what_is_in_use_is_given_back() -> None:
    """At least half of it, as there are pages that it shares with what is in use."""

    async def story() -> int:
        clock = ManualClock()
        giving = asyncio.create_task(give_back(clock))
        blocks = [str(i).encode() * (BLOCK // len(str(i))) for i in range(BLOCKS)]
        kept = blocks[::2]
        del blocks
        before = resident()
        await clock.advance(PERIOD_SECONDS)
        given = before - resident()
        giving.cancel()
        assert len(kept) == BLOCKS // 2
        return given

    assert asyncio.run(story()) > BLOCK * BLOCKS // 4
