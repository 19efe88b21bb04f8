"""NodeResourcesBalancedAllocation: prefers nodes on which the pod brings the use of several
resources closer together.

A node that is full of memory and idle otherwise is of little use; this plugin sends it pods that
ask for cpu.
Cost: a few operations per resource for each node that changed.
Source: kube-scheduler
NodeResourcesBalancedAllocation (v1.37), including float64 where it uses it.
"""

from __future__ import annotations

import dataclasses
import functools
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from kubefacts.quantities import QuantityError
from moorage.core.columns.nodes.node_table import Aspect, Rows
from moorage.core.columns.snapshot import Snapshot
from moorage.core.framework.arguments import ARGUMENTS, FieldErrorType, Violation
from moorage.core.framework.cluster_events import ClusterEventWithHint
from moorage.core.framework.interfaces import MAX_NODE_SCORE, PreFilterResult, Scores
from moorage.core.framework.status import SKIP, SUCCESS, Reason, error_status
from moorage.core.objects.meta import HasMetadata
from moorage.core.objects.pods import Pod
from moorage.core.plugins.node_resources.resource_allocation import (
    CPU_AND_MEMORY,
    DEVICE_KINDS,
    ONE,
    ZERO,
    ResourceSpec,
    Share,
    depends,
    shares,
    usage,
)
from moorage.core.pods.requests import USED, pod_amounts

NAME = "NodeResourcesBalancedAllocation"
_WITHOUT_AND_WITH = np.array([[0], [1]])
_WHOLE, _HALF, _PERCENT = np.array(1.0), np.array(0.5), np.array(float(MAX_NODE_SCORE))
UNMOVED = MAX_NODE_SCORE * 3 // 4
"""The score of a node whose balance the pod does not change."""

Fractions = npt.NDArray[np.float64]
"""float64[2, rows]: the used fraction of a resource, at most 1, without the pod and with it."""


@dataclasses.dataclass(frozen=True, slots=True)
class NodeResourcesBalancedAllocationArgs:
    """Which resources to balance; none named: cpu and memory."""

    __pydantic_config__: ClassVar = ARGUMENTS

    resources: tuple[ResourceSpec, ...] | None = CPU_AND_MEMORY

    def validate(self) -> list[Violation]:
        """Each resource once, and all with the same weight."""
        found: list[Violation] = []
        names: set[str] = set()
        for i, spec in enumerate(self.resources or ()):
            if spec.name in names:
                found.append(
                    Violation(
                        f"resources[{i}].name",
                        spec.name,
                        "must not be named twice",
                        FieldErrorType.DUPLICATE,
                    )
                )
            names.add(spec.name)
            if spec.weight not in (0, 1):
                found.append(Violation(f"resources[{i}].weight", spec.weight, "must be 1"))
        return found


@dataclasses.dataclass(frozen=True, slots=True)
class NodeResourcesBalancedAllocation:
    """Scores 75 where the pod leaves the balance as it is, up to 100 where it mends it, down to 50
    where it upsets it.
    """

    name: ClassVar[str] = NAME
    reasons: ClassVar[tuple[Reason, ...]] = ()
    reads: ClassVar[frozenset[Aspect]] = frozenset({Aspect.RESOURCES})
    required_kinds: ClassVar[frozenset[type[HasMetadata]]] = DEVICE_KINDS
    events_to_register: ClassVar[tuple[ClusterEventWithHint, ...]] = ()

    args: NodeResourcesBalancedAllocationArgs = NodeResourcesBalancedAllocationArgs()

    def pre_score(self, pod: Pod, snapshot: Snapshot) -> PreFilterResult:
        """What the pod asks for; one that asks for none of the resources skips this plugin."""
        try:
            wanted = shares(self.args.resources, pod_amounts(pod, USED), snapshot.store)
        except QuantityError as error:
            return PreFilterResult(error_status(str(error)))
        if not any(share.amount for share in wanted):
            return PreFilterResult(SKIP)
        return PreFilterResult(SUCCESS, wanted, depends_on=depends(wanted, snapshot.store))

    def score(self, state: tuple[Share, ...], snapshot: Snapshot, rows: Rows) -> Scores:
        """How far the pod moves the balance."""
        used: list[Fractions] = []
        present: list[npt.NDArray[np.bool_]] = []
        for share, capacity, requested in usage(state, snapshot, rows, nonzero=False):
            fractions = (requested + share.amount * _WITHOUT_AND_WITH) / np.maximum(capacity, ONE)
            used.append(np.minimum(fractions, _WHOLE, out=fractions))
            present.append(capacity != ZERO)
        if len(used) < 2:
            return np.full(snapshot.nodes.live[rows].size, UNMOVED)
        deviation = pair_deviation(used, present) if len(used) == 2 else deviations(used, present)
        np.subtract(_WHOLE, deviation, out=deviation)
        without, with_pod = (deviation * _PERCENT).astype(np.int64)
        scores: Scores = UNMOVED + (with_pod - without) // 2
        return scores


def pair_deviation(used: list[Fractions], present: list[npt.NDArray[np.bool_]]) -> Fractions:
    """The standard deviation of two resources, 0 where a node lacks one. float64[2, rows] each, and
    bool[rows] -> float64[2, rows].
    """
    deviation: Fractions = np.abs(used[0] - used[1])
    deviation *= (present[0] & present[1]) * _HALF
    return deviation


def deviations(used: list[Fractions], present: list[npt.NDArray[np.bool_]]) -> Fractions:
    """The standard deviation over those of three or more resources that a node has, shapes as in
    ``pair_deviation``.

    Sums go in the order of the resources and a node with two of them gets the formula for pairs:
    the last bit may decide the integer.
    """
    count = np.maximum(sum(present, np.zeros_like(present[0], np.int64)), ONE)
    held = [fractions * there for fractions, there in zip(used, present, strict=True)]
    mean = sum(held) / count
    squares = sum(
        (fractions - mean) ** 2 * there for fractions, there in zip(held, present, strict=True)
    )
    result: Fractions = np.sqrt(squares / count)
    if (pairs := count == 2).any():
        highest = functools.reduce(np.maximum, held)
        lowest = functools.reduce(
            np.minimum,
            (np.where(there, one, _WHOLE) for one, there in zip(used, present, strict=True)),
        )
        result = np.where(pairs, (highest - lowest) * _HALF, result)
    return result
