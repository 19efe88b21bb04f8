"""Queue reports: what is counted and logged of the queue's moves, and what its plugins fail at."""

from __future__ import annotations

import itertools
import logging
from typing import NamedTuple

from moorage.core.framework.guard import PluginFault
from moorage.core.framework.interfaces import ExtensionPoint
from moorage.core.objects.meta import key
from moorage.core.objects.pods import Pod
from moorage.core.queue.sub_queues import QUEUE_AS_PLUGIN
from moorage.engine.background_tasks import WorkSignal
from moorage.engine.live_revisions import LiveRevisions
from moorage.engine.reports.pod_conditions import (
    SCHEDULER_ERROR,
    PodConditionUpdate,
    PodConditionWriter,
)
from moorage.ports.repeated_logs import once_per_bug
from moorage.ports.telemetry import Telemetry

log = logging.getLogger(__name__)

MAX_REPORTS_PER_STEP = 200
"""Pods whose conditions are written in one go: a few milliseconds."""


class PluginFailure(NamedTuple):
    """What the queue could not ask about a pod."""

    pod: Pod
    plugin: str
    error: Exception

    @property
    def dropped(self) -> bool:
        """Whether the pod is in no queue any more."""
        return self.plugin == QUEUE_AS_PLUGIN


class QueueReports:
    """``QueueListener``. Conditions follow at the next ``report_due``: the writer of conditions
    reads the cache, and the cache moves pods in the queue.
    """

    def __init__(self, telemetry: Telemetry, work: WorkSignal) -> None:
        self._telemetry = telemetry
        self._work = work
        self._failures: dict[str, PluginFailure] = {}
        """By UID, the newest of each pod: no more than there are pods."""
        self.held: dict[str, None] = {}
        """UIDs of pods that came to be held; whoever tells them takes them out."""

    def pod_enqueued(self, queue: str, event: str, came: str) -> None:
        """A pod came into a queue: there may be something to decide."""
        self._telemetry.pod_queued(queue, event, came)
        self._work.wake_up()

    def pod_held(self, uid: str) -> None:
        """It is told why, before long."""
        self.held[uid] = None

    def plugin_failed(self, plugin: str, pod: Pod, error: Exception) -> None:
        """A plugin that the queue asked about a pod failed: a preEnqueue plugin keeps it gated, a
        hint lets it be tried again.
        """
        log.error(
            "%s failed for a waiting pod",
            plugin if plugin == QUEUE_AS_PLUGIN else f"plugin {plugin}",
            extra=once_per_bug(error, pod=key(pod)),
            exc_info=error,
        )
        gated = isinstance(error, PluginFault) and error.point == ExtensionPoint.PRE_ENQUEUE
        if gated or plugin == QUEUE_AS_PLUGIN:
            self._failures[pod.metadata.uid] = PluginFailure(pod, plugin, error)

    def report_due(self, pod_conditions: PodConditionWriter, live: LiveRevisions) -> None:
        """Write the conditions of our pods that a failure keeps from being tried, some at a time.

        Only the leader writes. Until this replica leads, what the queue has dropped is kept; a
        plugin is asked again anyway.
        """
        for uid in list(itertools.islice(self._failures, MAX_REPORTS_PER_STEP)):
            failure = self._failures.pop(uid)
            if live.owns(failure.pod.spec.scheduler_name):
                _report(failure, pod_conditions)
            elif not live.deciding and failure.dropped and pod_conditions.is_newest(failure.pod):
                self._failures[uid] = failure


def _report(failure: PluginFailure, pod_conditions: PodConditionWriter) -> None:
    pod, error = failure.pod, failure.error
    if failure.dropped:
        text = f"out of the queue until it changes: {error!r}"
        pod_conditions.report(PodConditionUpdate(pod, SCHEDULER_ERROR, text))
    elif not pod.spec.scheduling_gates:
        text = str(error)
        pod_conditions.report_if_new(PodConditionUpdate(pod, SCHEDULER_ERROR, text))
