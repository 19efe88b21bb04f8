"""A heap of entries from which any one can be taken out: lazily, so that everything costs O(log
n).
"""

from __future__ import annotations

import heapq
import itertools
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping
from typing import TypeAlias

from moorage.core.framework.interfaces import SortKey
from moorage.core.queue.queued_pod import QueuedPodInfo

HeapItem: TypeAlias = tuple[SortKey, int, QueuedPodInfo]
_MIN_DEAD_ITEMS = 64
"""Dead items that are never worth a clean-up."""
NONE_LATE: Mapping[str, float] = {}
"""No profile has to stand back."""


class EntryHeap:
    """Entries by key, the lowest first; equal keys in the order in which they came.

    Each profile has a heap of its own, so that the entries of some can be passed over. An entry
    that leaves or gets another key leaves a dead item behind, which is dropped when it reaches the
    top. When dead items outnumber live ones all of them are dropped, so memory stays in proportion.
    """

    def __init__(self, key: Callable[[QueuedPodInfo], SortKey]) -> None:
        self.key = key
        self._live: dict[str, HeapItem] = {}
        self._heaps: dict[str, list[HeapItem]] = {}
        self._dead = 0
        self._numbers = itertools.count()

    def add(self, entry: QueuedPodInfo) -> None:
        """Put an entry in its place, or in the one that its newest state gives it."""
        key, old = self.key(entry), self._live.get(entry.uid)
        if old is not None and old[0] == key:
            return
        self.discard(entry)
        item = self._live[entry.uid] = (key, next(self._numbers), entry)
        heapq.heappush(self._heaps.setdefault(entry.scheduler_name, []), item)

    def discard(self, entry: QueuedPodInfo) -> None:
        """Take an entry out, if it is in."""
        if self._live.pop(entry.uid, None) is None:
            return
        self._dead += 1
        if self._dead > len(self._live) + _MIN_DEAD_ITEMS:
            heaps = defaultdict(list)
            for item in self._live.values():
                heaps[item[2].scheduler_name].append(item)
            for heap in heaps.values():
                heapq.heapify(heap)
            self._heaps, self._dead = dict(heaps), 0

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
            for name in list(self._heaps)
            if name not in full and (head := self._head(name)) is not None
        ]
        return min(heads)[3] if heads else None

    def first_of(self, scheduler_name: str) -> QueuedPodInfo | None:
        """The entry of this profile with the lowest key; it stays in."""
        head = self._head(scheduler_name)
        return None if head is None else head[2]

    def __len__(self) -> int:
        """How many entries are in."""
        return len(self._live)

    def _head(self, name: str) -> HeapItem | None:
        """The first item of a profile, less the dead ones before it."""
        heap = self._heaps.get(name, [])
        while heap and self._live.get(heap[0][2].uid) is not heap[0]:
            heapq.heappop(heap)
            self._dead -= 1
        if heap:
            return heap[0]
        self._heaps.pop(name, None)
        return None
