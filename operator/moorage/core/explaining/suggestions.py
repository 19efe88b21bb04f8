"""Suggestions: the smallest changes with which a pod would fit, each tried by deciding again."""

from __future__ import annotations

import contextlib
import itertools
import math
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, TypeAlias

from moorage.core.cycle.context import ScheduleResult
from moorage.core.explaining.cluster_changes import (
    AddedNodes,
    MovedPod,
    helpful_moves,
    helpful_nodes,
    moved,
    nodes_for_all,
    with_added,
)
from moorage.core.explaining.pod_changes import (
    MAX_FOUND,
    PodChange,
    PodChangeFamily,
    families_of,
)
from moorage.core.explaining.searches import Search, take_turns
from moorage.core.explaining.what_if import WhatIf
from moorage.core.explaining.what_if_group import MinCountChange, WhatIfGroup
from moorage.core.objects.pods import Pod
from moorage.core.structures.budget import OutOfTime

Change: TypeAlias = PodChange | MovedPod | AddedNodes | MinCountChange
MAX_PAIRS = 5


class Suggestion(NamedTuple):
    """Changes that together let the pod fit, or its group; none of them can be left out and none be
    smaller. Changes of a member are those of all that ask for the same.

    ``nodes``: the nodes that take it then, or that its group goes to. ``placement``: where it would
    go, with the pod as it would be.
    """

    changes: tuple[Change, ...]
    nodes: tuple[str, ...]
    placement: ScheduleResult


class Suggestions(NamedTuple):
    """What was found. ``untried``: changes for which there was no time."""

    found: tuple[Suggestion, ...]
    untried: int


def suggestions(
    what_if: WhatIf, pod: Pod, nearest: Sequence[str], seconds: float = math.inf
) -> Suggestions:
    """Single changes, or if none helps, pairs. ``nearest``: nodes whose like is tried first.
    ``seconds``: how long is searched, by the clock of the context's budget.
    """
    families, budget = families_of(pod, what_if.context.snapshot), what_if.context.budget
    nodes = helpful_nodes(what_if, pod, nearest, MAX_FOUND)
    single: list[Search[Any]] = [
        *(family.smallest(pod, what_if.fits) for family in families),
        *what_if.own_searches(pod),
        helpful_moves(what_if, pod, MAX_FOUND),
        nodes,
    ]
    pairs = _pairs(what_if, pod, families, nearest)
    budget.slice = seconds
    with contextlib.suppress(OutOfTime), budget:
        take_turns(single)
        if not _found(single):
            take_turns([pairs])
        for i, change in enumerate(nodes.found):
            nodes.found[i] = change._replace(for_all=nodes_for_all(what_if, pod, change))
    changes = [(change,) for change in _found(single)] or pairs.found
    tried = [_tried(what_if, pod, each) for each in changes]
    return Suggestions(
        tuple(one for one in tried if one is not None),
        sum(one.left for one in (*single, *(() if _found(single) else (pairs,)))),
    )


def _found(searches: Iterable[Search[Any]]) -> list[Change]:
    return [change for one in searches for change in one.found]


def _pairs(
    what_if: WhatIf, pod: Pod, families: Sequence[PodChangeFamily], nearest: Sequence[str]
) -> Search[tuple[Change, ...]]:
    """Of two families the smallest change of the one, given all of the other; then the smallest of
    the other that goes with it. Or a change with a node (the other family is None).
    """

    def attempt(
        pair: tuple[PodChangeFamily, PodChangeFamily | None],
    ) -> tuple[Change, ...] | None:
        one, other = pair
        if other is None:
            return _with_a_node(what_if, pod, one, nearest)
        if not what_if.fits(one.most(other.most(pod))):
            return None
        first = one.smallest(other.most(pod), what_if.fits).first()
        if first is None:
            return None
        second = other.smallest(first.apply(pod), what_if.fits).first()
        return None if second is None else (first, second)

    every = [*itertools.combinations(families, 2), *((one, None) for one in families)]
    return Search(every, attempt, most=MAX_PAIRS, expected=len(every))


def _with_a_node(
    what_if: WhatIf, pod: Pod, family: PodChangeFamily, nearest: Sequence[str]
) -> tuple[Change, ...] | None:
    added = helpful_nodes(what_if, family.most(pod), nearest, 1).first()
    if added is None:
        return None
    with with_added(what_if, added):
        smallest = family.smallest(pod, what_if.fits).first()
    return None if smallest is None else (smallest, added)


def _tried(what_if: WhatIf, pod: Pod, changes: tuple[Change, ...]) -> Suggestion | None:
    """What comes of these changes; None where the pod does not fit with them after all."""
    with contextlib.ExitStack() as undo:
        for change in changes:
            match change:
                case MovedPod():
                    undo.enter_context(moved(what_if, change))
                case AddedNodes():
                    undo.enter_context(with_added(what_if, change))
                case MinCountChange():
                    if isinstance(what_if, WhatIfGroup):
                        undo.enter_context(what_if.with_minimum(change.after))
                case _:
                    pod = change.apply(pod)
        placement = what_if.decide(pod)
        if placement is None:
            return None
        return Suggestion(changes, tuple(what_if.fitting_nodes(pod)), placement)
