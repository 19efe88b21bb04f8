"""Intervals: how sure it is that two worlds differ.

What follows each other in a cluster depends on each other, so single observations prove little.
Both worlds are cut into the same windows of time, each long enough to be nearly independent of the
next; the differences window by window are taken as a sample of a normal distribution. With the same
arrivals in both worlds most of what varies cancels out.
Source: batch means and paired-t intervals, Law, "Simulation Modeling and Analysis" (5th ed.), 9.5.3
and 10.2.1; Schmeiser, "Batch Size Effects in the Analysis of Simulation Output" (1982) for how many
windows: more than about 30 gain nothing.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from typing import Final, NamedTuple

WINDOWS: Final = 20
CONFIDENCE: Final = 0.95
_HALVINGS: Final = 60
"""Of a right angle: as exact as a float."""


class Interval(NamedTuple):
    """The mean difference of two worlds (B - A), and where it lies with that confidence."""

    difference: float
    low: float
    high: float

    @property
    def clear(self) -> bool:
        """Whether it is not 0."""
        return self.low > 0 or self.high < 0


def paired(
    a: Sequence[float | None], b: Sequence[float | None], confidence: float = CONFIDENCE
) -> Interval | None:
    """Of the same windows of two worlds; None where a world says nothing of a window, which is left
    out then. None for fewer than two.
    """
    differences = [
        theirs - ours
        for ours, theirs in zip(a, b, strict=True)
        if ours is not None and theirs is not None
    ]
    if len(differences) < 2:
        return None
    mean = statistics.fmean(differences)
    spread = statistics.stdev(differences) / math.sqrt(len(differences))
    reach = _t_quantile(confidence, len(differences) - 1) * spread
    return Interval(mean, mean - reach, mean + reach)


def _t_quantile(confidence: float, freedom: int) -> float:
    """What Student's t stays within, either way, with this probability."""
    low, high = 0.0, math.pi / 2
    for _ in range(_HALVINGS):
        angle = (low + high) / 2
        low, high = (angle, high) if _within(angle, freedom) < confidence else (low, angle)
    return math.sqrt(freedom) * math.tan(low)


def _within(angle: float, freedom: int) -> float:
    """The probability that t / sqrt(freedom) is within the tangent of the angle, either way.
    Source: Abramowitz and Stegun, "Handbook of Mathematical Functions", 26.7.3 and 26.7.4.
    """
    cosine, odd = math.cos(angle), freedom % 2
    term = cosine if odd else 1.0
    total = term if freedom > 1 else 0.0
    for i in range(2 + odd, freedom, 2):
        term *= cosine**2 * (i - 1) / i
        total += term
    return 2 / math.pi * (angle + math.sin(angle) * total) if odd else math.sin(angle) * total
