"""Fits: how many pods of a template find a place now, without anybody having to go for them."""

from __future__ import annotations

import dataclasses
import itertools
from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

import msgspec
import numpy as np

from moorage.core.cycle import cycle, group_cycle
from moorage.core.cycle.context import Diagnosis, ScheduleResult
from moorage.core.framework.evaluation.rejections import rejected_rows
from moorage.core.framework.placement_contract import ALL_NODES
from moorage.core.framework.status import texts
from moorage.core.objects.pods import Pod
from moorage.core.simulation.more_nodes import add_nodes, shapes
from moorage.core.simulation.reasons import WeightedReason, reasons
from moorage.core.simulation.simulator import Simulator

MAX_ROOM = 5_000
"""Pods beyond those that are asked for, to which room is counted at most."""
MAX_MORE_NODES = 1_000
MAX_SHAPES = 20
"""Kinds of nodes that are tried, where no node takes a pod."""


class MoreNodes(NamedTuple):
    """So many nodes like this one would take the pods that find no place; one more than
    ``MAX_MORE_NODES`` where that many do not, but each takes some.
    """

    needed: int
    like: str


@dataclasses.dataclass(frozen=True, slots=True)
class Fit:
    """What comes of so many pods of one template."""

    pod: Pod
    requested: int
    nodes: tuple[str, ...]
    """Where each of those goes that fit, in the order in which they were placed."""
    room: int
    """How many would find a place in all; the requested ones are in it."""
    counted_out: bool
    """Whether room was counted to its end: there is no more."""
    limits: tuple[WeightedReason, ...]
    """What runs out: why the nodes that took such pods take no more, what most of them say first.
    Where none ever did, why not.
    """
    refusals: tuple[WeightedReason, ...]
    """Why all nodes refuse another one once there is no room."""
    more_nodes: MoreNodes | None
    """None where all fit, or where no node of any kind that is there would do."""
    not_admitted: tuple[WeightedReason, ...] | None = None
    """Of a DaemonSet: why nodes are to have no pod of it; None for other workloads."""

    @property
    def fits(self) -> bool:
        """Whether all that were requested do."""
        return len(self.nodes) == self.requested


def fit(simulator: Simulator, pod: Pod, requested: int) -> Fit:
    """Place the pods that fit; they stay placed in this simulator. Raises KeyError where nobody
    decides for their schedulerName.
    """
    open_rows = _open_rows(simulator, pod)
    nodes = tuple(place_each(simulator, _copies(pod, range(requested))))
    with simulator.trial():
        more = MAX_ROOM if len(nodes) == requested else 0
        room = sum(
            1 for _ in place_each(simulator, _copies(pod, range(requested, requested + more)))
        )
        counted_out = room < more or not more
        limits = limits_of(simulator, pod, open_rows) if counted_out else ()
        refusals = _refusals(simulator, pod) if counted_out else ()
    lacking = requested - len(nodes)
    more_nodes = _more_nodes(simulator, pod, lacking, nodes) if lacking else None
    room += len(nodes)
    return Fit(pod, requested, nodes, room, counted_out, limits or refusals, refusals, more_nodes)


def _copies(pod: Pod, numbers: Iterable[int]) -> Iterable[Pod]:
    meta = pod.metadata
    for i in numbers:
        named = msgspec.structs.replace(meta, name=f"{meta.name}-{i}", uid=f"{meta.uid}-{i}")
        yield msgspec.structs.replace(pod, metadata=named)


def place_each(simulator: Simulator, pods: Iterable[Pod]) -> Iterable[str]:
    """The nodes of these pods one after another, up to the first that finds none."""
    for pod in pods:
        revision = simulator.revisions[pod.spec.scheduler_name]
        outcome = group_cycle.decide_member(pod, revision, simulator.context, ALL_NODES)
        if isinstance(outcome, ScheduleResult):
            outcome = simulator.log.commit(outcome)
        if not isinstance(outcome, ScheduleResult):
            return
        yield outcome.node


def _open_rows(simulator: Simulator, pod: Pod) -> frozenset[int]:
    """The nodes that take such a pod now."""
    revision = simulator.revisions[pod.spec.scheduler_name]
    evaluation = cycle.run_filters(pod, revision, simulator.context)
    if isinstance(evaluation, Diagnosis) or not evaluation.fits:
        return frozenset()
    return frozenset(evaluation.feasible().tolist())


def _refusals(simulator: Simulator, pod: Pod) -> tuple[WeightedReason, ...]:
    return reasons(pod, simulator.revisions[pod.spec.scheduler_name], simulator.context)


def limits_of(simulator: Simulator, pod: Pod, rows: frozenset[int]) -> tuple[WeightedReason, ...]:
    """Why these rows take no such pod any more."""
    revision = simulator.revisions[pod.spec.scheduler_name]
    evaluation = cycle.run_filters(pod, revision, simulator.context)
    if isinstance(evaluation, Diagnosis):
        return ()
    before, counts = np.array(sorted(rows), np.intp), Counter[str]()
    for rejected in rejected_rows(evaluation):
        count = int(np.isin(rejected.rows, before).sum())
        for text in texts(rejected.why) if count else ():
            counts[text] += count
    return tuple(
        WeightedReason(text, count)
        for text, count in sorted(counts.items(), key=lambda one: (-one[1], one[0]))
    )


def _more_nodes(
    simulator: Simulator, pod: Pod, lacking: int, nodes: tuple[str, ...]
) -> MoreNodes | None:
    """How many nodes like one that takes such pods would take the rest. It is tried."""
    took = [name for name, _ in Counter(nodes).most_common(1)]
    for like in took or shapes(simulator.context.cache)[:MAX_SHAPES]:
        with simulator.trial():
            count = _needed(simulator, pod, lacking, like)
        if count:
            return MoreNodes(count, like)
    return None


def _needed(simulator: Simulator, pod: Pod, lacking: int, like: str) -> int:
    """How many nodes like this one it takes for so many pods, 0 where they do not help."""
    numbers = itertools.count()
    for count in range(1, MAX_MORE_NODES + 1):
        add_nodes(simulator, like, 1)
        names = (f"lacking-{next(numbers)}" for _ in range(lacking))
        placed = sum(1 for _ in place_each(simulator, _named(pod, names)))
        lacking -= placed
        if not lacking:
            return count
        if not placed:
            return 0
    return MAX_MORE_NODES + 1


def _named(pod: Pod, names: Iterable[str]) -> Iterable[Pod]:
    for name in names:
        uid = f"{pod.metadata.uid}-{name}"
        yield msgspec.structs.replace(pod, metadata=msgspec.structs.replace(pod.metadata, uid=uid))
