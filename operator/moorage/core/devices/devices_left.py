"""What is left of devices when those that are kept for nominated pods are theirs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from moorage.core.devices.device_supply import DeviceSupply, KeptDevices
from moorage.core.devices.pools import Pool, PoolId
from moorage.core.devices.uses import AvailableDevices, DevicesInUse
from moorage.core.objects.nodes import Node


class DevicesLeft:
    """What a ledger has for nodes when what is kept for some pods is theirs. The numbers of shapes
    are the ledger's.
    """

    def __init__(
        self,
        ledger: DeviceSupply,
        number: Callable[[Iterable[Pool], DevicesInUse], int],
        *,
        uses: DevicesInUse,
        kept: Sequence[KeptDevices],
    ) -> None:
        self._ledger = ledger
        self._number = number
        self._uses = uses
        # while this is there, they are what ``DeviceLedger.without_kept`` knows it by
        self._kept = kept
        self._pools = {
            PoolId(one.device.driver, one.device.pool) for each in kept for one in each.taken
        }
        self._shapes: dict[str, tuple[Sequence[Pool], int, int]] = {}

    def available(self, node: Node) -> AvailableDevices:
        return self._ledger.available(node)._replace(uses=self._uses)

    def is_shape_known(self, node: Node) -> bool:
        return self._ledger.is_shape_known(node) and self._known(node) is not None

    def shape(self, node: Node) -> int:
        known = self._known(node)
        if known is None:
            pools, shape = self._ledger.available(node).pools, self._ledger.shape(node)
            known = (
                shape
                if self._pools.isdisjoint(pool.id for pool in pools)
                else self._number(pools, self._uses)
            )
            self._shapes[node.metadata.name] = pools, shape, known
        return known

    def _known(self, node: Node) -> int | None:
        """The shape, if it was found and nothing has changed since in what the ledger has for the
        node.
        """
        pools, shape, known = self._shapes.get(node.metadata.name, ((), -1, -1))
        same = shape == self._ledger.shape(node) and pools is self._ledger.available(node).pools
        return known if same else None
