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
# fmt: off
_T_QUANTILES: Final = (
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
    2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093,
)
# fmt: on
"""Of Student's t at 0.975, for 1, 2, … 19 degrees of freedom."""


class Interval(NamedTuple):
    """The mean difference of two worlds (B - A), and where it lies with 95 % confidence."""

    difference: float
    low: float
    high: float

    @property
    def clear(self) -> bool:
        """Whether it is not 0."""
        return self.low > 0 or self.high < 0


def paired(a: Sequence[float | None], b: Sequence[float | None]) -> Interval | None:
    """Of the same windows of two worlds, ``WINDOWS`` at most; None where a world says nothing of a
    window, which is left out then. None for fewer than two.
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
    reach = _T_QUANTILES[len(differences) - 2] * spread
    return Interval(mean, mean - reach, mean + reach)
