"""The active queue: pods that are ready to be tried, in the order of the queueSort plugin."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from moorage.core.queue.heaps import NONE_LATE, TurnHeap
from moorage.core.queue.queued_pod import QueuedPodInfo, QueueSortFn


class ActiveQueue:
    """Whose turn it is."""

    def __init__(self, sort: QueueSortFn) -> None:
        self._sort = sort
        self._heap = TurnHeap()

    def add(self, entry: QueuedPodInfo) -> None:
        """Put a pod in its place, or in the one that its newest state gives it; urgent ones come
        first.
        """
        self._heap.push((not entry.prioritised, *self._sort(entry.pod, entry.timestamp)), entry)

    def discard(self, entry: QueuedPodInfo) -> None:
        """Take a pod out."""
        self._heap.discard(entry)

    def first(
        self, full: Collection[str] = (), late: Mapping[str, float] = NONE_LATE
    ) -> QueuedPodInfo | None:
        """The pod whose turn it is, of profiles that are none of the full ones; of late ones when
        there is nobody else. It stays in.
        """
        return self._heap.first(full, late)
