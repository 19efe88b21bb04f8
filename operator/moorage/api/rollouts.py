"""Rollouts: from spec.rollout to the plan of a trial."""

from __future__ import annotations

from moorage.api.v1alpha1.scheduler_profile import CanaryRollout, RolloutSpec, ShadowRollout
from moorage.core.trials.plans import TrialPlan


def trial_plan(rollout: RolloutSpec) -> TrialPlan | None:
    """How a new revision is to be tried; None: it decides at once."""
    if rollout.strategy == "Immediate":
        return None
    canary, shadow = rollout.canary or CanaryRollout(), rollout.shadow or ShadowRollout()
    is_canary = rollout.strategy == "Canary"
    return TrialPlan(
        strategy=rollout.strategy,
        pods=canary.pods if is_canary else shadow.pods,
        percent=canary.percent if is_canary else 100,
        margin_percent=rollout.margin_percent,
        max_regressions=rollout.max_regressions,
        deadline_seconds=rollout.progress_deadline_seconds,
    )
