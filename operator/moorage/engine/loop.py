"""The loop: takes the next pod, decides, hands over, and again.

Decisions are made one after another on the event loop's thread; between slices of a few milliseconds the loop lets watches and
bindings have their turn. A pod is decided by the revision that is live at that moment and keeps it to the end of its binding.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from moorage.core import cycle, gangs
from moorage.core.backlog.backlog import Backlog
from moorage.core.backlog.entries import Entry
from moorage.core.extending import asked
from moorage.core.framework.extenders import EXTENDER
from moorage.core.framework.profiles import Revision
from moorage.core.objects import Pod, key
from moorage.core.scheduler import Diagnosis, Placement, Scheduler
from moorage.core.verdicts import Code
from moorage.engine.extending import Extending
from moorage.engine.failures import broken, pod_object
from moorage.engine.handover import Handover
from moorage.engine.surroundings import Surroundings
from moorage.ports.surroundings import Event

ALONE = "extenders can only be asked about pods that are placed one by one, not about a pod group"
SLICE = 0.004
"""Seconds of deciding before others get their turn."""


class Loop:
    """See the module's docstring. ``live`` maps a schedulerName to the revision that decides; swapping writes it."""

    def __init__(self, scheduler: Scheduler, backlog: Backlog, around: Surroundings, handover: Handover) -> None:
        self.live: dict[str, Revision] = {}
        self.deciding = False
        """Whether this replica leads and may decide; set once it may, cleared for good when it stops."""
        self.scheduler = scheduler
        self.backlog = backlog
        self.handover = handover
        self.binder = handover.binder
        self.extending = Extending(scheduler, backlog, around, self)
        self._clock = around.clock
        self._events = around.events
        self._writes = around.writes
        self._work = asyncio.Event()

    def poke(self) -> None:
        """There may be something to do."""
        self._work.set()

    async def run(self) -> None:
        """Decide until cancelled."""
        while True:
            # 1. Wait for the right to decide, and for a pod whose profile has room for another binding.
            entry = self.backlog.pop(self._clock.boottime(), full=self.binder.full) if self._may_decide else None
            if entry is None and self._may_decide and self.backlog.behind:
                await asyncio.sleep(0)
                continue
            if entry is None:
                self._work.clear()
                await self._work.wait()
                continue

            # 2. Decide a slice of pods, one by one, then let the others run.
            until = self._clock.boottime() + SLICE
            while entry is not None:
                self.attempt(entry)
                more = self.deciding and self._clock.boottime() < until
                entry = self.backlog.pop(self._clock.boottime(), full=self.binder.full) if more else None
            await asyncio.sleep(0)

    def attempt(self, entry: Entry) -> None:
        """One scheduling attempt: a pod that is going is let go, a group is placed together, extenders are asked, or it is decided."""
        started = self._clock.boottime()
        pod, revision = entry.pod, self.live[entry.scheduler_name]
        if pod.metadata.deletion_timestamp is not None:
            self._skip(entry)
        elif entry.companions:
            self._attempt_together(entry, revision, started)
        elif not (revision.extenders and self.extending.takes(entry, revision)):
            outcome = _tried(pod, revision, lambda: self._committed(cycle.decide(pod, revision, self.scheduler)))
            self.handover.conclude(entry, outcome, started)

    def attempt_again(self, entry: Entry) -> None:
        """A pod that waited until there was room to ask extenders about it has its turn."""
        if entry.scheduler_name in self.live and self._may_decide:
            self.attempt(entry)
        else:
            self.backlog.requeue(entry, frozenset(), self._clock.boottime())

    def extended(self, entry: Entry, outcome: Placement | Diagnosis | None, started: float) -> None:
        """Extenders have had their say; None: the pod is gone, is going, or has a node."""
        if outcome is None:
            self.backlog.done(entry.uid)
        elif not self._may_decide:
            self.backlog.requeue(entry, frozenset(), self._clock.boottime())
        else:
            committed = _tried(outcome.pod, outcome.revision, lambda: self._committed(outcome))
            self.handover.conclude(entry, committed, started)

    def recall(self, scheduler_name: str, why: str) -> None:
        """What is under way for this profile's pods is broken off, as far as it can be."""
        self.extending.recall(scheduler_name, why)
        self.binder.recall(scheduler_name, why)

    def gone(self, uid: str) -> None:
        """The pod is gone, is going, or has a node: what is under way for it is broken off, as far as it can be."""
        self.extending.gone(uid)
        self.binder.gone(uid)

    def draining(self, revision: Revision) -> int:
        """How many pods are on their way by this revision."""
        return self.extending.draining(revision) + self.binder.draining(revision)

    def ours(self, scheduler_name: str) -> bool:
        """Whether such pods are for us to place and to write to."""
        return self.deciding and scheduler_name in self.live

    async def settle(self, seconds: float) -> None:
        """Decide no more; wait, at most so long, for what is under way."""
        self.deciding = False
        await self.extending.settle()
        await self.handover.settle(seconds)

    # ---- inside ------------------------------------------------------------------------------------------------------------

    @property
    def _may_decide(self) -> bool:
        """Without the right to write binding would be in vain."""
        return self.deciding and self._writes.open

    def _attempt_together(self, entry: Entry, revision: Revision, started: float) -> None:
        """One attempt of a whole pod group: each of its members is handed over, or goes back."""

        def place(pod: Pod) -> Placement | Diagnosis:
            if revision.extenders and asked(pod, revision):
                return Diagnosis(pod, revision, Code.UNRESOLVABLE, ALONE, frozenset({EXTENDER}))
            return _tried(pod, revision, lambda: gangs.place(pod, revision, self.scheduler))

        outcomes = self.handover.gangs.attempt(entry, place)
        share = (self._clock.boottime() - started) / len(outcomes)
        for member, outcome in outcomes:
            self.handover.conclude(member, outcome, self._clock.boottime() - share)

    def _committed(self, outcome: Placement | Diagnosis) -> Placement | Diagnosis:
        return cycle.commit(outcome, self.scheduler) if isinstance(outcome, Placement) else outcome

    def _skip(self, entry: Entry) -> None:
        """A pod that is being deleted is not placed any more; the watch takes it out."""
        self.backlog.done(entry.uid)
        regarding, note = pod_object(entry.pod), f"skip schedule deleting pod: {key(entry.pod)}"
        self._events.emit(Event(regarding, "FailedScheduling", note, "Scheduling", controller=entry.scheduler_name, warning=True))


def _tried(pod: Pod, revision: Revision, step: Callable[[], Placement | Diagnosis]) -> Placement | Diagnosis:
    """What the step gives. A plugin's bug fails this pod's attempt, never the process."""
    try:
        return step()
    except Exception as error:  # noqa: BLE001  # it is logged, and is the pod's outcome
        return broken(pod, revision, error)
