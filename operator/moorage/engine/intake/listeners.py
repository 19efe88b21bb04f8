"""Listeners: who hears what the watches bring, beside cache and queue."""

from __future__ import annotations

from typing import Protocol

from moorage.core.objects.pods import Pod
from moorage.ports.stored_kinds import StoredKind


class PodLifecycleListener(Protocol):
    """Hears of pods that need no node any more, and of pods that have got one."""

    def pod_needs_no_node(self, uid: str) -> None:
        """A pod needs no node any more: it is gone, it is being deleted, or it has one."""

    def pod_placed(self, node: str) -> None:
        """A pod has come to this node."""


class NodeListener(Protocol):
    """Hears of changes of nodes."""

    def node_deleted(self, node: str) -> None:
        """A node is gone."""

    def node_changed(self, node: str) -> None:
        """A node is such that decisions may come out otherwise now."""


class ListListener(Protocol):
    """Hears of whole lists."""

    def kind_listed(self, kind: StoredKind, served: bool) -> None:
        """A whole list of this kind is in; ``served``: else the API server does not have the
        kind.
        """


class UnservedPodListener(Protocol):
    """Hears of pods that no profile serves."""

    def pod_queued(self, pod: Pod) -> None:
        """Such a pod came into the queue."""
