"""Drains: a node is closed, its pods are evicted as far as disruption budgets allow, and look for
another place.

As ``kubectl drain --ignore-daemonsets --delete-emptydir-data --force`` does it: pods of DaemonSets,
and those that a kubelet made itself, stay. Evicted pods that found a place are taken to be ready
there at once, so budgets hold a drain up only when a pod stays pending, or when they let nobody go.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping
from typing import TypeAlias

import msgspec

from moorage.core.columns.pod_counters import AnyPod
from moorage.core.columns.pod_info import PodInfo
from moorage.core.cycle.context import CycleContext
from moorage.core.framework.revisions import Revision
from moorage.core.objects.pods import Pod, belongs_to_node, priority
from moorage.core.plugins.default_preemption.disruption_budgets import Evictions, budgets
from moorage.core.simulation.simulator import Simulator
from moorage.core.simulation.undoing import node_named

UNREADABLE = "its spec cannot be read"
HeldUp: TypeAlias = tuple[AnyPod, str]
"""A pod, and the disruption budget (``namespace/name``) that does not let it go, or ``UNREADABLE``.
"""


@dataclasses.dataclass(frozen=True, slots=True)
class Drain:
    """What draining a node comes to."""

    node: str
    evicted: tuple[Pod, ...]
    """Those that left it, the most important one first."""
    pending: tuple[tuple[Pod, str], ...]
    """The pods that have no place because of it, and why: evicted ones, and those that had to go
    for these.
    """
    held_up: tuple[HeldUp, ...]
    """The pods that stay against the drain, and what holds each."""
    preempted: int
    """Pods elsewhere that had to go for those that were evicted."""
    nobodys: int
    """Evicted pods without a controller: nobody makes them again."""

    @property
    def done(self) -> bool:
        """Whether the node is empty and every pod has found a place."""
        return not self.pending and not self.held_up


def drain(simulator: Simulator, node: str) -> Drain:
    """Drain a node; KeyError when it is not there. Pods that wait already in this simulator are
    tried again too, and are none of the drain's.
    """
    waited = {pod.metadata.uid for pod, _ in simulator.waiting()}
    open_node = node_named(node, simulator.context.cache)
    if open_node is None:
        raise KeyError(node)
    spec = msgspec.structs.replace(open_node.spec, unschedulable=True)
    simulator.put_node(msgspec.structs.replace(open_node, spec=spec))
    preempted = len(simulator.preempted)
    evicted, held_up = _evict(simulator, node)
    return Drain(
        node,
        evicted,
        tuple(one for one in simulator.waiting() if one[0].metadata.uid not in waited),
        held_up,
        len(simulator.preempted) - preempted,
        sum(not pod.metadata.owner_references for pod in evicted),
    )


def drain_each(
    context: CycleContext, revisions: Mapping[str, Revision], nodes: Iterable[str]
) -> Iterator[Drain]:
    """Drain each of these nodes alone; the context is as before after each. Pods that wait already
    are left out.
    """
    simulator = Simulator(context, revisions)
    for node in nodes:
        try:
            outcome = drain(simulator, node)
        finally:
            simulator.undo()
        yield outcome


def _evict(simulator: Simulator, node: str) -> tuple[tuple[Pod, ...], tuple[HeldUp, ...]]:
    """Evict in rounds, as many as budgets allow in each; who went, and who may not."""
    evictions = Evictions(budgets(simulator.context.cache.store))
    evicted: list[Pod] = []
    while True:
        going, held_up = _divided(simulator, node, evictions)
        if not going:
            return tuple(evicted), tuple(held_up)
        for record, _ in going:
            simulator.evict(record)
        simulator.run()
        for _, pod in going:
            evicted.append(pod)
            if pod.metadata.uid in simulator.placed:
                evictions.replaced(pod)


def _divided(
    simulator: Simulator, node: str, evictions: Evictions
) -> tuple[list[tuple[PodInfo, Pod]], list[HeldUp]]:
    """Of the pods that are to leave a node: those that may go now, the most important one first,
    and the others.
    """
    going: list[tuple[PodInfo, Pod]] = []
    held_up: list[HeldUp] = []
    for record in sorted(simulator.context.cache.pods_on(node), key=_rank):
        pod = record.pod
        if belongs_to_node(pod):
            continue
        refusal = evictions.refusal(pod) if isinstance(pod, Pod) else UNREADABLE
        if refusal is None and isinstance(pod, Pod):
            going.append((record, pod))
        else:
            held_up.append((pod, refusal or ""))
    return going, held_up


def _rank(record: PodInfo) -> int:
    return -priority(record.pod) if isinstance(record.pod, Pod) else 0
