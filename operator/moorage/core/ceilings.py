"""Ceilings: how much of a kind a pod may ask for before it is refused by name instead of looked at.

What is done for one entry of such a list cannot be cut in pieces, so without an end one pod could hold up all decisions. Real pods stay
far below: the API server allows what fits into 1.5 MiB. docs/limits.md lists them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from moorage.core.objects import LabelSelector, NodeSelectorTerm, Pod, PodAffinityTerm, Volume

SMALL = 900
"""Bytes of a template's key below which nothing can be above its ceiling, so that ordinary pods are not counted through."""


class TooLarge(Exception):
    """A pod asks for more of something than is looked at; says what."""


class Ceiling(NamedTuple):
    """``count(pod)`` is how many ``things`` there are in ``field``; more than ``most`` are refused."""

    field: str
    things: str
    most: int
    count: Callable[[Pod], int]


def too_large(pod: Pod) -> str:
    """What of a pod is above its ceiling, "" when nothing is."""
    for field, things, most, count in CEILINGS:
        if (found := count(pod)) > most:
            return f"{field} has {found} {things}, and more than {most} are not looked at; ask for the same with fewer"
    return ""


def _containers(pod: Pod) -> int:
    return len(pod.spec.containers or ()) + len(pod.spec.init_containers or ())


def _resources(pod: Pod) -> int:
    lists = (one.resources for one in (*(pod.spec.containers or ()), *(pod.spec.init_containers or ())))
    return sum(len(one.requests or ()) for one in lists if one is not None)


def _ports(pod: Pod) -> int:
    return sum(len(one.ports or ()) for one in (*(pod.spec.containers or ()), *(pod.spec.init_containers or ())))


def _node_expressions(pod: Pod) -> int:
    affinity = pod.spec.affinity.node_affinity if pod.spec.affinity is not None else None
    if affinity is None:
        return 0
    required = affinity.required_during_scheduling_ignored_during_execution
    terms: Iterable[NodeSelectorTerm] = (required.node_selector_terms or ()) if required is not None else ()
    preferred = (one.preference for one in affinity.preferred_during_scheduling_ignored_during_execution or ())
    return sum(1 + len(one.match_expressions or ()) + len(one.match_fields or ()) for one in (*terms, *preferred))


def _pod_terms(pod: Pod) -> list[PodAffinityTerm]:
    affinity = pod.spec.affinity
    found: list[PodAffinityTerm] = []
    for one in (affinity.pod_affinity, affinity.pod_anti_affinity) if affinity is not None else ():
        if one is not None:
            found += one.required_during_scheduling_ignored_during_execution or ()
            found += (weighed.pod_affinity_term for weighed in one.preferred_during_scheduling_ignored_during_execution or ())
    return found


def _volumes(pod: Pod) -> int:
    return sum(volume != Volume(volume.name) for volume in pod.spec.volumes or ())


def _size(selector: LabelSelector | None) -> int:
    """How many labels and values a selector names."""
    if selector is None:
        return 0
    return len(selector.match_labels or ()) + sum(1 + len(one.values or ()) for one in selector.match_expressions or ())


def _pod_selectors(pod: Pod) -> int:
    terms = (_size(one.label_selector) + _size(one.namespace_selector) + len(one.namespaces or ()) for one in _pod_terms(pod))
    spread = (_size(one.label_selector) + len(one.match_label_keys or ()) for one in pod.spec.topology_spread_constraints or ())
    return sum(terms) + sum(spread)


CEILINGS = (
    Ceiling("spec.containers and initContainers", "containers", 1000, _containers),
    Ceiling("resources of all containers", "requests", 5000, _resources),
    Ceiling("ports of all containers", "ports", 1000, _ports),
    Ceiling("spec.nodeSelector", "labels", 1000, lambda pod: len(pod.spec.node_selector or ())),
    Ceiling("spec.affinity.nodeAffinity", "terms and expressions (of any number of values)", 1000, _node_expressions),
    Ceiling("spec.affinity.podAffinity and podAntiAffinity", "terms", 200, lambda pod: len(_pod_terms(pod))),
    Ceiling("spec.topologySpreadConstraints", "constraints", 100, lambda pod: len(pod.spec.topology_spread_constraints or ())),
    Ceiling("selectors about pods", "labels, values and namespaces", 5000, _pod_selectors),
    Ceiling("spec.tolerations", "tolerations", 1000, lambda pod: len(pod.spec.tolerations or ())),
    Ceiling("spec.volumes", "volumes of claims and disks", 1000, _volumes),
    Ceiling("spec.resourceClaims", "claims", 100, lambda pod: len(pod.spec.resource_claims or ())),
)
