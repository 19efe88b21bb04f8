"""Gates: what keeps a pod out of the queue, as the queue itself would have it."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import NamedTuple

from moorage.core.columns.pod_info import PodState
from moorage.core.cycle.context import CycleContext
from moorage.core.framework.interfaces import ExtensionPoint
from moorage.core.framework.revisions import Revision
from moorage.core.framework.status import Code
from moorage.core.groups.group_spec import other_groups_note
from moorage.core.objects.pod_groups import group_of
from moorage.core.objects.pods import Pod
from moorage.core.queue.pod_group_members import PodGroupTracker
from moorage.core.queue.pod_group_state import POD_GROUP_GATE, PodGroupState
from moorage.core.queue.queued_pod import QueuedPodInfo, QueueState


class Gate(NamedTuple):
    """Who keeps the pod out of the queue, a plugin or its group, and why."""

    plugin: str
    message: str


def gate_of(
    pod: Pod, revision: Revision, context: CycleContext, unserved: Collection[str] = ()
) -> Gate | None:
    """The first that does; None where nothing keeps it out. ``unserved``: the APIs of groups that
    the API server does not have.
    """
    return _plugins_gate(pod, revision, context) or _groups_gate(pod, revision, context, unserved)


def _plugins_gate(pod: Pod, revision: Revision, context: CycleContext) -> Gate | None:
    for name, plugin in revision.at(ExtensionPoint.PRE_ENQUEUE):
        status = plugin.pre_enqueue(pod, context.snapshot.store)
        if status.code is not Code.SUCCESS:
            return Gate(name, status.message)
    return None


def _groups_gate(
    pod: Pod, revision: Revision, context: CycleContext, unserved: Collection[str]
) -> Gate | None:
    """Too few members are there, or nothing says how many there have to be."""
    if group_of(pod) is None:
        return None
    groups, group = counted(pod, revision, context, unserved)
    return group_gate(groups, group, other_groups_note(pod))


def group_gate(groups: PodGroupTracker, group: PodGroupState, note: str = "") -> Gate | None:
    """What keeps all members of a group out of the queue."""
    if group.complete:
        return None
    return Gate(POD_GROUP_GATE, groups.gating_message(group) + note)


def counted(
    pod: Pod, revision: Revision, context: CycleContext, unserved: Collection[str] = ()
) -> tuple[PodGroupTracker, PodGroupState]:
    """The group of a member, with all others that are there; ``unserved`` as in ``gate_of``."""
    key = group_of(pod)
    groups = PodGroupTracker(context.cache.store)
    groups.all_listed(unserved)
    for record in context.cache.pod_infos():
        if isinstance(record.pod, Pod) and group_of(record.pod) == key:
            groups.placed(record.pod, 1)
            if record.state is PodState.OBSERVED:
                groups.pod_bound(record.pod)
    mine = _entry(pod)
    waits = context.cache.pod_info(pod.metadata.uid) is None
    for entry in (*((mine,) if waits else ()), *_others(pod, revision, context)):
        groups.record_move(entry)
    list(groups.recheck(0.0))  # has groups know whether they are complete
    return groups, groups.group_of_entry(mine)


def _others(pod: Pod, revision: Revision, context: CycleContext) -> Iterator[QueuedPodInfo]:
    """The other members that wait."""
    key = group_of(pod)
    for uid, other in context.cache.waiting.items():
        leaves = other.metadata.deletion_timestamp is not None
        if uid == pod.metadata.uid or group_of(other) != key or leaves:
            continue
        if context.cache.pod_info(uid) is None:
            gate = _plugins_gate(other, revision, context)
            yield _entry(other, gate.plugin if gate is not None else "")


def _entry(pod: Pod, gated_by: str = "") -> QueuedPodInfo:
    state = QueueState.GATED if gated_by else QueueState.ACTIVE
    return QueuedPodInfo(pod, pod.spec.scheduler_name, 0.0, state=state, gating_plugin=gated_by)
