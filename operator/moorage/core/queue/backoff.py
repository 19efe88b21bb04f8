"""The backoff queue: pods that are worth another try, but not at once, so that they take no turns
from others.

A rejected pod waits the longer the more often it was rejected; it may be tried early when nobody
else is ready. A pod whose attempt failed by a fault (an API server that does not answer, say) waits
on a count of its own and is never tried early.
Source: kube-scheduler's ``backoffQueue`` (v1.36), in words of our own.
"""

from __future__ import annotations

import math
from collections.abc import Collection

from moorage.core.queue.heaps import LazyHeap, TurnHeap
from moorage.core.queue.hints import ProfileQueueConfig
from moorage.core.queue.queued_pod import QueuedPodInfo, QueueSortFn


def backoff_end(entry: QueuedPodInfo, config: ProfileQueueConfig) -> float:
    """When the pod's backoff is over: initial, twice that, … up to the maximum after ``timestamp``,
    then up to the next whole second.

    Whole seconds, so that pods which are due about together go by the queue's order, not by
    milliseconds.
    """
    failures = entry.consecutive_errors_count or entry.unschedulable_count
    if not failures:
        return entry.timestamp
    delay = config.backoff(failures)
    return math.ceil(entry.timestamp + delay) if delay > 0 else entry.timestamp


class BackoffQueue:
    """Who may go on when: by the end of the backoff, then by the queue's order."""

    def __init__(self, sort: QueueSortFn) -> None:
        self._sort = sort
        self._refused = TurnHeap()
        self._failed = LazyHeap()

    def add(self, entry: QueuedPodInfo) -> None:
        """Put a pod in its place, or in the one that its newest state gives it."""
        heap = self._failed if entry.consecutive_errors_count else self._refused
        heap.push((entry.backoff_expiration, *self._sort(entry.pod, entry.timestamp)), entry)

    def discard(self, entry: QueuedPodInfo) -> None:
        """Take a pod out."""
        self._refused.discard(entry)
        self._failed.discard(entry)

    def first(self) -> QueuedPodInfo | None:
        """The pod whose backoff ends first; it stays in."""
        heads = [
            entry for heap in (self._refused, self._failed) if (entry := heap.first()) is not None
        ]
        return min(heads, key=lambda entry: entry.backoff_expiration, default=None)

    def first_refused(self, full: Collection[str] = ()) -> QueuedPodInfo | None:
        """The first of those that may be tried early, of profiles that are none of these; it stays
        in.
        """
        return self._refused.first(full)
