"""Utilization shapes: a score as a function of utilization, by straight lines between points and
level outside them.

Source: kube-scheduler ``UtilizationShapePoint`` (v1.37) and its "broken linear function".
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Sequence
from typing import Annotated, ClassVar, TypeAlias

import numpy as np
import numpy.typing as npt
from annotated_types import Interval

from moorage.core.framework.arguments import ARGUMENTS, FieldErrorType, Violation
from moorage.core.framework.interfaces import MAX_NODE_SCORE


@dataclasses.dataclass(frozen=True, slots=True)
class UtilizationShapePoint:
    """What score (0..10) a utilization (percent) gets."""

    __pydantic_config__: ClassVar = ARGUMENTS

    utilization: Annotated[int, Interval(ge=0, le=100)] = 0
    score: Annotated[int, Interval(ge=0, le=10)] = 0


UtilizationShape: TypeAlias = tuple[UtilizationShapePoint, ...]


def shape_violations(shape: Sequence[UtilizationShapePoint]) -> list[Violation]:
    """What is wrong with the field ``shape``: it has at least one point, from left to right."""
    if not shape:
        text = "at least one point must be specified"
        return [Violation("shape", None, text, FieldErrorType.REQUIRED)]
    for i, (left, right) in enumerate(itertools.pairwise(shape), start=1):
        if left.utilization >= right.utilization:
            text = "values must be sorted in increasing order"
            return [Violation(f"shape[{i}].utilization", right.utilization, text)]
    return []


def shape_table(shape: Sequence[UtilizationShapePoint]) -> npt.NDArray[np.int64]:
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
