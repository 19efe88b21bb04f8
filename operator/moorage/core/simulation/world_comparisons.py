"""Comparisons: a recorded time as it was (world A), and the same time under other revisions (world
B), measured side by side.

How long pods wait takes more than decisions: a decision made once more takes no time. So waits are
those of two reruns, one of them under the recorded revisions; how many pods go where they went then
says how well a rerun does.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from moorage.core.columns.changes import Gap
from moorage.core.cycle.context import CycleContext
from moorage.core.framework.revisions import Revision
from moorage.core.objects.pods import Pod
from moorage.core.simulation.intervals import CONFIDENCE, Interval, paired
from moorage.core.simulation.measures import Measure, pod_classes, unplaced
from moorage.core.simulation.recorded_times import (
    Binding,
    Follower,
    RecordedTime,
    Timed,
    recorded_time,
)
from moorage.core.simulation.rerun import Rerun
from moorage.core.simulation.simulator import Simulator
from moorage.core.simulation.windows import PREEMPTED, Looks, Windows


class ComparedMeasure(NamedTuple):
    """The mean of a measure over all windows in both worlds; a sum for what is counted.
    ``interval``: of B - A, None where there is too little to say.
    """

    measure: Measure
    a: float | None
    b: float | None
    interval: Interval | None


class Moved(NamedTuple):
    """Of the pods that have a place in both worlds (``placed``), how many are elsewhere."""

    placed: int
    elsewhere: int


@dataclasses.dataclass(frozen=True, slots=True)
class WorldComparison:
    """Two worlds side by side."""

    seconds: float
    arrivals: int
    measures: tuple[ComparedMeasure, ...]
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
    windows_b: Windows


LookListener = Callable[[str, float, CycleContext], None]
"""Told at each look: of which world ("A" or "B"), when, and what it is like then."""


def nobody_listens(world: str, time: float, context: CycleContext) -> None:
    """For who wants the end alone."""


def compare(
    entries: Iterable[Timed],
    seed: int,
    candidates: Mapping[str, Revision],
    look: LookListener = nobody_listens,
) -> WorldComparison:
    """Compare what was recorded with what would have been under these revisions, by schedulerName.
    ``entries`` are gone through twice. Raises ValueError where nothing is recorded.
    """
    recorded = recorded_time(entries)
    classes = pod_classes(recorded.pods.values())
    looks_a, looks_b = Looks(recorded, classes), Looks(recorded, classes)
    a, again, b = Follower(seed), Follower(seed), Follower(seed)
    _follow(entries, recorded, (a, again, b), looks_a, look)
    same = Rerun(recorded, again.replay.context, again.replay.profiles, {})
    same.run(looks_a.instants(), lambda one: look("again", one.now, one.context))
    other = Rerun(recorded, b.replay.context, b.replay.profiles, candidates)

    def look_at_b(one: Simulator) -> None:
        looks_b.add(one.now, one.context, one.waits)
        look("B", one.now, one.context)

    other.run(looks_b.instants(), look_at_b)
    windows_a = looks_a.windows(waits(recorded, same.bound), recorded.preempted)
    windows_b = looks_b.windows(waits(recorded, other.bound), other.simulator.preempted)
    waiting = {pod.metadata.uid for pod in unplaced(a.replay.context)}
    waiting_b = tuple(other.simulator.waiting())
    return WorldComparison(
        seconds=recorded.end - recorded.begin,
        arrivals=sum(time > recorded.begin for time in recorded.arrived.values()),
        measures=tuple(compared(windows_a, windows_b)),
        moved=moved(recorded.bound, other.bound),
        moved_again=moved(recorded.bound, same.bound),
        waiting_a=len(waiting),
        waiting_b=waiting_b,
        only_b=tuple(one for one in waiting_b if one[0].metadata.uid not in waiting),
        cut_short=recorded.cut_short,
        windows_a=windows_a,
        windows_b=windows_b,
    )


def _follow(
    entries: Iterable[Timed],
    recorded: RecordedTime,
    followers: tuple[Follower, Follower, Follower],
    looks: Looks,
    look: LookListener,
) -> None:
    """Have all three where the recording begins, and the first one where it ends, with looks in
    between.
    """
    to_come, context = deque(looks.instants()), followers[0].replay.context

    def look_until(time: float) -> None:
        while to_come and to_come[0] <= time:
            at = to_come.popleft()
            looks.add(at, context, sum(1 for _ in unplaced(context)))
            look("A", at, context)

    for time, entry in itertools.takewhile(lambda one: not isinstance(one[1], Gap), entries):
        look_until(time)
        for follower in followers if time <= recorded.begin else followers[:1]:
            follower.follow(entry)
    look_until(recorded.end)


def waits(recorded: RecordedTime, bound: Mapping[str, Binding]) -> list[tuple[float, float]]:
    """When pods came, and how long they waited; up to the end for those that wait still."""
    return [
        (came, (bound[uid].time if uid in bound else recorded.end) - came)
        for uid, came in recorded.arrived.items()
        if came > recorded.begin and (uid in bound or uid not in recorded.ended)
    ]


def moved(a: Mapping[str, Binding], b: Mapping[str, Binding]) -> Moved:
    """Of pods that are bound in both worlds, by UID."""
    both = a.keys() & b.keys()
    return Moved(len(both), sum(a[uid].node != b[uid].node for uid in both))


def compared(a: Windows, b: Windows, confidence: float = CONFIDENCE) -> Iterable[ComparedMeasure]:
    """The measures that both worlds have, with intervals of this confidence."""
    for measure in dict.fromkeys((*a, *b)):
        mine, its = a.get(measure, ()), b.get(measure, ())
        if not mine or not its:
            continue
        interval = paired(mine, its, confidence)
        if measure == PREEMPTED and interval is not None:
            interval = Interval(*(len(mine) * value for value in interval))
        yield ComparedMeasure(measure, whole(measure, mine), whole(measure, its), interval)


def whole(measure: Measure, values: Sequence[float | None]) -> float | None:
    """Of a measure in windows: the mean, or the sum of what is counted; None where all are."""
    known = [value for value in values if value is not None]
    if not known:
        return None
    return sum(known) if measure == PREEMPTED else sum(known) / len(known)
