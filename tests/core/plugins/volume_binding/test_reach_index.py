"""Reach indexes count and find what a walk over all things finds."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from kubefacts.labels import LabelRequirementCheck
from moorage.core.columns.nodes.node_table import NodeTable
from moorage.core.plugins.volume_binding.reach_index import NOTHING, ReachIndex
from moorage.core.pods.node_selection import NodeTerm, NodeTerms
from tests.builders import make_node

LABELS = [{"a": "0"}, {"a": "1"}, {"a": "2", "b": "0"}, {"b": "1"}, {}]
PLACES: list[NodeTerms | None] = [
    None,
    (),
    (NodeTerm((LabelRequirementCheck("a", "In", frozenset({"0"})),)),),
    (NodeTerm((LabelRequirementCheck("a", "In", frozenset({"0", "2"})),)),),
    (NodeTerm((LabelRequirementCheck("a", "In", frozenset({"nowhere"})),)),),
    (NodeTerm((LabelRequirementCheck("b", "In", frozenset({"1"})),)),),
    (NodeTerm((LabelRequirementCheck("a", "Exists"),)),),
    (
        NodeTerm((LabelRequirementCheck("a", "In", frozenset({"1"})),)),
        NodeTerm((LabelRequirementCheck("b", "In", frozenset({"0"})),)),
    ),
]
steps = st.lists(
    st.tuples(st.integers(0, 9), st.integers(0, 3), st.sampled_from(range(len(PLACES)))),
    max_size=60,
)


def test_things_come_and_go() -> None:
    """Each step puts the thing of a name, or takes it when it is there; then all questions are
    asked.
    """
    nodes = NodeTable()
    for i, labels in enumerate(LABELS):
        nodes.put(make_node(f"n{i}", labels=labels))

    @settings(max_examples=80, deadline=None)
    @given(steps)
    def run(changes: list[tuple[int, int, int]]) -> None:
        index = ReachIndex()
        there: dict[int, tuple[int, int]] = {}
        for name, size, place in changes:
            if name in there:
                old_size, old_place = there.pop(name)
                left = index.change((old_size, old_size % 2, str(name)), PLACES[old_place], -1)
            else:
                there[name] = size, place
                left = index.change((size, size % 2, str(name)), PLACES[place], 1)
            for least in (0, 2):
                check(index, there, nodes, least)
            assert left == bool(there)

    run()


def check(
    index: ReachIndex, there: dict[int, tuple[int, int]], nodes: NodeTable, least: int
) -> None:
    """Counts of all rows, of some, and of even names only; the smallest even one, and the three
    smallest of each row.
    """
    reached = [
        [
            (size, size % 2, str(name))
            for name, (size, place) in there.items()
            if size >= least
            and (
                PLACES[place] is None
                or any(term.matches(labels, "") for term in PLACES[place] or ())
            )
        ]
        for labels in LABELS
    ]
    even = [[item for item in items if int(item[2]) % 2 == 0] for items in reached]
    assert index.counts(least, None, nodes, nodes.all_rows).tolist() == [
        len(items) for items in reached
    ]
    assert index.counts(least, None, nodes, np.array([2, 0])).tolist() == [
        len(reached[2]),
        len(reached[0]),
    ]
    assert index.counts(least, is_even, nodes, nodes.all_rows).tolist() == [
        len(items) for items in even
    ]
    for labels, items in zip(LABELS, even, strict=True):
        assert min(index.within_reach(least, is_even, labels), default=None) == min(
            items, default=None
        )
    for number, likes, items_of in ((3, None, reached), (1, is_even, even)):
        smallest = index.smallest(number, least, likes, nodes, nodes.all_rows)
        for row, items in enumerate(items_of):
            few = [list(item[:2]) for item in sorted(items)[:number]]
            few += [[NOTHING, NOTHING]] * (number - len(few))
            assert smallest[:, :, row].T.tolist() == few


def is_even(name: str) -> bool:
    """As the name says."""
    return int(name) % 2 == 0
