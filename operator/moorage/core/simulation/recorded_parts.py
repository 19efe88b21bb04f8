"""Parts: a recorded time to be had again, and a recording cut in two of them, so that what was
found in the first part is judged by the second.

Nothing of the second part is in the first, not even how long a pod ran that ended after the cut.
The second one begins with the cluster as it was recorded at the cut, whatever was tried before.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Final, NamedTuple

from moorage.core.columns.changes import Entry, Gap
from moorage.core.cycle.context import CycleContext
from moorage.core.framework.revisions import Revision
from moorage.core.recording.key_frames import key_frame
from moorage.core.simulation.measures import PodClass, pod_classes
from moorage.core.simulation.recorded_times import (
    Binding,
    Follower,
    RecordedTime,
    Timed,
    recorded_time,
)
from moorage.core.simulation.rerun import Rerun
from moorage.core.simulation.simulator import Simulator
from moorage.core.simulation.windows import Looks, Windows

NOBODY: Final[Mapping[str, Revision]] = MappingProxyType({})
LookListener = Callable[[float, CycleContext], None]
"""Told at each look: when, and what the world is like then."""


def nobody_listens(time: float, context: CycleContext) -> None:
    """For who wants the end alone."""


class Moved(NamedTuple):
    """Of the pods that have a place in both worlds (``placed``), how many are elsewhere."""

    placed: int
    elsewhere: int


class MeasuredRerun(NamedTuple):
    """What a rerun comes to. ``bound``: the places of pods that waited, by UID; ``waits``: when
    pods came, and how long they waited; ``waiting``: pods without a place at the end.
    """

    windows: Windows
    bound: Mapping[str, Binding]
    waits: Sequence[tuple[float, float]]
    waiting: int


class RecordedPart:
    """What happened from one moment to another, to be had again as often as is wanted.

    ``entries`` begin with the whole state then, and are gone through twice; ``end`` (seconds) may
    be after the last of them, None for then. ``stand_ins`` decide for schedulerNames for which no
    revision is recorded. Raises ValueError where nothing is recorded.
    """

    def __init__(
        self,
        entries: Iterable[Timed],
        end: float | None,
        seed: int,
        stand_ins: Mapping[str, Revision] = NOBODY,
    ) -> None:
        self.recorded: RecordedTime = recorded_time(entries)
        if end is not None:
            self.recorded.end = end
        self.classes: Sequence[PodClass] = pod_classes(self.recorded.pods.values())
        begin = itertools.takewhile(lambda one: one[0] <= self.recorded.begin, entries)
        self._state = [entry for _, entry in begin]
        self._seed = seed
        self._stand_ins = stand_ins

    def rerun(
        self,
        candidates: Mapping[str, Revision],
        replica: int = 0,
        look: LookListener = nobody_listens,
    ) -> MeasuredRerun:
        """Have it again under these revisions, by schedulerName; each time from the same begin.
        In replicas other than 0 ties end otherwise.
        """
        return self.measured(self.begin(candidates, replica), look)

    def begin(self, candidates: Mapping[str, Revision], replica: int = 0) -> Rerun:
        """The same up to the begin, to be measured."""
        follower = Follower(self._seed + replica)
        for entry in self._state:
            follower.follow(entry)
        decide = {**self._stand_ins, **follower.replay.profiles}
        return Rerun(self.recorded, follower.replay.context, decide, candidates)

    def measured(self, rerun: Rerun, look: LookListener) -> MeasuredRerun:
        """What a rerun comes to, which ends with that."""
        looks = Looks(self.recorded, self.classes)

        def look_at(one: Simulator) -> None:
            looks.add(one.now, one.context, one.waits)
            look(one.now, one.context)

        rerun.run(looks.instants(), look_at)
        waits = _waits(self.recorded, rerun)
        windows = looks.windows(waits, rerun.simulator.preempted)
        return MeasuredRerun(windows, rerun.bound, waits, rerun.simulator.waits)


class SplitRecording(NamedTuple):
    """``profiles``: the revisions that decided at the cut, by schedulerName; ``last``: those at the
    end.
    """

    first: RecordedPart
    rest: RecordedPart
    profiles: Mapping[str, Revision]
    last: Mapping[str, Revision]
    cut_short: bool
    """Whether more was recorded after a gap, which is left out."""


def split(entries: Iterable[Timed], share: float, seed: int) -> SplitRecording:
    """Cut a recording once this share of its time is over. Raises ValueError where nothing, or no
    more than a moment, is recorded.
    """
    stream = iter(entries)
    whole = list(itertools.takewhile(lambda one: not isinstance(one[1], Gap), stream))
    begin, end = (whole[0][0], whole[-1][0]) if whole else (0.0, 0.0)
    if end <= begin:
        raise ValueError("no more than a moment is recorded")
    cut = begin + share * (end - begin)
    place = next(i for i, (time, _) in enumerate(whole) if time > cut)
    follower = Follower(seed)
    _follow(follower, (entry for _, entry in whole[:place]))
    profiles = dict(follower.replay.profiles)
    state = [(cut, entry) for entry in key_frame(follower.replay.context.cache, profiles)]
    _follow(follower, (entry for _, entry in whole[place:]))
    return SplitRecording(
        RecordedPart(whole[:place], cut, seed),
        RecordedPart([*state, *whole[place:]], end, seed),
        profiles,
        dict(follower.replay.profiles),
        cut_short=next(stream, None) is not None,
    )


def moved(a: Mapping[str, Binding], b: Mapping[str, Binding]) -> Moved:
    """Of pods that are bound in both worlds, by UID."""
    both = a.keys() & b.keys()
    return Moved(len(both), sum(a[uid].node != b[uid].node for uid in both))


# ---- inside --------------------------------------------------------------------------------------


def _waits(recorded: RecordedTime, rerun: Rerun) -> list[tuple[float, float]]:
    """When pods came, and how long they waited; up to the end for those that wait still. Not of
    those that somebody else decided for.
    """
    bound = rerun.bound
    return [
        (came, (bound[uid].time if uid in bound else recorded.end) - came)
        for uid, came in recorded.arrived.items()
        if came > recorded.begin
        and uid not in rerun.others
        and (uid in bound or uid not in recorded.ended)
    ]


def _follow(follower: Follower, entries: Iterable[Entry]) -> None:
    for entry in entries:
        follower.follow(entry)
