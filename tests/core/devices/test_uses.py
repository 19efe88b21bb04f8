"""Nothing is given twice, whatever is published, given and given back meanwhile: hardware is the
judge, not the slices.
"""

from __future__ import annotations

from collections import Counter as Sums

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moorage.core.columns.store import Store
from moorage.core.devices.allocation_results import allocation_of
from moorage.core.devices.ledger import DeviceLedger
from moorage.core.devices.pools import DeviceId, PoolId
from moorage.core.devices.uses import DevicesInUse, DevicesInUseWith, DeviceUse, UseCounts
from moorage.core.objects.meta import ObjectMeta
from moorage.core.objects.resource_claims import (
    AllocatedDevice,
    Allocation,
    CapacityRequirements,
    CELSelector,
    ClaimMeta,
    Counter,
    CounterConsumption,
    CounterSet,
    Device,
    DeviceAllocation,
    DeviceCapacity,
    DeviceClaim,
    DeviceClass,
    DeviceRequest,
    DeviceSelector,
    ExactDeviceRequest,
    ResourceClaim,
    ResourceClaimSpec,
    ResourceClaimStatus,
    ResourcePool,
    ResourceSlice,
    ResourceSliceSpec,
)
from tests.builders import make_node
from tests.core.devices.searching import search

NODE = make_node("n")
UNITS = 4
"""Of memory: what the hardware has, what the whole device takes of it, and what a shared device has
to share.
"""
TAKES = {"whole": UNITS, "half-0": 2, "half-1": 2, "many": UNITS, "open": 2, "other": 0}
SHARED = ("many", "open", "other")
"""Devices that are shared where the driver says so: with memory and counters, with counters alone,
with memory alone.
"""


def device(name: str, shared: bool) -> Device:
    """A part of the hardware, or all of it."""
    takes = (
        (CounterConsumption("gpu", {"memory": Counter(str(TAKES[name]))}),) if TAKES[name] else None
    )
    capacity = {"memory": DeviceCapacity(str(UNITS))} if shared and name != "open" else None
    return Device(
        name=name,
        consumes_counters=takes,
        allow_multiple_allocations=shared or None,
        capacity=capacity,
    )


def publish(store: Store, names: list[str], generation: int, shared: bool = True) -> None:
    """The pool as its driver describes it now."""
    pool = ResourcePool("p", generation, 2)
    counters = (CounterSet("gpu", {"memory": Counter(str(UNITS))}),)
    store.put(
        ResourceSlice(
            ObjectMeta("counters"),
            ResourceSliceSpec(driver="a", pool=pool, node_name="n", shared_counters=counters),
        )
    )
    devices = tuple(device(name, shared and name in SHARED) for name in names)
    store.put(
        ResourceSlice(
            ObjectMeta("devices"),
            ResourceSliceSpec(driver="a", pool=pool, node_name="n", devices=devices),
        )
    )


def claim(name: str, shared: bool = False, amount: str = "") -> ResourceClaim:
    """A claim for one device, or so much of one."""
    only = (
        DeviceSelector(CELSelector(f"device.allowMultipleAllocations == {str(shared).lower()}")),
    )
    capacity = CapacityRequirements({"memory": amount}) if amount else None
    exactly = ExactDeviceRequest("", "any", only, "ExactCount", 1, capacity=capacity)
    return ResourceClaim(
        ClaimMeta(name, "ns", f"uid-{name}"),
        ResourceClaimSpec(DeviceClaim((DeviceRequest("r", exactly),))),
    )


def allocate(store: Store, asked: ResourceClaim) -> str:
    """Give a claim a device, as the API server would show it; the device, "" for none."""
    answers = search([asked], store.index(DeviceLedger).available(NODE))
    if answers is None:
        return ""
    allocation = allocation_of(asked, answers[0], "n")
    store.put(msgspec.structs.replace(asked, status=ResourceClaimStatus(allocation)))
    return answers[0].devices[0].candidate.id.device


def store_of(*names: str, shared: bool = True) -> Store:
    """A pool with these devices."""
    store = Store()
    store.put(DeviceClass(ObjectMeta("any")))
    publish(store, list(names), 1, shared)
    return store


def used(store: Store) -> int:
    """How much of the hardware is in use: each device once; raises where a device that is not
    shared has two claims.
    """
    whole: Sums[str] = Sums()
    shares: Sums[str] = Sums()
    for one in store.objects(ResourceClaim).values():
        for result in (one.status.allocation or Allocation()).devices.results or ():
            if result.share_id is None:
                whole[result.device] += 1
            else:
                shares[result.device] += int((result.consumed_capacity or {}).get("memory", 0))
    assert not whole or max(whole.values()) == 1
    assert not whole.keys() & shares.keys()
    assert all(amount <= UNITS for amount in shares.values())
    return sum(TAKES[name] for name in whole.keys() | shares.keys())


STEPS = st.one_of(
    st.tuples(
        st.just("publish"), st.lists(st.sampled_from(sorted(TAKES)), unique=True), st.booleans()
    ),
    st.tuples(st.just("allocate"), st.booleans(), st.sampled_from(["", "1", "3"])),
    st.tuples(st.just("give back"), st.integers(0, 5), st.booleans()),
)


@settings(max_examples=300, deadline=None)
@given(st.lists(STEPS, max_size=12))
def test_nothing_is_given_twice(steps: list[tuple[str, object, object]]) -> None:
    """Slices come and go, with devices that are in use and without; claims get and give back."""
    store = store_of(*TAKES)
    for number, (what, one, other) in enumerate(steps):
        if what == "publish" and isinstance(one, list):
            publish(store, one, number + 2, bool(other))
        elif what == "allocate":
            allocate(store, claim(f"c{number}", bool(one), str(other)))
        elif held := sorted(store.objects(ResourceClaim)):
            name = held[int(str(one)) % len(held)]
            if other:
                store.remove(ResourceClaim, name)
            else:
                store.put(
                    msgspec.structs.replace(
                        store.objects(ResourceClaim)[name], status=ResourceClaimStatus()
                    )
                )
        assert used(store) <= UNITS
        fresh = Store()
        for kind in (DeviceClass, ResourceSlice, ResourceClaim):
            for obj in store.objects(kind).values():
                fresh.put(obj)
        mine, its = store.index(DeviceLedger), fresh.index(DeviceLedger)
        assert (mine._uses._of, mine._uses._in) == (its._uses._of, its._uses._in)


def test_a_shared_device_in_use_keeps_its_counters() -> None:
    """Until its last share is given back; more shares of it cost nothing more."""
    for shared, amount in (("many", "1"), ("open", "")):
        store = store_of("whole", shared)
        assert allocate(store, claim("one", True, amount)) == shared
        assert allocate(store, claim("two", True, amount)) == shared
        for name in ("one", "two"):
            assert allocate(store, claim("all")) == ""
            store.remove(ResourceClaim, f"ns/{name}")
        assert allocate(store, claim("all")) == "whole"


def test_shares_pay_for_counters_once() -> None:
    """What is left is another's, also while a further share is being given."""
    store = store_of("open", "half-0")
    assert allocate(store, claim("one", True)) == "open"
    answers = search([claim("two", True), claim("part")], store.index(DeviceLedger).available(NODE))
    assert [one.candidate.id.device for answer in answers or () for one in answer.devices] == [
        "open",
        "half-0",
    ]
    assert allocate(store, claim("part")) == "half-0"
    assert allocate(store, claim("two", True)) == "open"


@pytest.mark.parametrize(
    "again",
    [["half-0", "half-1", "whole", "other"], ["whole", "other"]],
    ids=["another half", "none"],
)
def test_what_an_unpublished_device_takes_is_not_known(again: list[str]) -> None:
    """Devices without counters are given still; the others once it is published again, or given
    back.
    """
    store = store_of("half-0", "half-1", "whole", "other", shared=False)
    assert allocate(store, claim("one")) == "half-0"
    publish(store, [name for name in again if name != "half-0"], 2, shared=False)
    assert allocate(store, claim("two")) == "other"
    assert allocate(store, claim("three")) == ""
    publish(store, ["half-0", "half-1", "other"], 3, shared=False)
    assert allocate(store, claim("three")) == "half-1"
    publish(store, ["whole", "other"], 4, shared=False)
    store.remove(ResourceClaim, "ns/three")
    assert allocate(store, claim("four")) == ""
    store.remove(ResourceClaim, "ns/one")
    assert allocate(store, claim("four")) == "whole"


def test_a_device_that_is_shared_no_more_is_in_use() -> None:
    """Its shares count as well as another's having the whole."""
    store = store_of("other")
    assert allocate(store, claim("one", True, "1")) == "other"
    publish(store, ["other"], 2, shared=False)
    assert allocate(store, claim("two")) == ""
    publish(store, ["other"], 3)
    assert allocate(store, claim("two", True, "1")) == "other"


def test_a_claim_of_the_same_name_that_comes_after_frees_what_was_assumed_for_the_first() -> None:
    """Seen as one change: deleted and created again while nobody looked."""
    store = store_of("other", shared=False)
    ledger = store.index(DeviceLedger)
    first = claim("one")
    store.put(first)
    answers = search([first], ledger.available(NODE))
    assert answers is not None
    ledger.assume(
        msgspec.structs.replace(
            first, status=ResourceClaimStatus(allocation_of(first, answers[0], "n"))
        )
    )
    assert allocate(store, claim("two")) == ""
    store.put(msgspec.structs.replace(first, metadata=ClaimMeta("one", "ns", "uid-of-another")))
    assert allocate(store, claim("two")) == "other"


@pytest.mark.parametrize(
    "case",
    ["a share", "a share without amounts", "a share without counters", "counters", "unknown"],
)
def test_nodes_that_offer_different_things_have_different_shapes(case: str) -> None:
    """Alike until one of two devices is used, in whatever way."""
    store = store_of("many", "open", "half-0", "other")
    for piece in list(store.objects(ResourceSlice).values()):
        pool = ResourcePool("p2", piece.spec.pool.generation, 2)
        spec = msgspec.structs.replace(piece.spec, pool=pool, node_name="m")
        store.put(
            msgspec.structs.replace(
                piece, metadata=ObjectMeta(f"{piece.metadata.name}-2"), spec=spec
            )
        )
    ledger, other = store.index(DeviceLedger), make_node("m")
    assert ledger.shape(NODE) == ledger.shape(other)
    result = {
        "a share": AllocatedDevice(
            driver="a", pool="p", device="many", share_id="x", consumed_capacity={"memory": "1"}
        ),
        "a share without amounts": AllocatedDevice(
            driver="a", pool="p", device="open", share_id="x"
        ),
        "a share without counters": AllocatedDevice(
            driver="a", pool="p", device="other", share_id="x", consumed_capacity={"memory": "1"}
        ),
        "counters": AllocatedDevice(driver="a", pool="p", device="half-0"),
        "unknown": AllocatedDevice(driver="a", pool="p", device="gone"),
    }[case]
    store.put(
        msgspec.structs.replace(
            claim("c"), status=ResourceClaimStatus(Allocation(DeviceAllocation((result,))))
        )
    )
    assert ledger.shape(NODE) != ledger.shape(other)
    store.remove(ResourceClaim, "ns/c")
    assert ledger.shape(NODE) == ledger.shape(other)


def test_what_others_use_is_used_too() -> None:
    """Devices that are kept for a nominated pod, beside those that are given: of one that both use,
    both parts.
    """
    mine, its, nobodys = (DeviceId("d", "pool", name) for name in ("mine", "its", "nobody's"))
    others = DevicesInUse()
    others.count(DeviceUse(its, None), 1)
    others.count(DeviceUse(mine, {"memory": 1}), 1)
    together = DevicesInUseWith(others, [DeviceUse(mine, {"memory": 2})])
    assert mine in together and its in together and nobodys not in together
    assert list(together.used_in(PoolId("d", "pool"))) == [mine, its]
    assert together.of(mine) == UseCounts(0, 2, {"memory": 3})
    assert together.of(its) == UseCounts(1, 0, {})
