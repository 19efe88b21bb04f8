"""Whom affinity terms speak of, where namespaces have a part in it.

Terms of the pod to be placed speak of the namespaces that there are; terms of pods on nodes ask for
the labels of that one namespace.
Source: kube-scheduler InterPodAffinity (v1.37), KEP-2249 (namespaceSelector).
"""

from __future__ import annotations

from kubefacts.labels import NOTHING, Selector
from moorage.core.columns.pod_counters import PodQuery
from moorage.core.columns.store import Lister
from moorage.core.objects.meta import Labels, Namespace
from moorage.core.objects.pods import Pod
from moorage.core.pods.affinity_terms import AffinityTerm, AffinityTerms
from moorage.core.structures.remembering import WORD_BYTES, memoized


def query_for_all(terms: AffinityTerms, store: Lister) -> PodQuery:
    """The pods that meet all of these terms of the pod to be placed."""
    namespaces: frozenset[str] | None = None
    for term in terms:
        mine = _namespaces(term, store)
        namespaces = (
            mine if namespaces is None else namespaces if mine is None else namespaces & mine
        )
    return PodQuery(namespaces, _all_of(tuple(term.selector for term in terms)))


@memoized(lambda all_of, _: WORD_BYTES * all_of.words)
def _all_of(selectors: tuple[Selector, ...]) -> Selector:
    """The selector of what all of these select."""
    if any(selector.conditions is None for selector in selectors):
        return NOTHING
    return Selector(
        tuple(condition for selector in selectors for condition in selector.conditions or ())
    )


def _namespaces(term: AffinityTerm, store: Lister) -> frozenset[str] | None:
    """The namespaces that a term of the pod to be placed speaks of; None: all."""
    selector = term.namespace_selector
    if selector.conditions is None:
        return term.namespaces
    if not selector.conditions:
        return None
    return term.namespaces | _selected(selector, store, store.version_counter(Namespace).version)


@memoized(lambda names, selector, *_: WORD_BYTES * (len(names) + selector.words))
def _selected(selector: Selector, store: Lister, version: int) -> frozenset[str]:
    """The names of the namespaces that a selector selects, remembered until one changes
    (``version``).
    """
    return frozenset(
        name
        for name, namespace in store.objects(Namespace).items()
        if selector.matches(namespace.metadata.labels)
    )


def terms_match(terms: AffinityTerms, pod: Pod, store: Lister) -> bool:
    """Whether the terms of the pod to be placed, all of them, speak of that pod itself."""
    namespace, labels = pod.metadata.namespace, pod.metadata.labels
    reach = (_namespaces(term, store) for term in terms)
    return all(term.selector.matches(labels) for term in terms) and all(
        names is None or namespace in names for names in reach
    )


def existing_term_matches(term: AffinityTerm, pod: Pod, store: Lister) -> bool:
    """Whether a term of another pod speaks of this one."""
    there = store.objects(Namespace).get(pod.metadata.namespace)
    namespace_labels: Labels | None = there.metadata.labels if there is not None else None
    return term.matches(pod.metadata.namespace, namespace_labels, pod.metadata.labels)
