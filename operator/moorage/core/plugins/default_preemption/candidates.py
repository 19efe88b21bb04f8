"""Candidates of preemption, and which one does the least harm."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from moorage.core.objects.pods import Pod, priority

NOT_STARTED = "~"
"""Sorts behind every time. A pod without a start counts as started just now."""

_PRIORITIES_FROM = -(2**31)


class PreemptionCandidate(NamedTuple):
    """A row where the pod fits once the victims are gone, the most important of them first."""

    row: int
    victims: tuple[Pod, ...]
    num_pdb_violations: int
    """How many of them a disruption budget protects."""
    cost: tuple[int, int, int, int]
    """Budget violations, the first victim's priority, the sum of priorities (each made positive),
    how many victims: the less the better.
    """
    started: str
    """When the first of the victims of highest priority started: the later the better."""


RowOutcome = PreemptionCandidate | tuple[str, ...]
"""What came of a row: a candidate, or the reasons why it is none."""


def choose(candidates: Sequence[PreemptionCandidate]) -> PreemptionCandidate:
    """The one that does least harm; among equals the one whose best victims started last, then the
    first.
    """
    least = min(candidate.cost for candidate in candidates)
    return max((one for one in candidates if one.cost == least), key=lambda one: one.started)


def candidate_of(row: int, victims: tuple[Pod, ...], violations: int) -> PreemptionCandidate:
    """The candidate with what candidates are compared by. Here the pods' own priorities count, also
    where they are of a PodGroup, as in kube-scheduler.
    """
    priorities = [priority(victim) for victim in victims]
    cost = (
        violations,
        priorities[0],
        sum(each - _PRIORITIES_FROM for each in priorities),
        len(priorities),
    )
    highest = max(priorities)
    started = min(
        start_time(victim)
        for victim, each in zip(victims, priorities, strict=True)
        if each == highest
    )
    return PreemptionCandidate(row, victims, violations, cost, started)


def start_time(pod: Pod) -> str:
    """RFC 3339 in UTC with whole seconds, as API servers write it: sorts by time."""
    return pod.status.start_time or NOT_STARTED
