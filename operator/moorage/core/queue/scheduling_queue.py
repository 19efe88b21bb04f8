"""The scheduling queue: every pod that waits for a node is here, in one state, until it is bound or
gone.

==============  ======================  ============================================================
from            to                      when
==============  ======================  ============================================================
outside         active                  a pod comes and every preEnqueue plugin lets it in
outside         gated                   … and one does not
outside         unserved                … and its profile is unknown or suspended
active          in flight               its turn (``pop``), or that of a member of its pod group
backoff         active                  its backoff is over (``flush``)
backoff         in flight               nobody is active, and it was rejected, not failed (``pop``);
                                        or a member's turn
unschedulable   in flight               a member's turn
in flight       unschedulable           rejected, and nothing happened meanwhile that could free it
                                        (``requeue``)
in flight       backoff, active         it failed by a fault; or rejected, but freed meanwhile
unschedulable   backoff, active         an event or a swap may free it; its own update does; or it
                                        was there for too long
gated           active, backoff         likewise, and every preEnqueue plugin lets it in
active,         gated                   a swap changed the preEnqueue plugins and one does not let
backoff,                                it in (``set_profile``); or one shut in the meantime; its
unschedulable,                          pod group is not complete any more (``flush``)
in flight
gated           active, backoff         its pod group is complete (``flush``)
gated           gated                   another plugin gates it now
gated           active, backoff         the preEnqueue plugin that failed was asked again, and lets
                                        it in (``flush``)
all but         unserved                its profile goes or is suspended (``set_profile``)
in flight
in flight       unserved                … and then its attempt failed
unserved        active, backoff, gated  its profile is there again
anywhere        outside                 the pod is gone or has a node (``remove``); its binding
                                        succeeded (``done``)
==============  ======================  ============================================================

Going on from a rejection or a fault means active if the backoff is over, else backoff. Everything
costs O(log n) of the pods it moves, plus one question to the hint of a plugin that both rejected
pods and registered for the event: for each of these pods, or, if it is shared, for each template of
them. Pods that an event or the clock sets free are moved in slices; until all have moved nobody is
popped, so that they go by their order; but for no more than ``MAX_SLICES_WITHOUT_POP`` slices, so
that nobody can keep everybody waiting.

Members of a pod group that has not enough of them yet are gated by ``POD_GROUP_GATE``. While a
group still needs several members to be placed at once, ``pop`` takes all of them that wait: the
entry whose turn it is has the others as its ``companions``.

Pure: ``now`` is an argument, in seconds of any clock that does not go back. One thread calls it.
Source: kube-scheduler's ``PriorityQueue`` (v1.36), in words of our own. Different on purpose: a pod
that was updated, or whose profile was swapped, during its attempt is simply tried again if it was
rejected; exact expiry of a backoff ends it.
"""

from __future__ import annotations

import itertools
from collections import defaultdict, deque
from collections.abc import Callable, Collection, Iterator, Mapping

from moorage.core.framework.cluster_events import ClusterEvent
from moorage.core.framework.object_changes import only_status_changed, pod_changes
from moorage.core.objects.meta import key
from moorage.core.objects.pod_groups import group_of
from moorage.core.objects.pods import Pod
from moorage.core.queue.active import ActiveQueue
from moorage.core.queue.backoff import BackoffQueue, backoff_end
from moorage.core.queue.blocked_pods import BlockedPods, EquivalentPods
from moorage.core.queue.entry_index import EntryIndex
from moorage.core.queue.gates import GatedPodCounts
from moorage.core.queue.heaps import NONE_LATE
from moorage.core.queue.hints import PluginErrorFn, ProfileQueueConfig, QueueingHints
from moorage.core.queue.in_flight import InFlightPods
from moorage.core.queue.moves import (
    BACKOFF_COMPLETE,
    NOMINATION_CHANGED,
    POD_GROUP_CHANGED,
    POP_FROM_BACKOFF_Q,
    PROFILE_UPDATED,
    SCHEDULE_ATTEMPT_FAILURE,
    UNSCHEDULABLE_TIMEOUT,
    UNSCHEDULED_POD_ADDED,
    IllegalTransition,
    SubQueue,
)
from moorage.core.queue.pod_group_members import AVAILABLE_STATES, POD_GROUP_GATE, PodGroupTracker
from moorage.core.queue.queued_pod import (
    ALLOWED_TRANSITIONS,
    BACKOFF_NOT_COMPUTED,
    QueueCounts,
    QueuedPodInfo,
    QueueSortFn,
    QueueState,
)
from moorage.core.structures.catching import Catching

MOVES_PER_SLICE = 128
"""Moves at a time: two or three milliseconds."""
MAX_SLICES_WITHOUT_POP = 32
"""Slices of moves for which nobody is popped, about a tenth of a second. Where so many pods move
that it takes longer, others go on.
"""
MAX_UNSCHEDULABLE_SECONDS = 300.0
"""Seconds after which a rejected pod is tried again without any event, in case one was missed."""

QUEUE_AS_PLUGIN = "the queue"
"""Reported instead of a plugin where moving a pod failed: it is not in the queue any more."""


class SchedulingQueue:
    """See the module's docstring.

    ``sort`` orders the queue for all profiles. The store of ``groups`` is what plugins look at
    beside the pod.
    ``observe(queue, event label)`` is called for each pod that comes into a queue, ``report(plugin,
    pod, error)`` for a plugin that fails: a hint that fails counts as yes, a preEnqueue plugin that
    fails gates the pod until it is asked again, after a backoff. A pod that can be moved no more is
    taken out, and reported with ``QUEUE_AS_PLUGIN``.
    """

    def __init__(
        self,
        sort: QueueSortFn,
        groups: PodGroupTracker,
        observe: Callable[[str, str], None],
        report: PluginErrorFn,
        max_unschedulable: float = MAX_UNSCHEDULABLE_SECONDS,
    ) -> None:
        self.groups = groups
        self.sort = sort
        self._observe = observe
        self._report = report
        self._max_unschedulable = max_unschedulable
        self._profiles = QueueingHints(groups.store, report)
        self._all = EntryIndex()
        self._by_profile: defaultdict[str, EntryIndex] = defaultdict(EntryIndex)
        self._active = ActiveQueue(sort)
        self._backoff = BackoffQueue(sort)
        self._unschedulable = BlockedPods(self._profiles.equivalence_class_of)
        self._gated = BlockedPods(self._profiles.equivalence_class_of)
        self._gates = GatedPodCounts()
        self._in_flight = InFlightPods()
        self._freed: deque[tuple[BlockedPods, EquivalentPods, str]] = deque()
        """Parked pods that are to go on, and the event that freed them."""
        self.moves_per_slice = MOVES_PER_SLICE
        self._slices_pending = 0
        """How many slices there were since it was last known whose turn it is."""
        self.moves_pending = False
        """Whether pods are due to be moved and waited for their slice: ``flush`` moves the next,
        nobody is popped before, for a time.
        """
        self._queues: dict[QueueState, SubQueue] = {
            QueueState.ACTIVE: self._active,
            QueueState.BACKOFF: self._backoff,
            QueueState.UNSCHEDULABLE: self._unschedulable,
            QueueState.GATED: self._gated,
            QueueState.IN_FLIGHT: self._in_flight,
        }
        """What holds the pods of a state; unserved ones are in the index of their profile alone."""

    # ---- pods come, change and go ----------------------------------------------------------------

    def add(self, pod: Pod, now: float) -> None:
        """A pod that waits for a node. Raises IllegalTransition when its UID is known: call
        ``update`` then.
        """
        if pod.metadata.uid in self._all.entries:
            raise IllegalTransition(f"pod {key(pod)} is in the queue already: update it instead")
        entry = QueuedPodInfo(pod, pod.spec.scheduler_name, timestamp=now, group=group_of(pod))
        if entry.scheduler_name in self._profiles.configs:
            self._enqueue(entry, UNSCHEDULED_POD_ADDED, now)
        else:
            self._move(entry, QueueState.UNSERVED, UNSCHEDULED_POD_ADDED)

    def update(self, pod: Pod, now: float) -> None:
        """A new state of a pod that is here, which may free it. Raises KeyError when it is not
        here.
        """
        entry = self._all.entries[pod.metadata.uid]
        events = [] if only_status_changed(entry.pod, pod) else pod_changes(entry.pod, pod)
        self._update_pod(entry, pod, now)
        if entry.state in (QueueState.ACTIVE, QueueState.BACKOFF):
            self._queues[entry.state].add(entry)
        elif entry.state is QueueState.IN_FLIGHT and self._profiles.any_hint(entry, events):
            self._in_flight.requeue_anyway(entry)
        elif entry.state in (QueueState.UNSCHEDULABLE, QueueState.GATED):
            pods = self._unschedulable if entry.state is QueueState.UNSCHEDULABLE else self._gated
            pods.updated(entry)
            self._gates.record(entry)
            for event in events:
                if self._profiles.is_worth_requeuing(event, entry) and self._enqueue(
                    entry, event.label, now
                ):
                    break

    def remove(self, uid: str) -> None:
        """A pod is gone or has a node; unknown ones are ignored. If it is in flight, its
        ``requeue`` will do nothing.
        """
        entry = self._all.entries.get(uid)
        if entry is not None:
            self._move(entry, None, "")

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
        entry = (
            self._next(early, full, late)
            if not self.moves_pending or self._slices_pending > MAX_SLICES_WITHOUT_POP
            else None
        )
        while entry is not None and not self._take(entry, now):
            entry = self._next(early, full, late)
        return entry

    def prioritise(self, entry: QueuedPodInfo) -> None:
        """A pod in flight is to go ahead of everybody when it is back, after a first fault without
        any backoff.
        """
        entry.prioritised = True

    def done(self, uid: str) -> None:
        """An attempt ended with the pod bound or out of our hands. Calling it again changes
        nothing.
        """
        entry = self._all.entries.get(uid)
        if entry is not None and entry.state is QueueState.IN_FLIGHT:
            self._move(entry, None, "")

    def serves(self, scheduler_name: str) -> bool:
        """Whether pods of this profile are handed out; else they are unserved."""
        return scheduler_name in self._profiles.configs

    def requeue(
        self, entry: QueuedPodInfo, rejectors: frozenset[str], now: float, pending: bool = False
    ) -> None:
        """An attempt failed: rejected by these plugins (``pending``: by PENDING), or by a fault
        when there are none.

        Ignored when the pod was removed meanwhile. Raises IllegalTransition when it is not in
        flight.
        """
        if entry.state is None:
            return
        if entry.state is not QueueState.IN_FLIGHT:
            raise IllegalTransition(
                f"pod {key(entry.pod)} is {entry.state.value}, it has no attempt that could "
                f"have failed"
            )
        missed = self._in_flight.events_since(entry)
        entry.timestamp, entry.backoff_expiration = now, BACKOFF_NOT_COMPUTED
        entry.unschedulable_plugins = rejectors
        entry.pending = pending and bool(rejectors)
        entry.unschedulable_count += bool(rejectors)
        entry.consecutive_errors_count = 0 if rejectors else entry.consecutive_errors_count + 1
        if entry.scheduler_name not in self._profiles.configs:
            self._move(entry, QueueState.UNSERVED, SCHEDULE_ATTEMPT_FAILURE)
        elif (
            self.groups.gating_plugin(entry)
            or not rejectors
            or missed is None
            or any(self._profiles.is_worth_requeuing(event, entry) for event in missed)
        ):
            self._enqueue(entry, SCHEDULE_ATTEMPT_FAILURE, now)
        else:
            self._move(entry, QueueState.UNSCHEDULABLE, SCHEDULE_ATTEMPT_FAILURE)

    def backoff_end(self, entry: QueuedPodInfo) -> float:
        """When the backoff of the entry's last attempt is over; its profile may be gone, and then
        it is over already.
        """
        config = self._profiles.configs.get(entry.scheduler_name)
        return entry.timestamp if config is None else backoff_end(entry, config)

    # ---- what frees pods -------------------------------------------------------------------------

    def move_on_event(self, event: ClusterEvent, now: float) -> int:
        """Something changed in the cluster: move the pods that it may free, or the first of them.
        Returns how many moved.
        """
        self._in_flight.record(event)
        for pods in (self._gated, self._unschedulable):
            for scheduler_name, plugin, _ in pods.blocked_counts():
                registrations = self._profiles.matching_hints(scheduler_name, plugin, event)
                if registrations:
                    label = event.label
                    for alike, which in self._profiles.pods_to_queue(
                        registrations, plugin, event, pods.blocked_by(scheduler_name, plugin)
                    ):
                        self._freed.append((pods, pods.free(alike, which), label))
        return 0 if self.moves_pending else self._move_slice(self._move_freed(now))

    def retry(self, uid: str, now: float) -> bool:
        """The node that this rejected pod is nominated to, or what it waits for, is another: try it
        again. Returns whether it moved.
        """
        entry = self._all.entries.get(uid)
        if entry is not None and entry.state is QueueState.IN_FLIGHT:
            self._in_flight.requeue_anyway(entry)
        return (
            entry is not None
            and entry.state is QueueState.UNSCHEDULABLE
            and self._enqueue(entry, NOMINATION_CHANGED, now)
        )

    def move_rejected_by(self, scheduler_name: str, plugins: Collection[str], now: float) -> int:
        """A swap changed these plugins: move the pods that one of them had rejected, or the first
        of them. Returns how many moved.

        Gated pods are no matter of this: ``set_profile`` has asked the new preEnqueue plugins
        already.
        """
        for entry in self._in_flight:
            if entry.scheduler_name == scheduler_name:
                self._in_flight.requeue_anyway(entry)
        for plugin in sorted(plugins):
            for alike in list(
                self._unschedulable.blocked_by(scheduler_name, plugin).groups.values()
            ):
                self._freed.append(
                    (
                        self._unschedulable,
                        self._unschedulable.free(alike, alike.entries),
                        PROFILE_UPDATED,
                    )
                )
        return 0 if self.moves_pending else self._move_slice(self._move_freed(now))

    def set_profile(
        self, scheduler_name: str, config: ProfileQueueConfig | None, now: float
    ) -> None:
        """What is live under this name from now on. None: nothing is, or it is suspended, and its
        pods are unserved.

        Pods that a changed plugin had rejected are not moved by this: ``move_rejected_by`` does
        that.
        """
        old = self._profiles.configs.pop(scheduler_name, None)
        if config is not None:
            self._profiles.configs[scheduler_name] = config
            if old is not None and old.pre_enqueue == config.pre_enqueue:
                return
        for entry in list(self.entries(scheduler_name)):
            if entry.state is QueueState.IN_FLIGHT:
                self._in_flight.requeue_anyway(entry)
            elif config is None and entry.state is not QueueState.UNSERVED:
                self._move(entry, QueueState.UNSERVED, PROFILE_UPDATED)
            elif config is not None and entry.state is not QueueState.UNSCHEDULABLE:
                self._enqueue(entry, PROFILE_UPDATED, now)

    def flush(self, now: float) -> int:
        """Move the pods whose backoff is over, that were rejected too long ago, or whose group has
        changed. Returns how many.
        """
        moved = self._move_slice(itertools.chain(self._move_freed(now), self._move_due(now)))
        if self.groups.dirty:
            for group in self.groups.recheck(now):
                for entry in list(group.waiting.values()):
                    with self._dropping_on_error(entry):
                        moved += self._enqueue(entry, POD_GROUP_CHANGED, now)
        return moved

    def next_deadline(self, now: float) -> float | None:
        """When ``flush`` will have something to do, not before ``now``; None when only events can
        make it so.
        """
        due = [now] if self.moves_pending else []
        if (waiting := self._backoff.first()) is not None:
            due.append(waiting.backoff_expiration)
        if (pods := self._unschedulable.first()) is not None:
            due.append(self._flush_at(pods))
        if (failed := self._gates.failed.first()) is not None:
            due.append(failed.gate_retry_at)
        return max(now, min(due)) if due else None

    # ---- looking ---------------------------------------------------------------------------------

    def get(self, uid: str) -> QueuedPodInfo | None:
        """The entry of a pod, if it is here."""
        return self._all.entries.get(uid)

    def entries(self, scheduler_name: str | None = None) -> Iterator[QueuedPodInfo]:
        """The entries of a profile, or all, in the order in which they came. Not to be moved while
        this runs.
        """
        index = (
            self._all if scheduler_name is None else self._by_profile.get(scheduler_name, _EMPTY)
        )
        return iter(index.entries.values())

    def unserved(self, scheduler_name: str) -> Iterator[Pod]:
        """The pods that wait for this profile to be there."""
        return (
            entry.pod
            for entry in self.entries(scheduler_name)
            if entry.state is QueueState.UNSERVED
        )

    def counts(self, scheduler_name: str) -> QueueCounts:
        """How many pods of a profile are where."""
        return self._by_profile.get(scheduler_name, _EMPTY).counts()

    def totals(self) -> QueueCounts:
        """How many pods are where."""
        return self._all.counts()

    def in_flight_events(self) -> dict[str, int]:
        """Events that are kept for pods in flight, by label, and those pods (PodPopped)."""
        return self._in_flight.counts()

    def unschedulable_counts(self) -> list[tuple[str, str, int]]:
        """(scheduler name, plugin, how many unschedulable pods it rejected), for those that
        rejected any.
        """
        return self._unschedulable.blocked_counts()

    def gated_counts(self) -> dict[str, int]:
        """How many pods wait at which gate: their own, or another preEnqueue plugin."""
        return self._gates.counts()

    # ---- inside ----------------------------------------------------------------------------------

    def _move_slice(self, moves: Iterator[bool]) -> int:
        """Carry out moves, as many as take a few milliseconds, and note whether there are more.
        Returns how many did move.
        """
        moved, self.moves_pending = 0, False
        for done, has_moved in enumerate(moves, 1):
            moved += has_moved
            if done == self.moves_per_slice:
                self.moves_pending = True
                break
        self._slices_pending = self._slices_pending + 1 if self.moves_pending else 0
        return moved

    def _move_freed(self, now: float) -> Iterator[bool]:
        """Move freed pods one by one; a gate may still be shut for some."""
        while self._freed:
            pods, alike, label = self._freed[0]
            entry = next(iter(alike.entries.values()), None)
            if entry is None:
                self._freed.popleft()
                continue
            has_moved = False
            with self._dropping_on_error(entry):
                has_moved = self._enqueue(entry, label, now)
                if not has_moved:
                    pods.refile(entry)
            yield has_moved

    def _move_due(self, now: float) -> Iterator[bool]:
        """Move the pods whose backoff is over, those that were rejected too long ago, and those
        that a gate failed on, one by one.
        """
        while (entry := self._backoff.first()) is not None and entry.backoff_expiration <= now:
            with self._dropping_on_error(entry):
                self._move(entry, QueueState.ACTIVE, BACKOFF_COMPLETE)
            yield True
        while (entry := self._unschedulable.first()) is not None and self._flush_at(entry) <= now:
            with self._dropping_on_error(entry):
                self._enqueue(entry, UNSCHEDULABLE_TIMEOUT, now)
            yield True
        while (entry := self._gates.failed.first()) is not None and entry.gate_retry_at <= now:
            with self._dropping_on_error(entry):
                self._enqueue(entry, BACKOFF_COMPLETE, now)
            yield True

    def _enqueue(self, entry: QueuedPodInfo, event: str, now: float) -> bool:
        """Let a pod go on as far as it may: past the gates, past its backoff. Returns whether it
        moved.
        """
        gate = self._profiles.gating_plugin(entry, now) or self.groups.gating_plugin(entry)
        if entry.backoff_expiration == BACKOFF_NOT_COMPUTED:
            entry.backoff_expiration = backoff_end(
                entry, self._profiles.configs[entry.scheduler_name]
            )
        at_once = entry.pending or (entry.prioritised and entry.consecutive_errors_count == 1)
        ready = (
            QueueState.BACKOFF
            if entry.backoff_expiration > now and not at_once
            else QueueState.ACTIVE
        )
        to = QueueState.GATED if gate else ready
        if to is entry.state and gate == entry.gating_plugin:
            self._gates.record(entry)
            return False
        if not gate:
            entry.initial_attempt_timestamp = min(entry.initial_attempt_timestamp, now)
        self._move(entry, to, event, gate)
        return True

    def _next(
        self, early: bool, full: Collection[str], late: Mapping[str, float]
    ) -> QueuedPodInfo | None:
        """The pod whose turn it is."""
        return self._active.first(full, late) or (
            self._backoff.first_refused(full) if early else None
        )

    def _take(self, entry: QueuedPodInfo, now: float) -> bool:
        """Take a pod in flight with its companions, if its group may be placed now."""
        taken = False
        with self._dropping_on_error(entry):
            if entry.group and not self._is_group_ready(entry, now):
                return False
            companions = self.groups.companions(entry) if entry.group else []
            companions.sort(key=lambda other: self.sort(other.pod, other.timestamp))
            if entry.state is QueueState.BACKOFF:
                self._observe(QueueState.ACTIVE.value, POP_FROM_BACKOFF_Q)
            taken = self._begin_attempt(entry)
            if taken:
                entry.companions = tuple(
                    other for other in companions if self._begin_attempt(other)
                )
        return taken

    def _begin_attempt(self, entry: QueuedPodInfo) -> bool:
        """Take a pod in flight. Whether it could be."""
        with self._dropping_on_error(entry):
            self._move(entry, QueueState.IN_FLIGHT, "")
            entry.attempts += 1
            entry.prioritised = False
        return entry.state is QueueState.IN_FLIGHT

    def _dropping_on_error(self, entry: QueuedPodInfo) -> Catching:
        """A pod whose move raises is taken out and reported, so that nobody waits behind it; it may
        be added again.
        """
        return Catching(Exception, self._drop_failed, entry)

    def _drop_failed(self, error: Exception, entry: QueuedPodInfo) -> None:
        for queue in self._queues.values():
            queue.discard(entry)
        entry.state = None
        self._record_move(entry)
        self._report(QUEUE_AS_PLUGIN, entry.pod, error)

    def _is_group_ready(self, entry: QueuedPodInfo, now: float) -> bool:
        """Whether a member's group may be placed now: plugins may have shut a gate since some of
        its members were rejected.
        """
        for other in self.groups.companions(entry):
            if other.state is QueueState.UNSCHEDULABLE and self._profiles.gating_plugin(other, now):
                self._enqueue(other, POD_GROUP_CHANGED, now)
        self.flush(now)
        return entry.state is not QueueState.GATED

    def _update_pod(self, entry: QueuedPodInfo, pod: Pod, now: float) -> None:
        """Take a pod's newest state, which may have another group or say something else about its
        own.
        """
        group = group_of(pod)
        if not group and not entry.group:
            entry.pod = pod
            return
        if entry.group:
            self.groups.remove_member(entry)
        entry.pod, entry.group = pod, group
        if group:
            self.groups.record_move(entry)
        if (
            entry.state in AVAILABLE_STATES
            if self.groups.gating_plugin(entry)
            else entry.gating_plugin == POD_GROUP_GATE
        ):
            self._enqueue(entry, POD_GROUP_CHANGED, now)

    def _move(
        self, entry: QueuedPodInfo, to: QueueState | None, event: str, gate: str = ""
    ) -> None:
        """The only way from one state to another."""
        origin = entry.state
        if to not in ALLOWED_TRANSITIONS[origin]:
            raise IllegalTransition(f"pod {key(entry.pod)} cannot go from {origin} to {to}")
        if origin in self._queues:
            self._queues[origin].discard(entry)
        # only now: what holds the pod finds it by its gate
        entry.state, entry.gating_plugin = to, gate
        if to in self._queues:
            self._queues[to].add(entry)
        self._record_move(entry)
        if to is not None and to is not QueueState.IN_FLIGHT:
            self._observe(to.value, event)

    def _record_move(self, entry: QueuedPodInfo) -> None:
        """Have the indexes, the gates and the pod's group record where the pod is now."""
        index = self._by_profile[entry.scheduler_name]
        index.record_move(entry)
        self._all.record_move(entry)
        self._gates.record(entry)
        if entry.group:
            self.groups.record_move(entry)
        if not index.entries:
            del self._by_profile[entry.scheduler_name]

    def _flush_at(self, entry: QueuedPodInfo) -> float:
        return entry.timestamp + self._max_unschedulable


_EMPTY = EntryIndex()
