"""Group attempts: the pod groups that are being placed, one of each profile at a time.

A group is placed in slices, and what is placed of it stays placed in between. Those of several
profiles are placed side by side, and see what each other's members take. So that two of them cannot
keep each other out for ever, the one that was begun first goes first: when one of its members fits
nowhere, those begun later are taken back and begin anew, and that member is tried again.

Once all members of a group are decided about they are handed over, some at a time.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
from collections import deque
from typing import NoReturn

from moorage.core.cycle import cycle, group_cycle
from moorage.core.cycle.context import Decision, Diagnosis, ScheduleResult
from moorage.core.cycle.decisions import Decided, DecidedBy
from moorage.core.cycle.extender_cycle import extenders_interested
from moorage.core.cycle.group_surroundings import lost_member
from moorage.core.framework.extenders import ExtenderAnswer, ExtenderQuestion
from moorage.core.framework.placement_contract import Placement
from moorage.core.framework.revisions import Revision
from moorage.core.framework.status import REJECTED
from moorage.core.objects.meta import key
from moorage.core.objects.pods import Pod
from moorage.core.queue.queued_pod import QueuedPodInfo, QueueState
from moorage.core.queue.scheduling_queue import SchedulingQueue
from moorage.core.structures.budget import OutOfTime
from moorage.engine.live_revisions import LiveRevisions
from moorage.engine.reports.pod_conditions import attempt_error
from moorage.engine.scheduling.attempt import SchedulingAttempt
from moorage.engine.scheduling.group_extenders import GroupExtenders
from moorage.engine.scheduling.group_scheduler import GroupDone
from moorage.engine.scheduling.outcomes import CycleOutcomes
from moorage.engine.slices import LOOP_SLICE_SECONDS, MAX_DECISION_SECONDS, TOO_LONG_MESSAGE
from moorage.ports.clock import Clock
from moorage.ports.guards import FAULTS, guard


class GroupAttempts:
    """Places pod groups in slices, one group of each profile at a time."""

    def __init__(
        self,
        queue: SchedulingQueue,
        live: LiveRevisions,
        outcomes: CycleOutcomes,
        extenders: GroupExtenders,
        clock: Clock,
    ) -> None:
        self._extenders = extenders
        self._context = context = extenders.context
        self._queue = queue
        self._live = live
        self.outcomes = outcomes
        self._clock = clock
        self._budget = context.budget
        self.groups: dict[str, SchedulingAttempt] = {}
        """By schedulerName, the group of which some members may be placed, or handed over, and
        others not yet; the one that was begun first is first.
        """
        self.decided: deque[tuple[QueuedPodInfo, Decision, float]] = deque()
        """Members of these that were decided about and are to be handed over, and how long it
        took.
        """

        self._left_over: set[str] = set()
        """Members (UIDs) that did not fit where others of their group did: they go on without
        waiting for an event.
        """

    def count(self, revision: Revision) -> int:
        """How many members wait to be handed over that were decided by this revision."""
        return sum(outcome.revision is revision for _, outcome, _ in self.decided)

    def note_kept_out(self, uid: str, group: SchedulingAttempt | None = None) -> None:
        """A pod, perhaps a member of one of these groups, was rejected: it is tried again when the
        others are through.
        """
        for other in self.groups.values():
            if other is not group:
                other.kept_out.append(uid)

    def includes(self, attempt: SchedulingAttempt) -> bool:
        """Whether the group of another attempt's pod is under way just now, so that which of it are
        on their way is not known: the pod is tried later.
        """
        entry = attempt.entry
        now = self.groups.get(entry.scheduler_name, attempt)
        return now is not attempt and now.entry.group == entry.group

    def must_wait(self, attempt: SchedulingAttempt) -> bool:
        """Whether a group may not begin: another one of its profile is under way, or it would be in
        the way of one that goes first.
        """
        if self.groups.get(attempt.entry.scheduler_name, attempt) is not attempt:
            return True
        return any(
            other.others_restarted
            for other in itertools.takewhile(
                lambda other: other is not attempt, self.groups.values()
            )
        )

    def begin(self, attempt: SchedulingAttempt, revision: Revision) -> None:
        """One attempt of a whole pod group. Raises OutOfTime where another one goes first."""
        name = revision.scheduler_name
        if self.must_wait(attempt):
            raise OutOfTime
        self.groups.setdefault(name, attempt)
        self._context.makes_room = False

        def broken() -> str:
            serving = self._revision_for(name)
            return "" if serving is revision else f"profile {name} has changed"

        place = functools.partial(self._place, attempt, revision)
        attempt.placing = self.outcomes.group_scheduler.attempt(
            attempt.entry,
            revision,
            place,
            broken,
            _Surroundings(self, self._extenders, attempt, revision),
        )
        self.go_on(attempt, first=True)

    def go_on(self, attempt: SchedulingAttempt, first: bool = False) -> None:
        """Go on with a group; at its end its members are handed over. Raises OutOfTime."""
        placing = attempt.placing
        if placing is None:
            return
        if attempt.is_withdrawn:
            self._take_back(attempt)
        try:
            further = next(placing) if first else placing.send(True)
            while further and not self._budget.over:
                attempt.spent = 0.0
                further = placing.send(False)
        except StopIteration as end:
            done: GroupDone = end.value
        else:
            raise OutOfTime
        attempt.placing = None
        seconds = self._clock.boottime() - attempt.started
        self.outcomes.count_group(done, attempt.entry.scheduler_name, seconds)
        share = seconds / len(done.members)
        if done.victims and self._revision_for(attempt.entry.scheduler_name) is not None:
            self.outcomes.make_room_for_group(done, share)
            return
        self.decided.extend((member, outcome, share) for member, outcome in done.members)
        if any(isinstance(outcome, ScheduleResult) for _, outcome in done.members):
            self._left_over.update(
                member.uid for member, outcome in done.members if isinstance(outcome, Diagnosis)
            )
        self.hand_over()

    def may_make_room(self, attempt: SchedulingAttempt) -> bool:
        """Whether others may be displaced for a group: nobody whose own place may be taken back.
        The groups that were begun before go first (the members that were refused are tried again
        when these are through); those begun later begin anew. Raises OutOfTime where it will be
        known soon.
        """
        if next(iter(self.groups.values())) is not attempt:
            return False
        if self.decided:
            raise OutOfTime
        self._restart_later_groups(attempt)
        attempt.others_restarted = False
        return True

    def hand_over(self) -> None:
        """Hand over the members of groups, as many as there is time for."""
        until = self._clock.boottime() + LOOP_SLICE_SECONDS
        while self.decided:
            member, outcome, share = self.decided.popleft()
            with self.outcomes.undoing_on_error(member):
                self._hand_over_member(member, outcome, share)
            self._end(member.scheduler_name)
            if self._clock.boottime() > until:
                return

    def attempt_ended(self, attempt: SchedulingAttempt) -> None:
        """An attempt has come to its end, perhaps by a bug: its group is not under way any more."""
        if self.groups.get(attempt.entry.scheduler_name) is attempt:
            self._end(attempt.entry.scheduler_name)

    def undo(self) -> None:
        """Take back all that is placed of groups."""
        for attempt in self.groups.values():
            attempt.undo_placing()

    # ---- inside ----------------------------------------------------------------------------------

    def _revision_for(self, name: str) -> Revision | None:
        """By which revision such pods are decided about now; None also where the profile is
        suspended.
        """
        return self._live.get(name) if self._queue.serves(name) else None

    def _place(
        self,
        attempt: SchedulingAttempt,
        revision: Revision,
        pod: Pod,
        placement: Placement,
        /,
    ) -> Decision:
        """A member of a group. Raises OutOfTime."""
        if attempt.others_restarted:
            self._restart_later_groups(attempt)
        if not self._is_to_be_placed(pod):
            return self._told(lost_member(pod, revision))
        if attempt.spent > MAX_DECISION_SECONDS:
            return self._told(Diagnosis.error(pod, revision, TOO_LONG_MESSAGE))
        while True:
            try:
                outcome = self._place_member(attempt, pod, revision, placement)
            except FAULTS as error:  # a plugin's bug fails this pod's attempt, never the process
                outcome = self._told(attempt_error(pod, revision, error))
            alone, attempt.others_restarted = attempt.others_restarted, False
            if isinstance(outcome, ScheduleResult) or len(self.groups) == 1:
                return outcome
            self.note_kept_out(pod.metadata.uid, attempt)
            attempt.restart_was_futile |= alone
            if (
                attempt.restart_was_futile
                or outcome.code not in REJECTED
                or not self._restart_later_groups(attempt)
            ):
                return outcome

    def _told(self, outcome: Diagnosis) -> Diagnosis:
        """What was decided by no cycle, and the journal is told of."""
        self._context.cache.journal.append(Decided(outcome, DecidedBy.NOBODY))
        return outcome

    def _is_to_be_placed(self, pod: Pod) -> bool:
        """Whether a member is there still, and has no node."""
        entry = self._queue.get(pod.metadata.uid)
        return entry is not None and entry.state is QueueState.IN_FLIGHT

    def _place_member(
        self, attempt: SchedulingAttempt, pod: Pod, revision: Revision, placement: Placement
    ) -> Decision:
        """Once, with what extenders say of it. Raises OutOfTime."""
        if revision.extenders and extenders_interested(pod, revision):
            return self._extenders.place(attempt, pod, revision, placement)
        return group_cycle.place_member(pod, revision, self._context, placement)

    def _take_back(self, attempt: SchedulingAttempt) -> NoReturn:
        """Go on taking back a group that begins anew after that. Raises OutOfTime."""
        while attempt.placing is not None and not self._budget.over:
            attempt.take_back_some()
        raise OutOfTime

    def _restart_later_groups(self, attempt: SchedulingAttempt) -> bool:
        """Have the groups that were begun after this one begin anew. Whether there were any. Raises
        OutOfTime until all that is placed of them is taken back.
        """
        groups = list(self.groups.values())
        for other in groups[groups.index(attempt) + 1 :]:
            with guard("taking back a group that was begun later", pod=key(other.entry.pod)):
                while other.placing is not None:
                    attempt.others_restarted = True
                    other.take_back_some()
                    if self._budget.over:
                        raise OutOfTime
        return attempt.others_restarted

    def _hand_over_member(self, member: QueuedPodInfo, outcome: Decision, share: float) -> None:
        """Those that are placed are bound also where their profile is suspended by now, as others
        of the group are.
        """
        now, is_placed = self._clock.boottime(), isinstance(outcome, ScheduleResult)
        serves = is_placed or self._revision_for(member.scheduler_name) is not None
        if serves and member.state is QueueState.IN_FLIGHT:
            self.outcomes.handle(member, outcome, now - share)
            if member.uid in self._left_over:
                self._queue.retry(member.uid, now)
                self._left_over.discard(member.uid)
            return
        self._left_over.discard(member.uid)
        if isinstance(outcome, ScheduleResult):
            cycle.unreserve_and_forget(outcome, self._context.cache)
        self._queue.put_back(member, now)

    def _end(self, name: str) -> None:
        """Once the last member of this profile's group is handed over, those that it may have kept
        out are tried again.
        """
        if name not in self.groups or any(
            member.scheduler_name == name for member, _, _ in self.decided
        ):
            return
        attempt = self.groups.pop(name)
        with guard("taking back what is left of a group", pod=key(attempt.entry.pod)):
            attempt.undo_placing()
        self._context.makes_room = not self.groups
        for uid in attempt.kept_out:
            with guard("trying again a pod that a group may have kept out", pod=uid):
                self._queue.retry(uid, self._clock.boottime())


@dataclasses.dataclass(frozen=True, slots=True)
class _Surroundings:
    """``OthersAround`` of one attempt."""

    attempts: GroupAttempts
    extenders: GroupExtenders
    attempt: SchedulingAttempt
    revision: Revision
    asks_extenders: bool = True

    def may_make_room(self) -> bool:
        return self.attempts.may_make_room(self.attempt)

    def ask(self, pod: Pod, question: ExtenderQuestion) -> ExtenderAnswer:
        return self.extenders.ask(self.attempt, self.revision, pod, question)
