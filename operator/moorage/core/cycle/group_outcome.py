"""What an attempt of a pod group comes to: for each member, and for the group's condition."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from moorage.core.cycle.context import Decision, Diagnosis
from moorage.core.cycle.group_attempt import GroupAttempt
from moorage.core.cycle.group_cycle import UNSCHEDULABLE_GROUP, GroupResult
from moorage.core.cycle.group_domains import WithoutRoom
from moorage.core.cycle.group_post_filter import NO_ROOM, GroupRoom
from moorage.core.cycle.tentative_members import TriedPlacement
from moorage.core.framework.revisions import Revision
from moorage.core.framework.status import Code, Status
from moorage.core.objects.pods import Pod


@dataclasses.dataclass(frozen=True, slots=True)
class GroupOutcome:
    """``status``: of the group, as its condition says it. ``members``: by UID, in their order;
    placed ones are assumed. ``victims`` have to go so that members fit where they are nominated to.
    ``tried`` and ``room``: what all placements, and all who may make room, came to;
    ``without_room`` as in ``GroupResult``.
    """

    status: Status
    members: Mapping[str, Decision]
    victims: tuple[Pod, ...] = ()
    tried: Sequence[TriedPlacement] = ()
    room: GroupRoom = NO_ROOM
    overtaken: bool = False
    """As in ``GroupResult``."""
    without_room: Sequence[WithoutRoom] = ()


def group_outcome(
    attempt: GroupAttempt,
    result: GroupResult,
    revision: Revision,
    room: GroupRoom = NO_ROOM,
) -> GroupOutcome:
    """``room``: what plugins that may make room said of a group that does not fit."""
    reasons = (*result.status.reasons, *([room.message] if room.message else []))
    status = Status(Code.ERROR if room.failed else result.status.code, reasons)
    nominations = room.preemption.nominations if room.preemption is not None else {}
    said = _Said(
        revision, result.status, status, nominations, room.asked, _missing(attempt, result)
    )
    members = {
        pod.metadata.uid: _in_room(said.of(pod, decision), room)
        for pod, decision in itertools.zip_longest(attempt.members, result.decisions)
    }
    victims = room.preemption.victims if room.preemption else ()
    return GroupOutcome(
        status, members, victims, result.tried, room, result.overtaken, result.without_room
    )


def _in_room(decision: Decision, room: GroupRoom) -> Decision:
    """With what plugins want to be done for the member, or with the room that is held for it."""
    uid = decision.pod.metadata.uid
    if not isinstance(decision, Diagnosis):
        return decision
    if uid in room.actions:
        return dataclasses.replace(decision, post_filter_actions=room.actions[uid])
    if uid in room.seats:
        return dataclasses.replace(decision, nominated_node=room.seats[uid], held=True)
    return decision


def _missing(attempt: GroupAttempt, result: GroupResult) -> str:
    """Who is missing, for members that are not at fault themselves; kube-scheduler does not say."""
    refused = (one for one in result.decisions if isinstance(one, Diagnosis))
    first = next(refused, None)
    if attempt.group.is_kubernetes or first is None:
        return ""
    return f"; {first.pod.metadata.name!r} does not fit: {first.message}"


class _Said(NamedTuple):
    """What is said of members. ``before`` and ``after``: the group's status without and with what
    was said about room. ``asked``: whether all were that may make some. ``missing``: who is, for
    those that are not at fault.
    """

    revision: Revision
    before: Status
    after: Status
    nominations: Mapping[str, str]
    asked: bool
    missing: str

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
        return self._rejected(pod, head + self.after.message, node or ("" if self.asked else None))

    def _rejected(self, pod: Pod, message: str, node: str | None) -> Diagnosis:
        return Diagnosis(
            pod=pod,
            revision=self.revision,
            code=Code.UNSCHEDULABLE,
            message=message + self.missing,
            nominated_node=node,
        )
