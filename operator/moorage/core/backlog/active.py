"""The active queue: pods that are ready to be tried, in the order of the queueSort plugin."""

from __future__ import annotations

from moorage.core.backlog.entries import Entry, Sort
from moorage.core.backlog.heaps import LazyHeap


class ActiveQueue:
    """Whose turn it is."""

    def __init__(self, sort: Sort) -> None:
        self._sort = sort
        self._heap = LazyHeap()

    def add(self, entry: Entry) -> None:
        """Put a pod in its place, or in the one that its newest state gives it; urgent ones come first."""
        self._heap.push((not entry.urgent, *self._sort(entry.pod, entry.queued_at)), entry)

    def discard(self, entry: Entry) -> None:
        """Take a pod out."""
        self._heap.discard(entry)

    def first(self) -> Entry | None:
        """The pod whose turn it is; it stays in."""
        return self._heap.first()
