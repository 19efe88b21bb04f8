"""Freed room: what hints may know of nodes, so that room that is freed wakes only pods which it may
be enough for.
"""

from __future__ import annotations

from moorage.core.columns.nodes.node_table import NodeTable
from moorage.core.columns.priorities import PriorityTable
from moorage.core.pods.requests import Amounts
from moorage.core.structures.sparse import HAS


class FreedRoom:
    """Looks at the node table as it is now."""

    def __init__(self, nodes: NodeTable, priorities: PriorityTable) -> None:
        self.nodes = nodes
        self.priorities = priorities

    def might_take(self, node: str, amounts: Amounts, priority: int) -> bool:
        """Whether a node has so much left, or pods of lower priority that could go. Yes where it is
        not known.

        What the node has none of is left out: devices may stand for it.
        """
        row = self.nodes.row_of.get(node)
        if row is None or self.priorities.any_below(priority, row):
            return True
        wanted = {
            resource: amount
            for resource, amount in amounts.items()
            if self.nodes.amounts_at(resource, row)[HAS]
        }
        left = (
            (self.nodes.amounts_at(resource, row), amount)
            for resource, amount in {**wanted, "pods": 1}.items()
        )
        return all(taken + amount <= has for (has, taken), amount in left)
