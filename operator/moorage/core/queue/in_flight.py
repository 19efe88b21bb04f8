"""Pods in flight: those whose attempt is running, and the events that they might miss meanwhile.

A pod that is rejected for a reason which an event removed during its attempt must not wait for the
next such event. So events are noted while anything is in flight, the last few of them; a pod that
was out for longer is taken to have missed everything.
"""

from __future__ import annotations

import itertools
from collections import Counter, deque
from collections.abc import Iterator

import msgspec

from moorage.core.framework.cluster_events import ClusterEvent
from moorage.core.queue.queued_pod import QueuedPodInfo

MAX_EVENTS = 1024
"""Events that are kept: at a thousand bindings a second those of about a second, many times what a
binding takes.
"""
MAX_EVENT_BYTES = 4 * 2**20
"""What the objects of these events may come to, encoded: events hold on to objects that are
gone.
"""
_LONG_AGO = -1
_encode = msgspec.json.Encoder().encode  # as it came, whatever its numbers are


class InFlightPods:
    """See the module's docstring. ``QueuedPodInfo.events_seen`` is the number of events noted
    before its attempt began.
    """

    def __init__(self) -> None:
        self._entries: dict[str, QueuedPodInfo] = {}
        self._events: deque[ClusterEvent] = deque()
        self._sizes: deque[int] = deque()
        self._total = 0
        self._event_count = 0

    def add(self, entry: QueuedPodInfo) -> None:
        """A pod's attempt begins."""
        entry.events_seen = self._event_count
        self._entries[entry.uid] = entry

    def discard(self, entry: QueuedPodInfo) -> None:
        """It ended, if it had begun."""
        self._entries.pop(entry.uid, None)
        if not self._entries:
            self._events.clear()
            self._sizes.clear()
            self._total = 0

    def record(self, event: ClusterEvent) -> None:
        """Remember an event for those who are out."""
        if self._entries:
            size = len(_encode((event.old, event.new)))
            self._event_count += 1
            self._events.append(event)
            self._sizes.append(size)
            self._total += size
            while len(self._events) > MAX_EVENTS or self._total > MAX_EVENT_BYTES:
                self._events.popleft()
                self._total -= self._sizes.popleft()

    def events_since(self, entry: QueuedPodInfo) -> list[ClusterEvent] | None:
        """The events since the pod's attempt began; None when there may have been any."""
        count = self._event_count - entry.events_seen
        if count > len(self._events):
            return None
        return (
            list(itertools.islice(self._events, len(self._events) - count, None)) if count else []
        )

    def counts(self) -> dict[str, int]:
        """How many events are kept, by their label, and under PodPopped how many pods are out."""
        return {"PodPopped": len(self._entries), **Counter(event.label for event in self._events)}

    def requeue_anyway(self, entry: QueuedPodInfo) -> None:
        """From now on the pod counts as having missed everything."""
        entry.events_seen = _LONG_AGO

    def __iter__(self) -> Iterator[QueuedPodInfo]:
        """The pods that are out, longest first."""
        return iter(self._entries.values())
