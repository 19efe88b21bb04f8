"""The Grafana dashboard, made of a table of its panels."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

_WIDTH: Final = 24
"""Columns of a dashboard's grid."""
_SOURCE: Final = {"type": "prometheus", "uid": "${datasource}"}


class Panel(NamedTuple):
    """A plot: its title, the unit of its values by Grafana's names, and its queries, each with the
    legend. In queries ``J`` stands for the selected job, ``T`` for the window of rates.
    """

    title: str
    unit: str
    queries: Sequence[tuple[str, str]]
    kind: str = "timeseries"
    width: int = 8
    height: int = 7


def _stat(title: str, query: str, unit: str = "none") -> Panel:
    return Panel(title, unit, [(query, "")], "stat", 4, 4)


def _quantile(share: str, metric: str, by: str = "", only: str = "") -> str:
    """A quantile of a histogram over all replicas."""
    labels = f"le, {by}" if by else "le"
    return f"histogram_quantile({share}, sum by ({labels}) (rate({metric}_bucket{{J{only}}}[T])))"


_ATTEMPTS: Final = "scheduler_scheduling_attempt_duration_seconds"
_PLACED: Final = ', result="scheduled"'
_LEADER: Final = "and on (instance) leader_election_master_status{J} == 1"
"""A standby sees the pods too, and takes all of them for due."""

ROWS: Final[Sequence[tuple[str, Sequence[Panel]]]] = (
    (
        "At a glance",
        (
            _stat("Replicas that lead", "sum(leader_election_master_status{J})"),
            _stat("Replicas", "count(up{J} == 1)"),
            _stat(
                "Pods placed per second",
                "sum(rate(scheduler_schedule_attempts_total{J" + _PLACED + "}[T]))",
                "pps",
            ),
            _stat("Pods that wait", f"sum(scheduler_pending_pods{{J}} {_LEADER})"),
            _stat("Attempt, 99th percentile", _quantile("0.99", _ATTEMPTS, only=_PLACED), "s"),
            _stat(
                "Profiles that decide",
                "count(count by (profile) (moorage_profile_revision_info{J}))",
            ),
        ),
    ),
    (
        "Decisions",
        (
            Panel(
                "Attempts by result",
                "ops",
                [("sum by (result) (rate(scheduler_schedule_attempts_total{J}[T]))", "{{result}}")],
            ),
            Panel(
                "Pods placed, by profile",
                "ops",
                [
                    (
                        "sum by (profile) (rate(scheduler_schedule_attempts_total{J"
                        + _PLACED
                        + "}[T]))",
                        "{{profile}}",
                    )
                ],
            ),
            Panel(
                "Attempts that found a node",
                "s",
                [
                    (_quantile("0.5", _ATTEMPTS, only=_PLACED), "median"),
                    (_quantile("0.99", _ATTEMPTS, only=_PLACED), "99th percentile"),
                    (
                        _quantile("0.99", "scheduler_scheduling_algorithm_duration_seconds"),
                        "99th percentile of the decision alone",
                    ),
                ],
            ),
            Panel(
                "From the queue to the binding",
                "s",
                [
                    (_quantile("0.5", "scheduler_pod_scheduling_sli_duration_seconds"), "median"),
                    (
                        _quantile("0.99", "scheduler_pod_scheduling_sli_duration_seconds"),
                        "99th percentile",
                    ),
                ],
            ),
            Panel(
                "Extension points, 99th percentile",
                "s",
                [
                    (
                        _quantile(
                            "0.99",
                            "scheduler_framework_extension_point_duration_seconds",
                            "extension_point",
                        ),
                        "{{extension_point}}",
                    )
                ],
            ),
            Panel(
                "Preemption",
                "ops",
                [
                    ("sum(rate(scheduler_preemption_attempts_total{J}[T]))", "attempts"),
                    ("sum(rate(scheduler_preemption_victims_sum{J}[T]))", "victims"),
                ],
            ),
        ),
    ),
    (
        "Who waits",
        (
            Panel(
                "Pods by queue",
                "none",
                [(f"sum by (queue) (scheduler_pending_pods{{J}} {_LEADER})", "{{queue}}")],
            ),
            Panel(
                "Refused, by plugin",
                "none",
                [
                    (
                        "sum by (profile, plugin) (scheduler_unschedulable_pods{J})",
                        "{{profile}} {{plugin}}",
                    )
                ],
            ),
            Panel(
                "Gated, by gate",
                "none",
                [(f"sum by (gate) (moorage_gated_pods{{J}} {_LEADER})", "{{gate}}")],
            ),
            Panel(
                "What brings pods into the queue",
                "ops",
                [
                    (
                        "sum by (queue, event) (rate(scheduler_queue_incoming_pods_total{J}[T]))",
                        "{{queue}}: {{event}}",
                    )
                ],
                width=16,
            ),
            Panel(
                "Bound in vain",
                "ops",
                [
                    (
                        "sum by (profile, reason) (rate(moorage_kubelet_rejections_total{J}[T]))",
                        "kubelet: {{profile}} {{reason}}",
                    ),
                    (
                        "sum by (profile) (rate(moorage_stale_bindings_total{J}[T]))",
                        "node changed: {{profile}}",
                    ),
                ],
            ),
        ),
    ),
    (
        "Profiles",
        (
            Panel(
                "Revisions that decide",
                "none",
                [
                    (
                        "max by (profile, revision) (moorage_profile_revision_info{J})",
                        "{{profile}} {{revision}}",
                    )
                ],
            ),
            Panel(
                "Edits",
                "none",
                [
                    (
                        "sum by (profile, result) (increase(moorage_swaps_total{J}[T]))",
                        "{{profile}} {{result}}",
                    )
                ],
            ),
            Panel(
                "Trials: pods decided twice",
                "none",
                [
                    (
                        "sum by (profile, outcome) (increase(moorage_trial_pairs_total{J}[T]))",
                        "{{profile}} {{outcome}}",
                    )
                ],
            ),
        ),
    ),
    (
        "The operator itself",
        (
            Panel(
                "Main loop late, 99th percentile",
                "s",
                [(_quantile("0.99", "moorage_event_loop_lag_seconds", "instance"), "{{instance}}")],
            ),
            Panel(
                "Watches: seconds of silence",
                "s",
                [
                    (
                        "max by (instance, resource) (moorage_watch_age_seconds{J})",
                        "{{instance}} {{resource}}",
                    )
                ],
            ),
            Panel(
                "In the cache",
                "none",
                [("max by (type) (scheduler_cache_size{J})", "{{type}}")],
            ),
            Panel(
                "Requests to the API server",
                "ops",
                [
                    (
                        "sum by (method, code) (rate(rest_client_requests_total{J}[T]))",
                        "{{method}} {{code}}",
                    )
                ],
            ),
            Panel(
                "Requests, 99th percentile",
                "s",
                [(_quantile("0.99", "rest_client_request_duration_seconds", "verb"), "{{verb}}")],
            ),
            Panel(
                "Events",
                "ops",
                [("sum by (result) (rate(moorage_events_total{J}[T]))", "{{result}}")],
            ),
            Panel(
                "Processor",
                "none",
                [("rate(process_cpu_seconds_total{J}[T])", "{{instance}}")],
            ),
            Panel("Memory", "bytes", [("process_resident_memory_bytes{J}", "{{instance}}")]),
            Panel(
                "Set aside, failed, put right",
                "none",
                [
                    ("max by (resource) (moorage_set_aside_objects{J})", "set aside: {{resource}}"),
                    (
                        "sum by (plugin) (increase(moorage_plugin_errors_total{J}[T]))",
                        "plugin: {{plugin}}",
                    ),
                    (
                        "sum by (resource) (increase(moorage_cache_repairs_total{J}[T]))",
                        "missed by a watch: {{resource}}",
                    ),
                ],
            ),
        ),
    ),
)


def files() -> Mapping[str, str]:
    """The dashboard's file."""
    return {"dashboard.json": json.dumps(dashboard(), indent=1) + "\n"}


def dashboard() -> dict[str, Any]:
    """As Grafana imports it."""
    return {
        "uid": "moorage",
        "title": "Moorage",
        "tags": ["kubernetes", "scheduler"],
        "schemaVersion": 39,
        "editable": True,
        "refresh": "30s",
        "time": {"from": "now-1h", "to": "now"},
        "templating": {"list": [_DATA_SOURCE, _JOB]},
        "panels": list(_panels()),
    }


_DATA_SOURCE: Final = {
    "name": "datasource",
    "label": "Data source",
    "type": "datasource",
    "query": "prometheus",
}
_JOB: Final = {
    "name": "job",
    "label": "Job",
    "type": "query",
    "datasource": _SOURCE,
    "query": "label_values(leader_election_master_status, job)",
    "current": {"text": "moorage", "value": "moorage"},
    "refresh": 2,
}


def _panels() -> Iterator[dict[str, Any]]:
    """Row by row, each panel beside the last one or below."""
    numbers, top = itertools.count(1), 0
    for title, panels in ROWS:
        place = {"x": 0, "y": top, "w": _WIDTH, "h": 1}
        yield {"id": next(numbers), "type": "row", "title": title, "gridPos": place}
        top, left = top + 1, 0
        for panel in panels:
            if left + panel.width > _WIDTH:
                top, left = top + panel.height, 0
            yield _panel(next(numbers), panel, left, top)
            left += panel.width
        top += panels[-1].height


def _panel(number: int, panel: Panel, left: int, top: int) -> dict[str, Any]:
    return {
        "id": number,
        "type": panel.kind,
        "title": panel.title,
        "datasource": _SOURCE,
        "gridPos": {"x": left, "y": top, "w": panel.width, "h": panel.height},
        "fieldConfig": {"defaults": {"unit": panel.unit, "min": 0}, "overrides": []},
        "targets": [
            {
                "refId": chr(ord("A") + position),
                "datasource": _SOURCE,
                "expr": query.replace("{J", '{job="$job"').replace("[T]", "[$__rate_interval]"),
                "legendFormat": legend,
            }
            for position, (query, legend) in enumerate(panel.queries)
        ],
    }
