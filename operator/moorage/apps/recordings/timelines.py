"""The timeline of a recording: how many pods waited, how many found a node, how full it was, and
what happened when.

One pass, in order; of each pod that is there no more is kept than when it came and what it takes.
"""

from __future__ import annotations

import copy
import dataclasses
import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, NamedTuple

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
BURST_PODS, BURST_TIMES = 100, 10
"""Pods that come within a step are a burst where they are so many, and so many times the usual."""
_REMEMBERED: Final = 20
"""Steps by which it is told what is usual."""
MAX_SCHEDULERS: Final = 30
MAX_PLACES: Final = 200_000
"""Pods of which it is kept when they found their nodes: the last ones."""
_JOINED: Final[Mapping[str, Callable[[float, float], float]]] = {
    "placed": lambda one, other: (one + other) / 2,
    "waiting": lambda _, other: other,
    "cpu": lambda _, other: other,
    "p99": max,
}
"""The curves, and what becomes of two of their points."""


class TimelineMark(NamedTuple):
    """Something that happened: ``what`` is swap, removed, burst or gap. ``time``: seconds since
    1970.
    """

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
    placed_by: dict[str, list[float | None]] = dataclasses.field(default_factory=dict)
    """The same by schedulerName, of the first ``MAX_SCHEDULERS``."""
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


class TimelineMaker:
    """Goes through a recording, which may grow meanwhile; what is known at the moment that it has
    come to. ``length``: seconds that are there to begin with. Where a curve comes to have twice
    ``POINTS`` each two of them become one.
    """

    def __init__(self, begin: float, length: float = 0.0) -> None:
        step = next((one for one in _STEPS if length / one <= POINTS), _STEPS[-1])
        self.found = RecordedTimeline(begin, begin, step)
        self._next = begin + step
        self.seen = -math.inf
        """The time of the last entry that was seen."""
        self._count = 0
        """How many entries of that time there were."""
        self._reset()
        self._deciding: dict[str, str] = {}
        self._usual = 0.0
        """Pods that come within a step."""
        self._bursts = False
        """Whether they did so within the step before."""

    def go_on(
        self, entries: Iterable[tuple[float, Entry]], reached: Callable[[float], None]
    ) -> None:
        """Those after the last one that was seen, or from a whole state before it on; ``reached``
        is told times of the recording.
        """
        last, count, again = self.seen, self._count, 0
        for time, entry in entries:
            if time == self.seen:
                again += 1
            if time < self.seen or (time == self.seen and again <= self._count):
                continue
            if self.reach(time):
                reached(time)
            self.note(time, entry)
            last, count = time, count + 1 if time == last else 1
        self.seen, self._count = last, count

    def reach(self, time: float) -> bool:
        """All up to this time is known: put down its points; whether there were any."""
        put = False
        while time >= self._next:
            self._point()
            self._next += self.found.step
            put = True
        self.found.end = max(self.found.end, time)
        return put

    def forget(self, before: float) -> None:
        """What was before this time is not kept any more."""
        found = self.found
        points = min(len(found.placed), max(0, int((before - found.begin) / found.step)))
        for curve in (*(getattr(found, name) for name in _JOINED), *found.placed_by.values()):
            del curve[:points]
        found.begin += points * found.step
        found.marks = [mark for mark in found.marks if mark.time >= found.begin]

    def timeline(self) -> RecordedTimeline:
        """What was found so far, with a last point that is still to be completed."""
        found = copy.copy(self.found)
        for name, one in self._values().items():
            setattr(found, name, [*getattr(found, name), one])
        rates = self._rates()
        found.placed_by = {name: [*one, rates[name]] for name, one in found.placed_by.items()}
        found.marks = [*found.marks]
        return found

    def _reset(self) -> None:
        """Nothing is known: a whole state comes next."""
        self._whole = True
        self._waiting: dict[str, float] = {}
        self._asked: dict[str, int] = {}
        """Millicores of the pods that have a place, by UID."""
        self._had: dict[str, int] = {}
        """Millicores of the nodes, by name."""
        self._waits: list[float] = []
        self._placed: Counter[str] = Counter()
        """Pods that were placed since the last point, by schedulerName."""
        self._came: int | None = None
        """Pods that came since the last point; None where some were there before."""

    def _point(self) -> None:
        found = self.found
        self._note_burst()
        for name, one in self._values().items():
            getattr(found, name).append(one)
        for name, rate in self._rates().items():
            found.placed_by[name].append(rate)
        self._waits = []
        self._placed.clear()
        if len(found.placed) == 2 * POINTS:
            found.step *= 2
            self._usual *= 2
            for name, join in _JOINED.items():
                _halve(getattr(found, name), join)
            for curve in found.placed_by.values():
                _halve(curve, _JOINED["placed"])

    def _note_burst(self) -> None:
        came, self._came = self._came, 0
        if came is None:
            return
        bursts = came >= BURST_PODS and came > BURST_TIMES * self._usual
        if bursts and not self._bursts:
            step = self.found.step
            text = f"{came:,} pods came within {step:g} s"
            self._mark(self._next - step, "burst", None, text)
        if not bursts:
            self._usual += (came - self._usual) / _REMEMBERED
        self._bursts = bursts

    def _rates(self) -> dict[str, float | None]:
        """The point of now, of what was placed by schedulerName."""
        step = self.found.step
        return {
            name: self._placed[name] / step if self._whole else None
            for name in self.found.placed_by
        }

    def _values(self) -> dict[str, Any]:
        """The point of now, by curve."""
        if not self._whole:
            return dict.fromkeys(_JOINED)
        had, waits = sum(self._had.values()), self._waits
        return {
            "placed": len(waits) / self.found.step,
            "waiting": len(self._waiting),
            "cpu": round(sum(self._asked.values()) / had, 4) if had else 0.0,
            "p99": float(np.percentile(np.array(waits), _P99)) if waits else None,
        }

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
                uid = entry.pod.metadata.uid
                if uid not in self._asked:
                    if self._came is not None and uid not in self._waiting:
                        self._came += 1
                    self._waiting.setdefault(uid, time)
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
            self._count_placed(pod.spec.scheduler_name)
            places = self.found.found_places
            places[key(pod)] = time
            if len(places) > MAX_PLACES:
                del places[next(iter(places))]
        if uid not in self._asked:
            self._asked[uid] = pod_requests(pod).cpu

    def _count_placed(self, scheduler: str) -> None:
        curves = self.found.placed_by
        if scheduler not in curves and len(curves) < MAX_SCHEDULERS:
            curves[scheduler] = [one and 0.0 for one in self.found.placed]
        self._placed[scheduler] += 1

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


def _halve(curve: list[Any], join: Callable[[float, float], float]) -> None:
    """Each two points become one."""
    pairs = zip(curve[::2], curve[1::2], strict=True)
    curve[:] = [_either(one, other, join) for one, other in pairs]


def _either(one: Any, other: Any, join: Callable[[float, float], float]) -> Any:
    """One point of two; None where nothing is known of either."""
    if one is None or other is None:
        return other if one is None else one
    return join(one, other)
