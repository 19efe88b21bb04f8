"""Heaps of entries from which any one can be taken out: lazily, so that everything costs O(log
n).
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Collection, Iterator, Mapping
from typing import TypeAlias

from moorage.core.queue.queued_pod import QueuedPodInfo, SortKey

HeapItem: TypeAlias = tuple[SortKey, int, QueuedPodInfo]
_MIN_DEAD_ITEMS = 64
"""Dead items that are never worth a clean-up."""
NONE_LATE: Mapping[str, float] = {}
"""No profile has to stand back."""


class LazyHeap:
    """Entries by key; equal keys in the order they came, which ``numbers`` give, so that several
    heaps can share it.

    An entry that leaves or gets another key leaves a dead item behind, which is dropped when it
    reaches the top. When dead items outnumber live ones all of them are dropped, so memory stays in
    proportion.
    """

    def __init__(self, numbers: Iterator[int] | None = None) -> None:
        self._items: list[HeapItem] = []
        self._live: dict[str, HeapItem] = {}
        self._numbers = itertools.count() if numbers is None else numbers

    def push(self, key: SortKey, entry: QueuedPodInfo) -> None:
        """Put an entry in, or give one that is in another key."""
        old = self._live.get(entry.uid)
        if old is not None and old[0] == key:
            return
        item = (key, next(self._numbers), entry)
        self._live[entry.uid] = item
        heapq.heappush(self._items, item)
        self._clean()

    def discard(self, entry: QueuedPodInfo) -> None:
        """Take an entry out, if it is in."""
        if self._live.pop(entry.uid, None) is not None:
            self._clean()

    def first(self) -> QueuedPodInfo | None:
        """The entry with the lowest key; it stays in."""
        head = self.head()
        return None if head is None else head[2]

    def head(self) -> HeapItem | None:
        """The same with its key and its number, lower for what came earlier."""
        items = self._items
        while items and self._live.get(items[0][2].uid) is not items[0]:
            heapq.heappop(items)
        return items[0] if items else None

    def __len__(self) -> int:
        """How many entries are in."""
        return len(self._live)

    def _clean(self) -> None:
        if len(self._items) > 2 * len(self._live) + _MIN_DEAD_ITEMS:
            self._items = list(self._live.values())
            heapq.heapify(self._items)


class TurnHeap:
    """A ``LazyHeap`` for each profile that has entries, so that those of some can be passed over,
    for as long as they can take no pod.
    """

    def __init__(self) -> None:
        self._heaps: dict[str, LazyHeap] = {}
        self._numbers = itertools.count()

    def push(self, key: SortKey, entry: QueuedPodInfo) -> None:
        """Put an entry in, or give one that is in another key."""
        heap = self._heaps.get(entry.scheduler_name)
        if heap is None:
            heap = self._heaps[entry.scheduler_name] = LazyHeap(self._numbers)
        heap.push(key, entry)

    def discard(self, entry: QueuedPodInfo) -> None:
        """Take an entry out, if it is in."""
        heap = self._heaps.get(entry.scheduler_name)
        if heap is not None:
            heap.discard(entry)
            if not len(heap):
                del self._heaps[entry.scheduler_name]

    def first(
        self, full: Collection[str] = (), late: Mapping[str, float] = NONE_LATE
    ) -> QueuedPodInfo | None:
        """The entry with the lowest key whose profile is none of the full ones; it stays in. Looks
        at one entry of each profile.

        ``late``: profiles that stand back as long as there is anybody else, and by how much; the
        least comes first.
        """
        heads = [
            (late.get(name, 0.0), *head)
            for name, heap in self._heaps.items()
            if name not in full and (head := heap.head())
        ]
        return min(heads)[3] if heads else None
