"""The backlog: every pod that waits for a node is here, in exactly one place, until it is bound or gone.

==============  ===========================  ==============================================================================
from            to                           when
==============  ===========================  ==============================================================================
outside         active                       a pod comes and every preEnqueue plugin lets it in
outside         gated                        … and one does not
outside         held                         … and its profile is unknown or suspended
active          in flight                    its turn (``pop``)
backoff         active                       its backoff is over (``tick``)
backoff         in flight                    nobody is active, and it was refused, not failed (``pop``)
in flight       unschedulable                refused, and nothing happened meanwhile that could free it (``requeue``)
in flight       backoff, active              it failed by a fault; or refused, but freed meanwhile
unschedulable   backoff, active              an event or a swap may free it; its own update does; or it was there for too long
gated           active, backoff              likewise, and every preEnqueue plugin lets it in
active,         gated                        a swap changed the preEnqueue plugins and one does not let it in (``set_profile``);
backoff                                      or one shut in the meantime
unschedulable,
in flight
gated           gated                        another plugin gates it now
all but held,   held                         its profile goes or is suspended (``set_profile``)
in flight
in flight       held                         … and then its attempt failed
held            active, backoff, gated       its profile is there again
anywhere        outside                      the pod is gone or has a node (``remove``); its binding succeeded (``done``)
==============  ===========================  ==============================================================================

Going on from a refusal or a fault means active if the backoff is over, else backoff. Everything costs O(log n) of the pods it
moves, plus one question per pod to the hint of a plugin that both refused the pod and registered for the event.

Pure: ``now`` is an argument, in seconds of any clock that does not go back. One thread calls it.
Source of the behaviour: kube-scheduler's scheduling queue (v1.36), scheduler-core.md §4 in words of our own. Different on purpose:
a pod that was updated, or whose profile was swapped, during its attempt is simply tried again if it was refused; exact expiry of a
backoff ends it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Protocol

from moorage.core.backlog.active import ActiveQueue
from moorage.core.backlog.backoff import BackoffQueue, backoff_end
from moorage.core.backlog.entries import UNSETTLED, Counts, Entry, Place, Sort
from moorage.core.backlog.in_flight import InFlight
from moorage.core.backlog.parked import ParkedPods
from moorage.core.backlog.profile_views import LiveProfiles, ProfileView, Report
from moorage.core.backlog.rosters import Roster
from moorage.core.cluster_events import Action, ClusterEvent, Resource
from moorage.core.columns.store import Objects
from moorage.core.object_changes import pod_changes
from moorage.core.objects import Pod, key

MAX_UNSCHEDULABLE = 300.0
"""Seconds after which a refused pod is tried again without any event, in case one was missed."""

ARRIVAL = ClusterEvent(Resource.UNSCHEDULED_POD, Action.ADD).label
FAILURE = "ScheduleAttemptFailure"
BACKOFF_OVER = "BackoffComplete"
EARLY = "PopFromBackoffQ"
TIMEOUT = "UnschedulableTimeout"
SWAP = ClusterEvent(Resource.PROFILE, Action.UPDATE).label
PROMISE = "NominationChanged"
GROUP = "PodGroupTurned"

_A, _B, _U, _G, _F, _H = Place.ACTIVE, Place.BACKOFF, Place.UNSCHEDULABLE, Place.GATED, Place.IN_FLIGHT, Place.HELD
MOVES: Mapping[Place | None, tuple[Place | None, ...]] = {
    None: (_A, _G, _H),
    _A: (_F, _G, _H, None),
    _B: (_A, _F, _G, _H, None),
    _U: (_A, _B, _G, _H, None),
    _G: (_A, _B, _G, _H, None),
    _F: (_A, _B, _U, _G, _H, None),
    _H: (_A, _B, _G, None),
}
"""The table above: from each place (None: outside), where a pod can go."""


class IllegalMove(RuntimeError):
    """The caller asked for a move that is not in the table; nothing has changed."""


class Queue(Protocol):
    """What holds the pods of one place."""

    def add(self, entry: Entry) -> None:
        """Put a pod in."""

    def discard(self, entry: Entry) -> None:
        """Take a pod out that is in."""


class Backlog:
    """See the module's docstring.

    ``sort`` orders the queue for all profiles. ``store`` is what plugins look at beside the pod. ``observe(queue, event label)`` is
    called for each pod that comes into a queue, ``report(plugin, pod, error)`` for a plugin that fails: a hint that fails counts
    as yes, a preEnqueue plugin that fails gates the pod.
    """

    def __init__(
        self,
        sort: Sort,
        store: Objects,
        observe: Callable[[str, str], None],
        report: Report,
        max_unschedulable: float = MAX_UNSCHEDULABLE,
    ) -> None:
        self._observe = observe
        self._max_unschedulable = max_unschedulable
        self._profiles = LiveProfiles(store, report)
        self._all = Roster()
        self._rosters: defaultdict[str, Roster] = defaultdict(Roster)
        self._active = ActiveQueue(sort)
        self._backoff = BackoffQueue(sort)
        self._unschedulable = ParkedPods()
        self._gated = ParkedPods()
        self._in_flight = InFlight()
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
        entry = Entry(pod, pod.spec.scheduler_name, queued_at=now)
        if entry.scheduler_name in self._profiles.views:
            self._admit(entry, ARRIVAL, now)
        else:
            self._move(entry, Place.HELD, ARRIVAL)

    def update(self, pod: Pod, now: float) -> None:
        """A new state of a pod that is here, which may free it. Raises KeyError when it is not here."""
        entry = self._all.entries[pod.metadata.uid]
        events = pod_changes(entry.pod, pod)
        entry.pod = pod
        if entry.place in (Place.ACTIVE, Place.BACKOFF):
            self._queues[entry.place].add(entry)
        elif entry.place is Place.IN_FLIGHT and self._profiles.concerned(entry, events):
            self._in_flight.forget(entry)
        elif entry.place in (Place.UNSCHEDULABLE, Place.GATED):
            for event in events:
                if self._profiles.frees(event, entry) and self._admit(entry, event.label, now):
                    break

    def remove(self, uid: str) -> None:
        """A pod is gone or has a node; unknown ones are ignored. If it is in flight, its ``requeue`` will do nothing."""
        entry = self._all.entries.get(uid)
        if entry is not None:
            self._move(entry, None, "")

    # ---- attempts ----------------------------------------------------------------------------------------------------------

    def pop(self, now: float, early: bool = True) -> Entry | None:
        """The pod whose turn it is, now in flight; None when nobody is ready.

        ``early``: when nobody is active, a refused pod may be tried before its backoff is over.
        """
        self.tick(now)
        entry = self._active.first()
        if entry is None and early and (entry := self._backoff.first_refused()) is not None:
            self._observe(Place.ACTIVE.value, EARLY)
        if entry is not None:
            self._move(entry, Place.IN_FLIGHT, "")
            entry.attempts += 1
        return entry

    def done(self, uid: str) -> None:
        """An attempt ended with the pod bound or out of our hands. Calling it again changes nothing."""
        entry = self._all.entries.get(uid)
        if entry is not None and entry.place is Place.IN_FLIGHT:
            self._move(entry, None, "")

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
        elif not rejectors or missed is None or any(self._profiles.frees(event, entry) for event in missed):
            self._admit(entry, FAILURE, now)
        else:
            self._move(entry, Place.UNSCHEDULABLE, FAILURE)

    # ---- what frees pods ---------------------------------------------------------------------------------------------------

    def wake(self, event: ClusterEvent, now: float) -> int:
        """Something changed in the cluster: move the pods that it may free. Returns how many."""
        self._in_flight.note(event)
        moved = 0
        for parked in (self._gated, self._unschedulable):  # in this order, as the refused may become gated
            for scheduler_name, plugin, _ in parked.blocking():
                wakes = self._profiles.registered(scheduler_name, plugin, event)
                if wakes:
                    label = event.label
                    for entry in parked.blocked_by(scheduler_name, plugin):
                        if self._profiles.hinted(wakes, plugin, event, entry):
                            moved += self._admit(entry, label, now)
        return moved

    def retry(self, uid: str, now: float) -> bool:
        """What this refused pod was promised, or waits for, is another: try it again. Returns whether it moved."""
        entry = self._all.entries.get(uid)
        if entry is not None and entry.place is Place.IN_FLIGHT:
            self._in_flight.forget(entry)
        return entry is not None and entry.place is Place.UNSCHEDULABLE and self._admit(entry, PROMISE, now)

    def wake_profile(self, scheduler_name: str, plugins: Collection[str], now: float) -> int:
        """A swap changed these plugins: move the pods that one of them had refused. Returns how many.

        Gated pods are no matter of this: ``set_profile`` has asked the new preEnqueue plugins already.
        """
        for entry in self._in_flight:
            if entry.scheduler_name == scheduler_name:
                self._in_flight.forget(entry)
        moved = 0
        for plugin in sorted(plugins):
            for entry in self._unschedulable.blocked_by(scheduler_name, plugin):
                moved += self._admit(entry, SWAP, now)
        return moved

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
        """Move the pods whose backoff is over, or that were refused too long ago. Returns how many."""
        moved = 0
        while (entry := self._backoff.first()) is not None and entry.backoff_until <= now:
            self._move(entry, Place.ACTIVE, BACKOFF_OVER)
            moved += 1
        while (entry := self._unschedulable.first()) is not None and self._flush_at(entry) <= now:
            self._admit(entry, TIMEOUT, now)
            moved += 1
        return moved

    def next_deadline(self, now: float) -> float | None:
        """When ``tick`` will have something to do, not before ``now``; None when only events can make it so."""
        due = []
        if (waiting := self._backoff.first()) is not None:
            due.append(waiting.backoff_until)
        if (parked := self._unschedulable.first()) is not None:
            due.append(self._flush_at(parked))
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

    def refusals(self) -> list[tuple[str, str, int]]:
        """(scheduler name, plugin, how many unschedulable pods it refused), for those that refused any."""
        return self._unschedulable.blocking()

    def gates(self) -> dict[str, int]:
        """How many pods each preEnqueue plugin gates."""
        counts: dict[str, int] = {}
        for _, plugin, count in self._gated.blocking():
            counts[plugin] = counts.get(plugin, 0) + count
        return counts

    # ---- inside ------------------------------------------------------------------------------------------------------------

    def _admit(self, entry: Entry, event: str, now: float) -> bool:
        """Let a pod go on as far as it may: past the gates, past its backoff. Returns whether it moved."""
        gate = self._profiles.closed_gate(entry)
        if entry.backoff_until == UNSETTLED:
            entry.backoff_until = backoff_end(entry, self._profiles.views[entry.scheduler_name])
        ready = Place.BACKOFF if entry.backoff_until > now and not entry.pending else Place.ACTIVE
        to = Place.GATED if gate else ready
        if to is entry.place and gate == entry.gate:
            return False
        if not gate:
            entry.first_queued_at = min(entry.first_queued_at, now)
        self._move(entry, to, event, gate)
        return True

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
        roster = self._rosters[entry.scheduler_name]
        roster.moved(entry, origin)
        self._all.moved(entry, origin)
        if not roster.entries:
            del self._rosters[entry.scheduler_name]
        if to is not None and to is not Place.IN_FLIGHT:
            self._observe(to.value, event)

    def _flush_at(self, entry: Entry) -> float:
        return entry.queued_at + self._max_unschedulable


_EMPTY = Roster()
