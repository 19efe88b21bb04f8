"""Group moves: members of pod groups that go on, or in flight, together.

Members of a group that has changed move in slices. Until all of them have moved no pod of their
profile is popped, so that none goes without the others; but for no more than
``MAX_SLICES_WITHOUT_POP`` slices. Pods of other profiles go on.
"""

from __future__ import annotations

from collections import deque

from moorage.core.queue.hints import QueueingHints
from moorage.core.queue.moves import POD_GROUP_CHANGED
from moorage.core.queue.pending_moves import MAX_SLICES_WITHOUT_POP
from moorage.core.queue.pod_group_members import AVAILABLE_STATES, PodGroupTracker
from moorage.core.queue.pod_group_state import POD_GROUP_GATE, PodGroupState
from moorage.core.queue.queued_pod import QueuedPodInfo, QueueSortFn, QueueState
from moorage.core.queue.sub_queues import SubQueues


class GroupMoves:
    """Moves the members of groups that have changed, and takes those in flight that go together."""

    def __init__(
        self,
        sort: QueueSortFn,
        queues: SubQueues,
        profiles: QueueingHints,
        groups: PodGroupTracker,
    ) -> None:
        self._sort = sort
        self._queues = queues
        self._profiles = profiles
        self._groups = groups
        self.left: dict[PodGroupState, deque[QueuedPodInfo]] = {}
        """Groups that have changed, and their members that have not moved yet."""
        self._slices = 0
        """How many slices there were since nothing was left."""

    @property
    def held_profiles(self) -> set[str]:
        """The profiles of which no pod may be popped now."""
        if self._slices > MAX_SLICES_WITHOUT_POP:
            return set()
        return {group.scheduler_name for group in self.left}

    def flush(self, now: float) -> int:
        """Move members of groups that have changed, as many as take a few milliseconds. Returns how
        many moved.
        """
        for group in self._groups.recheck(now):
            self.left[group] = deque(group.waiting.values())
        self._retry_renewed()
        moved, most = 0, self._queues.pending.moves_per_slice
        while self.left and moved < most:
            moved += self._move(next(iter(self.left)), most - moved, now)
        self._slices = self._slices + 1 if self.left else 0
        return moved

    def _move(self, group: PodGroupState, most: int, now: float) -> int:
        """Move so many members of a group. Returns how many there were."""
        left, moved = self.left[group], 0
        while left and moved < most:
            entry = left.popleft()
            moved += 1
            if group.waiting.get(entry.uid) is entry:
                self._queues.enqueue(entry, POD_GROUP_CHANGED, now)
        if not left:
            del self.left[group]
        return moved

    def companions(self, entry: QueuedPodInfo, now: float) -> list[QueuedPodInfo]:
        """The members of its group that are to go in flight with a pod, in the queue's order.

        Plugins may have shut a gate since some of them were rejected; then the group may not be
        complete any more, and the pod gated.
        """
        with self._queues.dropping_on_error(entry):
            self._shut_gates(entry, now)
            self.flush(now)
            group = self._groups.group_of_entry(entry)
            if group in self.left:  # it goes now, so all of it
                self._move(group, len(self.left[group]), now)
            if entry.state in AVAILABLE_STATES:
                others = self._groups.companions(entry)
                return sorted(others, key=lambda other: self._sort(other.pod, other.timestamp))
        return []

    def _shut_gates(self, entry: QueuedPodInfo, now: float) -> None:
        for other in self._groups.companions(entry):
            rejected = other.state is QueueState.UNSCHEDULABLE
            if rejected and self._profiles.gating_plugin(other, now):
                self._queues.enqueue(other, POD_GROUP_CHANGED, now)

    def _retry_renewed(self) -> None:
        """Another attempt is not in vain: a member that is gone may have been in others' way."""
        for group in self._groups.renewed:
            for entry in (*group.waiting.values(), *group.in_flight.values()):
                self._queues.in_flight.requeue_anyway(entry)
            self._queues.pending.resting.wake()
        self._groups.renewed.clear()


def rejectors(entry: QueuedPodInfo, plugins: frozenset[str], rejected: bool) -> frozenset[str]:
    """Who keeps a pod out whose attempt failed by a rejection or (not ``rejected``) by a fault:
    these plugins; its group, where only that was rejected; nobody after a fault.
    """
    if not rejected:
        return frozenset()
    return plugins or frozenset({POD_GROUP_GATE} if entry.as_group else ())
