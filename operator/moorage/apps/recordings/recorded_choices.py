"""The decisions of a recording around a moment, ours and others', for people to step through."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from moorage.core.columns import changes
from moorage.core.columns.changes import Entry
from moorage.core.cycle.decisions import Decided, DecidedBy
from moorage.core.objects.meta import key
from moorage.core.recording.recorded_decisions import RecordedDecision, RecordedOutcome, recorded

BEFORE = 20
"""Decisions before the moment that are kept."""


class ShownDecision(NamedTuple):
    """One decision. ``time``: seconds since 1970; ``node``: None where none was found, and
    ``message`` says why; ``revision``: None of another scheduler.
    """

    time: float
    pod: str
    profile: str
    revision: str | None
    node: str | None
    score: int | None
    message: str


def around(
    entries: Iterable[tuple[float, Entry]], at: float, limit: int
) -> tuple[list[ShownDecision], list[ShownDecision]]:
    """The last ones before the moment, and the first ``limit`` from it on. ``entries`` begin with
    a whole state before it.
    """
    before: deque[ShownDecision] = deque(maxlen=BEFORE)
    after: list[ShownDecision] = []
    for one in _decisions(entries):
        if one.time < at:
            before.append(one)
        else:
            after.append(one)
        if len(after) >= limit:
            break
    return list(before), after


def about(entries: Iterable[tuple[float, Entry]], pod: str, until: float) -> list[ShownDecision]:
    """Those about one pod (``namespace/name``), up to this time."""
    earlier = itertools.takewhile(lambda one: one.time <= until, _decisions(entries))
    return [one for one in earlier if one.pod == pod]


def _decisions(entries: Iterable[tuple[float, Entry]]) -> Iterator[ShownDecision]:
    """All of them. A pod that waited and is seen on a node without a decision of ours was put there
    by somebody else.
    """
    waiting: set[str] = set()
    for time, entry in entries:
        match entry:
            case changes.PodWaiting():
                waiting.add(entry.pod.metadata.uid)
            case changes.PodRemoved():
                waiting.discard(entry.uid)
            case changes.PodAssumed():
                waiting.discard(entry.pod.metadata.uid)
            case changes.PodObserved() if entry.pod.metadata.uid in waiting:
                waiting.discard(entry.pod.metadata.uid)
                spec = entry.pod.spec
                name = spec.scheduler_name
                yield ShownDecision(time, key(entry.pod), name, None, spec.node_name, None, "")
            case RecordedDecision(by=DecidedBy.POD_GROUP):
                pass  # its members are there
            case RecordedDecision():
                yield _ours(time, entry)
            case Decided():
                yield _ours(time, recorded(entry))


def _ours(time: float, decision: RecordedDecision) -> ShownDecision:
    outcome: RecordedOutcome = decision.outcome
    return ShownDecision(
        time,
        key(decision.pod),
        decision.pod.spec.scheduler_name,
        decision.revision.id if decision.revision is not None else None,
        outcome.node or None,
        outcome.score,
        outcome.message,
    )
