"""Fits of pod groups: whether a group would start now, how many such groups would, and which member
stands in the way. Each is tried as the cycle places a group, topology included; nobody has to go.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Sequence
from typing import Final

import msgspec

from moorage.core.columns.pod_info import PodState
from moorage.core.cycle.context import Decision, Diagnosis, ScheduleResult
from moorage.core.cycle.group_attempt import GroupAttempt
from moorage.core.cycle.group_cycle import (
    GroupResult,
    place_member,
    schedule_group,
)
from moorage.core.cycle.group_validation import validate
from moorage.core.cycle.placement_answers import PlacementAnswer, placement_answers
from moorage.core.cycle.tentative_members import TriedPlacement
from moorage.core.framework.placement_contract import Placement
from moorage.core.framework.status import Code
from moorage.core.groups.group_spec import GroupSpec
from moorage.core.objects.pod_groups import group_of
from moorage.core.objects.pods import Pod, priority
from moorage.core.simulation.fitting import MAX_MORE_NODES, MAX_ROOM, MAX_SHAPES, MoreNodes
from moorage.core.simulation.more_nodes import add_nodes, shapes
from moorage.core.simulation.simulated_groups import finished
from moorage.core.simulation.simulator import Simulator

MAX_GROUPS: Final = 1_000
"""Groups beyond the first to which room is counted at most."""


@dataclasses.dataclass(frozen=True, slots=True)
class GroupFit:
    """What comes of one group of these members."""

    spec: GroupSpec
    members: tuple[Pod, ...]
    starts: bool
    """Whether as many members as it needs find a place."""
    nodes: tuple[tuple[Pod, str], ...]
    """Where members go; of a group that does not start, where they would, as the best domain has
    them, and nobody stays there.
    """
    room: int
    """How many such groups would start in all."""
    counted_out: bool
    """Whether room was counted to its end."""
    domains: tuple[PlacementAnswer, ...]
    """What came of each value of the topology key; of all nodes where it has none."""
    obstacle: Pod | None
    """The first member that finds no node, of this group, else of the first one too many."""
    reason: str
    """Why it finds none; of a group that has too few members, that."""
    more_nodes: MoreNodes | None
    """With which the group would start; None where it does, or no node of any kind would do."""

    @property
    def fits(self) -> bool:
        """Whether every member has a place."""
        return self.starts and len(self.nodes) == len(self.members)


def fit_group(simulator: Simulator, spec: GroupSpec, members: Sequence[Pod]) -> GroupFit:
    """Place the group if it starts; it stays placed in this simulator. Raises KeyError where nobody
    decides for the members.
    """
    group = _Trying(simulator, spec, _ordered(members))
    if group.lacking:
        return group.too_small()
    result = group.place()
    starts = result.status.code is Code.SUCCESS
    room, last = 0, result
    if starts:
        with simulator.trial():
            room, last = group.count_others()
    obstacle = _obstacle(result) or _obstacle(last)
    return GroupFit(
        spec,
        tuple(members),
        starts,
        tuple((one.pod, one.node) for one in _best_placed(result)),
        room + starts,
        last.status.code is not Code.SUCCESS,
        placement_answers(result, len(members)),
        None if obstacle is None else obstacle.pod,
        last.status.message if obstacle is None else obstacle.message,
        None if starts else group.more_nodes(),
    )


class _Trying:
    """Attempts one group and others like it."""

    def __init__(self, simulator: Simulator, spec: GroupSpec, members: Sequence[Pod]) -> None:
        self._simulator = simulator
        self._revision = simulator.revisions[members[0].spec.scheduler_name]
        placed = [
            info
            for info in simulator.context.cache.pod_infos()
            if isinstance(info.pod, Pod) and group_of(info.pod) == spec.key
        ]
        met = sum(one.state is PodState.OBSERVED for one in placed) >= spec.min_count
        self._first = GroupAttempt(
            dataclasses.replace(spec, min_count=1) if met else spec,
            members,
            [(one.pod, one.node) for one in placed if isinstance(one.pod, Pod)],
        )
        self._other = GroupAttempt(spec, members)

    @property
    def lacking(self) -> int:
        """How many members there are too few."""
        there = len(self._first.members) + len(self._first.scheduled)
        return max(0, self._first.group.min_count - there)

    def too_small(self) -> GroupFit:
        """Where members would go, if they were enough."""
        spec, members = self._other.group, tuple(self._first.members)
        enough = dataclasses.replace(spec, min_count=1)
        with self._simulator.trial():
            result = self._attempt(dataclasses.replace(self._first, group=enough))
            nodes = tuple((one.pod, one.node) for one in result.placed)
        there = len(members) + len(self._first.scheduled)
        here = "1 member is here" if there == 1 else f"{there} members are here"
        reason = f"{here}, and {spec.min_count} are needed together"
        return GroupFit(spec, members, False, nodes, 0, True, (), None, reason, None)

    def place(self) -> GroupResult:
        """The group itself."""
        return self._attempt(self._first)

    def count_others(self) -> tuple[int, GroupResult]:
        """How many others would start, and what came of the last one that was tried."""
        most, number = min(MAX_GROUPS, max(1, MAX_ROOM // len(self._other.members))), 0
        result = self._attempt(_copy(self._other, number))
        while result.status.code is Code.SUCCESS and (number := number + 1) < most:
            result = self._attempt(_copy(self._other, number))
        return number, result

    def more_nodes(self) -> MoreNodes | None:
        """With how many more nodes of a kind the group would start, those of which it takes the
        fewest.
        """
        found = (
            MoreNodes(count, like)
            for like in shapes(self._simulator.context.cache)[:MAX_SHAPES]
            if (count := _least(functools.partial(self._starts_with, like)))
        )
        return min(found, default=None)

    def _starts_with(self, like: str, number: int) -> bool:
        with self._simulator.trial():
            add_nodes(self._simulator, like, number)
            return self._attempt(self._first).status.code is Code.SUCCESS

    def _attempt(self, attempt: GroupAttempt) -> GroupResult:
        simulator, common = self._simulator, validate(attempt)
        if common.code is not Code.SUCCESS:
            return GroupResult(common)
        result = finished(schedule_group(attempt, self._place, simulator.context, self._revision))
        for one in result.placed:
            simulator.log.note_placed(one)
        return result

    def _place(self, pod: Pod, placement: Placement, /) -> Decision:
        return place_member(pod, self._revision, self._simulator.context, placement)


def _ordered(members: Sequence[Pod]) -> list[Pod]:
    """As the cycle tries them."""
    return sorted(members, key=lambda pod: (-priority(pod), pod.metadata.name))


def _copy(attempt: GroupAttempt, number: int) -> GroupAttempt:
    """Another group of such pods."""

    def other(pod: Pod) -> Pod:
        meta = msgspec.structs.replace(pod.metadata, uid=f"{pod.metadata.uid} other {number}")
        return msgspec.structs.replace(pod, metadata=meta)

    return dataclasses.replace(attempt, members=[other(pod) for pod in attempt.members])


def _least(holds: Callable[[int], bool]) -> int:
    """The least number that will do of those that double and what lies between; 0 for none."""
    high = 1
    while not holds(high):
        if high == MAX_MORE_NODES:
            return 0
        high = min(2 * high, MAX_MORE_NODES)
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def _best(result: GroupResult) -> TriedPlacement | None:
    return max(result.tried, key=lambda one: len(one.placed), default=None)


def _best_placed(result: GroupResult) -> Sequence[ScheduleResult]:
    best = _best(result)
    return result.placed or (() if best is None else best.placed)


def _obstacle(result: GroupResult) -> Diagnosis | None:
    best = _best(result)
    decisions = result.decisions if result.placed or best is None else best.decisions
    return next((one for one in decisions if isinstance(one, Diagnosis)), None)
