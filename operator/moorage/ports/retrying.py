"""Trying again: how long to wait after failures in a row, and a request that is made until it is
answered.
"""

from __future__ import annotations

import dataclasses
import math
import random
from collections.abc import Awaitable, Callable
from typing import TypeVar

from moorage.ports.clock import Clock
from moorage.ports.errors import EdgeError, Retryable

T = TypeVar("T")

_MAX_DOUBLINGS = 20
"""More would only lead to numbers that no float holds."""


@dataclasses.dataclass(frozen=True, slots=True)
class Backoff:
    """Seconds to wait: ``first`` after the first failure, doubled with each further one in a row,
    ``longest`` at most.

    ``jitter`` is the share of a pause by which it may be shorter, at random.
    """

    first: float
    longest: float = math.inf
    jitter: float = 0.0

    def seconds(self, failures: int, error: EdgeError | None = None) -> float:
        """The pause after so many failures in a row, of which ``error`` is the last: not less than
        the API server asked for.
        """
        asked = error.after if isinstance(error, Retryable) else 0.0
        doubled = min(self.longest, self.first * 2.0 ** min(failures - 1, _MAX_DOUBLINGS))
        return max(asked, doubled * random.uniform(1 - self.jitter, 1.0))


async def retrying(
    request: Callable[[], Awaitable[T]],
    backoff: Backoff,
    clock: Clock,
    on_failure: Callable[[EdgeError, float], None],
) -> T:
    """The answer of the first attempt that has one, however long that takes.

    ``on_failure`` gets the error of each of the others, and in how many seconds the next attempt
    begins.
    """
    failures = 0
    while True:
        try:
            return await request()
        except EdgeError as error:
            failures += 1
            seconds = backoff.seconds(failures, error)
            on_failure(error, seconds)
        await clock.sleep(seconds)
