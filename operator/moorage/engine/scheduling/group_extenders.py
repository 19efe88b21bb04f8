"""Group extenders: has members of pod groups decided with the extenders that have a say about them.

The group is set down while a member's extenders are asked, and goes on with what they left: others
have their turn, and what is placed of the group stays placed. The member then goes to the node that
was chosen if it still fits there, as others may have taken the room since; else extenders are asked
anew.
"""

from __future__ import annotations

import functools

from moorage.core.cycle import group_cycle
from moorage.core.cycle.context import CycleContext, Decision, Diagnosis, ScheduleResult
from moorage.core.cycle.decisions import Decided, DecidedBy
from moorage.core.cycle.extender_cycle import TAKEN_MEANWHILE
from moorage.core.cycle.group_surroundings import lost_member
from moorage.core.framework.extenders import ExtenderAnswer, ExtenderQuestion
from moorage.core.framework.placement_contract import Placement
from moorage.core.framework.revisions import Revision
from moorage.core.framework.status import REJECTED
from moorage.core.objects.pods import Pod
from moorage.core.structures.budget import OutOfTime
from moorage.engine.background_tasks import WorkSignal
from moorage.engine.scheduling.attempt import MemberQuestion, SchedulingAttempt
from moorage.engine.scheduling.extender_runner import ExtenderRunner, RunningCycle
from moorage.engine.scheduling.whole_objects import WholeObjects
from moorage.ports.clock import Clock

_MAX_STARTS = 3
"""How often a member's node may be lost to others before the group waits for a while."""


class GroupExtenders:
    """Asks extenders about members of groups."""

    def __init__(
        self, context: CycleContext, runner: ExtenderRunner, work: WorkSignal, clock: Clock
    ) -> None:
        self.context = context
        self._runner = runner
        self._work = work
        self._clock = clock

    def place(
        self, attempt: SchedulingAttempt, pod: Pod, revision: Revision, placement: Placement
    ) -> Decision:
        """As ``group_cycle.place_member``, with extenders. Raises OutOfTime until they have
        answered; the same is asked again then.
        """
        question = attempt.question or self._ask(attempt, pod, revision, placement)
        if question.waits:
            raise OutOfTime
        decision = question.decision
        if isinstance(decision, ScheduleResult):
            there = Placement(name=decision.node)
            decision = group_cycle.place_member(pod, revision, self.context, there)
            if isinstance(decision, Diagnosis) and decision.code in REJECTED:
                if question.starts < _MAX_STARTS:
                    self._ask(attempt, pod, revision, placement, question.starts + 1)
                    raise OutOfTime
                decision = Diagnosis.error(pod, revision, TAKEN_MEANWHILE)
        attempt.question = None
        if isinstance(decision, ScheduleResult):
            return decision
        refusal = decision or lost_member(pod, revision)
        self.context.cache.journal.append(Decided(refusal, DecidedBy.NOBODY))
        return refusal

    def ask(
        self, attempt: SchedulingAttempt, revision: Revision, pod: Pod, question: ExtenderQuestion
    ) -> ExtenderAnswer:
        """The answer to a question about a member on a copy. Raises OutOfTime until it is there;
        the same is asked again then.
        """
        put = attempt.question
        if put is None:
            cycle = self._cycle(attempt, pod, revision)
            put = attempt.question = MemberQuestion(lambda: cycle.end(None))
            self._runner.put(cycle, question, functools.partial(self._answered, put))
        if put.answer is None:
            raise OutOfTime
        attempt.question = None
        return put.answer

    # ---- inside ----------------------------------------------------------------------------------

    def _ask(
        self,
        attempt: SchedulingAttempt,
        pod: Pod,
        revision: Revision,
        placement: Placement,
        starts: int = 1,
    ) -> MemberQuestion:
        cycle = self._cycle(attempt, pod, revision, placement)
        question = attempt.question = MemberQuestion(lambda: cycle.end(None), starts)
        self._runner.start(cycle, functools.partial(self._ended, question))
        return question

    def _cycle(
        self,
        attempt: SchedulingAttempt,
        pod: Pod,
        revision: Revision,
        placement: Placement | None = None,
    ) -> RunningCycle:
        entries = (attempt.entry, *attempt.entry.companions)
        entry = next(each for each in entries if each.uid == pod.metadata.uid)
        objects = attempt.objects = attempt.objects or WholeObjects()
        now = self._clock.boottime()
        return RunningCycle(entry, revision, now, self.context, placement, objects=objects)

    def _ended(self, question: MemberQuestion, decision: Decision | None) -> None:
        question.decision, question.waits = decision, False
        self._work.wake_up()

    def _answered(self, question: MemberQuestion, answer: ExtenderAnswer) -> None:
        question.answer, question.waits = answer, False
        self._work.wake_up()
