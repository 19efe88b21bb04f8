"""The ledger of devices says after any history what one that starts now says."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubefacts.quantities import QuantityError
from moorage.core.columns.cache import Cache
from moorage.core.columns.nodes.node_table import Aspect
from moorage.core.columns.store import Store
from moorage.core.devices.extended_resources import ANNOTATION
from moorage.core.devices.ledger import DeviceLedger
from moorage.core.devices.pools import DeviceId
from moorage.core.objects.meta import ObjectMeta, OwnerReference, key
from moorage.core.objects.nodes import Node, Taint
from moorage.core.objects.resource_claims import (
    AllocatedDevice,
    Allocation,
    CapacityPolicy,
    CELSelector,
    ClaimMeta,
    Counter,
    CounterConsumption,
    CounterSet,
    Device,
    DeviceAllocation,
    DeviceCapacity,
    DeviceClass,
    DeviceClassSpec,
    DeviceSelector,
    DeviceTaintRule,
    DeviceTaintRuleSpec,
    DeviceTaintSelector,
    ResourceClaim,
    ResourceClaimStatus,
    ResourcePool,
    ResourceSlice,
    ResourceSliceSpec,
)
from moorage.core.objects.selector_terms import NodeSelector, NodeSelectorTerm, Requirement
from tests.builders import make_node, make_pod

NODES = [make_node(f"n{i}", labels={"zone": f"z{i % 2}"}) for i in range(3)]
ANY = DeviceClass(ObjectMeta("any"))
A_ONLY = DeviceClass(
    ObjectMeta("a"),
    DeviceClassSpec(selectors=(DeviceSelector(CELSelector('device.driver == "a"')),)),
)
ZONE = NodeSelector((NodeSelectorTerm((Requirement("zone", "In", ("z0",)),)),))
REACH: list[dict[str, Any]] = [
    {"node_name": "n0"},
    {"node_name": "n1"},
    {"all_nodes": True},
    {"node_selector": ZONE},
    {"per_device_node_selection": True},
]


@st.composite
def slices(draw: st.DrawFn) -> ResourceSlice:
    """A slice of one of four pools."""
    pool = ResourcePool(
        draw(st.sampled_from(["n0", "n1", "p", "q"])),
        draw(st.integers(0, 1)),
        draw(st.integers(1, 2)),
    )
    takes = (CounterConsumption("set", {"mem": Counter(1)}),) if draw(st.booleans()) else None
    near: dict[str, Any] = draw(st.sampled_from([{}, {"all_nodes": True}, {"node_name": "n2"}]))
    devices = tuple(
        Device(name=f"d{i}", consumes_counters=takes, **near)
        for i in range(draw(st.integers(0, 2)))
    )
    counters = (
        (CounterSet("set", {"mem": Counter(2)}),)
        if draw(st.sampled_from([False, False, True]))
        else None
    )
    reach = draw(st.sampled_from(REACH))
    spec = ResourceSliceSpec(
        driver=draw(st.sampled_from("ab")),
        pool=pool,
        devices=None if counters else devices,
        shared_counters=counters,
        **reach,
    )
    return ResourceSlice(ObjectMeta(draw(st.sampled_from(["s0", "s1", "s2", "s3", "s4"]))), spec)


@st.composite
def claims(draw: st.DrawFn) -> ResourceClaim:
    """A claim that has devices, or none; some stand for extended resources."""
    results = [
        AllocatedDevice(
            driver=draw(st.sampled_from("ab")),
            pool=draw(st.sampled_from(["n0", "n1", "p", "q"])),
            device=draw(st.sampled_from(["d0", "d1"])),
            admin_access=draw(st.sampled_from([None, None, True])),
            share_id=share,
            consumed_capacity={"memory": "1Gi"} if share else None,
        )
        for share in draw(st.lists(st.sampled_from([None, "x"]), max_size=2))
    ]
    name = draw(st.sampled_from(["c0", "c1", "c2"]))
    extended = draw(st.booleans())
    owner = draw(st.sampled_from(["c0", "c1"]))
    meta = ClaimMeta(
        name,
        "ns",
        f"uid-{name}",
        owner_references=(OwnerReference(uid=f"uid-pod-{owner}", controller=True),)
        if extended
        else None,
        annotations={ANNOTATION: "true"} if extended else None,
    )
    allocation = Allocation(DeviceAllocation(tuple(results))) if draw(st.booleans()) else None
    return ResourceClaim(meta, status=ResourceClaimStatus(allocation=allocation))


@st.composite
def rules(draw: st.DrawFn) -> DeviceTaintRule:
    """A taint of all devices, of none, or of those that are called so."""
    selector = DeviceTaintSelector(
        driver=draw(st.sampled_from([None, "a", "b"])),
        pool=draw(st.sampled_from([None, "n0", "p"])),
        device=draw(st.sampled_from([None, "d0", "d1"])),
    )
    taint = Taint(draw(st.sampled_from(["hot", "old"])), effect="NoSchedule")
    spec = DeviceTaintRuleSpec(draw(st.sampled_from([None, selector, selector])), taint)
    return DeviceTaintRule(ObjectMeta(draw(st.sampled_from(["r0", "r1"]))), spec)


STEPS = st.one_of(
    st.tuples(st.just("put"), st.one_of(slices(), claims(), rules())),
    st.tuples(
        st.just("remove"),
        st.sampled_from(
            [(ResourceSlice, f"s{i}") for i in range(5)]
            + [(ResourceClaim, f"ns/c{i}") for i in range(3)]
            + [(DeviceTaintRule, f"r{i}") for i in range(2)]
        ),
    ),
    st.tuples(st.sampled_from(["assume", "release"]), claims()),
    st.tuples(st.just("look"), st.sampled_from(NODES)),
)


def described(ledger: DeviceLedger, node: Node) -> Any:
    """All that a ledger says of a node, less what is not compared by value."""
    offer = ledger.available(node)
    pools = [
        (
            pool.id,
            pool.state,
            [(one.id, one.reachable, one.counters, one.device.taints) for one in pool.devices],
            pool.counters,
            pool.consumed_counters,
            offer.uses.remaining_counters(pool),
        )
        for pool in offer.pools
    ]
    ids = [one.id for pool in offer.pools for one in pool.devices]
    have = [offer.uses.of(one) for one in ids]
    return pools, have, ledger.count(node, ANY), ledger.count(node, A_ONLY)


@settings(max_examples=150, deadline=None)
@given(st.lists(STEPS, max_size=12))
def test_incremental_is_recomputed(steps: list[tuple[str, Any]]) -> None:
    """Offers, counts and which nodes have the same shape; a node whose devices changed since it was
    looked at has been noted.
    """
    cache = Cache()
    for node in NODES:
        cache.put_node(node)
    ledger = cache.store.index(DeviceLedger)
    assumed: dict[str, ResourceClaim] = {}
    reader = cache.nodes.reader(frozenset({Aspect.DEVICES}))
    reader.catch_up(cache.nodes.rows)
    before = [described(ledger, node) for node in NODES]
    for what, arg in steps:
        apply(cache.store, ledger, assumed, what, arg)
        changed = reader.catch_up(cache.nodes.rows)
        now = [described(ledger, node) for node in NODES]
        rows = set(range(len(NODES))) if changed is None else set(changed.tolist())
        assert {
            i for i, (old, new) in enumerate(zip(before, now, strict=True)) if old[:2] != new[:2]
        } <= rows
        before = now
    fresh = DeviceLedger(cache.store)
    for claim in assumed.values():
        fresh.assume(claim)
    assert before == [described(fresh, node) for node in NODES]
    mine, its = [ledger.shape(node) for node in NODES], [fresh.shape(node) for node in NODES]
    assert [mine.index(one) for one in mine] == [its.index(one) for one in its]
    for claim in cache.store.objects(ResourceClaim).values():
        assert ledger.is_assumed(claim) == fresh.is_assumed(claim)
    for name in ("c0", "c1", "c2"):
        pod = make_pod(f"pod-{name}")
        assert ledger.extended_claim(pod) == fresh.extended_claim(pod)


def apply(
    store: Store, ledger: DeviceLedger, assumed: dict[str, ResourceClaim], what: str, arg: Any
) -> None:
    """One step of a history; ``assumed`` is what should be assumed after it."""
    match what:
        case "put":
            old = store.objects(ResourceClaim).get(key(arg))
            store.put(arg)
            if isinstance(arg, ResourceClaim):
                if old is not None and identity(old) != identity(arg):
                    assumed.pop(identity(old), None)
                if arg.status.allocation is not None:
                    assumed.pop(identity(arg), None)
        case "remove":
            old = store.objects(arg[0]).get(arg[1])
            store.remove(*arg)
            if isinstance(old, ResourceClaim):
                assumed.pop(identity(old), None)
        case "assume":
            ledger.assume(arg)
            assumed[identity(arg)] = arg
        case "release":
            ledger.release(assumed.pop(identity(arg), arg))
        case "look":
            described(ledger, arg)
            ledger.shape(arg)


def identity(claim: ResourceClaim) -> str:
    """A claim, or the pod that it stands for."""
    owners = claim.metadata.owner_references
    return owners[0].uid if owners else claim.metadata.uid


def test_a_node_with_other_labels_reaches_other_devices() -> None:
    """Seen by its labels, not by its name alone."""
    store = Store()
    spec = ResourceSliceSpec(
        driver="a", pool=ResourcePool("p", 1, 1), devices=(Device(name="d"),), node_selector=ZONE
    )
    store.put(ResourceSlice(ObjectMeta("s"), spec))
    ledger = store.index(DeviceLedger)
    assert len(ledger.available(make_node("n", labels={"zone": "z0"})).pools) == 1
    assert ledger.available(make_node("n", labels={"zone": "z1"})).pools == ()


def test_shapes_leave_names_out_and_see_who_has_what() -> None:
    """Two nodes with the same devices under other names are alike, until one of the devices is
    taken.
    """
    store = Store()
    for name in ("n0", "n1"):
        devices = (Device(name=f"{name}-a"), Device(name=f"{name}-b"))
        store.put(
            ResourceSlice(
                ObjectMeta(name),
                ResourceSliceSpec(
                    driver="a", pool=ResourcePool(name, 1, 1), devices=devices, node_name=name
                ),
            )
        )
    ledger = store.index(DeviceLedger)
    assert ledger.shape(NODES[0]) == ledger.shape(NODES[1]) != ledger.shape(NODES[2])
    result = AllocatedDevice(driver="a", pool="n0", device="n0-b")
    claim = ResourceClaim(
        ClaimMeta("c", "ns", "uid"),
        status=ResourceClaimStatus(Allocation(DeviceAllocation((result,)))),
    )
    ledger.assume(claim)
    assert ledger.shape(NODES[0]) != ledger.shape(NODES[1])
    store.put(claim)
    assert not ledger.is_assumed(claim)
    assert ledger.shape(NODES[0]) != ledger.shape(NODES[1])
    store.put(msgspec.structs.replace(claim, status=ResourceClaimStatus()))
    assert ledger.shape(NODES[0]) == ledger.shape(NODES[1])


def test_a_node_is_noted_when_one_of_its_devices_is_taken() -> None:
    """And another one is not."""
    cache = Cache()
    for node in (*NODES, *(make_node(f"other{i}") for i in range(9))):
        cache.put_node(node)
    spec = ResourceSliceSpec(
        driver="a", pool=ResourcePool("p", 1, 1), devices=(Device(name="d"),), node_name="n1"
    )
    cache.store.put(ResourceSlice(ObjectMeta("s"), spec))
    ledger = cache.store.index(DeviceLedger)
    assert ledger.available(NODES[1]).pools
    reader = cache.nodes.reader(frozenset({Aspect.DEVICES}))
    reader.catch_up(cache.nodes.rows)
    result = AllocatedDevice(driver="a", pool="p", device="d")
    allocated = ResourceClaimStatus(Allocation(DeviceAllocation((result,))))
    ledger.assume(ResourceClaim(ClaimMeta("c", "ns", "uid"), status=allocated))
    changed = reader.catch_up(cache.nodes.rows)
    assert changed is not None
    assert changed.tolist() == [cache.nodes.row_of["n1"]]


def test_a_claim_that_goes_is_not_assumed_any_more() -> None:
    """Its devices are free."""
    store = Store()
    result = AllocatedDevice(driver="a", pool="n0", device="d")
    claim = ResourceClaim(
        ClaimMeta("c", "ns", "uid"),
        status=ResourceClaimStatus(Allocation(DeviceAllocation((result,)))),
    )
    store.put(msgspec.structs.replace(claim, status=ResourceClaimStatus()))
    ledger = store.index(DeviceLedger)
    ledger.assume(claim)
    store.remove(ResourceClaim, "ns/c")
    assert not ledger.is_assumed(claim)
    assert DeviceId("a", "n0", "d") not in ledger.available(NODES[0]).uses


def test_shapes_are_remembered_within_bounds() -> None:
    """However many there have been, different nodes are never taken for alike."""
    store = Store()
    ledger = store.index(DeviceLedger)
    for i in range(200):
        devices = (Device(name="d", taints=(Taint(str(i)),)),)
        store.put(
            ResourceSlice(
                ObjectMeta("s"),
                ResourceSliceSpec(
                    driver="a", pool=ResourcePool("p", 1, 1), devices=devices, node_name="n0"
                ),
            )
        )
        assert ledger.shape(NODES[0]) != ledger.shape(NODES[1])
    assert len(ledger._shapes) < 30


@pytest.mark.parametrize(
    "odd",
    [
        {"devices": (Device(name="d", capacity={"mem": DeviceCapacity("odd")}),)},
        {
            "devices": (
                Device(
                    name="d",
                    consumes_counters=(CounterConsumption("set", {"mem": Counter("odd")}),),
                ),
            )
        },
        {"shared_counters": (CounterSet("set", {"mem": Counter("odd")}),)},
    ],
    ids=["capacity", "consumption", "counters"],
)
def test_a_slice_that_cannot_be_read_is_refused_when_it_comes(odd: dict[str, Any]) -> None:
    """And not when a pod asks for devices, be it the first or not: others' devices are there as
    before.
    """
    cache = Cache(Store((DeviceLedger,)))
    good = ResourceSlice(
        ObjectMeta("good"),
        ResourceSliceSpec(
            driver="a", pool=ResourcePool("p", 1, 1), node_name="n0", devices=(Device(name="d"),)
        ),
    )
    bad = ResourceSlice(
        ObjectMeta("bad"),
        ResourceSliceSpec(driver="a", pool=ResourcePool("q", 1, 1), node_name="n0", **odd),
    )
    cache.store.put(good)
    with pytest.raises(QuantityError):
        cache.store.put(bad)
    assert [pool.id.name for pool in cache.store.index(DeviceLedger).available(NODES[0]).pools] == [
        "p"
    ]
    assert list(cache.store.objects(ResourceSlice)) == ["good"]


@pytest.mark.parametrize(
    "capacity",
    [DeviceCapacity(2**64), DeviceCapacity(1, CapacityPolicy(-(2**63) - 1))],
    ids=["value", "policy"],
)
def test_an_amount_may_be_larger_than_64_bits(capacity: DeviceCapacity) -> None:
    """A number in JSON is as large as its author likes, and the device is one like others."""
    store = Store()
    device = Device(name="d", capacity={"memory": capacity})
    spec = ResourceSliceSpec(
        driver="a", pool=ResourcePool("p", 1, 1), all_nodes=True, devices=(device,)
    )
    store.put(ResourceSlice(ObjectMeta("s"), spec))
    ledger = store.index(DeviceLedger)
    assert ledger.shape(NODES[0]) == ledger.shape(NODES[1])
    assert [pool.id.name for pool in ledger.available(NODES[0]).pools] == ["p"]


@given(st.lists(st.tuples(st.sampled_from(["c0", "c1"]), st.booleans()), max_size=6))
def test_a_pods_extended_claim_is_one_that_is_there(changes: list[tuple[str, bool]]) -> None:
    """Of several the first by name, whichever came or went before."""
    store, pod, there = Store(), make_pod("p"), set[str]()
    ledger = store.index(DeviceLedger)
    for name, comes in changes:
        if comes:
            there.add(name)
            owners = (OwnerReference(uid=pod.metadata.uid, controller=True),)
            meta = ClaimMeta(
                name, "ns", name, owner_references=owners, annotations={ANNOTATION: "true"}
            )
            store.put(ResourceClaim(meta))
        else:
            there.discard(name)
            store.remove(ResourceClaim, f"ns/{name}")
        found = ledger.extended_claim(pod)
        assert (found.metadata.name if found is not None else "") == min(there, default="")
