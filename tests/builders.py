"""Builders of the objects that tests need: say what matters, the rest is filled in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from moorage.core.objects.meta import ObjectMeta
from moorage.core.objects.nodes import Node, NodeMeta, NodeSpec, NodeStatus
from moorage.core.objects.pods import (
    Container,
    Pod,
    PodMeta,
    PodSpec,
    PodStatus,
    ResourceRequirements,
)
from moorage.core.objects.resource_claims import (
    CapacityRequirements,
    ClaimMeta,
    Device,
    DeviceAttribute,
    DeviceCapacity,
    DeviceClaim,
    DeviceRequest,
    ExactDeviceRequest,
    ResourceClaim,
    ResourceClaimSpec,
    ResourcePool,
    ResourceSlice,
    ResourceSliceSpec,
)


def make_pod(
    name: str, *, cpu: str = "100m", memory: str = "100Mi", node: str = "", **spec: Any
) -> Pod:
    """A pod of one container; further keywords go into its spec."""
    container = Container(
        name="c",
        image="app:1",
        resources=ResourceRequirements(requests={"cpu": cpu, "memory": memory}),
    )
    meta = PodMeta(name=name, namespace="default", uid=f"uid-{name}", resource_version="1")
    return Pod(
        meta,
        PodSpec(
            **{"containers": (container,), "node_name": node, "scheduler_name": "test", **spec}
        ),
        PodStatus(),
    )


def make_node(
    name: str,
    *,
    cpu: str = "4",
    memory: str = "8Gi",
    pods: str = "110",
    labels: dict[str, str] | None = None,
    **spec: Any,
) -> Node:
    """A node; further keywords go into its spec."""
    allocatable: dict[str, str | int] = {"cpu": cpu, "memory": memory, "pods": pods}
    meta = NodeMeta(name=name, uid=f"uid-{name}", resource_version="1", labels=labels)
    return Node(meta, NodeSpec(**spec), NodeStatus(allocatable=allocatable))


def shared_device(name: str, **attributes: DeviceAttribute) -> Device:
    """A device that is given in shares, of its 1,000 milli."""
    return Device(
        name=name,
        attributes=attributes or None,
        capacity={"milli": DeviceCapacity("1000")},
        allow_multiple_allocations=True,
    )


def make_slice(node: str, devices: Sequence[Device], *, driver: str = "a.test") -> ResourceSlice:
    """All devices of a node, in a pool of its name."""
    pool = ResourcePool(node, 1, 1)
    spec = ResourceSliceSpec(node, driver=driver, pool=pool, devices=tuple(devices))
    return ResourceSlice(ObjectMeta(node), spec)


def make_claim(name: str, *, count: int = 1, milli: int = 0, **meta: Any) -> ResourceClaim:
    """A claim for so many devices of class gpu, or so much of each; further keywords go into its
    metadata.
    """
    capacity = CapacityRequirements({"milli": str(milli)}) if milli else None
    request = ExactDeviceRequest("", "gpu", None, "ExactCount", count, None, capacity)
    wanted = DeviceClaim((DeviceRequest("gpu", request),))
    metadata = ClaimMeta(name, "default", f"uid-claim-{name}", **meta)
    return ResourceClaim(metadata, ResourceClaimSpec(wanted))
