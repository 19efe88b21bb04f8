"""Comparisons: a recorded time as it was (world A), and the same time under other revisions (world
B), measured side by side.

How long pods wait takes more than decisions: a decision made once more takes no time. So waits are
those of two reruns, one of them under the recorded revisions; how many pods go where they went then
says how well a rerun does.

Whether they differ, or one of them was lucky, more reruns of both tell (``compared_measures``).
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping

from moorage.core.columns.changes import Gap
from moorage.core.cycle.context import CycleContext
from moorage.core.framework.revisions import Revision
from moorage.core.objects.pods import Pod
from moorage.core.simulation.compared_measures import (
    REPLICAS,
    ComparedMeasure,
    Replicas,
    compared_replicas,
)
from moorage.core.simulation.intervals import WINDOWS
from moorage.core.simulation.measures import unplaced
from moorage.core.simulation.recorded_parts import NOBODY, Moved, RecordedPart, moved
from moorage.core.simulation.recorded_times import Follower, Timed
from moorage.core.simulation.windows import LOOKS, Looks, Windows

LEAST_LOOKS, ALL_LOOKS = (5 * WINDOWS * LOOKS, (2 * REPLICAS + 1) * WINDOWS * LOOKS)
"""At A as it was and at reruns of both worlds, up to the first comparison and to the last."""


@dataclasses.dataclass(frozen=True, slots=True)
class WorldComparison:
    """Two worlds side by side."""

    seconds: float
    arrivals: int
    measures: tuple[ComparedMeasure, ...]
    replicas: int
    """How often each world was had, A as it was among them."""
    moved: Moved
    moved_again: Moved
    """When nothing but the clock is another: how well a rerun does."""
    waiting_a: int
    """At the end."""
    waiting_b: tuple[tuple[Pod, str], ...]
    """At the end, with the first reason why."""
    only_b: tuple[tuple[Pod, str], ...]
    """Those that do not wait at the end of A."""
    cut_short: bool
    """Whether more was recorded after a gap."""
    windows_a: Windows
    """As it was."""
    windows_b: Windows
    """Where ties end as they did."""


WorldListener = Callable[[str, float, CycleContext], None]
"""Told at each look: of which world ("A", "B", "again" for another rerun of either), when, and what
it is like then.
"""


def compare(
    entries: Iterable[Timed],
    seed: int,
    candidates: Mapping[str, Revision],
    look: WorldListener,
    stand_ins: Mapping[str, Revision] = NOBODY,
) -> Iterator[WorldComparison]:
    """Compare what was recorded with what would have been under these revisions, by schedulerName:
    once by two of each world (windows of one take luck that lasts for a difference), then with each
    replica more, up to REPLICAS. ``entries`` are gone through three times. Where no revision is
    recorded for a schedulerName one of ``stand_ins`` decides when A is had again; where there is
    none, pods go where they went. Raises ValueError where nothing is recorded.
    """
    part = RecordedPart(entries, None, seed, stand_ins)
    again, first = functools.partial(look, "again"), _first(entries, part, candidates, look)
    a, b = [first.windows_a], [first.windows_b]
    for replica in range(1, REPLICAS):
        a.append(part.rerun({}, replica, again).windows)
        b.append(part.rerun(candidates, replica, again).windows)
        yield _with_replicas(first, a, b)


# ---- inside --------------------------------------------------------------------------------------


def _first(
    entries: Iterable[Timed],
    part: RecordedPart,
    candidates: Mapping[str, Revision],
    look: WorldListener,
) -> WorldComparison:
    """World A as it was, and B where ties end as they did; nothing is measured by these alone."""
    recorded, looks = part.recorded, Looks(part.recorded, part.classes)
    context = _followed(entries, part, looks, look)
    same = part.rerun({}, look=functools.partial(look, "again"))
    other = part.begin(candidates)
    b = part.measured(other, functools.partial(look, "B"))
    waiting = {pod.metadata.uid for pod in unplaced(context)}
    waiting_b = tuple(other.simulator.waiting())
    return WorldComparison(
        seconds=recorded.end - recorded.begin,
        arrivals=sum(time > recorded.begin for time in recorded.arrived.values()),
        measures=(),
        replicas=1,
        moved=moved(recorded.bound, b.bound),
        moved_again=moved(recorded.bound, same.bound),
        waiting_a=len(waiting),
        waiting_b=waiting_b,
        only_b=tuple(one for one in waiting_b if one[0].metadata.uid not in waiting),
        cut_short=recorded.cut_short,
        windows_a=looks.windows(same.waits, recorded.preempted),
        windows_b=b.windows,
    )


def _followed(
    entries: Iterable[Timed], part: RecordedPart, looks: Looks, look: WorldListener
) -> CycleContext:
    """The cluster where the recording ends, with looks in between."""
    to_come, follower = deque(looks.instants()), Follower(0)
    context = follower.replay.context

    def look_until(time: float) -> None:
        while to_come and to_come[0] <= time:
            at = to_come.popleft()
            looks.add(at, context, sum(1 for _ in unplaced(context)))
            look("A", at, context)

    for time, entry in itertools.takewhile(lambda one: not isinstance(one[1], Gap), entries):
        look_until(time)
        follower.follow(entry)
    look_until(part.recorded.end)
    return context


def _with_replicas(first: WorldComparison, a: Replicas, b: Replicas) -> WorldComparison:
    measures = tuple(compared_replicas(a, b))
    return dataclasses.replace(first, measures=measures, replicas=len(a))
