"""Whatever goes wrong while pods get their volumes and devices: no pod is lost, and nothing is
remembered that is not so.

Random stories of failing writes, lost answers, lagging watches, and objects that change or go at
the wrong moment. In the end what the cache knows must be what a cache knows that is made anew from
the API server's objects.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import msgspec
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from moorage.core.columns.cache import Cache
from moorage.core.objects.resource_claims import DeviceClass, ResourceClaim, ResourceSlice
from moorage.core.objects.storage import PersistentVolume, PersistentVolumeClaim
from moorage.core.plugins.volume_binding.offers import VolumeOffers, VolumeRequest
from moorage.ports.errors import Conflict, Forbidden, Retryable
from tests.engine import having_volumes as storage
from tests.engine.binding import test_device_binder as devices
from tests.engine.running import Running
from tests.engine.worlds import a_body
from tests.examples import few
from tests.fakes.clocks import settle

WRITES = (
    "bind_volume",
    "select_node",
    "protect_claim",
    "reserve_claim",
    "release_claim",
    "deallocate_claim",
    "create_claim",
    "bind",
)
READS = ("resource_claim", "pod_node")
ERRORS = (
    Conflict("PATCH", 409, "Conflict", "the object has been modified"),
    Forbidden("PATCH", 403, "Forbidden", "may not"),
    Retryable("PATCH: no answer", outcome_unknown=True),
)
PODS: dict[str, Callable[[], Any]] = {
    "bound": lambda: storage.a_pod("bound", "free"),
    "made": lambda: storage.a_pod("made", "made"),
    "both": lambda: storage.a_pod("both", "free", "made"),
    "device": lambda: devices.a_user("device", "d"),
    "other": lambda: devices.a_user("other", "e"),
    "asking": lambda: devices.asking("asking"),
}
Step = Callable[[Running], object]


def come(name: str) -> Step:
    """A pod comes, if it is not there."""
    return lambda world: None if f"uid-{name}" in world.kube.pods else world.kube.put(PODS[name]())


def go(name: str) -> Step:
    """A pod goes."""

    def step(world: Running) -> None:
        if f"uid-{name}" in world.kube.pods:
            world.kube.delete(world.kube.pods[f"uid-{name}"])

    return step


def fail(method: str, error: Exception, done: bool) -> Step:
    """The next calls fail."""
    return lambda world: world.kube.fail(method, error, times=1 if done else 3, done=done)


def hold(method: str) -> Step:
    """Calls wait, until all go on."""

    def step(world: Running) -> None:
        gate = world.kube._gates.get(method)
        if gate is None or gate.is_set():
            world.kube.hold(method)

    return step


def let_go(world: Running) -> None:
    """Calls that wait go on."""
    for gate in world.kube._gates.values():
        gate.set()


def lag(world: Running) -> None:
    """The watch does not show what we write."""
    world.kube.silent = True


def catch_up(world: Running) -> None:
    """It shows all."""
    world.kube.silent = False
    world.kube.relist()


def controller(world: Running) -> None:
    """Kubernetes' own parts do theirs: bind volumes that are set aside, make those that have a
    node.
    """
    for claim in list(world.kube.others[PersistentVolumeClaim].values()):
        name = claim.metadata.name
        if claim.spec.volume_name:
            continue
        mine = [
            pv
            for pv in world.kube.others[PersistentVolume].values()
            if pv.spec.claim_ref and pv.spec.claim_ref.uid == claim.metadata.uid
        ]
        node = storage.selected(world.kube, name)
        if mine:
            storage.bind(world.kube, name, mine[0].metadata.name)
        elif node:
            reference = {"namespace": "default", "name": name, "uid": claim.metadata.uid}
            world.kube.put(storage.a_volume(f"for-{name}", node, claimRef=reference))
            storage.bind(world.kube, name, f"for-{name}")


def give_up(world: Running) -> None:
    """The provisioner does."""
    if "default/made" in world.kube.others[PersistentVolumeClaim]:
        storage.annotate(world.kube, "made", {})


def vanish(kind: type[Any], name: str) -> Step:
    """Somebody deletes an object, if it is there."""

    def step(world: Running) -> None:
        if name in world.kube.others[kind]:
            world.kube.delete(world.kube.others[kind][name])

    return step


def wait(seconds: float) -> Step:
    """Time passes."""
    return lambda world: world.clock.advance(seconds)


STEPS: dict[str, Step] = {
    **{f"{name} comes": come(name) for name in PODS},
    **{f"{name} goes": go(name) for name in PODS},
    **{
        f"{method} fails {done} {i}": fail(method, error, done)
        for method in WRITES
        for i, error in enumerate(ERRORS)
        for done in (False, True)
        if not (method == "bind" and done)
    },
    **{f"{method} is held": hold(method) for method in (*WRITES, *READS)},
    "calls go on": let_go,
    "the watch lags": lag,
    "the watch catches up": catch_up,
    "the controller acts": controller,
    "the provisioner gives up": give_up,
    "the volume vanishes": vanish(PersistentVolume, "pv"),
    "the claim vanishes": vanish(PersistentVolumeClaim, "default/free"),
    "the device claim vanishes": vanish(ResourceClaim, "default/d"),
    "a moment": wait(0.3),
    "some seconds": wait(3),
    "many seconds": wait(7),
}


async def story(steps: list[str], patient: bool) -> None:
    """Let it happen, then (``patient``) let all that waits go on, and compare when all pods are
    gone.
    """
    args = [
        {"name": "VolumeBinding", "args": {"bindTimeoutSeconds": 5}},
        {"name": "DynamicResources", "args": {"bindingTimeout": "5s"}},
    ]
    async with Running().leading(a_body("test", pluginConfig=args), nodes=0) as world:
        world.kube.put(
            msgspec.convert(
                {"metadata": {"name": "gpu"}, "spec": {"extendedResourceName": "x.io/gpu"}},
                DeviceClass,
            )
        )
        for name in ("n1", "n2"):
            world.kube.put(storage.a_node(name))
            world.kube.put(devices.a_slice(name))
        for claim in (
            storage.a_claim("free"),
            storage.a_claim("made"),
            devices.a_claim("d"),
            devices.a_claim("e"),
        ):
            world.kube.put(claim)
        world.kube.put(storage.a_volume("pv", "n2"))
        world.kube.put(storage.a_class("csi.test"))
        for name in steps:
            happened = STEPS[name](world)
            if asyncio.iscoroutine(happened):
                await happened
            await settle(5)
        let_go(world)
        catch_up(world)
        await world.clock.advance(15 if patient else 0)
        for uid, pod in list(world.kube.pods.items()):
            entry = world.engine.queue.get(uid)
            assert pod.spec.node_name or entry is not None or not patient, f"{uid} is lost"
        for pod in list(world.kube.pods.values()):
            world.kube.delete(pod)
        await world.clock.advance(15)
        assert (len(world.engine.binder), world.assumed) == (0, 0)
        compare(world)


def compare(world: Running) -> None:
    """What is kept of volumes and devices, with what is kept of the same objects by a cache that
    never heard of anything else.
    """
    cache, fresh = world.engine.context.cache, Cache()
    for kind in (PersistentVolume, PersistentVolumeClaim, ResourceSlice, ResourceClaim):
        for obj in world.kube.others[kind].values():
            fresh.store.put(obj)
    assert devices.kept(cache.store) == devices.kept(fresh.store)
    offers, expected = (one.store.index(VolumeOffers) for one in (cache, fresh))
    for part in ("_assumed_volumes", "_assumed_claims", "_shown", "_set_aside"):
        assert getattr(offers, part) == getattr(expected, part)
    want = VolumeRequest(storage.a_claim("x"), "late", 0, None)
    rows = np.arange(cache.nodes.rows)
    assert (
        offers.counts(want, cache.nodes, rows).tolist()
        == expected.counts(want, cache.nodes, rows).tolist()
    )


@few(40)
@given(
    patient=st.booleans(),
    steps=st.lists(st.sampled_from(sorted(STEPS)), max_size=14).map(
        lambda steps: [*steps[:3], "device comes", "both comes", *steps[3:]]
    ),
)
def test_nothing_is_left_and_nobody_is_lost(steps: list[str], patient: bool) -> None:
    """After any story."""
    asyncio.run(story(steps, patient))
