"""The largest objects that the API server accepts, by kind and by what fills them.

Each is made of a list (or map) that is filled until the object's JSON is as large as etcd takes
(1.5 MiB), or until the API's validation ends it: its bounds are constants here, with the field they
are of. A fuzz may take the same makers with a smaller size.
Sources: Kubernetes validation (v1.36) of core/v1, storage.k8s.io/v1 and resource.k8s.io/v1; etcd's
request limit.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, NamedTuple

from moorage.core.objects.meta import Namespace
from moorage.core.objects.nodes import Node
from moorage.core.objects.pod_groups import CoschedulingPodGroup, PodGroup, VolcanoPodGroup
from moorage.core.objects.pods import Pod
from moorage.core.objects.resource_claims import (
    DeviceClass,
    DeviceTaintRule,
    ResourceClaim,
    ResourceSlice,
)
from moorage.core.objects.storage import (
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
)
from moorage.core.objects.workloads import (
    PodDisruptionBudget,
    ReplicaSet,
    ReplicationController,
    Service,
    StatefulSet,
)

Body = dict[str, Any]

MOST_BYTES = 1_500_000
"""Of an object's JSON."""
LABEL_VALUE = 63
MOST_REQUESTS = 32
"""ResourceClaim: spec.devices.requests, constraints, selectors of a request."""
MOST_ALTERNATIVES = 8
"""ResourceClaim: firstAvailable of a request."""
MOST_EXPRESSION = 10 * 1024
"""CEL expression of a device selector."""
MOST_DEVICES = 128
"""ResourceSlice: spec.devices."""
MOST_ATTRIBUTES = 32
"""ResourceSlice: attributes and capacity of a device."""
MOST_DEVICE_TAINTS = 16

REQUIRED, PREFERRED = (
    "requiredDuringSchedulingIgnoredDuringExecution",
    "preferredDuringSchedulingIgnoredDuringExecution",
)
HOSTNAME = "kubernetes.io/hostname"


class Largest(NamedTuple):
    """``make(n)`` gives a body with n of what fills it; ``most``: the validation's bound on n, 0
    where only the size is bounded.
    """

    kind: type
    make: Callable[[int], Body]
    most: int = 0

    def body(self, size: int = MOST_BYTES) -> Body:
        """As many as fit, or nearly."""
        few = min(1000, self.most or 1000)
        count = min(self.most or size, size * few // _length(self.make(few)))
        while _length(body := self.make(count)) > size:
            count = count * 97 // 100
        return body


def _length(body: Body) -> int:
    return len(json.dumps(body, separators=(",", ":")))


def value(i: int) -> str:
    """A label's value as long as it may be."""
    return f"v{i:062d}"


def a_pod(spec: Body, labels: dict[str, str] | None = None) -> Body:
    """A pod that waits for a node."""
    base = {
        "schedulerName": "test",
        "containers": [{"name": "c", "resources": {"requests": {"cpu": "1m"}}}],
    }
    return {
        "metadata": {"name": "p", "namespace": "default", "uid": "uid-p", "labels": labels or {}},
        "spec": {**base, **spec},
    }


def node_affinity(term: Callable[[int], Body]) -> Callable[[int], Body]:
    """A pod with n such required terms."""
    return lambda n: a_pod(
        {
            "affinity": {
                "nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [term(i) for i in range(n)]}}
            }
        }
    )


def pod_affinity(kind: str, when: str, term: Callable[[int], Body]) -> Callable[[int], Body]:
    """A pod with n such terms."""

    def one(i: int) -> Body:
        made = {"topologyKey": HOSTNAME, **term(i)}
        return {"weight": 1, "podAffinityTerm": made} if when is PREFERRED else made

    return lambda n: a_pod({"affinity": {kind: {when: [one(i) for i in range(n)]}}})


def selecting(i: int) -> Body:
    """A term about other pods than the others are about."""
    return {"labelSelector": {"matchLabels": {f"k{i}": "v"}}}


def selecting_one_of(n: int) -> Body:
    """A selector that names so many values."""
    return {
        "matchExpressions": [{"key": "a", "operator": "In", "values": [f"v{i}" for i in range(n)]}]
    }


def asking(n: int, amount: Callable[[int], str] = lambda _: "1") -> Body:
    """A container of a pod that asks for so many resources."""
    return {
        "name": "c",
        "resources": {"requests": {f"example.com/r{i:05d}": amount(i) for i in range(n)}},
    }


def labelled(n: int) -> Body:
    """Nothing but labels."""
    return {
        "metadata": {
            "name": "big",
            "uid": "uid-big",
            "labels": {f"k{i}": value(i) for i in range(n)},
        }
    }


def containers(n: int, **each: Any) -> Body:
    """A pod of so many containers."""
    return a_pod({"containers": [{"name": f"c{i}", **each} for i in range(n)]})


def a_node(metadata: Body, spec: Body | None = None, status: Body | None = None) -> Body:
    """A node with room."""
    room = {"cpu": "64", "memory": "256Gi", "pods": "110"}
    return {
        "metadata": {"name": "big", "uid": "uid-big", **metadata},
        "spec": spec or {},
        "status": {"allocatable": room, **(status or {})},
    }


def a_claim(requests: list[Body], constraints: list[Body] | None = None) -> Body:
    """A claim."""
    devices = {"requests": requests, "constraints": constraints or []}
    return {
        "metadata": {"name": "claim", "namespace": "default", "uid": "uid-claim"},
        "spec": {"devices": devices},
    }


def named(kind: Body, namespace: str = "") -> Body:
    """With metadata."""
    return {
        "metadata": {
            "name": "big",
            "uid": "uid-big",
            **({"namespace": namespace} if namespace else {}),
        },
        **kind,
    }


def on(node: str, spec: Body) -> Body:
    """What bears a node's name."""
    return {"metadata": {"name": node, "uid": "uid-big"}, "spec": spec}


def exactly(i: int, **more: Any) -> Body:
    """A request."""
    return {
        "name": f"r{i}",
        "exactly": {"deviceClassName": "dc", "count": 1, "allocationMode": "ExactCount", **more},
    }


def a_device(i: int) -> Body:
    """With everything that a device may have."""
    attributes = {f"a{k}": {"string": value(i)} for k in range(MOST_ATTRIBUTES - 8)}
    capacity = {f"c{k}": {"value": "64Gi"} for k in range(8)}
    taints = (
        [{"key": f"t{k}", "value": "x", "effect": "NoSchedule"} for k in range(MOST_DEVICE_TAINTS)]
        if i % 2
        else []
    )
    return {"name": f"d{i}", "attributes": attributes, "capacity": capacity, "taints": taints}


def a_slice(n: int) -> Body:
    """A slice of so many devices, for all nodes."""
    pool = {"name": "p", "generation": 1, "resourceSliceCount": 1}
    return named(
        {
            "spec": {
                "driver": "drv.example",
                "allNodes": True,
                "pool": pool,
                "devices": [a_device(i) for i in range(n)],
            }
        }
    )


_LONG_OR = " || ".join(f"device.driver == '{i}'" for i in range(MOST_EXPRESSION // 28))
_TEN = "[1,2,3,4,5,6,7,8,9,10]"
_LOOPS = (
    f"{_TEN}.all(a,{_TEN}.all(b,{_TEN}.all(c,{_TEN}.all(d,a+b+c+d>0)))) && device.driver == 'none'"
)

PODS: dict[str, Largest] = {
    "labels": Largest(Pod, lambda n: a_pod({}, {f"k{i}": value(i) for i in range(n)})),
    "containers": Largest(
        Pod, lambda n: containers(n, resources={"requests": {"cpu": "1m", "memory": "1Mi"}})
    ),
    "init containers": Largest(
        Pod,
        lambda n: a_pod(
            {"initContainers": containers(n, restartPolicy="Always")["spec"]["containers"]}
        ),
    ),
    "resource names": Largest(Pod, lambda n: a_pod({"containers": [asking(n)]})),
    "resource amounts": Largest(
        Pod, lambda n: a_pod({"containers": [asking(n, lambda i: f"{i}Ki")]})
    ),
    "container amounts": Largest(
        Pod,
        lambda n: a_pod(
            {
                "containers": [
                    {
                        "name": f"c{i}",
                        "resources": {"requests": {"cpu": f"{i}m", "memory": f"{i}k"}},
                    }
                    for i in range(n)
                ]
            }
        ),
    ),
    "init containers beside a sidecar": Largest(
        Pod,
        lambda n: a_pod(
            {
                "initContainers": [
                    {**asking(n), "restartPolicy": "Always"},
                    *containers(n)["spec"]["containers"],
                ]
            }
        ),
    ),
    "container statuses": Largest(
        Pod,
        lambda n: {
            **containers(n),
            "status": {
                "containerStatuses": [
                    {"name": f"c{i}", "resources": {"requests": {"cpu": f"{i}m"}}} for i in range(n)
                ]
            },
        },
    ),
    "conditions": Largest(
        Pod,
        lambda n: {
            **a_pod({}),
            "status": {"conditions": [{"type": f"t{i}", "status": "True"} for i in range(n)]},
        },
    ),
    "host ports": Largest(
        Pod,
        lambda n: a_pod(
            {
                "containers": [
                    {"name": "c", "ports": [{"hostPort": i, "protocol": "TCP"} for i in range(n)]}
                ]
            }
        ),
        65535,
    ),
    "images": Largest(
        Pod,
        lambda n: a_pod(
            {
                "containers": [
                    {"name": f"c{i}", "image": f"registry.example/i{i}:1"} for i in range(n)
                ]
            }
        ),
    ),
    "node selector": Largest(
        Pod, lambda n: a_pod({"nodeSelector": {f"k{i}": value(i) for i in range(n)}})
    ),
    "node expressions": Largest(
        Pod,
        lambda n: node_affinity(
            lambda _: {
                "matchExpressions": [
                    {"key": HOSTNAME, "operator": "NotIn", "values": [str(i)]} for i in range(n)
                ]
            }
        )(1),
    ),
    "node values": Largest(
        Pod,
        lambda n: node_affinity(
            lambda _: {
                "matchExpressions": [
                    {"key": HOSTNAME, "operator": "In", "values": [f"n{i}" for i in range(n)]}
                ]
            }
        )(1),
    ),
    "node terms": Largest(
        Pod, node_affinity(lambda i: {"matchExpressions": [{"key": f"k{i}", "operator": "Exists"}]})
    ),
    "node names": Largest(
        Pod,
        node_affinity(
            lambda i: {
                "matchFields": [{"key": "metadata.name", "operator": "In", "values": [f"n{i}"]}]
            }
        ),
    ),
    "node preferences": Largest(
        Pod,
        lambda n: a_pod(
            {
                "affinity": {
                    "nodeAffinity": {
                        PREFERRED: [
                            {
                                "weight": 1,
                                "preference": {
                                    "matchExpressions": [{"key": f"k{i}", "operator": "Exists"}]
                                },
                            }
                            for i in range(n)
                        ]
                    }
                }
            }
        ),
    ),
    "affinity": Largest(Pod, pod_affinity("podAffinity", REQUIRED, selecting)),
    "anti-affinity": Largest(Pod, pod_affinity("podAntiAffinity", REQUIRED, selecting)),
    "preferred affinity": Largest(Pod, pod_affinity("podAffinity", PREFERRED, selecting)),
    "preferred anti-affinity": Largest(Pod, pod_affinity("podAntiAffinity", PREFERRED, selecting)),
    "namespaces": Largest(
        Pod,
        lambda n: pod_affinity(
            "podAffinity",
            REQUIRED,
            lambda _: {**selecting(0), "namespaces": [f"n{i}" for i in range(n)]},
        )(1),
    ),
    "selector values": Largest(
        Pod,
        lambda n: pod_affinity(
            "podAntiAffinity",
            REQUIRED,
            lambda _: {"labelSelector": selecting_one_of(n)},
        )(1),
    ),
    "spread": Largest(
        Pod,
        lambda n: a_pod(
            {
                "topologySpreadConstraints": [
                    {
                        "maxSkew": 1,
                        "topologyKey": f"k{i}",
                        "whenUnsatisfiable": "DoNotSchedule",
                        **selecting(i),
                    }
                    for i in range(n)
                ]
            }
        ),
    ),
    "tolerations": Largest(
        Pod,
        lambda n: a_pod(
            {"tolerations": [{"key": f"k{i}", "operator": "Exists"} for i in range(n)]}
        ),
    ),
    "claims of volumes": Largest(
        Pod,
        lambda n: a_pod(
            {
                "volumes": [
                    {"name": f"v{i}", "persistentVolumeClaim": {"claimName": f"c{i}"}}
                    for i in range(n)
                ]
            }
        ),
    ),
    "ephemeral volumes": Largest(
        Pod,
        lambda n: a_pod(
            {
                "volumes": [
                    {"name": f"v{i}", "ephemeral": {"volumeClaimTemplate": {"spec": {}}}}
                    for i in range(n)
                ]
            }
        ),
    ),
    "disks": Largest(
        Pod,
        lambda n: a_pod(
            {
                "volumes": [
                    {"name": f"v{i}", "gcePersistentDisk": {"pdName": f"d{i}"}} for i in range(n)
                ]
            }
        ),
    ),
    "plain volumes": Largest(
        Pod, lambda n: a_pod({"volumes": [{"name": f"v{i}", "emptyDir": {}} for i in range(n)]})
    ),
    "resource claims": Largest(
        Pod,
        lambda n: a_pod(
            {"resourceClaims": [{"name": f"c{i}", "resourceClaimName": f"c{i}"} for i in range(n)]}
        ),
    ),
    "scheduling gates": Largest(
        Pod, lambda n: a_pod({"schedulingGates": [{"name": f"example.com/g{i}"} for i in range(n)]})
    ),
}
"""Pods that wait for a node, by what fills them."""

NODES: dict[str, Largest] = {
    "labels": Largest(Node, lambda n: a_node({"labels": {f"k{i}": value(i) for i in range(n)}})),
    "annotations": Largest(
        Node, lambda n: a_node({"annotations": {f"k{i}": value(i) for i in range(n)}}), 2800
    ),
    "taints": Largest(
        Node,
        lambda n: a_node(
            {},
            {"taints": [{"key": f"k{i}", "value": "v", "effect": "NoSchedule"} for i in range(n)]},
        ),
    ),
    "images": Largest(
        Node,
        lambda n: a_node(
            {}, None, {"images": [{"names": [f"i{i}:1"], "sizeBytes": 1} for i in range(n)]}
        ),
    ),
    "resource names": Largest(
        Node,
        lambda n: a_node(
            {},
            None,
            {
                "allocatable": {
                    "cpu": "64",
                    "pods": "110",
                    **{f"example.com/r{i}": "1" for i in range(n)},
                }
            },
        ),
    ),
    "image names": Largest(
        Node,
        lambda n: a_node(
            {}, None, {"images": [{"names": [f"i{i}:1" for i in range(n)], "sizeBytes": 1}]}
        ),
    ),
    "conditions": Largest(
        Node,
        lambda n: a_node(
            {}, None, {"conditions": [{"type": f"t{i}", "status": "True"} for i in range(n)]}
        ),
    ),
    "features": Largest(
        Node, lambda n: a_node({}, None, {"declaredFeatures": [f"f{i}" for i in range(n)]})
    ),
    "attached volumes": Largest(
        Node,
        lambda n: a_node(
            {}, None, {"volumesAttached": [{"name": f"v{i}", "devicePath": ""} for i in range(n)]}
        ),
    ),
}
"""Nodes."""

OTHERS: dict[str, Largest] = {
    "claim with long selectors": Largest(
        ResourceClaim,
        lambda n: a_claim(
            [exactly(i, selectors=[{"cel": {"expression": _LONG_OR}}] * 4) for i in range(n)]
        ),
        MOST_REQUESTS,
    ),
    "claim with loops": Largest(
        ResourceClaim,
        lambda n: a_claim(
            [exactly(i, selectors=[{"cel": {"expression": _LOOPS}}]) for i in range(n)]
        ),
        MOST_REQUESTS,
    ),
    "claim with alternatives": Largest(
        ResourceClaim,
        lambda n: a_claim(
            [
                {
                    "name": f"r{i}",
                    "firstAvailable": [
                        {**exactly(k)["exactly"], "name": f"s{k}"} for k in range(MOST_ALTERNATIVES)
                    ],
                }
                for i in range(n)
            ]
        ),
        MOST_REQUESTS,
    ),
    "claim of constraints that cannot be met": Largest(
        ResourceClaim,
        lambda n: a_claim(
            [exactly(i) for i in range(n)], [{"matchAttribute": "drv.example/a0"}] * MOST_REQUESTS
        ),
        MOST_REQUESTS,
    ),
    "claim of all devices": Largest(
        ResourceClaim,
        lambda n: a_claim([exactly(i, allocationMode="All") for i in range(n)]),
        MOST_REQUESTS,
    ),
    "slice": Largest(ResourceSlice, a_slice, MOST_DEVICES),
    "device class": Largest(
        DeviceClass,
        lambda n: named(
            {"spec": {"selectors": [{"cel": {"expression": _LONG_OR}} for _ in range(n)]}}
        ),
        MOST_REQUESTS,
    ),
    "device taint rule": Largest(
        DeviceTaintRule,
        lambda n: (
            labelled(n)
            | {"spec": {"deviceSelector": {}, "taint": {"key": "a", "effect": "NoSchedule"}}}
        ),
    ),
    "namespace": Largest(Namespace, labelled),
    "pod group": Largest(PodGroup, labelled),
    "pod group of scheduler-plugins": Largest(CoschedulingPodGroup, labelled),
    "pod group of Volcano": Largest(VolcanoPodGroup, labelled),
    "replication controller": Largest(
        ReplicationController,
        lambda n: named({"spec": {"selector": {f"k{i}": value(i) for i in range(n)}}}, "default"),
    ),
    "replica set": Largest(
        ReplicaSet, lambda n: named({"spec": {"selector": selecting_one_of(n)}}, "default")
    ),
    "stateful set": Largest(
        StatefulSet, lambda n: named({"spec": {"selector": selecting_one_of(n)}}, "default")
    ),
    "service": Largest(
        Service,
        lambda n: named({"spec": {"selector": {f"k{i}": value(i) for i in range(n)}}}, "default"),
    ),
    "disruption budget": Largest(
        PodDisruptionBudget,
        lambda n: named({"spec": {"selector": selecting_one_of(n)}}, "default"),
    ),
    "volume": Largest(
        PersistentVolume,
        lambda n: named(
            {
                "spec": {
                    "capacity": {"storage": "1Gi"},
                    "nodeAffinity": {
                        "required": {
                            "nodeSelectorTerms": [
                                {
                                    "matchExpressions": [
                                        {"key": f"k{i}", "operator": "In", "values": ["v"]}
                                    ]
                                }
                                for i in range(n)
                            ]
                        }
                    },
                }
            }
        ),
    ),
    "claim of a volume": Largest(
        PersistentVolumeClaim,
        lambda n: named(
            {
                "spec": {
                    "selector": {"matchLabels": {f"k{i}": "v" for i in range(n)}},
                    "resources": {"requests": {"storage": "1Gi"}},
                }
            },
            "default",
        ),
    ),
    "storage class": Largest(
        StorageClass,
        lambda n: named(
            {
                "provisioner": "p",
                "allowedTopologies": [
                    {"matchLabelExpressions": [{"key": f"k{i}", "values": ["v"]}]} for i in range(n)
                ],
            }
        ),
    ),
    "CSI node": Largest(
        CSINode,
        lambda n: on(
            "n0",
            {
                "drivers": [
                    {"name": f"d{i}.example", "nodeID": "n", "allocatable": {"count": 8}}
                    for i in range(n)
                ]
            },
        ),
    ),
    "CSI driver": Largest(CSIDriver, labelled),
    "room for volumes": Largest(
        CSIStorageCapacity,
        lambda n: named(
            {
                "storageClassName": "big",
                "capacity": "1Ti",
                "nodeTopology": {
                    "matchExpressions": [{"key": f"k{i}", "operator": "Exists"} for i in range(n)]
                },
            },
            "default",
        ),
    ),
    "attachment": Largest(VolumeAttachment, labelled),
}
"""Other kinds."""
