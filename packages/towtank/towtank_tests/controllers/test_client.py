"""What controllers make of the objects that they see."""

from __future__ import annotations

from typing import Any

import pytest

from towtank.controllers.client import controller_of, is_active

MINE, OTHER = {"uid": "mine", "controller": True}, {"uid": "other"}


@pytest.mark.parametrize(
    ("owners", "uid"), [([], ""), ([OTHER], ""), ([OTHER, MINE], "mine"), ([MINE, OTHER], "mine")]
)
def test_one_of_the_owners_looks_after_an_object(owners: list[dict[str, Any]], uid: str) -> None:
    """That which says so, wherever it stands."""
    assert controller_of({"metadata": {"ownerReferences": owners}}) == uid


@pytest.mark.parametrize(
    ("metadata", "phase", "active"),
    [
        ({}, "Running", True),
        ({}, "Pending", True),
        ({}, "Succeeded", False),
        ({}, "Failed", False),
        ({"deletionTimestamp": "2030-01-01T00:00:00Z"}, "Running", False),
    ],
)
def test_a_pod_counts_while_it_runs_or_will(
    metadata: dict[str, Any], phase: str, active: bool
) -> None:
    """Not when it is over, or goes."""
    assert is_active({"metadata": metadata, "status": {"phase": phase}}) is active
