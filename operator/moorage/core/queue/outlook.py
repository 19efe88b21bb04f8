"""The outlook: what lies ahead of a pod in the queue, for whoever shows it; nothing is changed."""

from __future__ import annotations

import math

from moorage.core.framework.interfaces import SortKey
from moorage.core.queue.hints import QueueingHints
from moorage.core.queue.pending_moves import PendingMoves
from moorage.core.queue.pod_group_members import PodGroupTracker
from moorage.core.queue.pod_group_state import POD_GROUP_GATE
from moorage.core.queue.queued_pod import QueuedPodInfo, QueueState
from moorage.core.queue.sub_queues import SubQueues

_TIMED = (QueueState.BACKOFF, QueueState.UNSCHEDULABLE, QueueState.GATED)
_BLOCKED = (QueueState.UNSCHEDULABLE, QueueState.GATED)


class Outlook:
    """Looks at the parts of a queue."""

    def __init__(
        self,
        queues: SubQueues,
        profiles: QueueingHints,
        pending: PendingMoves,
        groups: PodGroupTracker,
    ) -> None:
        self._queues = queues
        self._profiles = profiles
        self._pending = pending
        self._groups = groups

    def turn(self, entry: QueuedPodInfo) -> SortKey | None:
        """Lower for the pod that is popped first, as things are now; None for one that waits for
        something else than its turn.
        """
        if entry.state is QueueState.ACTIVE:
            return (0, *self._queues.active.key(entry))
        if entry.state is QueueState.BACKOFF:
            return (1, *self._queues.backoff.key(entry))
        return None

    def deadline(self, entry: QueuedPodInfo) -> float | None:
        """When time alone moves a pod that waits for something else than its turn; None for
        never.
        """
        if entry.state not in _TIMED:
            return None
        (deadline,) = self._pending.deadline(entry)
        return deadline if deadline < math.inf else None

    def wakes_on(self, entry: QueuedPodInfo) -> list[str]:
        """The labels of the events that may free a rejected or gated pod."""
        return self._profiles.event_labels(entry) if entry.state in _BLOCKED else []

    def group_numbers(self, entry: QueuedPodInfo) -> tuple[int | None, int]:
        """As ``PodGroupTracker.numbers``."""
        return self._groups.numbers(entry)

    def group_message(self, entry: QueuedPodInfo) -> str:
        """Why its pod group gates the pod, "" where it does not."""
        if entry.gating_plugin != POD_GROUP_GATE:
            return ""
        return self._groups.member_message(entry)
