"""Tentative members: those of a pod group that are placed on one placement, until it is known
whether they stay.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Collection, Sequence
from typing import NamedTuple

from moorage.core.cycle import cycle
from moorage.core.cycle.context import CycleContext, Decision, Diagnosis, ScheduleResult
from moorage.core.cycle.group_steps import Steps
from moorage.core.cycle.group_surroundings import lost_member
from moorage.core.framework.placement_contract import Placement
from moorage.core.framework.revisions import Revision
from moorage.core.framework.status import SUCCESS, Status


class TriedPlacement(NamedTuple):
    """What came of a group on one placement: of the members that were looked at, in their order."""

    placement: Placement
    decisions: Sequence[Decision]
    status: Status

    @property
    def placed(self) -> list[ScheduleResult]:
        """The members that found a node there."""
        return [one for one in self.decisions if isinstance(one, ScheduleResult)]


@dataclasses.dataclass(slots=True)
class TentativeMembers:
    """One placement: the members so far, and the generations of their nodes when they were
    chosen.
    """

    placement: Placement
    decisions: list[Decision] = dataclasses.field(default_factory=list)
    generations: list[int] = dataclasses.field(default_factory=list)
    placed_count: int = 0
    status: Status = SUCCESS

    def add(self, decision: Decision, generation: int) -> None:
        """What was decided about the next member, and the generation of its node, if it has one."""
        self.decisions.append(decision)
        self.generations.append(generation)
        self.placed_count += isinstance(decision, ScheduleResult)

    @property
    def placed(self) -> list[ScheduleResult]:
        """The members that have a node."""
        return [one for one in self.decisions if isinstance(one, ScheduleResult)]

    @property
    def refused(self) -> Diagnosis | None:
        """The first member that found no node."""
        return next((one for one in self.decisions if isinstance(one, Diagnosis)), None)

    def tried(self) -> TriedPlacement:
        """The same, for whoever tells it."""
        return TriedPlacement(self.placement, self.decisions, self.status)

    def let_go(self, lost: Collection[str], revision: Revision, context: CycleContext) -> None:
        """Take back those of these members (UIDs) that are placed, as they are gone."""
        for i, decision in enumerate(self.decisions):
            if isinstance(decision, ScheduleResult) and decision.pod.metadata.uid in lost:
                cycle.unreserve_and_forget(decision, context.cache)
                self.decisions[i] = lost_member(decision.pod, revision)
                self.placed_count -= 1

    def take_back_in_steps(self, context: CycleContext) -> Steps[None]:
        """In reverse order, one in each step."""
        for placement in reversed(self.placed):
            cycle.unreserve_and_forget(placement, context.cache)
            yield True

    def take_back(self, context: CycleContext) -> None:
        """At once, each whatever another one raises; safe for those that are taken back already."""
        with contextlib.ExitStack() as stack:
            for placement in self.placed:
                stack.callback(cycle.unreserve_and_forget, placement, context.cache)
