"""Arguments of plugins: names in documents, and violations with their place."""

from __future__ import annotations

import pytest

from moorage.core.framework.arguments import Violation, camel

NAMES = {
    "type": "type",
    "scoring_strategy": "scoringStrategy",
    "requested_to_capacity_ratio": "requestedToCapacityRatio",
}


@pytest.mark.parametrize("name", NAMES)
def test_camel(name: str) -> None:
    """Field names as documents spell them."""
    assert camel(name) == NAMES[name]


def test_a_violation_seen_from_outside() -> None:
    """Paths grow towards the front."""
    assert Violation("shape[1].score", 11, "too high").under("ratio") == Violation(
        "ratio.shape[1].score", 11, "too high"
    )
