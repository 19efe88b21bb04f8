"""Windows: a time cut into pieces of one length, and what a world is like in each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

from moorage.core.cycle.context import CycleContext
from moorage.core.simulation.intervals import WINDOWS
from moorage.core.simulation.measures import Measure, PodClass, measured, wait_measures
from moorage.core.simulation.recorded_times import RecordedTime

LOOKS = 6
"""Into each window."""
PREEMPTED = Measure("preempted")
Windows: TypeAlias = Mapping[Measure, Sequence[float | None]]
"""By measure, its value in each window; None where there is none."""


class Looks:
    """Looks at a world, at the same instants as at any other world of that time."""

    def __init__(self, recorded: RecordedTime, classes: Sequence[PodClass]) -> None:
        self._begin = recorded.begin
        self._length = (recorded.end - recorded.begin) / WINDOWS
        self._classes = classes
        self._found: list[list[dict[Measure, float]]] = [[] for _ in range(WINDOWS)]

    def instants(self) -> list[float]:
        """When to look."""
        step = self._length / LOOKS
        return [self._begin + (i + 0.5) * step for i in range(WINDOWS * LOOKS)]

    def add(self, time: float, context: CycleContext, waiting: int) -> None:
        """One more look; so many pods have no place."""
        self._found[self._window(time)].append(measured(context, self._classes, waiting))

    def windows(
        self, waits: Iterable[tuple[float, float]], preempted: Mapping[str, float]
    ) -> Windows:
        """All measures. ``waits``: when each pod came and how long it waited; ``preempted``: when
        pods had to go, by UID.
        """
        waited: list[list[float]] = [[] for _ in range(WINDOWS)]
        for came, wait in waits:
            waited[self._window(came)].append(wait)
        went = [0.0] * WINDOWS
        for time in preempted.values():
            went[self._window(time)] += 1
        found: dict[Measure, list[float | None]] = {}
        for i, looks in enumerate(self._found):
            whole = {**_means(looks), **wait_measures(waited[i]), PREEMPTED: went[i]}
            for measure, value in whole.items():
                found.setdefault(measure, [None] * WINDOWS)[i] = value
        return found

    def _window(self, time: float) -> int:
        """The number of the window that a time is in."""
        if self._length <= 0:
            return 0
        return min(WINDOWS - 1, max(0, int((time - self._begin) / self._length)))


def _means(looks: Sequence[Mapping[Measure, float]]) -> dict[Measure, float]:
    measures = dict.fromkeys(measure for look in looks for measure in look)
    return {
        measure: sum(look.get(measure, 0.0) for look in looks) / len(looks) for measure in measures
    }
