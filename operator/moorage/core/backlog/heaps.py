"""Heaps of entries from which any one can be taken out: lazily, so that everything costs O(log n)."""

from __future__ import annotations

import heapq
from typing import TypeAlias

from moorage.core.backlog.entries import Entry, SortKey

_Item: TypeAlias = tuple[SortKey, int, Entry]
_SPARE = 64
"""Dead items that are never worth a clean-up."""


class LazyHeap:
    """Entries by key; equal keys in the order they came.

    An entry that leaves or gets another key leaves a dead item behind, which is dropped when it reaches the top. When dead items
    outnumber live ones all of them are dropped, so memory stays in proportion.
    """

    def __init__(self) -> None:
        self._items: list[_Item] = []
        self._live: dict[str, _Item] = {}
        self._pushed = 0

    def push(self, key: SortKey, entry: Entry) -> None:
        """Put an entry in, or give one that is in another key."""
        old = self._live.get(entry.uid)
        if old is not None and old[0] == key:
            return
        self._pushed += 1
        item = (key, self._pushed, entry)
        self._live[entry.uid] = item
        heapq.heappush(self._items, item)
        self._clean()

    def discard(self, entry: Entry) -> None:
        """Take an entry out, if it is in."""
        if self._live.pop(entry.uid, None) is not None:
            self._clean()

    def first(self) -> Entry | None:
        """The entry with the lowest key; it stays in."""
        while self._items and not self._is_live(self._items[0]):
            heapq.heappop(self._items)
        return self._items[0][2] if self._items else None

    def __len__(self) -> int:
        """How many entries are in."""
        return len(self._live)

    def _is_live(self, item: _Item) -> bool:
        return self._live.get(item[2].uid) is item

    def _clean(self) -> None:
        if len(self._items) > 2 * len(self._live) + _SPARE:
            self._items = list(self._live.values())
            heapq.heapify(self._items)
