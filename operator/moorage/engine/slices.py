"""Slices: work beside the loop, which a binding or an extender's answer makes necessary, done while
others have their turn in between.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

from moorage.core.structures.budget import OutOfTime, TimeBudget

T = TypeVar("T")

LOOP_SLICE_SECONDS = 0.004
"""Seconds of work on the event loop before others get their turn."""
MAX_DECISION_SECONDS = 10.0
"""Seconds of its own time that an attempt may take; of a group's, for one member."""
TOO_LONG_MESSAGE = (
    f"deciding took longer than {MAX_DECISION_SECONDS:g} s of the scheduler's own time, so it "
    f"was given up: "
    "the pod's spec asks for too much work"
)
SHORT_SECONDS = 0.001
"""Seconds after which others than those that want a slice have their turn first."""


class DecisionTimeout(Exception):
    """The step took more than MAX_DECISION_SECONDS of its own time."""


class SliceRunner:
    """Those that want a slice have one after another, and everybody else a turn in between, however
    many they are.
    """

    def __init__(self, budget: TimeBudget, now: Callable[[], float]) -> None:
        self._budget = budget
        self._now = now
        self._turn = asyncio.Lock()
        self._long = False
        """Whether the last one took its time."""

    async def run(self, step: Callable[[], T]) -> T:
        """What the step gives, once it ends within a slice. Raises DecisionTimeout."""
        spent = 0.0
        while spent <= MAX_DECISION_SECONDS:
            async with self._turn:
                if self._long:
                    self._long = False
                    await asyncio.sleep(0)
                began = self._now()
                try:
                    with self._budget:
                        return step()
                except OutOfTime:
                    spent += self._now() - began
                finally:
                    self._long = self._now() - began > SHORT_SECONDS
        raise DecisionTimeout(TOO_LONG_MESSAGE)
