"""Scores of NodeResourcesFit: by the room that is left, or by a shape."""

from __future__ import annotations

import dataclasses

import numpy as np
import numpy.typing as npt

from moorage.core.framework.interfaces import MAX_NODE_SCORE, Scores
from moorage.core.plugins.node_resources.fit_arguments import UtilizationShapePoint
from moorage.core.plugins.node_resources.resource_allocation import (
    ONE,
    TOP,
    ZERO,
    Int64Array,
    Share,
)


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class FitScoring:
    """What a pod's scores are made of: resources, the strategy's type and, if it has a shape, the
    score at each percent of use.
    """

    shares: tuple[Share, ...]
    type: str
    table: Int64Array | None

    def score(
        self, capacity: Int64Array, requested: Int64Array
    ) -> tuple[Scores, npt.NDArray[np.bool_]]:
        """One resource's score on each node and whether it counts there. A node that has none of it
        is not judged by it.
        """
        present = capacity != ZERO
        divisor = np.maximum(capacity, ONE)
        if self.type == "LeastAllocated":
            return np.maximum(capacity - requested, ZERO) * TOP // divisor, present
        used = np.minimum(requested, capacity) * TOP // divisor
        if self.table is None:
            return used, present
        scores = self.table.take(used) * present
        return scores, scores > ZERO


def shape_table(shape: tuple[UtilizationShapePoint, ...]) -> Int64Array:
    """int64[101]: the score, 0..100, at each percent of utilization."""
    points = [(point.utilization, point.score * MAX_NODE_SCORE // 10) for point in shape]
    return np.array([_height(points, percent) for percent in range(MAX_NODE_SCORE + 1)])


def _height(points: list[tuple[int, int]], percent: int) -> int:
    """The height of the line through the points; a fraction is dropped towards zero from the left
    point's height, as Go does.
    """
    left, low = points[0]
    for right, high in points:
        if percent <= right:
            return (
                low + int((high - low) * (percent - left) / (right - left))
                if right > left
                else high
            )
        left, low = right, high
    return low
