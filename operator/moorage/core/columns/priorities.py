"""Priorities: on which nodes there are pods that a pod of some priority could displace.

Pods are counted per priority and row, so that nobody looks at the pods of a node, or of all nodes,
in vain. A cluster has few distinct priorities; one that no pod has any more is dropped.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from moorage.core.objects.meta import PartialObject
from moorage.core.objects.pods import Pod, priority
from moorage.core.structures.growing import grown

_INITIAL_ROWS = 64
_NONE = np.zeros(0, np.int32)


class PriorityTable:
    """Counts of pods by priority and row; a pod of which only metadata are known cannot be
    displaced and counts nowhere.
    """

    def __init__(self) -> None:
        self._counts: dict[int, npt.NDArray[np.int32]] = {}
        self._totals: dict[int, int] = {}

    def charge(self, row: int, pod: Pod | PartialObject, sign: int) -> None:
        """Count (``sign`` 1) or discount (-1) one pod."""
        if isinstance(pod, Pod):
            level = priority(pod)
            counts = self._counts.get(level, _NONE)
            if row >= counts.size:
                counts = self._counts[level] = grown(counts, max(_INITIAL_ROWS, row + 1))
            counts[row] += sign
            total = self._totals[level] = self._totals.get(level, 0) + sign
            if not total:
                del self._counts[level], self._totals[level]

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
