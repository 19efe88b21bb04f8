"""What the pods of ``tests.bench.devices`` ask for, and what there is of it."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, Final

PROFILE: Final = "measured"
DEVICES_PER_NODE: Final = 8
DRIVER: Final = "gpu.example.com"
RESOURCE: Final = "example.com/gpu"
"""The extended resource that the class stands for."""
TAKEN: Final = {"memory": "10Gi"}
"""What a pod takes of a device that is shared."""
DRA: Final = "/apis/resource.k8s.io/v1"
CLASSES: Final = f"{DRA}/deviceclasses"
CLAIMS: Final = f"{DRA}/namespaces/default/resourceclaims"
EVENTS: Final = "/apis/events.k8s.io/v1/namespaces/default/events"
_MEMORY: Final = "40Gi"

Body = dict[str, Any]


@dataclasses.dataclass(frozen=True)
class Workload:
    """What each pod asks for: ``requests`` and ``constraints`` of a claim made from a template, or
    with none an extended resource.
    """

    requests: Sequence[Body] = ()
    constraints: Sequence[Body] = ()
    shared: bool = False
    """Whether devices are given to several claims, by capacity."""


WORKLOADS: Final[Mapping[str, Workload]] = {
    "one-device": Workload([{"name": "gpu", "exactly": {"deviceClassName": "gpu"}}]),
    "match-attribute": Workload(
        [{"name": "gpu", "exactly": {"deviceClassName": "gpu", "count": 2}}],
        [{"requests": ["gpu"], "matchAttribute": f"{DRIVER}/numa"}],
    ),
    "shared-capacity": Workload(
        [
            {
                "name": "gpu",
                "exactly": {
                    "deviceClassName": "gpu",
                    "capacity": {"requests": TAKEN},
                },
            }
        ],
        shared=True,
    ),
    "extended-resource": Workload(),
}


def a_slice(node: str, workload: Workload) -> Body:
    """The devices of a node, half of them on each of two NUMA nodes."""
    devices: list[Body] = []
    for i in range(DEVICES_PER_NODE):
        device: Body = {
            "name": f"gpu-{i}",
            "attributes": {"numa": {"int": i * 2 // DEVICES_PER_NODE}},
        }
        if workload.shared:
            device |= {
                "allowMultipleAllocations": True,
                "capacity": {
                    "memory": {
                        "value": _MEMORY,
                        "requestPolicy": {"default": "1Gi", "validRange": {"min": "1Gi"}},
                    }
                },
            }
        devices.append(device)
    pool = {"name": node, "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": DRIVER, "nodeName": node, "pool": pool, "devices": devices}
    return {"metadata": {"name": node}, "spec": spec}


def a_pod(number: int, workload: Workload) -> Body:
    """With the claim of its template, or an extended resource."""
    resources: Body = {"requests": {"cpu": "10m", "memory": "16Mi"}}
    spec: Body = {"schedulerName": PROFILE}
    if workload.requests:
        spec["resourceClaims"] = [{"name": "gpu", "resourceClaimTemplateName": "gpu"}]
        resources["claims"] = [{"name": "gpu"}]
    else:
        resources["requests"][RESOURCE] = "1"
        resources["limits"] = {RESOURCE: "1"}
    spec["containers"] = [{"name": "main", "image": "none", "resources": resources}]
    return {"metadata": {"name": f"pod-{number:05}"}, "spec": spec}
