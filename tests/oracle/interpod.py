"""Inter-pod affinity, naively: every term is put to every pod again for every node. What
InterPodAffinity must agree with.
"""

from __future__ import annotations

from collections.abc import Iterator

from moorage.core.objects.meta import Namespace
from moorage.core.objects.nodes import Node
from moorage.core.objects.pods import (
    Affinity,
    Pod,
    PodAffinity,
    PodAffinityTerm,
    WeightedPodAffinityTerm,
)
from moorage.core.plugins.inter_pod_affinity.plugin import InterPodAffinityArgs
from tests.oracle.cluster import Cluster
from tests.oracle.selectors import is_empty, selects

BESIDE = "node(s) didn't match pod affinity rules"
AWAY = "node(s) didn't match pod anti-affinity rules"
REPELLED = "node(s) didn't satisfy existing pods anti-affinity rules"


def _lists(pod: Pod) -> tuple[PodAffinity, PodAffinity]:
    affinity = pod.spec.affinity or Affinity()
    return affinity.pod_affinity or PodAffinity(), affinity.pod_anti_affinity or PodAffinity()


def required(pod: Pod) -> tuple[tuple[PodAffinityTerm, ...], tuple[PodAffinityTerm, ...]]:
    """The required terms of affinity and of anti-affinity."""
    towards, away = _lists(pod)
    return (
        towards.required_during_scheduling_ignored_during_execution or (),
        away.required_during_scheduling_ignored_during_execution or (),
    )


def preferred(pod: Pod) -> list[tuple[int, PodAffinityTerm]]:
    """The preferred terms with their weights, negative for anti-affinity."""
    towards, away = _lists(pod)
    here: tuple[WeightedPodAffinityTerm, ...] = (
        towards.preferred_during_scheduling_ignored_during_execution or ()
    )
    there: tuple[WeightedPodAffinityTerm, ...] = (
        away.preferred_during_scheduling_ignored_during_execution or ()
    )
    return [(one.weight, one.pod_affinity_term) for one in here] + [
        (-one.weight, one.pod_affinity_term) for one in there
    ]


def speaks_of(
    term: PodAffinityTerm, owner: Pod, other: Pod, cluster: Cluster, incoming: bool
) -> bool:
    """Whether a term of ``owner`` speaks of ``other``.

    A missing namespace has no labels to a carried term, and is none to an ``incoming`` one.
    """
    named = term.namespaces or (
        () if term.namespace_selector is not None else (owner.metadata.namespace,)
    )
    mine = [
        one for one in cluster.of_kind(Namespace) if one.metadata.name == other.metadata.namespace
    ]
    if is_empty(term.namespace_selector):
        by_labels = True
    elif mine:
        by_labels = selects(term.namespace_selector, mine[0].metadata.labels)
    else:
        by_labels = not incoming and selects(term.namespace_selector, None)
    return (other.metadata.namespace in named or by_labels) and selects(
        term.label_selector, other.metadata.labels
    )


def beside(node: Node, other: Node, key: str) -> bool:
    """Whether two nodes are in the same domain of a topology."""
    mine, its = (one.metadata.labels or {} for one in (node, other))
    return key in mine and mine.get(key) == its.get(key)


def others(cluster: Cluster) -> Iterator[tuple[Pod, Node]]:
    """The pods that are on nodes which are there."""
    for node in cluster.nodes:
        for pod in cluster.pods_on(node):
            yield pod, node


def refusal(pod: Pod, node: Node, cluster: Cluster, args: InterPodAffinityArgs) -> str | None:
    """Why a node is refused."""
    affinity, anti = required(pod)
    groups = [affinity] if args.terms_met_by == "SamePod" else [(term,) for term in affinity]
    if not all(_met(terms, pod, node, cluster) for terms in groups if terms):
        return BESIDE
    for other, where in others(cluster):
        for term in anti:
            if beside(node, where, term.topology_key) and speaks_of(
                term, pod, other, cluster, incoming=True
            ):
                return AWAY
    for other, where in others(cluster):
        for term in required(other)[1]:
            if beside(node, where, term.topology_key) and speaks_of(
                term, other, pod, cluster, incoming=False
            ):
                return REPELLED
    return None


def _met(terms: tuple[PodAffinityTerm, ...], pod: Pod, node: Node, cluster: Cluster) -> bool:
    """Whether pods that meet all of these terms are in all of the node's domains, or the pod may be
    the first of them.
    """
    if any(term.topology_key not in (node.metadata.labels or {}) for term in terms):
        return False
    meeting = [
        where
        for other, where in others(cluster)
        if all(speaks_of(term, pod, other, cluster, incoming=True) for term in terms)
    ]
    if all(any(beside(node, where, term.topology_key) for where in meeting) for term in terms):
        return True
    anywhere = any(
        term.topology_key in (where.metadata.labels or {}) for term in terms for where in meeting
    )
    return not anywhere and all(speaks_of(term, pod, pod, cluster, incoming=True) for term in terms)


def _weighed(
    pod: Pod, cluster: Cluster, args: InterPodAffinityArgs
) -> Iterator[tuple[int, str, Node]]:
    """(weight, topology key, where) of everything that ranks."""
    for other, where in others(cluster):
        for weight, term in preferred(pod):
            if speaks_of(term, pod, other, cluster, incoming=True):
                yield weight, term.topology_key, where
        for weight, term in preferred(other):
            if speaks_of(term, other, pod, cluster, incoming=False):
                yield weight, term.topology_key, where
        for term in required(other)[0] if args.hard_pod_affinity_weight else ():
            if speaks_of(term, other, pod, cluster, incoming=False):
                yield args.hard_pod_affinity_weight, term.topology_key, where


def scores(
    pod: Pod, candidates: list[Node], cluster: Cluster, args: InterPodAffinityArgs
) -> tuple[list[int], list[int]] | None:
    """Raw and normalised scores; None when nothing ranks."""
    if args.ignore_preferred_terms_of_existing_pods and not preferred(pod):
        return None
    weighed = [
        one for one in _weighed(pod, cluster, args) if one[1] in (one[2].metadata.labels or {})
    ]
    if not weighed:
        return None
    raw = [
        sum(weight for weight, key, where in weighed if beside(node, where, key))
        for node in candidates
    ]
    low, high = min(raw), max(raw)
    return raw, [int(100.0 * ((score - low) / (high - low))) if high > low else 0 for score in raw]
