"""Telemetry: what is counted and measured, without the library that does it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple, Protocol


class ProfileFigures(NamedTuple):
    """What is told of a profile."""

    profile: str
    revision: str
    """The one that decides; "" for none."""
    superseded: int
    """How many older ones cycles still hold."""
    errors: int
    """How many things are wrong with its spec and references."""


class Telemetry(Protocol):
    """What is measured. Names of metrics, buckets and labels are the adapter's business."""

    def attempt(self, result: str, profile: str, seconds: float) -> None:
        """A scheduling attempt ended: result is scheduled, unschedulable or error."""

    def algorithm(self, seconds: float) -> None:
        """A decision took this long."""

    def group_attempt(self, result: str, profile: str, seconds: float) -> None:
        """An attempt of a pod group ended, its bindings left out: result is scheduled,
        unschedulable, waiting_on_preemption or error.
        """

    def group_algorithm(self, seconds: float) -> None:
        """To decide about a pod group took this long, with no room made for it yet."""

    def extension_point(self, point: str, status: str, profile: str, seconds: float) -> None:
        """All plugins of an extension point ran."""

    def bound(self, attempts: int, sli_seconds: float) -> None:
        """A pod was bound after so many attempts, so long after it was first queued (gated time
        left out).
        """

    def preemption_attempt(self) -> None:
        """DefaultPreemption was asked to make room for a pod, whether it could or not."""

    def group_preemption_attempt(self, result: str) -> None:
        """DefaultPreemption was asked to make room for a pod group; the result is a code's name."""

    def preemption_decided(self, preemptor: str, result: str, seconds: float) -> None:
        """To find out who is to go for a pod or podgroup took this long; the result is a code's
        name.
        """

    def preempted(self, preemptor: str, victims: int, groups: int, violations: int) -> None:
        """So many pods are to go for one pod or podgroup; some of them may be going already, but
        not all. They are of so many units of pod groups, and a disruption budget protects so many.
        """

    def preemption_ended(self, preemptor: str, result: str, seconds: float) -> None:
        """To have the victims of a pod or podgroup go took this long: result is success or
        error.
        """

    def placements_found(self, profile: str, number: int) -> None:
        """So many placements may be tried for a pod group."""

    def placement_tried(self, result: str, profile: str, seconds: float) -> None:
        """A pod group was tried on a placement: result is feasible or infeasible."""

    def node_changed(self, profile: str) -> None:
        """A pod was not bound as somebody else changed its node after it was chosen."""

    def permit_wait(self, result: str, seconds: float) -> None:
        """A pod was held at permit for so long; the result is a code's name."""

    def in_flight(self, events: Mapping[str, int]) -> None:
        """Events that are kept for pods whose attempt is running, by event, and how many pods those
        are (PodPopped).
        """

    def kubelet_rejected(self, profile: str, reason: str) -> None:
        """A kubelet refused a pod that had been bound to its node."""

    def differences(self, counts: Mapping[str, int]) -> None:
        """What the last comparison with the API server found, by kind."""

    def repaired(self, resource: str, difference: str) -> None:
        """An object that a watch had not told of was found by comparing, and put right: missed,
        stale or redundant.
        """

    def expression_failed(self, plugin: str, point: str) -> None:
        """An expression of a plugin could not be evaluated, at this extension point, for a pod and
        nodes that are alike to it.
        """

    def pod_queued(self, queue: str, event: str, came: str) -> None:
        """A pod entered a queue for this event; with it came an entity: pod, podgroup, or none
        ("").
        """

    def cache_sizes(self, pending: Mapping[str, int], cache: Mapping[str, int]) -> None:
        """Pods by queue (active, backoff, unschedulable, gated); nodes, pods and assumed_pods in
        the cache.
        """

    def entities(self, counts: Mapping[tuple[str, str], int]) -> None:
        """(queue, type) -> pods that are in no group (pod), and pod groups (podgroup)."""

    def set_aside(self, counts: Mapping[str, int]) -> None:
        """Objects that are left out of account, as they cannot be read or something failed on them,
        by resource.
        """

    def unschedulable(self, counts: Iterable[tuple[str, str, int]]) -> None:
        """(plugin, profile, pods that it refused and that wait)."""

    def swap(self, profile: str, result: str, seconds: float) -> None:
        """A revision was swapped in (result swapped) or refused (result refused); seconds of the
        critical section.
        """

    def trial_pair(self, profile: str, outcome: str) -> None:
        """Two revisions have decided about one pod: same (node), elsewhere, neither (finds one),
        regression or improvement.
        """

    def trial_ended(self, profile: str, verdict: str) -> None:
        """A trial has come to its verdict."""

    def leading(self, name: str, leader: bool) -> None:
        """Whether this replica leads."""

    def event_loop_lag(self, seconds: float) -> None:
        """How late the event loop was."""

    def gated(self, counts: Mapping[str, int]) -> None:
        """Gated pods by the name of the gate."""

    def profiles(self, figures: Iterable[ProfileFigures]) -> None:
        """Those of every profile."""

    def plugin_error(self, plugin: str, point: str) -> None:
        """A plugin from outside the tree failed there."""

    def event(self, result: str) -> None:
        """An event was sent, merged (into a series), limited (by its object's rate), dropped (queue
        full) or failed.
        """

    def request(self, host: str, method: str, code: str, seconds: float) -> None:
        """A request to the API server was answered; ``code`` is the HTTP code or ``<error>``."""
