"""How often chance is taken for a difference: ``python -m tests.bench.false_alarms [CASES]``.

Two worlds place the same pods on any node that fits, so no difference is one. By how long pods run,
in windows of time, it prints how many differences an interval over windows calls clear, and how
many one that is no narrower than over replicas (what `moorage simulate` and `moorage tune` say).
docs/tuning.md has the figures. A case takes 8 s of a processor for all three lives (6, 2 and 1):
100 of them 7 minutes on two processors.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from typing import Final

from moorage.core.simulation.compared_measures import ComparedMeasure, compared
from moorage.core.simulation.intervals import WINDOWS
from moorage.core.simulation.measures import EMPTY_NODES, Measure
from moorage.core.simulation.world_comparisons import WorldComparison
from tests.core.simulation.chance import compared_by_chance

_END: Final = 1000.0
_MEASURES: Final = (EMPTY_NODES, Measure("stranded cpu", "cpu"))
_LIVES: Final = (0.4, 2.0, 8.0)
"""In windows."""


def main(cases: int) -> None:
    """Print the table."""
    for life in _LIVES:
        found = list(_counted(life, cases))
        alone = [compared(one.windows_a, one.windows_b) for one in found]
        windows, both = _clear(alone), _clear(one.measures for one in found)
        for measure in _MEASURES:
            shares = (sum(measure in one for one in column) / cases for column in (windows, both))
            said = "  ".join(f"{share:4.0%}" for share in shares)
            print(f"{life:4} windows  {measure.name:18}  windows, both:  {said}", flush=True)


def _counted(life: float, cases: int) -> Iterator[WorldComparison]:
    """The cases of one life, on all processors; each tenth of them is told on stderr."""
    compare = functools.partial(compared_by_chance, seconds=life * _END / WINDOWS, end=_END)
    with ProcessPoolExecutor() as processes:
        for done, found in enumerate(processes.map(compare, range(cases)), 1):
            if done * 10 // cases > (done - 1) * 10 // cases:
                print(f"{life:4} windows: {done} of {cases} cases", file=sys.stderr, flush=True)
            yield found


def _clear(cases: Iterable[Iterable[ComparedMeasure]]) -> list[set[Measure]]:
    return [
        {one.measure for one in found if one.interval and one.interval.clear} for found in cases
    ]


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 60)
