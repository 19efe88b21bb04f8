"""Held pods: who waits without being tried is told why, once: `kubectl describe pod` shows it.

A pod that was refused has the event of its attempt. One that is gated, or whose profile holds its
pods, has this one. It is told a moment after it came to be held, as most gates open soon, and again
when there is something else to tell, at most once in ``TELL_AGAIN_SECONDS``. The event's name is
made of what it says (``Event.once``), so a new leader that says the same adds nothing.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Mapping

from moorage.core.framework.interfaces import PreEnqueuePlugin, is_a
from moorage.core.queue.pod_group_state import POD_GROUP_GATE
from moorage.core.queue.queued_pod import QueuedPodInfo, QueueState
from moorage.core.queue.scheduling_queue import SchedulingQueue
from moorage.engine.live_revisions import LiveRevisions
from moorage.engine.reports.pod_conditions import pod_object
from moorage.engine.reports.queue_reports import QueueReports
from moorage.ports.bundle import Ports
from moorage.ports.event_recorder import Event
from moorage.ports.guards import guard

TELL_AFTER_SECONDS = 2.0
TELL_AGAIN_SECONDS = 60.0
MAX_TOLD_PER_STEP = 50
"""Pods that are told in one go: 200 a second, so that what decides has the API server first."""
MAX_TAKEN_PER_STEP = 5_000
"""Pods that are written down to be told in one go, as after a takeover with very many."""


class HeldPods:
    """Tells pods why they are held, while this replica leads; ``reports`` hears which they are."""

    def __init__(
        self, live: LiveRevisions, queue: SchedulingQueue, reports: QueueReports, ports: Ports
    ) -> None:
        self._live = live
        self._queue = queue
        self._reports = reports
        self._events = ports.events
        self._profiles: Mapping[str, str] = {}
        """By schedulerName: why its profile holds its pods."""
        self._due: list[tuple[float, str]] = []
        """A heap: when to look at a pod, and its UID."""

    def lead(self) -> None:
        """From now on this replica tells; the leader before it may have left some out."""
        for entry in self._queue.entries():
            if entry.state in (QueueState.GATED, QueueState.UNSERVED):
                self._reports.pod_held(entry.uid)

    def forget(self) -> None:
        """Another replica tells them."""
        self._reports.held.clear()
        self._due.clear()

    def look_at(self, entry: QueuedPodInfo) -> None:
        """There may be something else to tell a pod that is held."""
        self._reports.pod_held(entry.uid)

    def tick(self, now: float, profiles: Mapping[str, str]) -> None:
        """Tell those whose time has come, some at a time; ``profiles``: by schedulerName, why its
        profile holds its pods.
        """
        before, self._profiles = self._profiles, profiles
        for name, text in profiles.items():
            if before.get(name) != text:
                for pod in self._queue.unserved(name):
                    self._reports.pod_held(pod.metadata.uid)
        for uid in list(itertools.islice(self._reports.held, MAX_TAKEN_PER_STEP)):
            del self._reports.held[uid]
            heapq.heappush(self._due, (now + TELL_AFTER_SECONDS, uid))
        for _ in range(MAX_TOLD_PER_STEP):
            if not self._due or self._due[0][0] > now:
                return
            self._look(heapq.heappop(self._due)[1], now)

    def _look(self, uid: str, now: float) -> None:
        entry = self._queue.get(uid)
        text = self._text(entry) if entry is not None else ""
        if entry is None or not text or text == entry.last_reported:
            return
        if isinstance(entry.last_reported, str) and now < entry.report_suppressed_until:
            heapq.heappush(self._due, (entry.report_suppressed_until, uid))
            return
        entry.last_reported, entry.report_suppressed_until = text, now + TELL_AGAIN_SECONDS
        regarding, controller = pod_object(entry.pod), entry.scheduler_name
        self._events.record(
            Event(regarding, "Waiting", text, "Scheduling", controller=controller, once=True)
        )

    def _text(self, entry: QueuedPodInfo) -> str:
        """Why a pod is held; "" where it is not, or others tell it."""
        if entry.state is QueueState.UNSERVED:
            return self._profiles.get(entry.scheduler_name, "")
        if entry.state is not QueueState.GATED:
            return ""
        if entry.gating_plugin == POD_GROUP_GATE:
            return self._queue.groups.member_message(entry)
        revision = self._live.get(entry.scheduler_name)
        plugin = revision.deciders.get(entry.gating_plugin) if revision is not None else None
        message = ""
        if is_a(plugin, PreEnqueuePlugin):
            # one that fails is reported by the queue
            with guard("asking what gates a pod", plugin=entry.gating_plugin):
                message = plugin.pre_enqueue(entry.pod, self._queue.groups.store).message
        return message
