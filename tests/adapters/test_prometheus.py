"""Metrics: kube-scheduler's names, labels and buckets; what each call of the port moves."""

from __future__ import annotations

from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from moorage.adapters.prometheus import PrometheusTelemetry
from moorage.adapters.prometheus.collectors import MAX_SERIES, exponential
from moorage.ports.telemetry import ProfileFigures, Telemetry


def samples(telemetry: PrometheusTelemetry) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    """What /metrics says, parsed."""
    text = telemetry.render().decode()
    return {
        (s.name, frozenset(s.labels.items())): s.value
        for family in text_string_to_metric_families(text)
        for s in family.samples
    }


def value(telemetry: PrometheusTelemetry, name: str, /, **labels: str) -> float | None:
    """One sample, None when there is none."""
    return samples(telemetry).get((name, frozenset(labels.items())))


DECIDED = {"preemptor": "pod", "result": "Success"}
ENDED = {"preemptor": "podgroup", "result": "error"}
TRIED = {"result": "feasible", "profile": "p"}


@pytest.mark.parametrize(
    ("name", "labels", "first", "last", "count"),
    [
        (
            "scheduler_scheduling_attempt_duration_seconds",
            {"result": "scheduled", "profile": "p"},
            0.001,
            16.384,
            15,
        ),
        ("scheduler_scheduling_algorithm_duration_seconds", {}, 0.001, 16.384, 15),
        (
            "scheduler_podgroup_scheduling_attempt_duration_seconds",
            {"result": "scheduled", "profile": "p"},
            0.001,
            16.384,
            15,
        ),
        ("scheduler_podgroup_scheduling_algorithm_duration_seconds", {}, 0.001, 16.384, 15),
        (
            "scheduler_framework_extension_point_duration_seconds",
            {"extension_point": "Filter", "status": "Success", "profile": "p"},
            0.0001,
            0.2048,
            12,
        ),
        ("scheduler_pod_scheduling_sli_duration_seconds", {"attempts": "1"}, 0.01, 5242.88, 20),
        ("scheduler_pod_scheduling_attempts", {}, 1, 16, 5),
        ("scheduler_preemption_victims", {}, 1, 64, 7),
        ("scheduler_workload_preemption_victims", {}, 1, 1024, 11),
        ("scheduler_preemption_workload_disruptions", {"preemptor": "pod"}, 1, 1024, 11),
        ("scheduler_preemption_evaluation_duration_seconds", DECIDED, 0.001, 32.768, 16),
        ("scheduler_preemption_execution_duration_seconds", ENDED, 0.001, 32.768, 16),
        ("scheduler_placement_evaluation_duration_seconds", TRIED, 0.001, 16.384, 15),
    ],
)
def test_histograms_have_kube_schedulers_buckets(
    name: str, labels: dict[str, str], first: float, last: float, count: int
) -> None:
    """Names, labels and bounds are those of kube-scheduler 1.37."""
    telemetry = PrometheusTelemetry()
    telemetry.attempt("scheduled", "p", 0.01)
    telemetry.algorithm(0.001)
    telemetry.group_attempt("scheduled", "p", 0.01)
    telemetry.group_algorithm(0.001)
    telemetry.extension_point("Filter", "Success", "p", 0.001)
    telemetry.bound(1, 0.1)
    telemetry.preempted("pod", 2, 1, 0)
    telemetry.preempted("podgroup", 2, 0, 0)
    telemetry.preemption_decided("pod", "Success", 0.01)
    telemetry.preemption_ended("podgroup", "error", 0.01)
    telemetry.placement_tried("feasible", "p", 0.01)
    found = [dict(key) for n, key in samples(telemetry) if n == f"{name}_bucket"]
    bounds = sorted(float(found_labels.pop("le")) for found_labels in found)
    assert all(found_labels == labels for found_labels in found)
    assert bounds[:-1] == pytest.approx(exponential(first, bounds[1] / bounds[0], count))
    assert (bounds[0], bounds[-2]) == pytest.approx((first, last), rel=1e-4)


def test_a_day_in_the_life() -> None:
    """Each call moves its metric."""
    t = PrometheusTelemetry()
    t.attempt("unschedulable", "p", 0.01)
    t.bound(3, 0.5)
    t.bound(40, 90.0)
    t.preemption_attempt()
    t.preempted("pod", 3, 0, 2)
    t.preempted("podgroup", 5, 2, 0)
    t.group_preemption_attempt("Unschedulable")
    t.placements_found("p", 7)
    t.placement_tried("infeasible", "p", 0.5)
    t.pod_queued("active", "PodAdd", "podgroup")
    t.pod_queued("active", "PodAdd", "")
    t.entities({("active", "pod"): 4, ("backoff", "podgroup"): 1})
    t.entities({("active", "pod"): 3, ("backoff", "podgroup"): 0})
    t.group_attempt("waiting_on_preemption", "p", 0.25)
    t.group_algorithm(0.125)
    t.kubelet_rejected("p", "OutOfcpu")
    t.permit_wait("Success", 3.0)
    t.in_flight({"PodPopped": 9, "NodeAdd": 1})
    t.in_flight({"PodPopped": 2})
    t.differences({"missed pod": 2})
    t.differences({"missed pod": 1})
    t.cache_sizes({"active": 1, "gated": 2}, {"nodes": 5, "assumed_pods": 6})
    t.leading("moorage", True)
    t.event_loop_lag(0.02)
    t.event("dropped")
    t.request("api:6443", "POST", "201", 0.004)
    for want, name, labels in [
        (1, "scheduler_schedule_attempts_total", {"result": "unschedulable", "profile": "p"}),
        (1, "scheduler_pod_scheduling_sli_duration_seconds_count", {"attempts": "3"}),
        (1, "scheduler_pod_scheduling_sli_duration_seconds_count", {"attempts": "15+"}),
        (2, "scheduler_pod_scheduling_attempts_count", {}),
        (1, "scheduler_preemption_attempts_total", {}),
        (3, "scheduler_preemption_victims_sum", {}),
        (5, "scheduler_workload_preemption_victims_sum", {}),
        (2, "scheduler_preemption_workload_disruptions_sum", {"preemptor": "podgroup"}),
        (2, "scheduler_preemption_pdb_violations_total", {"preemptor": "pod"}),
        (1, "scheduler_workload_preemption_attempts_total", {"result": "Unschedulable"}),
        (7, "scheduler_generated_placements_total", {"profile": "p"}),
        (1, "scheduler_placement_evaluations_total", {"result": "infeasible", "profile": "p"}),
        (3, "scheduler_preemption_victims_sum", {}),
        (2, "scheduler_queue_incoming_pods_total", {"queue": "active", "event": "PodAdd"}),
        (
            1,
            "scheduler_queue_incoming_entities_total",
            {"queue": "active", "event": "PodAdd", "type": "podgroup"},
        ),
        (3, "scheduler_queued_entities", {"queue": "active", "type": "pod"}),
        (0, "scheduler_queued_entities", {"queue": "backoff", "type": "podgroup"}),
        (
            1,
            "scheduler_podgroup_schedule_attempts_total",
            {"result": "waiting_on_preemption", "profile": "p"},
        ),
        (
            0.25,
            "scheduler_podgroup_scheduling_attempt_duration_seconds_sum",
            {"result": "waiting_on_preemption", "profile": "p"},
        ),
        (0.125, "scheduler_podgroup_scheduling_algorithm_duration_seconds_sum", {}),
        (2, "scheduler_pending_pods", {"queue": "gated"}),
        (1, "moorage_kubelet_rejections_total", {"profile": "p", "reason": "OutOfcpu"}),
        (1, "moorage_cache_differences", {"kind": "missed pod"}),
        (3, "scheduler_permit_wait_duration_seconds_sum", {"result": "Success"}),
        (2, "scheduler_inflight_events", {"event": "PodPopped"}),
        (None, "scheduler_inflight_events", {"event": "NodeAdd"}),
        (6, "scheduler_cache_size", {"type": "assumed_pods"}),
        (1, "leader_election_master_status", {"name": "moorage"}),
        (1, "moorage_event_loop_lag_seconds_count", {}),
        (1, "moorage_events_total", {"result": "dropped"}),
        (1, "rest_client_requests_total", {"code": "201", "method": "POST", "host": "api:6443"}),
        (1, "rest_client_request_duration_seconds_count", {"verb": "POST", "host": "api:6443"}),
    ]:
        assert value(t, name, **labels) == want, name


def test_gauges_forget_what_is_gone() -> None:
    """A plugin, gate or revision that is no longer reported has no sample left."""
    t = PrometheusTelemetry()
    t.unschedulable([("NodeAffinity", "p", 3), ("NodePorts", "p", 1)])
    t.unschedulable([("NodePorts", "p", 2)])
    assert value(t, "scheduler_unschedulable_pods", plugin="NodeAffinity", profile="p") is None
    assert value(t, "scheduler_unschedulable_pods", plugin="NodePorts", profile="p") == 2
    t.gated({"a": 1})
    t.gated({"b": 1})
    assert (
        value(t, "moorage_gated_pods", gate="a") is None
        and value(t, "moorage_gated_pods", gate="b") == 1
    )
    t.profiles([ProfileFigures("p", "r1", 0, 0), ProfileFigures("q", "r9", 0, 0)])
    t.profiles([ProfileFigures("p", "r2", 1, 0), ProfileFigures("q", "r9", 0, 3)])
    assert value(t, "moorage_profile_revision_info", profile="p", revision="r1") is None
    assert value(t, "moorage_profile_revision_info", profile="p", revision="r2") == 1
    assert value(t, "moorage_profile_revision_info", profile="q", revision="r9") == 1
    assert value(t, "moorage_superseded_revisions", profile="p") == 1
    errors = {name: value(t, "moorage_profile_errors", profile=name) for name in "pq"}
    assert errors == {"p": 0, "q": 3}
    t.profiles([ProfileFigures("p", "", 0, 0)])
    for profile, revision in (("p", "r2"), ("q", "r9")):
        assert value(t, "moorage_profile_revision_info", profile=profile, revision=revision) is None
    assert value(t, "moorage_superseded_revisions", profile="p") == 0
    assert value(t, "moorage_superseded_revisions", profile="q") is None


def test_series_of_names_do_not_grow_for_ever() -> None:
    """Of a metric's label sets the first made go; those that are left count on."""
    telemetry = PrometheusTelemetry()
    for i in range(MAX_SERIES + 10):
        telemetry.swap(f"p{i}", "swapped", 0.001)
    telemetry.swap(f"p{MAX_SERIES}", "swapped", 0.001)
    found = {
        dict(labels)["profile"]: number
        for (name, labels), number in samples(telemetry).items()
        if name == "moorage_swaps_total"
    }
    assert set(found) == {f"p{i}" for i in range(10, MAX_SERIES + 10)}
    assert found[f"p{MAX_SERIES}"] == 2


def test_refused_swaps_have_no_duration() -> None:
    """A refusal counts, but only a swap has a critical section."""
    t = PrometheusTelemetry()
    t.swap("p", "refused", 0.0)
    t.swap("p", "swapped", 0.002)
    assert value(t, "moorage_swaps_total", profile="p", result="refused") == 1
    assert value(t, "moorage_swap_duration_seconds_count") == 1


def test_pulled_gauges_are_read_at_the_scrape() -> None:
    """Nothing is pushed: the number is read when it is asked for, labelled or not."""
    t = PrometheusTelemetry()
    ages: dict[str, float] = {"pods": 1.0}
    t.pull("moorage_watch_age_seconds", "Age.", "resource", lambda: ages)
    t.pull("moorage_fenced_writes_total", "Refused.", "", lambda: {"": 7.0})
    ages["nodes"] = 4.0
    assert value(t, "moorage_watch_age_seconds", resource="nodes") == 4
    assert value(t, "moorage_fenced_writes_total") == 7


def test_two_registries_do_not_meet() -> None:
    """Two instances in one process count apart, with the process' own metrics in each, and no
    _created noise.
    """
    one, other = PrometheusTelemetry(), PrometheusTelemetry()
    one.event("sent")
    assert value(one, "moorage_events_total", result="sent") == 1
    assert value(other, "moorage_events_total", result="sent") is None
    assert value(one, "process_resident_memory_bytes")
    assert b"_created" not in one.render()


def test_it_is_a_telemetry() -> None:
    """The adapter has the port's shape."""
    telemetry: Telemetry = PrometheusTelemetry()
    wanted: set[Any] = {name for name in vars(Telemetry) if not name.startswith("_")}
    assert wanted <= set(dir(telemetry))
