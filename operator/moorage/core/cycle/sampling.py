"""Sampling: looking at only some nodes, for profiles that ask for it (percentageOfNodesToScore).

Columns make looking at all nodes cheap, so that is the default. With a percentage below 100, or
with kube-scheduler's adaptive rule (0), the first so many feasible nodes are taken, round the
zones, from where the last pod's search ended.
Source: kube-scheduler's numFeasibleNodesToFind (v1.37), in words of our own.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from moorage.core.columns.snapshot import Snapshot
from moorage.core.framework.evaluation.evaluation import PASSES, Evaluation
from moorage.core.framework.revisions import Revision

MIN_NODES = 100
"""Clusters, and samples, are never made smaller than this."""
_LOWEST_PERCENTAGE = 5


def feasible_nodes_to_find(percentage: int, nodes: int) -> int:
    """How many feasible nodes are enough among ``nodes``; percentage 0 is the adaptive rule: 50 %,
    less in large clusters, at least 5 %.
    """
    if nodes < MIN_NODES or percentage >= 100:
        return nodes
    chosen = percentage or max(_LOWEST_PERCENTAGE, 50 - nodes // 125)
    return max(MIN_NODES, nodes * chosen // 100)


class NodeSampler:
    """Remembers where the last search ended, and the rows in visiting order for as long as no node
    comes, goes or moves.
    """

    def __init__(self) -> None:
        self.start = 0
        """Where in visiting order the next search begins."""
        self._names: tuple[str, ...] = ()
        self._rows: npt.NDArray[np.intp] = np.empty(0, np.intp)

    def choose(
        self, evaluation: Evaluation, revision: Revision, snapshot: Snapshot
    ) -> npt.NDArray[np.intp] | None:
        """The feasible rows that a sampling profile gets to see, in visiting order; None for all of
        them.
        """
        nodes = snapshot.nodes
        wanted = feasible_nodes_to_find(revision.percentage_of_nodes_to_score, len(nodes))
        if wanted >= len(nodes):
            return None
        if self._names is not nodes.order.names:
            self._names = nodes.order.names
            self._rows = np.array([nodes.row_of[name] for name in self._names], np.intp)
        order = np.roll(self._rows, -(self.start % self._rows.size))
        hits = np.flatnonzero(evaluation.rejected_by[order] == PASSES)[:wanted]
        visited = int(hits[-1]) + 1 if hits.size == wanted else order.size
        self.start = (self.start + visited) % order.size
        return order[hits]
