"""Room: what hints may know of nodes, so that room that is freed wakes only pods which it may be enough for."""

from __future__ import annotations

from moorage.core.columns.node_table import NodeTable
from moorage.core.columns.priorities import PriorityTable
from moorage.core.columns.requests import PODS, Amounts


class Room:
    """Looks at the node table as it is now."""

    def __init__(self, nodes: NodeTable, priorities: PriorityTable) -> None:
        self._nodes = nodes
        self._priorities = priorities

    def might_take(self, node: str, amounts: Amounts, priority: int) -> bool:
        """Whether a node has so much left, or pods of lower priority that could go. Yes where it is not known.

        What the node has none of is left out: devices may stand for it.
        """
        row = self._nodes.row_of.get(node)
        if row is None or self._priorities.any_below(priority, row):
            return True
        allocatable, requested = self._nodes.allocatable[:, row], self._nodes.requested[:, row]
        indices = ((self._nodes.resource_index.get(resource), amount) for resource, amount in amounts.items())
        wanted = [(index, amount) for index, amount in indices if index is not None and allocatable[index]]
        return all(requested[index] + amount <= allocatable[index] for index, amount in [*wanted, (PODS, 1)])
