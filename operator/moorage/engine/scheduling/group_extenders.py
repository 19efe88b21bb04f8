"""Group extenders: has members of pod groups decided with the extenders that have a say about them.

The group is set down while a member's extenders are asked, and goes on with what they left: others
have their turn, and what is placed of the group stays placed. The member then goes to the node that
was chosen if it still fits there, as others may have taken the room since; else extenders are asked
anew.
"""

from __future__ import annotations

from moorage.core.cycle import group_cycle
from moorage.core.cycle.context import CycleContext, Decision, Diagnosis, ScheduleResult
from moorage.core.cycle.decisions import Decided, DecidedBy
from moorage.core.cycle.extender_cycle import TAKEN_MEANWHILE
from moorage.core.framework.placement_contract import Placement
from moorage.core.framework.revisions import Revision
from moorage.core.framework.status import REJECTED
from moorage.core.objects.meta import key
from moorage.core.objects.pods import Pod
from moorage.core.structures.budget import OutOfTime
from moorage.engine.background_tasks import WorkSignal
from moorage.engine.scheduling.attempt import MemberQuestion, SchedulingAttempt
from moorage.engine.scheduling.extender_runner import ExtenderRunner, RunningCycle
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
        refusal = decision or Diagnosis.error(
            pod, revision, f"pod {key(pod)} is gone or has a node"
        )
        self.context.cache.journal.append(Decided(refusal, DecidedBy.NOBODY))
        return refusal

    def _ask(
        self,
        attempt: SchedulingAttempt,
        pod: Pod,
        revision: Revision,
        placement: Placement,
        starts: int = 1,
    ) -> MemberQuestion:
        entries = (attempt.entry, *attempt.entry.companions)
        entry = next(each for each in entries if each.uid == pod.metadata.uid)
        cycle = RunningCycle(entry, revision, self._clock.boottime(), self.context, placement)
        question = attempt.question = MemberQuestion(lambda: cycle.end(None), starts)

        def ended(decision: Decision | None) -> None:
            question.decision, question.waits = decision, False
            self._work.wake_up()

        self._runner.start(cycle, ended)
        return question
