"""A search for devices that takes too long, in an engine: it goes on from slice to slice, is given
up by the clock, and a replay, which has none, says the same (``tests.twins``).
"""

from __future__ import annotations

from moorage.core.columns.changes import DeviceSearchGivenUp
from moorage.core.devices.ledger import DeviceLedger
from moorage.core.objects.meta import ObjectMeta
from moorage.core.objects.pods import PodResourceClaim
from moorage.core.objects.resource_claims import (
    ClaimMeta,
    Device,
    DeviceClaim,
    DeviceClass,
    DeviceClassSpec,
    DeviceRequest,
    ExactDeviceRequest,
    ResourceClaim,
    ResourceClaimSpec,
    ResourcePool,
    ResourceSlice,
    ResourceSliceSpec,
)
from tests.builders import make_pod
from tests.engine.scheduling.test_slices import a_bench, placed, run
from tests.engine.worlds import Bench, versioned


def a_slow_pod(bench: Bench) -> None:
    """A pod whose claim cannot be fulfilled on the only node, which takes long to see."""
    spec = ResourceSliceSpec(
        driver="a",
        pool=ResourcePool("n0", 1, 1),
        node_name="n0",
        devices=tuple(Device(name=f"d{i}") for i in range(12)),
    )
    requests = tuple(
        DeviceRequest(f"r{i}", ExactDeviceRequest("", "any", None, "ExactCount", 7))
        for i in range(2)
    )
    claim = ResourceClaimSpec(DeviceClaim(requests))
    for obj in (
        DeviceClass(ObjectMeta("any"), DeviceClassSpec()),
        ResourceSlice(ObjectMeta("n0"), spec),
        ResourceClaim(ClaimMeta("c", "default", "uid-c"), claim),
    ):
        bench.cache.store.put(obj)
    uses = (PodResourceClaim("c", resource_claim_name="c"),)
    bench.pods.put(versioned(make_pod("slow", resource_claims=uses)))


def test_a_search_is_given_up_by_the_clock() -> None:
    """Others are placed meanwhile, and the pod is told."""
    bench = a_bench(0.8, nodes=1)  # one look at the clock is more than a slice
    a_slow_pod(bench)
    run(bench, until=lambda: bool(bench.loop.paused))
    bench.pods.put(versioned(make_pod("other")))
    run(bench, until=lambda: bool(placed(bench)))
    assert list(placed(bench)) == ["other"]
    assert bench.loop.paused and not bench.events.events
    run(bench, 4000, until=lambda: bool(bench.events.events))
    assert "n0: timed out trying to allocate devices" in bench.events.events[0].note
    searches = bench.cache.store.index(DeviceLedger).searches
    (given_up,) = searches.given_up()
    assert isinstance(given_up, DeviceSearchGivenUp)
