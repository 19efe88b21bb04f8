"""Parts of the demo's tables."""

from __future__ import annotations

import datetime

import pytest

from moorage.apps.demo import table
from moorage.apps.demo.cluster_state import NodeUse, ReplicaRow


@pytest.mark.parametrize("count", [12, 13, 500])
def test_many_nodes(count: int) -> None:
    """Those that have no row of their own are the emptiest."""
    nodes = tuple(NodeUse(f"node-{number}", "a", number / count, 0.0, 1) for number in range(count))
    shown, others = table.pick(nodes, 12)
    assert sorted([*shown, *others], key=lambda each: each.cpu) == list(nodes)
    assert len(shown) + bool(others) == 12
    if others:
        assert min(node.cpu for node in shown) >= max(node.cpu for node in others)


@pytest.mark.parametrize(("share", "full"), [(0.0, 0), (0.5, 5), (1.0, 10), (3.0, 10)])
def test_bar(share: float, full: int) -> None:
    """A node may be asked for more than it has: a bar does not get longer by that."""
    assert table.bar(share).plain.count("█") == full
    assert table.bar(share, ascii_only=True).plain[:10] == "#" * full + "." * (10 - full)


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (((1, False), (2, True)), "b leads, a stands by"),
        (((None, False), (2, True)), "b leads, a is dead, comes back"),
        (((None, False), (2, False)), "nobody leads, b stands by, a is dead, comes back"),
        ((), ""),
    ],
)
def test_replicas(rows: tuple[tuple[int | None, bool], ...], said: str) -> None:
    """Who leads comes first, who is dead last."""
    named = [ReplicaRow(name, *row) for name, row in zip("ab", rows, strict=False)]
    assert table.replicas(named).plain == said


@pytest.mark.parametrize(("seconds", "said"), [(-1, "0 s"), (119.9, "119 s"), (120, "2 min")])
def test_age(seconds: float, said: str) -> None:
    """Clocks may differ."""
    assert table.age(datetime.timedelta(seconds=seconds)) == said
