"""Ceilings: how much of a kind a pod may ask for before it is refused by name instead of looked at.

What is done for one entry of such a list cannot be cut in pieces, so without an end one pod could
hold up all decisions. Real pods stay far below: the API server allows what fits into 1.5 MiB.
docs/limits.md lists them.

Whoever has put a pod on a node did not ask about ceilings. There all that it takes counts, but of
what it says about other pods and of the volumes that it uses only so much as is looked at
(``terms_within``, ``volumes_within``); ``uncounted`` says whether that is all.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from moorage.core.objects.meta import HasMetadata
from moorage.core.objects.nodes import Node
from moorage.core.objects.pods import (
    Affinity,
    Pod,
    PodAffinity,
    PodAffinityTerm,
    Volume,
    WeightedPodAffinityTerm,
)
from moorage.core.objects.selector_terms import LabelSelector, NodeSelectorTerm
from moorage.core.objects.storage import CSINode, CSIStorageCapacity
from moorage.core.objects.workloads import Service

MAX_UNCHECKED_BYTES = 900
"""Bytes of a template's key below which nothing can be above its ceiling, so that ordinary pods are
not counted through.
"""

MAX_TERMS, MAX_WORDS, MAX_VOLUMES = 200, 5000, 1000
Terms = tuple[PodAffinityTerm, ...]
Weighed = tuple[WeightedPodAffinityTerm, ...]


class TooLarge(Exception):
    """A pod asks for more of something than is looked at, or another object has; says what."""


class Ceiling(NamedTuple):
    """``count(obj)`` is how many ``things`` there are in ``field``; more than ``most`` are
    refused.
    """

    field: str
    things: str
    most: int
    count: Callable[[Any], int]

    def excess(self, obj: HasMetadata) -> str:
        """What is said of an object that is above it, "" for any other."""
        if (found := self.count(obj)) <= self.most:
            return ""
        return (
            f"{self.field} has {found} {self.things}, and more than {self.most} are not looked at"
        )


def too_large(pod: Pod) -> str:
    """What of a pod is above its ceiling, "" when nothing is."""
    return next(
        (
            f"{excess}; ask for the same with fewer"
            for one in CEILINGS
            if (excess := one.excess(pod))
        ),
        "",
    )


def asks_too_much(pod: Pod) -> bool:
    """Whether what its containers ask for is more than is added up."""
    return _containers(pod) > _CONTAINERS.most or _resources(pod) > _RESOURCES.most


def check(obj: HasMetadata) -> None:
    """Raises TooLarge for an object, other than a pod, that is above its ceiling."""
    ceiling = OF_OTHERS.get(type(obj))
    if ceiling is not None and (excess := ceiling.excess(obj)):
        raise TooLarge(excess)


def uncounted(pod: Pod) -> str:
    """What of a pod that is on a node does not count there as it is above its ceiling, "" when all
    does.
    """
    if pod.spec.affinity is None and len(pod.spec.volumes or ()) <= MAX_VOLUMES:
        return ""
    excesses = (one.excess(pod) for one in (_TERMS, _SELECTORS, _VOLUMES))
    return next(
        (f"{excess}: the rest does not count for other pods" for excess in excesses if excess), ""
    )


def terms_within(affinity: Affinity) -> Affinity:
    """The terms about pods that are within the ceilings; what they forbid goes before what they
    require, and that before wishes.
    """
    room = _Room()
    away, towards = (
        affinity.pod_anti_affinity or PodAffinity(),
        affinity.pod_affinity or PodAffinity(),
    )
    forbidden = room.terms(away.required_during_scheduling_ignored_during_execution)
    required = room.terms(towards.required_during_scheduling_ignored_during_execution)
    wished = room.weighed(towards.preferred_during_scheduling_ignored_during_execution)
    unwished = room.weighed(away.preferred_during_scheduling_ignored_during_execution)
    return Affinity(
        pod_affinity=PodAffinity(required, wished),
        pod_anti_affinity=PodAffinity(forbidden, unwished),
    )


def volumes_within(pod: Pod) -> tuple[Volume, ...]:
    """Its volumes, but for those of claims and disks that are above the ceiling."""
    volumes = pod.spec.volumes or ()
    return (
        volumes
        if len(volumes) <= MAX_VOLUMES
        else tuple(itertools.islice(_asking(pod), MAX_VOLUMES))
    )


class _Room:
    """How much of the ceilings for terms is left."""

    def __init__(self) -> None:
        self._terms = MAX_TERMS
        self._words = MAX_WORDS

    def terms(self, terms: Terms | None) -> Terms:
        """Those of these that are within."""
        return tuple(filter(self._takes, terms or ()))

    def weighed(self, terms: Weighed | None) -> Weighed:
        """The preferred terms for which there is room."""
        return tuple(one for one in terms or () if self._takes(one.pod_affinity_term))

    def _takes(self, term: PodAffinityTerm) -> bool:
        """Whether this one is, too; then there is less room."""
        if not self._terms or (words := _words(term)) > self._words:
            return False
        self._terms -= 1
        self._words -= words
        return True


def _containers(pod: Pod) -> int:
    return len(pod.spec.containers or ()) + len(pod.spec.init_containers or ())


def _resources(pod: Pod) -> int:
    lists = (
        one.resources for one in (*(pod.spec.containers or ()), *(pod.spec.init_containers or ()))
    )
    return sum(len(one.requests or ()) for one in lists if one is not None)


def _ports(pod: Pod) -> int:
    return sum(
        len(one.ports or ())
        for one in (*(pod.spec.containers or ()), *(pod.spec.init_containers or ()))
    )


def _node_expressions(pod: Pod) -> int:
    affinity = pod.spec.affinity.node_affinity if pod.spec.affinity is not None else None
    if affinity is None:
        return 0
    required = affinity.required_during_scheduling_ignored_during_execution
    terms: Iterable[NodeSelectorTerm] = (
        (required.node_selector_terms or ()) if required is not None else ()
    )
    preferred = (
        one.preference
        for one in affinity.preferred_during_scheduling_ignored_during_execution or ()
    )
    return sum(
        1 + len(one.match_expressions or ()) + len(one.match_fields or ())
        for one in (*terms, *preferred)
    )


def _pod_terms(pod: Pod) -> list[PodAffinityTerm]:
    affinity = pod.spec.affinity
    found: list[PodAffinityTerm] = []
    for one in (affinity.pod_affinity, affinity.pod_anti_affinity) if affinity is not None else ():
        if one is not None:
            found += one.required_during_scheduling_ignored_during_execution or ()
            found += (
                weighed.pod_affinity_term
                for weighed in one.preferred_during_scheduling_ignored_during_execution or ()
            )
    return found


def _asking(pod: Pod) -> Iterator[Volume]:
    """The volumes that placement depends on."""
    return (volume for volume in pod.spec.volumes or () if volume != Volume(volume.name))


def _words(term: PodAffinityTerm) -> int:
    """How many labels, values and namespaces a term names."""
    return _size(term.label_selector) + _size(term.namespace_selector) + len(term.namespaces or ())


def _size(selector: LabelSelector | None) -> int:
    """How many labels and values a selector names."""
    if selector is None:
        return 0
    return len(selector.match_labels or ()) + sum(
        1 + len(one.values or ()) for one in selector.match_expressions or ()
    )


def _pod_selectors(pod: Pod) -> int:
    terms = map(_words, _pod_terms(pod))
    spread = (
        _size(one.label_selector) + len(one.match_label_keys or ())
        for one in pod.spec.topology_spread_constraints or ()
    )
    return sum(terms) + sum(spread)


_TERMS = Ceiling(
    "spec.affinity.podAffinity and podAntiAffinity",
    "terms",
    MAX_TERMS,
    lambda pod: len(_pod_terms(pod)),
)
_SELECTORS = Ceiling(
    "selectors about pods", "labels, values and namespaces", MAX_WORDS, _pod_selectors
)
_VOLUMES = Ceiling(
    "spec.volumes",
    "volumes of claims and disks",
    MAX_VOLUMES,
    lambda pod: sum(1 for _ in _asking(pod)),
)
_CONTAINERS = Ceiling("spec.containers and initContainers", "containers", 1000, _containers)
_RESOURCES = Ceiling("resources of all containers", "requests", 5000, _resources)
CEILINGS = (
    _CONTAINERS,
    _RESOURCES,
    Ceiling("ports of all containers", "ports", 1000, _ports),
    Ceiling("spec.nodeSelector", "labels", 1000, lambda pod: len(pod.spec.node_selector or ())),
    Ceiling(
        "spec.affinity.nodeAffinity",
        "terms and expressions (of any number of values)",
        1000,
        _node_expressions,
    ),
    _TERMS,
    Ceiling(
        "spec.topologySpreadConstraints",
        "constraints",
        100,
        lambda pod: len(pod.spec.topology_spread_constraints or ()),
    ),
    _SELECTORS,
    Ceiling("spec.tolerations", "tolerations", 1000, lambda pod: len(pod.spec.tolerations or ())),
    _VOLUMES,
    Ceiling("spec.resourceClaims", "claims", 100, lambda pod: len(pod.spec.resource_claims or ())),
)
OF_OTHERS: Mapping[type[Any], Ceiling] = {
    Node: Ceiling(
        "status.allocatable of a Node",
        "resources",
        1000,
        lambda node: len(node.status.allocatable or ()),
    ),
    Service: Ceiling(
        "spec.selector of a Service",
        "labels",
        1000,
        lambda service: len(service.spec.selector or ()),
    ),
    CSIStorageCapacity: Ceiling(
        "nodeTopology of a CSIStorageCapacity",
        "labels and values",
        1000,
        lambda capacity: _size(capacity.node_topology),
    ),
    CSINode: Ceiling(
        "spec.drivers of a CSINode", "drivers", 1000, lambda node: len(node.spec.drivers or ())
    ),
}
