"""The loop: takes the next pod, has it decided, and again.

Decisions are made one after another on the event loop's thread; between slices of a few
milliseconds the loop lets watches and bindings have their turn.

An attempt that takes longer than its slice is set down; it goes on when others have had as long a
turn, with what is kept of it. A pod is then decided from the start; of a group what is placed stays
placed.
"""

from __future__ import annotations

import asyncio
import dataclasses
from collections import deque

from moorage.core.cycle.extender_cycle import extenders_interested
from moorage.core.queue.queued_pod import QueuedPodInfo
from moorage.core.queue.scheduling_queue import SchedulingQueue
from moorage.core.structures.budget import ATTEMPT_SLICE_SECONDS, OutOfTime, TimeBudget
from moorage.engine.background_tasks import WorkSignal
from moorage.engine.binding.sender import BindingSlots
from moorage.engine.live_revisions import LiveRevisions
from moorage.engine.scheduling.attempt import SchedulingAttempt
from moorage.engine.scheduling.attempts import SchedulingAttempts
from moorage.engine.scheduling.extender_cycles import ExtenderCycles
from moorage.engine.slices import LOOP_SLICE_SECONDS
from moorage.ports.clock import Clock
from moorage.ports.guards import guard

ROUND_SECONDS = 0.25
"""Seconds of own time that the turns of all profiles take which are busy."""
MIN_SLICE_SECONDS = 0.001
"""Seconds of a slice: in a shorter one little would be done beside beginning anew."""


class ProfileTurns:
    """Turns: no profile has the loop to itself while pods of others are ready.

    The queue's order is that of all profiles. But one whose pods are many, or take long, would have
    everybody else wait for all of them; so each has a turn of own time, and then stands back until
    those that are ready have had theirs. What it took beyond its turn counts against it the next
    time.
    """

    def __init__(self) -> None:
        self.late: dict[str, float] = {}
        """The profiles that had their turn, by schedulerName, and how long it was."""
        self.slice = ATTEMPT_SLICE_SECONDS
        """How long an attempt may take before it is set down: less where many profiles are busy, so
        that a round is not longer.
        """
        self._used: dict[str, float] = {}

    def used(self, name: str, seconds: float) -> None:
        """So much time went to a pod of this profile."""
        total = self._used[name] = self._used.get(name, 0.0) + seconds
        turn = ROUND_SECONDS / len(self._used)
        self.slice = min(ATTEMPT_SLICE_SECONDS, max(MIN_SLICE_SECONDS, turn))
        if total >= turn:
            self.late[name] = total

    def begins(self, name: str) -> None:
        """A pod of this profile is next. If it is late no other was ready, so all are let off
        what it has used.
        """
        off = self.late.get(name)
        if off is not None:
            self._used = {
                other: left for other, total in self._used.items() if (left := total - off) > 0
            }
            turn = ROUND_SECONDS / max(1, len(self._used))
            self.late = {other: total for other, total in self._used.items() if total >= turn}


@dataclasses.dataclass(slots=True, eq=False)
class SchedulingLoop:
    """Takes one pod after another from the queue and has it decided."""

    queue: SchedulingQueue
    live: LiveRevisions
    attempts: SchedulingAttempts
    extenders: ExtenderCycles
    slots: BindingSlots
    work: WorkSignal
    budget: TimeBudget
    clock: Clock
    turns: ProfileTurns = dataclasses.field(default_factory=ProfileTurns)
    paused: deque[SchedulingAttempt] = dataclasses.field(default_factory=deque)
    """Attempts that took longer than their slice."""
    next_turn: float = 0.0
    """When the first of them may go on although others are ready."""

    @property
    def can_go_on(self) -> bool:
        """Whether something that was set down needs no extender's answer to go on."""
        return any(not attempt.waits for attempt in self.paused)

    async def run(self) -> None:
        """Make decisions until cancelled."""
        while True:
            # 1. What was begun goes on in its turn.
            if self.attempts.group_attempts.decided or (
                self.paused
                and self.can_go_on
                and self.attempts.allowed
                and self.clock.boottime() >= self.next_turn
            ):
                self.go_on()
                await asyncio.sleep(0)

            # 2. Wait for the right to decide, and for a pod whose profile has room for another
            #    binding.
            entry = self._next()
            if entry is None:
                await self._wait()
                continue

            # 3. Decide a slice of pods, one by one, then let the others run.
            until = self.clock.boottime() + LOOP_SLICE_SECONDS
            while entry is not None:
                self.attempt(SchedulingAttempt(entry, self.clock.boottime()))
                more = self.live.deciding and self.clock.boottime() < until
                entry = self._next() if more else None
            await asyncio.sleep(0)

    def attempt(self, attempt: SchedulingAttempt) -> None:
        """One slice of an attempt; what is not finished by then is set down. A bug in it fails this
        pod, and its group, and no other.
        """
        entry, began = attempt.entry, self.clock.boottime()
        try:
            self.budget.slice = self.turns.slice
            with self.budget, self.attempts.outcomes.undoing_on_error(entry, *entry.companions):
                self._dispatch(attempt)
        except OutOfTime:
            now = self.clock.boottime()
            attempt.spent += now - began
            self.paused.append(attempt)
            self.next_turn = 2 * now - began
        else:
            if self.attempts.group_attempts.groups:
                self.attempts.group_attempts.attempt_ended(attempt)
        with guard("counting a profile's turn"):
            self.turns.used(entry.scheduler_name, self.clock.boottime() - began)

    def go_on(self) -> None:
        """A slice for what was begun: members of gangs to be handed over first, then an attempt of
        a profile whose turn it is.
        """
        if self.attempts.group_attempts.decided:
            self.attempts.group_attempts.hand_over()
            return
        attempt = min((one for one in self.paused if not one.waits), key=self._rank)
        self.paused.remove(attempt)
        self.attempt(attempt)

    async def settle(self, seconds: float) -> None:
        """Decide no more; wait, at most so long, for what is under way."""
        self.live.deciding = False
        self.attempts.group_attempts.undo()
        await self.extenders.settle()
        await self.attempts.outcomes.settle(seconds)

    # ---- inside ----------------------------------------------------------------------------------

    def _dispatch(self, attempt: SchedulingAttempt) -> None:
        """Go on with an attempt, or begin it: a group's, with extenders, or a pod's alone. Raises
        OutOfTime.
        """
        pod, attempts = attempt.entry.pod, self.attempts
        if attempt.placing is not None:
            attempts.group_attempts.go_on(attempt)
        elif (revision := attempts.admit(attempt)) is None:
            return
        elif attempt.entry.as_group:
            attempts.group_attempts.begin(attempt, revision)
        elif revision.extenders and extenders_interested(pod, revision):
            self.extenders.begin(attempt.entry, revision)
        else:
            attempts.decide(attempt, revision)

    def _next(self) -> QueuedPodInfo | None:
        """The pod whose turn it is."""
        entry = None
        if self.attempts.allowed:
            with guard("taking the next pod from the queue"):
                entry = self.queue.pop(
                    self.clock.boottime(), full=self.slots.full, late=self.turns.late
                )
                if entry is not None and entry.scheduler_name in self.turns.late:
                    self.turns.begins(entry.scheduler_name)
        return entry

    async def _wait(self) -> None:
        """No pod is ready: go on at once with what can be, else wait for one."""
        if self.attempts.allowed and (
            self.queue.moves_pending
            or self.attempts.group_attempts.decided
            or (self.paused and self.can_go_on)
        ):
            self.next_turn = 0.0
            await asyncio.sleep(0)
        else:
            await self.work.wait()

    def _rank(self, attempt: SchedulingAttempt) -> tuple[bool, float]:
        """The one that had the shortest turn goes on first. A group that has to wait for another
        one would only take the turns of that one.
        """
        waits_for_group = (
            attempt.entry.as_group
            and attempt.placing is None
            and self.attempts.group_attempts.must_wait(attempt)
        )
        return waits_for_group, self.turns.late.get(attempt.entry.scheduler_name, 0.0)
