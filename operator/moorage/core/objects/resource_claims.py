"""The objects of dynamic resource allocation, as ``core.objects`` has pods and nodes: claims,
classes and slices of devices.

Allocations are read and written: what is decided becomes a claim's ``status.allocation``.
Source of names and meanings: Kubernetes API reference v1.37, resource.k8s.io/v1.
"""

from __future__ import annotations

from typing import Any

import msgspec

from moorage.core.objects.meta import Labels, ObjectMeta, ResourceList, Struct
from moorage.core.objects.nodes import Taint
from moorage.core.objects.pods import Toleration
from moorage.core.objects.selector_terms import NodeSelector

# ---- selecting -----------------------------------------------------------------------------------


class CELSelector(Struct, frozen=True):
    """An expression that is true of the devices that are meant."""

    expression: str = ""


class DeviceSelector(Struct, frozen=True):
    """How devices are selected; CEL is the only way."""

    cel: CELSelector | None = None


class DeviceToleration(Toleration, frozen=True):
    """What taint of a device a request tolerates."""

    toleration_seconds: int | None = None


# ---- classes -------------------------------------------------------------------------------------


class DeviceConfiguration(Struct, frozen=True):
    """What a driver is told about some requests (none named: all)."""

    requests: tuple[str, ...] | None = None
    opaque: dict[str, Any] | None = None


class DeviceClassSpec(Struct, frozen=True):
    """Which devices are of a class, and the extended resource that stands for one of them."""

    selectors: tuple[DeviceSelector, ...] | None = None
    config: tuple[DeviceConfiguration, ...] | None = None
    extended_resource_name: str | None = None


class DeviceClass(Struct, frozen=True):
    """A kind of device that an administrator has named."""

    metadata: ObjectMeta
    spec: DeviceClassSpec = DeviceClassSpec()


# ---- claims --------------------------------------------------------------------------------------


class CapacityRequirements(Struct, frozen=True):
    """How much of a device's capacities is asked for."""

    requests: ResourceList | None = None


class DeviceSubRequest(Struct, frozen=True):
    """One of the alternatives of a request: a number of devices of a class."""

    name: str = ""
    device_class_name: str = ""
    selectors: tuple[DeviceSelector, ...] | None = None
    allocation_mode: str = ""
    count: int = 0
    tolerations: tuple[DeviceToleration, ...] | None = None
    capacity: CapacityRequirements | None = None


class ExactDeviceRequest(DeviceSubRequest, frozen=True):
    """A number of devices of a class; ``name`` is not used here."""

    admin_access: bool | None = None


class DeviceRequest(Struct, frozen=True):
    """Exactly these devices, or the first alternative that is available."""

    name: str = ""
    exactly: ExactDeviceRequest | None = None
    first_available: tuple[DeviceSubRequest, ...] | None = None


class DeviceConstraint(Struct, frozen=True):
    """What the devices of some requests (none named: all) must have in common, or not have in
    common.
    """

    requests: tuple[str, ...] | None = None
    match_attribute: str | None = None
    distinct_attribute: str | None = None


class DeviceClaim(Struct, frozen=True):
    """The devices that a claim asks for."""

    requests: tuple[DeviceRequest, ...] | None = None
    constraints: tuple[DeviceConstraint, ...] | None = None
    config: tuple[DeviceConfiguration, ...] | None = None


class ResourceClaimSpec(Struct, frozen=True):
    """What a claim asks for."""

    devices: DeviceClaim = DeviceClaim()


class AllocatedDevice(Struct, frozen=True):
    """A device that was given to a request (DeviceRequestAllocationResult)."""

    request: str = ""
    driver: str = ""
    pool: str = ""
    device: str = ""
    admin_access: bool | None = None
    tolerations: tuple[DeviceToleration, ...] | None = None
    binding_conditions: tuple[str, ...] | None = None
    binding_failure_conditions: tuple[str, ...] | None = None
    share_id: str | None = msgspec.field(default=None, name="shareID")
    consumed_capacity: ResourceList | None = None


class AllocatedConfiguration(Struct, frozen=True):
    """What a driver is told, and whether the class or the claim says it."""

    source: str = ""
    requests: tuple[str, ...] | None = None
    opaque: dict[str, Any] | None = None


class DeviceAllocation(Struct, frozen=True):
    """All devices that a claim got."""

    results: tuple[AllocatedDevice, ...] | None = None
    config: tuple[AllocatedConfiguration, ...] | None = None


class Allocation(Struct, frozen=True):
    """What a claim got, and on which nodes that can be used (AllocationResult); without a selector,
    on all.
    """

    devices: DeviceAllocation = DeviceAllocation()
    node_selector: NodeSelector | None = None
    allocation_timestamp: str | None = None


class Consumer(Struct, frozen=True):
    """Whom a claim is reserved for."""

    api_group: str = ""
    resource: str = ""
    name: str = ""
    uid: str = ""


class DeviceCondition(Struct, frozen=True):
    """A condition of an allocated device."""

    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""


class AllocatedDeviceStatus(Struct, frozen=True):
    """What a driver says of a device that was allocated."""

    driver: str = ""
    pool: str = ""
    device: str = ""
    conditions: tuple[DeviceCondition, ...] | None = None


class ResourceClaimStatus(Struct, frozen=True):
    """What became of a claim."""

    allocation: Allocation | None = None
    reserved_for: tuple[Consumer, ...] | None = None
    devices: tuple[AllocatedDeviceStatus, ...] | None = None


class ClaimMeta(ObjectMeta, frozen=True):
    """A claim's metadata: an annotation marks the claims that stand for extended resources."""

    annotations: Labels | None = None


class ResourceClaim(Struct, frozen=True):
    """Devices that pods ask for, and those that they got."""

    metadata: ClaimMeta
    spec: ResourceClaimSpec = ResourceClaimSpec()
    status: ResourceClaimStatus = ResourceClaimStatus()


# ---- slices --------------------------------------------------------------------------------------


class ResourcePool(Struct, frozen=True):
    """The pool that a slice is a part of: how many parts this generation of it has."""

    name: str = ""
    generation: int = 0
    resource_slice_count: int = 0


class Counter(Struct, frozen=True):
    """An amount of something that devices share."""

    value: str | int = 0


class CounterSet(Struct, frozen=True):
    """Amounts of what the devices of a pool share, by name."""

    name: str = ""
    counters: dict[str, Counter] | None = None


class CounterConsumption(Struct, frozen=True):
    """What a device takes from a set of counters."""

    counter_set: str = ""
    counters: dict[str, Counter] | None = None


class DeviceAttribute(Struct, frozen=True):
    """A fact about a device, of one of these types."""

    integer: int | None = msgspec.field(default=None, name="int")
    boolean: bool | None = msgspec.field(default=None, name="bool")
    string: str | None = None
    version: str | None = None


class CapacityRange(Struct, frozen=True):
    """Which amounts may be taken: from ``min`` in steps to ``max``."""

    min: str | int | None = None
    max: str | int | None = None
    step: str | int | None = None


class CapacityPolicy(Struct, frozen=True):
    """How a request for a capacity is rounded, and what is taken where none is made
    (CapacityRequestPolicy).
    """

    default: str | int | None = None
    valid_values: tuple[str | int, ...] | None = None
    valid_range: CapacityRange | None = None


class DeviceCapacity(Struct, frozen=True):
    """How much of something a device has."""

    value: str | int = 0
    request_policy: CapacityPolicy | None = None


class Reach(Struct, frozen=True):
    """On which nodes a device, or all of a slice, can be used: one of these is set."""

    node_name: str | None = None
    node_selector: NodeSelector | None = None
    all_nodes: bool | None = None


class Device(Reach, frozen=True):
    """A device; where it can be used stands here only if the slice says so."""

    name: str = ""
    attributes: dict[str, DeviceAttribute] | None = None
    capacity: dict[str, DeviceCapacity] | None = None
    consumes_counters: tuple[CounterConsumption, ...] | None = None
    taints: tuple[Taint, ...] | None = None
    binds_to_node: bool | None = None
    binding_conditions: tuple[str, ...] | None = None
    binding_failure_conditions: tuple[str, ...] | None = None
    allow_multiple_allocations: bool | None = None


class ResourceSliceSpec(Reach, frozen=True):
    """A part of a pool: devices, or the counters that the pool's devices share."""

    driver: str = ""
    pool: ResourcePool = ResourcePool()
    per_device_node_selection: bool | None = None
    devices: tuple[Device, ...] | None = None
    shared_counters: tuple[CounterSet, ...] | None = None


class ResourceSlice(Struct, frozen=True):
    """Devices that a driver offers."""

    metadata: ObjectMeta
    spec: ResourceSliceSpec = ResourceSliceSpec()


# ---- taints beside those that drivers publish ----------------------------------------------------


class DeviceTaintSelector(Struct, frozen=True):
    """Which devices are meant: those of which all is true that is said here."""

    driver: str | None = None
    pool: str | None = None
    device: str | None = None


class DeviceTaintRuleSpec(Struct, frozen=True):
    """A taint, and the devices that bear it; without a selector none do."""

    device_selector: DeviceTaintSelector | None = None
    taint: Taint = Taint()


class DeviceTaintRule(Struct, frozen=True):
    """A taint that an administrator gives to devices."""

    metadata: ObjectMeta
    spec: DeviceTaintRuleSpec = DeviceTaintRuleSpec()
