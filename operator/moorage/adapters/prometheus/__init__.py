"""Metrics, by prometheus-client.

What kube-scheduler measures too has its names, labels and buckets (1.37,
``pkg/scheduler/metrics``), so that dashboards and alerts work as they are; what is ours begins with
``moorage_``. Label values come from small closed sets, never from users, except profile, plugin and
gate names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import prometheus_client
from prometheus_client import CollectorRegistry

from moorage.adapters.prometheus.collectors import Pulled, exponential
from moorage.adapters.prometheus.queue_metrics import QueueMetrics
from moorage.ports.telemetry import ProfileFigures

REQUEST_BUCKETS = (0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60)
"""client-go's, for rest_client_request_duration_seconds."""
SWAP_BUCKETS = (0.0001, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.05, 0.1)
"""Around the 5 ms that a swap may hold the loop."""
LAG_BUCKETS = (0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5)
"""Around the 50 ms that a step of the loop may take."""


class PrometheusTelemetry(QueueMetrics):
    """``ports.telemetry.Telemetry`` into a registry of its own. ``render`` gives what /metrics
    answers.
    """

    def __init__(self) -> None:
        prometheus_client.disable_created_metrics()  # type: ignore[no-untyped-call]
        super().__init__(CollectorRegistry())
        prometheus_client.ProcessCollector(registry=self._registry)
        prometheus_client.PlatformCollector(registry=self._registry)
        prometheus_client.GCCollector(registry=self._registry)
        self._attempts = self._counter(
            "scheduler_schedule_attempts_total",
            "Attempts to schedule pods, by result (scheduled, unschedulable, error).",
            "result",
            "profile",
        )
        self._attempt_seconds = self._histogram(
            "scheduler_scheduling_attempt_duration_seconds",
            "Attempt from pop to binding or failure.",
            exponential(0.001, 2, 15),
            "result",
            "profile",
        )
        self._algorithm_seconds = self._histogram(
            "scheduler_scheduling_algorithm_duration_seconds",
            "Decision alone, without binding.",
            exponential(0.001, 2, 15),
        )()
        self._point_seconds = self._histogram(
            "scheduler_framework_extension_point_duration_seconds",
            "All plugins of an extension point.",
            exponential(0.0001, 2, 12),
            "extension_point",
            "status",
            "profile",
        )
        self._sli_seconds = self._histogram(
            "scheduler_pod_scheduling_sli_duration_seconds",
            "From the first queueing to the binding, time gated left out, by attempts.",
            exponential(0.01, 2, 20),
            "attempts",
        )
        self._pod_attempts = self._histogram(
            "scheduler_pod_scheduling_attempts",
            "Attempts that a bound pod took.",
            exponential(1, 2, 5),
        )()
        self._stale_bindings = self._counter(
            "moorage_stale_bindings_total",
            (
                "Pods that were not bound as their node was changed by somebody else after it "
                "was chosen, by profile."
            ),
            "profile",
        )
        self._permit_seconds = self._histogram(
            "scheduler_permit_wait_duration_seconds",
            "Time that pods were held at permit, by result.",
            exponential(0.001, 2, 15),
            "result",
        )
        self._kubelet_rejections = self._counter(
            "moorage_kubelet_rejections_total",
            "Pods that a kubelet refused after they were bound to its node, by profile and reason.",
            "profile",
            "reason",
        )
        self._expressions = self._counter(
            "moorage_expression_errors_total",
            (
                "Evaluations of expressions that failed (a missing key, say), by plugin and "
                "extension point; nodes that are alike count once."
            ),
            "plugin",
            "extension_point",
        )
        self._differences = self._gauge(
            "moorage_cache_differences",
            "What the last comparison of the cache with the API server found, by kind.",
            "kind",
        )
        self._repairs = self._counter(
            "moorage_cache_repairs_total",
            (
                "Objects that a watch had not told of and that comparing has put right, by "
                "resource and difference (missed, stale, redundant)."
            ),
            "resource",
            "difference",
        )
        self._leading = self._gauge(
            "leader_election_master_status", "1 if this replica leads, 0 if not.", "name"
        )
        self._requests = self._counter(
            "rest_client_requests_total",
            "Requests to the API server, by code, method and host.",
            "code",
            "method",
            "host",
        )
        self._request_seconds = self._histogram(
            "rest_client_request_duration_seconds",
            "Requests to the API server, by verb and host.",
            REQUEST_BUCKETS,
            "verb",
            "host",
        )
        self._swaps = self._counter(
            "moorage_swaps_total",
            "Revisions of profiles, by result (swapped, refused).",
            "profile",
            "result",
        )
        self._trial_pairs = self._counter(
            "moorage_trial_pairs_total",
            (
                "Pods that two revisions have decided about, by profile and outcome (same node, "
                "elsewhere, neither, regression, improvement)."
            ),
            "profile",
            "outcome",
        )
        self._trials_ended = self._counter(
            "moorage_trial_verdicts_total",
            "Trials of revisions that have ended, by profile and verdict.",
            "profile",
            "verdict",
        )
        self._swap_seconds = self._histogram(
            "moorage_swap_duration_seconds", "Critical section of a swap.", SWAP_BUCKETS
        )()
        self._active = self._gauge(
            "moorage_profile_revision_info",
            "1 for the revision of a profile that decides.",
            "profile",
            "revision",
        )
        self._superseded = self._gauge(
            "moorage_superseded_revisions",
            "Older revisions that running cycles still hold.",
            "profile",
        )
        self._profile_errors = self._gauge(
            "moorage_profile_errors",
            "Errors of a profile's spec and references; 0 for none.",
            "profile",
        )
        self._set_aside = self._gauge(
            "moorage_set_aside_objects",
            (
                "Objects that are left out of account, as they cannot be read or something "
                "failed on them."
            ),
            "resource",
        )
        self._plugin_errors = self._counter(
            "moorage_plugin_errors_total",
            "Failures of plugins from outside the tree, by plugin and extension point.",
            "plugin",
            "extension_point",
        )
        self._events = self._counter(
            "moorage_events_total",
            "Events, by result (sent, merged, limited, dropped, failed).",
            "result",
        )
        self._refused_connections = self._counter(
            "moorage_refused_connections_total",
            (
                "Connections to health and metrics that were ended for their fault (plain, "
                "handshake, malformed, long, late) or as crowded."
            ),
            "reason",
        )
        self._lag_seconds = self._histogram(
            "moorage_event_loop_lag_seconds", "How late the event loop was.", LAG_BUCKETS
        )()

    def render(self) -> bytes:
        """Everything, in Prometheus' text format."""
        return prometheus_client.generate_latest(self._registry)

    def attempt_durations(self) -> Mapping[str, list[tuple[float, float]]]:
        """Of each profile the attempts that found a node: seconds, rising, and how many took no
        longer.
        """
        found: dict[str, list[tuple[float, float]]] = {}
        for sample in self._attempt_seconds.samples():
            if sample.name.endswith("_bucket") and sample.labels["result"] == "scheduled":
                buckets = found.setdefault(sample.labels["profile"], [])
                buckets.append((float(sample.labels["le"]), sample.value))
        return found

    def pull(
        self, name: str, text: str, label: str, read: Callable[[], Mapping[str, float]]
    ) -> None:
        """A gauge (a counter by the name ..._total) that is read at each scrape.

        ``read`` gives label value -> number; with label "" its one key is ignored.
        """
        self._registry.register(Pulled(name, text, label, read))

    def connection_refused(self, reason: str) -> None:
        """Our own server ended a connection."""
        self._refused_connections(reason).inc()

    # ---- ports.telemetry.Telemetry ---------------------------------------------------------------

    def attempt(self, result: str, profile: str, seconds: float) -> None:
        self._attempts(result, profile).inc()
        self._attempt_seconds(result, profile).observe(seconds)

    def algorithm(self, seconds: float) -> None:
        self._algorithm_seconds.observe(seconds)

    def extension_point(self, point: str, status: str, profile: str, seconds: float) -> None:
        self._point_seconds(point, status, profile).observe(seconds)

    def bound(self, attempts: int, sli_seconds: float) -> None:
        self._pod_attempts.observe(attempts)
        self._sli_seconds(str(attempts) if attempts < 15 else "15+").observe(sli_seconds)

    def trial_pair(self, profile: str, outcome: str) -> None:
        self._trial_pairs(profile, outcome).inc()

    def trial_ended(self, profile: str, verdict: str) -> None:
        self._trials_ended(profile, verdict).inc()

    def node_changed(self, profile: str) -> None:
        self._stale_bindings(profile).inc()

    def permit_wait(self, result: str, seconds: float) -> None:
        self._permit_seconds(result).observe(seconds)

    def kubelet_rejected(self, profile: str, reason: str) -> None:
        self._kubelet_rejections(profile, reason).inc()

    def expression_failed(self, plugin: str, point: str) -> None:
        self._expressions(plugin, point).inc()

    def differences(self, counts: Mapping[str, int]) -> None:
        for kind, count in counts.items():
            self._differences(kind).set(count)

    def repaired(self, resource: str, difference: str) -> None:
        self._repairs(resource, difference).inc()

    def set_aside(self, counts: Mapping[str, int]) -> None:
        for resource, count in counts.items():
            self._set_aside(resource).set(count)

    def swap(self, profile: str, result: str, seconds: float) -> None:
        self._swaps(profile, result).inc()
        if result == "swapped":
            self._swap_seconds.observe(seconds)

    def profiles(self, figures: Iterable[ProfileFigures]) -> None:
        for gauge in (self._active, self._superseded, self._profile_errors):
            gauge.clear()
        for profile, revision, superseded, errors in figures:
            if revision:
                self._active(profile, revision).set(1)
            self._superseded(profile).set(superseded)
            self._profile_errors(profile).set(errors)

    def leading(self, name: str, leader: bool) -> None:
        self._leading(name).set(int(leader))

    def event_loop_lag(self, seconds: float) -> None:
        self._lag_seconds.observe(seconds)

    def plugin_error(self, plugin: str, point: str) -> None:
        self._plugin_errors(plugin, point).inc()

    def event(self, result: str) -> None:
        self._events(result).inc()

    def request(self, host: str, method: str, code: str, seconds: float) -> None:
        self._requests(code, method, host).inc()
        self._request_seconds(method, host).observe(seconds)
