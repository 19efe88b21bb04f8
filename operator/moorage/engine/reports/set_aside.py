"""Set aside: objects that could not be decoded, or that something failed on, are reported; by the
leader, each once.

Intake leaves them out of account until they change. A waiting pod of ours has an event and a
condition that say so, everything else an event.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from moorage.engine.intake.latest import LatestPods
from moorage.engine.intake.object_sink import ObjectSink
from moorage.engine.live_revisions import LiveRevisions
from moorage.engine.reports.pod_conditions import (
    SCHEDULER_ERROR,
    PodConditionUpdate,
    PodConditionWriter,
)
from moorage.ports.event_recorder import Event, EventRecorder, ObjectRef
from moorage.ports.kube import UnreadableObject

MAX_REPORTS_PER_STEP = 20
"""Objects that are reported in one go."""


class SetAsideReporter:
    """Reports the objects that intake has set aside, each once, while this replica leads."""

    def __init__(
        self,
        pods: LatestPods,
        sinks: Sequence[ObjectSink[Any]],
        pod_conditions: PodConditionWriter,
        events: EventRecorder,
        live: LiveRevisions,
    ) -> None:
        self._pods = pods
        self._sinks = sinks
        self._pod_conditions = pod_conditions
        self._events = events
        self._live = live

    @property
    def counts(self) -> Mapping[str, int]:
        """How many objects are set aside, by resource."""
        return {sink.resource: len(sink.aside) for sink in self._sinks}

    def report_due(self) -> None:
        """Report those that were not reported yet, some at a time."""
        for sink in self._sinks:
            for name in list(sink.unreported)[:MAX_REPORTS_PER_STEP]:
                self._report(sink, sink.unreported.pop(name))

    def _report(self, sink: ObjectSink[Any], aside: UnreadableObject) -> None:
        meta, text = aside.partial.metadata, f"set aside until it changes: {aside.error}"
        pod = self._pods.waiting_aside(meta.uid)
        if pod is None:
            regarding = ObjectRef(sink.kind_name, meta.name, meta.uid, meta.namespace, sink.api)
            self._events.record(
                Event(regarding, "SetAside", text, "Scheduling", controller="moorage", warning=True)
            )
        elif self._live.owns(pod.spec.scheduler_name):
            self._pod_conditions.report_if_new(PodConditionUpdate(pod, SCHEDULER_ERROR, text))
