"""Devices are tried in the order that somebody prefers; what can be had stays the same."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from moorage.core.columns.snapshot import Snapshot
from moorage.core.devices.allocator import Allocator
from moorage.core.devices.claim_requests import DeviceQuery
from moorage.core.devices.pools import CandidateDevice, PoolId, gather_pools
from moorage.core.devices.uses import AvailableDevices, DevicesInUse
from moorage.core.framework.cluster_events import ClusterEventWithHint
from moorage.core.framework.companions import (
    DeviceOrderingPlugin,
    DeviceTakingPlugin,
    with_device_order,
)
from moorage.core.objects.meta import ObjectMeta
from moorage.core.objects.resource_claims import (
    Device,
    DeviceClass,
)
from moorage.core.plugins.dynamic_resources.plugin import DynamicResources
from tests.builders import make_claim, make_node, make_slice

_taking: DeviceTakingPlugin = DynamicResources()


class LastFirst:
    """Prefers devices that come last."""

    def in_order(
        self, wish: DeviceQuery, candidates: Sequence[CandidateDevice], offer: AvailableDevices
    ) -> Sequence[CandidateDevice]:
        return candidates[::-1]


class Orders:
    """A plugin that prefers what comes last."""

    name: ClassVar[str] = "Orders"
    events_to_register: ClassVar[tuple[ClusterEventWithHint, ...]] = ()

    def candidate_order(self, snapshot: Snapshot, /) -> LastFirst:
        return LastFirst()


_ordering: DeviceOrderingPlugin = Orders()


def test_devices_are_tried_in_order() -> None:
    """The first ones of the order are taken, without an order the first ones of the pool."""
    devices = tuple(Device(name=f"d{i}") for i in range(4))
    piece = make_slice("n", devices, driver="a")
    pools = gather_pools({PoolId("a", "n"): [piece]}, make_node("n"))
    offer = AvailableDevices(pools, {"gpu": DeviceClass(ObjectMeta("gpu"))}, DevicesInUse())
    claim = make_claim("c", count=2)
    for order, taken in ((None, ["d0", "d1"]), (LastFirst(), ["d3", "d2"])):
        search = Allocator([claim], offer, order)
        assert search.run(lambda: False) and search.assignments is not None
        assert [one.candidate.id.device for one in search.assignments[0].devices] == taken


def test_the_plugin_that_orders_is_found() -> None:
    """Whoever takes devices is told of it, wherever it stands in the profile."""
    ordering, taking = Orders(), DynamicResources()
    assert with_device_order({"DynamicResources": taking}) == {"DynamicResources": taking}
    found = with_device_order({"DynamicResources": taking, "Orders": ordering})
    assert found == {"DynamicResources": taking.ordered_by(ordering), "Orders": ordering}
    assert found["DynamicResources"] != taking
