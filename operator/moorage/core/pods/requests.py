"""What pods ask for and what nodes have, in the units of the node table: cpu in millicores, all
else in whole units (bytes, pieces).

A pod's amounts are the sum over its containers, or the most that its init containers need at a
time, whichever is more; each init container runs beside the sidecars (init containers that restart
always) before it. Requests of the pod itself replace that sum, overhead is added. All of it is
exact; the result is rounded up once per pod and resource. ``RequestRules`` says what counts.

Amounts lie within 0..MAX_AMOUNT = 2**53, a node's below it, so that a request cut down to the
maximum fits nowhere. No real request or machine is beyond (8 PiB); a float64 holds each exactly; a
hundredfold fits int64, and so does the sum over 1,023 pods on a node that all ask for the maximum.

Pods of one template ask for the same, so results are remembered by what is asked: a pod costs a
few microseconds after the first.
Source: kube-scheduler ``NodeInfo`` and component-helpers ``PodRequests`` (v1.37).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TypeAlias

import msgspec

from kubefacts.quantities import NANO, QuantityError, nanos, to_milli, to_units
from moorage.core.objects.meta import ResourceList
from moorage.core.objects.nodes import Node
from moorage.core.objects.pods import (
    Container,
    Pod,
    PodMeta,
    PodSpec,
    PodStatus,
    ResourceRequirements,
)
from moorage.core.pods.ceilings import MAX_UNCHECKED_BYTES, asks_too_much
from moorage.core.pods.host_ports import WILDCARD, HostPort
from moorage.core.pods.resource_names import is_scalar
from moorage.core.pods.resource_sums import (
    APP,
    BESIDE,
    DEFAULTS,
    INIT,
    INSTEAD,
    SIDECAR,
    Containers,
    Items,
    RequestShape,
    counts_for_pods,
    total_of,
)
from moorage.core.structures.remembering import WORD_BYTES, byte_size, memoized

CPU = 0
MEMORY = 1
EPHEMERAL_STORAGE = 2
PODS = 3
BASIC: Mapping[str, int] = {
    "cpu": CPU,
    "memory": MEMORY,
    "ephemeral-storage": EPHEMERAL_STORAGE,
    "pods": PODS,
}
"""The resources that every node has, with their places in the node table's arrays."""
MAX_AMOUNT = 2**53

Amounts: TypeAlias = Mapping[str, int]
"""Resource name -> amount in the node table's unit. Shared by all who ask: don't change it."""


@dataclasses.dataclass(frozen=True, slots=True)
class Requests:
    """What one pod takes from its node."""

    cpu: int
    """Millicores."""
    memory: int
    """Bytes."""
    nonzero_cpu: int
    """As ``cpu``, each container without a request counted with 100 millicores."""
    nonzero_memory: int
    """As ``memory``, each container without a request counted with 200 MiB."""
    others: tuple[tuple[str, int], ...] = ()
    """Ephemeral storage and scalar resources, sorted by name."""
    ports: tuple[HostPort, ...] = ()


def basic_amounts(requests: Requests) -> tuple[int, int, int, int]:
    """What one pod takes of the basic resources, in their order."""
    return requests.cpu, requests.memory, dict(requests.others).get("ephemeral-storage", 0), 1


@dataclasses.dataclass(frozen=True, slots=True)
class RequestRules:
    """What counts as a pod's request; each use in the scheduler has its own answer.

    ``status``: what the kubelet has given to containers counts too, until a resize is done.
    ``pod_level``: spec.resources replaces what the containers ask for. ``defaults``: containers
    that don't say get 100 millicores, 200 MiB.
    """

    status: bool = False
    pod_level: bool = True
    defaults: bool = False


FIT = RequestRules()
"""What a pod needs in order to fit."""
USED = RequestRules(status=True)
"""What a pod takes from its node."""
SCORED = RequestRules(pod_level=False, defaults=True)
"""What NodeResourcesFit scores by; kube-scheduler leaves pod-level requests and status out here,
and so do we.
"""

_NO_REQUESTS = Requests(0, 0, 0, 0)
_NO_STATUS = PodStatus()

_Asked: TypeAlias = tuple[
    tuple[Container, ...] | None,
    tuple[Container, ...] | None,
    ResourceRequirements | None,
    ResourceList | None,
    PodStatus,
]
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(_Asked).decode


# ---- pods ----------------------------------------------------------------------------------------


def pod_requests(pod: Pod) -> Requests:
    """What a pod takes from its node. Raises QuantityError with the field's path.

    A pod that waits and asks for more than is added up (``ceilings``) will be refused: nothing.
    """
    spec, status = pod.spec, pod.status
    stated = (
        status.container_statuses
        or status.init_container_statuses
        or status.resources
        or status.allocated_resources
        or _resize_is_infeasible(pod)
    )
    asked = _encode(
        (
            spec.containers,
            spec.init_containers,
            spec.resources,
            spec.overhead,
            status if stated else _NO_STATUS,
        )
    )
    try:
        return _requests(len(asked) > MAX_UNCHECKED_BYTES and not spec.node_name, asked)
    except QuantityError as error:
        raise _located(error, _lists_of(pod)) from None


def unreadable_requests() -> Requests:
    """What a pod takes that could not be decoded: one pod's place, as far as we know."""
    return _NO_REQUESTS


def pod_amounts(pod: Pod, counting: RequestRules) -> Amounts:
    """What a pod asks for, by tracked resource; a resource that it does not name is missing. Raises
    QuantityError.
    """
    try:
        return _amounts(_shape(pod, counting), counting.defaults)
    except QuantityError as error:
        raise _located(error, _lists_of(pod)) from None


def takes_alike(one: Pod, other: Pod) -> bool:
    """Whether two states of a pod say the same of what it takes."""
    return one.spec == other.spec and _said(one.status) == _said(other.status)


def host_ports(pod: Pod) -> tuple[HostPort, ...]:
    """The host ports of app containers and sidecars, with defaults filled in."""
    found: list[HostPort] = []
    for container in pod.spec.containers or ():
        found += _ports_of(container) if container.ports else ()
    for container in pod.spec.init_containers or ():
        if container.ports and container.restart_policy == "Always":
            found += _ports_of(container)
    return tuple(found)


def _ports_of(container: Container) -> list[HostPort]:
    return [
        HostPort(port.protocol or "TCP", port.host_port, port.host_ip or WILDCARD)
        for port in container.ports or ()
        if port.host_port > 0
    ]


# ---- nodes ---------------------------------------------------------------------------------------


def in_units(resource: str, amount: int) -> int:
    """Nano-units in the node table's unit and range. The API server lets no negative amount in; one
    would count as 0.
    """
    units = to_milli(amount) if resource == "cpu" else to_units(amount)
    return max(0, min(units, MAX_AMOUNT))


def allocatable_amounts(node: Node) -> dict[str, int]:
    """What a node has for pods, by tracked resource and "pods". Raises QuantityError with the
    field's path.
    """
    allocatable = node.status.allocatable or {}
    try:
        return {
            name: min(in_units(name, nanos(quantity)), MAX_AMOUNT - 1)
            for name, quantity in allocatable.items()
            if name in ("cpu", "memory", "ephemeral-storage", "pods") or is_scalar(name)
        }
    except QuantityError as error:
        raise _located(error, [("status.allocatable", allocatable)]) from None


# ---- inside: from a pod to its shape, from a shape to amounts ------------------------------------


def _shape(pod: Pod, counting: RequestRules) -> RequestShape:
    containers, given = _by_status(pod) if counting.status else ((_containers(pod, _asked_of),), ())
    pod_level = _pod_level(pod, counting) if counting.pod_level else ()
    return RequestShape(containers, given, pod_level, _items(pod.spec.overhead))


def _by_status(pod: Pod) -> tuple[tuple[Containers, ...], tuple[Items, ...]]:
    """What the containers ask for, what they were allocated and what they run with; when a resize
    can't be done, only what they have.
    """
    status, infeasible = pod.status, _resize_is_infeasible(pod)
    asked = () if infeasible else (_containers(pod, _asked_of),)
    running = status.resources.requests if status.resources is not None else None
    if status.allocated_resources is not None and running is not None:
        return asked, (_items(status.allocated_resources), _items(running))
    told = (status.container_statuses or ()) + (status.init_container_statuses or ())
    if not told and not infeasible:
        return asked, ()
    by_name = {one.name: one for one in reversed(told)}

    def allocated(container: Container) -> Items:
        one = by_name.get(container.name)
        if one is not None and one.allocated_resources is not None:
            return _items(one.allocated_resources)
        return () if infeasible else _asked_of(container)

    def actuated(container: Container) -> Items:
        one = by_name.get(container.name)
        if one is not None and one.resources is not None and one.resources.requests is not None:
            return _items(one.resources.requests)
        return allocated(container)

    # where all is as asked for, these are the same
    found = (*asked, _containers(pod, allocated), _containers(pod, actuated))
    return tuple(dict.fromkeys(found)), ()


def _containers(pod: Pod, items_of: Callable[[Container], Items]) -> Containers:
    app = [(APP, items_of(container)) for container in pod.spec.containers or ()]
    init = [
        (SIDECAR if container.restart_policy == "Always" else INIT, items_of(container))
        for container in pod.spec.init_containers or ()
    ]
    return (*app, *init)


def _asked_of(container: Container) -> Items:
    return _items(_asked(container.resources))


def _pod_level(pod: Pod, counting: RequestRules) -> tuple[Items, ...]:
    """What counts instead, of the pod as a whole; nothing where it does not say."""
    requests, status = _asked(pod.spec.resources) or {}, pod.status
    if not any(map(counts_for_pods, requests)):
        return ()
    asked = _items(requests)
    if not counting.status or status.resources is None:
        return (asked,)
    given = (_items(status.resources.requests), _items(status.allocated_resources))
    return given if _resize_is_infeasible(pod) else (asked, *given)


def _said(status: PodStatus) -> tuple[object, ...]:
    containers = status.container_statuses, status.init_container_statuses
    return *containers, status.resources, status.allocated_resources, status.conditions


def _resize_is_infeasible(pod: Pod) -> bool:
    pending = [
        condition
        for condition in pod.status.conditions or ()
        if condition.type == "PodResizePending"
    ]
    return bool(pending) and pending[0].reason == "Infeasible"


def _items(resources: ResourceList | None) -> Items:
    return tuple(resources.items()) if resources else ()


@memoized(byte_size)
def _requests(bounded: bool, asked: bytes) -> Requests:
    containers, init_containers, resources, overhead, status = _decode(asked)
    spec = PodSpec(
        containers=containers,
        init_containers=init_containers,
        resources=resources,
        overhead=overhead,
    )
    pod = Pod(PodMeta(), spec, status)
    if bounded and asks_too_much(pod):
        return _NO_REQUESTS
    requests = _added_up(_shape(pod, USED))
    ports = host_ports(pod)
    return dataclasses.replace(requests, ports=ports) if ports else requests


def _added_up(shape: RequestShape) -> Requests:
    total = total_of(shape, BESIDE)
    overhead = dict(shape.overhead)
    nonzero = {}
    for beside, (name, _) in BESIDE.items():
        nonzero[name] = total.pop(beside, 0) + nanos(overhead.get(name, 0))
        # with pod-level requests, only what nobody named gets a default; else each container does
        if shape.pod_level and name in total:
            nonzero[name] = total[name]
    cpu, memory, nonzero_cpu, nonzero_memory = (
        in_units(name, amounts.get(name, 0))
        for amounts in (total, nonzero)
        for name in ("cpu", "memory")
    )
    # Names that are not tracked do no harm here: no node has them, no pod is asked about them.
    others = [
        (name, min(-(-amount // NANO), MAX_AMOUNT) if amount > 0 else 0)
        for name, amount in total.items()
        if name not in DEFAULTS
    ]
    return Requests(cpu, memory, nonzero_cpu, nonzero_memory, tuple(sorted(others)))


@memoized(lambda _, shape, defaults: WORD_BYTES * shape.words)
def _amounts(shape: RequestShape, defaults: bool) -> Amounts:
    return _tracked(total_of(shape, INSTEAD if defaults else {}))


def _tracked(total: Mapping[str, int]) -> dict[str, int]:
    return {
        name: in_units(name, amount)
        for name, amount in total.items()
        if name in ("cpu", "memory", "ephemeral-storage") or is_scalar(name)
    }


# ---- inside: naming the field that could not be read ---------------------------------------------


def _located(
    error: QuantityError, lists: Iterable[tuple[str, ResourceList | None]]
) -> QuantityError:
    """The same error with the path of the first field that has this text."""
    for path, resources in lists:
        for name, quantity in (resources or {}).items():
            if str(quantity) == error.text:
                return QuantityError(error.text, f"{path}[{name}]")
    return error


def _lists_of(pod: Pod) -> Iterator[tuple[str, ResourceList | None]]:
    """Every list of resources that a pod has, with its path."""
    spec, status = pod.spec, pod.status
    containers = {"containers": spec.containers, "initContainers": spec.init_containers}
    for field, listed in containers.items():
        for i, container in enumerate(listed or ()):
            yield f"spec.{field}[{i}].resources.requests", _asked(container.resources)
    yield "spec.resources.requests", _asked(spec.resources)
    yield "spec.overhead", spec.overhead
    statuses = {
        "containerStatuses": status.container_statuses,
        "initContainerStatuses": status.init_container_statuses,
    }
    for field, told in statuses.items():
        for i, one in enumerate(told or ()):
            yield f"status.{field}[{i}].resources.requests", _asked(one.resources)
            yield f"status.{field}[{i}].allocatedResources", one.allocated_resources
    yield "status.resources.requests", _asked(status.resources)
    yield "status.allocatedResources", status.allocated_resources


def _asked(resources: ResourceRequirements | None) -> ResourceList | None:
    return resources.requests if resources is not None else None
