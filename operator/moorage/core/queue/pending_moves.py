"""Pending moves: the pods that an event has freed, and those whose time has come.

They are handed out in slices. Until all have moved it is not known whose turn it is; but for no
more than ``MAX_SLICES_WITHOUT_POP`` slices, so that nobody can keep everybody waiting.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator

from moorage.core.framework.interfaces import SortKey
from moorage.core.queue.blocked_pods import EquivalentPods
from moorage.core.queue.entry_heap import EntryHeap
from moorage.core.queue.moves import BACKOFF_COMPLETE, UNSCHEDULABLE_TIMEOUT
from moorage.core.queue.queued_pod import QueuedPodInfo, QueueState

MOVES_PER_SLICE = 128
"""Moves at a time: two or three milliseconds."""
MAX_SLICES_WITHOUT_POP = 32
"""Slices of moves for which nobody is popped, about a tenth of a second. Where so many pods move
that it takes longer, others go on.
"""


class PendingMoves:
    """Hands out in slices the pods that an event or the clock sets free.

    ``deadlines`` holds the pods that time alone may move. ``max_unschedulable``: seconds
    after which a rejected pod is tried again without any event.
    """

    def __init__(self, max_unschedulable: float) -> None:
        self.deadlines = EntryHeap(self.deadline)
        self.moves_per_slice = MOVES_PER_SLICE
        self.left = False
        """Whether there are more than the last slice had."""
        self.may_pop = True
        """Whether it is known whose turn it is, or has not been for long enough."""
        self._slices = 0
        """How many slices there were since it was last known."""
        self._freed: deque[tuple[EquivalentPods, str]] = deque()
        self._max_unschedulable = max_unschedulable

    def free(self, pods: EquivalentPods, event: str) -> None:
        """These pods are to move, because of the event with this label."""
        self._freed.append((pods, event))

    def next_slice(self, now: float | None) -> Iterator[tuple[QueuedPodInfo, str]]:
        """The pods to be moved now, as many as take a few milliseconds, each with the label of what
        moves it; ``now`` is None where time moves nobody.

        Each has to be somewhere else, or to wait for another event, when the next is asked for.
        """
        self.left = False
        for moves, due in enumerate(self._due(now), 1):
            yield due
            if moves == self.moves_per_slice:
                self.left = True
                break
        self._slices = self._slices + 1 if self.left else 0
        self.may_pop = not self.left or self._slices > MAX_SLICES_WITHOUT_POP

    def next_deadline(self, now: float) -> float | None:
        """When there will be a pod to move, not before ``now``; None when only events can make it
        so.
        """
        if self.left:
            return now
        entry = self.deadlines.first()
        deadline = self.deadline(entry)[0] if entry is not None else math.inf
        return max(now, deadline) if deadline < math.inf else None

    def _due(self, now: float | None) -> Iterator[tuple[QueuedPodInfo, str]]:
        while self._freed:
            pods, event = self._freed[0]
            entry = next(iter(pods.entries.values()), None)
            if entry is not None:
                yield entry, event
            else:
                self._freed.popleft()
        while now is not None and (entry := self.deadlines.first()) is not None:
            if self.deadline(entry)[0] > now:
                break
            rejected = entry.state is QueueState.UNSCHEDULABLE
            yield entry, UNSCHEDULABLE_TIMEOUT if rejected else BACKOFF_COMPLETE

    def deadline(self, entry: QueuedPodInfo) -> SortKey:
        """When time alone may move the pod: its backoff ends, it was rejected too long ago, or the
        plugin that gates it, and failed, is asked again. A rejected PodGroup waits no longer than
        its backoff.
        """
        if entry.state is QueueState.BACKOFF:
            return (entry.backoff_expiration,)
        if entry.state is QueueState.UNSCHEDULABLE:
            limit = entry.timestamp + self._max_unschedulable
            return (min(limit, entry.backoff_expiration) if entry.as_group else limit,)
        return (entry.gate_retry_at if entry.gate_error_count else math.inf,)
