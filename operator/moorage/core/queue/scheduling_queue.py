"""The scheduling queue: every pod that waits for a node is here, in one state, until it is bound or
gone. ``moves`` says from which state to which it goes, and when.

A pod whose attempt failed waits in backoff, the longer the more often it failed. A rejected one
waits for an event first, and may be tried early when nobody is active; one that failed by a fault
may not, nor one that was put back untried, nor a PodGroup.

Everything costs O(log n) of the pods it moves, plus one question to the hint of a plugin that both
rejected pods and registered for the event: for each of these pods, or, if it is shared, for each
template of them. Pods that an event or the clock sets free are moved in slices; until all have
moved nobody is popped, so that they go by their order (``pending_moves``).

Members of a pod group that has not enough of them yet are gated by ``POD_GROUP_GATE``. Of a group
that goes as one ``pop`` takes all that wait, as ``companions`` of the entry whose turn it is.

Pure: ``now`` is an argument, in seconds of any clock that does not go back. One thread calls it.
Source: kube-scheduler's ``PriorityQueue`` (v1.36), in words of our own. Different on purpose: a pod
that was updated, or whose profile was swapped, during its attempt is simply tried again if it was
rejected; exact expiry of a backoff ends it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from moorage.core.framework.cluster_events import ClusterEvent
from moorage.core.framework.interfaces import SortKey
from moorage.core.framework.object_changes import only_status_changed, pod_changes
from moorage.core.objects.meta import key
from moorage.core.objects.pods import Pod
from moorage.core.queue.entry_heap import NONE_LATE
from moorage.core.queue.group_moves import GroupMoves
from moorage.core.queue.hints import ProfileQueueConfig, QueueingHints
from moorage.core.queue.moves import (
    NOMINATION_CHANGED,
    POD_GROUP_CHANGED,
    POP_FROM_BACKOFF_Q,
    PROFILE_UPDATED,
    PUT_BACK,
    SCHEDULE_ATTEMPT_FAILURE,
    UNSCHEDULED_POD_ADDED,
    IllegalTransition,
)
from moorage.core.queue.outlook import Outlook
from moorage.core.queue.pod_group_members import AVAILABLE_STATES, PodGroupTracker
from moorage.core.queue.queued_entities import POD, POD_GROUP
from moorage.core.queue.queued_pod import (
    QueueCounts,
    QueuedPodInfo,
    QueueListener,
    QueueSortFn,
    QueueState,
)
from moorage.core.queue.sub_queues import SubQueues

MAX_UNSCHEDULABLE_SECONDS = 300.0
"""Seconds after which a rejected pod is tried again without any event, in case one was missed."""
PUT_BACK_SECONDS = 1.0
"""Seconds until a pod that was not tried when its turn came has another one."""


class SchedulingQueue:
    """Holds every pod that waits for a node and gives out the one whose turn it is.

    ``sort`` orders the queue for all profiles. The store of ``groups`` is what plugins look at
    beside the pod. A hint that fails counts as yes, a preEnqueue plugin that fails gates the pod
    until it is asked again, after a backoff. A pod that can be moved no more is taken out, and
    reported with ``QUEUE_AS_PLUGIN``.
    """

    def __init__(
        self,
        sort: QueueSortFn,
        groups: PodGroupTracker,
        listener: QueueListener,
        max_unschedulable: float = MAX_UNSCHEDULABLE_SECONDS,
    ) -> None:
        self.groups = groups
        self._sort = sort
        self._listener = listener
        self._profiles = QueueingHints(groups.store, listener)
        self._queues = SubQueues(sort, self._profiles, groups, listener, max_unschedulable)
        self._pending = self._queues.pending
        self.outlook = Outlook(self._queues, self._profiles, self._pending, groups)
        self._index, self._in_flight = self._queues.index, self._queues.in_flight
        self._group_moves = GroupMoves(sort, self._queues, self._profiles, groups)

    # ---- pods come, change and go ----------------------------------------------------------------

    def add(self, pod: Pod, now: float) -> None:
        """A pod that waits for a node. Raises IllegalTransition when its UID is known: call
        ``update`` then.
        """
        if pod.metadata.uid in self._index.entries:
            raise IllegalTransition(f"pod {key(pod)} is in the queue already: update it instead")
        entry = QueuedPodInfo(pod, pod.spec.scheduler_name, timestamp=now)
        self._queues.enqueue(entry, UNSCHEDULED_POD_ADDED, now)

    def update(self, pod: Pod, now: float) -> None:
        """A new state of a pod that is here, which may free it; KeyError when it is not here."""
        entry = self._index.entries[pod.metadata.uid]
        events = [] if only_status_changed(entry.pod, pod) else pod_changes(entry.pod, pod)
        self.groups.update_pod(entry, pod)
        if self.groups.is_gated_wrongly(entry):
            self._queues.enqueue(entry, POD_GROUP_CHANGED, now)
        if entry.state is QueueState.IN_FLIGHT:
            if self._profiles.any_hint(entry, events):
                self._in_flight.requeue_anyway(entry)
            return
        self._queues.place(entry)
        if events and entry.state is QueueState.UNSCHEDULABLE:
            self._in_flight.requeue_anyway(entry)
            self._pending.resting.wake()
        if entry.state in (QueueState.UNSCHEDULABLE, QueueState.GATED):
            for event in events:
                if self._profiles.is_worth_requeuing(event, entry) and self._queues.enqueue(
                    entry, event.label, now
                ):
                    break

    def remove(self, uid: str) -> None:
        """A pod is gone or has a node; unknown ones are ignored. If it is in flight, its
        ``requeue`` will do nothing.
        """
        entry = self._index.entries.get(uid)
        if entry is not None:
            self._queues.move(entry, None, "")

    # ---- attempts --------------------------------------------------------------------------------

    def pop(
        self,
        now: float,
        early: bool = True,
        full: Collection[str] = (),
        late: Mapping[str, float] = NONE_LATE,
    ) -> QueuedPodInfo | None:
        """The pod whose turn it is, now in flight; None when nobody is ready, or while it is not
        known (``moves_pending``).

        ``early``: when nobody is active, a rejected pod may be tried before its backoff is over.
        ``full``: profiles that can take no pod now; theirs are passed over and keep their place in
        the order. ``late``: profiles that had their turn already, and by how much more: theirs go
        when no others are active.
        """
        self.flush(now)
        while (entry := self._next(early, full, late)) is not None:
            companions = self._group_moves.companions(entry, now) if entry.group else []
            if entry.state is QueueState.BACKOFF:
                came = POD if entry.group is None else POD_GROUP
                self._listener.pod_enqueued(QueueState.ACTIVE.value, POP_FROM_BACKOFF_Q, came)
            if self._begin_attempt(entry):
                entry.companions = tuple(one for one in companions if self._begin_attempt(one))
                return entry
        return None

    def prioritise(self, entry: QueuedPodInfo) -> None:
        """A pod in flight is to go ahead of everybody when it is back, after a first fault without
        any backoff.
        """
        entry.prioritised = True

    def done(self, uid: str) -> None:
        """An attempt ended with the pod bound or out of our hands. Calling it again changes
        nothing.
        """
        entry = self._index.entries.get(uid)
        if entry is not None and entry.state is QueueState.IN_FLIGHT:
            self._queues.move(entry, None, "")

    def put_back(self, entry: QueuedPodInfo, now: float) -> None:
        """A pod in flight is not tried after all: no failure of it, so it keeps its place in the
        order. It waits a moment, so that one which is put back each time does not keep the loop
        busy.
        """
        if entry.state is QueueState.IN_FLIGHT:
            entry.put_back(now + PUT_BACK_SECONDS)
            self._queues.enqueue(entry, PUT_BACK, now)

    def requeue(
        self, entry: QueuedPodInfo, rejectors: frozenset[str], now: float, pending: bool = False
    ) -> None:
        """An attempt failed: these plugins rejected the pod (``pending``: by PENDING), or a fault.

        Ignored when the pod was removed meanwhile; IllegalTransition when it is not in flight.
        """
        if entry.state is None:
            return
        if entry.state is not QueueState.IN_FLIGHT:
            raise IllegalTransition(f"pod {key(entry.pod)} is {entry.state.value}, not tried")
        entry.attempt_failed(rejectors, now, pending)
        if entry.as_group:
            entry.backoff_expiration = self.backoff_end(entry)
        if rejectors and self.serves(entry.scheduler_name) and not self._may_go_on(entry):
            self._queues.move(entry, QueueState.UNSCHEDULABLE, SCHEDULE_ATTEMPT_FAILURE)
        else:
            self._queues.enqueue(entry, SCHEDULE_ATTEMPT_FAILURE, now)

    def backoff_end(self, entry: QueuedPodInfo) -> float:
        """When the backoff of the entry's last attempt is over; its profile may be gone, and then
        it is over already.
        """
        config = self._profiles.configs.get(entry.scheduler_name)
        return entry.timestamp if config is None else config.backoff_end(entry)

    # ---- what frees pods -------------------------------------------------------------------------

    def move_on_event(self, event: ClusterEvent, now: float) -> int:
        """Something changed in the cluster: move the pods that it may free, or the first of them.
        Returns how many moved.
        """
        self._in_flight.record(event)
        self._pending.resting.wake()
        for pods in (self._queues.gated, self._queues.unschedulable):
            for scheduler_name, plugin, _ in pods.blocked_counts():
                registrations = self._profiles.matching_hints(scheduler_name, plugin, event)
                if registrations:
                    for alike, which in self._profiles.pods_to_queue(
                        registrations, plugin, event, pods.blocked_by(scheduler_name, plugin)
                    ):
                        self._pending.free(pods.free(alike, which), event.label)
        return self._move_freed(now)

    def move_rejected_by(self, scheduler_name: str, plugins: Collection[str], now: float) -> int:
        """A swap changed these plugins: move the pods that one of them had rejected, or the first
        of them. Returns how many moved.

        Gated pods are no matter of this: ``set_profile`` has asked the new preEnqueue plugins
        already.
        """
        for entry in self.entries(scheduler_name):
            self._in_flight.requeue_anyway(entry)
        self._pending.resting.wake()
        for plugin in sorted(plugins):
            blocked = self._queues.unschedulable.blocked_by(scheduler_name, plugin)
            for alike in list(blocked.groups.values()):
                self._pending.free(
                    self._queues.unschedulable.free(alike, alike.entries), PROFILE_UPDATED
                )
        return self._move_freed(now)

    def retry(self, uid: str, now: float) -> bool:
        """The node that this rejected pod is nominated to, or what it waits for, is another: try it
        again. Returns whether it moved.
        """
        entry = self._index.entries.get(uid)
        if entry is not None and entry.state is QueueState.IN_FLIGHT:
            self._in_flight.requeue_anyway(entry)
        return (
            entry is not None
            and entry.state is QueueState.UNSCHEDULABLE
            and self._queues.enqueue(entry, NOMINATION_CHANGED, now)
        )

    def flush(self, now: float) -> int:
        """Move the pods whose backoff is over, that were rejected too long ago, or whose group has
        changed. Returns how many.
        """
        moved = sum(self._queues.enqueue(*due, now) for due in self._pending.next_slice(now))
        if self.groups.dirty or self._group_moves.left:
            moved += self._group_moves.flush(now)
        return moved

    def next_deadline(self, now: float) -> float | None:
        """When ``flush`` will have something to do, not before ``now``; None when only events can
        make it so.
        """
        return now if self._group_moves.left else self._pending.next_deadline(now)

    # ---- profiles --------------------------------------------------------------------------------

    def serves(self, scheduler_name: str) -> bool:
        """Whether pods of this profile are handed out; else they are unserved."""
        return scheduler_name in self._profiles.configs

    def set_profile(
        self, scheduler_name: str, config: ProfileQueueConfig | None, now: float
    ) -> None:
        """What is live under this name from now on; None: nothing is, or it is suspended.

        Pods that a changed plugin had rejected are not moved by this, but by ``move_rejected_by``.
        """
        old = self._profiles.configs.pop(scheduler_name, None)
        if config is not None:
            self._profiles.configs[scheduler_name] = config
            if old is not None and old.pre_enqueue == config.pre_enqueue:
                return
        for entry in list(self.entries(scheduler_name)):
            if entry.state is QueueState.IN_FLIGHT:
                self._in_flight.requeue_anyway(entry)
            elif config is None or entry.state is not QueueState.UNSCHEDULABLE:
                self._queues.enqueue(entry, PROFILE_UPDATED, now)

    # ---- looking ---------------------------------------------------------------------------------

    @property
    def moves_pending(self) -> bool:
        """Whether pods are due to be moved and wait for their slice: ``flush`` moves the next,
        nobody is popped before, for a time.
        """
        return self._pending.left or bool(self._group_moves.left)

    def get(self, uid: str) -> QueuedPodInfo | None:
        """The entry of a pod, if it is here."""
        return self._index.entries.get(uid)

    def entries(self, scheduler_name: str | None = None) -> Iterator[QueuedPodInfo]:
        """The entries of a profile, or all, in the order in which they came. Not to be moved while
        this runs.
        """
        return iter(self._index.of_profile(scheduler_name).values())

    def sort_key(self, entry: QueuedPodInfo) -> SortKey:
        """Lower for the pod that is to go first."""
        return self._sort(entry.pod, entry.timestamp)

    def unserved(self, scheduler_name: str) -> Iterator[Pod]:
        """The pods that wait for this profile to be there."""
        return (
            entry.pod
            for entry in self.entries(scheduler_name)
            if entry.state is QueueState.UNSERVED
        )

    def counts(self, scheduler_name: str) -> QueueCounts:
        """How many pods of a profile are where."""
        return self._index.counts(scheduler_name)

    def totals(self) -> QueueCounts:
        """How many pods are where."""
        return self._index.counts()

    def entity_counts(self) -> dict[tuple[str, str], int]:
        """(queue, kind) -> how many pods of no group, and pod groups, are in it."""
        return self._index.entity_counts()

    def in_flight_events(self) -> dict[str, int]:
        """Events that are kept for pods in flight, by label, and those pods (PodPopped)."""
        return self._in_flight.counts()

    def unschedulable_counts(self) -> list[tuple[str, str, int]]:
        """(scheduler name, plugin, how many unschedulable pods it rejected), for those that
        rejected any.
        """
        return self._queues.unschedulable.blocked_counts()

    def gated_counts(self) -> dict[str, int]:
        """How many pods wait at which gate: their own, or another preEnqueue plugin."""
        return self._index.gate_counts()

    # ---- inside ----------------------------------------------------------------------------------

    def _next(
        self, early: bool, full: Collection[str], late: Mapping[str, float]
    ) -> QueuedPodInfo | None:
        """The pod whose turn it is; None while that is not known."""
        if not self._pending.may_pop:
            return None
        if self._group_moves.left:
            full = {*full, *self._group_moves.held_profiles}
        entry = self._queues.active.first(full, late)
        if entry is None and early:
            entry = self._queues.backoff.first(full)
            if entry is not None and not entry.may_go_early:
                return None
        return entry

    def _begin_attempt(self, entry: QueuedPodInfo) -> bool:
        """Take a pod in flight. Whether it could be: it may have been gated meanwhile."""
        with self._queues.dropping_on_error(entry):
            if entry.state in AVAILABLE_STATES:
                self._queues.move(entry, QueueState.IN_FLIGHT, "")
                entry.attempts += 1
                entry.prioritised = entry.was_put_back = False
                entry.as_group = entry.membership is not None
        return entry.state is QueueState.IN_FLIGHT

    def _may_go_on(self, entry: QueuedPodInfo) -> bool:
        """Whether a rejected pod need not wait for an event: one that it missed may have freed it,
        or it is to wait for its group.
        """
        missed = self._in_flight.events_since(entry)
        return (
            missed is None
            or bool(self.groups.gating_plugin(entry))
            or any(self._profiles.is_worth_requeuing(event, entry) for event in missed)
        )

    def _move_freed(self, now: float) -> int:
        """Move the first of those that are free to go, unless they have to wait for a slice."""
        if self._pending.left:
            return 0
        return sum(self._queues.enqueue(*due, now) for due in self._pending.next_slice(None))
