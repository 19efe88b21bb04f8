"""How often chance is taken for a gain: ``python -m tests.bench.false_alarms [CASES]``.

Two worlds place the same pods on any node that fits, so no difference is one. By how long pods run,
in windows of time, it prints how many differences an interval over windows calls clear (as
`moorage simulate` does), and how many one that is no narrower than over replicas (`moorage tune`).
docs/tuning.md has the figures; a case takes some seconds.
"""

from __future__ import annotations

import sys
from typing import Final

from moorage.core.simulation.intervals import WINDOWS
from moorage.core.simulation.judgements import REPLICAS, Goal, Goals, judge
from moorage.core.simulation.measures import EMPTY_NODES, Measure
from moorage.core.simulation.recorded_parts import RecordedPart
from tests.builders import make_node
from tests.core.simulation.clusters import a_context
from tests.core.simulation.recordings import crowds, recorded
from tests.core.simulation.test_judgements import NO_SCORING

_END: Final = 1000.0
_MEASURES: Final = (EMPTY_NODES, Measure("stranded cpu", "cpu"))
_LIVES: Final = (0.4, 2.0, 8.0)
"""In windows."""


def alarms(seed: int, seconds: float, measure: Measure) -> tuple[bool, bool]:
    """Whether either interval is clear in a case."""
    nodes = [make_node(f"n{i}", cpu="8", memory="16Gi") for i in range(10)]
    entries = recorded(a_context(nodes), crowds(seed, seconds, _END), _END, NO_SCORING)
    part = RecordedPart(entries, _END, seed)
    mine, its = ([part.rerun({}, at + i).windows for i in range(REPLICAS)] for at in (0, 100))
    goals = Goals((Goal(measure, more=True),))
    clear = []
    for replicas in 1, REPLICAS:
        (found,) = judge(mine[:replicas], [its[:replicas]], goals)
        interval = found.effects[measure].interval
        clear.append(interval is not None and interval.clear)
    return clear[0], clear[1]


def main(cases: int) -> None:
    """Print the table."""
    for life in _LIVES:
        for measure in _MEASURES:
            found = [alarms(seed, life * _END / WINDOWS, measure) for seed in range(cases)]
            windows, both = (sum(column) / cases for column in zip(*found, strict=True))
            print(f"{life:4} windows  {measure.name:18}  windows {windows:4.0%}  both {both:4.0%}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 60)
