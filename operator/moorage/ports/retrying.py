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
from moorage.ports.errors import Conflict, EdgeError, Fenced, NotFound, Retryable

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


AFTER_CONFLICT, AFTER_FAILURE = Backoff(0.01, 3.0), Backoff(0.2, 3.0)
"""Until it is tried again after a conflict, or after no answer."""
MAX_REFUSED_SECONDS = 30.0
"""Seconds of refusals until they are believed."""
MAX_THROTTLED = 10
"""How often a request is made again that the API server has put off; client-go's number."""


async def retrying(
    request: Callable[[], Awaitable[T]],
    backoff: Backoff,
    clock: Clock,
    on_failure: Callable[[EdgeError, float], None],
) -> T:
    """The answer of the first attempt that has one, however long that takes. ``on_failure`` gets
    each other's error, and in how many seconds the next attempt begins.
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


async def until_answered(request: Callable[[], Awaitable[T]], clock: Clock) -> T:
    """The answer, for as long as it takes the API server to give one. Raises EdgeError.

    That something is not found, or has changed, is no answer (a proxy may say so): the request
    reads again what is there. A refusal is believed when it has lasted for a while: an API server
    that has just started refuses what it allows a moment later.
    """
    failures, began = 0, clock.boottime()
    while True:
        try:
            return await request()
        except EdgeError as error:
            refused = not isinstance(error, Conflict | NotFound | Retryable)
            lasting = refused and clock.boottime() - began >= MAX_REFUSED_SECONDS
            if lasting or isinstance(error, Fenced):
                raise
            failures += 1
            await clock.sleep(delay(failures, error))


async def until_admitted(request: Callable[[], Awaitable[T]], clock: Clock) -> T:
    """The answer of a request that the API server may put off with 429, which it says before
    anything is done (priority and fairness). Raises EdgeError, that 429 when it has come for the
    eleventh time.
    """
    for failures in range(1, MAX_THROTTLED + 1):
        try:
            return await request()
        except Retryable as error:
            if error.status != 429:
                raise
            seconds = AFTER_FAILURE.seconds(failures, error)
        await clock.sleep(seconds)
    return await request()


def delay(failures: int, error: EdgeError) -> float:
    """Seconds until a write or read is tried again after so many failures in a row."""
    backoff = AFTER_CONFLICT if isinstance(error, Conflict) else AFTER_FAILURE
    return backoff.seconds(failures, error)
