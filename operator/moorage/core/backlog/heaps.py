"""Heaps of entries from which any one can be taken out: lazily, so that everything costs O(log n)."""

from __future__ import annotations

import heapq
from collections.abc import Collection, Mapping
from typing import TypeAlias

from moorage.core.backlog.entries import Entry, SortKey

_Item: TypeAlias = tuple[SortKey, int, Entry]
_SPARE = 64
"""Dead items that are never worth a clean-up."""
NOBODY: Mapping[str, float] = {}
"""No profile has to stand back."""


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

    def key(self, entry: Entry) -> SortKey:
        """The key of an entry that is in."""
        return self._live[entry.uid][0]

    def __contains__(self, entry: Entry) -> bool:
        """Whether the entry is in."""
        return entry.uid in self._live

    def __len__(self) -> int:
        """How many entries are in."""
        return len(self._live)

    def _is_live(self, item: _Item) -> bool:
        return self._live.get(item[2].uid) is item

    def _clean(self) -> None:
        if len(self._items) > 2 * len(self._live) + _SPARE:
            self._items = list(self._live.values())
            heapq.heapify(self._items)


class TurnHeap:
    """A ``LazyHeap`` of all profiles that can pass some of them over, for as long as they can take no pod.

    An entry that is passed over is put aside, once: beside the heap of all there is one for each profile that was ever passed over.
    """

    def __init__(self) -> None:
        self._heap = LazyHeap()
        self._aside: dict[str, LazyHeap] = {}

    def push(self, key: SortKey, entry: Entry) -> None:
        """Put an entry in, or give one that is in another key."""
        aside = self._aside.get(entry.scheduler_name)
        (aside if aside is not None and entry in aside else self._heap).push(key, entry)

    def discard(self, entry: Entry) -> None:
        """Take an entry out, if it is in."""
        self._heap.discard(entry)
        aside = self._aside.get(entry.scheduler_name)
        if aside is not None:
            aside.discard(entry)
            if not len(aside):
                del self._aside[entry.scheduler_name]

    def first(self, full: Collection[str] = (), late: Mapping[str, float] = NOBODY) -> Entry | None:
        """The entry with the lowest key whose profile is none of the full ones; it stays in.

        ``late``: profiles that stand back as long as there is anybody else, and by how much; the least comes first.
        """
        while (entry := self._heap.first()) is not None and (entry.scheduler_name in full or entry.scheduler_name in late):
            self._aside.setdefault(entry.scheduler_name, LazyHeap()).push(self._heap.key(entry), entry)
            self._heap.discard(entry)
        if not self._aside:
            return entry
        heaps = [(0.0, self._heap), *((late.get(name, 0.0), aside) for name, aside in self._aside.items() if name not in full)]
        heads = [(by, heap.key(head), i, head) for i, (by, heap) in enumerate(heaps) if (head := heap.first()) is not None]
        return min(heads)[3] if heads else None
