"""Parts: a recording cut in two, so that what was found in the first part is judged by the second.

Nothing of the second part is in the first, not even how long a pod ran that ended after the cut.
The second one begins with the cluster as it was recorded at the cut, whatever was tried before.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from moorage.core.columns.changes import Entry, Gap
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
from moorage.core.simulation.windows import Looks, Windows
from moorage.core.simulation.world_comparisons import waits


class MeasuredRerun(NamedTuple):
    """What a rerun comes to. ``bound``: the places of pods that waited, by UID; ``waiting``: pods
    without a place at the end.
    """

    windows: Windows
    bound: Mapping[str, Binding]
    waiting: int


class RecordedPart:
    """What happened from one moment to another, to be had again as often as is wanted.

    ``entries`` begin with the whole state then; ``end`` (seconds) may be after the last of them.
    """

    def __init__(self, entries: Sequence[Timed], end: float, seed: int) -> None:
        self.recorded: RecordedTime = recorded_time(entries)
        self.recorded.end = end
        self.classes: Sequence[PodClass] = pod_classes(self.recorded.pods.values())
        self._state = [entry for time, entry in entries if time <= self.recorded.begin]
        self._seed = seed

    def rerun(self, candidates: Mapping[str, Revision], replica: int = 0) -> MeasuredRerun:
        """Have it again under these revisions, by schedulerName; each time from the same begin.
        In replicas other than 0 ties end otherwise.
        """
        follower = Follower(self._seed + replica)
        for entry in self._state:
            follower.follow(entry)
        looks = Looks(self.recorded, self.classes)
        found = Rerun(self.recorded, follower.replay.context, follower.replay.profiles, candidates)
        found.run(looks.instants(), lambda one: looks.add(one.now, one.context, one.waits))
        windows = looks.windows(waits(self.recorded, found.bound), found.simulator.preempted)
        return MeasuredRerun(windows, found.bound, found.simulator.waits)


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


def _follow(follower: Follower, entries: Iterable[Entry]) -> None:
    for entry in entries:
        follower.follow(entry)
