"""Nominations: which waiting pods are promised room on which node, by a preemption that made it.

Other pods of lower priority must leave that room alone until the pod is there. The promise is written in the pod's
``status.nominatedNodeName`` and stands from the decision on, before the API server has shown it.
"""

from __future__ import annotations

from collections.abc import Collection

from moorage.core.columns.records import Record, State
from moorage.core.columns.requests import Requests
from moorage.core.objects import Pod

_NOBODY: dict[str, Record] = {}


class Nominations:
    """See the module's docstring. ``version`` moves when what is promised changes."""

    def __init__(self) -> None:
        self.version = 0
        self._on: dict[str, dict[str, Record]] = {}
        self._records: dict[str, Record] = {}

    def __len__(self) -> int:
        """How many pods are nominated."""
        return len(self._records)

    def __contains__(self, uid: str) -> bool:
        """Whether this pod is."""
        return uid in self._records

    def get(self, uid: str) -> Record | None:
        """The pod with its node, None when it is not nominated."""
        return self._records.get(uid)

    @property
    def nodes(self) -> Collection[str]:
        """The nodes that pods are nominated to, whether they are there or not."""
        return self._on.keys()

    def on(self, node: str) -> Collection[Record]:
        """The pods nominated to a node, in the order in which they came."""
        return self._on.get(node, _NOBODY).values()

    def put(self, pod: Pod, node: str, requests: Requests) -> None:
        """The pod is nominated to this node and to no other; ``requests`` is what it will take there."""
        old = self._records.get(pod.metadata.uid)
        if old is not None and old.node == node and _asks_alike(old, pod, requests):
            old.pod = pod
            return
        self.remove(pod.metadata.uid)
        record = self._records[pod.metadata.uid] = Record(pod, node, requests, State.ASSUMED)
        self._on.setdefault(node, {})[pod.metadata.uid] = record
        self.version += 1

    def remove(self, uid: str) -> None:
        """The pod is not nominated (any more)."""
        record = self._records.pop(uid, None)
        if record is not None:
            there = self._on[record.node]
            del there[uid]
            if not there:
                del self._on[record.node]
            self.version += 1


def _asks_alike(old: Record, pod: Pod, requests: Requests) -> bool:
    """Whether a new state of a nominated pod needs the same room."""
    mine = old.pod
    return isinstance(mine, Pod) and old.requests == requests and mine.spec == pod.spec and mine.metadata.labels == pod.metadata.labels
