"""Reach indexes: sized things that can be reached from some nodes, found by node, or counted for
all nodes at once.

Most volumes and storage capacities are reached by one label: a node's name, a zone. These stand
under that label's values, so that thousands of local volumes are no more work than thousands of
nodes.
"""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Callable, Hashable, Iterator
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from moorage.core.columns.nodes.label_columns import ABSENT
from moorage.core.columns.nodes.node_columns import LabelCodes, NodeColumns
from moorage.core.columns.nodes.node_table import Rows
from moorage.core.columns.nodes.row_selection import rows_matching
from moorage.core.objects.meta import Labels
from moorage.core.pods.node_selection import NodeTerms
from moorage.core.structures.all_or_none import all_or_none
from moorage.core.structures.growing import grown
from moorage.core.structures.numbering import Numbering

Place = TypeVar("Place", bound=Hashable)
Item = tuple[int, int, str]
"""Size, worth (int64) and name; lists of items are sorted."""
NOTHING = np.iinfo(np.int64).max
"""The size and worth of what is not there."""
Smallest = npt.NDArray[np.int64]
"""The smallest of several things, by size and then worth: int64[2, number, places], sizes and
worths.
"""
Accepts = Callable[[str], bool]
"""Whether a thing of this name will do, apart from its size."""


class _LabelIndex:
    """What is reached by one label: lists by value, and the same as columns. ``_sizes``,
    ``_worths`` and ``_which`` (a value's number) go by place.
    """

    def __init__(self) -> None:
        self.values: dict[str, list[Item]] = {}
        self._numbering: Numbering[str | None] = Numbering(None)
        self._names: list[tuple[str, str]] = []
        self._place: dict[tuple[str, str], int] = {}
        self._sizes = np.zeros(64, np.int64)
        self._worths = np.zeros(64, np.int64)
        self._which = np.zeros(64, np.int64)
        self._codes: tuple[LabelCodes, int, int, npt.NDArray[np.int64]] | None = None

    def change(self, item: Item, value: str, sign: int) -> None:
        """Something is reached where the label has this value (1), or not any more (-1)."""
        if sign > 0:
            self._add(item, value)
        else:
            self._remove(item, value)

    def _add(self, item: Item, value: str) -> None:
        place = len(self._names)
        self._sizes, self._which = grown(self._sizes, place + 1), grown(self._which, place + 1)
        self._worths = grown(self._worths, place + 1)
        self._which[place] = self._numbering.swap(0, value)
        self._sizes[place], self._worths[place], name = item
        self._place[name, value] = place
        self._names.append((name, value))
        bisect.insort(self.values.setdefault(value, []), item)

    def _remove(self, item: Item, value: str) -> None:
        """Take it out; the last one takes its place."""
        place, last = self._place[item[2], value], len(self._names) - 1
        self._numbering.swap(int(self._which[place]), None)
        for column in (self._sizes, self._worths, self._which):
            column[place] = column[last]
        self._names[place] = self._names[last]
        self._place[self._names[last]] = place
        del self._place[item[2], value], self._names[last]
        items = self.values[value]
        items.pop(bisect.bisect_left(items, item))
        if not items:
            del self.values[value]

    def counts(
        self, least: int, likes: Accepts | None, column: LabelCodes
    ) -> npt.NDArray[np.int64]:
        """How many of at least this size are reached by each code of the label. -> int64[codes]."""
        fits = self._fitting(least, likes)
        per_value = np.bincount(self._which[fits], minlength=len(self._numbering.values))
        per_code = np.zeros(len(column.values), np.int64)
        per_code[self._codes_of(column)] = per_value
        per_code[ABSENT] = 0
        return per_code

    def smallest(
        self, number: int, least: int, likes: Accepts | None, column: LabelCodes
    ) -> Smallest:
        """The smallest of at least this size that are reached by each code of the label."""
        places = self._fitting(least, likes)
        sort_by = self._worths[places], self._sizes[places], self._which[places]
        places = places[np.lexsort(sort_by)]
        which = self._which[places]
        turn = np.arange(places.size) - np.searchsorted(which, which)
        places, which, turn = places[turn < number], which[turn < number], turn[turn < number]
        found = np.full((2, number, len(column.values)), NOTHING)
        codes = self._codes_of(column)[which]
        found[:, turn, codes] = self._sizes[places], self._worths[places]
        found[:, :, ABSENT] = NOTHING
        return found

    def _fitting(self, least: int, likes: Accepts | None) -> npt.NDArray[np.intp]:
        """The places of what has at least this size and will do."""
        fits = np.flatnonzero(self._sizes[: len(self._names)] >= least)
        if likes is not None:
            fits = fits[[likes(self._names[place][0]) for place in fits.tolist()]]
        return fits

    def _codes_of(self, column: LabelCodes) -> npt.NDArray[np.int64]:
        """The code of each number's value; looked up again when values come or go on either side.
        -> int64[numbers].
        """
        known, versions = self._codes, (column.version, self._numbering.version)
        if known is None or known[0] is not column or known[1:3] != versions:
            values = self._numbering.values
            codes = [ABSENT if value is None else column.code(value) for value in values]
            known = self._codes = column, *versions, np.array(codes, np.int64)
        return known[3]


class ReachIndex:
    """Finds the things that a node reaches.

    A thing is reached from the nodes that match any of its terms, or (None) from all.
    """

    def __init__(self) -> None:
        self._by_label: dict[str, _LabelIndex] = {}
        self._by_terms: dict[NodeTerms | None, list[Item]] = {}

    def change(self, item: Item, terms: NodeTerms | None, sign: int) -> bool:
        """Something came (1), or goes (-1) that came with the same size and terms; whether anything
        is left.
        """
        if (label := _single_label(terms)) is None:
            if sign > 0:
                bisect.insort(self._by_terms.setdefault(terms, []), item)
            else:
                _drop(self._by_terms, terms, item)
        else:
            there = self._by_label[label[0]] if label[0] in self._by_label else _LabelIndex()
            all_or_none(sign, *((there.change, item, value) for value in label[1]))
            self._by_label[label[0]] = there
            if not there.values:
                del self._by_label[label[0]]
        return bool(self._by_label or self._by_terms)

    def counts(
        self, least: int, likes: Accepts | None, nodes: NodeColumns, rows: Rows
    ) -> npt.NDArray[np.int64]:
        """How many things of at least this size each row can reach. -> int64[len(rows)]."""
        total = np.zeros(nodes.live[rows].size, np.int64)
        for label, there in self._by_label.items():
            column = nodes.labels.column(label)
            total += there.counts(least, likes, column)[column.codes[rows]]
        for terms, items in self._by_terms.items():
            number = _count(items, least, likes)
            if number:
                total += number if terms is None else number * rows_matching(terms, nodes, rows)
        return total

    def smallest(
        self, number: int, least: int, likes: Accepts | None, nodes: NodeColumns, rows: Rows
    ) -> Smallest:
        """The smallest such things that each row can reach: int64[2, number, len(rows)]."""
        best = no_things(number, nodes.live[rows].size)
        for label, there in self._by_label.items():
            column = nodes.labels.column(label)
            found = there.smallest(number, least, likes, column)[:, :, column.codes[rows]]
            best = merge_smallest(best, found)
        for terms, items in self._by_terms.items():
            few = list(itertools.islice(_enough(items, least, likes), number))
            here: Rows = slice(None)
            if terms is not None:
                here = np.flatnonzero(rows_matching(terms, nodes, rows))
            found = np.array([one[:2] for one in few], np.int64).reshape(-1, 2).T[:, :, None]
            found = np.broadcast_to(found, (2, len(few), best[0, 0, here].size))
            best[:, :, here] = merge_smallest(best[:, :, here], found)
        return best

    def within_reach(self, least: int, likes: Accepts, labels: Labels) -> Iterator[Item]:
        """For a node with these labels, the smallest such thing in each of the places where it
        finds some.
        """
        found = [
            there.values.get(labels[label], [])
            for label, there in self._by_label.items()
            if label in labels
        ]
        found += [
            items
            for terms, items in self._by_terms.items()
            if terms is None or any(term.matches(labels, "") for term in terms)
        ]
        for items in found:
            yield from itertools.islice(_enough(items, least, likes), 1)


def _single_label(terms: NodeTerms | None) -> tuple[str, list[str]] | None:
    """The label and its values when that is all that the terms ask for."""
    if terms is None or len(terms) != 1 or len(terms[0].labels) != 1 or terms[0].fields:
        return None
    condition = terms[0].labels[0]
    return (condition.key, sorted(condition.values)) if condition.operator == "In" else None


def no_things(number: int, places: int) -> Smallest:
    """For so many places: int64[2, number, places]."""
    return np.full((2, number, places), NOTHING)


def merge_smallest(one: Smallest, other: Smallest) -> Smallest:
    """As many as in ``one``, from both."""
    both = np.concatenate([one, other], axis=1)
    order = np.lexsort((both[1], both[0]), axis=0)[: one.shape[1]]
    return np.take_along_axis(both, order[None], axis=1)


def _enough(items: list[Item], least: int, likes: Accepts | None) -> Iterator[Item]:
    """Those of at least this size that will do."""
    enough = items[bisect.bisect_left(items, (least, -1, "")) :]
    return iter(enough) if likes is None else (one for one in enough if likes(one[2]))


def _count(items: list[Item], least: int, likes: Accepts | None) -> int:
    start = bisect.bisect_left(items, (least, -1, ""))
    return len(items) - start if likes is None else sum(likes(one[2]) for one in items[start:])


def _drop(places: dict[Place, list[Item]], place: Place, item: Item) -> None:
    items = places[place]
    items.pop(bisect.bisect_left(items, item))
    if not items:
        del places[place]
