"""Metrics: durations and sizes to telemetry, and how late the event loop is."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping

from moorage.core.columns.cache import Cache
from moorage.core.framework.interfaces import ExtensionPoint
from moorage.core.plugins.default_preemption import plugin as default_preemption
from moorage.core.queue.scheduling_queue import SchedulingQueue
from moorage.engine.profile_records import ProfileRecord
from moorage.ports.clock import Clock
from moorage.ports.telemetry import ProfileFigures, Telemetry

log = logging.getLogger(__name__)

LAG_INTERVAL_SECONDS = 0.02
LAG_LIMIT_SECONDS = 0.05
"""A step of the event loop that takes longer is logged."""
GAUGES_INTERVAL_SECONDS = 1.0


class MetricsReporter:
    """Measures the calls of plugins, as the core's observer, and sets the gauges."""

    def __init__(self, telemetry: Telemetry, clock: Clock) -> None:
        self._telemetry = telemetry
        self._clock = clock
        self._began = 0.0
        self._groups_began: dict[str, float] = {}
        """By schedulerName: one group of each profile is decided about at a time."""
        self._gauged_at = float("-inf")
        self.last_heartbeat = clock.boottime()
        """When the event loop last ran this object's task."""

    def begin(self, point: ExtensionPoint) -> None:
        """An extension point's plugins start."""
        self._began = self._clock.boottime()

    def end(self, point: ExtensionPoint, status: str, profile: str) -> None:
        """Measure the calls that ``begin`` has announced."""
        self._telemetry.extension_point(
            point.label, status, profile, self._clock.boottime() - self._began
        )

    def group_began(self, profile: str) -> None:
        """A pod group is decided about from now on."""
        self._groups_began[profile] = self._clock.boottime()

    def group_decided(self, profile: str) -> None:
        """All members of the pod group that ``group_began`` has announced are decided about."""
        began = self._groups_began.pop(profile)
        self._telemetry.group_algorithm(self._clock.boottime() - began)

    def mark(self) -> float:
        """By the clock."""
        return self._clock.boottime()

    def placements_found(self, profile: str, number: int) -> None:
        """So many placements may be tried for a pod group."""
        self._telemetry.placements_found(profile, number)

    def placement_tried(self, profile: str, fits: bool, began: float) -> None:
        """One was tried; what others had their turn for meanwhile is in it."""
        result = "feasible" if fits else "infeasible"
        self._telemetry.placement_tried(result, profile, self._clock.boottime() - began)

    def group_preemption_ran(self, status: str, began: float) -> None:
        """Whom a pod group may displace was looked for."""
        self._telemetry.group_preemption_attempt(status)
        self._telemetry.preemption_decided("podgroup", status, self._clock.boottime() - began)

    def post_filter_ran(self, plugin: str, status: str, began: float) -> None:
        """A postFilter plugin was asked to make room for a pod."""
        if plugin == default_preemption.NAME:
            self._telemetry.preemption_attempt()
            self._telemetry.preemption_decided("pod", status, self._clock.boottime() - began)

    def expression_failed(self, plugin: str, point: str) -> None:
        """An expression of a profile failed at an extension point."""
        self._telemetry.expression_failed(plugin, point)

    def gauges(
        self,
        queue: SchedulingQueue,
        cache: Cache,
        records: Iterable[ProfileRecord],
        set_aside: Mapping[str, int],
    ) -> None:
        """Sizes, once a second."""
        now = self._clock.boottime()
        if now < self._gauged_at + GAUGES_INTERVAL_SECONDS:
            return
        self._gauged_at = now
        total = queue.totals()
        states = ("active", "backoff", "unschedulable", "gated")
        pending = {state: getattr(total, state) for state in states}
        rejected = queue.unschedulable_counts()
        sizes = {"nodes": len(cache.nodes), "pods": len(cache), "assumed_pods": cache.assumed}
        telemetry = self._telemetry
        telemetry.unschedulable((plugin, profile, count) for profile, plugin, count in rejected)
        telemetry.gated(queue.gated_counts())
        telemetry.in_flight(queue.in_flight_events())
        telemetry.profiles(map(_figures, records))
        telemetry.set_aside(set_aside)
        telemetry.entities(queue.entity_counts())
        telemetry.cache_sizes(pending, sizes)

    async def watch_lag(self) -> None:
        """Measure how late the loop wakes this task."""
        while True:
            before = self._clock.boottime()
            await self._clock.sleep(LAG_INTERVAL_SECONDS)
            self.last_heartbeat = self._clock.boottime()
            lag = self.last_heartbeat - before - LAG_INTERVAL_SECONDS
            self._telemetry.event_loop_lag(max(lag, 0.0))
            if lag > LAG_LIMIT_SECONDS:
                extra = {"seconds": round(lag, 4), "at": round(self.last_heartbeat, 4)}
                log.warning("the event loop was %.0f ms late", lag * 1000, extra=extra)


def _figures(record: ProfileRecord) -> ProfileFigures:
    active = record.active.revision.id if record.active is not None else ""
    return ProfileFigures(record.name, active, len(record.superseded), len(record.errors))
