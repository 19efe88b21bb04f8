"""Recent rates: how many pods of each profile found a node lately, and how long an attempt took.

Made of a metric that is counted anyway (``scheduler_scheduling_attempt_duration_seconds``): what it
was up to a minute ago, and what it is now. Nothing is added to a decision.
"""

from __future__ import annotations

import collections
import itertools
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from moorage.ports.clock import Clock

WINDOW_SECONDS: Final = 60.0
STEP_SECONDS: Final = 5.0
QUANTILE: Final = 0.99

Buckets = Sequence[tuple[float, float]]
"""Of a histogram: upper bounds, rising, and how many were not above them."""


class Sample(NamedTuple):
    """The buckets of each profile at a time of the clock."""

    at: float
    buckets: Mapping[str, Buckets]


class RecentRates:
    """Looks at ``read`` now and then; ``items`` gives what follows. All on one loop."""

    def __init__(self, read: Callable[[], Mapping[str, Buckets]], clock: Clock) -> None:
        self._read = read
        self._clock = clock
        self._samples: collections.deque[Sample] = collections.deque()

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            self._samples.append(self._sample())
            while self._samples[-1].at - self._samples[0].at > WINDOW_SECONDS:
                self._samples.popleft()
            await self._clock.sleep(STEP_SECONDS)

    async def items(self) -> AsyncGenerator[Mapping[str, Any], None]:
        """One item a profile: pods a second that found a node, the 99th percentile of such an
        attempt in seconds (None without any), and the seconds that both are about.
        """
        now = self._sample()
        before = self._samples[0] if self._samples else now
        seconds = now.at - before.at
        for profile, buckets in sorted(now.buckets.items()):
            lately = _less(buckets, before.buckets.get(profile, ()))
            found = lately[-1][1] if lately else 0.0
            yield {
                "profile": profile,
                "podsPerSecond": round(found / seconds, 3) if seconds > 0 else 0.0,
                "p99Seconds": quantile(lately, QUANTILE),
                "seconds": round(seconds, 1),
            }

    def _sample(self) -> Sample:
        return Sample(self._clock.boottime(), self._read())


def quantile(buckets: Buckets, share: float) -> float | None:
    """The time that so large a share did not exceed, as Prometheus' ``histogram_quantile`` has it:
    evenly spread within a bucket, and no more than the last bound that is finite. None: nothing was
    counted.
    """
    if not buckets or not buckets[-1][1]:
        return None
    rank, below, lower = share * buckets[-1][1], 0.0, 0.0
    for bound, count in buckets[:-1]:
        if count >= rank:
            return lower + (bound - lower) * (rank - below) / (count - below)
        below, lower = count, bound
    return lower


def _less(now: Buckets, before: Buckets) -> list[tuple[float, float]]:
    """What was counted in between."""
    pairs = itertools.zip_longest(now, before, fillvalue=(0.0, 0.0))
    return [(bound, count - old) for (bound, count), (_, old) in pairs]
