"""Pairs: two revisions decide about one pod on one state."""

from __future__ import annotations

import dataclasses
import enum

from moorage.core.cycle.context import Decision, ScheduleResult


class PairOutcome(enum.Enum):
    """What became of a pair; each value is the field of ``PairCounts`` that counts it."""

    SAME_NODE = "same_node"
    OTHER_NODE = "other_node"
    NEITHER = "neither"
    """Both refuse; an error is a refusal too."""
    REGRESSION = "regressions"
    """Only the live revision finds a node."""
    IMPROVEMENT = "improvements"
    """Only the trial revision does."""


def compare(live: Decision, trial: Decision) -> PairOutcome:
    """What a pair comes to."""
    placed = isinstance(live, ScheduleResult), isinstance(trial, ScheduleResult)
    if isinstance(live, ScheduleResult) and isinstance(trial, ScheduleResult):
        same = live.node == trial.node
        return PairOutcome.SAME_NODE if same else PairOutcome.OTHER_NODE
    if not any(placed):
        return PairOutcome.NEITHER
    return PairOutcome.REGRESSION if placed[0] else PairOutcome.IMPROVEMENT


@dataclasses.dataclass(frozen=True, slots=True)
class PairCounts:
    """How many pods came to what; each pod counts once."""

    same_node: int = 0
    other_node: int = 0
    neither: int = 0
    regressions: int = 0
    improvements: int = 0

    @property
    def decided(self) -> int:
        """Pods that both have decided about."""
        return self.concordant + self.regressions + self.improvements

    @property
    def concordant(self) -> int:
        """Those that both place, or neither."""
        return self.agreed + self.other_node

    @property
    def agreed(self) -> int:
        """Those about which both said the same."""
        return self.same_node + self.neither

    def with_(self, outcome: PairOutcome) -> PairCounts:
        """One more."""
        name = outcome.value
        return dataclasses.replace(self, **{name: getattr(self, name) + 1})
