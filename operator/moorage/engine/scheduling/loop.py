"""The loop: takes the next pod, decides, hands over, and again.

Decisions are made one after another on the event loop's thread; between slices of a few
milliseconds the loop lets watches and bindings have their turn. A pod is decided by the revision
that is live at that moment and keeps it to the end of its binding.

An attempt that takes longer than its slice is set down; it goes on when others have had as long a
turn, with what is kept of it. A pod is then decided from the start; of a group what is placed stays
placed. Each profile has one group at a time that is being placed. Those of several profiles are
placed side by side, and see what each other's members take. So that two of them cannot keep each
other out for ever, the one that was begun first goes first: when one of its members fits nowhere,
those begun later are taken back and begin anew, and that member is tried again.
"""

from __future__ import annotations

import asyncio
import dataclasses
import itertools
from collections import deque
from collections.abc import Callable, Generator

from moorage.core.cycle import cycle, gang_cycle
from moorage.core.cycle.context import CycleContext, Diagnosis, ScheduleResult
from moorage.core.cycle.extender_cycle import extenders_interested
from moorage.core.framework.extenders import EXTENDER
from moorage.core.framework.revisions import Revision
from moorage.core.framework.status import REJECTED, Code
from moorage.core.objects.meta import key
from moorage.core.objects.pods import Pod
from moorage.core.queue.queued_pod import QueuedPodInfo, QueueState
from moorage.core.queue.scheduling_queue import SchedulingQueue
from moorage.core.structures.budget import OutOfTime
from moorage.engine.live_revisions import LiveRevisions
from moorage.engine.reports.pod_conditions import attempt_error, pod_object
from moorage.engine.scheduling.extender_cycles import ExtenderCycles
from moorage.engine.scheduling.gang_scheduler import MemberOutcome
from moorage.engine.scheduling.outcomes import CycleOutcomes
from moorage.engine.scheduling.turns import ProfileTurns
from moorage.engine.slices import MAX_DECISION_SECONDS, TOO_LONG_MESSAGE
from moorage.ports.bundle import Ports
from moorage.ports.event_recorder import Event
from moorage.ports.guards import FAULTS, guard

NO_EXTENDERS_FOR_GROUPS = (
    "extenders can only be asked about pods that are placed one by one, not about a pod group"
)
SLICE_SECONDS = 0.004
"""Seconds of deciding before others get their turn."""


@dataclasses.dataclass(slots=True, eq=False)
class SchedulingAttempt:
    """An attempt that is under way. ``spent``: seconds of its own time. ``placing``: what is placed
    of a group so far.
    """

    entry: QueuedPodInfo
    started: float
    spent: float = 0.0
    placing: Generator[bool, bool | None, list[MemberOutcome]] | None = None
    others_restarted: bool = False
    """Whether groups that were begun later have been taken back, and wait until the member that is
    being placed is.
    """
    restart_was_futile: bool = False
    """Whether that has helped nobody: it is not done again."""


class SchedulingLoop:
    """See the module's docstring."""

    def __init__(
        self,
        context: CycleContext,
        queue: SchedulingQueue,
        live: LiveRevisions,
        ports: Ports,
        outcomes: CycleOutcomes,
    ) -> None:
        self.live = live
        self.context = context
        self.queue = queue
        self.outcomes = outcomes
        self.binder = outcomes.binder
        self.extender_cycles = ExtenderCycles(context, queue, ports, self)
        self._clock = ports.clock
        self._events = ports.events
        self._writes = ports.writes
        self._budget = context.budget
        self._work = asyncio.Event()
        self._turns = ProfileTurns()
        self._paused: deque[SchedulingAttempt] = deque()
        """Attempts that took longer than their slice."""
        self._next_turn = 0.0
        """When the first of them may go on although others are ready."""
        self._groups: dict[str, SchedulingAttempt] = {}
        """By schedulerName, the group of which some members may be placed, or handed over, and
        others not yet; who began first is first.
        """
        self._kept_out: list[str] = []
        """Pods (UIDs) that were refused meanwhile, perhaps for the room that one of these may give
        back.
        """
        self._ending: deque[tuple[QueuedPodInfo, ScheduleResult | Diagnosis, float]] = deque()
        """Members of these that were decided about and are to be handed over, and how long it
        took.
        """

    def wake_up(self) -> None:
        """There may be something to do."""
        self._work.set()

    async def run(self) -> None:
        """Make decisions until cancelled."""
        while True:
            # 1. Whom was decided about in a group is handed over, and what was set down goes on, in
            #   its turn.
            if self._ending or (
                self._paused and self._may_decide and self._clock.boottime() >= self._next_turn
            ):
                self._continue()
                await asyncio.sleep(0)

            # 2. Wait for the right to decide, and for a pod whose profile has room for another
            #   binding.
            entry = self._next()
            if (
                entry is None
                and self._may_decide
                and (self.queue.moves_pending or self._ending or self._paused)
            ):
                self._next_turn = 0.0
                await asyncio.sleep(0)
                continue
            if entry is None:
                self._work.clear()
                await self._work.wait()
                continue

            # 3. Decide a slice of pods, one by one, then let the others run.
            until = self._clock.boottime() + SLICE_SECONDS
            while entry is not None:
                self.attempt(entry)
                more = self.live.deciding and self._clock.boottime() < until
                entry = self._next() if more else None
            await asyncio.sleep(0)

    def attempt(self, entry: QueuedPodInfo) -> None:
        """One scheduling attempt: a pod that is going is let go, a group is placed together,
        extenders are asked, or it is decided.

        A bug in it fails this pod, and its group, and nobody else.
        """
        self._run_slice(SchedulingAttempt(entry, self._clock.boottime()))

    def attempt_again(self, entry: QueuedPodInfo) -> None:
        """A pod that waited until there was room to ask extenders about it has its turn."""
        if entry.scheduler_name in self.live and self._may_decide:
            self.attempt(entry)
        else:
            self.queue.requeue(entry, frozenset(), self._clock.boottime())

    def extender_cycle_done(
        self, entry: QueuedPodInfo, outcome: ScheduleResult | Diagnosis | None, started: float
    ) -> None:
        """Extenders have had their say; None: the pod is gone, is going, or has a node."""
        with self.outcomes.undoing_on_error(entry):
            if outcome is None:
                self.queue.done(entry.uid)
            elif not self._may_decide:
                self.queue.requeue(entry, frozenset(), self._clock.boottime())
            else:
                committed = _tried(outcome.pod, outcome.revision, lambda: self._committed(outcome))
                self._handle(entry, committed, started)

    def interrupt_profile(self, scheduler_name: str, why: str) -> None:
        """What is under way for this profile's pods is broken off, as far as it can be."""
        self.extender_cycles.interrupt_profile(scheduler_name, why)
        self.binder.interrupt_profile(scheduler_name, why)

    def interrupt_pod(self, uid: str) -> None:
        """The pod is gone, is going, or has a node: what is under way for it is broken off, as far
        as it can be.
        """
        self.extender_cycles.interrupt_pod(uid)
        self.binder.interrupt_pod(uid)

    def count(self, revision: Revision) -> int:
        """How many pods are on their way by this revision."""
        ending = sum(outcome.revision is revision for _, outcome, _ in self._ending)
        return self.extender_cycles.count(revision) + self.binder.count(revision) + ending

    async def settle(self, seconds: float) -> None:
        """Decide no more; wait, at most so long, for what is under way."""
        self.live.deciding = False
        for attempt in self._groups.values():
            _undo_placing(attempt)
        await self.extender_cycles.settle()
        await self.outcomes.settle(seconds)

    # ---- inside ----------------------------------------------------------------------------------

    @property
    def _may_decide(self) -> bool:
        """Without the right to write binding would be in vain."""
        return self.live.deciding and self._writes.open

    def _next(self) -> QueuedPodInfo | None:
        """The pod whose turn it is."""
        if not self._may_decide:
            return None
        entry = None
        with guard("taking the next pod from the queue"):
            entry = self.queue.pop(
                self._clock.boottime(), full=self.binder.full, late=self._turns.late
            )
            if entry is not None:
                self._turns.begins(entry.scheduler_name)
        return entry

    # ---- in slices -------------------------------------------------------------------------------

    def _continue(self) -> None:
        """A slice for what was begun: members to be handed over first, then an attempt of a profile
        whose turn it is.
        """
        if self._ending:
            self._hand_over()
            return
        began = self._clock.boottime()
        attempt = min(self._paused, key=self._waits)
        self._paused.remove(attempt)
        self._run_slice(attempt)
        self._next_turn = 2 * self._clock.boottime() - began

    def _waits(self, attempt: SchedulingAttempt) -> tuple[bool, float]:
        """Who is first goes on first. A group that has to wait for another one would only take the
        turns of that one.
        """
        waits_for_group = (
            bool(attempt.entry.companions) and attempt.placing is None and self._must_wait(attempt)
        )
        return waits_for_group, self._turns.late.get(attempt.entry.scheduler_name, 0.0)

    def _run_slice(self, attempt: SchedulingAttempt) -> None:
        """Work on it for a slice; what is not finished by then is set down."""
        began = self._clock.boottime()
        try:
            self._budget.slice = self._turns.slice
            with (
                self._budget,
                self.outcomes.undoing_on_error(attempt.entry, *attempt.entry.companions),
            ):
                self._work_on(attempt)
        except OutOfTime:
            attempt.spent += self._clock.boottime() - began
            self._paused.append(attempt)
        else:
            if self._groups.get(attempt.entry.scheduler_name) is attempt:
                self._end_group(attempt.entry.scheduler_name)
        with guard("counting a profile's turn"):
            self._turns.used(attempt.entry.scheduler_name, self._clock.boottime() - began)

    def _work_on(self, attempt: SchedulingAttempt) -> None:
        """Bring an attempt to its end. Raises OutOfTime."""
        entry = attempt.entry
        revision = self._deciding_for(entry.scheduler_name)
        if attempt.placing is not None:
            self._place(attempt)
        elif (
            revision is None
            or entry.state is not QueueState.IN_FLIGHT
            or self._is_of_group(attempt)
        ):
            self._drop(entry)
        elif entry.pod.metadata.deletion_timestamp is not None:
            self._skip(entry)
        elif entry.companions:
            self._begin_group(attempt, revision)
        elif not (revision.extenders and self.extender_cycles.start_if_interested(entry, revision)):
            self._handle(entry, self._decide(attempt, revision), attempt.started)

    def _decide(self, attempt: SchedulingAttempt, revision: Revision) -> ScheduleResult | Diagnosis:
        """What becomes of a single pod. Raises OutOfTime, but not for ever."""
        pod = attempt.entry.pod
        try:
            return _tried(
                pod, revision, lambda: self._committed(cycle.decide(pod, revision, self.context))
            )
        except OutOfTime:
            if attempt.spent < MAX_DECISION_SECONDS:
                raise
            return Diagnosis.error(pod, revision, TOO_LONG_MESSAGE)

    def _deciding_for(self, scheduler_name: str) -> Revision | None:
        """By which revision such pods are decided about now; None also where the profile is
        suspended.
        """
        return self.live.get(scheduler_name) if self.queue.serves(scheduler_name) else None

    def _is_of_group(self, attempt: SchedulingAttempt) -> bool:
        """Whether its group is being placed or handed over just now, so that who of it is on its
        way cannot be told: it is tried later.
        """
        entry = attempt.entry
        now = self._groups.get(entry.scheduler_name, attempt)
        return now is not attempt and now.entry.group == entry.group

    def _drop(self, entry: QueuedPodInfo) -> None:
        """It is not tried after all; those that are left of its group go back."""
        for each in (entry, *entry.companions):
            if each.state is QueueState.IN_FLIGHT:
                self.queue.requeue(each, frozenset(), self._clock.boottime())

    def _handle(
        self, entry: QueuedPodInfo, outcome: ScheduleResult | Diagnosis, started: float
    ) -> None:
        if self._groups and isinstance(outcome, Diagnosis):
            self._kept_out.append(entry.uid)
        self.outcomes.handle(entry, outcome, started)

    # ---- groups ----------------------------------------------------------------------------------

    def _begin_group(self, attempt: SchedulingAttempt, revision: Revision) -> None:
        """One attempt of a whole pod group. Raises OutOfTime where another one goes first."""
        name = revision.scheduler_name
        if self._must_wait(attempt):
            raise OutOfTime
        self._groups.setdefault(name, attempt)

        def broken() -> str:
            return "" if self._deciding_for(name) is revision else f"profile {name} has changed"

        def place(pod: Pod, *, holds: bool) -> ScheduleResult | Diagnosis:
            return self._place_one(attempt, pod, revision, holds)

        attempt.placing = self.outcomes.gang_scheduler.attempt(attempt.entry, place, broken)
        self._place(attempt, first=True)

    def _place_one(
        self, attempt: SchedulingAttempt, pod: Pod, revision: Revision, holds: bool
    ) -> ScheduleResult | Diagnosis:
        """A member of a group. Raises OutOfTime."""
        if revision.extenders and extenders_interested(pod, revision):
            return Diagnosis(
                pod=pod,
                revision=revision,
                code=Code.UNSCHEDULABLE_AND_UNRESOLVABLE,
                message=NO_EXTENDERS_FOR_GROUPS,
                unschedulable_plugins=frozenset({EXTENDER}),
            )
        if attempt.spent > MAX_DECISION_SECONDS:
            return Diagnosis.error(pod, revision, TOO_LONG_MESSAGE)
        while True:
            outcome = _tried(
                pod, revision, lambda: gang_cycle.place_member(pod, revision, self.context, holds)
            )
            alone, attempt.others_restarted = attempt.others_restarted, False
            if isinstance(outcome, ScheduleResult) or len(self._groups) == 1:
                return outcome
            self._kept_out.append(pod.metadata.uid)
            attempt.restart_was_futile |= alone
            if (
                attempt.restart_was_futile
                or outcome.code not in REJECTED
                or not self._restart_later_groups(attempt)
            ):
                return outcome

    def _must_wait(self, attempt: SchedulingAttempt) -> bool:
        """Whether a group may not begin: another one of its profile is under way, or it would be in
        the way of one that goes first.
        """
        if self._groups.get(attempt.entry.scheduler_name, attempt) is not attempt:
            return True
        return any(
            other.others_restarted
            for other in itertools.takewhile(
                lambda other: other is not attempt, self._groups.values()
            )
        )

    def _restart_later_groups(self, attempt: SchedulingAttempt) -> bool:
        """Have the groups that were begun after this one begin anew. Whether there were any."""
        later = list(
            itertools.dropwhile(lambda other: other is not attempt, self._groups.values())
        )[1:]
        for other in later:
            with guard("taking back a group that was begun later", pod=key(other.entry.pod)):
                attempt.others_restarted |= _undo_placing(other)
        return attempt.others_restarted

    def _place(self, attempt: SchedulingAttempt, first: bool = False) -> None:
        """Go on with a group; at its end each of its members is handed over, or goes back. Raises
        OutOfTime.
        """
        placing = attempt.placing
        if placing is None:
            return
        try:
            further = next(placing) if first else placing.send(True)
            while further and not self._budget.over:
                attempt.spent = 0.0
                further = placing.send(False)
        except StopIteration as end:
            members: list[MemberOutcome] = end.value
        else:
            raise OutOfTime
        attempt.placing = None
        share = (self._clock.boottime() - attempt.started) / len(members)
        self._ending.extend((member, outcome, share) for member, outcome in members)
        self._hand_over()

    def _hand_over(self) -> None:
        """Hand over the members of groups, as many as there is time for."""
        until = self._clock.boottime() + SLICE_SECONDS
        while self._ending:
            member, outcome, share = self._ending.popleft()
            with self.outcomes.undoing_on_error(member):
                if (
                    member.state is QueueState.IN_FLIGHT
                    and self._deciding_for(member.scheduler_name) is not None
                ):
                    self.outcomes.handle(member, outcome, self._clock.boottime() - share)
                else:
                    if isinstance(outcome, ScheduleResult):
                        cycle.unreserve_and_forget(outcome, self.context.cache)
                    self._drop(member)
            self._end_group(member.scheduler_name)
            if self._clock.boottime() > until:
                return

    def _end_group(self, name: str) -> None:
        """Once the last member of this profile's group is handed over, those that it may have kept
        out are tried again.
        """
        if name not in self._groups or any(
            member.scheduler_name == name for member, _, _ in self._ending
        ):
            return
        attempt = self._groups.pop(name)
        with guard("taking back what is left of a group", pod=key(attempt.entry.pod)):
            _undo_placing(attempt)
        misled, self._kept_out = self._kept_out, []
        for uid in misled:
            with guard("trying again whom a group may have kept out", pod=uid):
                self.queue.retry(uid, self._clock.boottime())

    def _committed(self, outcome: ScheduleResult | Diagnosis) -> ScheduleResult | Diagnosis:
        return (
            cycle.assume_and_reserve(outcome, self.context)
            if isinstance(outcome, ScheduleResult)
            else outcome
        )

    def _skip(self, entry: QueuedPodInfo) -> None:
        """A pod that is being deleted is not placed any more; the watch takes it out."""
        self.queue.done(entry.uid)
        self._drop(entry)
        regarding, note = pod_object(entry.pod), f"skip schedule deleting pod: {key(entry.pod)}"
        self._events.record(
            Event(
                regarding,
                "FailedScheduling",
                note,
                "Scheduling",
                controller=entry.scheduler_name,
                warning=True,
            )
        )


def _tried(
    pod: Pod, revision: Revision, step: Callable[[], ScheduleResult | Diagnosis]
) -> ScheduleResult | Diagnosis:
    """What the step gives. A plugin's bug fails this pod's attempt, never the process."""
    try:
        return step()
    except FAULTS as error:
        return attempt_error(pod, revision, error)


def _undo_placing(attempt: SchedulingAttempt) -> bool:
    """What is placed of a group is not any more. Whether it was being placed."""
    placing, attempt.placing = attempt.placing, None
    if placing is not None:
        placing.close()
    return placing is not None
