"""The cycle of a pod group: its members one after another, on the nodes of one placement; enough of
them, or none.

Members are assumed in the cache itself, so that each sees what those before it took, whatever
plugin asks. Unless enough are placed they are taken back in reverse order, and a group that does
not fit holds nothing. Where several placements are tried, all are taken back, and the best one is
placed again as it was.

A cycle is a generator that yields after each member, so that a group of thousands is placed in
slices; what others did to its nodes meanwhile is looked at before anything is bound.
Source: kube-scheduler's pod group cycle (v1.37).
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
from collections.abc import Callable, Sequence
from typing import Protocol

from moorage.core.cycle import cycle, group_placements
from moorage.core.cycle.context import CycleContext, Decision, Diagnosis, ScheduleResult
from moorage.core.cycle.decisions import Decided, DecidedBy
from moorage.core.cycle.group_attempt import GroupAttempt
from moorage.core.cycle.group_domains import (
    DomainsWithRoom,
    PassedOver,
    Wanted,
    WithoutRoom,
    domains_with_room,
)
from moorage.core.cycle.group_steps import Steps, patiently
from moorage.core.cycle.post_filter import NOT_ASKED, fit_error
from moorage.core.cycle.tentative_members import TentativeMembers, TriedPlacement
from moorage.core.framework.placement_contract import (
    ALL_NODES,
    Division,
    Placement,
    Proposal,
)
from moorage.core.framework.revisions import Revision
from moorage.core.framework.status import SUCCESS, Code, Status, error_status
from moorage.core.objects.pods import Pod

UNSCHEDULABLE_GROUP = "pod group is unschedulable"
_ENOUGH_PLACEMENTS = 100
"""That take a group: more are not looked for, as of nodes (kube-scheduler tries all)."""
_MAX_PREFERRED = 16
"""Domains of one label that are tried because they are preferred."""


class GroupWithdrawn(Exception):
    """Thrown into the steps of an attempt that is to begin anew later: what is placed is taken back
    in the steps that follow, and then it is raised.
    """


class PlaceMember(Protocol):
    """Places one pod on a node of the placement for real, or says why not."""

    def __call__(self, pod: Pod, placement: Placement, /) -> Decision: ...


@dataclasses.dataclass(frozen=True, slots=True)
class GroupResult:
    """What came of a group. SUCCESS: the placed members are assumed; else nothing is.

    ``decisions`` are of the members that were looked at, in their order; those behind were not
    reached. ``tried``: all placements that were tried, in their order; ``without_room``: those that
    it may have to lie in and that were not.
    """

    status: Status
    decisions: Sequence[Decision] = ()
    tried: Sequence[TriedPlacement] = ()
    without_room: Sequence[WithoutRoom] = ()
    overtaken: bool = False
    """Whether it was ended as nodes do not hold any more what was placed there."""

    @property
    def placed(self) -> list[ScheduleResult]:
        """The members that have a node now."""
        if self.status.code is not Code.SUCCESS:
            return []
        return [one for one in self.decisions if isinstance(one, ScheduleResult)]


def decide_member(
    pod: Pod, revision: Revision, context: CycleContext, placement: Placement
) -> Decision:
    """As ``cycle.decide`` on the nodes of a placement, without making room."""
    evaluation = cycle.run_filters(pod, revision, context)
    if isinstance(evaluation, Diagnosis):
        return evaluation
    among = placement.rows(context.snapshot.nodes)
    if evaluation.fits and (among is None or evaluation.fits_among(among)):
        return cycle.choose_node(pod, evaluation, revision, context, among)
    return fit_error(evaluation, context.snapshot, among).diagnosis(pod, revision, NOT_ASKED)


def place_member(
    pod: Pod, revision: Revision, context: CycleContext, placement: Placement
) -> Decision:
    """Decide, and assume the pod on its node."""
    journal, sampled_from = context.cache.journal, context.sampler.start
    decision = decide_member(pod, revision, context, placement)
    journal.append(Decided(decision, DecidedBy.GROUP_MEMBER, sampled_from, placement=placement))
    if isinstance(decision, Diagnosis):
        return decision
    reserved = cycle.assume_and_reserve(decision, context)
    if isinstance(reserved, Diagnosis):
        journal.append(Decided(reserved, DecidedBy.NOBODY))
    return reserved


def schedule_group(
    attempt: GroupAttempt,
    place: PlaceMember,
    context: CycleContext,
    revision: Revision,
    broken: Callable[[], str] = lambda: "",
) -> Steps[GroupResult]:
    """The result of the group's attempt. ``revision`` says where it is tried.

    ``broken`` says what has become of the members or the profile meanwhile that makes all of it
    useless, "" if nothing has.
    """
    return _GroupCycle(attempt, place, context, revision, broken).steps()


@dataclasses.dataclass(slots=True)
class _GroupCycle:
    """Its fields are ``schedule_group``'s arguments, and what is assumed now."""

    attempt: GroupAttempt
    place: PlaceMember
    context: CycleContext
    revision: Revision
    broken: Callable[[], str]
    standing: TentativeMembers | None = None
    """Whose members are assumed now."""
    tried: list[TentativeMembers] = dataclasses.field(default_factory=list)
    """All placements that were tried so far."""
    without_room: Sequence[WithoutRoom] = ()
    passed_over: PassedOver | None = None
    """None where no domain is preferred."""

    def steps(self) -> Steps[GroupResult]:
        for pod in self.attempt.members:
            self.context.cache.nominations.try_out(pod.metadata.uid)
        try:
            return (yield from self._run())
        except GroupWithdrawn:
            yield from self._take_back()
            raise
        finally:
            with contextlib.ExitStack() as stack:
                stack.callback(self._settle_nominations)
                if self.standing is not None:  # after a fault, or where nobody goes on
                    stack.callback(self.standing.take_back, self.context)

    def _settle_nominations(self) -> None:
        cache = self.context.cache
        for uid in (pod.metadata.uid for pod in self.attempt.members):
            placed = cache.pod_info(uid)
            cache.nominations.settle(uid, "" if placed is None else placed.node)

    def _run(self) -> Steps[GroupResult]:
        group, scheduled = self.attempt.group, self.attempt.scheduled
        plan = group_placements.plan(group, scheduled, self.revision, self.context)
        if isinstance(plan, Status):
            return GroupResult(plan)
        if plan.preferred:
            self.passed_over = PassedOver(len(self.attempt.members))
            for division in plan.preferred:
                if (whole := (yield from self._smallest(division, self.passed_over))) is not None:
                    return (yield from self._taken(whole))
        if plan.required is None:
            return (yield from self._best_of([ALL_NODES], 1))
        found = yield from self._domains(plan.required, max(1, group.min_count - len(scheduled)))
        room = found.or_roomiest()
        self.without_room = room.without_room
        return (yield from self._best_of(room.placements, room.total))

    def _best_of(self, placements: Sequence[Placement], total: int) -> Steps[GroupResult]:
        """The group in the best of these that take it, which are all that may of so many."""
        self.context.observer.placements_found(self.revision.scheduler_name, total)
        before, fit = len(self.tried), list[TentativeMembers]()
        for placement in placements:
            tried = yield from self._try(placement)
            if tried.status.code is Code.ERROR:
                return (yield from self._given_up(tried))
            if len(placements) > 1:
                yield from self._take_back()
            fit += [tried] if tried.status.code is Code.SUCCESS else []
            if len(fit) >= _ENOUGH_PLACEMENTS:
                break
        first = self.tried[before]
        best = functools.partial(self._best, fit)
        ask = self.attempt.at_once
        chosen = (yield from ask(best)) if fit else self._no_placement(first, total)
        if isinstance(chosen, Status):
            return (yield from self._given_up(first, chosen))
        return (yield from self._taken(chosen))

    def _taken(self, chosen: TentativeMembers) -> Steps[GroupResult]:
        """Its members are assumed, and it is looked at what others did meanwhile."""
        refused = (yield from self._place_again(chosen)) if self.standing is not chosen else ""
        if why := refused or (yield from patiently(lambda: self._check(chosen))):
            yield from self._take_back()
            overtaken = error_status(self._overtaken(why))
            return self._result(overtaken, chosen, overtaken=not refused)
        yield from self._let_go_of_lost(chosen)
        if not chosen.placed or chosen.status.code is not Code.SUCCESS:
            reasons = (UNSCHEDULABLE_GROUP, *chosen.status.reasons)
            return (yield from self._given_up(chosen, Status(Code.UNSCHEDULABLE, reasons)))
        self.standing = None
        known = self.passed_over
        status = SUCCESS if known is None else known.lying_in(chosen.placement)
        return self._result(status, chosen)

    # ---- one placement ---------------------------------------------------------------------------

    def _try(self, placement: Placement, whole: bool = False) -> Steps[TentativeMembers]:
        """The members on one placement; the observer hears whether they fit there."""
        began = self.context.observer.mark()
        tried = yield from self._place(placement, whole)
        fits = tried.status.code is Code.SUCCESS and not (whole and tried.refused)
        if tried.status.code is not Code.ERROR:
            self.context.observer.placement_tried(self.revision.scheduler_name, fits, began)
        return tried

    def _place(self, placement: Placement, whole: bool) -> Steps[TentativeMembers]:
        """Place one member after another until it is known that there are not enough; where it has
        to be the ``whole`` group, until one has no place.
        """
        tried = self.standing = TentativeMembers(placement)
        self.tried.append(tried)
        tried.status = self._feasible(tried)
        if tried.status.code is Code.UNSCHEDULABLE:
            tried.status = Status(Code.UNSCHEDULABLE, (UNSCHEDULABLE_GROUP, *tried.status.reasons))
            return tried
        for pod in self.attempt.members:
            decision = yield from self._ask_for(pod, placement)
            tried.add(decision, self._generation(decision))
            if isinstance(decision, Diagnosis) and decision.code is Code.ERROR:
                text = f"failed to schedule other pod from a pod group: {decision.message}"
                tried.status = error_status(text)
                return tried
            tried.status = self._feasible(tried)
            lacking = whole and isinstance(decision, Diagnosis)
            if lacking or tried.status.code is Code.UNSCHEDULABLE:
                break
            yield True
        if tried.status.code is Code.PENDING:
            tried.status = Status(Code.UNSCHEDULABLE, tried.status.reasons)
        return tried

    def _ask_for(self, pod: Pod, placement: Placement) -> Steps[Decision]:
        return self.attempt.at_once(functools.partial(self.place, pod, placement))

    def _feasible(self, tried: TentativeMembers) -> Status:
        """Whether enough are placed (SUCCESS), may still be (PENDING) or cannot be any more."""
        least = self.attempt.group.min_count
        scheduled = len(self.attempt.scheduled) + tried.placed_count
        remaining = len(self.attempt.members) - len(tried.decisions)
        count = f"{scheduled} scheduled, {remaining} remaining"
        if scheduled + remaining < least:
            text = f"minCount ({least}) cannot be satisfied: {count}"
            return Status(Code.UNSCHEDULABLE, (text,))
        if scheduled < least:
            return Status(Code.PENDING, (f"minCount ({least}) is not yet satisfied: {count}",))
        return SUCCESS

    # ---- several placements ----------------------------------------------------------------------

    def _domains(self, division: Division, needed: int) -> Steps[DomainsWithRoom]:
        wanted = Wanted(self.attempt.group, self.attempt.members, needed)
        ask = functools.partial(domains_with_room, division, wanted, self.revision, self.context)
        return self.attempt.at_once(ask)

    def _smallest(self, division: Division, over: PassedOver) -> Steps[TentativeMembers | None]:
        """The members in the domain with the least room that takes all of them."""
        room = yield from self._domains(division, len(self.attempt.members))
        self.context.observer.placements_found(self.revision.scheduler_name, room.total)
        over.without_room(division.key, room)
        for placement in room.placements[:_MAX_PREFERRED]:
            tried = yield from self._try(placement, whole=True)
            if tried.refused is None and tried.status.code is Code.SUCCESS:
                return tried
            over.tried(placement, (tried.refused or tried.status).message)
            yield from self._take_back()
        return None

    def _no_placement(self, first: TentativeMembers, count: int) -> Status:
        """``count``: how many placements there are."""
        if not self.attempt.group.topology_key:
            return first.status
        reasons = (
            UNSCHEDULABLE_GROUP,
            f"0/{count} placements are available",
            f"first placement status: {first.status.message}",
        )
        return Status(Code.UNSCHEDULABLE, reasons)

    def _best(self, fit: Sequence[TentativeMembers]) -> TentativeMembers | Status:
        if len(fit) == 1:
            return fit[0]
        already = len(self.attempt.scheduled)
        proposals = [
            Proposal(one.placement, already, [(member.pod, member.node) for member in one.placed])
            for one in fit
        ]
        group, revision = self.attempt.group, self.revision
        found = group_placements.best(group, proposals, revision, self.context)
        return found if isinstance(found, Status) else fit[found]

    def _place_again(self, tried: TentativeMembers) -> Steps[str]:
        """Assume those that were taken back where they were; why one does not fit there any more,
        "" when all do.
        """
        self.standing = TentativeMembers(tried.placement)
        for decision in tried.decisions:
            again = decision
            if isinstance(decision, ScheduleResult):
                again = yield from self._ask_for(decision.pod, Placement(name=decision.node))
                if isinstance(again, Diagnosis):
                    there = decision.node in self.context.snapshot.nodes.row_of
                    return again.message if there else f"node {decision.node!r} has been deleted"
            self.standing.add(again, self._generation(again))
            yield True
        tried.decisions, tried.generations = self.standing.decisions, self.standing.generations
        self.standing = tried
        return ""

    # ---- what others did meanwhile ---------------------------------------------------------------

    def _generation(self, decision: Decision) -> int:
        """That of the node of a pod that was placed."""
        if isinstance(decision, Diagnosis):
            return 0
        return self.context.cache.node_generation(decision.node)

    def _check(self, tried: TentativeMembers) -> str:
        """Why what was placed does not hold any more, as others had their turn; "" if it does. Goes
        on where it was broken off.
        """
        if why := self.broken():
            return why
        for i, decision in enumerate(tried.decisions):
            now = self._generation(decision)
            if isinstance(decision, Diagnosis) or now == tried.generations[i]:
                continue
            if why := cycle.recheck_node(decision, self.context):
                return why
            tried.generations[i] = now
        return ""

    def _let_go_of_lost(self, chosen: TentativeMembers) -> Steps[None]:
        """Members that are gone by now are taken back; whether the others are enough is judged
        anew.
        """
        news = yield from self.attempt.at_once(self.attempt.around.news)
        chosen.let_go(news.lost, self.revision, self.context)
        now = self.attempt.by_now(news)
        self.attempt = dataclasses.replace(now, members=self.attempt.members)
        chosen.status = self._feasible(chosen)

    def _overtaken(self, why: str) -> str:
        name = self.attempt.group.name
        return f'pod group "{name}" was overtaken while its members were placed: {why}'

    def _given_up(self, of: TentativeMembers, status: Status | None = None) -> Steps[GroupResult]:
        yield from self._take_back()
        return self._result(status or of.status, of)

    def _result(self, status: Status, of: TentativeMembers, overtaken: bool = False) -> GroupResult:
        tried = [one.tried() for one in self.tried]
        return GroupResult(status, of.decisions, tried, self.without_room, overtaken)

    def _take_back(self) -> Steps[None]:
        if self.standing is not None:
            yield from self.standing.take_back_in_steps(self.context)
            self.standing = None
