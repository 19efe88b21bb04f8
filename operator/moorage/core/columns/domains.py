"""Topology domains: the nodes that share the value of a label, and pods counted over them.

A domain is known by its code in the label's column; ``ABSENT``, a node without the label, is none.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
import numpy.typing as npt

from moorage.core.columns.nodes.label_columns import ABSENT
from moorage.core.columns.nodes.node_columns import NodeColumns
from moorage.core.columns.nodes.node_table import Rows
from moorage.core.columns.pod_counters import Counts

Domains = npt.NDArray[np.int32]


def domains(key: str, nodes: NodeColumns, rows: Rows) -> Domains:
    """The domain of each row in the topology of this label. -> int32[len(rows)]."""
    return nodes.labels.column(key).codes[rows]


def per_domain(counts: Counts, key: str, nodes: NodeColumns) -> Counts:
    """The sum of the rows' counts in each domain. int64[rows] -> int64[domains], 0 for no
    domain.
    """
    column = nodes.labels.column(key)
    sums = np.bincount(
        column.codes[: counts.size], weights=counts, minlength=len(column.values)
    ).astype(np.int64)
    sums[ABSENT] = 0
    return sums


def shifted(
    sums: Mapping[str, Counts], keys: Iterable[str], row: int, sign: int, nodes: NodeColumns
) -> Mapping[str, Counts]:
    """Sums by topology key, as they are with one pod more (``sign`` 1) or less (-1) on this row,
    once for each of the keys.
    """
    new = dict(sums)
    for key in keys:
        column = nodes.labels.column(key)
        domain = int(column.codes[row])
        if domain != ABSENT:
            new[key] = new[key].copy() if key in new else np.zeros(len(column.values), np.int64)
            new[key][domain] += sign
    return new
