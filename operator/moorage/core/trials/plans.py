"""Plans: how a trial is made, and what is to become of it by its counts."""

from __future__ import annotations

import dataclasses
import enum
from typing import Literal

from moorage.core.trials.evidence import is_worse, is_worse_at_end
from moorage.core.trials.pairs import PairCounts

Strategy = Literal["Canary", "Shadow"]


class Verdict(enum.StrEnum):
    """Of a trial; all but the first are final."""

    SO_FAR_NO_WORSE = "SoFarNoWorse"
    PASSED = "Passed"
    REGRESSED = "Regressed"
    TOO_FEW_PODS = "TooFewPods"
    """The deadline passed without a pair."""
    STOPPED = "Stopped"
    """By a user."""


@dataclasses.dataclass(frozen=True, slots=True)
class TrialPlan:
    """How a trial is made, as spec.rollout says."""

    strategy: Strategy
    pods: int
    """After so many pods, decided by both, it has passed."""
    percent: int = 100
    """Of pods that take part."""
    margin_percent: int = 0
    """Percentage points by which the share of refused pods may grow."""
    max_regressions: int | None = None
    """More than these end it at once; None: only what they prove does."""
    deadline_seconds: int = 600
    """Without a pair for so long it ends."""


def verdict(plan: TrialPlan, counts: PairCounts) -> Verdict:
    """What is to become of a trial after its last pair."""
    most, margin = plan.max_regressions, plan.margin_percent / 100
    if most is not None and counts.regressions > most:
        return Verdict.REGRESSED
    if is_worse(counts, margin):
        return Verdict.REGRESSED
    if counts.decided < plan.pods:
        return Verdict.SO_FAR_NO_WORSE
    if margin == 0 and is_worse_at_end(counts):
        return Verdict.REGRESSED
    return Verdict.PASSED
