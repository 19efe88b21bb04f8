"""Declared groups: of which PodGroup of Kubernetes a pod is, and what that asks for.

Members of groups that others declare count as pods alone here: nothing is known of them as a whole.
"""

from __future__ import annotations

from moorage.core.columns.store import Lister
from moorage.core.groups.group_spec import GroupSpec, group_spec
from moorage.core.objects.pod_groups import API, GroupKey, PodGroup, membership_of
from moorage.core.objects.pods import Pod


class DeclaredGroups:
    """Finds the group of a pod; what PodGroups ask for is made anew when one of them changes."""

    def __init__(self, store: Lister) -> None:
        self._store = store
        self._specs: dict[GroupKey, GroupSpec | None] = {}
        self._version = -1

    def __call__(self, pod: Pod) -> GroupSpec | None:
        """None for a pod alone, or whose PodGroup is not there."""
        member = membership_of(pod)
        if member is None or member.key.api != API:
            return None
        now = self._store.version_counter(PodGroup).version
        if now != self._version:
            self._specs.clear()
            self._version = now
        if member.key not in self._specs:
            self._specs[member.key] = group_spec(member.key, (), self._store)
        return self._specs[member.key]
