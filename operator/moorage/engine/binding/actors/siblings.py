"""Siblings: the other members of a pod's group that are on nodes."""

from __future__ import annotations

from collections.abc import Iterator

from moorage.core.columns.cache import Cache
from moorage.core.columns.pod_info import PodInfo
from moorage.core.objects.pod_groups import group_of
from moorage.core.objects.pods import Pod
from moorage.core.queue.pod_group_members import PodGroupTracker


class Siblings:
    """Finds them; those that are only assumed, too. Belongs to the event loop's thread."""

    def __init__(self, cache: Cache, groups: PodGroupTracker) -> None:
        self._cache = cache
        self._groups = groups

    def of(self, pod: Pod) -> Iterator[PodInfo]:
        """The other members of the pod's group."""
        if (group := group_of(pod)) is not None:
            for uid in self._groups.assigned(group):
                info = self._cache.pod_info(uid)
                if info is not None and uid != pod.metadata.uid:
                    yield info

    def is_on_node(self, uid: str) -> bool:
        """Whether a pod is on a node."""
        return self._cache.pod_info(uid) is not None
