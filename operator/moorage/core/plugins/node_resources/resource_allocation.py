"""Resources in scores: what NodeResourcesFit and NodeResourcesBalancedAllocation have in common.

Both are given a list of resources and look at each one's allocatable and requested amounts on a
node, with the pod there.
Source: kube-scheduler ``resourceAllocationScorer`` (v1.37).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from moorage.core.columns.change_log import Versioned
from moorage.core.columns.nodes.node_table import Rows
from moorage.core.columns.snapshot import Snapshot
from moorage.core.columns.store import Lister
from moorage.core.devices.extended_resources import classes_by_resource
from moorage.core.devices.ledger import DeviceLedger
from moorage.core.framework.arguments import ARGUMENTS
from moorage.core.framework.interfaces import MAX_NODE_SCORE
from moorage.core.objects.meta import HasMetadata
from moorage.core.objects.resource_claims import DeviceClass, ResourceClaim, ResourceSlice
from moorage.core.pods.requests import CPU, MEMORY, Amounts
from moorage.core.pods.resource_names import is_delegable, is_scalar

Int64Array = npt.NDArray[np.int64]
ZERO, ONE, TOP = np.array(0), np.array(1), np.array(MAX_NODE_SCORE)
"""int64[] for use in hot code: NumPy takes a 0-d array as it is, while it converts a Python int
anew in every operation.
"""


@dataclasses.dataclass(frozen=True, slots=True)
class ResourceSpec:
    """A resource to score by; weight 0 counts as 1. Any name may stand here; which weights may says
    who uses it.
    """

    __pydantic_config__: ClassVar = ARGUMENTS

    name: str
    weight: int = 1


DEVICE_KINDS: frozenset[type[HasMetadata]] = frozenset({DeviceClass, ResourceClaim, ResourceSlice})
"""What is read beside nodes and pods: devices may stand for a resource."""
_NONZERO = {"cpu": CPU, "memory": MEMORY}
CPU_AND_MEMORY = (ResourceSpec("cpu"), ResourceSpec("memory"))


class Share(NamedTuple):
    """A resource that counts in a pod's scores: how much the pod asks for, in the node table's
    unit, and its weight.

    ``amount`` and ``weight`` are int64[]. ``devices``: the class whose devices stand for the
    resource on a node that has none of it.
    """

    resource: str
    amount: Int64Array
    weight: Int64Array
    devices: DeviceClass | None = None


def shares(
    resources: tuple[ResourceSpec, ...] | None, amounts: Amounts, store: Lister
) -> tuple[Share, ...]:
    """What counts for a pod. A scalar resource that it does not ask for doesn't, nor does a name
    that nothing tracks.
    """
    return tuple(
        Share(
            spec.name,
            np.array(amounts.get(spec.name, 0)),
            np.array(spec.weight or 1),
            device_class(spec.name, store),
        )
        for spec in resources or CPU_AND_MEMORY
        if spec.name in ("cpu", "memory", "ephemeral-storage")
        or (is_scalar(spec.name) and amounts.get(spec.name, 0))
    )


def device_class(resource: str, store: Lister) -> DeviceClass | None:
    """The class whose devices stand for a resource."""
    classes = store.objects(DeviceClass) if is_delegable(resource) else {}
    return classes_by_resource(classes.values()).get(resource) if classes else None


def depends(wanted: tuple[Share, ...], store: Lister) -> tuple[Versioned, ...]:
    """What scores by these shares depend on beside the nodes: nothing, unless devices may stand for
    one of them.
    """
    if not any(is_delegable(share.resource) for share in wanted):
        return ()
    devices = (
        (store.index(DeviceLedger).version_counter,)
        if any(share.devices is not None for share in wanted)
        else ()
    )
    return store.version_counter(DeviceClass), *devices


def usage(
    wanted: tuple[Share, ...], snapshot: Snapshot, rows: Rows, *, nonzero: bool
) -> Iterator[tuple[Share, Int64Array, Int64Array]]:
    """For each share, int64[rows] of allocatable and of requested; without the resources that no
    node knows.

    ``nonzero``: requested cpu and memory with defaults for containers that ask for none.
    """
    nodes = snapshot.nodes
    for share in wanted:
        there = nodes.amounts(share.resource, rows)
        if there is None:
            if share.devices is None:
                continue
            there = (np.zeros(nodes.live[rows].size, np.int64),) * 2
        allocatable, requested = there
        if nonzero and share.resource in _NONZERO:
            requested = nodes.non_zero_requested[_NONZERO[share.resource]][rows]
        if share.devices is None:
            yield share, allocatable, requested
        else:
            there = allocatable, requested
            yield share, *_with_devices(share.devices, there, snapshot, rows)


def _with_devices(
    class_: DeviceClass, there: tuple[Int64Array, Int64Array], snapshot: Snapshot, rows: Rows
) -> tuple[Int64Array, Int64Array]:
    """Where a node has none of the resource itself: how many devices it can reach, and how many of
    them are in use.
    """
    ledger, nodes = snapshot.store.index(DeviceLedger), snapshot.nodes
    allocatable, requested = there[0].copy(), there[1].copy()
    numbers = np.arange(nodes.rows)[rows]
    for place in np.flatnonzero(allocatable == ZERO).tolist():
        node = nodes.nodes[int(numbers[place])]
        if node is not None:
            total, used = ledger.count(node, class_)
            if total:
                allocatable[place], requested[place] = total, used
    return allocatable, requested
