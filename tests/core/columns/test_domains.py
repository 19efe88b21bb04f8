"""Sums over topology domains."""

from __future__ import annotations

import numpy as np

from moorage.core.columns.domains import domains, per_domain, shifted
from moorage.core.columns.nodes.node_table import NodeTable
from tests.core.plugins.companions import HOST, ZONE, node


def table() -> NodeTable:
    """Two nodes in zone a, one in b, one in none."""
    nodes = NodeTable()
    for one in (node("a1", "a"), node("a2", "a"), node("b1", "b"), node("none")):
        nodes.put(one)
    return nodes


def test_per_domain() -> None:
    """What is on nodes without the label is in no domain."""
    nodes = table()
    where = domains(ZONE, nodes, nodes.all_rows)
    assert where.tolist() == [1, 1, 2, 0]
    assert domains(ZONE, nodes, np.array([2, 3], np.intp)).tolist() == [2, 0]
    assert per_domain(np.array([1, 2, 4, 8]), ZONE, nodes).tolist() == [0, 3, 4]
    assert per_domain(np.array([1, 2, 4, 8]), "nobody", nodes).tolist() == [0]


def test_shifted() -> None:
    """Once for each key, in a copy; a topology without sums gets some; a node without the label
    changes nothing.
    """
    nodes = table()
    sums = {ZONE: np.array([0, 3, 4])}
    new = shifted(sums, [ZONE, ZONE, HOST], 0, 1, nodes)
    assert {key: counts.tolist() for key, counts in new.items()} == {
        ZONE: [0, 5, 4],
        HOST: [0, 1, 0, 0, 0],
    }
    assert {
        key: counts.tolist() for key, counts in shifted(sums, [ZONE], 3, -1, nodes).items()
    } == {ZONE: [0, 3, 4]}
    assert sums[ZONE].tolist() == [0, 3, 4]
