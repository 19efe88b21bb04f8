"""Metrics of preemption, and of attempts of pod groups with their placements."""

from __future__ import annotations

from prometheus_client import CollectorRegistry

from moorage.adapters.prometheus.collectors import Declarations, exponential


class GroupMetrics(Declarations):
    """That part of ``ports.telemetry.Telemetry``."""

    def __init__(self, registry: CollectorRegistry) -> None:
        super().__init__(registry)
        self._group_attempts = self._counter(
            "scheduler_podgroup_schedule_attempts_total",
            (
                "Attempts to schedule pod groups, by result (scheduled, unschedulable, "
                "waiting_on_preemption, error)."
            ),
            "result",
            "profile",
        )
        self._group_attempt_seconds = self._histogram(
            "scheduler_podgroup_scheduling_attempt_duration_seconds",
            "Attempt of a pod group, without binding.",
            exponential(0.001, 2, 15),
            "result",
            "profile",
        )
        self._group_algorithm_seconds = self._histogram(
            "scheduler_podgroup_scheduling_algorithm_duration_seconds",
            "Decision about a pod group, before room is made for it.",
            exponential(0.001, 2, 15),
        )()
        self._placements = self._counter(
            "scheduler_generated_placements_total",
            (
                "Sets of nodes in which a pod group might lie: one of all nodes where it asks for "
                "no topology."
            ),
            "profile",
        )
        self._placements_tried = self._counter(
            "scheduler_placement_evaluations_total",
            "Placements on which a pod group was tried, by result (feasible, infeasible).",
            "result",
            "profile",
        )
        self._placement_seconds = self._histogram(
            "scheduler_placement_evaluation_duration_seconds",
            (
                "Trial of a pod group on one placement, by result (feasible, infeasible), with "
                "what others had their turn for meanwhile."
            ),
            exponential(0.001, 2, 15),
            "result",
            "profile",
        )
        self._preemption_attempts = self._counter(
            "scheduler_preemption_attempts_total", "Attempts to make room for a pod by preemption."
        )()
        self._group_preemption_attempts = self._counter(
            "scheduler_workload_preemption_attempts_total",
            "Attempts to make room for a pod group by preemption, by result (the code's name).",
            "result",
        )
        self._preemption_seconds = self._histogram(
            "scheduler_preemption_evaluation_duration_seconds",
            ("Decision who is to go, by preemptor (pod, podgroup) and result (the code's name)."),
            exponential(0.001, 2, 16),
            "preemptor",
            "result",
        )
        self._eviction_seconds = self._histogram(
            "scheduler_preemption_execution_duration_seconds",
            (
                "Requests to have the victims go, by preemptor (pod, podgroup) and result "
                "(success, error)."
            ),
            exponential(0.001, 2, 16),
            "preemptor",
            "result",
        )
        self._victims = self._histogram(
            "scheduler_preemption_victims",
            "Victims of a preemption for a pod.",
            exponential(1, 2, 7),
        )()
        self._group_victims = self._histogram(
            "scheduler_workload_preemption_victims",
            "Victims of a preemption for a pod group.",
            exponential(1, 2, 11),
        )()
        self._disrupted_groups = self._histogram(
            "scheduler_preemption_workload_disruptions",
            (
                "Units of pod groups among the victims of a preemption that hits any: a whole "
                "group with disruption mode all, else a pod; by preemptor (pod, podgroup)."
            ),
            exponential(1, 2, 11),
            "preemptor",
        )
        self._violations = self._counter(
            "scheduler_preemption_pdb_violations_total",
            (
                "Victims of preemptions whose disruption budget had nothing left, by preemptor "
                "(pod, podgroup)."
            ),
            "preemptor",
        )

    def group_attempt(self, result: str, profile: str, seconds: float) -> None:
        self._group_attempts(result, profile).inc()
        self._group_attempt_seconds(result, profile).observe(seconds)

    def group_algorithm(self, seconds: float) -> None:
        self._group_algorithm_seconds.observe(seconds)

    def placements_found(self, profile: str, number: int) -> None:
        self._placements(profile).inc(number)

    def placement_tried(self, result: str, profile: str, seconds: float) -> None:
        self._placements_tried(result, profile).inc()
        self._placement_seconds(result, profile).observe(seconds)

    def preemption_attempt(self) -> None:
        self._preemption_attempts.inc()

    def group_preemption_attempt(self, result: str) -> None:
        self._group_preemption_attempts(result).inc()

    def preemption_decided(self, preemptor: str, result: str, seconds: float) -> None:
        self._preemption_seconds(preemptor, result).observe(seconds)

    def preempted(self, preemptor: str, victims: int, groups: int, violations: int) -> None:
        (self._victims if preemptor == "pod" else self._group_victims).observe(victims)
        if groups:
            self._disrupted_groups(preemptor).observe(groups)
        if violations:
            self._violations(preemptor).inc(violations)

    def preemption_ended(self, preemptor: str, result: str, seconds: float) -> None:
        self._eviction_seconds(preemptor, result).observe(seconds)
