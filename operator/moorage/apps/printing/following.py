"""Answers that are printed again and again: ``-w``."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from typing import Final, TextIO

from moorage.apps.exit_status import NoAnswer
from moorage.apps.printing.terminal import moves_cursor
from moorage.ports.texts import printable

PERIOD_SECONDS: Final = 2.0
_CLEAR: Final = "\x1b[H\x1b[2J\x1b[3J"


async def follow(
    look: Callable[[], Awaitable[int]], out: TextIO, *, again: bool, period: float = PERIOD_SECONDS
) -> int:
    """Call ``look``, which prints and gives the exit status, once, or ``again`` and again until it
    is interrupted; each answer takes the place of the one before on a terminal. A NoAnswer ends
    only what looks once: clusters are away for a while.
    """
    while True:
        try:
            status = await look()
        except NoAnswer as error:
            if not again:
                raise
            for line in str(error).splitlines():
                print(f"moorage: {printable(line)}", file=sys.stderr)
        else:
            if not again:
                return status
        out.flush()
        await asyncio.sleep(period)
        if moves_cursor(out):
            out.write(_CLEAR)
