"""Shelves: sized things that can be reached from some nodes, found by node, or counted for all nodes at once.

Most volumes and storage capacities are reached by one label: a node's name, a zone. These stand under that label's values, so that
thousands of local volumes are no more work than thousands of nodes.
"""

from __future__ import annotations

import bisect
from collections.abc import Callable, Hashable, Iterator
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from moorage.core.columns.labels import ABSENT
from moorage.core.columns.node_table import NodeTable, Rows
from moorage.core.columns.selecting import rows_matching
from moorage.core.objects import Labels
from moorage.core.predicates import NodeTerms

Place = TypeVar("Place", bound=Hashable)
Item = tuple[int, str]
"""Size and name; lists of items are sorted."""
Likes = Callable[[str], bool]
"""Whether a thing of this name will do, apart from its size."""


class Shelf:
    """See the module's docstring. A thing is reached from the nodes that match any of its terms, or (None) from all."""

    def __init__(self) -> None:
        self._by_value: dict[str, dict[str, list[Item]]] = {}
        self._by_terms: dict[NodeTerms | None, list[Item]] = {}

    def __bool__(self) -> bool:
        """Whether anything is there."""
        return bool(self._by_value or self._by_terms)

    def put(self, item: Item, terms: NodeTerms | None) -> None:
        """Something is there now."""
        if (label := _single_label(terms)) is None:
            bisect.insort(self._by_terms.setdefault(terms, []), item)
            return
        values = self._by_value.setdefault(label[0], {})
        for value in label[1]:
            bisect.insort(values.setdefault(value, []), item)

    def take(self, item: Item, terms: NodeTerms | None) -> None:
        """It is there no more; put and taken with the same size and terms."""
        if (label := _single_label(terms)) is None:
            _drop(self._by_terms, terms, item)
            return
        values = self._by_value[label[0]]
        for value in label[1]:
            _drop(values, value, item)
        if not values:
            del self._by_value[label[0]]

    def counts(self, least: int, likes: Likes | None, nodes: NodeTable, rows: Rows) -> npt.NDArray[np.int64]:
        """How many things of at least this size each row can reach. -> int64[len(rows)]."""
        total = np.zeros(nodes.live[rows].size, np.int64)
        for label, values in self._by_value.items():
            column = nodes.labels.column(label)
            per_code = np.zeros(len(column.values), np.int64)
            for value, items in values.items():
                per_code[column.code(value)] = _count(items, least, likes)
            per_code[ABSENT] = 0
            total += per_code[column.codes[rows]]
        for terms, items in self._by_terms.items():
            number = _count(items, least, likes)
            if number:
                total += number if terms is None else number * rows_matching(terms, nodes, rows)
        return total

    def within_reach(self, least: int, likes: Likes, labels: Labels) -> Iterator[Item]:
        """For a node with these labels, the smallest such thing in each of the places where it finds some."""
        there = [values.get(labels.get(label, ""), []) for label, values in self._by_value.items() if label in labels]
        there += [items for terms, items in self._by_terms.items() if terms is None or any(term.matches(labels, "") for term in terms)]
        for items in there:
            found = next((item for item in items[bisect.bisect_left(items, (least, "")) :] if likes(item[1])), None)
            if found is not None:
                yield found


def _single_label(terms: NodeTerms | None) -> tuple[str, list[str]] | None:
    """The label and its values when that is all that the terms ask for."""
    if terms is None or len(terms) != 1 or len(terms[0].labels) != 1 or terms[0].fields:
        return None
    condition = terms[0].labels[0]
    return (condition.key, sorted(condition.values)) if condition.operator == "In" else None


def _count(items: list[Item], least: int, likes: Likes | None) -> int:
    start = bisect.bisect_left(items, (least, ""))
    return len(items) - start if likes is None else sum(likes(name) for _, name in items[start:])


def _drop(places: dict[Place, list[Item]], place: Place, item: Item) -> None:
    items = places[place]
    items.pop(bisect.bisect_left(items, item))
    if not items:
        del places[place]
