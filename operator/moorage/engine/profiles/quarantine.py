"""Quarantine: keeps plugins that hung out of the profiles, as the record says, until it no longer
does or they are of another version.

Read before this replica decides, and again in every round of the replica monitor, by standbys too:
a plugin that hung in one replica would hang in the next.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping

from moorage.core.framework.registry import Registry
from moorage.engine.profiles.swap import ProfileSwapper
from moorage.ports.errors import Forbidden
from moorage.ports.kube import KubeReader
from moorage.ports.quarantine_record import QUARANTINE_ANNOTATION

log = logging.getLogger(__name__)


class PluginQuarantine:
    """Reads the record, and has the swapper follow it. ``lease`` is where the record is."""

    def __init__(
        self, registry: Registry, reads: KubeReader, lease: str, swapper: ProfileSwapper
    ) -> None:
        self._versions = {
            name: spec.guard.version for name, spec in registry.items() if spec.guard is not None
        }
        self._reads = reads
        self._lease = lease
        self._swapper = swapper
        self._plugins: Mapping[str, str] = {}
        """Those that are out, with the reason why."""

    async def refresh(self) -> None:
        """Read the record. Without plugins from outside the tree there is nothing to read."""
        if not self._versions:
            return
        try:
            self._apply(await self._reads.quarantined())
        except Forbidden as error:
            log.error("the record of plugins that hung cannot be read: %s", error)

    def _apply(self, record: Mapping[str, str]) -> None:
        now = {
            name: self._why(version)
            for name, version in record.items()
            if self._versions.get(name) == version
        }
        changed = now.keys() ^ self._plugins.keys()
        if not changed:
            return
        for name in sorted(changed):
            log.warning(
                "plugin %s is quarantined" if name in now else "plugin %s is quarantined no longer",
                name,
            )
        self._plugins = now
        self._swapper.quarantine(now)

    def _why(self, version: str) -> str:
        return (
            f"version {version} of this plugin hung in a call, so it is not called any more: "
            f"install another version of its package,"
            f" or take it out of the annotation {QUARANTINE_ANNOTATION} of Lease {self._lease} "
            f"to try it again"
        )
