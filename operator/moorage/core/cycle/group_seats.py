"""Seats: where the members of a pod group would be, if all went that room is held against.

That is pods of lower priority, and those of the same priority that are younger than the group. They
stay until they end; but no other such pod follows them there. As nobody else may see a cluster
without them, the group is scheduled on a copy of the state.
"""

from __future__ import annotations

from collections.abc import Mapping

from moorage.core.columns.nominations import is_younger
from moorage.core.cycle.context import CycleContext
from moorage.core.cycle.group_attempt import GroupAttempt
from moorage.core.cycle.group_copies import MembersOnCopy
from moorage.core.cycle.group_preemption import Fork, units_below
from moorage.core.cycle.group_steps import Steps
from moorage.core.framework.revisions import Revision
from moorage.core.objects.pods import Pod, priority


def seats_for(
    attempt: GroupAttempt, revision: Revision, context: CycleContext, fork: Fork
) -> Steps[Mapping[str, str]]:
    """The node of each member (UID) that would fit, if enough would; else none. Where room is held
    for all members it stays where it is.
    """
    if held := _held(attempt, context):
        return held
    without = yield from fork(_kept_out(attempt, context))
    result = yield from MembersOnCopy(attempt.around, revision, without).schedule(attempt)
    return {one.pod.metadata.uid: one.node for one in result.placed}


def _held(attempt: GroupAttempt, context: CycleContext) -> dict[str, str]:
    """Where room is held for the members, if it is for all of them."""
    nominations, there = context.cache.nominations, context.cache.nodes.row_of
    seats = {}
    for pod in attempt.members:
        nominated = nominations.get(pod.metadata.uid)
        if nominated is None or not nominated.held or nominated.node not in there:
            return {}
        seats[pod.metadata.uid] = nominated.node
    return seats


def _kept_out(attempt: GroupAttempt, context: CycleContext) -> set[str]:
    """UIDs of the pods on nodes that room is held against."""
    lower = units_below(attempt.group.priority, context)
    gone = {record.pod.metadata.uid for unit in lower for record in unit.records}
    for record in context.cache.pod_infos():
        if isinstance(record.pod, Pod) and all(
            priority(record.pod) == priority(member) and is_younger(record.pod, member)
            for member in attempt.members
        ):
            gone.add(record.pod.metadata.uid)
    return gone
