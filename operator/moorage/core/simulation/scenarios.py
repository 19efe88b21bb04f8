"""Scenarios: what would become of a cluster now if nodes were added, pods came or nodes were
drained.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

from moorage.core.cycle.context import CycleContext
from moorage.core.framework.revisions import Revision
from moorage.core.objects.meta import HasMetadata
from moorage.core.objects.pods import Pod
from moorage.core.simulation.draining import Drain, drain
from moorage.core.simulation.measures import Measure, measured, pod_classes, pods_of, unplaced
from moorage.core.simulation.more_nodes import add_nodes
from moorage.core.simulation.simulator import Simulator


@dataclasses.dataclass(frozen=True, slots=True)
class Scenario:
    """What happens, in this order; last of all, what waits is placed."""

    more_nodes: int = 0
    like: str = ""
    """The node that those are like."""
    objects: tuple[HasMetadata, ...] = ()
    """What comes beside pods."""
    pods: tuple[Pod, ...] = ()
    drains: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True, slots=True)
class Outcome:
    """What comes of a scenario."""

    before: Mapping[Measure, float]
    after: Mapping[Measure, float]
    placed: Mapping[str, str]
    """By UID: the nodes of pods that have a new place."""
    waiting: tuple[tuple[Pod, str], ...]
    """At the end, with the first reason why."""
    preempted: int
    drains: tuple[Drain, ...]
    faults: Mapping[str, str]
    """By plugin: what it failed with."""

    @property
    def settled(self) -> bool:
        """Whether every pod has a place, and each node that is drained is empty."""
        return not self.waiting and not any(one.held_up for one in self.drains)


def play(context: CycleContext, revisions: Mapping[str, Revision], scenario: Scenario) -> Outcome:
    """Have it happen; the context is as before afterwards. Raises KeyError for a node that is not
    there.
    """
    simulator = Simulator(context, revisions)
    try:
        return _play(simulator, scenario)
    finally:
        simulator.undo()


def place_waiting(context: CycleContext, revisions: Mapping[str, Revision]) -> Simulator:
    """Place what waits in a cluster."""
    simulator = Simulator(context, revisions)
    _arrive(simulator, list(unplaced(context)))
    simulator.run()
    return simulator


def _play(simulator: Simulator, scenario: Scenario) -> Outcome:
    context = simulator.context
    waiting = list(unplaced(context))
    classes = pod_classes((*pods_of(context), *scenario.pods))
    before = measured(context, classes, len(waiting))
    if scenario.more_nodes:
        add_nodes(simulator, scenario.like, scenario.more_nodes)
    for obj in scenario.objects:
        simulator.put_object(obj)
    _arrive(simulator, [*waiting, *scenario.pods])
    simulator.run()
    drains = tuple(drain(simulator, node) for node in scenario.drains)
    return Outcome(
        before,
        measured(context, classes, simulator.waits),
        {uid: one.node for uid, one in simulator.placed.items()},
        tuple(simulator.waiting()),
        len(simulator.preempted),
        drains,
        dict(simulator.faults),
    )


def _arrive(simulator: Simulator, pods: Sequence[Pod]) -> None:
    for pod in pods:
        if pod.metadata.deletion_timestamp is None:
            simulator.arrive(pod)
