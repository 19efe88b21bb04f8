"""Freed room: what hints may know of nodes, so that room that is freed wakes only pods which it may
be enough for.
"""

from __future__ import annotations

from moorage.core.columns.nodes.node_table import NodeTable
from moorage.core.columns.priorities import PriorityTable
from moorage.core.pods.requests import Amounts


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
        for resource, amount in {**amounts, "pods": 1}.items():
            has, taken = self.nodes.amounts_at(resource, row)
            if taken + amount > has and (has or resource == "pods"):
                return False
        return True
