"""Companions: plugins that work otherwise where another one is enabled beside them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol, runtime_checkable

from moorage.core.columns.snapshot import Snapshot
from moorage.core.devices.candidate_order import CandidateOrder
from moorage.core.framework.interfaces import Plugin, is_a


@runtime_checkable
class DeviceOrderingPlugin(Plugin, Protocol):
    """A plugin that prefers some of a node's devices to others."""

    def candidate_order(self, snapshot: Snapshot, /) -> CandidateOrder:
        """In which order devices are to be tried now."""


@runtime_checkable
class DeviceTakingPlugin(Plugin, Protocol):
    """A plugin that takes devices for pods."""

    def ordered_by(self, ordering: DeviceOrderingPlugin, /) -> Plugin:
        """The same plugin, which takes devices as the other one prefers."""


def with_device_order(plugins: Mapping[str, Plugin]) -> Mapping[str, Plugin]:
    """The plugins of a profile by name; where one of them prefers devices, the first of such
    counts.
    """
    for ordering in plugins.values():
        if is_a(ordering, DeviceOrderingPlugin):
            return {
                name: one.ordered_by(ordering) if is_a(one, DeviceTakingPlugin) else one
                for name, one in plugins.items()
            }
    return plugins
