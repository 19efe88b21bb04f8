"""Reactions: what happens to work under way when a pod comes or goes, or a node changes.

The sinks write cache and queue first (``engine.intake.pod_sink``, ``engine.intake.node_sink``).
"""

from __future__ import annotations

import dataclasses

from moorage.engine.binding.binder import Binder
from moorage.engine.scheduling.nomination_controller import NominationController
from moorage.engine.scheduling.pods_under_way import PodsUnderWay
from moorage.ports.guards import guard


@dataclasses.dataclass(frozen=True, slots=True)
class PodReactions:
    """``PodLifecycleListener``: what is under way for a pod, and the nominations to its node."""

    under_way: PodsUnderWay
    nominations: NominationController

    def pod_needs_no_node(self, uid: str) -> None:
        """Its cycle with extenders and its binding are broken off, as far as they can be."""
        self.under_way.interrupt_pod(uid)

    def pod_placed(self, node: str) -> None:
        """Nominations to its node end for which there is no room there any more."""
        self.nominations.pod_placed(node)


@dataclasses.dataclass(frozen=True, slots=True)
class NodeReactions:
    """``NodeListener``: bindings to a node, and nominations to it."""

    binder: Binder
    nominations: NominationController

    def node_deleted(self, node: str) -> None:
        """Bindings to it are broken off, as far as they can be, and nominations end."""
        with guard("breaking off bindings to a node that is gone", node=node):
            self.binder.interrupt_node(node)
        self.nominations.node_deleted(node)

    def node_changed(self, node: str) -> None:
        """Pods that are nominated to it are tried again."""
        self.nominations.node_changed(node)
