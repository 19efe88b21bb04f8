"""Group copies: what becomes of a group's members on a copy of the state, with what extenders say.

A copy stands still while an extender is asked about a member of it, so there is nothing to look at
again when the answer is there. How an answer comes is up to the attempt's surroundings.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping, Sequence
from typing import TypeVar

from moorage.core.cycle import cycle, extender_victims
from moorage.core.cycle.context import CycleContext, Decision, Diagnosis, ScheduleResult
from moorage.core.cycle.extender_cycle import (
    extender_cycle,
    extenders_interested,
    look_at_nodes,
)
from moorage.core.cycle.group_attempt import GroupAttempt
from moorage.core.cycle.group_cycle import GroupResult, place_member, schedule_group
from moorage.core.cycle.group_steps import AT_ANY_MOMENT, Steps, patiently
from moorage.core.cycle.group_surroundings import UNDISTURBED, GroupSurroundings
from moorage.core.framework.extenders import ExtenderAnswer, ExtenderFailure
from moorage.core.framework.placement_contract import Placement
from moorage.core.framework.post_filter_contract import Victims
from moorage.core.framework.revisions import Revision
from moorage.core.framework.status import Code, Status, error_status
from moorage.core.objects.pods import Pod
from moorage.core.structures.budget import OutOfTime

T = TypeVar("T")


@dataclasses.dataclass(slots=True)
class MembersOnCopy:
    """Members of one group on a copy. ``around``: the surroundings of its attempt, whose extenders
    are asked.
    """

    around: GroupSurroundings
    revision: Revision
    copy: CycleContext
    _placing: Steps[Decision] | None = None

    def schedule(self, attempt: GroupAttempt) -> Steps[GroupResult]:
        """The result of the group's attempt there, where nothing else happens."""
        alone = dataclasses.replace(attempt, moment=AT_ANY_MOMENT, around=UNDISTURBED)
        return schedule_group(alone, self.place, self.copy, self.revision)

    def place(self, pod: Pod, placement: Placement, /) -> Decision:
        """As ``group_cycle.place_member``; who is asked about again goes on where it was. Raises
        OutOfTime, also until extenders have answered.
        """
        if not (self.around.asks_extenders and extenders_interested(pod, self.revision)):
            return place_member(pod, self.revision, self.copy, placement)
        placing = self._placing = self._placing or self._place(pod, placement)
        try:
            while next(placing):
                pass
        except StopIteration as end:
            self._placing = None
            decided: Decision = end.value
            return decided
        raise OutOfTime

    def agree_on_victims(
        self, placed: Sequence[ScheduleResult], by_node: Mapping[str, Victims]
    ) -> Steps[Mapping[str, Victims] | Status]:
        """Who goes from which node by what extenders say, which are asked about each member that is
        to be where others go; why not, if one of them lets nobody go there.
        """
        found = dict(by_node)
        for member in placed if self.around.asks_extenders else ():
            if member.node in found:
                answer = yield from self._agreed(member, found[member.node])
                if isinstance(answer, Status):
                    return answer
                found[member.node] = answer
        return found

    # ---- inside ----------------------------------------------------------------------------------

    def _agreed(self, member: ScheduleResult, there: Victims) -> Steps[Victims | Status]:
        pod, node = member.pod, member.node
        interested = extenders_interested(pod, self.revision)
        asking = extender_victims.process_preemption({node: there}, interested, self.copy.snapshot)
        answer = yield from self._answered(pod, asking)
        if isinstance(answer, ExtenderFailure):
            return error_status(answer.text)
        why = f'extenders let nobody go from node "{node}" for pod "{pod.metadata.name}"'
        return answer.get(node) or Status(Code.UNSCHEDULABLE, (why,))

    def _place(self, pod: Pod, placement: Placement) -> Steps[Decision]:
        look = functools.partial(look_at_nodes, pod, self.revision, self.copy)
        yield from patiently(look)
        asking = extender_cycle(pod, self.revision, self.copy, placement)
        decision = yield from self._answered(pod, asking)
        if isinstance(decision, Diagnosis):
            return decision
        return cycle.assume_and_reserve(decision, self.copy)

    def _answered(self, pod: Pod, asking: extender_victims.Steps[T]) -> Steps[T]:
        """What comes of these questions about a member."""
        answer: ExtenderAnswer | None = None
        while True:
            try:
                question = asking.send(answer)
            except StopIteration as end:
                found: T = end.value
                return found
            answer = yield from patiently(functools.partial(self.around.ask, pod, question))
