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
from collections.abc import Callable, Generator, Sequence
from typing import Final, NamedTuple, Protocol, TypeAlias, TypeVar

from moorage.core.columns.changes import Nomination
from moorage.core.cycle import cycle, group_placements
from moorage.core.cycle.context import CycleContext, Decision, Diagnosis, ScheduleResult
from moorage.core.cycle.decisions import Decided, DecidedBy
from moorage.core.cycle.post_filter import NO_POST_FILTER, fit_error
from moorage.core.framework.placement_contract import ALL_NODES, Assignments, Placement, Proposal
from moorage.core.framework.revisions import Revision
from moorage.core.framework.status import SUCCESS, Code, Status, error_status
from moorage.core.groups.group_spec import GroupSpec
from moorage.core.objects.pods import Pod
from moorage.core.structures.budget import OutOfTime

T = TypeVar("T")
Steps: TypeAlias = Generator[bool, bool | None, T]
"""Yields True after each piece of work, False where its time ran out; is sent whether others have
had a turn since.
"""
UNSCHEDULABLE_GROUP = "pod group is unschedulable"


def patiently(ask: Callable[[], T]) -> Steps[T]:
    """The answer; where time runs out it is asked again later."""
    while True:
        try:
            return ask()
        except OutOfTime:
            yield False


class Moment(Protocol):
    """Asks something of the state of one moment; raises what that raises. A replay knows these
    moments, and raises OutOfTime until one has come.
    """

    def __call__(self, ask: Callable[[], T], /) -> T: ...


class _AnyMoment:
    def __call__(self, ask: Callable[[], T], /) -> T:
        return ask()


AT_ANY_MOMENT: Final[Moment] = _AnyMoment()
"""Nobody is to know when."""


class PlaceMember(Protocol):
    """Places one pod on a node of the placement for real, or says why not."""

    def __call__(self, pod: Pod, placement: Placement, /) -> Decision: ...


@dataclasses.dataclass(frozen=True, slots=True)
class GroupAttempt:
    """What is to be placed: the group, its members in the order in which they are tried, and those
    that have a node.
    """

    group: GroupSpec
    members: Sequence[Pod]
    scheduled: Assignments = ()
    """Members that have a node, assumed or bound, with its name."""
    topology_aware: bool = False
    """Whether placements are spoken of even where there is only one."""
    moment: Moment = AT_ANY_MOMENT
    holds: bool = False
    """Whether room may be held for it if it does not fit and none can be made."""


class TriedPlacement(NamedTuple):
    """What came of a group on one placement; ``decisions`` as in ``GroupResult``."""

    placement: Placement
    decisions: Sequence[Decision]
    status: Status

    @property
    def placed(self) -> list[ScheduleResult]:
        """The members that found a node there."""
        return [one for one in self.decisions if isinstance(one, ScheduleResult)]


@dataclasses.dataclass(frozen=True, slots=True)
class GroupResult:
    """What came of a group. SUCCESS: the placed members are assumed; else nothing is.

    ``decisions`` are of the members that were looked at, in their order; those behind were not
    reached. ``tried``: all placements that were tried, in their order.
    """

    status: Status
    decisions: Sequence[Decision] = ()
    tried: Sequence[TriedPlacement] = ()
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
    said = fit_error(evaluation, context.snapshot, among)
    return dataclasses.replace(said.diagnosis(pod, revision, NO_POST_FILTER), nominated_node=None)


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
class _Tried:
    """One placement: the members so far, and the generations of their nodes when they were
    chosen.
    """

    placement: Placement
    decisions: list[Decision] = dataclasses.field(default_factory=list)
    generations: list[int] = dataclasses.field(default_factory=list)
    placed_count: int = 0
    status: Status = SUCCESS

    def add(self, decision: Decision, generation: int) -> None:
        """The next member's."""
        self.decisions.append(decision)
        self.generations.append(generation)
        self.placed_count += isinstance(decision, ScheduleResult)

    @property
    def placed(self) -> list[ScheduleResult]:
        return [one for one in self.decisions if isinstance(one, ScheduleResult)]


@dataclasses.dataclass(slots=True)
class _GroupCycle:
    """Its fields are ``schedule_group``'s arguments, and what is assumed now."""

    attempt: GroupAttempt
    place: PlaceMember
    context: CycleContext
    revision: Revision
    broken: Callable[[], str]
    nominated: dict[str, Nomination] = dataclasses.field(default_factory=dict)
    """By UID, what was known of members that were nominated when it began."""
    standing: _Tried | None = None
    """Whose members are assumed now."""
    tried: list[_Tried] = dataclasses.field(default_factory=list)
    """All placements that were tried so far."""

    def steps(self) -> Steps[GroupResult]:
        nominations = self.context.cache.nominations
        uids = [pod.metadata.uid for pod in self.attempt.members]
        self.nominated = {uid: nominations.state(uid) for uid in uids if uid in nominations}
        for uid in self.nominated:
            nominations.remove(uid)
        try:
            return (yield from self._run())
        except BaseException:
            if self.standing is not None:
                _take_back(self.standing, self.context)
            raise
        finally:
            for uid, state in self.nominated.items():
                if self.context.cache.pod_info(uid) is None:
                    nominations.restore(state)

    def _run(self) -> Steps[GroupResult]:
        attempt = self.attempt
        plan = group_placements.plan(attempt.group, attempt.scheduled, self.revision, self.context)
        if isinstance(plan, Status):
            return GroupResult(plan)
        found = [ALL_NODES]
        if plan.required is not None:
            found = group_placements.placements(plan.required)
        tried = self.tried
        for placement in found:
            tried.append((yield from self._try(placement)))
            if tried[-1].status.code is Code.ERROR:
                return self._given_up(tried[-1])
            if len(found) > 1:
                self._take_back()
        fit = [one for one in tried if one.status.code is Code.SUCCESS]
        if not fit:
            return self._given_up(tried[0], self._no_placement(tried))
        chosen = yield from patiently(lambda: attempt.moment(lambda: self._best(fit)))
        if isinstance(chosen, Status):
            return self._given_up(tried[0], chosen)
        refused = (yield from self._place_again(chosen)) if self.standing is not chosen else ""
        if why := refused or (yield from self._recheck(chosen)):
            self._take_back()
            overtaken = error_status(self._overtaken(why))
            return GroupResult(overtaken, chosen.decisions, self._said, overtaken=not refused)
        if not chosen.placed:
            return self._given_up(chosen, Status(Code.UNSCHEDULABLE, (UNSCHEDULABLE_GROUP,)))
        return GroupResult(SUCCESS, chosen.decisions, self._said)

    # ---- one placement ---------------------------------------------------------------------------

    def _try(self, placement: Placement) -> Steps[_Tried]:
        """Place one member after another until it is known that there are not enough."""
        tried = self.standing = _Tried(placement)
        tried.status = self._feasible(tried)
        if tried.status.code is Code.UNSCHEDULABLE:
            tried.status = Status(Code.UNSCHEDULABLE, (UNSCHEDULABLE_GROUP, *tried.status.reasons))
            return tried
        for pod in self.attempt.members:
            decision = yield from self._place_one(pod, placement)
            tried.add(decision, self._generation(decision))
            if isinstance(decision, Diagnosis) and decision.code is Code.ERROR:
                text = f"failed to schedule other pod from a pod group: {decision.message}"
                tried.status = error_status(text)
                return tried
            tried.status = self._feasible(tried)
            if tried.status.code is Code.UNSCHEDULABLE:
                break
            yield True
        if tried.status.code is Code.PENDING:
            tried.status = Status(Code.UNSCHEDULABLE, tried.status.reasons)
        return tried

    def _place_one(self, pod: Pod, placement: Placement) -> Steps[Decision]:
        """The only member for which room is kept now: siblings need not stand back for it."""
        nominations, uid = self.context.cache.nominations, pod.metadata.uid
        if uid in self.nominated:
            nominations.restore(self.nominated[uid])
        decision = yield from self._ask_for(pod, placement)
        if isinstance(decision, Diagnosis):
            nominations.remove(uid)
        return decision

    def _ask_for(self, pod: Pod, placement: Placement) -> Steps[Decision]:
        place = functools.partial(self.place, pod, placement)
        return (yield from patiently(lambda: self.attempt.moment(place)))

    def _feasible(self, tried: _Tried) -> Status:
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

    def _no_placement(self, tried: Sequence[_Tried]) -> Status:
        if not self.attempt.topology_aware:
            return tried[0].status
        reasons = (
            UNSCHEDULABLE_GROUP,
            f"0/{len(tried)} placements are available",
            f"first placement status: {tried[0].status.message}",
        )
        return Status(Code.UNSCHEDULABLE, reasons)

    def _best(self, fit: Sequence[_Tried]) -> _Tried | Status:
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

    def _place_again(self, tried: _Tried) -> Steps[str]:
        """Assume those that were taken back where they were; why one does not fit there any more,
        "" when all do.
        """
        self.standing = _Tried(tried.placement)
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

    def _recheck(self, tried: _Tried) -> Steps[str]:
        """Why what was placed does not hold any more, as others had their turn; "" if it does."""
        return (yield from patiently(lambda: self._check(tried)))

    def _check(self, tried: _Tried) -> str:
        """Goes on where it was broken off."""
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

    def _overtaken(self, why: str) -> str:
        name = self.attempt.group.name
        return f'pod group "{name}" was overtaken while its members were placed: {why}'

    def _given_up(self, tried: _Tried, status: Status | None = None) -> GroupResult:
        self._take_back()
        return GroupResult(status or tried.status, tried.decisions, self._said)

    @property
    def _said(self) -> list[TriedPlacement]:
        return [TriedPlacement(one.placement, one.decisions, one.status) for one in self.tried]

    def _take_back(self) -> None:
        if self.standing is not None:
            _take_back(self.standing, self.context)
            self.standing = None


def _take_back(tried: _Tried, context: CycleContext) -> None:
    """In reverse order, each whatever another one raises."""
    with contextlib.ExitStack() as stack:
        for placement in tried.placed:
            stack.callback(cycle.unreserve_and_forget, placement, context.cache)
