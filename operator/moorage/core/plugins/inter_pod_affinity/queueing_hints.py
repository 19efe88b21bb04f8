"""What makes a pod worth another attempt that terms keep from nodes, its own or others'."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

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


def pod_frees(
    pod: Pod, required: Sequence[AffinityTerms], event: ClusterEvent, store: Lister
) -> bool:
    """Whether a change of a pod on a node may free this one.

    It may also be one that went and whose own anti-affinity this one stood against, or that was
    perhaps the last one to meet the affinity of a pod that may be the first. Of anti-affinity one
    term that is no more matched is enough. Namespaces have their labels here: where
    kube-scheduler's hint leaves a pod waiting, this one wakes it.
    """
    old, new = (one if isinstance(one, Pod) else None for one in (event.old, event.new))
    met, no_more = _Change(old, new, store), _Change(new, old, store)
    return (
        any(met.begins(terms) for terms in required)
        or any(no_more.begins(terms) and would_do_itself(terms, pod) for terms in required)
        or any(no_more.begins((term,)) for term in pod_terms(pod).anti_affinity)
        or (new is None and old is not None and _repels(old, pod, store))
    )


class _Change(NamedTuple):
    """A pod before and after."""

    before: Pod | None
    after: Pod | None
    store: Lister

    def begins(self, terms: AffinityTerms) -> bool:
        """Whether the pod meets all of these terms only now."""
        return matches_all(terms, self.after, self.store) and not matches_all(
            terms, self.before, self.store
        )


def _repels(other: Pod, pod: Pod, store: Lister) -> bool:
    """Whether a term of another pod's anti-affinity is about this one."""
    return any(matches_all((term,), pod, store) for term in pod_terms(other).anti_affinity)


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
    there = [one.metadata for one in (old, new) if one is not None]
    if len(there) == 2 and (there[0].labels or {}) == (there[1].labels or {}):
        return False
    if pod.metadata.namespace in (one.name for one in there):
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
