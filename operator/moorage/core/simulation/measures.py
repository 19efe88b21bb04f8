"""Measures: what a cluster is like at a moment, in numbers.

What of a resource is *stranded* is free, and no use to pods that ask for the resource: on its node
they lack something else. It is the mean over the pods that there are of what would be free on nodes
that one more pod like it does not fit, as far as amounts go.
Source: the fragmentation measure of Weng et al., "Beware of Fragmentation: Scheduling GPU-Sharing
Workloads with Fragmentation Gradient Descent" (USENIX ATC 2023), for all resources.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from moorage.core.columns.pod_counters import AnyPod
from moorage.core.cycle.context import CycleContext
from moorage.core.objects.pods import Pod, belongs_to_node
from moorage.core.pods.requests import Requests, pod_requests

ZONE = "topology.kubernetes.io/zone"
MAX_CLASSES = 30
"""Of pods that ask for the same: the most common ones stand for all."""
_ALWAYS = ("cpu", "memory")
_LEFT_OUT = ("pods",)


class Measure(NamedTuple):
    """What is measured. ``unit``: "%", "s", "" for a count, or the resource whose amount it is."""

    name: str
    unit: str = ""


EMPTY_NODES = Measure("nodes left empty")
WAITING = Measure("pods that wait")
ZONES = Measure("pods, fullest zone over emptiest")


class PodClass(NamedTuple):
    """Pods that ask for the same, and how many there are."""

    requests: Mapping[str, int]
    pods: int


def pod_classes(pods: Iterable[AnyPod]) -> tuple[PodClass, ...]:
    """What pods ask for, the most common first; those that are bound to their node are left out."""
    counts = Counter(
        pod_requests(pod) for pod in pods if isinstance(pod, Pod) and not belongs_to_node(pod)
    )
    return tuple(
        PodClass({name: amount for name, amount in amounts_of(requests) if amount}, count)
        for requests, count in counts.most_common(MAX_CLASSES)
    )


def pods_of(context: CycleContext) -> Iterator[AnyPod]:
    """The pods of a cluster, on nodes and waiting."""
    for record in context.cache.pod_infos():
        yield record.pod
    yield from unplaced(context)


def unplaced(context: CycleContext) -> Iterator[Pod]:
    """The pods that wait and have no place."""
    for uid, pod in context.cache.waiting.items():
        if context.cache.pod_info(uid) is None:
            yield pod


def measured(
    context: CycleContext, classes: Sequence[PodClass], waiting: int
) -> dict[Measure, float]:
    """The cluster as it is now; ``waiting`` is how many pods have no place."""
    nodes = context.snapshot.nodes
    live = nodes.live[: nodes.rows]
    pods = _movable_pods(context)
    used = pods > 0
    found = {EMPTY_NODES: float(np.count_nonzero(live & ~used)), WAITING: float(waiting)}
    free: dict[str, npt.NDArray[np.int64]] = {}
    for resource in _resources(context, classes):
        amounts = nodes.amounts(resource, nodes.all_rows)
        if amounts is None:
            continue
        has, taken = amounts
        free[resource] = np.where(live, has - taken, 0)
        if resource not in _LEFT_OUT:
            had = int(has[used].sum())
            share = 100 * int(taken[used].sum()) / had if had else 0.0
            found[Measure(f"{resource} requested, of nodes used", "%")] = share
    for resource, room in useless_room(free, classes).items():
        found[Measure(f"stranded {resource}", resource)] = float(room.sum())
    return found | _zones(context, pods)


def amounts_of(requests: Requests) -> tuple[tuple[str, int], ...]:
    """What one pod takes, by resource; itself as one of "pods"."""
    return ("cpu", requests.cpu), ("memory", requests.memory), ("pods", 1), *requests.others


def _resources(context: CycleContext, classes: Sequence[PodClass]) -> list[str]:
    """cpu and memory, and what pods ask for beside; the same order each time."""
    asked = {name for one in classes for name in one.requests} - {*_ALWAYS, *_LEFT_OUT}
    return [*_ALWAYS, *sorted(asked), *_LEFT_OUT]


def _movable_pods(context: CycleContext) -> npt.NDArray[np.int64]:
    """By row: the pods that are not bound to their node."""
    cache, nodes = context.cache, context.snapshot.nodes
    pods = np.zeros(nodes.rows, np.int64)
    for node in cache.occupied:
        row = nodes.row_of.get(node)
        if row is not None:
            pods[row] = sum(not belongs_to_node(record.pod) for record in cache.pods_on(node))
    return pods


def useless_room(
    free: Mapping[str, npt.NDArray[np.int64]], classes: Sequence[PodClass]
) -> dict[str, npt.NDArray[np.float64]]:
    """Of each resource what is stranded on each node (float64[nodes]), in the node table's unit.
    ``free`` by resource: int64[nodes].
    """
    sums: dict[str, npt.NDArray[np.float64]] = {}
    weights = Counter[str]()
    for one in classes:
        known = [
            (resource, amount) for resource, amount in one.requests.items() if resource in free
        ]
        if not known:
            continue
        short = np.logical_or.reduce([free[resource] < amount for resource, amount in known])
        for resource, _ in known:
            if resource not in _LEFT_OUT:
                room = np.where(short, np.maximum(free[resource], 0), 0).astype(np.float64)
                sums[resource] = sums.get(resource, 0.0) + one.pods * room
                weights[resource] += one.pods
    return {resource: sums[resource] / weights[resource] for resource in sums}


def _zones(context: CycleContext, pods: npt.NDArray[np.int64]) -> dict[Measure, float]:
    """How unevenly pods lie in zones; nothing where there are no two."""
    nodes, in_zone = context.snapshot.nodes, Counter[str]()
    for row in nodes.row_of.values():
        node = nodes.nodes[row]
        zone = None if node is None else (node.metadata.labels or {}).get(ZONE)
        if zone is not None:
            in_zone[zone] += int(pods[row])
    return {ZONES: float(max(in_zone.values()) - min(in_zone.values()))} if len(in_zone) > 1 else {}


def wait_measures(waits: Sequence[float]) -> dict[Measure, float]:
    """Of seconds that pods waited for their places."""
    if not waits:
        return {}
    median, p99 = np.percentile(np.array(waits), [50, 99]).tolist()
    return {Measure("wait, median", "s"): median, Measure("wait, p99", "s"): p99}
