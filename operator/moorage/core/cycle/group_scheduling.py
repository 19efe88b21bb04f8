"""A whole attempt of a pod group: what members must have in common, the cycle, and room that is
made for a group that does not fit.

Source: kube-scheduler's pod group cycle (v1.37).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection
from typing import TypeVar

import msgspec

from moorage.core.columns.changes import Journal
from moorage.core.cycle.context import CycleContext
from moorage.core.cycle.decisions import (
    GroupAttemptBegan,
    GroupAttemptEnded,
    GroupDecided,
    GroupExtenderAnswered,
    GroupMoment,
)
from moorage.core.cycle.group_attempt import GroupAttempt
from moorage.core.cycle.group_cycle import GroupResult, PlaceMember, schedule_group
from moorage.core.cycle.group_outcome import GroupOutcome, group_outcome
from moorage.core.cycle.group_post_filter import NO_ROOM, GroupPostFilters, GroupRoom
from moorage.core.cycle.group_seats import seats_for
from moorage.core.cycle.group_steps import Steps
from moorage.core.cycle.group_surroundings import GroupNews, GroupSurroundings
from moorage.core.cycle.group_validation import validate
from moorage.core.cycle.placed_members import uids_of
from moorage.core.framework.extenders import ExtenderAnswer, ExtenderQuestion
from moorage.core.framework.revisions import Revision
from moorage.core.framework.status import Code
from moorage.core.objects.pods import Pod

T = TypeVar("T")


def decide_group(
    attempt: GroupAttempt,
    place: PlaceMember,
    room: GroupPostFilters,
    context: CycleContext,
    broken: Callable[[], str] = lambda: "",
) -> Steps[GroupOutcome]:
    """The outcome of an attempt; ``place``, ``context`` and ``broken`` as in ``schedule_group``,
    ``room`` asks who may make some.
    """
    common, found, profile = validate(attempt), NO_ROOM, room.revision.scheduler_name
    if common.code is not Code.SUCCESS:
        return group_outcome(attempt, GroupResult(common), room.revision)
    context.observer.group_began(profile)
    result = yield from schedule_group(attempt, place, context, room.revision, broken)
    context.observer.group_decided(profile)
    if result.status.code is Code.UNSCHEDULABLE:
        found = yield from _find_room(attempt, result, room)
    return group_outcome(attempt, result, room.revision, found)


def _find_room(
    attempt: GroupAttempt, result: GroupResult, room: GroupPostFilters
) -> Steps[GroupRoom]:
    """Room that is made for the members that are left, or held where none can be."""
    attempt = attempt.by_now((yield from attempt.at_once(attempt.around.news)))
    if not attempt.can_be_enough:
        return NO_ROOM
    found = yield from room.run(attempt, result)
    if attempt.holds and not found.is_made:
        # from here to the copy nobody else has a turn
        yield from attempt.at_once(lambda: None)
        seats = yield from seats_for(attempt, room.revision, room.context, room.fork)
        found = dataclasses.replace(found, seats=seats)
    return found


class GroupScheduling:
    """Attempts groups on one context. ``fork`` copies the state, for what nobody else may see."""

    def __init__(
        self,
        context: CycleContext,
        fork: Callable[[CycleContext, Collection[str]], Steps[CycleContext]],
    ) -> None:
        self._context = context
        self._fork = fork
        self._begun = 0

    def attempt(
        self,
        attempt: GroupAttempt,
        revision: Revision,
        place: PlaceMember,
        broken: Callable[[], str] = lambda: "",
    ) -> Steps[GroupOutcome]:
        """The outcome of an attempt, which the journal is told of; ``place`` and ``broken`` as in
        ``schedule_group``.
        """
        context, journal = self._context, self._context.cache.journal
        self._begun += 1
        number = self._begun

        said = _Told(number, attempt.around, journal)
        told = dataclasses.replace(attempt, moment=said.moment, around=said)
        journal.append(_began(number, attempt, revision))
        try:
            room = GroupPostFilters(revision, context, lambda without: self._fork(context, without))
            outcome = yield from decide_group(told, place, room, context, broken)
            journal.append(_decided(number, attempt, revision, outcome))
        finally:
            journal.append(GroupAttemptEnded(number))
        return outcome


class _Told:
    """Moments and surroundings of an attempt, of which the journal is told."""

    def __init__(self, number: int, around: GroupSurroundings, journal: Journal) -> None:
        self._around = around
        self._journal = journal
        self._said = GroupMoment(number)

    def moment(self, ask: Callable[[], T]) -> T:
        answer = ask()
        self._journal.append(self._said)
        return answer

    def may_make_room(self) -> bool:
        makes_room = self._around.may_make_room()
        self._said = msgspec.structs.replace(self._said, makes_room=makes_room)
        return makes_room

    @property
    def asks_extenders(self) -> bool:
        return self._around.asks_extenders

    def ask(self, pod: Pod, question: ExtenderQuestion) -> ExtenderAnswer:
        answer = self._around.ask(pod, question)
        self._journal.append(GroupExtenderAnswered(self._said.attempt, answer))
        return answer

    def news(self) -> GroupNews:
        news = self._around.news()
        lost = tuple(sorted(news.lost))
        self._said = msgspec.structs.replace(self._said, lost=lost, min_count=news.min_count)
        return news


def _began(number: int, attempt: GroupAttempt, revision: Revision) -> GroupAttemptBegan:
    return GroupAttemptBegan(
        number,
        attempt.group,
        tuple(attempt.members),
        uids_of(attempt.scheduled),
        revision,
        attempt.holds,
    )


def _decided(
    number: int, attempt: GroupAttempt, revision: Revision, outcome: GroupOutcome
) -> GroupDecided:
    return GroupDecided(
        number,
        attempt.members[0],
        revision,
        outcome.status,
        tuple(outcome.members.values()),
        outcome.victims,
        outcome.overtaken,
    )
