"""Names that people make up live as long as an object uses them: after many objects have come and
gone, none of their names is kept.

For each kind of object, dozens come and go whose every name is another one's. Then everything that
can be reached from the operator's parts is looked through for these names, and must weigh what it
weighed half way. What is remembered by content on purpose is bounded elsewhere
(``core.structures.remembering``, the runner's and the counters' budgets) and made small here.
"""

from __future__ import annotations

import gc
import re
import types
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

import msgspec
import numpy as np
import pytest

from moorage.core.columns.pod_counters import PodCounters
from moorage.core.cycle.context import ScheduleResult
from moorage.core.cycle.cycle import assume_and_reserve, decide, unreserve_and_forget
from moorage.core.devices.ledger import DeviceLedger
from moorage.core.framework.evaluation.evaluator import Evaluator
from moorage.core.objects.meta import HasMetadata, Namespace
from moorage.core.objects.nodes import Node
from moorage.core.objects.pod_groups import CoschedulingPodGroup
from moorage.core.objects.pods import Pod
from moorage.core.objects.resource_claims import (
    DeviceClass,
    DeviceTaintRule,
    ResourceClaim,
    ResourceSlice,
)
from moorage.core.objects.storage import (
    CSINode,
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
)
from moorage.core.objects.workloads import ReplicaSet, Service
from moorage.core.plugins.volume_binding.offers import StorageCapacities, VolumeOffers
from moorage.engine.intake.object_sink import ObjectSink
from moorage.engine.intake.stored_object_sink import StoredObjectSink
from moorage.ports.stored_kinds import STORED_KINDS
from tests.builders import make_node
from tests.engine.worlds import Bench, versioned
from tests.fakes.listeners import Unheard

ROUND = 25
MADE_UP = re.compile(rb"made-up-(\d+)")
LAST = 2
"""So many of the last ones may be remembered: the newest template, the newest counters."""
LAST_SHAPES = 24
"""And so many shapes of devices, with 3 nodes."""
Make = Callable[[str], list[HasMetadata]]
T = TypeVar("T")


def of(kind: type[T], name: str, namespace: str = "", **body: Any) -> T:
    """An object."""
    meta = {"name": name, "namespace": namespace, "uid": f"uid-{name}", **body.pop("metadata", {})}
    return msgspec.convert({"metadata": meta, **body}, kind)


def node(n: str, **more: Any) -> Node:
    """A node; keywords are spec, status and metadata."""
    status = {
        "allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110", **more.pop("allocatable", {})},
        **more.pop("status", {}),
    }
    return of(Node, n, status=status, **more)


def pod(
    n: str,
    where: str = "",
    namespace: str = "a",
    requests: dict[str, str] | None = None,
    **more: Any,
) -> Pod:
    """A pod on a node, or one that waits (and asks for more than there is)."""
    container = {
        "name": "c",
        "image": f"i-{n}",
        "resources": {"requests": {"cpu": "1m" if where else "900", **(requests or {})}},
    }
    container |= more.pop("container", {})
    spec = {
        "containers": [container],
        "nodeName": where,
        "schedulerName": "test",
        **more.pop("spec", {}),
    }
    return of(Pod, n, namespace, spec=spec, **more)


def both(n: str, **more: Any) -> list[HasMetadata]:
    """The same pod twice: one waits, one is on a node."""
    return [pod(f"{n}-on", "n1", **more), pod(f"{n}-waits", **more)]


def term(n: str, selector: dict[str, str], key: str) -> dict[str, Any]:
    """A term of affinity."""
    return {"labelSelector": {"matchLabels": selector}, "topologyKey": key, "namespaces": [n, "a"]}


def affinity(n: str) -> dict[str, Any]:
    """Terms of every kind, about labels and topologies that nobody has."""
    odd, usual = term(n, {n: n}, n), term(n, {"app": n}, "zone")
    lists = {
        "requiredDuringSchedulingIgnoredDuringExecution": [odd, usual],
        "preferredDuringSchedulingIgnoredDuringExecution": [
            {"weight": 3, "podAffinityTerm": one} for one in (odd, usual)
        ],
    }
    expression = {"key": n, "operator": "NotIn", "values": [n]}
    nodes = {
        "requiredDuringSchedulingIgnoredDuringExecution": {
            "nodeSelectorTerms": [{"matchExpressions": [expression]}]
        }
    }
    preferred = {**lists, "requiredDuringSchedulingIgnoredDuringExecution": []}
    return {"affinity": {"podAntiAffinity": lists, "podAffinity": preferred, "nodeAffinity": nodes}}


def spread(n: str) -> dict[str, Any]:
    """Constraints about labels and topologies that nobody has."""
    one = {
        "maxSkew": 1,
        "topologyKey": n,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {n: n}},
    }
    return {
        "topologySpreadConstraints": [
            one,
            {**one, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway"},
        ]
    }


def with_volumes(n: str) -> list[HasMetadata]:
    """Pods with a claim, disks and an inline volume; all that these stand for."""
    volumes = [
        {"name": "c", "persistentVolumeClaim": {"claimName": n}},
        {"name": "d", "gcePersistentDisk": {"pdName": n}},
        {"name": "i", "csi": {"driver": f"driver-{n}"}},
        {"name": "e", "ephemeral": {"volumeClaimTemplate": {}}},
    ]
    reach = {
        "required": {
            "nodeSelectorTerms": [
                {"matchExpressions": [{"key": f"label-{n}", "operator": "In", "values": [n]}]}
            ]
        }
    }
    source = {
        "csi": {"driver": f"driver-{n}", "volumeHandle": f"handle-{n}"},
        "storageClassName": n,
        "capacity": {"storage": "1Gi"},
    }
    bound = {
        "volumeName": f"pv-{n}",
        "storageClassName": n,
        "resources": {"requests": {"storage": "1Gi"}},
    }
    attached = {
        "attacher": f"driver-{n}",
        "nodeName": "n1",
        "source": {"persistentVolumeName": f"pv-{n}"},
    }
    room = {
        "storageClassName": n,
        "nodeTopology": {"matchLabels": {f"label-{n}": n}},
        "capacity": "1Gi",
    }
    return [
        of(StorageClass, n, provisioner=f"driver-{n}", volumeBindingMode="WaitForFirstConsumer"),
        of(
            PersistentVolume,
            f"free-{n}",
            spec={**source, "nodeAffinity": reach},
            status={"phase": "Available"},
        ),
        of(
            PersistentVolume,
            f"pv-{n}",
            spec={**source, "claimRef": {"namespace": "a", "name": n}},
            status={"phase": "Bound"},
        ),
        of(PersistentVolumeClaim, n, "a", spec=bound, status={"phase": "Bound"}),
        of(CSIStorageCapacity, n, "a", **room),
        of(VolumeAttachment, n, spec=attached),
        *both(n, spec={"volumes": volumes}),
    ]


def with_devices(n: str) -> list[HasMetadata]:
    """Pods with a claim, the device that it has, on a node that comes with it."""
    slice_spec = {
        "driver": f"driver-{n}",
        "nodeName": n,
        "pool": {"name": n, "generation": 1, "resourceSliceCount": 1},
    }
    device = {"name": n, "attributes": {n: {"string": n}}}
    result = {"request": "r", "driver": f"driver-{n}", "pool": n, "device": n}
    return [
        node(n),
        of(DeviceClass, n, spec={"extendedResourceName": f"x.io/{n}"}),
        of(ResourceSlice, n, spec={**slice_spec, "devices": [device]}),
        of(DeviceTaintRule, n, spec={"deviceSelector": {"driver": f"driver-{n}"}}),
        of(ResourceClaim, n, "a", status={"allocation": {"devices": {"results": [result]}}}),
        *both(
            n,
            spec={"resourceClaims": [{"name": "c", "resourceClaimName": n}]},
            requests={f"x.io/{n}": "1"},
        ),
    ]


KINDS: dict[str, Make] = {
    "nodes": lambda n: [
        node(
            n,
            metadata={
                "labels": {"kubernetes.io/hostname": n, "zone": n, n: n},
                "annotations": {n: n},
            },
        )
    ],
    "taints": lambda n: [
        node("n3", spec={"taints": [{"key": n, "value": n, "effect": "NoSchedule"}]})
    ],
    "label values": lambda n: [node("n3", metadata={"labels": {"zone": n, "app": n}})],
    "label keys": lambda n: [
        node("n3", metadata={"labels": {n: n}}),
        *both(n, spec={"nodeSelector": {n: n}}),
    ],
    "images": lambda n: [node("n3", status={"images": [{"names": [n], "sizeBytes": 5}]})],
    "features": lambda n: [node("n3", status={"declaredFeatures": [n]})],
    "resources of nodes": lambda n: [
        node(f"node-{n}", allocatable={f"x.io/{n}": "1"}),
        *both(n, requests={f"x.io/{n}": "1"}),
    ],
    "resources of pods": lambda n: both(
        n, requests={f"x.io/{n}": "0", f"y.io/{n}": "7", f"hugepages-{n}": "1"}
    ),
    "labels of pods": lambda n: both(
        n, metadata={"labels": {"app": n, n: n}, "annotations": {n: n}}
    ),
    "namespaces": lambda n: [of(Namespace, n, metadata={"labels": {n: n}}), *both(n, namespace=n)],
    "node selectors": lambda n: both(n, spec={"nodeSelector": {n: n, "zone": n}}),
    "tolerations": lambda n: both(n, spec={"tolerations": [{"key": n, "value": n}]}),
    "affinity": lambda n: both(n, spec=affinity(n), metadata={"labels": {"app": n}}),
    "spread": lambda n: both(n, spec=spread(n), metadata={"labels": {n: n}}),
    "ports": lambda n: both(n, container={"ports": [{"hostPort": 1 + int(n[8:]), "hostIP": n}]}),
    "priorities": lambda n: both(n, spec={"priority": int(n[8:])}),
    "nominated": lambda n: [pod(n, status={"nominatedNodeName": n})],
    "schedulers": lambda n: [pod(n, spec={"schedulerName": n})],
    "nodes that are not there": lambda n: [pod(n, n)],
    "ended pods": lambda n: [pod(n, "n1", status={"phase": "Succeeded"})],
    "gates": lambda n: [pod(n, spec={"schedulingGates": [{"name": n}]})],
    "groups": lambda n: [
        of(CoschedulingPodGroup, n, "a", spec={"minMember": 2}),
        pod(n, metadata={"labels": {"scheduling.x-k8s.io/pod-group": n}}),
    ],
    "services": lambda n: [
        of(Service, n, n, spec={"selector": {"app": n, n: n}}),
        of(ReplicaSet, n, n, spec={"selector": {"matchLabels": {n: n}}}),
        *both(n, namespace=n, metadata={"labels": {"app": n, n: n}}),
    ],
    "volumes": with_volumes,
    "drivers": lambda n: [
        of(CSINode, "n1", spec={"drivers": [{"name": n, "allocatable": {"count": 3}}]})
    ],
    "devices": with_devices,
}


class World:
    """The bench, with sinks for all kinds, and nodes that stay."""

    def __init__(self) -> None:
        self.bench = bench = Bench()
        cache = bench.cache
        cache.pod_counters = PodCounters(cache._pods_in, cache.store.objects(Namespace), most=LAST)
        bench.context.snapshot.pod_counters = cache.pod_counters  # type: ignore[misc]
        bench.context.evaluator = Evaluator(bench.context.snapshot, byte_budget=1)
        self.others = {
            kind.struct: StoredObjectSink(kind, bench.targets, Unheard()) for kind in STORED_KINDS
        }
        for index in (VolumeOffers, StorageCapacities, DeviceLedger):
            cache.store.index(index)
        for i in range(3):
            bench.nodes.put(
                versioned(
                    make_node(f"n{i}", labels={"kubernetes.io/hostname": f"n{i}", "zone": f"z{i}"})
                )
            )

    def sink(self, obj: HasMetadata) -> ObjectSink[Any]:
        """Where an object goes."""
        return (
            self.bench.pods
            if isinstance(obj, Pod)
            else self.bench.nodes
            if isinstance(obj, Node)
            else self.others[type(obj)]
        )

    def churn(self, make: Make, numbers: Iterable[int]) -> None:
        """Objects come, pods are tried, objects go."""
        for i in numbers:
            there = make(f"made-up-{i}")
            for obj in there:
                self.sink(obj).put(versioned(obj))
            for obj in there:
                self.decided(obj)
            while self.bench.attempt():
                pass
            for obj in reversed(there):
                self.sink(obj).delete(obj)
            # what is to be written to pods; the task that writes does not run
            self.bench.pod_conditions._updates._pending.clear()

    def decided(self, obj: HasMetadata) -> None:
        """A pod like this that fits is placed, and taken back."""
        if isinstance(obj, Pod) and obj.metadata.uid.endswith("-waits"):
            small = pod(f"{obj.metadata.name}-small", "n1", obj.metadata.namespace)
            spec = msgspec.structs.replace(obj.spec, containers=small.spec.containers)
            metadata = msgspec.structs.replace(obj.metadata, uid="small")
            outcome = decide(
                msgspec.structs.replace(obj, metadata=metadata, spec=spec),
                self.bench.live["test"],
                self.bench.context,
            )
            if isinstance(outcome, ScheduleResult):
                committed = assume_and_reserve(outcome, self.bench.context)
                if isinstance(committed, ScheduleResult):
                    unreserve_and_forget(committed, self.bench.cache)


def reached(*roots: object) -> Iterator[object]:
    """Everything that can be reached, but for code, classes and what belongs to the tests."""
    seen: set[int] = set()
    waiting = list(roots)
    while waiting:
        obj = waiting.pop()
        if id(obj) in seen or isinstance(obj, (type, types.ModuleType)):
            continue
        seen.add(id(obj))
        if isinstance(obj, types.FunctionType):
            waiting += obj.__closure__ or ()
        elif not type(obj).__module__.startswith("tests."):
            yield obj
            waiting += gc.get_referents(obj)
            if isinstance(obj, dict):
                waiting += obj  # the collector passes over keys that are text, and over structs
            elif isinstance(obj, msgspec.Struct):
                waiting += (getattr(obj, field) for field in obj.__struct_fields__)


def kept(world: World) -> tuple[set[int], int]:
    """Whose names are still there; and the number of objects with the bytes of arrays."""
    bench = world.bench
    roots = (
        bench.context,
        bench.queue,
        bench.pods,
        bench.nodes,
        bench.pod_conditions,
        bench.loop,
        *world.others.values(),
    )
    names, weight = set[int](), 0
    for obj in reached(*roots):
        weight += 1 + (obj.nbytes if isinstance(obj, np.ndarray) else 0)
        if isinstance(obj, (str, bytes)):
            text = obj.encode("utf-8", "replace") if isinstance(obj, str) else obj
            names.update(int(found) for found in MADE_UP.findall(text))
    return names, weight


@pytest.mark.parametrize("kind", KINDS)
def test_no_name_outlives_what_it_names(kind: str) -> None:
    """Whatever it names; and nothing else is left behind either."""
    world, last = World(), LAST_SHAPES if kind == "devices" else LAST
    world.churn(KINDS[kind], range(ROUND))
    names, weight = kept(world)
    assert not {number for number in names if number < ROUND - last}
    world.churn(KINDS[kind], range(ROUND, 3 * ROUND))
    names, grown = kept(world)
    assert not {number for number in names if number < 3 * ROUND - last}
    assert grown <= weight + 8 * ROUND
