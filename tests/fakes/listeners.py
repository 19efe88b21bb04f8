"""Listeners of intake that do nothing."""

from __future__ import annotations

from moorage.ports.stored_kinds import StoredKind


class Unheard:
    """``PodLifecycleListener``, ``NodeListener`` and ``ListListener``."""

    def pod_needs_no_node(self, uid: str) -> None:
        """Nothing."""

    def pod_placed(self, node: str) -> None:
        """Nothing."""

    def node_deleted(self, node: str) -> None:
        """Nothing."""

    def node_changed(self, node: str) -> None:
        """Nothing."""

    def kind_listed(self, kind: StoredKind) -> None:
        """Nothing."""
