"""The sub-queues: what holds the pods of each state, and how a pod gets from one to another.

``moves`` has the table of what is allowed. A pod whose move raises is taken out of all of them and
reported, so that nobody waits behind it; it may be added again.
"""

from __future__ import annotations

import itertools
from collections import Counter, deque
from collections.abc import Iterator, Mapping

import msgspec

from moorage.core.framework.cluster_events import ClusterEvent
from moorage.core.objects.meta import key
from moorage.core.queue.blocked_pods import BlockedPods
from moorage.core.queue.entry_heap import EntryHeap
from moorage.core.queue.entry_index import EntryIndex
from moorage.core.queue.hints import QueueingHints
from moorage.core.queue.moves import (
    ALLOWED_TRANSITIONS,
    BACKOFF_COMPLETE,
    IllegalTransition,
    SubQueue,
)
from moorage.core.queue.pending_moves import PendingMoves
from moorage.core.queue.pod_group_members import PodGroupTracker
from moorage.core.queue.queued_pod import (
    BACKOFF_NOT_COMPUTED,
    QueuedPodInfo,
    QueueListener,
    QueueSortFn,
    QueueState,
)
from moorage.core.structures.catching import Catching

QUEUE_AS_PLUGIN = "the queue"
"""Reported instead of a plugin where moving a pod failed: it is not in the queue any more."""
GROUP_RETRY_SECONDS = 1.0
"""Seconds after an attempt when an event may end the backoff of a rejected PodGroup."""
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
    """Pods whose attempt is running, and the events that they might miss meanwhile.

    A pod that is rejected for a reason which an event removed during its attempt must not wait for
    the next such event. So events are noted while anything is in flight, the last few of them; a
    pod that was out for longer is taken to have missed everything.

    ``QueuedPodInfo.events_seen`` is the number of events before its attempt began.
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
        """The pod's attempt ended, if it had begun."""
        self._entries.pop(entry.uid, None)
        if not self._entries:
            self._events.clear()
            self._sizes.clear()
            self._total = 0

    def record(self, event: ClusterEvent) -> None:
        """Remember an event for those who are out."""
        self._event_count += 1
        if self._entries:
            size = len(_encode((event.old, event.new)))
            self._events.append(event)
            self._sizes.append(size)
            self._total += size
            while len(self._events) > MAX_EVENTS or self._total > MAX_EVENT_BYTES:
                self._events.popleft()
                self._total -= self._sizes.popleft()

    def events_since(self, entry: QueuedPodInfo) -> list[ClusterEvent] | None:
        """The events since the pod's attempt began; None when some are not kept any more."""
        count = self._event_count - entry.events_seen
        if count > len(self._events):
            return None
        return (
            list(itertools.islice(self._events, len(self._events) - count, None)) if count else []
        )

    def unchanged_since(self, entry: QueuedPodInfo) -> bool:
        """Whether nothing has happened since the pod's last attempt began."""
        return entry.events_seen == self._event_count

    def counts(self) -> dict[str, int]:
        """How many events are kept, by their label, and under PodPopped how many pods are out."""
        return {"PodPopped": len(self._entries), **Counter(event.label for event in self._events)}

    def requeue_anyway(self, entry: QueuedPodInfo) -> None:
        """From now on the pod counts as having missed everything."""
        entry.events_seen = _LONG_AGO

    def __iter__(self) -> Iterator[QueuedPodInfo]:
        """The pods that are out, longest first."""
        return iter(self._entries.values())


class SubQueues:
    """Moves pods from one sub-queue to another.

    ``index`` knows all pods, those in no sub-queue, too. ``max_unschedulable`` as in
    ``PendingMoves``.
    """

    def __init__(
        self,
        sort: QueueSortFn,
        profiles: QueueingHints,
        groups: PodGroupTracker,
        listener: QueueListener,
        max_unschedulable: float,
    ) -> None:
        self._profiles = profiles
        self._groups = groups
        self._listener = listener
        self.index = EntryIndex()
        self.active = EntryHeap(
            lambda entry: (not entry.prioritised, *sort(entry.pod, entry.timestamp))
        )
        self.backoff = EntryHeap(
            lambda entry: (
                not entry.may_go_early,
                entry.backoff_expiration,
                *sort(entry.pod, entry.timestamp),
            )
        )
        """In the order in which they may be popped early; those that may not are last."""
        self.unschedulable = BlockedPods(profiles.equivalence_class_of)
        self.gated = BlockedPods(profiles.equivalence_class_of)
        self.in_flight = InFlightPods()
        self.pending = pending = PendingMoves(max_unschedulable, self.in_flight.unchanged_since)
        self._holders: Mapping[QueueState | None, tuple[SubQueue, ...]] = {
            None: (),
            QueueState.UNSERVED: (),
            QueueState.ACTIVE: (self.active,),
            QueueState.BACKOFF: (self.backoff, pending.deadlines),
            QueueState.UNSCHEDULABLE: (self.unschedulable, pending.resting, pending.deadlines),
            QueueState.GATED: (self.gated, pending.deadlines),
            QueueState.IN_FLIGHT: (self.in_flight,),
        }

    def enqueue(self, entry: QueuedPodInfo, event: str, now: float) -> bool:
        """Let a pod go on as far as it may. Returns whether it moved."""
        with self.dropping_on_error(entry):
            to, gate = self._destination(entry, event, now)
            if to in (QueueState.ACTIVE, QueueState.BACKOFF):
                entry.initial_attempt_timestamp = min(entry.initial_attempt_timestamp, now)
            if to is not entry.state or gate != entry.gating_plugin:
                self.move(entry, to, event, gate)
                return True
            self.gated.discard(entry)  # if it was about to move, it is not any more
            self.place(entry)
        return False

    def move(self, entry: QueuedPodInfo, to: QueueState | None, event: str, gate: str = "") -> None:
        """The only way from one state to another."""
        if to not in ALLOWED_TRANSITIONS[entry.state]:
            raise IllegalTransition(f"pod {key(entry.pod)} cannot go from {entry.state} to {to}")
        for holder in self._holders[entry.state]:
            holder.discard(entry)
        # only now: what holds the pod finds it by its gate
        entry.state, entry.gating_plugin = to, gate
        came = self.place(entry)
        if to is not None and to is not QueueState.IN_FLIGHT:
            self._listener.pod_enqueued(to.value, event, came)
        if to in (QueueState.GATED, QueueState.UNSERVED):
            self._listener.pod_held(entry.uid)

    def place(self, entry: QueuedPodInfo) -> str:
        """Put a pod where its state and its newest data say; the index and its group record it.
        Returns what came into its queue with it, as ``QueuedEntities``.
        """
        for holder in self._holders[entry.state]:
            holder.add(entry)
        came = self.index.record(entry)
        if entry.membership is not None:
            self._groups.record_move(entry)
        return came

    def dropping_on_error(self, entry: QueuedPodInfo) -> Catching:
        """Around a move of this pod: what it raises is reported, and ends there."""
        return Catching(Exception, self._drop_failed, entry)

    def _drop_failed(self, error: Exception, entry: QueuedPodInfo) -> None:
        for holders in self._holders.values():
            for holder in holders:
                holder.discard(entry)
        entry.state = None
        self.place(entry)
        self._listener.plugin_failed(QUEUE_AS_PLUGIN, entry.pod, error)

    def _destination(self, entry: QueuedPodInfo, event: str, now: float) -> tuple[QueueState, str]:
        """How far a pod may go: past the gates, past its backoff; and the plugin that gates it."""
        config = self._profiles.configs.get(entry.scheduler_name)
        if config is None:
            return QueueState.UNSERVED, ""
        if entry.state is QueueState.BACKOFF and event == BACKOFF_COMPLETE:
            return QueueState.ACTIVE, ""
        if entry.backoff_expiration == BACKOFF_NOT_COMPUTED:
            entry.backoff_expiration = config.backoff_end(entry)
        if entry.as_group and entry.state is QueueState.UNSCHEDULABLE:
            early = entry.timestamp + GROUP_RETRY_SECONDS
            entry.backoff_expiration = min(entry.backoff_expiration, early)
        gate = self._profiles.gating_plugin(entry, now)
        if not gate and entry.membership is not None:
            gate = self._groups.gating_plugin(entry)
        if gate:
            return QueueState.GATED, gate
        at_once = entry.pending or (entry.prioritised and entry.consecutive_errors_count == 1)
        waits = entry.backoff_expiration > now and not at_once
        return QueueState.BACKOFF if waits else QueueState.ACTIVE, ""
