"""Pods with volumes and devices on a real API server: what the operator writes for them, and that
it waits for the others' part.

Nothing here binds volumes or makes them but the tests themselves, so that each step can be seen.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from moorage.adapters.kube_reads import HttpKubeReader
from moorage.adapters.kube_session import KubeSession, KubeSource
from moorage.adapters.kube_writes import HttpKubeWriter
from moorage.adapters.system_clock import SystemClock
from moorage.core.devices.extended_resources import claim_to_create
from moorage.core.objects.pods import (
    ContainerExtendedResourceRequest,
    Pod,
    PodExtendedResourceClaimStatus,
)
from moorage.core.objects.resource_claims import Allocation, Consumer, ResourceClaim
from moorage.core.objects.storage import PersistentVolume, PersistentVolumeClaim
from moorage.core.volumes.claims import SELECTED_NODE
from moorage.ports.errors import Conflict, Invalid, NotFound
from moorage.ports.kube import KubeReader, KubeWriter, pod_ref
from moorage.ports.leadership import Fence
from tests.fakes.kube import InMemoryKube
from tests.rig import ControlPlane
from tests.rig.clients import Client
from tests.rig.operators import NAMESPACE, Operator, install, until

HOST = "kubernetes.io/hostname"
VOLUMES, CLAIMS = "/api/v1/persistentvolumes", "/api/v1/namespaces/default/persistentvolumeclaims"
SINCE_EXTENDED_RESOURCES = pytest.mark.since("1.36", "extended resources by claims")
PODS, DEVICES = (
    "/api/v1/namespaces/default/pods",
    "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims",
)
NODES = ("claims-1", "claims-2")
PROFILE = "claims"


@pytest.fixture(scope="module")
def kubeconfig(rig: ControlPlane) -> Path:
    """The operator's rights."""
    return install(rig)


@pytest.fixture(scope="module")
def client(rig: ControlPlane, kubeconfig: Path) -> Iterator[Client]:
    """The administrator, while a replica leads; two nodes with a device each, a profile, two
    classes of volumes.
    """
    with contextlib.closing(Client(rig)) as client:
        for name in NODES:
            node = {"metadata": {"name": name, "labels": {HOST: name}}}
            client.post("/api/v1/nodes", node)
            room = {"cpu": "8", "memory": "16Gi", "pods": "110"}
            client.merge(
                f"/api/v1/nodes/{name}/status", {"status": {"allocatable": room, "capacity": room}}
            )
            pool = {"name": name, "generation": 1, "resourceSliceCount": 1}
            spec = {
                "driver": "gpu.example.com",
                "nodeName": name,
                "pool": pool,
                "devices": [{"name": "gpu-0"}],
            }
            client.post(
                "/apis/resource.k8s.io/v1/resourceslices",
                {"metadata": {"name": name}, "spec": spec},
            )
        expression = 'device.driver == "gpu.example.com"'
        spec = {
            "selectors": [{"cel": {"expression": expression}}],
            "extendedResourceName": "example.com/gpu",
        }
        client.post(
            "/apis/resource.k8s.io/v1/deviceclasses", {"metadata": {"name": "gpu"}, "spec": spec}
        )
        for name, provisioner in (
            ("local", "kubernetes.io/no-provisioner"),
            ("made", "disk.example.com"),
        ):
            late = {
                "metadata": {"name": name},
                "provisioner": provisioner,
                "volumeBindingMode": "WaitForFirstConsumer",
            }
            client.post("/apis/storage.k8s.io/v1/storageclasses", late)
        client.post(
            "/apis/moorage.dev/v1alpha1/schedulerprofiles",
            {**PROFILE_OBJECT, "metadata": {"name": PROFILE}, "spec": {}},
        )
        with Operator(rig, kubeconfig, "moorage-claims") as operator:
            operator.wait_logged("leading")
            yield client
        for name in NODES:
            client.delete(f"/api/v1/nodes/{name}")


PROFILE_OBJECT = {"apiVersion": "moorage.dev/v1alpha1", "kind": "SchedulerProfile"}


@pytest.fixture(autouse=True)
def tidy(client: Client) -> Iterator[None]:
    """Leave no pods, claims or volumes to the next test."""
    yield
    for items in (PODS, CLAIMS, VOLUMES, DEVICES):
        for item in client.get(items)["items"]:
            name = f"{items}/{item['metadata']['name']}"
            client.merge(name, {"metadata": {"finalizers": None}})
            with contextlib.suppress(Exception):  # it is gone, maybe, now that nothing keeps it
                client.delete(name)


# ---- what a test does ----------------------------------------------------------------------------


def a_pod(client: Client, name: str, *claims: str, devices: str = "", **resources: str) -> None:
    """Create a pod with these volumes' claims, or a claim for devices."""
    volumes = [{"name": claim, "persistentVolumeClaim": {"claimName": claim}} for claim in claims]
    container: dict[str, Any] = {
        "name": "c",
        "image": "i",
        "resources": {"requests": resources, "limits": resources},
    }
    spec: dict[str, Any] = {"schedulerName": PROFILE, "volumes": volumes, "containers": [container]}
    if devices:
        spec["resourceClaims"] = [{"name": "d", "resourceClaimName": devices}]
    client.post(PODS, {"metadata": {"name": name}, "spec": spec})


def a_claim(client: Client, name: str, storage_class: str) -> None:
    """Create a claim."""
    resources = {"requests": {"storage": "1Gi"}}
    spec = {
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": storage_class,
        "resources": resources,
    }
    client.post(CLAIMS, {"metadata": {"name": name}, "spec": spec})


def a_volume(client: Client, name: str, node: str, storage_class: str) -> None:
    """Create a free volume that one node can reach."""
    terms = [{"matchExpressions": [{"key": HOST, "operator": "In", "values": [node]}]}]
    spec = {
        "capacity": {"storage": "1Gi"},
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": storage_class,
        "local": {"path": "/disk"},
        "nodeAffinity": {"required": {"nodeSelectorTerms": terms}},
    }
    client.post(VOLUMES, {"metadata": {"name": name}, "spec": spec})
    client.merge(f"{VOLUMES}/{name}/status", {"status": {"phase": "Available"}})


def bind(client: Client, claim: str, volume: str) -> None:
    """Do the volume controller's part."""
    annotations = {"pv.kubernetes.io/bind-completed": "yes"}
    client.merge(
        f"{CLAIMS}/{claim}",
        {"metadata": {"annotations": annotations}, "spec": {"volumeName": volume}},
    )
    client.merge(f"{CLAIMS}/{claim}/status", {"status": {"phase": "Bound"}})


def node_of(client: Client, name: str) -> str:
    """The pod's node, "" for none."""
    return str(client.get(f"{PODS}/{name}")["spec"].get("nodeName", ""))


def selected(client: Client, claim: str) -> str:
    """Where the claim's volume is to be made, "" for nowhere yet."""
    return str(
        client.get(f"{CLAIMS}/{claim}")["metadata"].get("annotations", {}).get(SELECTED_NODE, "")
    )


def told(client: Client, name: str) -> str:
    """What the pod's condition says."""
    conditions = client.get(f"{PODS}/{name}")["status"].get("conditions", [])
    return next(
        (str(one.get("message", "")) for one in conditions if one["type"] == "PodScheduled"), ""
    )


# ---- volumes -------------------------------------------------------------------------------------


def test_a_local_volume_is_set_aside_for_the_first_of_two_pods(client: Client) -> None:
    """The pod goes where the volume is, when its claim is bound; another pod is told that there is
    no other volume.
    """
    a_volume(client, "disk", NODES[1], "local")
    for name in ("one", "two"):
        a_claim(client, name, "local")
        a_pod(client, f"pod-{name}", name)
    ref = until(
        lambda: client.get(f"{VOLUMES}/disk")["spec"].get("claimRef"), "the volume to be set aside"
    )
    first, second = (ref["name"], "two" if ref["name"] == "one" else "one")
    assert ref["uid"] == client.get(f"{CLAIMS}/{first}")["metadata"]["uid"]
    assert (
        client.get(f"{VOLUMES}/disk")["metadata"]["annotations"][
            "pv.kubernetes.io/bound-by-controller"
        ]
        == "yes"
    )
    until(
        lambda: "didn't find available persistent volumes to bind" in told(client, f"pod-{second}"),
        "the other pod to be told",
    )
    assert node_of(client, f"pod-{first}") == ""
    bind(client, first, "disk")
    until(lambda: node_of(client, f"pod-{first}") == NODES[1], "the pod to be bound")


def test_a_volume_is_made_where_the_pod_goes_in_the_end(client: Client) -> None:
    """A provisioner that gives up sends the pod elsewhere; one that makes the volume gets it bound
    there.
    """
    a_claim(client, "data", "made")
    a_pod(client, "user", "data")
    first = until(lambda: selected(client, "data"), "a node for the volume")
    (other,) = set(NODES) - {first}
    try:
        client.merge(f"/api/v1/nodes/{first}", {"spec": {"unschedulable": True}})
        client.merge(f"{CLAIMS}/data", {"metadata": {"annotations": {SELECTED_NODE: None}}})
        until(lambda: selected(client, "data") == other, "another node for the volume")
    finally:
        client.merge(f"/api/v1/nodes/{first}", {"spec": {"unschedulable": None}})
    a_volume(client, "disk", other, "made")
    assert node_of(client, "user") == ""
    bind(client, "data", "disk")
    until(lambda: node_of(client, "user") == other, "the pod to be bound")


# ---- devices -------------------------------------------------------------------------------------


def a_device_claim(client: Client, name: str) -> None:
    """Create a claim for one device."""
    request = {"name": "r", "exactly": {"deviceClassName": "gpu"}}
    client.post(DEVICES, {"metadata": {"name": name}, "spec": {"devices": {"requests": [request]}}})


def version_of(client: Client) -> tuple[int, int]:
    """The API server's major and minor version. Before 1.35 it drops when a claim was allocated."""
    said = client.get("/version")
    return int(said["major"]), int(said["minor"])


def test_claims_get_devices_and_their_pods_are_bound(client: Client) -> None:
    """Each pod where its device is; a third one is told that there is none left, and gets the one
    that is given back.
    """
    for name in ("a", "b", "c"):
        a_device_claim(client, name)
    for name in ("a", "b"):
        a_pod(client, f"pod-{name}", devices=name)
        until(lambda name=name: node_of(client, f"pod-{name}"), "the pod to be bound")
        claim = client.get(f"{DEVICES}/{name}")
        (result,) = claim["status"]["allocation"]["devices"]["results"]
        assert result["pool"] == node_of(client, f"pod-{name}")
        assert [one["name"] for one in claim["status"]["reservedFor"]] == [f"pod-{name}"]
        assert claim["metadata"]["finalizers"] == ["resource.kubernetes.io/delete-protection"]
        dated = version_of(client) >= (1, 35)
        assert ("allocationTimestamp" in claim["status"]["allocation"]) is dated
    assert len({node_of(client, "pod-a"), node_of(client, "pod-b")}) == len(NODES)
    a_pod(client, "pod-c", devices="c")
    until(lambda: "cannot allocate all claims" in told(client, "pod-c"), "the third pod to be told")
    client.merge(f"{DEVICES}/a/status", {"status": {"allocation": None, "reservedFor": None}})
    until(lambda: node_of(client, "pod-c"), "the third pod to be bound")


@SINCE_EXTENDED_RESOURCES
def test_an_extended_resource_is_had_from_devices(client: Client) -> None:
    """A claim is created for the pod, and the pod's status names it."""
    a_pod(client, "asking", **{"example.com/gpu": "1"})
    node = until(lambda: node_of(client, "asking"), "the pod to be bound")
    told_of = client.get(f"{PODS}/asking")["status"]["extendedResourceClaimStatus"]
    claim = client.get(f"{DEVICES}/{told_of['resourceClaimName']}")
    assert (
        claim["metadata"]["ownerReferences"][0]["uid"]
        == client.get(f"{PODS}/asking")["metadata"]["uid"]
    )
    assert [one["pool"] for one in claim["status"]["allocation"]["devices"]["results"]] == [node]
    assert [(one["containerName"], one["resourceName"]) for one in told_of["requestMappings"]] == [
        ("c", "example.com/gpu")
    ]


def test_a_claim_whose_node_is_gone_gives_its_device_back(client: Client) -> None:
    """The post-filter action of a pod that no node takes: the claim gets a device that can be
    used.
    """
    a_device_claim(client, "a")
    client.merge(
        f"{DEVICES}/a", {"metadata": {"finalizers": ["resource.kubernetes.io/delete-protection"]}}
    )
    only = {
        "nodeSelectorTerms": [
            {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["gone"]}]}
        ]
    }
    result = {"request": "r", "driver": "gpu.example.com", "pool": "gone", "device": "gpu-0"}
    client.merge(
        f"{DEVICES}/a/status",
        {"status": {"allocation": {"devices": {"results": [result]}, "nodeSelector": only}}},
    )
    a_pod(client, "user", devices="a")
    until(lambda: node_of(client, "user"), "the pod to be bound")
    (given,) = client.get(f"{DEVICES}/a")["status"]["allocation"]["devices"]["results"]
    assert given["pool"] == node_of(client, "user")


# ---- the fake is as the API server ---------------------------------------------------------------


@dataclasses.dataclass
class Side:
    """An API server, or what stands for one: writes, reads, and how objects come to be there and
    look like.
    """

    writes: KubeWriter
    reads: KubeReader
    put: Callable[[str, dict[str, Any]], None]
    get: Callable[[str, type[Any]], Any]


def real_side(client: Client, session: KubeSession) -> Side:
    """The real one, with the operator's rights."""
    clock = SystemClock()
    fence = Fence(clock.boottime)
    fence.extend(clock.boottime() + 60)
    reads = HttpKubeReader(session, clock, NAMESPACE, "moorage")

    def get(path: str, kind: type[Any]) -> Any:
        return msgspec.convert(client.get(path), kind, strict=False)

    return Side(
        HttpKubeWriter(session, fence, clock, (NAMESPACE, "moorage")), reads, client.post, get
    )


def fake_side() -> Side:
    """The one in memory."""
    kube = InMemoryKube()
    kinds: dict[str, type[Any]] = {
        VOLUMES: PersistentVolume,
        CLAIMS: PersistentVolumeClaim,
        DEVICES: ResourceClaim,
        PODS: Pod,
    }
    for kind in kinds.values():
        if kind is not Pod:
            kube.other_sinks[kind] = []

    def put(path: str, body: dict[str, Any]) -> None:
        namespace = {} if path == VOLUMES else {"namespace": "default"}
        metadata = {"uid": f"uid-{body['metadata']['name']}", **namespace, **body["metadata"]}
        kube.put(msgspec.convert({**body, "metadata": metadata}, kinds[path]))

    def get(path: str, kind: type[Any]) -> Any:
        name = path.rpartition("/")[2]
        if kind is Pod:
            return kube.pods[f"uid-{name}"]
        return kube.others[kind][name if kind is PersistentVolume else f"default/{name}"]

    return Side(kube, kube, put, get)


REQUEST = {
    "name": "r",
    "exactly": {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 1},
}
ALLOCATION = msgspec.convert(
    {
        "devices": {
            "results": [
                {"request": "r", "driver": "gpu.example.com", "pool": "claims-1", "device": "gpu-0"}
            ]
        }
    },
    Allocation,
)


def pod_with_a_gpu(side: Side, name: str) -> Pod:
    """A pod that nobody schedules."""
    gpu = {"example.com/gpu": "1"}
    container = {"name": "c", "image": "i", "resources": {"requests": gpu, "limits": gpu}}
    side.put(
        PODS,
        {
            "metadata": {"name": name},
            "spec": {"schedulerName": "nobody", "containers": [container]},
        },
    )
    found: Pod = side.get(f"{PODS}/{name}", Pod)
    return found


async def life_of_claims(side: Side) -> None:
    """What the port promises of resource claims."""
    pod = pod_with_a_gpu(side, "held")
    side.put(DEVICES, {"metadata": {"name": "a"}, "spec": {"devices": {"requests": [REQUEST]}}})
    first = side.get(f"{DEVICES}/a", ResourceClaim)
    held_by = Consumer(resource="pods", name="held", uid=pod.metadata.uid)
    other = Consumer(resource="pods", name="other", uid="uid-other")
    with pytest.raises(Invalid):
        await side.writes.reserve_claim(first, held_by, None)
    protected = await side.writes.protect_claim(first)
    assert await side.writes.protect_claim(protected) == protected, "twice is once"
    with pytest.raises(Conflict):
        await side.writes.reserve_claim(first, held_by, ALLOCATION)
    held = await side.writes.reserve_claim(protected, held_by, ALLOCATION)
    assert await side.reads.resource_claim("default", "a") == held
    assert (held.status.allocation, [one.uid for one in held.status.reserved_for or ()]) == (
        ALLOCATION,
        [held_by.uid],
    )
    second = await side.writes.reserve_claim(held, other, None)
    await side.writes.release_claim(first, held_by)
    shared = side.get(f"{DEVICES}/a", ResourceClaim)
    assert [one.name for one in shared.status.reserved_for or ()] == ["other"]
    with pytest.raises(Conflict):
        await side.writes.deallocate_claim(second)
    await side.writes.deallocate_claim(shared)
    empty = side.get(f"{DEVICES}/a", ResourceClaim)
    assert (empty.status.allocation, empty.status.reserved_for or ()) == (None, ())
    namesake = msgspec.structs.replace(
        empty, metadata=msgspec.structs.replace(empty.metadata, uid="uid-2")
    )
    for write in (
        side.writes.release_claim(namesake, held_by),
        side.writes.delete_claim(namesake),
        side.writes.protect_claim(namesake),
    ):
        with pytest.raises(Conflict):
            await write
    await side.writes.delete_claim(empty)
    with pytest.raises(NotFound):
        await side.writes.delete_claim(empty)
    assert await side.reads.resource_claim("default", "a") is None
    with pytest.raises(NotFound):
        await side.writes.protect_claim(empty)


async def life_of_extended_resources(side: Side) -> None:
    """What it promises of claims that stand for a pod's extended resources."""
    pod = pod_with_a_gpu(side, "extended")
    created = await side.writes.create_claim(claim_to_create(pod), "held-extended-resources-")
    assert created.metadata.name.startswith("held-extended-resources-")
    assert await side.writes.protect_claim(created) == created, "it was created protected"
    mapping = ContainerExtendedResourceRequest("c", "example.com/gpu", "container-0-request-0")
    await side.writes.pod_claim(pod_ref(pod), created.metadata.name, (mapping,))
    told_of = side.get(f"{PODS}/extended", Pod).status.extended_resource_claim_status
    assert told_of == PodExtendedResourceClaimStatus((mapping,), created.metadata.name)


async def life_of_volumes(side: Side) -> None:
    """What the port promises of volumes and their claims."""
    resources = {"requests": {"storage": "1Gi"}}
    claim_spec = {
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": "made",
        "resources": resources,
    }
    side.put(
        CLAIMS, {"metadata": {"name": "c", "annotations": {"kept": "yes"}}, "spec": claim_spec}
    )
    spec = {
        "capacity": {"storage": "1Gi"},
        "accessModes": ["ReadWriteOnce"],
        "hostPath": {"path": "/disk"},
    }
    side.put(VOLUMES, {"metadata": {"name": "v"}, "spec": spec})
    claim, volume = (
        side.get(f"{CLAIMS}/c", PersistentVolumeClaim),
        side.get(f"{VOLUMES}/v", PersistentVolume),
    )
    chosen = {**(claim.metadata.annotations or {}), SELECTED_NODE: "claims-1"}
    there = msgspec.structs.replace(
        claim, metadata=msgspec.structs.replace(claim.metadata, annotations=chosen)
    )
    await side.writes.select_node(there)
    assert side.get(f"{CLAIMS}/c", PersistentVolumeClaim).metadata.annotations == chosen
    reference = {
        "kind": "PersistentVolumeClaim",
        "apiVersion": "v1",
        "namespace": "default",
        "name": "c",
        "uid": claim.metadata.uid,
    }
    aside = msgspec.convert(
        {"metadata": {"name": "v"}, "spec": {"claimRef": reference}}, PersistentVolume
    )
    aside = msgspec.structs.replace(
        volume, spec=msgspec.structs.replace(volume.spec, claim_ref=aside.spec.claim_ref)
    )
    await side.writes.bind_volume(aside)
    assert side.get(f"{VOLUMES}/v", PersistentVolume).spec.claim_ref == aside.spec.claim_ref
    for write in (side.writes.select_node(there), side.writes.bind_volume(aside)):
        with pytest.raises(Conflict):
            await write
    gone = msgspec.structs.replace(
        aside, metadata=msgspec.structs.replace(aside.metadata, name="nobody")
    )
    with pytest.raises(NotFound):
        await side.writes.bind_volume(gone)


@pytest.mark.parametrize(
    "life",
    [
        pytest.param(life_of_claims, id="claims"),
        pytest.param(life_of_extended_resources, id="extended", marks=SINCE_EXTENDED_RESOURCES),
        pytest.param(life_of_volumes, id="volumes"),
    ],
)
@pytest.mark.parametrize("side", ["real", "fake"])
def test_the_port_keeps_its_promises(
    client: Client, kubeconfig: Path, side: str, life: Any
) -> None:
    """The adapter on a real API server, and the fake that other tests believe."""

    async def scenario() -> None:
        if side == "fake":
            await life(fake_side())
            return
        session = await KubeSession.open(
            KubeSource(str(kubeconfig)), "moorage/test (claims)", SystemClock()
        )
        try:
            await life(real_side(client, session))
        finally:
            await session.close()

    asyncio.run(scenario())
