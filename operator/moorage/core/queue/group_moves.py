"""Group moves: members of pod groups that go on, or in flight, together."""

from __future__ import annotations

from moorage.core.queue.hints import QueueingHints
from moorage.core.queue.moves import POD_GROUP_CHANGED
from moorage.core.queue.pod_group_members import AVAILABLE_STATES, PodGroupTracker
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

    def flush(self, now: float) -> int:
        """Move the members of groups that have changed. Returns how many moved."""
        moved = 0
        for group in self._groups.recheck(now):
            for entry in list(group.waiting.values()):
                moved += self._queues.enqueue(entry, POD_GROUP_CHANGED, now)
        self._retry_redeclared()
        return moved

    def companions(self, entry: QueuedPodInfo, now: float) -> list[QueuedPodInfo]:
        """The members of its group that are to go in flight with a pod, in the queue's order.

        Plugins may have shut a gate since some of them were rejected; then the group may not be
        complete any more, and the pod gated.
        """
        with self._queues.dropping_on_error(entry):
            for other in self._groups.companions(entry):
                rejected = other.state is QueueState.UNSCHEDULABLE
                if rejected and self._profiles.gating_plugin(other, now):
                    self._queues.enqueue(other, POD_GROUP_CHANGED, now)
            self.flush(now)
            if entry.state in AVAILABLE_STATES:
                others = self._groups.companions(entry)
                return sorted(others, key=lambda other: self._sort(other.pod, other.timestamp))
        return []

    def _retry_redeclared(self) -> None:
        """An attempt of a group that asks for something else now is not in vain."""
        for group in self._groups.redeclared:
            for entry in (*group.waiting.values(), *group.in_flight.values()):
                self._queues.in_flight.requeue_anyway(entry)
            self._queues.pending.resting.wake()
        self._groups.redeclared.clear()
