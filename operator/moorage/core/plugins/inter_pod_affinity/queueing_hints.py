"""What makes a pod worth another attempt that terms keep from nodes, its own or others'."""

from __future__ import annotations

from collections.abc import Iterable

from kubefacts.labels import Selector
from moorage.core.columns.store import Lister
from moorage.core.framework.cluster_events import ClusterEvent
from moorage.core.objects.meta import Namespace
from moorage.core.objects.nodes import Node
from moorage.core.objects.pods import Pod
from moorage.core.plugins.inter_pod_affinity.term_matching import existing_term_matches
from moorage.core.pods.affinity_terms import AffinityTerm, AffinityTerms, pod_terms


def would_do_itself(terms: AffinityTerms, pod: Pod) -> bool:
    """Whether a pod's labels are what its own affinity asks for, so that it may be the first;
    namespaces are not looked at.
    """
    return all(term.selector.matches(pod.metadata.labels or {}) for term in terms)


def awaited_labels(pod: Pod) -> Iterable[Selector]:
    """The labels of pods that may meet one of its required terms."""
    terms = pod_terms(pod)
    return (term.selector for term in (*terms.affinity, *terms.anti_affinity))


def repelled_labels(event: ClusterEvent) -> Iterable[Selector]:
    """The labels of waiting pods that the terms of a pod which went have kept away."""
    gone = event.old if event.new is None else None
    return (
        (term.selector for term in pod_terms(gone).anti_affinity) if isinstance(gone, Pod) else ()
    )


def node_frees(pod: Pod, event: ClusterEvent, _store: Lister) -> bool:
    """Whether a label that its terms go by is new or changed there, or the node is new and it has
    anti-affinity or no terms.

    Anti-affinity is met on a new node whatever its labels. A pod without terms, which pods on nodes
    repel, is woken by any change.
    """
    terms, old, new = pod_terms(pod), event.old, event.new
    labels = (new.metadata.labels or {}) if isinstance(new, Node) else {}
    if not isinstance(old, Node):
        return (
            not terms.affinity
            or bool(terms.anti_affinity)
            or any(term.topology_key in labels for term in terms.affinity)
        )
    keys = [term.topology_key for term in (*terms.affinity, *terms.anti_affinity)]
    return not keys or any((old.metadata.labels or {}).get(key) != labels.get(key) for key in keys)


def namespace_frees(pod: Pod, event: ClusterEvent, _store: Lister) -> bool:
    """Whether one of its terms selects a namespace that it did not, or no more, or its own
    namespace has other labels.

    The latter may end what the terms of other pods have against it.
    """
    old, new = (one if isinstance(one, Namespace) else None for one in (event.old, event.new))
    if (
        old is not None
        and new is not None
        and (old.metadata.labels or {}) == (new.metadata.labels or {})
    ):
        return False
    if pod.metadata.namespace in (one.metadata.name for one in (old, new) if one is not None):
        return True
    terms = pod_terms(pod)
    return any(
        _selects(term, old) != _selects(term, new)
        for term in (*terms.affinity, *terms.anti_affinity)
    )


def _selects(term: AffinityTerm, namespace: Namespace | None) -> bool:
    return namespace is not None and term.namespace_selector.matches(namespace.metadata.labels)


def matches_all(terms: AffinityTerms, pod: Pod | None, store: Lister) -> bool:
    """Whether a pod meets all of these terms; nobody does not."""
    return pod is not None and all(existing_term_matches(term, pod, store) for term in terms)
