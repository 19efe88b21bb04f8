"""Nominations: which waiting pods are promised room on which node, by a preemption that made it.

Other pods of lower priority must leave that room alone until the pod is there. A promise comes from two sides, and the newer one
counts: what we decide (``decide``) stands from then on, before the API server has shown it; what the pod's ``status.nominatedNodeName``
says (``read``) counts whenever no decision of ours has yet to be written there. So in the end both are the same.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator

from moorage.core.columns.changes import Aspect
from moorage.core.columns.node_table import NodeTable
from moorage.core.columns.records import Record, State
from moorage.core.columns.requests import Requests, pod_requests
from moorage.core.objects import Pod

_NOBODY: dict[str, Record] = {}


class Nominations:
    """See the module's docstring. The rows of the node table where what is promised changes are in its log of NOMINATIONS."""

    def __init__(self, nodes: NodeTable) -> None:
        self._nodes = nodes
        self.freed: Callable[[Pod, str], None] = lambda _pod, _node: None
        """Told of a pod, and of the node where it was promised room that it neither has nor is promised any more."""
        self._on: dict[str, dict[str, Record]] = {}
        self._records: dict[str, Record] = {}
        self._unwritten: dict[str, str] = {}
        """What we decided and the pod's status does not say yet, by UID; "" for no node."""
        self._lapsed: dict[str, str] = {}
        """UID -> the node that a pod's status names still, which is not kept for it any more."""

    def __len__(self) -> int:
        """How many pods are nominated."""
        return len(self._records)

    def __contains__(self, uid: str) -> bool:
        """Whether this pod is."""
        return uid in self._records

    def __iter__(self) -> Iterator[Record]:
        """The nominated pods, each with its node. Not to be changed while this runs."""
        return iter(self._records.values())

    def get(self, uid: str) -> Record | None:
        """The pod with its node, None when it is not nominated."""
        return self._records.get(uid)

    def node(self, uid: str) -> str:
        """The node that a pod is nominated to, "" for none."""
        record = self._records.get(uid)
        return record.node if record is not None else ""

    @property
    def nodes(self) -> Collection[str]:
        """The nodes that pods are nominated to, whether they are there or not."""
        return self._on.keys()

    def on(self, node: str) -> Collection[Record]:
        """The pods nominated to a node, in the order in which they came."""
        return self._on.get(node, _NOBODY).values()

    @property
    def unwritten(self) -> Collection[str]:
        """UIDs of the pods whose status does not say yet what we decided."""
        return self._unwritten.keys()

    # ---- what is promised --------------------------------------------------------------------------------------------------

    def decide(self, pod: Pod, node: str) -> None:
        """From now on the pod is promised this node, or none (""); ``pod`` is its newest state."""
        self._lapsed.pop(pod.metadata.uid, None)
        if pod.status.nominated_node_name == node:
            self._unwritten.pop(pod.metadata.uid, None)
        else:
            self._unwritten[pod.metadata.uid] = node
        self._set(pod, node, pod_requests(pod))

    def read(self, pod: Pod, requests: Requests) -> bool:
        """The pod waits in this new state; whether that changes its node. It may ask for something else than before, too."""
        uid, shown = pod.metadata.uid, pod.status.nominated_node_name
        if self._unwritten.get(uid) == shown:
            del self._unwritten[uid]
        before, node = self.node(uid), self._unwritten.get(uid, shown)
        if self._lapsed.get(uid) == node:
            node = ""
        else:
            self._lapsed.pop(uid, None)
        self._set(pod, node, requests)
        return node != before

    def lapse(self, uid: str) -> None:
        """Its node is not kept for this pod any more, whatever its status goes on to say; another node will be."""
        old = self._take_out(uid)
        if old is not None:
            self._lapsed[uid] = old.node
            self._tell(old)

    def put(self, pod: Pod, node: str, requests: Requests) -> None:
        """The pod is nominated to this node and to no other; ``requests`` is what it will take there."""
        old = self._records.get(pod.metadata.uid)
        if old is not None and old.node == node and _asks_alike(old, pod, requests):
            old.pod = pod
            return
        self._take_out(pod.metadata.uid)
        record = self._records[pod.metadata.uid] = Record(pod, node, requests, State.ASSUMED)
        self._on.setdefault(node, {})[pod.metadata.uid] = record
        self._changed(node)
        if old is not None and old.node != node:
            self._tell(old)

    def remove(self, uid: str, placed: str = "") -> None:
        """The pod waits no more: it is gone, or has its place on this node."""
        self._unwritten.pop(uid, None)
        self._lapsed.pop(uid, None)
        old = self._take_out(uid)
        if old is not None and old.node != placed:
            self._tell(old)

    # ---- inside ------------------------------------------------------------------------------------------------------------

    def _set(self, pod: Pod, node: str, requests: Requests) -> None:
        if node:
            self.put(pod, node, requests)
        elif (old := self._take_out(pod.metadata.uid)) is not None:
            self._tell(old)

    def _take_out(self, uid: str) -> Record | None:
        record = self._records.pop(uid, None)
        if record is not None:
            there = self._on[record.node]
            del there[uid]
            if not there:
                del self._on[record.node]
            self._changed(record.node)
        return record

    def _changed(self, node: str) -> None:
        row = self._nodes.row_of.get(node)
        if row is not None:
            self._nodes.logs[Aspect.NOMINATIONS].add(row)

    def _tell(self, old: Record) -> None:
        if isinstance(old.pod, Pod):
            self.freed(old.pod, old.node)


def _asks_alike(old: Record, pod: Pod, requests: Requests) -> bool:
    """Whether a new state of a nominated pod needs the same room."""
    mine = old.pod
    return isinstance(mine, Pod) and old.requests == requests and mine.spec == pod.spec and mine.metadata.labels == pod.metadata.labels
