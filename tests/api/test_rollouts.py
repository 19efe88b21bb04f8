"""Rollouts: what spec.rollout means."""

from __future__ import annotations

from typing import Any

import pytest

from moorage.api.decoding import decoder
from moorage.api.rollouts import trial_plan
from moorage.api.v1alpha1.scheduler_profile import RolloutSpec
from moorage.core.trials.plans import TrialPlan


@pytest.mark.parametrize(
    ("rollout", "want"),
    [
        ({}, None),
        ({"strategy": "Immediate", "maxRegressions": 3}, None),
        ({"strategy": "Canary"}, TrialPlan("Canary", pods=400, percent=10)),
        ({"strategy": "Shadow", "canary": {"percent": 5}}, TrialPlan("Shadow", pods=400)),
        (
            {
                "strategy": "Canary",
                "canary": {"percent": 5, "pods": 7},
                "shadow": {"pods": 9},
                "marginPercent": 2,
                "maxRegressions": 0,
                "progressDeadlineSeconds": 60,
            },
            TrialPlan("Canary", 7, 5, margin_percent=2, max_regressions=0, deadline_seconds=60),
        ),
        ({"strategy": "Shadow", "shadow": {"pods": 9}}, TrialPlan("Shadow", pods=9)),
    ],
)
def test_plans(rollout: dict[str, Any], want: TrialPlan | None) -> None:
    """With the documented values for what is left out."""
    assert trial_plan(decoder(RolloutSpec).decode(rollout)) == want
