"""What there is for nodes."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from moorage.core.devices.uses import AvailableDevices, DeviceUse
from moorage.core.objects.nodes import Node


class KeptDevices(NamedTuple):
    """What is kept for a pod: claims (UIDs) that only it may have allocated, and the devices that
    they will get.
    """

    claims: frozenset[str]
    taken: tuple[DeviceUse, ...]


class DeviceSupply(Protocol):
    """What there is for nodes."""

    def available(self, node: Node) -> AvailableDevices:
        """What there is for a node. Raises AllocationError when a slice can't be used."""

    def is_shape_known(self, node: Node) -> bool:
        """Whether the node's shape is known, so that it costs nothing now."""

    def shape(self, node: Node) -> int:
        """The same for nodes that offer the same, names aside. Raises AllocationError."""
