"""What a recording says of a time: who came, who went, where each pod was, and what else changed.

Taken apart so that it can be made to happen once more, under other decisions: what somebody outside
did (pods that come, nodes, other objects) from what was decided (places), and how long each pod ran
once it was bound.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import NamedTuple

from moorage.core.columns import changes
from moorage.core.columns.cache import Cache
from moorage.core.columns.changes import Entry
from moorage.core.columns.store import Store
from moorage.core.cycle.context import CycleContext
from moorage.core.cycle.decisions import (
    ProfileActivated,
)
from moorage.core.objects.pods import Pod
from moorage.core.plugins.default_preemption.plugin import BY_PREEMPTION
from moorage.core.plugins.intree import INDEXES
from moorage.core.recording.replay import Replay

Timed = tuple[float, Entry]
"""When something happened, in seconds of any clock, and what."""
_DOINGS = (
    changes.NodePut,
    changes.NodeRemoved,
    changes.ObjectPut,
    changes.ObjectRemoved,
    changes.PodWaiting,
    changes.PodObserved,
    changes.PodRemoved,
    ProfileActivated,
)
"""What is nobody's decision."""


class Binding(NamedTuple):
    """Where a pod got its place, and when."""

    time: float
    node: str


class Follower:
    """Follows a recording on a context of its own, decisions as they were made."""

    def __init__(self, seed: int) -> None:
        self.replay = Replay(CycleContext(Cache(Store(INDEXES)), seed))

    def follow(self, entry: Entry) -> None:
        """Have it so."""
        self.replay.follow(entry)


@dataclasses.dataclass(slots=True)
class RecordedTime:
    """What happened from ``begin`` to ``end`` (seconds)."""

    begin: float
    end: float
    doings: list[Timed] = dataclasses.field(default_factory=list)
    """What somebody outside did, in order; at the begin, what was there."""
    pods: dict[str, Pod] = dataclasses.field(default_factory=dict)
    """By UID: each pod as it was first seen."""
    arrived: dict[str, float] = dataclasses.field(default_factory=dict)
    """By UID: when a pod was first seen waiting."""
    bound: dict[str, Binding] = dataclasses.field(default_factory=dict)
    """By UID: the place of a pod that was seen waiting."""
    ended: dict[str, float] = dataclasses.field(default_factory=dict)
    """By UID: when a pod was gone."""
    preempted: dict[str, float] = dataclasses.field(default_factory=dict)
    """By UID: when a pod was told to go for another one."""
    cut_short: bool = False
    """Whether more was recorded after a gap: what is missing there nobody knows."""

    def duration(self, uid: str) -> float | None:
        """How long a pod ran once it was bound; None for one that had not ended."""
        binding, end = self.bound.get(uid), self.ended.get(uid)
        return None if binding is None or end is None else end - binding.time

    def note(self, time: float, entry: Entry) -> None:
        """One more thing that happened."""
        self.end = time
        if isinstance(entry, _DOINGS):
            self.doings.append((time, entry))
        match entry:
            case changes.PodWaiting():
                self.pods.setdefault(entry.pod.metadata.uid, entry.pod)
                self.arrived.setdefault(entry.pod.metadata.uid, time)
            case changes.PodAssumed():
                self._bind(entry.pod, entry.node, time)
            case changes.PodForgotten():
                self.bound.pop(entry.uid, None)
            case changes.PodObserved():
                self._bind(entry.pod, entry.pod.spec.node_name, time)
            case changes.PodRemoved():
                self.ended.setdefault(entry.uid, time)
            case changes.PodPreempted():
                self.preempted.setdefault(entry.uid, time)

    def _bind(self, pod: Pod, node: str, time: float) -> None:
        uid = pod.metadata.uid
        self.pods.setdefault(uid, pod)
        if uid in self.arrived:
            self.bound.setdefault(uid, Binding(time, node))
        reasons = (one.reason for one in pod.status.conditions or ())
        if BY_PREEMPTION in reasons:
            self.preempted.setdefault(uid, time)


def recorded_time(entries: Iterable[Timed]) -> RecordedTime:
    """All that happened, up to the first gap. Raises ValueError where nothing did."""
    found: RecordedTime | None = None
    for time, entry in entries:
        if found is None:
            found = RecordedTime(time, time)
        if isinstance(entry, changes.Gap):
            found.cut_short = True
            break
        found.note(time, entry)
    if found is None:
        raise ValueError("nothing is recorded")
    return found
