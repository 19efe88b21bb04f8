"""PodGroups in a simulation: placed as one, at once."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import TypeVar

from moorage.core.cycle.context import CycleContext, Decision, Diagnosis
from moorage.core.cycle.group_attempt import attempt_of
from moorage.core.cycle.group_cycle import place_member
from moorage.core.cycle.group_outcome import GroupOutcome
from moorage.core.cycle.group_scheduling import GroupScheduling
from moorage.core.framework.placement_contract import Placement
from moorage.core.framework.revisions import Revision
from moorage.core.framework.status import Code, Status
from moorage.core.objects.pods import Pod
from moorage.core.queue.pod_group_members import PodGroupTracker
from moorage.core.queue.queued_pod import QueuedPodInfo
from moorage.core.recording.forks import fork

T = TypeVar("T")


class SimulatedGroups:
    """Attempts PodGroups on one context."""

    def __init__(self, context: CycleContext, groups: PodGroupTracker) -> None:
        self._context = context
        self._groups = groups
        self._scheduling = GroupScheduling(context, fork)

    def attempt(self, members: Sequence[QueuedPodInfo], revision: Revision) -> GroupOutcome:
        """What comes of the group of these."""
        attempt = attempt_of(members, self._groups, self._context.cache)
        if attempt is None:
            text = "the pod group is not there any more"
            gone = {one.uid: Diagnosis.error(one.pod, revision, text) for one in members}
            return GroupOutcome(Status(Code.ERROR, (text,)), gone)

        def place(pod: Pod, placement: Placement, /) -> Decision:
            return place_member(pod, revision, self._context, placement)

        return finished(self._scheduling.attempt(attempt, revision, place))


def finished(steps: Generator[bool, bool | None, T]) -> T:
    """What a cycle in slices comes to when nobody has a turn in between."""
    try:
        next(steps)
        while True:
            steps.send(False)
    except StopIteration as end:
        outcome: T = end.value
        return outcome
