"""Entry indexes: which pods of a profile, or of all profiles, are in the queue, and how many of
them are in which state.
"""

from __future__ import annotations

from collections import OrderedDict

from moorage.core.queue.queued_pod import QueueCounts, QueuedPodInfo, QueueState


class EntryIndex:
    """Kept up to date with each move, so that it can be read at any time for nothing."""

    def __init__(self) -> None:
        self.entries: dict[str, QueuedPodInfo] = {}
        """By UID, in the order in which they came."""
        self._queued: OrderedDict[str, QueuedPodInfo] = OrderedDict()
        """Those that could have been tried, in the order of ``initial_attempt_timestamp``."""
        self._sizes = dict.fromkeys(QueueState, 0)
        self._places: dict[str, QueueState] = {}

    def record_move(self, entry: QueuedPodInfo) -> None:
        """An entry has another state now; None stands for outside."""
        origin = self._places.pop(entry.uid, None)
        if origin is not None:
            self._sizes[origin] -= 1
        if entry.state is None:
            self.entries.pop(entry.uid, None)
            self._queued.pop(entry.uid, None)
            return
        self._places[entry.uid] = entry.state
        self.entries.setdefault(entry.uid, entry)
        self._sizes[entry.state] += 1
        if entry.state in (QueueState.ACTIVE, QueueState.BACKOFF):
            self._queued.setdefault(entry.uid, entry)

    def counts(self) -> QueueCounts:
        """How many there are in each state now."""
        oldest = next(iter(self._queued.values()), None)
        sizes = self._sizes
        return QueueCounts(
            active=sizes[QueueState.ACTIVE],
            backoff=sizes[QueueState.BACKOFF],
            unschedulable=sizes[QueueState.UNSCHEDULABLE],
            gated=sizes[QueueState.GATED],
            in_flight=sizes[QueueState.IN_FLIGHT],
            unserved=sizes[QueueState.UNSERVED],
            oldest=oldest.initial_attempt_timestamp if oldest is not None else None,
        )
