"""Events and metrics that only remember."""

from __future__ import annotations

import collections
from collections.abc import Iterable, Mapping
from typing import Any

from moorage.ports.event_recorder import Event
from moorage.ports.telemetry import ProfileFigures


class FakeEventRecorder:
    """``ports.event_recorder.EventRecorder``: keeps what was recorded, in order."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def record(self, event: Event) -> None:
        """Keep it."""
        self.events.append(event)

    def reasons(self, name: str = "") -> list[str]:
        """Reasons of the events on the object with this name, on all for ""."""
        return [event.reason for event in self.events if name in ("", event.regarding.name)]


class NullTelemetry:
    """``ports.telemetry.Telemetry`` that measures nothing."""

    def attempt(self, result: str, profile: str, seconds: float) -> None:
        """Nothing."""

    def algorithm(self, seconds: float) -> None:
        """Nothing."""

    def group_attempt(self, result: str, profile: str, seconds: float) -> None:
        """Nothing."""

    def group_algorithm(self, seconds: float) -> None:
        """Nothing."""

    def extension_point(self, point: str, status: str, profile: str, seconds: float) -> None:
        """Nothing."""

    def bound(self, attempts: int, sli_seconds: float) -> None:
        """Nothing."""

    def preemption_attempt(self) -> None:
        """Nothing."""

    def group_preemption_attempt(self, result: str) -> None:
        """Nothing."""

    def preemption_decided(self, preemptor: str, result: str, seconds: float) -> None:
        """Nothing."""

    def preempted(self, preemptor: str, victims: int, groups: int, violations: int) -> None:
        """Nothing."""

    def preemption_ended(self, preemptor: str, result: str, seconds: float) -> None:
        """Nothing."""

    def placements_found(self, profile: str, number: int) -> None:
        """Nothing."""

    def placement_tried(self, result: str, profile: str, seconds: float) -> None:
        """Nothing."""

    def node_changed(self, profile: str) -> None:
        """Nothing."""

    def permit_wait(self, result: str, seconds: float) -> None:
        """Nothing."""

    def in_flight(self, events: Mapping[str, int]) -> None:
        """Nothing."""

    def kubelet_rejected(self, profile: str, reason: str) -> None:
        """Nothing."""

    def expression_failed(self, plugin: str, point: str) -> None:
        """Nothing."""

    def differences(self, counts: Mapping[str, int]) -> None:
        """Nothing."""

    def repaired(self, resource: str, difference: str) -> None:
        """Nothing."""

    def pod_queued(self, queue: str, event: str, came: str) -> None:
        """Nothing."""

    def cache_sizes(self, pending: Mapping[str, int], cache: Mapping[str, int]) -> None:
        """Nothing."""

    def entities(self, counts: Mapping[tuple[str, str], int]) -> None:
        """Nothing."""

    def set_aside(self, counts: Mapping[str, int]) -> None:
        """Nothing."""

    def unschedulable(self, counts: Iterable[tuple[str, str, int]]) -> None:
        """Nothing."""

    def swap(self, profile: str, result: str, seconds: float) -> None:
        """Nothing."""

    def trial_pair(self, profile: str, outcome: str) -> None:
        """Nothing."""

    def trial_ended(self, profile: str, verdict: str) -> None:
        """Nothing."""

    def leading(self, name: str, leader: bool) -> None:
        """Nothing."""

    def event_loop_lag(self, seconds: float) -> None:
        """Nothing."""

    def gated(self, counts: Mapping[str, int]) -> None:
        """Nothing."""

    def profiles(self, figures: Iterable[ProfileFigures]) -> None:
        """Nothing."""

    def plugin_error(self, plugin: str, point: str) -> None:
        """Nothing."""

    def event(self, result: str) -> None:
        """Nothing."""

    def request(self, host: str, method: str, code: str, seconds: float) -> None:
        """Nothing."""


class CountingTelemetry(NullTelemetry):
    """Counts results of attempts, swaps, events and requests: ``counts["attempt",
    "scheduled"]``.
    """

    def __init__(self) -> None:
        self.counts: collections.Counter[tuple[str, str]] = collections.Counter()
        self.last_sizes: dict[str, Any] = {}
        self.last_aside: dict[str, int] = {}

    def attempt(self, result: str, profile: str, seconds: float) -> None:
        """Count the result."""
        self.counts["attempt", result] += 1

    def preemption_attempt(self) -> None:
        """Count."""
        self.counts["preemption", "attempt"] += 1

    def preempted(self, preemptor: str, victims: int, groups: int, violations: int) -> None:
        """Count by their number."""
        self.counts["preempted", str(victims)] += 1

    def node_changed(self, profile: str) -> None:
        """Count it."""
        self.counts["overtaken", profile] += 1

    def permit_wait(self, result: str, seconds: float) -> None:
        """Count the result."""
        self.counts["permit", result] += 1

    def kubelet_rejected(self, profile: str, reason: str) -> None:
        """Count the reason."""
        self.counts[profile, reason] += 1

    def expression_failed(self, plugin: str, point: str) -> None:
        """Count the point."""
        self.counts[plugin, point] += 1

    def trial_pair(self, profile: str, outcome: str) -> None:
        """Count what came of it."""
        self.counts["trial", outcome] += 1

    def trial_ended(self, profile: str, verdict: str) -> None:
        """Count the verdict."""
        self.counts["trial ended", verdict] += 1

    def swap(self, profile: str, result: str, seconds: float) -> None:
        """Count the result."""
        self.counts["swap", result] += 1

    def repaired(self, resource: str, difference: str) -> None:
        """Count it."""
        self.counts[resource, difference] += 1

    def cache_sizes(self, pending: Mapping[str, int], cache: Mapping[str, int]) -> None:
        """Keep the newest."""
        self.last_sizes = {**pending, **cache}

    def set_aside(self, counts: Mapping[str, int]) -> None:
        """Keep the newest."""
        self.last_aside = {resource: count for resource, count in counts.items() if count}

    def event(self, result: str) -> None:
        """Count the result."""
        self.counts["event", result] += 1

    def request(self, host: str, method: str, code: str, seconds: float) -> None:
        """Count the code."""
        self.counts["request", code] += 1
