"""Rollouts: from spec.rollout to the plan of a trial."""

from __future__ import annotations

from collections.abc import Iterator

from moorage.api.v1alpha1.scheduler_profile import CanaryRollout, RolloutSpec, ShadowRollout
from moorage.core.framework.revisions import FieldError
from moorage.core.trials.plans import TrialPlan


def rollout_errors(rollout: RolloutSpec) -> Iterator[FieldError]:
    """What is set for another strategy than the one that is chosen, as the CRD's rules have it."""
    for field, given, strategy in (
        ("canary", rollout.canary, "Canary"),
        ("shadow", rollout.shadow, "Shadow"),
    ):
        if given is not None and rollout.strategy != strategy:
            text = f"this is for strategy {strategy}: set that, or leave it out"
            yield FieldError(f"rollout.{field}", "{…}", text)


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
