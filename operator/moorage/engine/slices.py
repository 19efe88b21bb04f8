"""Work of others than the loop in slices: what a binding or an extender's answer makes necessary, while others have their turn."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

from moorage.core.columns.budget import Budget, OutOfTime

T = TypeVar("T")

MOST = 10.0
"""Seconds of its own time that an attempt may take; of a group's, for one member."""
TOO_LONG = f"deciding took longer than {MOST:g} s of the scheduler's own time, so it was given up: the pod's spec asks for too much work"


class TookTooLong(Exception):
    """It was given up."""


async def in_slices(step: Callable[[], T], budget: Budget, now: Callable[[], float]) -> T:
    """What the step gives, which is called until it comes to its end within a slice. Raises TookTooLong."""
    spent = 0.0
    while spent <= MOST:
        began = now()
        try:
            with budget:
                return step()
        except OutOfTime:
            spent += now() - began
        await asyncio.sleep(0)
    raise TookTooLong(TOO_LONG)
