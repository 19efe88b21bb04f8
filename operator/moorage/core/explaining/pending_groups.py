"""A pod group that waits: who is there and who is missing, which members find a node, what was
tried for them, and what would help all of them.

All of it comes from an attempt of the group as the cycle makes it, of which nothing stays.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Collection, Iterable, Iterator
from typing import Any, NamedTuple

from moorage.core.cycle.context import CycleContext, Decision, Diagnosis, ScheduleResult
from moorage.core.cycle.cycle import run_filters, unreserve_and_forget
from moorage.core.cycle.group_attempt import GroupAttempt, attempt_of
from moorage.core.cycle.group_cycle import place_member
from moorage.core.cycle.group_outcome import GroupOutcome
from moorage.core.cycle.group_scheduling import GroupScheduling
from moorage.core.cycle.placement_answers import PlacementAnswer, placement_answers
from moorage.core.cycle.tentative_members import TriedPlacement
from moorage.core.explaining.gates import Gate, counted, group_gate
from moorage.core.explaining.pending_pods import NO_LIMIT, Limits
from moorage.core.explaining.refusals import RefusalGroup, refusal_groups
from moorage.core.explaining.suggestions import Suggestion, suggestions
from moorage.core.explaining.what_if_group import WhatIfGroup, at_once
from moorage.core.framework.evaluation.evaluation import Evaluation
from moorage.core.framework.placement_contract import Placement
from moorage.core.framework.revisions import Revision
from moorage.core.framework.status import Code
from moorage.core.groups.group_spec import GroupSpec
from moorage.core.objects.pod_groups import GroupKey
from moorage.core.objects.pods import Pod
from moorage.core.queue.pod_group_state import PodGroupState
from moorage.core.queue.queued_pod import QueuedPodInfo
from moorage.core.recording.forks import fork


class Member(NamedTuple):
    """One member. ``node``: where it is (``placed``), or where it would go; ``message``: why it
    goes nowhere.
    """

    pod: Pod
    node: str = ""
    placed: bool = False
    message: str = ""


class GroupPreemptionAnswer(NamedTuple):
    """Whom the group would displace, and where its members would go, by name; none of both where
    that does not help, and ``message`` says why.
    """

    victims: tuple[Pod, ...] = ()
    nodes: tuple[tuple[str, str], ...] = ()
    message: str = ""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class GroupExplanation:
    """Why a group is pending; of one that is gated no node is said anything.

    ``spec`` is None while nothing says what the group asks for. ``present``: members that count.
    ``begun``: whether its minimum was met once. ``fits``: enough members find a node. ``refused``:
    the member that ``suggestions`` are changes of, and ``refusals``, with those before it on their
    nodes; there are none where the group is tried on a part of the nodes. ``held``: members for
    which room is held, with the node.
    """

    key: GroupKey
    revision: Revision
    spec: GroupSpec | None
    present: int
    begun: bool
    members: tuple[Member, ...]
    gate: Gate | None = None
    error: str = ""
    fits: bool = False
    message: str = ""
    placements: tuple[PlacementAnswer, ...] = ()
    refused: Pod | None = None
    refusals: tuple[RefusalGroup, ...] = ()
    suggestions: tuple[Suggestion, ...] = ()
    untried: int = 0
    preemption: GroupPreemptionAnswer | None = None
    held: tuple[tuple[Pod, str], ...] = ()


def explain_group(
    context: CycleContext,
    pod: Pod,
    revision: Revision,
    limits: Limits = NO_LIMIT,
    unserved: Collection[str] = (),
) -> GroupExplanation:
    """Why the group of this pod has no nodes, and what would help. Extenders are not asked. Of a
    group no member of which waits, only who is there is said. ``unserved`` as in
    ``pending_pods.explain_pending``.
    """
    groups, group = counted(pod, revision, context, unserved)
    waiting = [*group.waiting.values(), *group.held_back.values()]
    there = _there(group, context)
    explained = functools.partial(
        GroupExplanation,
        key=group.key,
        revision=revision,
        spec=groups.spec(group),
        present=group.present,
        begun=group.met,
        held=tuple(_held(waiting, context)),
    )
    if not waiting:
        return explained(members=there)
    attempt = attempt_of(waiting, groups, context.cache)
    if (gate := group_gate(groups, group)) is not None or attempt is None:
        return explained(members=(*there, *(Member(one.pod) for one in waiting)), gate=gate)
    outcome = _outcome(attempt, revision, context)
    best = max(outcome.tried, key=lambda one: len(one.placed), default=None)
    members = (*there, *_members(attempt, outcome, best))
    if outcome.status.code is Code.ERROR:
        return explained(members=members, error=outcome.status.message)
    answers = placement_answers(outcome, len(outcome.members))
    if outcome.status.code is Code.SUCCESS:
        return explained(members=members, fits=True, placements=answers)
    said = _refused(attempt, best, revision, context, limits)
    return explained(
        members=members,
        message=outcome.status.message,
        placements=answers,
        preemption=_preemption(attempt, outcome),
        **said,
    )


def _held(waiting: Iterable[QueuedPodInfo], context: CycleContext) -> Iterator[tuple[Pod, str]]:
    for entry in waiting:
        nominated = context.cache.nominations.get(entry.uid)
        if nominated is not None and nominated.held:
            yield entry.pod, nominated.node


def _there(group: PodGroupState, context: CycleContext) -> tuple[Member, ...]:
    """The members that have a node."""
    infos = (context.cache.pod_info(uid) for uid in group.assigned)
    return tuple(
        Member(info.pod, info.node, placed=True)
        for info in infos
        if info is not None and isinstance(info.pod, Pod)
    )


def _outcome(attempt: GroupAttempt, revision: Revision, context: CycleContext) -> GroupOutcome:
    """What comes of the group, with all taken back."""

    def place(pod: Pod, placement: Placement, /) -> Decision:
        return place_member(pod, revision, context, placement)

    with WhatIfGroup(context, revision, attempt).nothing_stays():
        steps = GroupScheduling(context, fork).attempt(attempt, revision, place)
        outcome = at_once(steps, context)
        if outcome.status.code is Code.SUCCESS:
            for one in reversed([*outcome.members.values()]):
                if isinstance(one, ScheduleResult):
                    unreserve_and_forget(one, context.cache)
    return outcome


def _members(
    attempt: GroupAttempt, outcome: GroupOutcome, best: TriedPlacement | None
) -> Iterator[Member]:
    """Those that wait; of a group that fits nowhere as the best placement had them."""
    fits = outcome.status.code is Code.SUCCESS
    decisions = () if fits or best is None else best.decisions
    found = {one.pod.metadata.uid: one for one in decisions}
    for pod in attempt.members:
        decision = found.get(pod.metadata.uid) or outcome.members[pod.metadata.uid]
        if isinstance(decision, ScheduleResult):
            yield Member(pod, decision.node)
        else:
            yield Member(pod, message=decision.message)


def _preemption(attempt: GroupAttempt, outcome: GroupOutcome) -> GroupPreemptionAnswer:
    found = outcome.room.preemption
    if found is None or found.status.code is not Code.SUCCESS:
        return GroupPreemptionAnswer(message=outcome.room.message)
    nodes = tuple(
        (pod.metadata.name, found.nominations[pod.metadata.uid])
        for pod in attempt.members
        if pod.metadata.uid in found.nominations
    )
    return GroupPreemptionAnswer(found.victims, nodes, found.status.message)


def _refused(
    attempt: GroupAttempt,
    best: TriedPlacement | None,
    revision: Revision,
    context: CycleContext,
    limits: Limits,
) -> dict[str, Any]:
    """What there is to say of the first member that found no node on the best placement."""
    decisions = best.decisions if best is not None else ()
    refused = next((one.pod for one in decisions if isinstance(one, Diagnosis)), None)
    what_if = WhatIfGroup(context, revision, attempt, best.placed if best is not None else ())
    refusals = tuple[RefusalGroup, ...]()
    everywhere = best is not None and best.placement.rows(context.snapshot.nodes) is None
    if refused is not None and everywhere:
        with what_if.beside_siblings():
            evaluation = run_filters(refused, revision, context)
            if isinstance(evaluation, Evaluation):
                refusals = refusal_groups(evaluation, refused, context.snapshot, limits.nearest)
    near = [node.node for group in refusals for node in group.nearest]
    help_for = refused or attempt.members[0]
    found = suggestions(what_if, help_for, near, limits.seconds)
    return {
        "refused": help_for,
        "refusals": refusals,
        "suggestions": found.found,
        "untried": found.untried,
    }
