"""Queued entities: what has a turn of its own, pods of no group and pod groups, and in which queue
each of them is.

A group is where the member is that comes closest to being tried; kube-scheduler (v1.37) keeps a
group's members together, so there it is where all of them are. Members that name different
schedulerNames are groups of their own.
"""

from __future__ import annotations

from collections import Counter
from typing import TypeAlias, TypeVar

from moorage.core.objects.pod_groups import GroupKey
from moorage.core.queue.queued_pod import QueuedPodInfo, QueueState

POD, POD_GROUP = "pod", "podgroup"
"""Kinds of entities, as metrics call them."""
WAITING_STATES = (
    QueueState.ACTIVE,
    QueueState.BACKOFF,
    QueueState.UNSCHEDULABLE,
    QueueState.GATED,
)
"""The queues of which metrics tell, those whose pods come closest to being tried first."""
_CLOSEST_FIRST = (*WAITING_STATES, QueueState.UNSERVED)
T = TypeVar("T")
_Group: TypeAlias = tuple[GroupKey, str]


class QueuedEntities:
    """Kept up to date with each move of a member; other pods are not counted here."""

    def __init__(self) -> None:
        self.members: dict[str, tuple[_Group, QueueState]] = {}
        """UID -> the group, and the state, with which a member is counted now."""
        self._states: dict[_Group, Counter[QueueState]] = {}
        """How many members of each group are in which state."""
        self._pods: Counter[QueueState] = Counter()
        """How many members of any group are."""
        self._groups: Counter[QueueState | None] = Counter()
        """How many groups are in which queue, by members that are not in flight."""

    def record(self, entry: QueuedPodInfo) -> str:
        """A member has another state, or another group, or none any more. Returns what came into
        its queue with it: its group (POD_GROUP), or nothing ("") as others of its group are there,
        or closer to their turn; POD where it is in no group.
        """
        counted = self.members.pop(entry.uid, None)
        group = (entry.group, entry.scheduler_name) if entry.group is not None else None
        before = self._queue_of(group)
        if counted is not None:
            self._count(*counted, -1)
        if group is None:
            return POD
        if entry.state in (None, QueueState.IN_FLIGHT):
            return ""
        self.members[entry.uid] = group, entry.state
        self._count(group, entry.state, 1)
        after = self._queue_of(group)
        return POD_GROUP if entry.state is after is not before else ""

    def counts(self, pods: Counter[QueueState]) -> dict[tuple[str, str], int]:
        """(queue, kind) -> how many entities there are, of so many pods in each state."""
        alone = pods - self._pods
        return {
            (state.value, kind): found
            for state in WAITING_STATES
            for kind, found in ((POD, alone[state]), (POD_GROUP, self._groups[state]))
        }

    def _count(self, group: _Group, state: QueueState, by: int) -> None:
        states, before = self._states.setdefault(group, Counter()), self._queue_of(group)
        if states:
            _bump(self._groups, before, -1)
        _bump(states, state, by)
        _bump(self._pods, state, by)
        after = self._queue_of(group)
        if states:
            _bump(self._groups, after, 1)
        else:
            del self._states[group]

    def _queue_of(self, group: _Group | None) -> QueueState | None:
        states = self._states.get(group) if group is not None else None
        return next((state for state in _CLOSEST_FIRST if states and states[state]), None)


def _bump(counter: Counter[T], what: T, by: int) -> None:
    """Count so many more; nothing is kept of what is not there any more."""
    counter[what] += by
    if not counter[what]:
        del counter[what]
