"""The loop: takes the next pod, decides, hands over, and again.

Decisions are made one after another on the event loop's thread; between slices of a few milliseconds the loop lets watches and
bindings have their turn. A pod is decided by the revision that is live at that moment and keeps it to the end of its binding.

An attempt that takes longer than its slice is set down; it goes on when others have had as long a turn, with what is kept of it. A
pod is then decided from the start; of a group what is placed stays placed. Each profile has one group at a time that is being placed.
Those of several profiles are placed side by side, and see what each other's members take. So that two of them cannot keep each other
out for ever, the one that was begun first goes first: when one of its members fits nowhere, those begun later are taken back and begin
anew, and that member is tried again.
"""

from __future__ import annotations

import asyncio
import dataclasses
import itertools
from collections import deque
from collections.abc import Callable, Generator

from moorage.core.cycle import cycle, gang_cycle
from moorage.core.cycle.context import Diagnosis, Placement, Scheduler
from moorage.core.cycle.extender_cycle import asked
from moorage.core.framework.extenders import EXTENDER
from moorage.core.framework.revisions import Revision
from moorage.core.framework.status import REFUSALS, Code
from moorage.core.objects.meta import key
from moorage.core.objects.pods import Pod
from moorage.core.queue.queued_pod import Entry, Place
from moorage.core.queue.scheduling_queue import Backlog
from moorage.core.structures.budget import OutOfTime
from moorage.engine.reports.pod_conditions import broken, pod_object
from moorage.engine.scheduling.extender_cycles import Extending
from moorage.engine.scheduling.gang_scheduler import Member
from moorage.engine.scheduling.outcomes import Handover
from moorage.engine.scheduling.slices import MOST, TOO_LONG
from moorage.engine.scheduling.turns import Turns
from moorage.ports.bundle import Surroundings
from moorage.ports.event_recorder import Event
from moorage.ports.guards import FAULTS, guard

ALONE = "extenders can only be asked about pods that are placed one by one, not about a pod group"
SLICE = 0.004
"""Seconds of deciding before others get their turn."""


@dataclasses.dataclass(slots=True, eq=False)
class Attempt:
    """An attempt that is under way. ``spent``: seconds of its own time. ``placing``: what is placed of a group so far."""

    entry: Entry
    started: float
    spent: float = 0.0
    placing: Generator[bool, bool | None, list[Member]] | None = None
    alone: bool = False
    """Whether groups that were begun later have been taken back, and wait until the member that is being placed is."""
    in_vain: bool = False
    """Whether that has helped nobody: it is not done again."""


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
        self._budget = scheduler.snapshot.budget
        self._work = asyncio.Event()
        self._turns = Turns()
        self._set_down: deque[Attempt] = deque()
        """Attempts that took longer than their slice."""
        self._next_turn = 0.0
        """When the first of them may go on although others are ready."""
        self._groups: dict[str, Attempt] = {}
        """By schedulerName, the group of which some members may be placed, or handed over, and others not yet; who began first is first."""
        self._misled: list[str] = []
        """Pods (UIDs) that were refused meanwhile, perhaps for the room that one of these may give back."""
        self._ending: deque[tuple[Entry, Placement | Diagnosis, float]] = deque()
        """Members of these that were decided about and are to be handed over, and how long it took."""

    def poke(self) -> None:
        """There may be something to do."""
        self._work.set()

    async def run(self) -> None:
        """Decide until cancelled."""
        while True:
            # 1. Whom was decided about in a group is handed over, and what was set down goes on, in its turn.
            if self._ending or (self._set_down and self._may_decide and self._clock.boottime() >= self._next_turn):
                self._go_on()
                await asyncio.sleep(0)

            # 2. Wait for the right to decide, and for a pod whose profile has room for another binding.
            entry = self._next()
            if entry is None and self._may_decide and (self.backlog.behind or self._ending or self._set_down):
                self._next_turn = 0.0
                await asyncio.sleep(0)
                continue
            if entry is None:
                self._work.clear()
                await self._work.wait()
                continue

            # 3. Decide a slice of pods, one by one, then let the others run.
            until = self._clock.boottime() + SLICE
            while entry is not None:
                self.attempt(entry)
                more = self.deciding and self._clock.boottime() < until
                entry = self._next() if more else None
            await asyncio.sleep(0)

    def attempt(self, entry: Entry) -> None:
        """One scheduling attempt: a pod that is going is let go, a group is placed together, extenders are asked, or it is decided.

        A bug in it fails this pod, and its group, and nobody else.
        """
        self._take_up(Attempt(entry, self._clock.boottime()))

    def attempt_again(self, entry: Entry) -> None:
        """A pod that waited until there was room to ask extenders about it has its turn."""
        if entry.scheduler_name in self.live and self._may_decide:
            self.attempt(entry)
        else:
            self.backlog.requeue(entry, frozenset(), self._clock.boottime())

    def extended(self, entry: Entry, outcome: Placement | Diagnosis | None, started: float) -> None:
        """Extenders have had their say; None: the pod is gone, is going, or has a node."""
        with self.handover.sure(entry):
            if outcome is None:
                self.backlog.done(entry.uid)
            elif not self._may_decide:
                self.backlog.requeue(entry, frozenset(), self._clock.boottime())
            else:
                committed = _tried(outcome.pod, outcome.revision, lambda: self._committed(outcome))
                self._conclude(entry, committed, started)

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
        ending = sum(outcome.revision is revision for _, outcome, _ in self._ending)
        return self.extending.draining(revision) + self.binder.draining(revision) + ending

    def ours(self, scheduler_name: str) -> bool:
        """Whether such pods are for us to place and to write to."""
        return self.deciding and scheduler_name in self.live

    async def settle(self, seconds: float) -> None:
        """Decide no more; wait, at most so long, for what is under way."""
        self.deciding = False
        for attempt in self._groups.values():
            _taken_back(attempt)
        await self.extending.settle()
        await self.handover.settle(seconds)

    # ---- inside ------------------------------------------------------------------------------------------------------------

    @property
    def _may_decide(self) -> bool:
        """Without the right to write binding would be in vain."""
        return self.deciding and self._writes.open

    def _next(self) -> Entry | None:
        """The pod whose turn it is."""
        if not self._may_decide:
            return None
        entry = None
        with guard("taking the next pod from the queue"):
            entry = self.backlog.pop(self._clock.boottime(), full=self.binder.full, late=self._turns.late)
            if entry is not None:
                self._turns.begins(entry.scheduler_name)
        return entry

    # ---- in slices ---------------------------------------------------------------------------------------------------------

    def _go_on(self) -> None:
        """A slice for what was begun: members to be handed over first, then an attempt of a profile whose turn it is."""
        if self._ending:
            self._hand_over()
            return
        began = self._clock.boottime()
        attempt = min(self._set_down, key=self._waits)
        self._set_down.remove(attempt)
        self._take_up(attempt)
        self._next_turn = 2 * self._clock.boottime() - began

    def _waits(self, attempt: Attempt) -> tuple[bool, float]:
        """Who is first goes on first. A group that has to wait for another one would only take the turns of that one."""
        waits_for_group = bool(attempt.entry.companions) and attempt.placing is None and self._must_wait(attempt)
        return waits_for_group, self._turns.late.get(attempt.entry.scheduler_name, 0.0)

    def _take_up(self, attempt: Attempt) -> None:
        """Work on it for a slice; what is not finished by then is set down."""
        began = self._clock.boottime()
        try:
            self._budget.slice = self._turns.slice
            with self._budget, self.handover.sure(attempt.entry, *attempt.entry.companions):
                self._work_on(attempt)
        except OutOfTime:
            attempt.spent += self._clock.boottime() - began
            self._set_down.append(attempt)
        else:
            if self._groups.get(attempt.entry.scheduler_name) is attempt:
                self._end_group(attempt.entry.scheduler_name)
        with guard("counting a profile's turn"):
            self._turns.used(attempt.entry.scheduler_name, self._clock.boottime() - began)

    def _work_on(self, attempt: Attempt) -> None:
        """Bring an attempt to its end. Raises OutOfTime."""
        entry = attempt.entry
        revision = self._deciding_for(entry.scheduler_name)
        if attempt.placing is not None:
            self._place(attempt)
        elif revision is None or entry.place is not Place.IN_FLIGHT or self._is_of_group(attempt):
            self._let_go(entry)
        elif entry.pod.metadata.deletion_timestamp is not None:
            self._skip(entry)
        elif entry.companions:
            self._begin_group(attempt, revision)
        elif not (revision.extenders and self.extending.takes(entry, revision)):
            self._conclude(entry, self._decided(attempt, revision), attempt.started)

    def _decided(self, attempt: Attempt, revision: Revision) -> Placement | Diagnosis:
        """What becomes of a single pod. Raises OutOfTime, but not for ever."""
        pod = attempt.entry.pod
        try:
            return _tried(pod, revision, lambda: self._committed(cycle.decide(pod, revision, self.scheduler)))
        except OutOfTime:
            if attempt.spent < MOST:
                raise
            return Diagnosis(pod, revision, Code.ERROR, TOO_LONG)

    def _deciding_for(self, scheduler_name: str) -> Revision | None:
        """By which revision such pods are decided about now; None also where the profile is suspended."""
        return self.live.get(scheduler_name) if self.backlog.serves(scheduler_name) else None

    def _is_of_group(self, attempt: Attempt) -> bool:
        """Whether its group is being placed or handed over just now, so that who of it is on its way cannot be told: it is tried later."""
        entry = attempt.entry
        now = self._groups.get(entry.scheduler_name, attempt)
        return now is not attempt and now.entry.group == entry.group

    def _let_go(self, entry: Entry) -> None:
        """It is not tried after all; those that are left of its group go back."""
        for each in (entry, *entry.companions):
            if each.place is Place.IN_FLIGHT:
                self.backlog.requeue(each, frozenset(), self._clock.boottime())

    def _conclude(self, entry: Entry, outcome: Placement | Diagnosis, started: float) -> None:
        if self._groups and isinstance(outcome, Diagnosis):
            self._misled.append(entry.uid)
        self.handover.conclude(entry, outcome, started)

    # ---- groups ------------------------------------------------------------------------------------------------------------

    def _begin_group(self, attempt: Attempt, revision: Revision) -> None:
        """One attempt of a whole pod group. Raises OutOfTime where another one goes first."""
        name = revision.scheduler_name
        if self._must_wait(attempt):
            raise OutOfTime
        self._groups.setdefault(name, attempt)

        def broken() -> str:
            return "" if self._deciding_for(name) is revision else f"profile {name} has changed"

        def place(pod: Pod, *, holds: bool) -> Placement | Diagnosis:
            return self._place_one(attempt, pod, revision, holds)

        attempt.placing = self.handover.gangs.placing(attempt.entry, place, broken)
        self._place(attempt, first=True)

    def _place_one(self, attempt: Attempt, pod: Pod, revision: Revision, holds: bool) -> Placement | Diagnosis:
        """A member of a group. Raises OutOfTime."""
        if revision.extenders and asked(pod, revision):
            return Diagnosis(pod, revision, Code.UNRESOLVABLE, ALONE, frozenset({EXTENDER}))
        if attempt.spent > MOST:
            return Diagnosis(pod, revision, Code.ERROR, TOO_LONG)
        while True:
            outcome = _tried(pod, revision, lambda: gang_cycle.place(pod, revision, self.scheduler, holds))
            alone, attempt.alone = attempt.alone, False
            if isinstance(outcome, Placement) or len(self._groups) == 1:
                return outcome
            self._misled.append(pod.metadata.uid)
            attempt.in_vain |= alone
            if attempt.in_vain or outcome.code not in REFUSALS or not self._take_back_later(attempt):
                return outcome

    def _must_wait(self, attempt: Attempt) -> bool:
        """Whether a group may not begin: another one of its profile is under way, or it would be in the way of one that goes first."""
        if self._groups.get(attempt.entry.scheduler_name, attempt) is not attempt:
            return True
        return any(other.alone for other in itertools.takewhile(lambda other: other is not attempt, self._groups.values()))

    def _take_back_later(self, attempt: Attempt) -> bool:
        """Have the groups that were begun after this one begin anew. Whether there were any."""
        later = list(itertools.dropwhile(lambda other: other is not attempt, self._groups.values()))[1:]
        for other in later:
            with guard("taking back a group that was begun later", pod=key(other.entry.pod)):
                attempt.alone |= _taken_back(other)
        return attempt.alone

    def _place(self, attempt: Attempt, first: bool = False) -> None:
        """Go on with a group; at its end each of its members is handed over, or goes back. Raises OutOfTime."""
        placing = attempt.placing
        if placing is None:
            return
        try:
            further = next(placing) if first else placing.send(True)
            while further and not self._budget.over:
                attempt.spent = 0.0
                further = placing.send(False)
        except StopIteration as end:
            members: list[Member] = end.value
        else:
            raise OutOfTime
        attempt.placing = None
        share = (self._clock.boottime() - attempt.started) / len(members)
        self._ending.extend((member, outcome, share) for member, outcome in members)
        self._hand_over()

    def _hand_over(self) -> None:
        """Hand over the members of groups, as many as there is time for."""
        until = self._clock.boottime() + SLICE
        while self._ending:
            member, outcome, share = self._ending.popleft()
            with self.handover.sure(member):
                if member.place is Place.IN_FLIGHT and self._deciding_for(member.scheduler_name) is not None:
                    self.handover.conclude(member, outcome, self._clock.boottime() - share)
                else:
                    if isinstance(outcome, Placement):
                        cycle.undo(outcome, self.scheduler.cache)
                    self._let_go(member)
            self._end_group(member.scheduler_name)
            if self._clock.boottime() > until:
                return

    def _end_group(self, name: str) -> None:
        """Once the last member of this profile's group is handed over, those that it may have kept out are tried again."""
        if name not in self._groups or any(member.scheduler_name == name for member, _, _ in self._ending):
            return
        attempt = self._groups.pop(name)
        with guard("taking back what is left of a group", pod=key(attempt.entry.pod)):
            _taken_back(attempt)
        misled, self._misled = self._misled, []
        for uid in misled:
            with guard("trying again whom a group may have kept out", pod=uid):
                self.backlog.retry(uid, self._clock.boottime())

    def _committed(self, outcome: Placement | Diagnosis) -> Placement | Diagnosis:
        return cycle.commit(outcome, self.scheduler) if isinstance(outcome, Placement) else outcome

    def _skip(self, entry: Entry) -> None:
        """A pod that is being deleted is not placed any more; the watch takes it out."""
        self.backlog.done(entry.uid)
        self._let_go(entry)
        regarding, note = pod_object(entry.pod), f"skip schedule deleting pod: {key(entry.pod)}"
        self._events.emit(Event(regarding, "FailedScheduling", note, "Scheduling", controller=entry.scheduler_name, warning=True))


def _tried(pod: Pod, revision: Revision, step: Callable[[], Placement | Diagnosis]) -> Placement | Diagnosis:
    """What the step gives. A plugin's bug fails this pod's attempt, never the process."""
    try:
        return step()
    except FAULTS as error:
        return broken(pod, revision, error)


def _taken_back(attempt: Attempt) -> bool:
    """What is placed of a group is not any more. Whether it was being placed."""
    placing, attempt.placing = attempt.placing, None
    if placing is not None:
        placing.close()
    return placing is not None
