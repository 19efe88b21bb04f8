"""What there is for nodes, and searches in it that were set down."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from typing import NamedTuple, Protocol

from moorage.core.devices.allocator import Allocator
from moorage.core.devices.uses import AvailableDevices, DeviceUse
from moorage.core.objects.nodes import Node

_MAX_PAUSED_ALLOCATIONS = 64
"""Searches that are kept while others have their turn."""


class KeptDevices(NamedTuple):
    """What is kept for a pod: claims (UIDs) that only it may have allocated, and the devices that
    they will get.
    """

    claims: frozenset[str]
    taken: tuple[DeviceUse, ...]


class DeviceSupply(Protocol):
    """What there is for nodes."""

    @property
    def searches(self) -> PausedAllocations:
        """Searches that were set down."""

    def available(self, node: Node) -> AvailableDevices:
        """What there is for a node. Raises AllocationError when a slice can't be used."""

    def is_shape_known(self, node: Node) -> bool:
        """Whether the node's shape is known, so that it costs nothing now."""

    def shape(self, node: Node) -> int:
        """The same for nodes that offer the same, names aside. Raises AllocationError."""


class PausedAllocations:
    """Searches that were set down, by what they are for and where; one is gone on with only if all
    that it looks at is as it was.
    """

    def __init__(self, ledger: DeviceSupply) -> None:
        self._ledger = ledger
        self._kept: OrderedDict[tuple[Hashable, str], tuple[int, Allocator]] = OrderedDict()

    def keep(self, what: Hashable, node: Node, search: Allocator) -> None:
        """Keep a search; of many those that were set down last."""
        self._kept[what, node.metadata.name] = self._ledger.shape(node), search
        if len(self._kept) > _MAX_PAUSED_ALLOCATIONS:
            self._kept.popitem(last=False)

    def take(self, what: Hashable, node: Node) -> Allocator | None:
        """The search, if it can be gone on with."""
        shape, search = self._kept.pop((what, node.metadata.name), (None, None))
        same = (
            search is not None
            and shape == self._ledger.shape(node)
            and search.available.pools is self._ledger.available(node).pools
        )
        return search if same else None
