"""DynamicResources: reserving, making room, who waits for what. Its decisions are in the
vectors.
"""

from __future__ import annotations

import itertools
from typing import Any

import msgspec
import numpy as np
import pytest

from moorage.core.columns.cache import Cache
from moorage.core.columns.store import Store
from moorage.core.cycle.context import CycleContext, Diagnosis, ScheduleResult
from moorage.core.cycle.cycle import assume_and_reserve, decide, unreserve_and_forget
from moorage.core.devices.extended_resources import ANNOTATION, TO_BE_CREATED
from moorage.core.devices.ledger import DeviceLedger
from moorage.core.framework.cluster_events import ActionType, ClusterEvent, EventResource
from moorage.core.framework.interfaces import (
    FallibleFilterPlugin,
    ObjectReadingPlugin,
    PreEnqueuePlugin,
    PreparingScorePlugin,
    ReservePlugin,
)
from moorage.core.framework.post_filter_contract import PostFilterPlugin
from moorage.core.framework.registry import build_registry
from moorage.core.framework.revisions import (
    EnabledPlugins,
    PluginRef,
    RequestedProfile,
    Revision,
    resolve,
)
from moorage.core.framework.status import Code
from moorage.core.objects.meta import HasMetadata, ObjectMeta, OwnerReference, key
from moorage.core.objects.pods import (
    Container,
    ContainerExtendedResourceRequest,
    Pod,
    PodResourceClaim,
    PodResourceClaimStatus,
    PodStatus,
    ResourceRequirements,
)
from moorage.core.objects.resource_claims import (
    AllocatedDevice,
    AllocatedDeviceStatus,
    Allocation,
    CELSelector,
    ClaimMeta,
    Consumer,
    Device,
    DeviceAllocation,
    DeviceClaim,
    DeviceClass,
    DeviceClassSpec,
    DeviceCondition,
    DeviceRequest,
    DeviceSelector,
    DeviceSubRequest,
    ExactDeviceRequest,
    ResourceClaim,
    ResourceClaimSpec,
    ResourceClaimStatus,
    ResourcePool,
    ResourceSlice,
    ResourceSliceSpec,
)
from moorage.core.objects.selector_terms import NodeSelector, NodeSelectorTerm, Requirement
from moorage.core.plugins.dynamic_resources.arguments import DynamicResourcesArgs
from moorage.core.plugins.dynamic_resources.claim_reservation import ClaimRelease, ClaimReservation
from moorage.core.plugins.dynamic_resources.plugin import DynamicResources
from moorage.core.plugins.intree import INTREE, PRESETS
from moorage.core.structures.budget import TimeBudget
from tests.builders import make_node, make_pod

PLUGIN = DynamicResources()
_protocols: tuple[
    FallibleFilterPlugin,
    PostFilterPlugin,
    PreEnqueuePlugin,
    ObjectReadingPlugin,
    ReservePlugin,
    PreparingScorePlugin,
] = (PLUGIN,) * 6
GPU = DeviceClass(ObjectMeta("gpu"), DeviceClassSpec(extended_resource_name="example.com/gpu"))


def revision(**args: Any) -> Revision:
    """A profile of DynamicResources and NodeResourcesFit alone."""
    names = ("PrioritySort", "NodeResourcesFit", "DynamicResources", "DefaultBinder")
    plugins = {"multiPoint": EnabledPlugins(tuple(PluginRef(name) for name in names), ("*",))}
    own = {"DynamicResources": DynamicResourcesArgs(**args)}
    return resolve(
        RequestedProfile("test", "Default", plugins, args=own), build_registry(INTREE), PRESETS
    )


REVISION = revision()


def slice_of(node: str, count: int, **reach: Any) -> ResourceSlice:
    """The devices of a node."""
    devices = tuple(Device(name=f"d{i}") for i in range(count))
    spec = ResourceSliceSpec(
        driver="a", pool=ResourcePool(node, 1, 1), devices=devices, **(reach or {"node_name": node})
    )
    return ResourceSlice(ObjectMeta(node), spec)


def claim(name: str, *requests: DeviceRequest, **status: Any) -> ResourceClaim:
    """A claim for one device, or what is asked for."""
    wanted = requests or (DeviceRequest("r", ExactDeviceRequest("", "gpu", None, "ExactCount", 1)),)
    spec = ResourceClaimSpec(DeviceClaim(wanted))
    return ResourceClaim(
        ClaimMeta(name, "default", f"uid-{name}"), spec, ResourceClaimStatus(**status)
    )


def user(name: str, *claims: str, **spec: Any) -> Pod:
    """A pod with these claims."""
    uses = tuple(PodResourceClaim(one, resource_claim_name=one) for one in claims)
    return make_pod(name, resource_claims=uses or None, **spec)


def allocated(node: str = "n0", device: str = "d0", tied: bool = True, **result: Any) -> Allocation:
    """One device, that can be used on its node (or everywhere)."""
    only = NodeSelector(
        (NodeSelectorTerm(match_fields=(Requirement("metadata.name", "In", (node,)),)),)
    )
    given = AllocatedDevice("r", "a", node, device, **result)
    return Allocation(DeviceAllocation((given,)), only if tied else None)


def world(*objects: HasMetadata, nodes: int = 2, tick: float = 0.0) -> CycleContext:
    """Nodes with a device each, and these objects; a clock that goes on so many seconds whenever
    it is looked at.
    """
    looks = itertools.count()
    cache = Cache()
    cache.store.put(GPU)
    for i in range(nodes):
        cache.store.put(slice_of(f"n{i}", 1))
    for obj in objects:
        cache.store.put(obj)
    for i in range(nodes):
        cache.put_node(make_node(f"n{i}"))
    return CycleContext(cache, budget=TimeBudget(lambda: next(looks) * tick))


def placed(pod: Pod, context: CycleContext) -> ScheduleResult:
    """Decide and commit."""
    outcome = decide(pod, REVISION, context)
    assert isinstance(outcome, ScheduleResult), outcome.message
    committed = assume_and_reserve(outcome, context)
    assert isinstance(committed, ScheduleResult)
    return committed


def refused(pod: Pod, context: CycleContext, **args: Any) -> Diagnosis:
    """Decide, and be refused."""
    outcome = decide(pod, revision(**args), context)
    assert isinstance(outcome, Diagnosis)
    return outcome


# ---- reserving -----------------------------------------------------------------------------------


def test_nodes_that_come_and_go_leave_nothing() -> None:
    """A ledger does not grow with the names that nodes once had, and still knows those that
    stay.
    """
    context = world(claim("c"), claim("d"), slice_of("shared", 1, all_nodes=True), nodes=1)
    ledger = context.cache.store.index(DeviceLedger)
    for i in range(300):
        context.cache.put_node(make_node(f"short-lived-{i}"))
        assert isinstance(decide(user("p", "c"), REVISION, context), ScheduleResult)
        context.cache.remove_node(f"short-lived-{i}")
    assert max(len(ledger._seen), *map(len, ledger._reached_by.values())) < 100
    context.cache.store.put(claim("c", allocation=allocated()))
    assert placed(user("p", "d"), context).node == "n0"


def test_what_is_written_counts_until_it_is_seen() -> None:
    """An allocation that was confirmed outlives its undoing, until its claim is seen in that state
    or a later one, allocated or not.
    """
    context = world(claim("c0"), claim("c1"), nodes=1)
    store, ledger = context.cache.store, context.cache.store.index(DeviceLedger)
    placement = placed(user("p0", "c0"), context)
    (given,) = placement.reservations["DynamicResources"].value.claims
    status = ResourceClaimStatus(given.allocation)
    written = msgspec.structs.replace(
        given.claim, status=status, metadata=ClaimMeta("c0", "default", "uid-c0", "7")
    )
    ledger.confirm(written)
    unreserve_and_forget(placement, context.cache)
    for version, free in (("6", False), ("8", True)):
        store.put(ResourceClaim(ClaimMeta("c0", "default", "uid-c0", version), given.claim.spec))
        assert isinstance(decide(user("p1", "c1"), REVISION, context), ScheduleResult) is free
    ledger.confirm(written)
    assert isinstance(decide(user("p1", "c1"), REVISION, context), ScheduleResult), (
        "what has ended is not begun again"
    )


def test_the_next_pod_gets_other_devices() -> None:
    """What is reserved counts at once, until it is undone or the API server shows it; then the
    claim's status counts.
    """
    context = world(claim("c0"), claim("c1"), claim("c2"))
    store = context.cache.store
    first, second = placed(user("p0", "c0"), context), placed(user("p1", "c1"), context)
    assert {first.node, second.node} == {"n0", "n1"}
    assert (
        refused(user("p2", "c2"), context).message
        == "0/2 nodes are available: 2 cannot allocate all claims."
    )
    unreserve_and_forget(second, context.cache)
    unreserve_and_forget(second, context.cache)
    third = placed(user("p2", "c2"), context)
    assert third.node == second.node
    reserved = third.reservations["DynamicResources"].value
    assert isinstance(reserved, ClaimReservation)
    (given,) = reserved.claims
    store.put(msgspec.structs.replace(given.claim, status=ResourceClaimStatus(given.allocation)))
    unreserve_and_forget(third, context.cache)  # too late: it is written
    assert refused(user("p1", "c1"), context).code is Code.UNSCHEDULABLE
    store.remove(ResourceClaim, "default/c2")
    assert placed(user("p1", "c1"), context).node == third.node


def test_what_the_actor_is_told() -> None:
    """Every claim of the pod, with the allocation of those that had none."""
    context = world(claim("c0"), claim("c1", allocation=allocated("far", tied=False)))
    value = placed(user("p", "c1", "c0"), context).reservations["DynamicResources"].value
    assert [(one.claim.metadata.name, one.allocation is None) for one in value.claims] == [
        ("c1", True),
        ("c0", False),
    ]


def test_a_claim_in_flight_waits() -> None:
    """Two pods share a claim: the second waits until the first one's allocation is written."""
    context = world(claim("c0"))
    first = placed(user("p0", "c0"), context)
    second = refused(user("p1", "c0"), context)
    assert second.message.startswith(
        "0/2 nodes are available: resource claim default/c0 is in the process of being allocated."
    )
    (given,) = first.reservations["DynamicResources"].value.claims
    context.cache.store.put(
        msgspec.structs.replace(claim("c0"), status=ResourceClaimStatus(given.allocation))
    )
    assert placed(user("p1", "c0"), context).node == first.node


def test_pods_without_devices() -> None:
    """They reserve nothing and cost nothing."""
    context = world()
    assert "DynamicResources" not in placed(user("p"), context).reservations


def test_reserve_looks_again() -> None:
    """Between a decision and its reservation nothing happens; if it did, the reservation fails
    rather than give a device twice.
    """
    context = world(claim("c0"), nodes=1)
    outcome = decide(user("p", "c0"), REVISION, context)
    assert isinstance(outcome, ScheduleResult)
    context.cache.store.index(DeviceLedger).assume(claim("other", allocation=allocated()))
    failure = assume_and_reserve(outcome, context)
    assert isinstance(failure, Diagnosis)
    assert (failure.code, failure.message) == (Code.ERROR, "claim allocation not found for node")
    context.cache.store.remove(ResourceClaim, "default/c0")
    assert (
        PLUGIN.reserve(user("p", "c0"), "n0", context.snapshot).status.code
        is Code.UNSCHEDULABLE_AND_UNRESOLVABLE
    )


# ---- extended resources --------------------------------------------------------------------------


def box(name: str, gpus: str, restart: str | None = None) -> Container:
    """A container that asks for devices as for cpu."""
    return Container(
        name,
        "i",
        ResourceRequirements({"cpu": "1", "example.com/gpu": gpus}),
        restart_policy=restart,
    )


def test_devices_for_extended_resources() -> None:
    """A claim to be created gets one device for each container, an init container uses theirs, and
    the actor is told who uses which.
    """
    context = world(slice_of("n1", 4))
    pod = make_pod(
        "p",
        containers=(box("c0", "1"), box("c1", "1")),
        init_containers=(box("i0", "3"), box("i1", "1")),
    )
    placement = placed(pod, context)
    assert placement.node == "n1"
    value = placement.reservations["DynamicResources"].value
    (made,) = value.claims
    assert (made.claim.metadata.name, made.claim.metadata.annotations) == (
        TO_BE_CREATED,
        {ANNOTATION: "true"},
    )
    assert [one.request for one in made.allocation.devices.results] == [
        "container-0-request-1",
        "container-2-request-1",
        "container-3-request-1",
    ]
    gpu = "example.com/gpu"
    assert list(value.mappings) == [
        ContainerExtendedResourceRequest("c0", gpu, "container-2-request-1"),
        ContainerExtendedResourceRequest("c1", gpu, "container-3-request-1"),
        ContainerExtendedResourceRequest("i0", gpu, "container-2-request-1"),
        ContainerExtendedResourceRequest("i0", gpu, "container-3-request-1"),
        ContainerExtendedResourceRequest("i0", gpu, "container-0-request-1"),
        ContainerExtendedResourceRequest("i1", gpu, "container-2-request-1"),
    ]
    unreserve_and_forget(placement, context.cache)
    placed(pod, context)
    created = msgspec.structs.replace(
        made.claim,
        metadata=msgspec.structs.replace(made.claim.metadata, name="p-x", uid="uid-real"),
    )
    written = msgspec.structs.replace(created, status=ResourceClaimStatus(made.allocation))
    context.cache.store.put(written)
    assert not context.cache.store.index(DeviceLedger).is_assumed(written)


def test_init_containers_share_what_the_neediest_needs() -> None:
    """Beyond the devices of the app container, two more: both init containers use the same request
    for them.
    """
    context = world(slice_of("n1", 4))
    pod = make_pod(
        "p", containers=(box("c0", "1"),), init_containers=(box("i0", "3"), box("i1", "2"))
    )
    value = placed(pod, context).reservations["DynamicResources"].value
    assert [one.name for one in value.claims[0].claim.spec.devices.requests] == [
        "container-0-request-1",
        "container-2-request-1",
    ]
    assert [(one.container_name, one.request_name) for one in value.mappings] == [
        ("c0", "container-2-request-1"),
        ("i0", "container-2-request-1"),
        ("i0", "container-0-request-1"),
        ("i1", "container-2-request-1"),
        ("i1", "container-0-request-1"),
    ]


def test_a_claim_that_an_earlier_attempt_left() -> None:
    """It has to go before the pod can get a node."""
    left = claim("left")
    meta = ClaimMeta(
        "left",
        "default",
        "uid-left",
        owner_references=(OwnerReference(uid="uid-p", controller=True),),
        annotations={ANNOTATION: "true"},
    )
    left = msgspec.structs.replace(left, metadata=meta)
    context = world(left)
    pod = make_pod("p", containers=(box("c", "1"),))
    outcome = refused(pod, context)
    assert outcome.message == (
        "0/2 nodes are available: 2 cannot schedule extended resource claim. deletion of "
        "ResourceClaim completed"
    )
    assert outcome.post_filter_actions == {"DynamicResources": ClaimRelease(left, delete=True)}
    context.cache.store.remove(ResourceClaim, key(left))
    assert isinstance(decide(pod, REVISION, context), ScheduleResult)


def test_a_resource_that_is_nowhere() -> None:
    """One resource comes from devices, the other from nobody."""
    context = world()
    asks = ResourceRequirements({"example.com/gpu": "1", "example.com/fpga": "1"})
    names = ("PrioritySort", "DynamicResources", "DefaultBinder")
    alone = resolve(
        RequestedProfile(
            "test",
            "Default",
            {"multiPoint": EnabledPlugins(tuple(PluginRef(name) for name in names), ("*",))},
        ),
        build_registry(INTREE),
        PRESETS,
    )
    outcome = decide(make_pod("p", containers=(Container("c", "i", asks),)), alone, context)
    assert isinstance(outcome, Diagnosis)
    assert outcome.message == "0/2 nodes are available: 2 cannot fit resource."


def test_fit_leaves_resources_to_devices_while_there_is_a_class() -> None:
    """The class comes and goes: NodeResourcesFit refuses again, decisions kept or not."""
    context = world()
    pod = make_pod("p", containers=(box("c", "1"),))
    assert isinstance(decide(pod, REVISION, context), ScheduleResult)
    context.cache.store.remove(DeviceClass, "gpu")
    assert "2 Insufficient example.com/gpu" in refused(pod, context).message
    context.cache.store.put(GPU)
    assert isinstance(decide(pod, REVISION, context), ScheduleResult)


# ---- nodes that cannot be judged -----------------------------------------------------------------


def test_a_fault_ends_the_attempt() -> None:
    """Not "does not fit": the pod is tried again, and told which claim and what is wrong; a plugin
    that failed is not blamed.
    """
    bad = DeviceRequest(
        "r",
        ExactDeviceRequest(
            "", "gpu", (DeviceSelector(CELSelector("device.nope")),), "ExactCount", 1
        ),
    )
    outcome = refused(user("p", "c0"), world(claim("c0", bad)))
    assert (outcome.code, outcome.unschedulable_plugins) == (Code.ERROR, frozenset())
    assert outcome.message == (
        'running "DynamicResources" filter plugin: claim default/c0: selector #0 on device '
        "a/n0/d0: CEL runtime error: no such key: nope. consider using CEL optional chaining (.? "
        "followed by orValue()) or guarding the check with has() for optional fields"
    )


def test_a_fault_ends_with_its_cause() -> None:
    """The class goes: the pod is refused for that, also by a scheduler that has seen the fault."""
    bad = DeviceRequest(
        "r",
        ExactDeviceRequest(
            "", "gpu", (DeviceSelector(CELSelector("device.nope")),), "ExactCount", 1
        ),
    )
    context, pod = world(claim("c0", bad)), user("p", "c0")
    first = decide(pod, REVISION, context)
    assert isinstance(first, Diagnosis)
    assert first.code is Code.ERROR
    context.cache.store.remove(DeviceClass, "gpu")
    outcome = decide(pod, REVISION, context)
    assert isinstance(outcome, Diagnosis)
    assert (outcome.code, outcome.unschedulable_plugins) == (
        Code.UNSCHEDULABLE_AND_UNRESOLVABLE,
        frozenset({"DynamicResources"}),
    )
    assert "gpu does not exist" in outcome.message


def test_a_search_that_takes_too_long() -> None:
    """``filterTimeout`` bounds it, by the clock that is handed in; 0s does not."""
    requests = tuple(
        DeviceRequest(f"r{i}", ExactDeviceRequest("", "gpu", None, "ExactCount", 5))
        for i in range(2)
    )
    context = world(claim("c0", *requests), slice_of("n0", 9), nodes=1, tick=1e-5)
    outcome = refused(user("p", "c0"), context, filter_timeout="1ms")
    assert (
        outcome.message
        == 'running "DynamicResources" filter plugin: node n0: timed out trying to allocate devices'
    )
    assert refused(user("p", "c0"), context, filter_timeout="0s").code is Code.UNSCHEDULABLE


@pytest.mark.parametrize("names", [("n0", "n1", "n2"), ("n2", "n1", "n0")])
def test_a_search_that_takes_too_long_speaks_of_its_node_alone(names: tuple[str, ...]) -> None:
    """The first by name is named, whatever its row; once those are gone another one is taken."""
    requests = tuple(
        DeviceRequest(f"r{i}", ExactDeviceRequest("", "gpu", None, "ExactCount", 5))
        for i in range(2)
    )
    devices = {"n0": 9, "n1": 9, "n2": 10}
    slices = (slice_of(*one) for one in devices.items())
    context = world(claim("c0", *requests), *slices, nodes=0, tick=1e-5)
    for name in names:
        context.cache.put_node(make_node(name))
    pod = user("p", "c0")
    for slow in ("n0", "n1"):
        text = refused(pod, context, filter_timeout="1ms").message
        assert f"node {slow}: timed out trying to allocate devices" in text
        context.cache.remove_node(slow)
    outcome = decide(pod, revision(filter_timeout="1ms"), context)
    assert isinstance(outcome, ScheduleResult), outcome.message


# ---- making room ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "freed"),
    [
        ({"allocation": allocated("gone")}, True),
        ({"allocation": allocated("gone"), "reserved_for": (Consumer(uid="uid-p"),)}, True),
        ({"allocation": allocated("gone"), "reserved_for": (Consumer(uid="uid-other"),)}, False),
        (
            {
                "allocation": allocated("gone"),
                "reserved_for": (Consumer(uid="uid-p"), Consumer(uid="uid-other")),
            },
            False,
        ),
    ],
    ids=["nobody's", "this pod's", "another's", "shared"],
)
def test_a_claim_that_keeps_the_pod_away_gives_its_devices_back(
    status: dict[str, Any], freed: bool
) -> None:
    """Unless another pod has it reserved."""
    mine = claim("c0", **status)
    outcome = refused(user("p", "c0"), world(mine))
    assert outcome.post_filter_actions == (
        {"DynamicResources": ClaimRelease(mine)} if freed else {}
    )
    text = " deallocation of ResourceClaim completed" if freed else ""
    assert (
        outcome.message
        == f"0/2 nodes are available: 2 resourceclaim not available on the node.{text}"
    )


@pytest.mark.parametrize(
    ("conditions", "useless"),
    [
        ((), False),
        ((DeviceCondition("Ready", "False"),), False),
        ((DeviceCondition("Broken", "True"),), True),
    ],
    ids=["nothing said", "not ready", "failed"],
)
def test_a_device_that_failed_to_bind(
    conditions: tuple[DeviceCondition, ...], useless: bool
) -> None:
    """Its claim can be used nowhere and gives it back; one that is only not ready is waited for
    when the pod is bound.
    """
    given = allocated(
        tied=False, binding_conditions=("Ready",), binding_failure_conditions=("Broken",)
    )
    mine = claim(
        "c0", allocation=given, devices=(AllocatedDeviceStatus("a", "n0", "d0", conditions),)
    )
    outcome = decide(user("p", "c0"), REVISION, world(mine))
    if useless:
        assert isinstance(outcome, Diagnosis)
        assert outcome.post_filter_actions == {"DynamicResources": ClaimRelease(mine)}
    else:
        assert isinstance(outcome, ScheduleResult)


def test_nodes_refused_for_something_else_free_no_claim() -> None:
    """The claim fits one node, which is full."""
    mine = claim("c0", allocation=allocated("n0"))
    context = world(mine, nodes=1)
    outcome = refused(user("p", "c0", cpu="100"), context)
    assert outcome.post_filter_actions == {}
    assert outcome.message == "0/1 nodes are available: 1 Insufficient cpu."


# ---- scoring -------------------------------------------------------------------------------------


def test_better_alternatives_score_higher_beside_an_allocated_claim() -> None:
    """Two devices are better than one; where that can be had, the node gets all of the score."""
    options = (
        DeviceSubRequest("two", "gpu", None, "ExactCount", 2),
        DeviceSubRequest("one", "gpu", None, "ExactCount", 1),
    )
    context = world(
        claim("c0", DeviceRequest("r", first_available=options)),
        claim("c1", allocation=allocated("far", tied=False)),
        slice_of("n1", 2),
    )
    prepared = PLUGIN.prepare_score(user("p", "c0", "c1"), context.snapshot)
    raw = PLUGIN.score(prepared.state, context.snapshot, context.snapshot.nodes.all_rows)
    assert raw.tolist() == [7, 8]
    assert PLUGIN.normalize_score(prepared.state, raw).tolist() == [87, 100]
    assert placed(user("p", "c0", "c1"), context).node == "n1"


# ---- who waits for what --------------------------------------------------------------------------


TEMPLATED = make_pod(
    "p", resource_claims=(PodResourceClaim("x", resource_claim_template_name="t"),)
)
NEITHER = make_pod("p", resource_claims=(PodResourceClaim("x"),))
GENERATED = msgspec.structs.replace(
    TEMPLATED, status=PodStatus(resource_claim_statuses=(PodResourceClaimStatus("x", "p-x"),))
)
UNNEEDED = msgspec.structs.replace(
    TEMPLATED, status=PodStatus(resource_claim_statuses=(PodResourceClaimStatus("x"),))
)


def owned(*, uid: str, controller: bool = True) -> ResourceClaim:
    """A claim that was generated for the pod with this UID."""
    owner = OwnerReference(name="p", uid=uid, controller=controller)
    meta = ClaimMeta("p-x", "default", "uid-p-x", owner_references=(owner,))
    return msgspec.structs.replace(claim("p-x"), metadata=meta)


NOT_FOR_IT = "ResourceClaim default/p-x was not created for Pod default/p (Pod is not owner)"
LEAVING = msgspec.structs.replace(
    claim("c"),
    metadata=ClaimMeta("c", "default", "uid-c", deletion_timestamp="2026-01-01T00:00:00Z"),
)


def stored(*objects: HasMetadata) -> Store:
    """A store of these."""
    store = Store()
    for obj in objects:
        store.put(obj)
    return store


@pytest.mark.parametrize(
    ("pod", "there", "text"),
    [
        (user("p"), None, ""),
        (user("p", "c"), claim("c"), ""),
        (user("p", "c"), None, 'could not find ResourceClaim "default/c"'),
        (user("p", "c"), LEAVING, 'resourceclaim "c" is being deleted'),
        (GENERATED, owned(uid="uid-p"), ""),
        (GENERATED, claim("p-x"), NOT_FOR_IT),
        (GENERATED, owned(uid="uid-of-a-pod-before"), NOT_FOR_IT),
        (GENERATED, owned(uid="uid-p", controller=False), NOT_FOR_IT),
        (UNNEEDED, None, ""),
        (TEMPLATED, None, 'pod "default/p": ResourceClaim not created yet'),
        (
            NEITHER,
            None,
            'pod "default/p", spec.resourceClaim "x": none of the supported fields are set',
        ),
    ],
    ids=[
        "no claims",
        "named",
        "missing",
        "leaving",
        "generated",
        "nobody's",
        "another's",
        "beside another",
        "not needed",
        "not generated",
        "neither",
    ],
)
def test_pods_wait_for_their_claims(pod: Pod, there: ResourceClaim | None, text: str) -> None:
    """In front of the queue."""
    status = PLUGIN.pre_enqueue(pod, stored(there) if there else Store())
    assert status.message == text
    assert status.code is (Code.UNSCHEDULABLE_AND_UNRESOLVABLE if text else Code.SUCCESS)


def test_claims_that_are_not_needed() -> None:
    """A pod whose only claim was not generated has nothing to do with devices."""
    context = world()
    assert PLUGIN.pre_filter(UNNEEDED, context.snapshot).status.code is Code.SKIP


@pytest.mark.parametrize(
    ("old", "new", "want"),
    [
        (None, claim("c"), True),
        (claim("c"), claim("c"), False),
        (claim("c"), claim("c", allocation=allocated()), True),
        (None, claim("other"), False),
        (claim("other"), claim("other", allocation=allocated()), False),
        (claim("other", allocation=allocated()), claim("other"), True),
    ],
    ids=["came", "same", "changed", "another came", "another changed", "another gave back"],
)
def test_claims_that_wake(old: ResourceClaim | None, new: ResourceClaim, want: bool) -> None:
    """The pod's own when its status changed; any that gives devices back. Never while one of its
    claims is missing.
    """
    event = ClusterEvent(
        EventResource.RESOURCE_CLAIM, ActionType.UPDATE if old else ActionType.ADD, old, new
    )
    store = stored(claim("c"), new)
    assert _hint(event, user("p", "c"), store) is want
    assert not _hint(event, user("p", "c", "missing"), store)
    assert not _hint(event, TEMPLATED, store)


@pytest.mark.parametrize(
    ("pod", "store", "want"),
    [
        (GENERATED, stored(owned(uid="uid-p")), True),
        (GENERATED, Store(), False),
        (TEMPLATED, stored(owned(uid="uid-p")), False),
    ],
    ids=["all there", "told too early", "one missing"],
)
def test_statuses_that_wake(pod: Pod, store: Store, want: bool) -> None:
    """The pod itself, once it knows all of its claims and they are there."""
    event = ClusterEvent(
        EventResource.TARGET_POD,
        ActionType.UPDATE_POD_GENERATED_RESOURCE_CLAIM,
        TEMPLATED,
        pod,
    )
    assert _hint(event, TEMPLATED, store) is want


def _hint(event: ClusterEvent, pod: Pod, store: Store) -> bool:
    (wake,) = [wake for wake in PLUGIN.events_to_register if wake.matches(event)]
    assert wake.hint is not None
    return wake.hint(pod, event, store)


def test_pods_whose_claims_say_the_same_are_one_template() -> None:
    """Names of claims do not tell pods apart; what the claims want and got does."""
    context = world(claim("c0"), claim("c1"), claim("c2", allocation=allocated()))
    said = [PLUGIN.sign_pod(user("p", name), context.snapshot) for name in ("c0", "c1", "c2", "c3")]
    assert said[0] == said[1]
    assert len({*said, PLUGIN.sign_pod(user("p"), context.snapshot)}) == 4
    context.cache.store.index(DeviceLedger).assume(claim("c0", allocation=allocated()))
    assert PLUGIN.sign_pod(user("p", "c0"), context.snapshot) not in said


# ---- arguments -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("args", "wrong"),
    [
        ({}, []),
        ({"filter_timeout": "0s", "binding_timeout": "1s"}, []),
        ({"filter_timeout": "-1s"}, [("filterTimeout", "-1s", "must be zero or positive")]),
        ({"binding_timeout": "999ms"}, [("bindingTimeout", "999ms", "must be at least 1 second")]),
        (
            {"filter_timeout": "soon"},
            [("filterTimeout", "soon", 'must be a duration such as "15s", "1m30s" or "200ms"')],
        ),
    ],
)
def test_arguments(args: dict[str, str], wrong: list[tuple[str, str, str]]) -> None:
    """Durations within bounds."""
    assert [
        (one.path, one.value, one.message) for one in DynamicResourcesArgs(**args).validate()
    ] == wrong


def test_arguments_are_written_as_kubernetes_writes_them() -> None:
    """Equal durations are equal arguments; null is the default."""
    assert (
        DynamicResourcesArgs("60s", None)
        == DynamicResourcesArgs("1m", "600s")
        == DynamicResourcesArgs("1m0s", "10m0s")
    )
    assert DynamicResourcesArgs().search_seconds == 10


def test_only_changed_nodes_are_asked_again() -> None:
    """Pods with a claim each of one template: a device is taken, and the answers for the other
    nodes are kept for the next pod.
    """
    pods = []
    context = world(nodes=6)
    for i in range(2):
        uses = (PodResourceClaim("x", resource_claim_template_name="t"),)
        status = PodStatus(resource_claim_statuses=(PodResourceClaimStatus("x", f"c{i}"),))
        pods.append(msgspec.structs.replace(make_pod(f"p{i}", resource_claims=uses), status=status))
        owned = ClaimMeta(
            f"c{i}",
            "default",
            f"uid-c{i}",
            owner_references=(OwnerReference(uid=f"uid-p{i}", controller=True),),
        )
        context.cache.store.put(msgspec.structs.replace(claim(f"c{i}"), metadata=owned))
    placement = placed(pods[0], context)
    evaluation = context.evaluator.evaluation(pods[1], REVISION)
    column = evaluation.filters["DynamicResources"]
    column.values[:6] = 77  # what is not asked again stays
    evaluation.refresh_filters(context.snapshot)
    row = context.snapshot.nodes.row_of[placement.node]
    assert (np.flatnonzero(column.values[:6] != 77).tolist(), int(column.values[row])) == ([row], 1)
