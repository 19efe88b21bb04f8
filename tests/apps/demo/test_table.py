"""The demo's table as text."""

from __future__ import annotations

import datetime
import io

import pytest
from rich.console import Console

from moorage.apps.demo import table
from moorage.apps.demo.cluster_state import (
    ClusterState,
    DecisionRow,
    NodeUse,
    ProfileRow,
    ReplicaRow,
)

NOW = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)


def text(state: ClusterState, width: int = 110, height: int = 50) -> str:
    """What is seen, without colours."""
    console = Console(file=io.StringIO(), width=width)
    console.print(table.render(state, NOW, height))
    printed = console.file.getvalue()  # type: ignore[attr-defined]
    return "\n".join(line.rstrip() for line in printed.splitlines())


def ago(seconds: float) -> datetime.datetime:
    """A time."""
    return NOW - datetime.timedelta(seconds=seconds)


def test_everything() -> None:
    """A leader, a replica that died, a refused profile, a full node, a pod that nobody takes."""
    state = ClusterState(
        profiles=(
            ProfileRow("binpack", 2, "a19ccaff00", False, "no such plugin", 1, 0),
            ProfileRow("spread", 1, "", True, "", 0, 3),
        ),
        nodes=(
            NodeUse("node-b1", "b", 0.5, 0.25, 4, closed="cordoned"),
            NodeUse("node-a1", "a", 1.0, 0.0, 16),
        ),
        decisions=(
            DecisionRow(ago(0.3), "demo/p", "node-a1", "binpack", "a19ccaff00"),
            DecisionRow(ago(150), "demo/q", "", "spread", ""),
        ),
        replicas=(ReplicaRow("moorage-0", 17, True), ReplicaRow("moorage-1", None, False)),
        places={"binpack": {"demo/p": "node-a1", "demo/r": ""}, "nobody": {"demo/s": ""}},
        refused={"demo/q": "2 Insufficient cpu"},
    )
    assert (
        text(state)
        == """\
replicas  moorage-0 (process 17, leads)  moorage-1 (dead, comes back)

PROFILE  READY  GENERATION  REVISION  PODS  WAITING  REFUSED
binpack  no              2  a19ccaff     1        1        0
spread   yes             1  -            0        0        3
binpack: no such plugin
pods whose schedulerName is no profile's, which nobody places: 1

NODE                ZONE  CPU                    MEMORY                 PODS
node-a1             a     ████████████████ 100%  ░░░░░░░░░░░░░░░░   0%    16
node-b1 (cordoned)  b     ████████░░░░░░░░  50%  ████░░░░░░░░░░░░  25%     4

DECIDED    POD     NODE                              PROFILE  REVISION
0 s ago    demo/p  node-a1                           binpack  a19ccaff
2 min ago  demo/q  none will do: 2 Insufficient cpu  spread   -
"""
    )


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({}, "none will do"),
        ({"refused": {"demo/q": "2 Insufficient cpu"}}, "none will do: 2 Insufficient cpu"),
        ({"failed": {"demo/q": "spec.volumes: too many"}}, "failed: spec.volumes: too many"),
        ({"failed": {"demo/q": "x" * 99}}, f"failed: {'x' * (table.MAX_TEXT_CHARACTERS - 1)}…"),
    ],
)
def test_what_became_of_a_pod(more: dict[str, dict[str, str]], said: str) -> None:
    """That something failed says nothing about the nodes."""
    state = ClusterState(**more)  # type: ignore[arg-type]
    assert table.outcome(DecisionRow(ago(0), "demo/q", "", "spread", "-"), state) == said


def test_nothing_yet() -> None:
    """Headings only."""
    assert "PROFILE" in text(ClusterState())


@pytest.mark.parametrize("count", [12, 13, 500])
def test_many_nodes(count: int) -> None:
    """A screen has room for twelve: else the fullest, and the others together."""
    nodes = tuple(NodeUse(f"node-{number}", "a", number / count, 0.0, 1) for number in range(count))
    shown, others = table.pick(nodes, 12)
    assert sorted([*shown, *others], key=lambda each: each.cpu) == list(nodes)
    assert len(shown) + bool(others) == 12
    if others:
        assert min(node.cpu for node in shown) >= max(node.cpu for node in others)
        assert f"and {count - 11} more" in text(ClusterState(nodes=nodes))


@pytest.mark.parametrize("height", [24, 30, 60])
@pytest.mark.parametrize("decided", [0, 1, 9])
@pytest.mark.parametrize("nodes", [1, 6, 100])
def test_all_of_it_fits(height: int, decided: int, nodes: int) -> None:
    """The terminal's last line is the cursor's; a usual one has 24 of them."""
    state = ClusterState(
        profiles=(
            ProfileRow("binpack", 1, "r", False, "because", 0, 0),
            ProfileRow("spread", 1, "r", True, "", 0, 0),
        ),
        nodes=tuple(NodeUse(f"node-{number}", "a", 0.0, 0.0, 1) for number in range(nodes)),
        decisions=tuple(
            DecisionRow(ago(number), "demo/p", "n", "spread", "r") for number in range(decided)
        ),
    )
    lines = text(state, height=height).splitlines()
    assert len(lines) < height
    assert sum("ago" in line for line in lines) >= min(decided, 3)


@pytest.mark.parametrize("width", [40, 80, 200])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    """Long explanations are cut off, at their own cost only."""
    state = ClusterState(profiles=(ProfileRow("binpack", 1, "r", False, "because " * 50, 0, 0),))
    lines = text(state, width).splitlines()
    assert max(map(len, lines)) <= width
    assert lines[3].startswith("binpack  no ") or width == 40


@pytest.mark.parametrize(("share", "full"), [(0.0, 0), (0.5, 8), (1.0, 16), (3.0, 16)])
def test_bar(share: float, full: int) -> None:
    """A node may be asked for more than it has: a bar does not get longer by that."""
    assert table.bar(share).plain.count("█") == full
