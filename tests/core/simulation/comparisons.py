"""Comparisons of recorded times to the last replica."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping

from moorage.core.cycle.context import CycleContext
from moorage.core.framework.revisions import Revision
from moorage.core.simulation import world_comparisons
from moorage.core.simulation.recorded_parts import NOBODY
from moorage.core.simulation.recorded_times import Timed
from moorage.core.simulation.world_comparisons import WorldComparison


def compare(
    entries: Iterable[Timed],
    seed: int,
    candidates: Mapping[str, Revision],
    stand_ins: Mapping[str, Revision] = NOBODY,
) -> WorldComparison:
    """The last of them."""
    found = world_comparisons.compare(entries, seed, candidates, _look, stand_ins)
    (last,) = deque(found, maxlen=1)
    return last


def _look(world: str, time: float, context: CycleContext) -> None:
    """Nobody does."""
