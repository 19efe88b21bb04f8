"""What is kept of decisions: enough to compare, and to make them again."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from moorage.core.columns.changes import Entry
from moorage.core.cycle.context import Decision, ScheduleResult
from moorage.core.cycle.decisions import Decided, DecidedBy, GroupDecided
from moorage.core.framework.placement_contract import ALL_NODES, Placement
from moorage.core.framework.revisions import Revision
from moorage.core.framework.status import Status
from moorage.core.objects.pods import Pod


class RecordedOutcome(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """Where a pod goes (``node``), or why nowhere; pods are named by UID, sets are sorted. Of a
    PodGroup: what is said of the group, and in ``members`` of each of them.
    """

    node: str = ""
    feasible_nodes: int = 0
    score: int | None = None
    code: str = ""
    message: str = ""
    unschedulable_plugins: tuple[str, ...] = ()
    nominated_node: str | None = None
    victims: tuple[str, ...] = ()
    by_eviction: bool = False
    held: bool = False
    blocking_nominated_pods: tuple[str, ...] = ()
    post_filter_actions: tuple[str, ...] = ()
    members: tuple[RecordedOutcome, ...] = ()


class RecordedDecision(Entry, frozen=True):
    """A decision. ``revision``: None where it cannot be resolved here, so that nothing can be
    decided again. ``pod``: the first member of a PodGroup; ``cycle``: its attempt's number then.
    """

    pod: Pod
    revision: Revision | None
    by: DecidedBy
    sampled_from: int
    cycle: int
    outcome: RecordedOutcome
    placement: Placement = ALL_NODES
    makes_room: bool = True


def recorded(decided: Decided | GroupDecided) -> RecordedDecision:
    """What is kept of a decision that was just made."""
    if isinstance(decided, GroupDecided):
        by = DecidedBy.NOBODY if decided.overtaken else DecidedBy.POD_GROUP
        outcome = group_outcome_of(decided.status, decided.members, decided.victims)
        return RecordedDecision(decided.first, decided.revision, by, 0, decided.attempt, outcome)
    result = decided.outcome
    return RecordedDecision(
        result.pod,
        result.revision,
        decided.by,
        decided.sampled_from,
        decided.cycle,
        outcome_of(result),
        decided.placement,
        decided.makes_room,
    )


def group_outcome_of(
    status: Status, members: Iterable[Decision], victims: Iterable[Pod]
) -> RecordedOutcome:
    """The same of a PodGroup. For whom room is kept is compared where its members are decided."""
    said = (msgspec.structs.replace(outcome_of(one), blocking_nominated_pods=()) for one in members)
    return RecordedOutcome(
        code=status.code.value,
        message=status.message,
        victims=tuple(pod.metadata.uid for pod in victims),
        members=tuple(said),
    )


def outcome_of(result: Decision) -> RecordedOutcome:
    """What has to be the same when the same is decided again."""
    if isinstance(result, ScheduleResult):
        return RecordedOutcome(result.node, result.feasible_nodes, result.score)
    return RecordedOutcome(
        code=result.code.value,
        message=result.message,
        unschedulable_plugins=tuple(sorted(result.unschedulable_plugins)),
        nominated_node=result.nominated_node,
        victims=tuple(victim.metadata.uid for victim in result.victims),
        by_eviction=result.by_eviction,
        held=result.held,
        blocking_nominated_pods=tuple(
            record.pod.metadata.uid for record in result.blocking_nominated_pods
        ),
        post_filter_actions=tuple(result.post_filter_actions),
    )
