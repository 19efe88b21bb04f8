"""Score plugins in an evaluation: raw scores, and what they are beside each other."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from moorage.core.framework.evaluation.plugin_result import PluginResult
from moorage.core.framework.interfaces import (
    FeasibleScorePlugin,
    NodeScores,
    ScoreExtensions,
    is_a,
)


class ScoreResult:
    """A score plugin in an evaluation. ``normalized`` is meaningful on feasible rows only."""

    __slots__ = (
        "_feasible",
        "_normalizing",
        "normalized",
        "normalizes",
        "result",
        "weight",
    )

    def __init__(self, column: PluginResult, weight: int) -> None:
        plugin = column.plugin
        self.result = column
        self.weight = weight
        self.normalized: npt.NDArray[np.int64] | None = None
        self._feasible = plugin if is_a(plugin, FeasibleScorePlugin) else None
        self._normalizing = plugin if is_a(plugin, ScoreExtensions) else None
        self.normalizes = self._feasible is not None or self._normalizing is not None
        """Whether scores mean something only beside each other."""

    def score_feasible(self, feasible: npt.NDArray[np.intp]) -> NodeScores:
        """The plugin's raw scores of these rows, and its share of 0..100 for each."""
        state = self.result.prepared.state
        if self._feasible is not None:
            return self._feasible.score_feasible(state, feasible)
        raw = self.result.values[feasible]
        return NodeScores(
            raw, raw if self._normalizing is None else self._normalizing.normalize_score(state, raw)
        )

    def weighted(self, rows: npt.NDArray[np.intp]) -> npt.NDArray[np.int64]:
        """Its part of the totals of these feasible rows, after ``Evaluation.refresh_scores``."""
        scores = self.result.values if self.normalized is None else self.normalized
        return scores[rows] * self.weight
