"""Whole objects: pods and nodes in full, as the API server has them and as extenders get them.

What was read is kept as long as a pod's cycle, or a group's attempt, for which it is read: to read
all nodes anew for each member would be most of the work. Nodes are read again when one that is
asked about has come, or has changed, since.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

from moorage.core.columns.nodes.node_table import NodeTable
from moorage.core.objects.nodes import Node, is_unchanged
from moorage.core.objects.pods import Pod
from moorage.ports.extender_calls import CandidateNodes
from moorage.ports.kube import KubeReader, pod_ref


@dataclasses.dataclass(slots=True)
class WholeObjects:
    """What was read, as JSON: pods by UID, nodes by name."""

    _pods: dict[str, bytes] = dataclasses.field(default_factory=dict)
    _nodes: Mapping[str, bytes] = dataclasses.field(default_factory=dict)
    _known: dict[str, Node | None] = dataclasses.field(default_factory=dict)
    """The nodes as they were known when they were read."""
    _last: CandidateNodes = dataclasses.field(default_factory=CandidateNodes)

    async def pod(self, pod: Pod, reads: KubeReader) -> bytes:
        """The pod; b"" when it is gone."""
        uid = pod.metadata.uid
        if uid not in self._pods:
            whole = await reads.pod_json(pod_ref(pod))
            if whole is None:
                return b""
            self._pods[uid] = whole
        return self._pods[uid]

    async def candidates(
        self, names: Sequence[str], nodes: NodeTable, reads: KubeReader
    ) -> CandidateNodes:
        """Those of these nodes that are there still; the same as before where that is so."""
        if not all(self._is_as_read(name, nodes) for name in names):
            now = {name: nodes.nodes[row] for name, row in nodes.row_of.items()}
            self._nodes, self._known = await reads.nodes_json(), now
            self._last = CandidateNodes()
        there = tuple(name for name in names if name in self._nodes and name in nodes.row_of)
        if there != self._last.names:
            self._last = CandidateNodes(there, {name: self._nodes[name] for name in there})
        return self._last

    def _is_as_read(self, name: str, nodes: NodeTable) -> bool:
        """Whether a node is as it was, as far as we read nodes, or is not there any more: its
        kubelet writes that it is well all the time.
        """
        row, known = nodes.row_of.get(name), self._known.get(name)
        if row is None or nodes.nodes[row] is known:
            return True
        now = nodes.nodes[row]
        if known is None or now is None or not is_unchanged(now, known):
            return False
        self._known[name] = now
        return True
