"""The writer of statuses: what a leader writes about itself, and all that an observer may."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol


class StatusWriter(Protocol):
    """What the leader writes of what it found, and of its own replicas; each passes the fence. An
    observer writes nothing else.
    """

    @property
    def open(self) -> bool:
        """Whether the fence would let a write pass now."""

    async def profile_status(self, name: str, status: Mapping[str, Any]) -> None:
        """Merge-patch a SchedulerProfile's status (None removes a field)."""

    async def plugin_config_status(self, name: str, status: Mapping[str, Any]) -> None:
        """Merge-patch a PluginConfig's status."""

    async def delete_replica(self, identity: str) -> None:
        """Delete what a replica announced that died without withdrawing
        (``KubeReader.dead_replicas``); one that is gone is fine.
        """
