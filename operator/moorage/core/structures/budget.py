"""The budget of an attempt: own time, after which the attempt is set down so that others have their
turn.

Whoever works asks it after each piece of work whose result is kept, and only then: so each slice
gets at least one piece further, and an attempt that is begun again goes through what is kept
already without asking.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Protocol

ATTEMPT_SLICE_SECONDS = 0.02
"""Seconds of own time before others have their turn, at most."""


class OutOfTime(BaseException):
    """The slice is over. No fault, so that nothing on its way takes it for one: whoever began the
    slice catches it.
    """


class Budget(Protocol):
    """What work asks of the budget. It may end by it, and never chooses by it; whoever gives
    something up for good by ``now`` writes that down.
    """

    def now(self) -> float:
        """Seconds, of own time as long as the slice lasts."""

    @property
    def over(self) -> bool:
        """Whether the slice's time is over."""

    def check(self) -> None:
        """A piece of work is done and its result kept: raises OutOfTime when the slice's time is
        over.
        """


def _no_time() -> float:
    return 0.0


class TimeBudget:
    """A ``with`` block is a slice, and outside of one there is no end to it.

    ``now`` gives seconds: core has no clock of its own, so without it no time passes. ``slice`` is
    how long one lasts: less where many want one.
    """

    def __init__(self, now: Callable[[], float] = _no_time) -> None:
        self.slice = ATTEMPT_SLICE_SECONDS
        self._now = now
        self._until = math.inf

    def now(self) -> float:
        """Seconds, of own time as long as the slice lasts."""
        return self._now()

    def __enter__(self) -> None:
        self._until = self._now() + self.slice

    def __exit__(self, *_: object) -> None:
        """Whoever began it has it back."""
        self._until = math.inf

    @property
    def over(self) -> bool:
        """Whether the slice's time is over."""
        return self._now() > self._until

    def check(self) -> None:
        """Raises OutOfTime when the slice's time is over."""
        if self._now() > self._until:
            raise OutOfTime
