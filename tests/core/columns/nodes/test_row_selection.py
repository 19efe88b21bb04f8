"""Selecting rows agrees with asking one node at a time."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubefacts.labels import condition
from moorage.core.columns.nodes.node_table import NodeTable
from moorage.core.columns.nodes.row_selection import judge_each, rows_matching
from moorage.core.objects.selector_terms import Requirement
from moorage.core.pods.node_selection import NodeTerm, NodeTerms, matches_any
from tests.builders import make_node


@pytest.mark.parametrize("codes", [[], [2], [0, 2, 2, 0], [5, 5, 5]], ids=str)
def test_each_code_is_judged_once(codes: list[int]) -> None:
    """One question per distinct code, whatever the number of rows."""
    asked: list[int] = []

    def judge(code: int) -> int:
        asked.append(code)
        return 10 * code

    assert judge_each(np.array(codes, np.int32), judge).tolist() == [10 * code for code in codes]
    assert asked == sorted(set(codes))


conditions = st.sampled_from(
    [
        condition(Requirement("disk", "In", ("ssd", "hdd"))),
        condition(Requirement("disk", "NotIn", ("ssd",))),
        condition(Requirement("disk", "Exists")),
        condition(Requirement("gen", "DoesNotExist")),
        condition(Requirement("gen", "Gt", ("3",))),
        condition(Requirement("gen", "Lt", ("10",))),
        condition(Requirement("disk", "In", tuple(f"d{i}" for i in range(9)))),
        condition(Requirement("disk", "NotIn", ("ssd", *(f"d{i}" for i in range(9))))),
        condition(Requirement("none", "NotIn", ("x",))),
        condition(Requirement("none", "Exists")),
    ]
)
fields = st.sampled_from(
    [
        condition(Requirement("metadata.name", "In", ("n1",))),
        condition(Requirement("metadata.name", "NotIn", ("n1",))),
        condition(Requirement("metadata.name", "In", ("unheard of",))),
        condition(Requirement("metadata.uid", "In", ("",))),
        condition(Requirement("metadata.uid", "NotIn", ("",))),
    ]
)
terms = st.builds(
    NodeTerm, st.lists(conditions, max_size=2).map(tuple), st.lists(fields, max_size=1).map(tuple)
)
labels = st.fixed_dictionaries(
    {},
    optional={
        "none": st.just("x"),
        "disk": st.sampled_from(["ssd", "hdd", ""]),
        "gen": st.sampled_from(["3", "7", "10", "x"]),
    },
)


@given(st.lists(terms, max_size=3).map(tuple), st.lists(labels, min_size=1, max_size=8), st.data())
def test_rows_agree_with_nodes(
    wanted: NodeTerms, nodes: list[dict[str, str]], data: st.DataObject
) -> None:
    """For all rows and for some, after nodes changed their labels, left, and new ones took their
    rows.
    """
    table = NodeTable()
    for i, of_node in enumerate(nodes):
        table.put(make_node(f"n{i}", labels=of_node))
    # makes the columns, which have to be kept up from here on
    rows_matching(wanted, table, table.all_rows)
    for name in data.draw(st.lists(st.sampled_from([*table.row_of]), unique=True)):
        table.remove(name)
    for name in data.draw(st.lists(st.sampled_from(["n0", "n1", "new", "other"]), unique=True)):
        table.put(make_node(name, labels=data.draw(labels)))
    want = {
        row: matches_any(wanted, node) for row, node in enumerate(table.nodes) if node is not None
    }
    everywhere = rows_matching(wanted, table, table.all_rows)
    assert everywhere.size == table.rows
    assert {row: everywhere[row] for row in want} == want
    some = np.array(
        data.draw(st.lists(st.sampled_from([*want]), unique=True)) if want else [], np.intp
    )
    assert rows_matching(wanted, table, some).tolist() == [want[row] for row in some.tolist()]
