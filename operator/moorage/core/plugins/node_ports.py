"""NodePorts: a pod's host ports must be free on its node.

Cost: nothing for pods without host ports; else a look at the nodes that use one of them.
Source: kube-scheduler NodePorts (v1.37).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Hashable
from typing import ClassVar

import numpy as np

from moorage.core.columns.nodes.node_table import Aspect, Rows
from moorage.core.columns.snapshot import Snapshot
from moorage.core.columns.store import Lister
from moorage.core.framework.cluster_events import (
    ActionType,
    ClusterEvent,
    ClusterEventWithHint,
    EventResource,
    shared_hint,
)
from moorage.core.framework.interfaces import Codes, PreFilterResult
from moorage.core.framework.status import SKIP, SUCCESS, Code, Reason
from moorage.core.objects.pods import Pod
from moorage.core.pods.host_ports import HostPort, clash
from moorage.core.pods.requests import host_ports

NAME = "NodePorts"
PORT_TAKEN = Reason(
    "HostPortTaken",
    "node(s) didn't have free ports for the requested pod ports",
    Code.UNSCHEDULABLE,
)


def _frees_a_port(pod: Pod, event: ClusterEvent, _store: Lister) -> bool:
    """Whether the deleted pod held, on a node, a port that this pod asks for."""
    gone = event.old
    if not isinstance(gone, Pod):
        return False
    freed = host_ports(gone)
    return any(clash(mine, theirs) for mine in host_ports(pod) for theirs in freed)


@dataclasses.dataclass(frozen=True, slots=True)
class NodePorts:
    """Passes the nodes on which no pod holds a host port that this pod asks for."""

    name: ClassVar[str] = NAME
    reasons: ClassVar[tuple[Reason, ...]] = (PORT_TAKEN,)
    reads: ClassVar[frozenset[Aspect]] = frozenset({Aspect.PORTS})
    events_to_register: ClassVar[tuple[ClusterEventWithHint, ...]] = (
        shared_hint(EventResource.ASSIGNED_POD, ActionType.DELETE, _frees_a_port),
        ClusterEventWithHint(EventResource.NODE, ActionType.ADD),
    )

    def hint_signature(self, pod: Pod) -> Hashable:
        return host_ports(pod)

    def pre_filter(self, pod: Pod, snapshot: Snapshot) -> PreFilterResult:
        """The pod's host ports; a pod without any skips this plugin."""
        ports = host_ports(pod)
        return PreFilterResult(SUCCESS, ports) if ports else PreFilterResult(SKIP)

    def filter(self, state: tuple[HostPort, ...], snapshot: Snapshot, rows: Rows) -> Codes:
        """1 where a port is taken."""
        table = snapshot.nodes.ports
        if not isinstance(rows, slice):
            return np.array(
                [any(table.taken(row, port) for port in state) for row in rows.tolist()], np.int64
            )
        codes = np.zeros(snapshot.nodes.rows, np.int64)
        for port in state:
            codes[table.conflicts(port)] = 1
        return codes[rows]

    def explain(self, state: tuple[HostPort, ...], code: int) -> tuple[tuple[Reason, str], ...]:
        """The only reason there is."""
        return ((PORT_TAKEN, ""),)
