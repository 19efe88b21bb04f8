"""Recordings made without an operator: a simulator places pods that come and end by a script."""

from __future__ import annotations

import functools
import random
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from hypothesis import strategies as st

from moorage.core.columns import changes
from moorage.core.cycle.context import CycleContext, ScheduleResult
from moorage.core.framework.revisions import Revision
from moorage.core.objects.pods import Pod, on_node
from moorage.core.recording.key_frames import key_frame
from moorage.core.simulation.recorded_times import Timed
from moorage.core.simulation.simulator import Simulator
from tests.core.simulation.clusters import REVISIONS, a_pod


class Visit(NamedTuple):
    """A pod that comes, and how long it runs; None: to the end and beyond."""

    at: float
    pod: Pod
    seconds: float | None = None


def recorded(
    context: CycleContext,
    visits: Iterable[Visit],
    end: float,
    revisions: Mapping[str, Revision] = REVISIONS,
) -> list[Timed]:
    """What an observer records who sees each pod at once."""
    entries: list[Timed] = [(0.0, entry) for entry in key_frame(context.cache, revisions)]
    durations = {visit.pod.metadata.uid: visit.seconds for visit in visits}

    def arrive(pod: Pod) -> None:
        entries.append((simulator.now, changes.PodWaiting(pod)))
        simulator.arrive(pod)

    def leave(uid: str) -> None:
        entries.append((simulator.now, changes.PodRemoved(uid)))
        simulator.leave(uid)

    def placed(placement: ScheduleResult) -> None:
        pod = on_node(placement.pod, placement.node)
        entries.append((simulator.now, changes.PodObserved(pod)))
        seconds = durations.get(pod.metadata.uid)
        if seconds is not None:
            simulator.at(simulator.now + seconds, functools.partial(leave, pod.metadata.uid))

    simulator = Simulator(context, revisions, on_placed=placed)
    for visit in visits:
        simulator.at(visit.at, functools.partial(arrive, visit.pod))
    simulator.run(end)
    entries.append((end, changes.NodeRemoved("nobody")))
    return entries


def crowds(seed: int, seconds: float, end: float) -> list[Visit]:
    """About twenty pods of many sizes at a time, each of which runs for this long on average."""
    rng = random.Random(seed)

    def visit(name: str, at: float) -> Visit:
        size = {"cpu": rng.choice(["1", "2", "3"]), "memory": rng.choice(["1Gi", "4Gi"])}
        return Visit(at, a_pod(name, **size), rng.expovariate(1 / seconds))

    found = [visit(f"b{i}", 0.01 * (i + 1)) for i in range(20)]
    at = 0.5 + rng.expovariate(20 / seconds)
    while at < end:
        found.append(visit(f"p{len(found)}", at))
        at += rng.expovariate(20 / seconds)
    return found


@st.composite
def visits(draw: st.DrawFn) -> list[Visit]:
    """Some pods of a few sizes, at times that never meet."""
    return [
        Visit(
            1.0 + i + draw(st.sampled_from([0.1, 0.25, 0.4])),
            a_pod(f"v{i}", cpu=draw(st.sampled_from(["1", "2", "3"]))),
            draw(st.sampled_from([None, 3.33, 20.77, 61.99])),
        )
        for i in range(draw(st.integers(0, 30)))
    ]
