"""Priorities: on which nodes there are pods that a pod of some priority could displace.

Pods are counted per priority and row, so that nobody looks at the pods of a node, or of all nodes, in vain. A cluster has few
distinct priorities; one that no pod has any more is dropped.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from moorage.core.objects import PartialObject, Pod, priority

_FIRST = 64


class PriorityTable:
    """Counts of pods by priority and row; a pod of which only metadata are known cannot be displaced and counts nowhere."""

    def __init__(self) -> None:
        self._counts: dict[int, npt.NDArray[np.int32]] = {}
        self._totals: dict[int, int] = {}

    def charge(self, row: int, pod: Pod | PartialObject, sign: int) -> None:
        """Count (``sign`` 1) or discount (-1) one pod."""
        if isinstance(pod, Pod):
            self._add(row, priority(pod), sign)

    def clear(self, row: int) -> None:
        """Forget all counts of a row."""
        for level in [level for level, counts in self._counts.items() if row < counts.size and counts[row]]:
            self._add(row, level, -int(self._counts[level][row]))

    def below(self, level: int, rows: int) -> npt.NDArray[np.bool_]:
        """Whether a row has a pod of lower priority than ``level``. bool[rows], from row 0 on."""
        found = np.zeros(rows, bool)
        for each, counts in self._counts.items():
            if each < level:
                found[: counts.size] |= counts[:rows] > 0
        return found

    def any_below(self, level: int, row: int) -> bool:
        """Whether this row has one."""
        return any(each < level and row < counts.size and counts[row] > 0 for each, counts in self._counts.items())

    def _add(self, row: int, level: int, count: int) -> None:
        counts = self._counts.get(level)
        if counts is None:
            counts = self._counts[level] = np.zeros(max(_FIRST, row + 1), np.int32)
        elif row >= counts.size:
            counts = self._counts[level] = np.concatenate([counts, np.zeros(max(row + 1 - counts.size, counts.size), np.int32)])
        counts[row] += count
        total = self._totals[level] = self._totals.get(level, 0) + count
        if not total:
            del self._counts[level], self._totals[level]
