"""The timeline of a recording: how many pods waited, how many found a node, how full it was, and
what happened when.

One pass, in order; of each pod that is there no more is kept than when it came and what it takes.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

import numpy as np

from moorage.core.columns import changes
from moorage.core.columns.changes import Entry
from moorage.core.cycle.decisions import ProfileActivated, ProfileDeactivated
from moorage.core.framework.revisions import Revision
from moorage.core.objects.meta import key
from moorage.core.objects.pods import Pod
from moorage.core.pods.requests import allocatable_amounts, pod_requests

POINTS: Final = 600
"""Of a curve, at most."""
_STEPS: Final = (1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1800.0, 3600.0, 86_400.0)
_P99: Final = 99


class TimelineMark(NamedTuple):
    """Something that happened: ``what`` is swap, removed or gap. ``time``: seconds since 1970."""

    time: float
    what: str
    profile: str | None
    text: str


@dataclasses.dataclass(slots=True)
class RecordedTimeline:
    """Curves with a point each ``step`` seconds from ``begin`` on; None in a gap."""

    begin: float
    end: float
    step: float
    placed: list[float | None] = dataclasses.field(default_factory=list)
    """Pods a second."""
    waiting: list[int | None] = dataclasses.field(default_factory=list)
    cpu: list[float | None] = dataclasses.field(default_factory=list)
    """Requested of allocatable, 0 to 1."""
    p99: list[float | None] = dataclasses.field(default_factory=list)
    """Seconds from the first sight of a waiting pod to its place."""
    marks: list[TimelineMark] = dataclasses.field(default_factory=list)
    revisions: dict[tuple[str, str], Revision] = dataclasses.field(default_factory=dict)
    """Those that decided, by schedulerName and id."""
    found_places: dict[str, float] = dataclasses.field(default_factory=dict)
    """When pods that waited (``namespace/name``) found their nodes."""


def timeline_of(
    entries: Iterable[tuple[float, Entry]],
    begin: float,
    end: float,
    progress: Callable[[float], None],
) -> RecordedTimeline:
    """The timeline from ``begin`` to ``end``, or to where the entries end; ``progress`` is told how
    much of it is done, 0 to 1.
    """
    length = max(end - begin, 1.0)
    step = next((one for one in _STEPS if length / one <= POINTS), _STEPS[-1])
    made = _Maker(RecordedTimeline(begin, begin, step))
    for time, entry in entries:
        if made.reach(time):
            progress(min(1.0, (time - begin) / length))
        made.note(time, entry)
    return made.finish()


class _Maker:
    """What is known at the moment that the pass has come to."""

    def __init__(self, found: RecordedTimeline) -> None:
        self.found = found
        self._next = found.begin + found.step
        self._reset()
        self._deciding: dict[str, str] = {}

    def _reset(self) -> None:
        """Nothing is known: a whole state comes next."""
        self._whole = True
        self._waiting: dict[str, float] = {}
        self._asked: dict[str, int] = {}
        """Millicores of the pods that have a place, by UID."""
        self._had: dict[str, int] = {}
        """Millicores of the nodes, by name."""
        self._waits: list[float] = []

    def reach(self, time: float) -> bool:
        """Put down the points up to this time; whether there were any."""
        put = False
        while time >= self._next:
            self._point()
            self._next += self.found.step
            put = True
        self.found.end = max(self.found.end, time)
        return put

    def finish(self) -> RecordedTimeline:
        """With the last point."""
        self._point()
        return self.found

    def _point(self) -> None:
        found, waits = self.found, self._waits
        had = sum(self._had.values())
        found.placed.append(len(waits) / found.step if self._whole else None)
        found.waiting.append(len(self._waiting) if self._whole else None)
        share = sum(self._asked.values()) / had if had else 0.0
        found.cpu.append(round(share, 4) if self._whole else None)
        p99 = float(np.percentile(np.array(waits), _P99)) if waits else None
        found.p99.append(p99 if self._whole else None)
        self._waits = []

    # ---- entries ---------------------------------------------------------------------------------

    def note(self, time: float, entry: Entry) -> None:
        """One more thing that happened."""
        if isinstance(entry, changes.Gap):
            self._gap(time)
            return
        self._whole = True
        match entry:
            case changes.NodePut():
                amounts = allocatable_amounts(entry.node)
                self._had[entry.node.metadata.name] = amounts.get("cpu", 0)
            case changes.NodeRemoved():
                self._had.pop(entry.name, None)
            case ProfileActivated():
                self._activated(time, entry)
            case ProfileDeactivated():
                self._deciding.pop(entry.scheduler_name, None)
                text = f"nobody decides for {entry.scheduler_name} any more"
                self._mark(time, "removed", entry.scheduler_name, text)
            case _:
                self._note_pod(time, entry)

    def _note_pod(self, time: float, entry: Entry) -> None:
        match entry:
            case changes.PodWaiting():
                if entry.pod.metadata.uid not in self._asked:
                    self._waiting.setdefault(entry.pod.metadata.uid, time)
            case changes.PodAssumed() | changes.PodObserved():
                self._place(entry.pod, time)
            case changes.PodForgotten():
                if self._asked.pop(entry.uid, None) is not None:
                    self._waiting.setdefault(entry.uid, time)
            case changes.PodRemoved():
                self._waiting.pop(entry.uid, None)
                self._asked.pop(entry.uid, None)

    def _place(self, pod: Pod, time: float) -> None:
        uid = pod.metadata.uid
        came = self._waiting.pop(uid, None)
        if came is not None:
            self._waits.append(time - came)
            self.found.found_places[key(pod)] = time
        if uid not in self._asked:
            self._asked[uid] = pod_requests(pod).cpu

    def _activated(self, time: float, entry: ProfileActivated) -> None:
        name, revision = entry.scheduler_name, entry.revision
        if revision is None:
            return
        self.found.revisions.setdefault((name, revision.id), revision)
        before, self._deciding[name] = self._deciding.get(name), revision.id
        if before is not None and before != revision.id:
            self._mark(time, "swap", name, f"{name} runs {revision.id}")

    def _gap(self, time: float) -> None:
        self._reset()
        self._whole = False
        self._mark(time, "gap", None, "some changes are missing here")

    def _mark(self, time: float, what: str, profile: str | None, text: str) -> None:
        self.found.marks.append(TimelineMark(time, what, profile, text))
