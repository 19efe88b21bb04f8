"""Herds: pods on rows in the form of columns, to be tried away and there again many at a time.

=============  ========  =================  ==================================================================================
array          dtype     shape              meaning of element ``[.., i]``
=============  ========  =================  ==================================================================================
``rows``       intp      [n]                the row of ``records[i]``
``amounts``    int64     [resources, n]     what it takes there; resources as in the node table, as far as the herd takes any
``nonzero``    int64     [2, n]             likewise, cpu and memory with defaults
=============  ========  =================  ==================================================================================
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from moorage.core.columns.node_table import NodeTable
from moorage.core.columns.records import Record
from moorage.core.columns.requests import CPU, MEMORY, PODS, Requests


class Herd:
    """See the module's docstring. ``ports`` and ``volumes``: those of the pods that have any, by place."""

    def __init__(self, records: Sequence[Record], nodes: NodeTable) -> None:
        self.records = records
        self.rows: npt.NDArray[np.intp] = np.array([nodes.row_of[record.node] for record in records], np.intp)
        kinds: dict[int, int] = {}  # pods of one template share what they ask for
        distinct: list[Requests] = []
        which = []
        for record in records:
            kind = kinds.setdefault(id(record.requests), len(distinct))
            if kind == len(distinct):
                distinct.append(record.requests)
            which.append(kind)
        kind_of = np.array(which, np.intp)
        self.amounts = _amounts(distinct, nodes)[:, kind_of]
        self.nonzero = np.array([[one.nonzero_cpu for one in distinct], [one.nonzero_memory for one in distinct]], np.int64)[:, kind_of]
        holders = {kind for kind, one in enumerate(distinct) if one.ports}
        self.volumes = {i: record.volumes for i, record in enumerate(records) if record.volumes}
        self.ports = {i: records[i].requests.ports for i, kind in enumerate(which) if kind in holders} if holders else {}


def beside(record: Record, others: Sequence[Record], nodes: NodeTable) -> bool:
    """Whether a pod's node has of everything what it asks for, when these others are there."""
    amounts = Herd([*others, record], nodes).amounts
    room = nodes.allocatable[: len(amounts), nodes.row_of[record.node]]
    return bool(np.all((amounts.sum(axis=1) <= room)[amounts[:, -1] > 0]))


def _amounts(distinct: Sequence[Requests], nodes: NodeTable) -> npt.NDArray[np.int64]:
    """int64[resources, distinct]. A resource that no node has and no pod has asked for before gets no index: nobody looks at it."""
    amounts = np.zeros((len(nodes.resource_index), len(distinct)), np.int64)
    for i, one in enumerate(distinct):
        amounts[[CPU, MEMORY, PODS], i] = one.cpu, one.memory, 1
        for resource, amount in one.others:
            if resource in nodes.resource_index:
                amounts[nodes.resource_index[resource], i] = amount
    return amounts
