"""Compared measures: what two worlds differ by, and how sure that is.

Windows of time are nearly independent only where pods run shorter than a window. Where they run
longer, one lucky placement makes all windows alike. So each world is had again a few times, in
replicas whose ties end otherwise, and of both intervals (over windows, over replicas) the wider one
counts.
Source: independent replications, Law, "Simulation Modeling and Analysis" (5th ed.), 9.5.2.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple, TypeAlias

from moorage.core.simulation.intervals import CONFIDENCE, Interval, paired
from moorage.core.simulation.measures import Measure
from moorage.core.simulation.windows import PREEMPTED, Windows

REPLICAS: Final = 8
"""Of each world: more narrow an interval by little."""
Replicas: TypeAlias = Sequence[Windows]
"""Of one world, the recorded seed's first."""


class ComparedMeasure(NamedTuple):
    """The mean of a measure over all windows in both worlds; a sum for what is counted. Of worlds
    that were had again it is the mean over replicas.
    ``interval``: of B - A, None where there is too little to say.
    """

    measure: Measure
    a: float | None
    b: float | None
    interval: Interval | None


def compared(a: Windows, b: Windows, confidence: float = CONFIDENCE) -> Iterable[ComparedMeasure]:
    """The measures that both worlds have, with intervals over windows, of this confidence."""
    for measure in dict.fromkeys((*a, *b)):
        mine, its = a.get(measure, ()), b.get(measure, ())
        if not mine or not its:
            continue
        interval = paired(mine, its, confidence)
        if measure == PREEMPTED and interval is not None:
            interval = Interval(*(len(mine) * value for value in interval))
        yield ComparedMeasure(measure, _whole(measure, mine), _whole(measure, its), interval)


def compared_replicas(
    a: Replicas, b: Replicas, confidence: float = CONFIDENCE
) -> Iterator[ComparedMeasure]:
    """The same with intervals over the windows of the first of each, and no narrower than over
    replicas; as many of both worlds. Of one replica there is the interval over windows alone.
    """
    for one in compared(a[0], b[0], confidence):
        mine, its = _wholes(one.measure, a), _wholes(one.measure, b)
        luck = paired(mine, its, confidence)
        if luck is None or one.interval is None:
            yield one
            continue
        low, high = min(luck.low, one.interval.low), max(luck.high, one.interval.high)
        interval = Interval(luck.difference, low, high)
        yield ComparedMeasure(one.measure, _mean(mine), _mean(its), interval)


# ---- inside --------------------------------------------------------------------------------------


def _wholes(measure: Measure, replicas: Replicas) -> list[float | None]:
    return [_whole(measure, windows.get(measure, ())) for windows in replicas]


def _whole(measure: Measure, values: Sequence[float | None]) -> float | None:
    """Of a measure in windows: the mean, or the sum of what is counted; None where all are."""
    known = [value for value in values if value is not None]
    return sum(known) if known and measure == PREEMPTED else _mean(known)


def _mean(values: Sequence[float | None]) -> float | None:
    """Of those that are known; None where none is."""
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None
