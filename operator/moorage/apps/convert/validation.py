"""Validation: what kube-scheduler refuses in a configuration that it could decode, arguments of
plugins aside: its paths, its words.
"""

from __future__ import annotations

from collections.abc import Iterator

from moorage.api import extender_rules
from moorage.apps.convert.kube_configuration import (
    API_VERSION,
    KubeSchedulerConfiguration,
    KubeSchedulerProfile,
    LeaderElectionConfiguration,
)
from moorage.apps.convert.kube_plugins import GROUP_POST_FILTER, POINTS, REMOVED
from moorage.core.framework.arguments import FieldErrorType, Violation

_GONE = f'was invalid in version "v1" (KubeSchedulerConfiguration is version "{API_VERSION}")'


def violations(config: KubeSchedulerConfiguration) -> Iterator[Violation]:
    """Everything, in the order of the fields."""
    if config.parallelism <= 0:
        text = "should be an integer value greater than zero"
        yield Violation("parallelism", config.parallelism, text)
    yield from _of_leader_election(config.leader_election)
    if (burst := config.client_connection.burst) < 0:
        yield Violation("clientConnection.burst", burst, "must be non-negative")
    yield from _of_percentage("percentageOfNodesToScore", config.percentage_of_nodes_to_score)
    if (initial := config.pod_initial_backoff_seconds) <= 0:
        yield Violation("podInitialBackoffSeconds", initial, "must be greater than 0")
    if config.pod_max_backoff_seconds < config.pod_initial_backoff_seconds:
        text = "must be greater than or equal to PodInitialBackoffSeconds"
        yield Violation("podMaxBackoffSeconds", config.pod_max_backoff_seconds, text)
    yield from _of_profiles(config.profiles)
    yield from extender_rules.violations(config.extenders)


def _of_percentage(path: str, value: int | None) -> Iterator[Violation]:
    if value is not None and not 0 <= value <= 100:
        yield Violation(path, value, "not in valid range [0-100]")


def _of_leader_election(election: LeaderElectionConfiguration) -> Iterator[Violation]:
    """Nothing when there is no election."""
    if not election.leader_elect:
        return
    path, lease, renew = "leaderElection", election.lease_duration, election.renew_deadline
    times = {"leaseDuration": lease, "renewDeadline": renew, "retryPeriod": election.retry_period}
    for name, value in times.items():
        if value <= 0:
            yield Violation(f"{path}.{name}", value, "must be greater than zero")
    if lease <= renew:
        yield Violation(f"{path}.leaseDuration", renew, "must be greater than `RenewDeadline`")
    if (lock := election.resource_lock) != "leases":
        yield Violation(f"{path}.resourceLock", lock, 'resourceLock value must be "leases"')


# ---- profiles ------------------------------------------------------------------------------------


def _of_profiles(profiles: tuple[KubeSchedulerProfile, ...]) -> Iterator[Violation]:
    names: dict[str | None, str] = {}
    for i, profile in enumerate(profiles):
        path, name = f"profiles[{i}]", profile.scheduler_name or ""
        yield from _of_profile(path, profile)
        if name in names:
            text, kind = "another profile has this name", FieldErrorType.DUPLICATE
            yield Violation(f"{path}.schedulerName", names[name], text, kind)
        names.setdefault(name, path)
        if profile.plugins.queue_sort != profiles[0].plugins.queue_sort:
            yield Violation(f"{path}.plugins.queueSort", "{…}", "must be the same for all profiles")
    if profiles and len(profiles[0].plugins.queue_sort.enabled) > 1:
        text = "only one queue sort plugin can be enabled"
        yield Violation("profiles[0].plugins.queueSort.Enabled", "[…]", text)


def _of_profile(path: str, profile: KubeSchedulerProfile) -> Iterator[Violation]:
    if not (name := profile.scheduler_name):
        kind = FieldErrorType.REQUIRED
        yield Violation(f"{path}.schedulerName", name, "Required value", kind)
    percentage = profile.percentage_of_nodes_to_score
    yield from _of_percentage(f"{path}.percentageOfNodesToScore", percentage)
    for point in (*POINTS, GROUP_POST_FILTER):
        for i, plugin in enumerate(profile.plugins.at(point).enabled):
            if plugin.name in REMOVED:
                yield Violation(f"{path}.plugins.{point}.enabled[{i}]", plugin.name, _GONE)
    for i, entry in enumerate(profile.plugin_config):
        place = f"{path}.pluginConfig[{i}]"
        if any(entry.name == other.name for other in profile.plugin_config[:i]):
            yield Violation(place, entry.name, "stands here twice", FieldErrorType.DUPLICATE)
        elif entry.name in REMOVED:
            yield Violation(place, entry.name, _GONE)
