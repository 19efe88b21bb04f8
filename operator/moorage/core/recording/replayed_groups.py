"""Attempts of pod groups in a replay: the same function decides, on the same moments of the state.

What became of a member is what was recorded, whatever is decided about it now, and what the attempt
does to the state comes as changes. All else is found anew: whether enough fit, the best placement,
whom the group may displace, and what is said of it.
"""

from __future__ import annotations

import functools
from collections import deque
from collections.abc import Callable, Sequence
from typing import TypeVar

import msgspec

from moorage.core.columns.cache import Cache
from moorage.core.columns.store import Store
from moorage.core.cycle.context import CycleContext, Decision, Diagnosis, ScheduleResult
from moorage.core.cycle.decisions import (
    DecidedBy,
    GroupAttemptBegan,
    GroupAttemptEnded,
    GroupExtenderAnswered,
    GroupMoment,
)
from moorage.core.cycle.group_attempt import GroupAttempt
from moorage.core.cycle.group_post_filter import GroupPostFilters
from moorage.core.cycle.group_scheduling import decide_group
from moorage.core.cycle.group_surroundings import GroupNews
from moorage.core.cycle.placed_members import PlacedMembers
from moorage.core.framework.extenders import ExtenderAnswer, ExtenderQuestion
from moorage.core.framework.placement_contract import Placement
from moorage.core.framework.revisions import Revision
from moorage.core.framework.status import Code
from moorage.core.objects.pods import Pod
from moorage.core.plugins.intree import INDEXES
from moorage.core.recording.forks import fork
from moorage.core.recording.recorded_decisions import (
    RecordedDecision,
    RecordedOutcome,
    group_outcome_of,
)
from moorage.core.structures.budget import OutOfTime

T = TypeVar("T")


class ReplayedGroups:
    """The attempts that have begun and not ended, by their numbers."""

    def __init__(self) -> None:
        self._attempts: dict[int, _ReplayedGroup] = {}

    @property
    def any(self) -> bool:
        """Whether there are some."""
        return bool(self._attempts)

    def __contains__(self, number: int) -> bool:
        return number in self._attempts

    def begin(self, began: GroupAttemptBegan, context: CycleContext) -> None:
        """One begins in the state of this context, which is to be that of now whenever it goes
        on.
        """
        self._attempts[began.attempt] = _ReplayedGroup(began, context)

    def hear(self, decision: RecordedDecision) -> None:
        """What became of a pod, perhaps of a member."""
        for attempt in self._attempts.values():
            attempt.heard = decision

    def go_on(self, entry: GroupMoment | GroupAttemptEnded) -> None:
        """A moment of an attempt, or its end."""
        if isinstance(entry, GroupAttemptEnded):
            self.forget(entry.attempt)
        elif entry.attempt in self._attempts:
            self._attempts[entry.attempt].go_on(entry)

    def hear_answer(self, entry: GroupExtenderAnswered) -> None:
        """What extenders said about a member on a copy."""
        if entry.attempt in self._attempts:
            self._attempts[entry.attempt].hear_answer(entry.answer)

    def forget(self, number: int) -> None:
        """It is another attempt's from here on, or nobody's."""
        self._attempts.pop(number, None)

    def outcome(self, number: int) -> tuple[RecordedOutcome, Sequence[Pod]]:
        """What came of one now, and its members."""
        attempt = self._attempts[number]
        return attempt.outcome, attempt.members


def of_one_member(
    then: RecordedDecision, now: RecordedOutcome, members: Sequence[Pod]
) -> tuple[RecordedDecision, RecordedOutcome]:
    """Two outcomes that differ; where they do so by what is said of a member, these of the
    first.
    """
    for pod, was, one in zip(members, then.outcome.members, now.members, strict=False):
        if was != one:
            return msgspec.structs.replace(then, pod=pod, outcome=was), one
    return then, now


class _Onlooker(CycleContext):
    """Sees the state of another context; what it does itself is done to nothing."""

    def __init__(self, seen: CycleContext) -> None:
        super().__init__(Cache(Store(INDEXES)), seen.seed)
        self.snapshot, self.evaluator = seen.snapshot, seen.evaluator


class _ReplayedGroup:
    """One attempt, as far as its moments have come. ``heard``: the last decision about any pod."""

    def __init__(self, began: GroupAttemptBegan, context: CycleContext) -> None:
        self.members = began.members
        self.outcome = RecordedOutcome(code="Fault", message="the attempt goes on otherwise now")
        self.heard: RecordedDecision | None = None
        self._has_come = self._is_over = False
        self.asks_extenders = True
        self._answers = deque[ExtenderAnswer]()
        self._said = GroupMoment(began.attempt)
        attempt = GroupAttempt(
            began.group,
            began.members,
            PlacedMembers.of(began.scheduled, context.cache),
            moment=self._moment,
            holds=began.holds,
            around=self,
        )
        place = functools.partial(self._place, began.revision)
        room = GroupPostFilters(began.revision, context, functools.partial(fork, context))
        self._steps = decide_group(attempt, place, room, _Onlooker(context))
        self._run()

    def may_make_room(self) -> bool:
        """As it was said."""
        return self._said.makes_room

    def news(self) -> GroupNews:
        """As it was said."""
        return GroupNews(frozenset(self._said.lost), self._said.min_count)

    def ask(self, pod: Pod, question: ExtenderQuestion) -> ExtenderAnswer:
        """The next answer that was recorded. Raises OutOfTime until it has come."""
        if not self._answers:
            raise OutOfTime
        return self._answers.popleft()

    def go_on(self, moment: GroupMoment) -> None:
        """The next moment is now; what has failed does not go on."""
        if not self._is_over:
            self._has_come, self._said = True, moment
            self._run()

    def hear_answer(self, answer: ExtenderAnswer) -> None:
        """It goes on with what extenders said."""
        if not self._is_over:
            self._answers.append(answer)
            self._run()

    def _run(self) -> None:
        """Up to where the next moment has not come yet."""
        try:
            while next(self._steps):
                pass
        except StopIteration as end:
            self._is_over = True
            found = end.value
            self.outcome = group_outcome_of(found.status, found.members.values(), found.victims)
        except Exception as error:  # noqa: BLE001 - plugins may raise anything; it is a difference
            self._is_over = True
            self.outcome = RecordedOutcome(code="Fault", message=repr(error))

    def _moment(self, ask: Callable[[], T]) -> T:
        if not self._has_come:
            raise OutOfTime
        self._has_come = False
        return ask()

    def _place(self, revision: Revision, pod: Pod, placement: Placement) -> Decision:
        """As it was decided."""
        heard = self.heard
        if heard is None or heard.pod.metadata.uid != pod.metadata.uid:
            raise LookupError(f"pod {pod.metadata.name!r} was not decided about here")
        alone = Placement(name=heard.outcome.node)  # to where extenders had it go
        if heard.by is DecidedBy.GROUP_MEMBER and heard.placement not in (placement, alone):
            raise LookupError(f"pod {pod.metadata.name!r} was decided about on other nodes")
        return _decision(heard.outcome, pod, revision)


def _decision(outcome: RecordedOutcome, pod: Pod, revision: Revision) -> Decision:
    """A member's decision, as far as a group looks at it."""
    if outcome.node:
        return ScheduleResult(pod, outcome.node, revision, outcome.feasible_nodes, outcome.score)
    return Diagnosis(
        pod=pod,
        revision=revision,
        code=Code(outcome.code),
        message=outcome.message,
        unschedulable_plugins=frozenset(outcome.unschedulable_plugins),
        nominated_node=outcome.nominated_node,
    )
