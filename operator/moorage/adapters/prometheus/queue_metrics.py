"""Metrics of the queue, and of what is in the cache."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from prometheus_client import CollectorRegistry

from moorage.adapters.prometheus.group_metrics import GroupMetrics


class QueueMetrics(GroupMetrics):
    """That part of ``ports.telemetry.Telemetry``."""

    def __init__(self, registry: CollectorRegistry) -> None:
        super().__init__(registry)
        self._incoming = self._counter(
            "scheduler_queue_incoming_pods_total",
            "Pods added to a queue, by queue and event.",
            "queue",
            "event",
        )
        self._incoming_entities = self._counter(
            "scheduler_queue_incoming_entities_total",
            "Pods of no group, and pod groups, added to a queue, by queue, event and type.",
            "queue",
            "event",
            "type",
        )
        self._entities = self._gauge(
            "scheduler_queued_entities",
            (
                "Pods of no group (pod), and pod groups (podgroup), that wait, by queue and type; "
                "a group is where the member is that comes closest to being tried."
            ),
            "queue",
            "type",
        )
        self._pending = self._gauge(
            "scheduler_pending_pods",
            "Pods that wait, by queue (active, backoff, unschedulable, gated).",
            "queue",
        )
        self._in_flight = self._gauge(
            "scheduler_inflight_events",
            "Events kept for pods whose attempt is running, by event; those pods as PodPopped.",
            "event",
        )
        self._unschedulable = self._gauge(
            "scheduler_unschedulable_pods",
            "Waiting pods that a plugin refused.",
            "plugin",
            "profile",
        )
        self._gated = self._gauge(
            "moorage_gated_pods",
            "Gated pods, by the first gate that is left, else by plugin; beyond 20: other.",
            "gate",
        )
        self._cache_size = self._gauge(
            "scheduler_cache_size", "Nodes, pods and assumed pods in the cache.", "type"
        )

    def pod_queued(self, queue: str, event: str, came: str) -> None:
        self._incoming(queue, event).inc()
        if came:
            self._incoming_entities(queue, event, came).inc()

    def entities(self, counts: Mapping[tuple[str, str], int]) -> None:
        for (queue, kind), count in counts.items():
            self._entities(queue, kind).set(count)

    def in_flight(self, events: Mapping[str, int]) -> None:
        self._in_flight.clear()
        for event, count in events.items():
            self._in_flight(event).set(count)

    def unschedulable(self, counts: Iterable[tuple[str, str, int]]) -> None:
        self._unschedulable.clear()
        for plugin, profile, count in counts:
            self._unschedulable(plugin, profile).set(count)

    def gated(self, counts: Mapping[str, int]) -> None:
        self._gated.clear()
        for gate, count in counts.items():
            self._gated(gate).set(count)

    def cache_sizes(self, pending: Mapping[str, int], cache: Mapping[str, int]) -> None:
        for queue, count in pending.items():
            self._pending(queue).set(count)
        for kind, count in cache.items():
            self._cache_size(kind).set(count)
