"""Grouped pods: which pods on nodes go together when one of them is preempted.

A PodGroup of Kubernetes says with which priority its pods are preempted, and whether all of them go
or none (disruption mode all). So what preemption finds out about a row may depend on pods of other
rows, and on PodGroups; which rows these are is known here.
"""

from __future__ import annotations

from collections.abc import Collection

from moorage.core.columns.priorities import PriorityTable, preemption_priority
from moorage.core.columns.store import Store
from moorage.core.objects.meta import PartialObject, key
from moorage.core.objects.pod_groups import PodGroup, pod_group_name
from moorage.core.objects.pods import Pod, priority
from moorage.core.structures.all_or_none import all_or_none


class GroupedPods:
    """Pods on nodes that are there, by the name of their PodGroup, whether that is there or not.

    Those that are being deleted belong to it, too: they are on their nodes.
    """

    def __init__(self, store: Store, priorities: PriorityTable) -> None:
        self.version = 0
        """Moves when pods that go together change, or what a PodGroup says of its pods."""
        self._groups = store.objects(PodGroup)
        self._priorities = priorities
        self._members: dict[str, dict[str, tuple[int, int]]] = {}
        """By group and UID: the row, and the priority that the pod has itself."""
        self._changed_at: dict[str, int] = {}
        """The version of each group's last change, the latest last."""
        store.follow(PodGroup, self._group_changed)

    def __len__(self) -> int:
        """How many groups have pods on nodes."""
        return len(self._members)

    def together_with(self, pod: Pod) -> Collection[str]:
        """UIDs of all pods of its group, if they go together; else none."""
        name = pod_group_name(pod)
        group = self._groups.get(name) if name else None
        if group is None or not group.spec.disrupted_together:
            return ()
        return self._members.get(name, {}).keys()

    def rows_since(self, version: int) -> set[int]:
        """The rows of all groups that have changed since then."""
        rows: set[int] = set()
        for name, at in reversed(self._changed_at.items()):
            if at <= version:
                break
            rows.update(row for row, _ in self._members[name].values())
        return rows

    def charge(self, row: int, pod: Pod, sign: int) -> None:
        """A pod of a PodGroup is on this row from now on (1), or not any more (-1)."""
        name, own, uid = pod_group_name(pod), priority(pod), pod.metadata.uid
        self.touch(pod)
        members = self._members.setdefault(name, {})
        if sign > 0:
            members[uid] = row, own
        else:
            del members[uid]
        if not members:
            del self._members[name]
            self._changed_at.pop(name, None)

    def touch(self, pod: Pod | PartialObject) -> None:
        """Something that preemption reads of a pod is another: it counts for all that go with it,
        too.
        """
        if isinstance(pod, Pod) and self.together_with(pod):
            self._mark_changed(pod_group_name(pod))

    # ---- inside ----------------------------------------------------------------------------------

    def _mark_changed(self, name: str) -> None:
        self.version += 1
        self._changed_at.pop(name, None)
        self._changed_at[name] = self.version

    def _group_changed(self, old: PodGroup | None, new: PodGroup | None) -> None:
        name = next(key(one) for one in (old, new) if one is not None)
        members = self._members.get(name)
        if members is None or _disrupted_alike(old, new):
            return
        move = self._priorities.move
        moves = [
            (move, row, preemption_priority(own, old), preemption_priority(own, new))
            for row, own in members.values()
        ]
        self._mark_changed(name)
        all_or_none(1, *moves)


def _disrupted_alike(old: PodGroup | None, new: PodGroup | None) -> bool:
    """Whether two states of a PodGroup say the same of how its pods are preempted."""
    if old is None or new is None:
        return old is new
    return (old.spec.priority, old.spec.disruption_mode) == (
        new.spec.priority,
        new.spec.disruption_mode,
    )
