"""What happened, in rows."""

from __future__ import annotations

import pytest

from moorage.apps.demo import happenings
from moorage.apps.demo.cluster_state import ClusterState, DecisionRow, GatedPod
from tests.apps.demo.boards import ago, harbor


def test_repeats_are_one_row() -> None:
    """Pods of one controller with their number; a pod that is tried again and again with how
    often; the last time counts.
    """
    rows = happenings.decided(harbor())
    assert [(row.name, row.text, row.placed) for row in rows] == [
        ("demo/spread-mv78r", "node-c1", True),
        ("demo/large (3 pods)", "no node: 6 Insufficient cpu", False),
    ]
    assert rows[1].at == ago(2)
    again = ClusterState(
        decisions=tuple(DecisionRow(ago(each), "demo/p", "", "spread", "r") for each in range(4))
    )
    assert [row.name for row in happenings.decided(again)] == ["demo/p (4 times)"]


def test_what_differs_has_rows_of_its_own() -> None:
    """Another node, another profile, a pod without a controller."""
    decisions = (
        DecisionRow(ago(1), "demo/a", "n1", "spread", "r"),
        DecisionRow(ago(2), "demo/b", "n1", "spread", "r"),
        DecisionRow(ago(3), "demo/a", "n2", "spread", "r"),
        DecisionRow(ago(4), "demo/a", "n2", "binpack", "r"),
    )
    assert len(happenings.decided(ClusterState(decisions=decisions))) == 4


def test_gated_pods() -> None:
    """By their gate."""
    (row,) = happenings.gated(harbor())
    assert (row.name, row.text) == ("demo/web-5c6f (2 pods)", "gated: example.com/quota")


@pytest.mark.parametrize(
    ("decided", "gated", "most", "shown"),
    [(9, 1, 4, "dddg"), (9, 9, 4, "ddgg"), (1, 9, 4, "dggg"), (9, 0, 4, "dddd"), (0, 1, 4, "g")],
)
def test_gated_pods_stay_in_sight(decided: int, gated: int, most: int, shown: str) -> None:
    """However much is decided; they take the room that decisions leave."""
    state = ClusterState(
        decisions=tuple(
            DecisionRow(ago(each), f"d{each}", "n", "spread", "r") for each in range(decided)
        ),
        gated=tuple(GatedPod(ago(each), f"g{each}", "gate") for each in range(gated)),
    )
    rows = happenings.newest(state, most)
    assert "".join(row.owner[0] for row in rows) == shown


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({}, "no node"),
        ({"refused": {"demo/q": "2 Insufficient cpu"}}, "no node: 2 Insufficient cpu"),
        ({"failed": {"demo/q": "x" * 99}}, f"failed: {'x' * 99}"),
    ],
)
def test_what_became_of_a_pod(more: dict[str, dict[str, str]], said: str) -> None:
    """That something failed says nothing about the nodes."""
    state = ClusterState(**more)  # type: ignore[arg-type]
    decision = DecisionRow(ago(0), "demo/q", "", "spread", "-")
    assert happenings.outcome(decision, state) == said
