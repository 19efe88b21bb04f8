"""Pending moves: the pods that an event has freed, and those whose time has come.

A rejected pod group whose backoff is over rests where nothing has happened since its attempt began,
and goes on with whatever happens next.

They are handed out in slices. Until all have moved it is not known whose turn it is; but for no
more than ``MAX_SLICES_WITHOUT_POP`` slices, so that nobody can keep everybody waiting.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterator

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


class RestingPods:
    """Members of rejected groups that would be tried in vain: nothing has happened. A ``SubQueue``,
    though only ``rest`` puts a pod in.
    """

    def __init__(self) -> None:
        self.woken: dict[str, QueuedPodInfo] = {}
        """Those that may go on."""
        self._resting: dict[str, QueuedPodInfo] = {}

    def rest(self, entry: QueuedPodInfo) -> None:
        """Nothing has happened for this one."""
        self._resting[entry.uid] = entry

    def wake(self) -> None:
        """Something has."""
        if self._resting:
            self.woken.update(self._resting)
            self._resting.clear()

    def add(self, entry: QueuedPodInfo) -> None:
        """Its newest state changes nothing."""

    def discard(self, entry: QueuedPodInfo) -> None:
        """It has gone on."""
        self._resting.pop(entry.uid, None)
        self.woken.pop(entry.uid, None)

    def __contains__(self, entry: QueuedPodInfo) -> bool:
        """Whether it rests."""
        return entry.uid in self._resting


class PendingMoves:
    """Hands out in slices the pods that an event or the clock sets free.

    ``deadlines`` holds the pods that time alone may move. ``max_unschedulable``: seconds
    after which a rejected pod is tried again without any event. ``unchanged``: whether nothing has
    happened since a pod's last attempt began.
    """

    def __init__(
        self, max_unschedulable: float, unchanged: Callable[[QueuedPodInfo], bool]
    ) -> None:
        self.deadlines = EntryHeap(self.deadline)
        self.resting = RestingPods()
        self.moves_per_slice = MOVES_PER_SLICE
        self.left = False
        """Whether there are more than the last slice had."""
        self.may_pop = True
        """Whether it is known whose turn it is, or has not been for long enough."""
        self._slices = 0
        """How many slices there were since it was last known."""
        self._freed: deque[tuple[EquivalentPods, str]] = deque()
        self._max_unschedulable = max_unschedulable
        self._unchanged = unchanged

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
        if self.left or self.resting.woken:
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
        while woken := next(iter(self.resting.woken.values()), None):
            yield woken, UNSCHEDULABLE_TIMEOUT
        while now is not None and (entry := self.deadlines.first()) is not None:
            if self.deadline(entry)[0] > now:
                break
            if self._is_to_rest(entry, now):
                self.resting.rest(entry)
                self.deadlines.add(entry)
            else:
                yield entry, _label(entry)

    def deadline(self, entry: QueuedPodInfo) -> SortKey:
        """When time alone may move the pod: its backoff ends, it was rejected too long ago, or the
        plugin that gates it, and failed, is asked again. A rejected PodGroup waits no longer than
        its backoff, unless it rests.
        """
        if entry.state is QueueState.BACKOFF:
            return (entry.backoff_expiration,)
        if entry.state is QueueState.UNSCHEDULABLE:
            limit = entry.timestamp + self._max_unschedulable
            waits = not entry.as_group or entry in self.resting
            return (limit if waits else min(limit, entry.backoff_expiration),)
        return (entry.gate_retry_at if entry.gate_error_count else math.inf,)

    def _is_to_rest(self, entry: QueuedPodInfo, now: float) -> bool:
        """Whether the backoff of a rejected PodGroup is over, and it would be rejected again."""
        return (
            entry.as_group
            and entry.state is QueueState.UNSCHEDULABLE
            and entry.timestamp + self._max_unschedulable > now
            and self._unchanged(entry)
        )


def _label(entry: QueuedPodInfo) -> str:
    """What is said to move a pod whose time has come."""
    rejected = entry.state is QueueState.UNSCHEDULABLE
    return UNSCHEDULABLE_TIMEOUT if rejected else BACKOFF_COMPLETE
