"""Priorities: on which nodes there are pods that a pod of some priority could displace.

Pods are counted per priority and row, so that nobody looks at the pods of a node, or of all nodes,
in vain. A cluster has few distinct priorities; one that no pod has any more is dropped. A pod of a
PodGroup counts with the priority of that.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from moorage.core.objects.meta import PartialObject
from moorage.core.objects.pod_groups import PodGroup, pod_group_name
from moorage.core.objects.pods import Pod, priority
from moorage.core.structures.all_or_none import all_or_none
from moorage.core.structures.growing import grown

_INITIAL_ROWS = 64
_NONE = np.zeros(0, np.int32)
_NO_GROUPS: Mapping[str, PodGroup] = MappingProxyType({})


def preemption_priority(own: int, group: PodGroup | None) -> int:
    """The priority that a pod is preempted with: its own one, or that of its PodGroup."""
    return own if group is None else group.spec.priority or 0


class PriorityTable:
    """Counts of pods by priority and row; a pod of which only metadata are known cannot be
    displaced and counts nowhere.
    """

    def __init__(self, groups: Mapping[str, PodGroup] = _NO_GROUPS) -> None:
        """``groups``: the PodGroups that are there, by ``namespace/name``; of one that changes,
        ``move`` is told.
        """
        self._groups = groups
        self._counts: dict[int, npt.NDArray[np.int32]] = {}
        self._totals: dict[int, int] = {}

    def charge(self, row: int, pod: Pod | PartialObject, sign: int) -> None:
        """Count (``sign`` 1) or discount (-1) one pod."""
        if isinstance(pod, Pod):
            spec = pod.spec
            alone = spec.scheduling_group is None
            self._count(row, spec.priority or 0 if alone else self.level_of(pod), 1, sign)

    def move(self, row: int, before: int, after: int, sign: int) -> None:
        """A pod that is counted is preempted with another priority from now on."""
        all_or_none(sign, (self._count, row, before, -1), (self._count, row, after, 1))

    def level_of(self, pod: Pod) -> int:
        """The priority that a pod is preempted with."""
        name = pod_group_name(pod)
        return preemption_priority(priority(pod), self._groups.get(name) if name else None)

    def below(self, level: int, rows: int) -> npt.NDArray[np.bool_]:
        """Whether a row has a pod of lower priority than ``level``. bool[rows], from row 0 on."""
        found = np.zeros(rows, bool)
        for each, counts in self._counts.items():
            if each < level:
                found[: counts.size] |= counts[:rows] > 0
        return found

    def any_below(self, level: int, row: int) -> bool:
        """Whether this row has one."""
        return any(
            each < level and row < counts.size and counts[row] > 0
            for each, counts in self._counts.items()
        )

    def _count(self, row: int, level: int, pods: int, sign: int) -> None:
        counts = self._counts.get(level, _NONE)
        if row >= counts.size:
            counts = self._counts[level] = grown(counts, max(_INITIAL_ROWS, row + 1))
        counts[row] += sign * pods
        total = self._totals[level] = self._totals.get(level, 0) + sign * pods
        if not total:
            del self._counts[level], self._totals[level]
