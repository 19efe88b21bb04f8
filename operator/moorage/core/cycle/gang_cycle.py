"""Gangs: the members of a pod group that must be placed at once, or not at all.

Members are placed one after another, for real: each sees what those before it took, whatever kind
of thing that is. When fewer fit than are needed everything is taken back, in reverse order, so a
group that does not fit holds nothing while it waits. A large group is placed in slices, beside
groups of other profiles (``engine/scheduling/gang_attempts.py`` says which of them goes first where
they are in each other's way); what others did to its nodes meanwhile is looked at before anything
is bound.

No room is made for a group that does not fit: what would be evicted for one member helps nobody if
the next one finds no room. For one that has waited for long, room is held
(``engine/scheduling/gang_holds.py`` says for whom and how long): its members are nominated.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Generator, Sequence
from typing import TypeAlias

from moorage.core.columns.pod_info import PodInfo
from moorage.core.cycle import cycle
from moorage.core.cycle.context import CycleContext, Decision, Diagnosis, ScheduleResult
from moorage.core.cycle.decisions import Decided, DecidedBy
from moorage.core.cycle.post_filter import (
    NO_POST_FILTER,
    PostFilterOutcome,
    fit_error,
    run_post_filters,
)
from moorage.core.framework.evaluation.evaluation import Evaluation
from moorage.core.framework.evaluation.rejections import node_codes
from moorage.core.framework.post_filter_contract import PostFilterResult
from moorage.core.framework.revisions import Revision
from moorage.core.framework.status import REJECTED, SUCCESS, Code
from moorage.core.objects.pods import Pod
from moorage.core.pods.requests import pod_requests
from moorage.core.structures.budget import OutOfTime

PlaceFn: TypeAlias = Callable[[Pod], Decision]
PlacingSteps: TypeAlias = Generator[bool, bool | None, list[Decision]]
"""Yields True after each piece of work, False where its time ran out; is sent whether others have
had a turn since. Returns the outcome of each pod.
"""


@dataclasses.dataclass(frozen=True, slots=True)
class Gang:
    """Which group it is, how many of its members must be placed now, and how many in all."""

    name: str
    needed: int
    min_member: int
    message_suffix: str = ""
    """Said at the end of each message."""
    hold_message_suffix: str = ""
    """Said then where room is held for it; "" where none may be."""

    def message(self, fit: int, waiting: int) -> str:
        """Why none of them was placed."""
        return (
            f'pod group "{self.name}": {fit} of {waiting} waiting members fit, {self.needed} must '
            f"(minMember {self.min_member})"
        )


def place_member(
    pod: Pod, revision: Revision, context: CycleContext, holds: bool = False
) -> Decision:
    """Decide and commit; a pod that fits nowhere has no room made for it, but where it ``holds``
    room it is nominated.
    """
    sampled_from = context.sampler.start
    outcome = decide_member(pod, revision, context, holds)
    by = DecidedBy.HOLDING_GANG_MEMBER if holds else DecidedBy.GANG_MEMBER
    context.cache.journal.append(Decided(outcome, by, sampled_from))
    if isinstance(outcome, ScheduleResult):
        return cycle.assume_and_reserve(outcome, context)
    if holds and outcome.nominated_node:
        # its siblings look for other places
        context.cache.nominations.add(pod, outcome.nominated_node, pod_requests(pod), held=True)
    return outcome


def decide_member(
    pod: Pod, revision: Revision, context: CycleContext, holds: bool = False
) -> Decision:
    """As ``cycle.decide``, without making room; a pod that ``holds`` room says where."""
    evaluation = cycle.run_filters(pod, revision, context)
    if isinstance(evaluation, Diagnosis):
        return evaluation
    if evaluation.fits:
        return cycle.decide(pod, revision, context)
    said, room = fit_error(evaluation, context.snapshot), NO_POST_FILTER
    if holds:
        room = _nominate_only(pod, revision, context, evaluation)
    return said.diagnosis(pod, revision, room)


def _nominate_only(
    pod: Pod, revision: Revision, context: CycleContext, evaluation: Evaluation
) -> PostFilterOutcome:
    """The node that the pod would fit without pods of lower priority; they stay, but nobody follows
    them there.
    """
    nominations, nodes = context.cache.nominations, context.snapshot.nodes
    node = nominations.nominated_node(pod.metadata.uid)
    if (
        node not in nodes.row_of
        or node_codes(evaluation, context.snapshot)[nodes.row_of[node]] != 1
    ):
        node = run_post_filters(pod, revision, context, evaluation).result.nominated_node or ""
    return PostFilterOutcome(PostFilterResult(SUCCESS, node))


def place_gang(
    gang: Gang,
    pods: Sequence[Pod],
    place: PlaceFn,
    context: CycleContext,
    broken: Callable[[], str],
) -> PlacingSteps:
    """The outcome of each pod, in the order given: at least ``needed`` placements, or none. There
    are at least so many pods.

    ``place`` places one pod for real. Where enough are placed, the diagnoses of the others are
    their own: they are pods on which nobody depends, and each is tried again by itself.
    ``broken`` says what has become of the members or the profile meanwhile that makes all of it
    useless, "" if nothing has.
    """
    return _GangCycle(gang, pods, place, context, broken).steps()


@dataclasses.dataclass(slots=True)
class _GangCycle:
    """One group's cycle; its fields are ``place_gang``'s arguments, and how far it is."""

    gang: Gang
    pods: Sequence[Pod]
    place: PlaceFn
    context: CycleContext
    broken: Callable[[], str]
    outcomes: list[Decision] = dataclasses.field(default_factory=list)
    node_generations: list[int] = dataclasses.field(default_factory=list)
    """Of the node of each one, when it was chosen."""
    nominated: dict[str, PodInfo] = dataclasses.field(default_factory=dict)
    """By UID, the members that were nominated until they were placed, with their nodes."""
    paused: bool = False
    """Whether others have had a turn since the nodes were looked at."""

    def steps(self) -> PlacingSteps:
        """The steps to the outcome of each pod."""
        try:
            yield from self._place_all()
            if len(self._placements()) < self.gang.needed:
                diagnoses = self._diagnoses()
            elif why := (yield from self._recheck()):
                diagnoses = self._errors(why)
            else:
                return [_without_nomination(outcome) for outcome in self.outcomes]
            yield from self._take_back(diagnoses)
            return list(diagnoses)
        except BaseException:
            # each is taken back, in reverse order, whatever another one raises
            with contextlib.ExitStack() as stack:
                for placement in self._placements():
                    stack.callback(self._nominate_again, placement)
                    stack.callback(cycle.unreserve_and_forget, placement, self.context.cache)
            raise

    def _nominate_again(self, placement: ScheduleResult) -> None:
        """A member is not placed any more: room is kept for it where it was before."""
        cache, uid = self.context.cache, placement.pod.metadata.uid
        before, pod = self.nominated.get(uid), cache.waiting.get(uid)
        if before is not None and pod is not None and pod.metadata.deletion_timestamp is None:
            cache.nominations.nominate(pod, before.node, before.held)

    def _placements(self) -> list[ScheduleResult]:
        return [outcome for outcome in self.outcomes if isinstance(outcome, ScheduleResult)]

    def _place_all(self) -> Generator[bool, bool | None, None]:
        """Place one after another."""
        for pod in self.pods:
            if (before := self.context.cache.nominations.get(pod.metadata.uid)) is not None:
                self.nominated[pod.metadata.uid] = before
            while len(self.outcomes) == len(self.node_generations):
                try:
                    self.outcomes.append(self.place(pod))
                except OutOfTime:
                    yield False
                    self.paused = True
            self.node_generations.append(self._generation(self.outcomes[-1]))
            self.paused |= bool((yield True))

    def _generation(self, outcome: Decision) -> int:
        """That of the node of a pod that was placed."""
        if isinstance(outcome, Diagnosis):
            return 0
        return self.context.cache.node_generation(outcome.node)

    def _recheck(self) -> Generator[bool, bool | None, str]:
        """Why what was placed does not hold any more, as others had their turn; "" if it does."""
        while self.paused:
            self.paused = False
            if why := self.broken():
                return why
            for i, outcome in enumerate(self.outcomes):
                now = self._generation(outcome)
                if isinstance(outcome, Diagnosis) or now == self.node_generations[i]:
                    continue
                try:
                    if why := cycle.recheck_node(outcome, self.context):
                        return why
                except OutOfTime:
                    yield False
                    self.paused = True
                    break
                self.node_generations[i] = now
        return ""

    def _take_back(self, diagnoses: Sequence[Diagnosis]) -> Generator[bool, bool | None, None]:
        """Take back what was placed, in reverse order; room is held there where that is said."""
        cache = self.context.cache
        for outcome, instead in zip(reversed(self.outcomes), reversed(diagnoses), strict=True):
            if isinstance(outcome, ScheduleResult):
                cycle.unreserve_and_forget(outcome, cache)
                if instead.held and outcome.pod.metadata.uid in cache.waiting:
                    requests = pod_requests(outcome.pod)
                    cache.nominations.add(outcome.pod, outcome.node, requests, held=True)
                yield True

    # ---- why nobody was placed -------------------------------------------------------------------

    def _errors(self, why: str) -> list[Diagnosis]:
        """Everybody is tried again."""
        text = f'pod group "{self.gang.name}" was overtaken while its members were placed: {why}'
        return [Diagnosis.error(outcome.pod, outcome.revision, text) for outcome in self.outcomes]

    def _diagnoses(self) -> list[Diagnosis]:
        """Those that did not fit have their own reason, the others the first of these.

        Whatever may free one of them may free them all: everybody that was not at fault is rejected
        by all who rejected one.
        """
        refusals = [outcome for outcome in self.outcomes if isinstance(outcome, Diagnosis)]
        blamed = [one.unschedulable_plugins for one in refusals if one.code in REJECTED]
        rejectors = frozenset[str]().union(*blamed)
        head = self.gang.message(len(self.outcomes) - len(refusals), len(self.outcomes))
        seats = self._seats()
        note = self.gang.message_suffix + (self.gang.hold_message_suffix if any(seats) else "")
        explained = []
        for outcome, seat in zip(self.outcomes, seats, strict=True):
            message = f"{head}{_reason(outcome, refusals[0])}{note}"
            diagnosis = _rejected(outcome, message, rejectors)
            explained.append(_with_nomination(diagnosis, seat, holds=any(seats)))
        return explained

    def _seats(self) -> list[str]:
        """Where room is held for each, "" for nowhere: for enough of them, or for none."""
        seats = [
            outcome.node if isinstance(outcome, ScheduleResult) else outcome.nominated_node or ""
            for outcome in self.outcomes
        ]
        holds = self.gang.hold_message_suffix and sum(map(bool, seats)) >= self.gang.needed
        return seats if holds else [""] * len(seats)


def _reason(outcome: Decision, first: Diagnosis) -> str:
    """What is said of a member: what stands against it, or, as it fits, whom it waits for."""
    if isinstance(outcome, Diagnosis):
        return f": {outcome.message}"
    name = first.pod.metadata.name
    return f"; this one fits and waits for others such as {name!r}: {first.message}"


def _rejected(outcome: Decision, message: str, rejectors: frozenset[str]) -> Diagnosis:
    """A member is rejected by all of these, unless it was at fault itself."""
    if isinstance(outcome, ScheduleResult):
        return Diagnosis(
            pod=outcome.pod,
            revision=outcome.revision,
            code=Code.UNSCHEDULABLE,
            message=message,
            unschedulable_plugins=rejectors,
        )
    blamed = rejectors if outcome.code in REJECTED else outcome.unschedulable_plugins
    return dataclasses.replace(outcome, message=message, unschedulable_plugins=blamed)


def _without_nomination(outcome: Decision) -> Decision:
    """No room is held for a pod that does not fit and on which nobody depends."""
    return outcome if isinstance(outcome, ScheduleResult) else _with_nomination(outcome, "")


def _with_nomination(diagnosis: Diagnosis, seat: str, holds: bool = False) -> Diagnosis:
    """Room is held for it there ("": nowhere). A gang that holds some is tried again without
    backoff, ahead of whom it is held from.
    """
    code = Code.PENDING if holds and diagnosis.code in REJECTED else diagnosis.code
    return dataclasses.replace(diagnosis, code=code, nominated_node=seat, held=bool(seat))
