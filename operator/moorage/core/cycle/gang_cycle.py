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

from moorage.core.cycle import cycle
from moorage.core.cycle.context import CycleContext, Diagnosis, ScheduleResult
from moorage.core.cycle.post_filter import PostFilterOutcome, fit_error, run_post_filters
from moorage.core.framework.evaluation.evaluation import Evaluation
from moorage.core.framework.evaluation.rejections import node_codes
from moorage.core.framework.post_filter_contract import PostFilterResult
from moorage.core.framework.revisions import Revision
from moorage.core.framework.status import REJECTED, SUCCESS, Code
from moorage.core.objects.pods import Pod
from moorage.core.pods.requests import pod_requests
from moorage.core.structures.budget import OutOfTime

NO_POST_FILTER = PostFilterOutcome(PostFilterResult(SUCCESS, ""))


PlaceFn: TypeAlias = Callable[[Pod], ScheduleResult | Diagnosis]
PlacingSteps: TypeAlias = Generator[bool, bool | None, list[ScheduleResult | Diagnosis]]
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


def place_member(
    pod: Pod, revision: Revision, context: CycleContext, holds: bool = False
) -> ScheduleResult | Diagnosis:
    """Decide and commit; a pod that fits nowhere has no room made for it, but where it ``holds``
    room it is nominated.
    """
    evaluation = cycle.run_filters(pod, revision, context)
    if isinstance(evaluation, Diagnosis):
        return evaluation
    if not evaluation.fits:
        said = fit_error(evaluation, context.snapshot)
        return said.diagnosis(
            pod,
            revision,
            _nominate_only(pod, revision, context, evaluation) if holds else NO_POST_FILTER,
        )
    placement = cycle.decide(pod, revision, context)
    return (
        cycle.assume_and_reserve(placement, context)
        if isinstance(placement, ScheduleResult)
        else placement
    )


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
    if node:
        # its siblings look for other places
        nominations.add(pod, node, pod_requests(pod), held=True)
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
    outcomes: list[ScheduleResult | Diagnosis] = []
    try:
        node_generations = yield from _place_all(pods, place, context, outcomes)
        enough = sum(isinstance(outcome, ScheduleResult) for outcome in outcomes) >= gang.needed
        why = (
            (yield from _recheck_members(outcomes, node_generations, context, broken))
            if enough
            else ""
        )
        if enough and not why:
            return [
                outcome if isinstance(outcome, ScheduleResult) else _with_nomination(outcome, "")
                for outcome in outcomes
            ]
        explained = (
            _member_errors(gang, outcomes, why) if why else list(_member_diagnoses(gang, outcomes))
        )
        for outcome, instead in zip(reversed(outcomes), reversed(explained), strict=True):
            if isinstance(outcome, ScheduleResult):
                cycle.unreserve_and_forget(outcome, context.cache)
                if instead.held:
                    context.cache.nominate(outcome.pod, outcome.node, held=True)
                yield True
    except BaseException:
        # each is taken back, in reverse order, whatever another one raises
        with contextlib.ExitStack() as stack:
            for outcome in outcomes:
                if isinstance(outcome, ScheduleResult):
                    stack.callback(cycle.unreserve_and_forget, outcome, context.cache)
        raise
    return list(explained)


def _place_all(
    pods: Sequence[Pod],
    place: PlaceFn,
    context: CycleContext,
    outcomes: list[ScheduleResult | Diagnosis],
) -> Generator[bool, bool | None, list[int]]:
    """Place one after another; the generation of each one's node when it was chosen, none
    where nobody could do anything meanwhile.
    """
    node_generations: list[int] = []
    paused = False
    for pod in pods:
        while len(outcomes) == len(node_generations):
            try:
                outcomes.append(place(pod))
            except OutOfTime:
                paused |= bool((yield False))
        outcome = outcomes[-1]
        node_generations.append(
            context.cache.node_generation(outcome.node)
            if isinstance(outcome, ScheduleResult)
            else 0
        )
        paused |= bool((yield True))
    return node_generations if paused else []


def _recheck_members(
    outcomes: Sequence[ScheduleResult | Diagnosis],
    node_generations: list[int],
    context: CycleContext,
    broken: Callable[[], str],
) -> Generator[bool, bool | None, str]:
    """Why what was placed does not hold any more, as others had their turn meanwhile; "" when it
    does.
    """
    paused = bool(node_generations)
    while paused:
        paused = False
        if why := broken():
            return why
        for i, outcome in enumerate(outcomes):
            if (
                isinstance(outcome, ScheduleResult)
                and context.cache.node_generation(outcome.node) != node_generations[i]
            ):
                now = context.cache.node_generation(outcome.node)
                try:
                    if why := cycle.recheck_node(outcome, context):
                        return why
                except OutOfTime:
                    paused |= bool((yield False))
                    break
                node_generations[i] = now
    return ""


def _member_errors(
    gang: Gang, outcomes: Sequence[ScheduleResult | Diagnosis], why: str
) -> list[Diagnosis]:
    """Everybody is tried again."""
    text = f'pod group "{gang.name}" was overtaken while its members were placed: {why}'
    return [Diagnosis.error(outcome.pod, outcome.revision, text) for outcome in outcomes]


def _member_diagnoses(
    gang: Gang, outcomes: Sequence[ScheduleResult | Diagnosis]
) -> list[Diagnosis]:
    """Why nobody was placed: those that did not fit for their own reason, the others for the first
    of these.

    Whatever may free one of them may free them all: everybody that was not at fault is rejected by
    all who rejected one.
    """
    refusals = [outcome for outcome in outcomes if isinstance(outcome, Diagnosis)]
    first = refusals[0]
    rejectors = frozenset[str]().union(
        *(refusal.unschedulable_plugins for refusal in refusals if refusal.code in REJECTED)
    )
    fit = len(outcomes) - len(refusals)
    head = (
        f'pod group "{gang.name}": {fit} of {len(outcomes)} waiting members fit, {gang.needed} '
        f"must (minMember {gang.min_member})"
    )
    seats = [
        outcome.node if isinstance(outcome, ScheduleResult) else outcome.nominated_node or ""
        for outcome in outcomes
    ]
    holds = bool(gang.hold_message_suffix) and len(seats) - seats.count("") >= gang.needed
    note = gang.message_suffix + (gang.hold_message_suffix if holds else "")
    explained = []
    for outcome, seat in zip(outcomes, seats, strict=True):
        if isinstance(outcome, ScheduleResult):
            text = (
                f"{head}; this one fits and waits for others such as "
                f"{first.pod.metadata.name!r}: {first.message}"
            )
            diagnosis = Diagnosis(
                pod=outcome.pod,
                revision=outcome.revision,
                code=Code.UNSCHEDULABLE,
                message=text + note,
                unschedulable_plugins=rejectors,
            )
        else:
            blamed = rejectors if outcome.code in REJECTED else outcome.unschedulable_plugins
            diagnosis = dataclasses.replace(
                outcome, message=f"{head}: {outcome.message}{note}", unschedulable_plugins=blamed
            )
        explained.append(_with_nomination(diagnosis, seat if holds else "", holds))
    return explained


def _with_nomination(diagnosis: Diagnosis, seat: str, holds: bool = False) -> Diagnosis:
    """Room is held for it there ("": nowhere). A gang that holds some is tried again without
    backoff, ahead of whom it is held from.
    """
    code = Code.PENDING if holds and diagnosis.code in REJECTED else diagnosis.code
    return dataclasses.replace(diagnosis, code=code, nominated_node=seat, held=bool(seat))
