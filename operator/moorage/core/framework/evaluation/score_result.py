"""Score plugins in an evaluation: raw scores, and what they are beside each other."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from moorage.core.framework.evaluation.plugin_result import PluginResult
from moorage.core.framework.interfaces import FeasibleScorePlugin, NodeScores, ScoreExtensions, is_a


class ScoreResult:
    """A score plugin in an evaluation. ``normalized`` is meaningful on feasible rows only."""

    __slots__ = ("normalized", "normalizes", "result", "weight")

    def __init__(self, column: PluginResult, weight: int) -> None:
        self.result = column
        self.weight = weight
        self.normalized: npt.NDArray[np.int64] | None = None
        self.normalizes = is_a(column.plugin, ScoreExtensions) or is_a(
            column.plugin, FeasibleScorePlugin
        )
        """Whether scores mean something only beside each other."""

    def score_feasible(self, feasible: npt.NDArray[np.intp]) -> NodeScores:
        """The plugin's raw scores of these rows, and its share of 0..100 for each."""
        plugin, state = self.result.plugin, self.result.prepared.state
        if is_a(plugin, FeasibleScorePlugin):
            return plugin.score_feasible(state, feasible)
        raw = self.result.values[feasible]
        return NodeScores(
            raw, plugin.normalize_score(state, raw) if is_a(plugin, ScoreExtensions) else raw
        )
