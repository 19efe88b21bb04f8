"""The backlog: every pod that waits for a node is here, in exactly one place, until it is bound or gone.

==============  ===========================  ==============================================================================
from            to                           when
==============  ===========================  ==============================================================================
outside         active                       a pod comes and every preEnqueue plugin lets it in
outside         gated                        … and one does not
outside         held                         … and its profile is unknown or suspended
active          in flight                    its turn (``pop``), or that of a member of its pod group
backoff         active                       its backoff is over (``tick``)
backoff         in flight                    nobody is active, and it was refused, not failed (``pop``); or a member's turn
unschedulable   in flight                    a member's turn
in flight       unschedulable                refused, and nothing happened meanwhile that could free it (``requeue``)
in flight       backoff, active              it failed by a fault; or refused, but freed meanwhile
unschedulable   backoff, active              an event or a swap may free it; its own update does; or it was there for too long
gated           active, backoff              likewise, and every preEnqueue plugin lets it in
active,         gated                        a swap changed the preEnqueue plugins and one does not let it in (``set_profile``);
backoff                                      or one shut in the meantime; its pod group is not complete any more (``tick``)
unschedulable,
in flight
gated           active, backoff              its pod group is complete (``tick``)
gated           gated                        another plugin gates it now
gated           active, backoff              the preEnqueue plugin that failed was asked again, and lets it in (``tick``)
all but held,   held                         its profile goes or is suspended (``set_profile``)
in flight
in flight       held                         … and then its attempt failed
held            active, backoff, gated       its profile is there again
anywhere        outside                      the pod is gone or has a node (``remove``); its binding succeeded (``done``)
==============  ===========================  ==============================================================================

Going on from a refusal or a fault means active if the backoff is over, else backoff. Everything costs O(log n) of the pods it
moves, plus one question to the hint of a plugin that both refused pods and registered for the event: for each of these pods, or, if
it is shared, for each template of them. Pods that an event or the clock sets free are moved in slices; until all have moved nobody
is popped, so that they go by their order; but for no longer than ``PATIENCE``, so that nobody can keep everybody waiting.

Members of a pod group that has not enough of them yet are gated by ``groups.GATE``. While a group still needs several members to be
placed at once, ``pop`` takes all of them that wait: the entry whose turn it is has the others as its ``companions``.

Pure: ``now`` is an argument, in seconds of any clock that does not go back. One thread calls it.
Source of the behaviour: kube-scheduler's scheduling queue (v1.36), scheduler-core.md §4 in words of our own. Different on purpose:
a pod that was updated, or whose profile was swapped, during its attempt is simply tried again if it was refused; exact expiry of a
backoff ends it.
"""

from __future__ import annotations

import itertools
from collections import defaultdict, deque
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Protocol

from moorage.core.columns.store import Objects
from moorage.core.framework.cluster_events import Action, ClusterEvent, Resource
from moorage.core.framework.object_changes import only_told, pod_changes
from moorage.core.objects.meta import key
from moorage.core.objects.pod_groups import group_of
from moorage.core.objects.pods import Pod
from moorage.core.queue.active import ActiveQueue
from moorage.core.queue.backoff import BackoffQueue, backoff_end
from moorage.core.queue.entry_index import Roster
from moorage.core.queue.gates import Gates
from moorage.core.queue.heaps import NOBODY
from moorage.core.queue.hints import LiveProfiles, ProfileView, Report
from moorage.core.queue.in_flight import InFlight
from moorage.core.queue.pod_group_members import GATE, READY, Groups
from moorage.core.queue.queued_pod import MOVES, UNSETTLED, Counts, Entry, Place, Sort
from moorage.core.queue.unschedulable import Alike, ParkedPods
from moorage.core.structures.catching import Catching

SLICE = 128
"""Moves at a time: two or three milliseconds."""
PATIENCE = 32
"""Slices of moves for which nobody is popped, about a tenth of a second. Where so many pods move that it takes longer, others go on."""
MAX_UNSCHEDULABLE = 300.0
"""Seconds after which a refused pod is tried again without any event, in case one was missed."""

ARRIVAL = ClusterEvent(Resource.UNSCHEDULED_POD, Action.ADD).label
FAILURE = "ScheduleAttemptFailure"
BACKOFF_OVER = "BackoffComplete"
EARLY = "PopFromBackoffQ"
TIMEOUT = "UnschedulableTimeout"
SWAP = ClusterEvent(Resource.PROFILE, Action.UPDATE).label
PROMISE = "NominationChanged"
GROUP = "PodGroupReadinessChanged"
QUEUE = "the queue"
"""Reported instead of a plugin where moving a pod failed: it is not in the backlog any more."""


class IllegalMove(RuntimeError):
    """The caller asked for a move that is not in the table; nothing has changed."""


class Queue(Protocol):
    """What holds the pods of one place."""

    def add(self, entry: Entry) -> None:
        """Put a pod in."""

    def discard(self, entry: Entry) -> None:
        """Take a pod out, if it is in."""


class Backlog:
    """See the module's docstring.

    ``sort`` orders the queue for all profiles. ``store`` is what plugins look at beside the pod. ``observe(queue, event label)`` is
    called for each pod that comes into a queue, ``report(plugin, pod, error)`` for a plugin that fails: a hint that fails counts
    as yes, a preEnqueue plugin that fails gates the pod until it is asked again, after a backoff. A pod that can be moved no more is
    taken out, and reported with ``QUEUE``.
    """

    def __init__(
        self,
        sort: Sort,
        store: Objects,
        observe: Callable[[str, str], None],
        report: Report,
        max_unschedulable: float = MAX_UNSCHEDULABLE,
    ) -> None:
        self.groups = Groups(store)
        self.sort = sort
        self._observe = observe
        self._report = report
        self._max_unschedulable = max_unschedulable
        self._profiles = LiveProfiles(store, report)
        self._all = Roster()
        self._rosters: defaultdict[str, Roster] = defaultdict(Roster)
        self._active = ActiveQueue(sort)
        self._backoff = BackoffQueue(sort)
        self._unschedulable = ParkedPods(self._profiles.kind_of)
        self._gated = ParkedPods(self._profiles.kind_of)
        self._gates = Gates()
        self._in_flight = InFlight()
        self._freed: deque[tuple[ParkedPods, Alike, str]] = deque()
        """Parked pods that are to go on, and the event that freed them."""
        self.slice = SLICE
        self._slices = 0
        """How many slices there were since it was last known whose turn it is."""
        self.behind = False
        """Whether pods are due to be moved and waited for their slice: ``tick`` moves the next, nobody is popped before, for a time."""
        self._queues: dict[Place, Queue] = {
            Place.ACTIVE: self._active,
            Place.BACKOFF: self._backoff,
            Place.UNSCHEDULABLE: self._unschedulable,
            Place.GATED: self._gated,
            Place.IN_FLIGHT: self._in_flight,
        }
        """What holds the pods of a place; the held have nothing but their roster."""

    # ---- pods come, change and go ------------------------------------------------------------------------------------------

    def add(self, pod: Pod, now: float) -> None:
        """A pod that waits for a node. Raises IllegalMove when its UID is known: call ``update`` then."""
        if pod.metadata.uid in self._all.entries:
            raise IllegalMove(f"pod {key(pod)} is in the backlog already: update it instead")
        entry = Entry(pod, pod.spec.scheduler_name, queued_at=now, group=group_of(pod))
        if entry.scheduler_name in self._profiles.views:
            self._admit(entry, ARRIVAL, now)
        else:
            self._move(entry, Place.HELD, ARRIVAL)

    def update(self, pod: Pod, now: float) -> None:
        """A new state of a pod that is here, which may free it. Raises KeyError when it is not here."""
        entry = self._all.entries[pod.metadata.uid]
        events = [] if only_told(entry.pod, pod) else pod_changes(entry.pod, pod)
        self._renew(entry, pod, now)
        if entry.place in (Place.ACTIVE, Place.BACKOFF):
            self._queues[entry.place].add(entry)
        elif entry.place is Place.IN_FLIGHT and self._profiles.concerned(entry, events):
            self._in_flight.forget(entry)
        elif entry.place in (Place.UNSCHEDULABLE, Place.GATED):
            parked = self._unschedulable if entry.place is Place.UNSCHEDULABLE else self._gated
            parked.renewed(entry)
            self._gates.note(entry)
            for event in events:
                if self._profiles.frees(event, entry) and self._admit(entry, event.label, now):
                    break

    def remove(self, uid: str) -> None:
        """A pod is gone or has a node; unknown ones are ignored. If it is in flight, its ``requeue`` will do nothing."""
        entry = self._all.entries.get(uid)
        if entry is not None:
            self._move(entry, None, "")

    # ---- attempts ----------------------------------------------------------------------------------------------------------

    def pop(self, now: float, early: bool = True, full: Collection[str] = (), late: Mapping[str, float] = NOBODY) -> Entry | None:
        """The pod whose turn it is, now in flight; None when nobody is ready, or while it is not known (``behind``).

        ``early``: when nobody is active, a refused pod may be tried before its backoff is over. ``full``: profiles that can take no
        pod now; theirs are passed over and keep their place in the order. ``late``: profiles that had their turn already, and by how much
        more: theirs go when no others are active.
        """
        self.tick(now)
        entry = self._next(early, full, late) if not self.behind or self._slices > PATIENCE else None
        while entry is not None and not self._taken(entry, now):
            entry = self._next(early, full, late)
        return entry

    def hurry(self, entry: Entry) -> None:
        """A pod in flight is to go ahead of everybody when it is back, after a first fault without any backoff."""
        entry.urgent = True

    def done(self, uid: str) -> None:
        """An attempt ended with the pod bound or out of our hands. Calling it again changes nothing."""
        entry = self._all.entries.get(uid)
        if entry is not None and entry.place is Place.IN_FLIGHT:
            self._move(entry, None, "")

    def serves(self, scheduler_name: str) -> bool:
        """Whether pods of this profile are handed out; else they are held."""
        return scheduler_name in self._profiles.views

    def requeue(self, entry: Entry, rejectors: frozenset[str], now: float, pending: bool = False) -> None:
        """An attempt failed: refused by these plugins (``pending``: by PENDING), or by a fault when there are none.

        Ignored when the pod was removed meanwhile. Raises IllegalMove when it is not in flight.
        """
        if entry.place is None:
            return
        if entry.place is not Place.IN_FLIGHT:
            raise IllegalMove(f"pod {key(entry.pod)} is {entry.place.value}, it has no attempt that could have failed")
        missed = self._in_flight.missed(entry)
        entry.queued_at, entry.backoff_until = now, UNSETTLED
        entry.rejectors = rejectors
        entry.pending = pending and bool(rejectors)
        entry.unschedulable_count += bool(rejectors)
        entry.error_count = 0 if rejectors else entry.error_count + 1
        if entry.scheduler_name not in self._profiles.views:
            self._move(entry, Place.HELD, FAILURE)
        elif self.groups.shut(entry) or not rejectors or missed is None or any(self._profiles.frees(event, entry) for event in missed):
            self._admit(entry, FAILURE, now)
        else:
            self._move(entry, Place.UNSCHEDULABLE, FAILURE)

    def backoff_end(self, entry: Entry) -> float:
        """When the backoff of the entry's last attempt is over; its profile may be gone, and then it is over already."""
        view = self._profiles.views.get(entry.scheduler_name)
        return entry.queued_at if view is None else backoff_end(entry, view)

    # ---- what frees pods ---------------------------------------------------------------------------------------------------

    def wake(self, event: ClusterEvent, now: float) -> int:
        """Something changed in the cluster: move the pods that it may free, or the first of them. Returns how many moved."""
        self._in_flight.note(event)
        for parked in (self._gated, self._unschedulable):
            for scheduler_name, plugin, _ in parked.blocking():
                wakes = self._profiles.registered(scheduler_name, plugin, event)
                if wakes:
                    label = event.label
                    for alike, which in self._profiles.freed(wakes, plugin, event, parked.blocked_by(scheduler_name, plugin)):
                        self._freed.append((parked, parked.free(alike, which), label))
        return 0 if self.behind else self._move_some(self._freed_go_on(now))

    def retry(self, uid: str, now: float) -> bool:
        """What this refused pod was promised, or waits for, is another: try it again. Returns whether it moved."""
        entry = self._all.entries.get(uid)
        if entry is not None and entry.place is Place.IN_FLIGHT:
            self._in_flight.forget(entry)
        return entry is not None and entry.place is Place.UNSCHEDULABLE and self._admit(entry, PROMISE, now)

    def wake_profile(self, scheduler_name: str, plugins: Collection[str], now: float) -> int:
        """A swap changed these plugins: move the pods that one of them had refused, or the first of them. Returns how many moved.

        Gated pods are no matter of this: ``set_profile`` has asked the new preEnqueue plugins already.
        """
        for entry in self._in_flight:
            if entry.scheduler_name == scheduler_name:
                self._in_flight.forget(entry)
        for plugin in sorted(plugins):
            for alike in list(self._unschedulable.blocked_by(scheduler_name, plugin).groups.values()):
                self._freed.append((self._unschedulable, self._unschedulable.free(alike, alike.entries), SWAP))
        return 0 if self.behind else self._move_some(self._freed_go_on(now))

    def set_profile(self, scheduler_name: str, view: ProfileView | None, now: float) -> None:
        """What is live under this name from now on. None: nothing is, or it is suspended, and its pods are held.

        Pods that a changed plugin had refused are not moved by this: ``wake_profile`` does that.
        """
        old = self._profiles.views.pop(scheduler_name, None)
        if view is not None:
            self._profiles.views[scheduler_name] = view
            if old is not None and old.pre_enqueue == view.pre_enqueue:
                return
        for entry in list(self.entries(scheduler_name)):
            if entry.place is Place.IN_FLIGHT:
                self._in_flight.forget(entry)
            elif view is None and entry.place is not Place.HELD:
                self._move(entry, Place.HELD, SWAP)
            elif view is not None and entry.place is not Place.UNSCHEDULABLE:
                self._admit(entry, SWAP, now)

    def tick(self, now: float) -> int:
        """Move the pods whose backoff is over, that were refused too long ago, or whose group has turned. Returns how many."""
        moved = self._move_some(itertools.chain(self._freed_go_on(now), self._due_go_on(now)))
        if self.groups.dirty:
            for group in self.groups.turned(now):
                for entry in list(group.waiting.values()):
                    with self._sure(entry):
                        moved += self._admit(entry, GROUP, now)
        return moved

    def next_deadline(self, now: float) -> float | None:
        """When ``tick`` will have something to do, not before ``now``; None when only events can make it so."""
        due = [now] if self.behind else []
        if (waiting := self._backoff.first()) is not None:
            due.append(waiting.backoff_until)
        if (parked := self._unschedulable.first()) is not None:
            due.append(self._flush_at(parked))
        if (failed := self._gates.failed.first()) is not None:
            due.append(failed.ask_again)
        return max(now, min(due)) if due else None

    # ---- looking -----------------------------------------------------------------------------------------------------------

    def get(self, uid: str) -> Entry | None:
        """The entry of a pod, if it is here."""
        return self._all.entries.get(uid)

    def entries(self, scheduler_name: str | None = None) -> Iterator[Entry]:
        """The entries of a profile, or all, in the order in which they came. Not to be moved while this runs."""
        roster = self._all if scheduler_name is None else self._rosters.get(scheduler_name, _EMPTY)
        return iter(roster.entries.values())

    def held(self, scheduler_name: str) -> Iterator[Pod]:
        """The pods that wait for this profile to be there."""
        return (entry.pod for entry in self.entries(scheduler_name) if entry.place is Place.HELD)

    def counts(self, scheduler_name: str) -> Counts:
        """How many pods of a profile are where."""
        return self._rosters.get(scheduler_name, _EMPTY).counts()

    def totals(self) -> Counts:
        """How many pods are where."""
        return self._all.counts()

    def in_flight(self) -> dict[str, int]:
        """Events that are kept for pods in flight, by label, and those pods (PodPopped)."""
        return self._in_flight.counts()

    def refusals(self) -> list[tuple[str, str, int]]:
        """(scheduler name, plugin, how many unschedulable pods it refused), for those that refused any."""
        return self._unschedulable.blocking()

    def gates(self) -> dict[str, int]:
        """How many pods wait at which gate: their own, or another preEnqueue plugin."""
        return self._gates.counts()

    # ---- inside ------------------------------------------------------------------------------------------------------------

    def _move_some(self, moves: Iterator[bool]) -> int:
        """Carry out moves, as many as take a few milliseconds, and note whether there are more. Returns how many did move."""
        moved, self.behind = 0, False
        for done, has_moved in enumerate(moves, 1):
            moved += has_moved
            if done == self.slice:
                self.behind = True
                break
        self._slices = self._slices + 1 if self.behind else 0
        return moved

    def _freed_go_on(self, now: float) -> Iterator[bool]:
        """Move freed pods one by one; a gate may still be shut for some."""
        while self._freed:
            parked, alike, label = self._freed[0]
            entry = next(iter(alike.entries.values()), None)
            if entry is None:
                self._freed.popleft()
                continue
            has_moved = False
            with self._sure(entry):
                has_moved = self._admit(entry, label, now)
                if not has_moved:
                    parked.stays(entry)
            yield has_moved

    def _due_go_on(self, now: float) -> Iterator[bool]:
        """Move the pods whose backoff is over, those that were refused too long ago, and those that a gate failed on, one by one."""
        while (entry := self._backoff.first()) is not None and entry.backoff_until <= now:
            with self._sure(entry):
                self._move(entry, Place.ACTIVE, BACKOFF_OVER)
            yield True
        while (entry := self._unschedulable.first()) is not None and self._flush_at(entry) <= now:
            with self._sure(entry):
                self._admit(entry, TIMEOUT, now)
            yield True
        while (entry := self._gates.failed.first()) is not None and entry.ask_again <= now:
            with self._sure(entry):
                self._admit(entry, BACKOFF_OVER, now)
            yield True

    def _admit(self, entry: Entry, event: str, now: float) -> bool:
        """Let a pod go on as far as it may: past the gates, past its backoff. Returns whether it moved."""
        gate = self._profiles.closed_gate(entry, now) or self.groups.shut(entry)
        if entry.backoff_until == UNSETTLED:
            entry.backoff_until = backoff_end(entry, self._profiles.views[entry.scheduler_name])
        at_once = entry.pending or (entry.urgent and entry.error_count == 1)
        ready = Place.BACKOFF if entry.backoff_until > now and not at_once else Place.ACTIVE
        to = Place.GATED if gate else ready
        if to is entry.place and gate == entry.gate:
            self._gates.note(entry)
            return False
        if not gate:
            entry.first_queued_at = min(entry.first_queued_at, now)
        self._move(entry, to, event, gate)
        return True

    def _next(self, early: bool, full: Collection[str], late: Mapping[str, float]) -> Entry | None:
        """The pod whose turn it is."""
        return self._active.first(full, late) or (self._backoff.first_refused(full) if early else None)

    def _taken(self, entry: Entry, now: float) -> bool:
        """Take a pod in flight with its companions, if its group may be placed now."""
        taken = False
        with self._sure(entry):
            if entry.group and not self._assembled(entry, now):
                return False
            companions = self.groups.companions(entry) if entry.group else []
            companions.sort(key=lambda other: self.sort(other.pod, other.queued_at))
            if entry.place is Place.BACKOFF:
                self._observe(Place.ACTIVE.value, EARLY)
            taken = self._begun(entry)
            if taken:
                entry.companions = tuple(other for other in companions if self._begun(other))
        return taken

    def _begun(self, entry: Entry) -> bool:
        """Take a pod in flight. Whether it could be."""
        with self._sure(entry):
            self._move(entry, Place.IN_FLIGHT, "")
            entry.attempts += 1
            entry.urgent = False
        return entry.place is Place.IN_FLIGHT

    def _sure(self, entry: Entry) -> Catching:
        """A pod whose move raises is taken out and reported, so that nobody waits behind it; it may be added again."""
        return Catching(Exception, self._taken_out, entry)

    def _taken_out(self, error: Exception, entry: Entry) -> None:
        for queue in self._queues.values():
            queue.discard(entry)
        entry.place = None
        self._noted(entry)
        self._report(QUEUE, entry.pod, error)

    def _assembled(self, entry: Entry, now: float) -> bool:
        """Whether a member's group may be placed now: plugins may have shut a gate since some of its members were refused."""
        for other in self.groups.companions(entry):
            if other.place is Place.UNSCHEDULABLE and self._profiles.closed_gate(other, now):
                self._admit(other, GROUP, now)
        self.tick(now)
        return entry.place is not Place.GATED

    def _renew(self, entry: Entry, pod: Pod, now: float) -> None:
        """Take a pod's newest state, which may have another group or say something else about its own."""
        group = group_of(pod)
        if not group and not entry.group:
            entry.pod = pod
            return
        if entry.group:
            self.groups.left(entry)
        entry.pod, entry.group = pod, group
        if group:
            self.groups.moved(entry)
        if entry.place in READY if self.groups.shut(entry) else entry.gate == GATE:
            self._admit(entry, GROUP, now)

    def _move(self, entry: Entry, to: Place | None, event: str, gate: str = "") -> None:
        """The only way from one place to another."""
        origin = entry.place
        if to not in MOVES[origin]:
            raise IllegalMove(f"pod {key(entry.pod)} cannot go from {origin} to {to}")
        if origin in self._queues:
            self._queues[origin].discard(entry)
        entry.place, entry.gate = to, gate  # only now: what holds the pod finds it by its gate
        if to in self._queues:
            self._queues[to].add(entry)
        self._noted(entry)
        if to is not None and to is not Place.IN_FLIGHT:
            self._observe(to.value, event)

    def _noted(self, entry: Entry) -> None:
        """Whoever keeps count of where pods are is told."""
        roster = self._rosters[entry.scheduler_name]
        roster.moved(entry)
        self._all.moved(entry)
        self._gates.note(entry)
        if entry.group:
            self.groups.moved(entry)
        if not roster.entries:
            del self._rosters[entry.scheduler_name]

    def _flush_at(self, entry: Entry) -> float:
        return entry.queued_at + self._max_unschedulable


_EMPTY = Roster()
