"""Selecting rows: predicates over many rows of the node table, each distinct value judged once.

Labels and taints are dictionary-coded, so the question about 5,000 nodes is a question about the
few values that they have. Asked about one row, the usual case, it is one judgement.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from kubefacts.labels import LabelRequirementCheck
from moorage.core.columns.nodes.label_columns import ABSENT
from moorage.core.columns.nodes.node_columns import LabelCodes, NodeColumns
from moorage.core.columns.nodes.node_table import Rows
from moorage.core.pods.node_selection import NODE_NAME, NodeTerm, NodeTerms

Answers = npt.NDArray[np.int64]
"""int64[len(rows)]"""


def judge_each(codes: npt.NDArray[np.int32], judge: Callable[[int], int]) -> Answers:
    """``judge`` of each row's code, asked once per distinct code. int32[rows] -> int64[rows]."""
    if codes.size == 1:
        return np.array([judge(int(codes[0]))], np.int64)
    frequencies = np.bincount(codes)
    distinct = np.flatnonzero(frequencies)
    answers = np.zeros(frequencies.size, np.int64)
    answers[distinct] = [judge(code) for code in distinct.tolist()]
    return answers[codes]


def rows_matching(terms: NodeTerms, nodes: NodeColumns, rows: Rows) -> Answers:
    """1 where a node matches any of the terms, else 0."""
    matching = np.zeros(nodes.live[rows].size, np.int64)
    for term in terms:
        matching |= _rows_of(term, nodes, rows)
    return matching


def _rows_of(term: NodeTerm, nodes: NodeColumns, rows: Rows) -> Answers:
    matching = np.ones(nodes.live[rows].size, np.int64)
    for condition in term.labels:
        matching &= _label_holds(condition, nodes, rows)
    for condition in term.fields:
        matching &= _field_holds(condition, nodes, rows)
    return matching


def _label_holds(condition: LabelRequirementCheck, nodes: NodeColumns, rows: Rows) -> Answers:
    column = nodes.labels.column(condition.key)
    codes = column.codes[rows]
    if codes.size == 1:
        code = int(codes[0])
        return np.array(
            [condition.matches(None if code == ABSENT else column.values[code])], np.int64
        )
    return _holds_by_code(condition, column)[codes].astype(np.int64)


def _holds_by_code(condition: LabelRequirementCheck, column: LabelCodes) -> npt.NDArray[np.bool_]:
    """By code: whether the label may have this value."""
    if condition.operator in ("Gt", "Lt"):
        numbers, readable = column.numbers()
        found: npt.NDArray[np.bool_] = readable & (
            numbers > condition.bound if condition.operator == "Gt" else numbers < condition.bound
        )
        found[ABSENT] = False
        return found
    there = np.zeros(len(column.values), bool)
    if condition.operator in ("Exists", "DoesNotExist"):
        there[:] = True
    elif len(condition.values) < len(column.values):
        there[[column.code(value) for value in condition.values]] = True
    else:
        there[:] = [value in condition.values for value in column.values]
    there[ABSENT] = False
    return there if condition.operator in ("Exists", "In") else ~there


def _field_holds(condition: LabelRequirementCheck, nodes: NodeColumns, rows: Rows) -> Answers:
    """In or NotIn with one value; a field other than the name reads as ""."""
    if condition.key != NODE_NAME:
        return np.full(nodes.live[rows].size, condition.matches(""), np.int64)
    (name,) = condition.values
    named = np.arange(nodes.rows)[rows] == nodes.row_of.get(name, -1)
    return np.asarray(named if condition.operator == "In" else ~named, np.int64)
