"""Resources in scores: what NodeResourcesFit and NodeResourcesBalancedAllocation have in common.

Both are given a list of resources and look at each one's allocatable and requested amounts on a node, with the pod there.
Source: kube-scheduler ``resourceAllocationScorer`` (v1.36).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from moorage.core.columns.node_table import NodeTable, Rows
from moorage.core.columns.requests import CPU, MEMORY, Amounts, is_scalar
from moorage.core.framework.arguments import ARGUMENTS
from moorage.core.framework.interfaces import MAX_NODE_SCORE

Column = npt.NDArray[np.int64]
ZERO, ONE, TOP = np.array(0), np.array(1), np.array(MAX_NODE_SCORE)
"""int64[] for use in hot code: NumPy takes a 0-d array as it is, while it converts a Python int anew in every operation."""


@dataclasses.dataclass(frozen=True, slots=True)
class ResourceSpec:
    """A resource to score by; weight 0 counts as 1. Any name may stand here; which weights may says who uses it."""

    __pydantic_config__: ClassVar = ARGUMENTS

    name: str
    weight: int = 1


CPU_AND_MEMORY = (ResourceSpec("cpu"), ResourceSpec("memory"))


class Share(NamedTuple):
    """A resource that counts in a pod's scores: how much the pod asks for, in the node table's unit, and its weight.

    ``amount`` and ``weight`` are int64[].
    """

    resource: str
    amount: Column
    weight: Column


def shares(resources: tuple[ResourceSpec, ...] | None, amounts: Amounts) -> tuple[Share, ...]:
    """What counts for a pod. A scalar resource that it does not ask for doesn't, nor does a name that nothing tracks."""
    return tuple(
        Share(spec.name, np.array(amounts.get(spec.name, 0)), np.array(spec.weight or 1))
        for spec in resources or CPU_AND_MEMORY
        if spec.name in ("cpu", "memory", "ephemeral-storage") or (is_scalar(spec.name) and amounts.get(spec.name, 0))
    )


def usage(wanted: tuple[Share, ...], nodes: NodeTable, rows: Rows, *, nonzero: bool) -> Iterator[tuple[Share, Column, Column]]:
    """For each share, int64[rows] of allocatable and of requested; without the resources that no node knows.

    ``nonzero``: requested cpu and memory with defaults for containers that ask for none.
    """
    for share in wanted:
        index = nodes.resource_index.get(share.resource)
        if index is not None:
            requested = nodes.nonzero if nonzero and index in (CPU, MEMORY) else nodes.requested
            yield share, nodes.allocatable[index][rows], requested[index][rows]
