"""Suggestions: the smallest changes with which a pod would fit, each tried by deciding again."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, TypeAlias

from moorage.core.cycle.context import ScheduleResult
from moorage.core.explaining.cluster_changes import (
    AddedNodes,
    MovedPod,
    helpful_moves,
    helpful_nodes,
    moved,
    with_added,
)
from moorage.core.explaining.pod_changes import (
    MAX_FOUND,
    PodChange,
    PodChangeFamily,
    families_of,
)
from moorage.core.explaining.what_if import WhatIf
from moorage.core.objects.pods import Pod

Change: TypeAlias = PodChange | MovedPod | AddedNodes
MAX_PAIRS = 5


class Suggestion(NamedTuple):
    """Changes that together let the pod fit, none of them can be left out and none be smaller.

    ``nodes``: the nodes that take it then. ``placement``: where it would go, with the pod as it
    would be.
    """

    changes: tuple[Change, ...]
    nodes: tuple[str, ...]
    placement: ScheduleResult


def suggestions(what_if: WhatIf, pod: Pod, nearest: Sequence[str]) -> tuple[Suggestion, ...]:
    """Single changes, or if none helps, pairs. ``nearest``: nodes whose like is tried first."""
    families = families_of(pod, what_if.context.snapshot)
    found = [(change,) for change in _single(what_if, pod, families, nearest)]
    changes: Iterable[tuple[Change, ...]] = found or itertools.islice(
        _pairs(what_if, pod, families, nearest), MAX_PAIRS
    )
    tried = (_tried(what_if, pod, each) for each in changes)
    return tuple(one for one in tried if one is not None)


def _single(
    what_if: WhatIf, pod: Pod, families: Sequence[PodChangeFamily], nearest: Sequence[str]
) -> Iterator[Change]:
    for family in families:
        yield from family.smallest(pod, what_if.fits)
    yield from helpful_moves(what_if, pod, MAX_FOUND)
    yield from helpful_nodes(what_if, pod, nearest, MAX_FOUND)


def _pairs(
    what_if: WhatIf, pod: Pod, families: Sequence[PodChangeFamily], nearest: Sequence[str]
) -> Iterator[tuple[Change, ...]]:
    """Of two families the smallest change of the one, given all of the other; then the smallest of
    the other that goes with it. Or a change with a node.
    """
    for one, other in itertools.combinations(families, 2):
        if not what_if.fits(one.most(other.most(pod))):
            continue
        first = next(one.smallest(other.most(pod), what_if.fits), None)
        if first is not None:
            second = next(other.smallest(first.apply(pod), what_if.fits), None)
            if second is not None:
                yield first, second
    for family in families:
        for added in helpful_nodes(what_if, family.most(pod), nearest, 1):
            with with_added(what_if, added):
                smallest = next(family.smallest(pod, what_if.fits), None)
            if smallest is not None:
                yield smallest, added


def _tried(what_if: WhatIf, pod: Pod, changes: tuple[Change, ...]) -> Suggestion | None:
    """What comes of these changes; None where the pod does not fit with them after all."""
    with contextlib.ExitStack() as undo:
        for change in changes:
            match change:
                case MovedPod():
                    undo.enter_context(moved(what_if, change))
                case AddedNodes():
                    undo.enter_context(with_added(what_if, change))
                case _:
                    pod = change.apply(pod)
        placement = what_if.decide(pod)
        if placement is None:
            return None
        return Suggestion(changes, tuple(what_if.fitting_nodes(pod)), placement)
