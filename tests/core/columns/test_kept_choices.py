"""Devices and volumes are chosen when a pod is decided; those that a nominated pod will choose are
left to it, wherever it is.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moorage.core.columns.cache import Cache
from moorage.core.cycle.context import CycleContext, Diagnosis, ScheduleResult
from moorage.core.cycle.cycle import assume_and_reserve, decide, run_filters
from moorage.core.devices.ledger import DeviceLedger
from moorage.core.framework.evaluation.evaluation import Evaluation
from moorage.core.framework.registry import build_registry
from moorage.core.framework.revisions import RequestedProfile, resolve
from moorage.core.objects.meta import HasMetadata, ObjectMeta, OwnerReference
from moorage.core.objects.pods import (
    ClaimVolume,
    Pod,
    PodResourceClaim,
    PodResourceClaimStatus,
    PodStatus,
    Volume,
)
from moorage.core.objects.resource_claims import (
    ClaimMeta,
    Device,
    DeviceAttribute,
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
from moorage.core.plugins.dynamic_resources.arguments import DynamicResourcesArgs
from moorage.core.plugins.intree import INTREE, PRESETS
from moorage.core.plugins.volume_binding.offers import VolumeOffers
from moorage.core.pods.requests import pod_requests
from moorage.core.structures.budget import ATTEMPT_SLICE_SECONDS, OutOfTime
from tests.builders import make_node, make_pod
from tests.core.storage_builders import make_claim, make_class, make_volume
from tests.core.volume_strategies import HOST

REVISION = resolve(RequestedProfile("test"), build_registry(INTREE), PRESETS)
NODES = ("n0", "n1", "n2")
GPU = DeviceClass(ObjectMeta("gpu"), DeviceClassSpec(extended_resource_name="x.io/gpu"))


def devices(pool: str, number: int, **reach: object) -> ResourceSlice:
    """A pool of one slice; the devices of a node, unless they can be reached otherwise."""
    given = tuple(
        Device(name=f"{pool}-{i}", attributes={"place": DeviceAttribute(integer=i)})
        for i in range(number)
    )
    document = msgspec.to_builtins(
        ResourceSliceSpec(driver="x", pool=ResourcePool(pool, 1, 1), devices=given)
    )
    spec = msgspec.convert({**document, **(reach or {"nodeName": pool})}, ResourceSliceSpec)
    return ResourceSlice(ObjectMeta(pool), spec)


def claim(name: str, number: int = 1) -> ResourceClaim:
    """A claim for so many devices."""
    request = DeviceRequest("r", ExactDeviceRequest("", "gpu", None, "ExactCount", number))
    return ResourceClaim(
        ClaimMeta(name, "default", f"uid-{name}"), ResourceClaimSpec(DeviceClaim((request,)))
    )


def stored(name: str, size: str = "1Gi") -> HasMetadata:
    """A claim for a volume."""
    return make_claim(name, size=size, namespace="default")


def user(name: str, *claims: str, priority: int = 0, volumes: Iterable[str] = ()) -> Pod:
    """A pod with claims for devices, and for volumes."""
    wanted = tuple(PodResourceClaim(one, resource_claim_name=one) for one in claims)
    mounted = tuple(Volume(one, persistent_volume_claim=ClaimVolume(one)) for one in volumes)
    return make_pod(
        name, priority=priority, resource_claims=wanted or None, volumes=mounted or None
    )


def asking(name: str, priority: int = 0) -> Pod:
    """A pod that asks for a device by its extended resource."""
    pod = make_pod(name, priority=priority)
    (container,) = pod.spec.containers or ()
    resources = msgspec.structs.replace(container.resources, requests={"cpu": "1", "x.io/gpu": "1"})  # type: ignore[type-var]  # there
    spec = msgspec.structs.replace(
        pod.spec, containers=(msgspec.structs.replace(container, resources=resources),)
    )
    return msgspec.structs.replace(pod, spec=spec)


def world(*objects: HasMetadata) -> CycleContext:
    """The nodes, and these objects."""
    cache = Cache()
    for name in NODES:
        cache.put_node(make_node(name, labels={HOST: name}))
    given: tuple[HasMetadata, ...] = (GPU, make_class(), *objects)
    for obj in given:
        cache.store.put(obj)
    return CycleContext(cache)


def nominate(context: CycleContext, pod: Pod, node: str = "n0") -> None:
    """The pod waits, and is nominated to this node."""
    context.cache.nominations.add(pod, node, pod_requests(pod))


def passing(pod: Pod, context: CycleContext) -> set[str]:
    """The nodes that would take a pod."""
    evaluation = run_filters(pod, REVISION, context)
    assert isinstance(evaluation, Evaluation)
    names = context.snapshot.nodes.names
    return {names[row] for row in evaluation.feasible()} if evaluation.fits else set()


def placed(pod: Pod, context: CycleContext, node: str = "") -> ScheduleResult:
    """Decide (unless the node is given) and commit."""
    outcome = ScheduleResult(pod, node, REVISION, 1) if node else decide(pod, REVISION, context)
    assert isinstance(outcome, ScheduleResult), outcome.message
    done = assume_and_reserve(outcome, context)
    assert isinstance(done, ScheduleResult), done.message
    return done


LOCAL = (devices("n0", 1), devices("n1", 1))
SHARED = (devices("net", 1, allNodes=True),)
VOLUMES = make_volume("v0", "n0"), make_volume("v1", "n1")


@pytest.mark.parametrize(
    ("objects", "guest", "waiting", "before", "left"),
    [
        pytest.param(
            LOCAL, user("g", "g"), user("p", "p"), {"n0", "n1"}, {"n1"}, id="devices of its node"
        ),
        pytest.param(
            SHARED,
            user("g", "g"),
            user("p", "p"),
            set(NODES),
            set(),
            id="a device that all nodes reach",
        ),
        pytest.param(
            SHARED,
            asking("g"),
            user("p", "p"),
            set(NODES),
            set(),
            id="a device for an extended resource",
        ),
        pytest.param(
            SHARED,
            user("g", "g"),
            asking("p"),
            set(NODES),
            set(),
            id="a device from an extended resource",
        ),
        pytest.param(
            LOCAL, user("g", "both"), user("p", "both"), {"n0", "n1"}, set(), id="a claim of both"
        ),
        pytest.param(LOCAL, user("g"), user("p", "p"), {"n0", "n1"}, {"n0", "n1"}, id="no devices"),
        pytest.param(
            LOCAL,
            user("g", "many"),
            user("p", "p"),
            {"n0", "n1"},
            {"n0", "n1"},
            id="devices that it can't have",
        ),
        pytest.param(
            LOCAL,
            user("g", "nowhere"),
            user("p", "p"),
            {"n0", "n1"},
            {"n0", "n1"},
            id="a claim that is not there",
        ),
        pytest.param(
            VOLUMES,
            user("g", volumes=["vg"]),
            user("p", volumes=["vp"]),
            {"n0", "n1"},
            {"n1"},
            id="its node's volume",
        ),
        pytest.param(
            (make_volume("v"),),
            user("g", volumes=["vg"]),
            user("p", volumes=["vp"]),
            set(NODES),
            set(),
            id="a volume all nodes reach",
        ),
        pytest.param(
            VOLUMES,
            user("g", volumes=["vb"]),
            user("p", volumes=["vb"]),
            {"n0", "n1"},
            set(),
            id="a volume's claim of both",
        ),
        pytest.param(
            VOLUMES,
            user("g", volumes=["vg"]),
            user("p", volumes=["vp", "vq"]),
            set(),
            set(),
            id="more volumes than there are",
        ),
        pytest.param(
            VOLUMES,
            user("g"),
            user("p", volumes=["vp"]),
            {"n0", "n1"},
            {"n0", "n1"},
            id="no volumes",
        ),
    ],
)
def test_lesser_pods_leave_what_a_nominated_pod_will_choose(
    objects: tuple[HasMetadata, ...], guest: Pod, waiting: Pod, before: set[str], left: set[str]
) -> None:
    """Those of its own priority too; more important ones need not, nor does anybody when it is
    nominated no more.
    """
    claims = [claim(name) for name in ("g", "p", "both")] + [claim("many", 9)]
    context = world(*objects, *claims, *map(stored, ("vg", "vp", "vq", "vb")))
    of = {
        number: msgspec.structs.replace(
            waiting, spec=msgspec.structs.replace(waiting.spec, priority=number)
        )
        for number in (1, 5, 9)
    }
    assert passing(of[1], context) == before
    nominate(
        context,
        msgspec.structs.replace(guest, spec=msgspec.structs.replace(guest.spec, priority=5)),
    )
    assert (passing(of[1], context), passing(of[5], context), passing(of[9], context)) == (
        left,
        left,
        before,
    )
    if before and not left:
        outcome = decide(of[1], REVISION, context)
        assert isinstance(outcome, Diagnosis)
        assert [record.pod.metadata.name for record in outcome.blocking_nominated_pods] == ["g"]
    context.cache.nominations.remove("uid-g")
    assert passing(of[1], context) == before


def test_what_is_taken_is_not_what_is_kept() -> None:
    """Where there are devices and volumes for both, the lesser pod gets others than it would have
    got.
    """
    objects = (
        devices("n0", 2),
        claim("g"),
        claim("p"),
        make_volume("v0", "n0"),
        make_volume("v1", "n0", "2Gi"),
        stored("vg"),
        stored("vp"),
    )
    context = world(*objects)
    nominate(context, user("g", "g", priority=5, volumes=["vg"]))
    given = placed(user("p", "p", volumes=["vp"]), context).reservations
    (mine,) = given["DynamicResources"].value.claims
    (device,) = mine.allocation.devices.results
    assert (device.device, [pv.metadata.name for pv in given["VolumeBinding"].value.volumes]) == (
        "n0-1",
        ["v1"],
    )
    its = placed(user("g", "g", priority=5, volumes=["vg"]), context)
    assert its.node == "n0"
    assert [pv.metadata.name for pv in its.reservations["VolumeBinding"].value.volumes] == ["v0"]


def test_equals_do_not_wait_for_each_other() -> None:
    """Two are nominated, and there is one device and one volume: the first has them, the second
    waits.
    """
    context = world(*SHARED, claim("g"), claim("h"), make_volume("v"), stored("vg"), stored("vh"))
    first, second = user("g", "g", priority=5), user("h", "h", priority=5)
    other = user("i", priority=5, volumes=["vg"]), user("j", priority=5, volumes=["vh"])
    for pod in (first, second, *other):
        nominate(context, pod)
    assert (bool(passing(first, context)), bool(passing(second, context))) == (True, False)
    assert (bool(passing(other[0], context)), bool(passing(other[1], context))) == (True, False)


def test_a_claim_that_changes_changes_what_is_kept() -> None:
    """Though no node, no device and no nomination did."""
    context, waiting = world(*LOCAL, claim("p"), claim("g")), user("p", "p")
    nominate(context, user("g", "g", priority=5))
    assert passing(waiting, context) == {"n1"}
    context.cache.store.put(claim("g", 9))
    assert passing(waiting, context) == {"n0", "n1"}
    context.cache.store.put(claim("g"))
    assert passing(waiting, context) == {"n1"}


def test_a_claim_that_is_named_changes_what_is_kept() -> None:
    """A claim made of a template counts once the nominated pod's status tells its name."""
    use = PodResourceClaim("c", resource_claim_template_name="t")
    guest = make_pod("g", priority=5, resource_claims=(use,))
    its = msgspec.structs.replace(
        claim("g"),
        metadata=ClaimMeta(
            "g",
            "default",
            "uid-claim",
            owner_references=(OwnerReference(uid=guest.metadata.uid, controller=True),),
        ),
    )
    context, waiting = world(*LOCAL, claim("p"), its), user("p", "p")
    nominate(context, guest)
    assert passing(waiting, context) == {"n0", "n1"}
    named = PodStatus(resource_claim_statuses=(PodResourceClaimStatus("c", "g"),))
    nominate(context, msgspec.structs.replace(guest, status=named))
    assert passing(waiting, context) == {"n1"}


@pytest.mark.parametrize("hasty_first", [True, False])
def test_profiles_that_search_for_less_time_choose_for_themselves(hasty_first: bool) -> None:
    """Whoever asks first does not choose for the others."""
    context, waiting = world(devices("n0", 3), claim("p"), claim("g", 3)), user("p", "p")
    looks = itertools.count()
    context.budget._now = lambda: next(looks) * 1e-5
    nominate(context, user("g", "g", priority=5))
    one_device = {"DynamicResources": DynamicResourcesArgs(filter_timeout="70us")}
    hasty = resolve(RequestedProfile("hasty", args=one_device), build_registry(INTREE), PRESETS)
    found = {}
    for revision in (hasty, REVISION) if hasty_first else (REVISION, hasty):
        outcome = decide(waiting, revision, context)
        found[revision.scheduler_name] = isinstance(outcome, ScheduleResult)
    assert found == {"hasty": True, "test": False}


def test_a_look_that_is_broken_off_is_made_anew() -> None:
    """It may be while the nominated pod's devices are looked for; then nothing is taken for known
    that was not looked at.
    """
    context, waiting = world(*LOCAL, claim("p"), claim("g")), user("p", "p")
    nominate(context, user("nobody", priority=-1), "n2")
    assert passing(waiting, context) == {"n0", "n1"}
    nominate(context, user("g", "g", priority=5))
    time, broken, found = itertools.count(), 0, set[str]()
    context.budget._now = lambda: next(time) * ATTEMPT_SLICE_SECONDS / 2
    for _ in range(50):
        try:
            with context.budget:
                found = passing(waiting, context)
                break
        except OutOfTime:
            broken += 1
    assert (found, broken > 0) == ({"n1"}, True)


Shape = tuple[list[int], int, list[tuple[str, str]]]
"""How many devices nodes have, how many are of all, and volumes: their nodes and sizes."""
KINDS: dict[str, Callable[[str, int], Pod]] = {
    "device": lambda name, priority: user(name, name, priority=priority),
    "two": lambda name, priority: user(name, f"{name}-2", priority=priority),
    "extended": asking,
    "volume": lambda name, priority: user(name, priority=priority, volumes=[f"v-{name}"]),
    "volumes": lambda name, priority: user(
        name, priority=priority, volumes=[f"v-{name}", f"w-{name}"]
    ),
}
NAMES = ("a", "b", "c", "d")
PODS = st.tuples(
    st.sampled_from(NAMES), st.sampled_from([*KINDS]), st.integers(0, 3), st.sampled_from(NODES)
)
STEPS = st.lists(
    st.tuples(st.sampled_from(["nominate", "nominate", "place", "gone"]), PODS),
    min_size=2,
    max_size=8,
)
OBJECTS = st.tuples(
    st.lists(st.integers(0, 2), min_size=3, max_size=3),
    st.integers(0, 2),
    st.lists(st.tuples(st.sampled_from(("", *NODES)), st.sampled_from(["1Gi", "2Gi"])), max_size=5),
)


def made(shape: Shape) -> list[HasMetadata]:
    """Devices of nodes, of all, and volumes; and claims of all pods."""
    local, shared, volumes = shape
    objects: list[HasMetadata] = [
        devices(node, number) for node, number in zip(NODES, local, strict=True) if number
    ]
    objects += [devices("net", shared, allNodes=True)] if shared else []
    objects += [make_volume(f"pv{i}", node, size) for i, (node, size) in enumerate(volumes)]
    for name in (*NAMES, "new"):
        objects += [
            claim(name),
            claim(f"{name}-2", 2),
            stored(f"v-{name}"),
            stored(f"w-{name}", "2Gi"),
        ]
    return objects


@settings(max_examples=25)
@given(OBJECTS, STEPS)
def test_guests_count_as_if_they_had_been_placed(
    shape: Shape, steps: list[tuple[str, tuple[str, str, int, str]]]
) -> None:
    """Nodes pass that would take the pod in a fresh cluster where the nominated pods, one after
    another, got what they need.
    """
    objects = made(shape)
    kept, there, guests = world(*objects), dict[str, ScheduleResult](), dict[str, tuple[Pod, str]]()
    for what, (name, kind, priority, node) in steps:
        if name in there:
            continue
        pod = KINDS[kind](name, priority)
        guests.pop(name, None)
        kept.cache.nominations.remove(pod.metadata.uid)
        if what == "nominate":
            guests[name] = pod, node
            nominate(kept, pod, node)
        elif what == "place" and node in passing(pod, kept):
            there[name] = placed(pod, kept, node)
        for waiting in (KINDS[each]("new", 2) for each in KINDS):
            fresh = world(*objects)
            for done in there.values():
                repeat(done, fresh)
            without = passing(waiting, fresh)
            first = sorted(guests.values(), key=lambda guest: -(guest[0].spec.priority or 0))
            for guest, at in first:
                if (guest.spec.priority or 0) >= 2:
                    assume_and_reserve(ScheduleResult(guest, at, REVISION, 1), fresh)
            assert passing(waiting, kept) == passing(waiting, fresh) & without, (
                waiting.metadata.name
            )


def repeat(done: ScheduleResult, fresh: CycleContext) -> None:
    """The same in another cluster, with the devices and volumes that were chosen."""
    store = fresh.cache.store
    fresh.cache.assume(done.pod, done.node, pod_requests(done.pod))
    if (devices := done.reservations.get("DynamicResources")) and devices.value:
        for one in devices.value.claims:
            status = msgspec.structs.replace(
                one.claim.status, allocation=one.allocation or one.claim.status.allocation
            )
            store.index(DeviceLedger).assume(msgspec.structs.replace(one.claim, status=status))
    if (volumes := done.reservations.get("VolumeBinding")) and volumes.value:
        store.index(VolumeOffers).assume(volumes.value.volumes, volumes.value.provisions)
