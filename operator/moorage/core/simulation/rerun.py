"""Reruns: what was recorded happens once more, and other revisions decide.

Pods come when they came, and run for as long as they ran once they were bound; nodes and other
objects change as they did. What was decided then is left aside, devices of claims included; volumes
stay where they were made.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping

import msgspec

from moorage.core.columns import changes
from moorage.core.columns.changes import Entry
from moorage.core.cycle.context import CycleContext, ScheduleResult
from moorage.core.cycle.decisions import ProfileActivated
from moorage.core.framework.revisions import Revision
from moorage.core.objects.meta import HasMetadata
from moorage.core.objects.pods import Pod, belongs_to_node
from moorage.core.objects.resource_claims import ResourceClaim, ResourceClaimStatus
from moorage.core.simulation.recorded_times import Binding, RecordedTime
from moorage.core.simulation.replacements import made_again
from moorage.core.simulation.simulator import Simulator


class Rerun:
    """World B: from the same begin, under other revisions.

    ``context`` is the cluster as it was at the begin; ``revisions`` decided then, and
    ``candidates`` decide in their place, by schedulerName.
    """

    def __init__(
        self,
        recorded: RecordedTime,
        context: CycleContext,
        revisions: Mapping[str, Revision],
        candidates: Mapping[str, Revision],
    ) -> None:
        self.bound: dict[str, Binding] = {}
        """By UID: the place of each pod that waited, and when it had its first one."""
        self.others: set[str] = set()
        """UIDs of pods that nobody here decides for: they go where they went, and end when they
        ended.
        """
        self._recorded = recorded
        self._candidates = candidates
        self.simulator = Simulator(
            context,
            {**revisions, **candidates},
            now=recorded.begin,
            on_placed=self._placed,
        )
        self._known = {record.pod.metadata.uid for record in context.cache.pod_infos()}
        """UIDs of pods that have come, in whatever way."""
        for uid, pod in list(context.cache.waiting.items()):
            if uid not in self._known:
                self._arrive(pod)

    def run(self, instants: Iterable[float], look: Callable[[Simulator], None]) -> None:
        """Have it happen; ``look`` at it at these instants."""
        simulator = self.simulator
        for instant in instants:
            simulator.at(instant, functools.partial(look, simulator))
        for time, entry in self._recorded.doings:
            if time > self._recorded.begin:
                simulator.run(time)
                self._happen(entry)
        simulator.run(self._recorded.end)

    # ---- inside ----------------------------------------------------------------------------------

    def _happen(self, entry: Entry) -> None:
        simulator = self.simulator
        match entry:
            case changes.NodePut():
                simulator.put_node(entry.node)
            case changes.NodeRemoved():
                simulator.remove_node(entry.name)
            case changes.ObjectPut():
                self._put(entry.object)
            case changes.ObjectRemoved():
                simulator.remove_object(entry.kind, entry.name)
            case ProfileActivated() if entry.revision is not None:
                if entry.scheduler_name not in self._candidates:
                    simulator.set_revision(entry.scheduler_name, entry.revision)
            case changes.PodWaiting():
                self._seen_waiting(entry.pod)
            case changes.PodObserved():
                self._seen_on_a_node(entry.pod)
            case changes.PodRemoved():
                self._gone(entry.uid)

    def _put(self, obj: HasMetadata) -> None:
        if isinstance(obj, ResourceClaim):
            known = self.simulator.context.cache.store.objects(ResourceClaim)
            if f"{obj.metadata.namespace}/{obj.metadata.name}" in known:
                return  # who has which devices is decided here
            obj = msgspec.structs.replace(obj, status=ResourceClaimStatus())
        self.simulator.put_object(obj)

    def _seen_waiting(self, pod: Pod) -> None:
        if pod.metadata.uid not in self._known:
            if pod.metadata.deletion_timestamp is None:
                self._arrive(pod)
            return
        entry = self.simulator.queue.get(pod.metadata.uid)
        if entry is not None and (entry.pod.spec, entry.pod.metadata.labels) != (
            pod.spec,
            pod.metadata.labels,
        ):
            self.simulator.update(made_again(pod))

    def _seen_on_a_node(self, pod: Pod) -> None:
        """One that nobody here decides for, or that was not seen waiting: its scheduler was too
        quick.
        """
        uid, served = pod.metadata.uid, pod.spec.scheduler_name in self.simulator.revisions
        if uid in self._known:
            if not served and self.simulator.queue.get(uid) is not None:
                self.simulator.leave(uid)
                self._occupy(pod)
        elif served and not belongs_to_node(pod):
            self._arrive(pod)
        else:
            self._occupy(pod)

    def _occupy(self, pod: Pod) -> None:
        self._known.add(pod.metadata.uid)
        self.others.add(pod.metadata.uid)
        self.simulator.occupy(pod)

    def _arrive(self, pod: Pod) -> None:
        self._known.add(pod.metadata.uid)
        self.simulator.arrive(made_again(pod))

    def _gone(self, uid: str) -> None:
        """A pod that ran ends when it has run for as long; any other one now."""
        if uid in self.others or self._recorded.duration(uid) is None:
            self.simulator.leave(uid)

    def _placed(self, placement: ScheduleResult) -> None:
        uid, now = placement.pod.metadata.uid, self.simulator.now
        self.bound[uid] = Binding(self.bound.get(uid, Binding(now, "")).time, placement.node)
        duration = self._recorded.duration(uid)
        if duration is not None:
            self.simulator.at(now + duration, functools.partial(self._ends, uid, placement))

    def _ends(self, uid: str, placement: ScheduleResult) -> None:
        """If it has not gone from there before."""
        if self.simulator.placed.get(uid) is placement:
            self.simulator.leave(uid)
