"""What an attempt of a pod group comes to: for each member, and for the group's condition."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Mapping
from typing import NamedTuple

from moorage.core.cycle.context import Decision, Diagnosis
from moorage.core.cycle.group_cycle import UNSCHEDULABLE_GROUP, GroupAttempt, GroupResult
from moorage.core.cycle.group_preemption import PREFIX, GroupPreemption
from moorage.core.framework.revisions import Revision
from moorage.core.framework.status import Code, Status
from moorage.core.objects.pods import Pod

CLAIMS_DONE = "deallocation and deletion of ResourceClaims completed"


@dataclasses.dataclass(frozen=True, slots=True)
class GroupOutcome:
    """``status``: of the group, as its condition says it. ``members``: by UID, in their order;
    placed ones are assumed. ``victims`` have to go so that members fit where they are nominated to.
    """

    status: Status
    members: Mapping[str, Decision]
    victims: tuple[Pod, ...] = ()


def group_outcome(
    attempt: GroupAttempt, result: GroupResult, revision: Revision, room: GroupPreemption | None
) -> GroupOutcome:
    """``room``: what preemption found for a group that does not fit, None where nobody asked."""
    status = result.status
    if status.code is Code.UNSCHEDULABLE:
        status = _with_post_filters(attempt, status, room)
    said = _Said(revision, result.status, status, room.nominations if room is not None else {})
    members = {
        pod.metadata.uid: said.of(pod, decision)
        for pod, decision in itertools.zip_longest(attempt.members, result.decisions)
    }
    return GroupOutcome(status, members, room.victims if room is not None else ())


def _with_post_filters(
    attempt: GroupAttempt, status: Status, room: GroupPreemption | None
) -> Status:
    """What plugins that make room say is appended. The word of one that knows better replaces that
    of those before it.
    """
    said = [] if attempt.group.topology_key else [CLAIMS_DONE]
    if room is not None:
        if room.status.code is not Code.UNSCHEDULABLE:
            said = []
        said.append(PREFIX + room.status.message)
    return Status(status.code, (*status.reasons, *([", ".join(said)] if said else [])))


class _Said(NamedTuple):
    """What is said of members. ``before`` and ``after``: the group's status without and with what
    was said about room.
    """

    revision: Revision
    before: Status
    after: Status
    nominations: Mapping[str, str]

    def of(self, pod: Pod, decision: Decision | None) -> Decision:
        """``decision``: what became of the member, None where it was not reached."""
        if self.after.code is Code.ERROR:
            if isinstance(decision, Diagnosis) and decision.code is Code.ERROR:
                return decision
            return Diagnosis.error(pod, self.revision, self.after.message)
        if self.after.code is Code.SUCCESS and decision is not None:
            return decision
        node = self.nominations.get(pod.metadata.uid)
        if isinstance(decision, Diagnosis):
            return dataclasses.replace(decision, nominated_node=node)
        if decision is None:
            return self._rejected(pod, self.before.message, node)
        head = "" if self.nominations else f"{UNSCHEDULABLE_GROUP}, "  # else it waits for victims
        return self._rejected(pod, head + self.after.message, node or "")

    def _rejected(self, pod: Pod, message: str, node: str | None) -> Diagnosis:
        return Diagnosis(
            pod=pod,
            revision=self.revision,
            code=Code.UNSCHEDULABLE,
            message=message,
            nominated_node=node,
        )
