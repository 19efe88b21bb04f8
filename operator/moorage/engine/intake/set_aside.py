"""Set aside: objects that could not be decoded, or that something failed on, are told of; by the leader, each once.

Intake leaves them out of account until they change. A waiting pod of ours has an event and a condition that say so, everything else
an event.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from moorage.core.objects.pods import Pod
from moorage.engine.intake.object_sink import Sink
from moorage.engine.intake.pod_sink import Pods
from moorage.engine.reports.pod_conditions import SCHEDULER_ERROR, Failures, Verdict
from moorage.ports.event_recorder import Event, EventSink, ObjectRef
from moorage.ports.kube import Unreadable

AT_ONCE = 20
"""Objects that are told of in one go."""


class SetAside:
    """See the module's docstring. ``ours(scheduler_name)``: whether we lead and place such pods."""

    def __init__(self, pods: Pods, sinks: Sequence[Sink[Any]], failures: Failures, events: EventSink, ours: Callable[[str], bool]) -> None:
        self._pods = pods
        self._sinks = (pods, *sinks)
        self._failures = failures
        self._events = events
        self._ours = ours

    @property
    def counts(self) -> Mapping[str, int]:
        """How many objects are set aside, by resource."""
        return {sink.resource: len(sink.aside) for sink in self._sinks}

    def waiting(self, uid: str) -> Pod | None:
        """The pod with this UID, if it is set aside and waits for a node."""
        aside = self._pods.aside.get(uid)
        return aside.whole if aside is not None and isinstance(aside.whole, Pod) and not aside.node_name else None

    def settled(self) -> None:
        """Profiles were settled: waiting pods may be ours from now on."""
        self._pods.untold.update({uid: aside for uid, aside in self._pods.aside.items() if self.waiting(uid) is not None})

    def tell(self) -> None:
        """Tell of those that were not told of yet, some at a time."""
        for sink in self._sinks:
            for name in list(sink.untold)[:AT_ONCE]:
                self._tell(sink, sink.untold.pop(name))

    def _tell(self, sink: Sink[Any], aside: Unreadable) -> None:
        meta, text = aside.partial.metadata, f"set aside until it changes: {aside.error}"
        pod = self.waiting(meta.uid)
        if pod is None:
            regarding = ObjectRef(sink.kind_name, meta.name, meta.uid, meta.namespace, sink.api)
            self._events.emit(Event(regarding, "SetAside", text, "Scheduling", controller="moorage", warning=True))
        elif self._ours(pod.spec.scheduler_name):
            self._failures.report_once(Verdict(pod, SCHEDULER_ERROR, text))
