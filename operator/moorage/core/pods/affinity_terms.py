"""Pod affinity terms, compiled: which pods a term speaks of, and in which topology.

Compiling is remembered by content, as the pods of one controller share their terms.
Source: kube-scheduler framework ``AffinityTerm`` and ``PodInfo`` (v1.37), KEP-2249
(namespaceSelector).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping

import msgspec

from kubefacts.labels import Selector, SelectorError, compile_selector
from moorage.core.objects.meta import Labels
from moorage.core.objects.pods import (
    Affinity,
    Pod,
    PodAffinity,
    PodAffinityTerm,
    WeightedPodAffinityTerm,
)
from moorage.core.pods.ceilings import MAX_UNCHECKED_BYTES, terms_within
from moorage.core.structures.remembering import byte_size, memoized

_encode = msgspec.msgpack.Encoder().encode
_affinity = msgspec.msgpack.Decoder(Affinity | None)


@dataclasses.dataclass(frozen=True, slots=True)
class AffinityTerm:
    """A compiled term. ``namespaces`` are those that it names; ``namespace_selector`` adds others
    by their labels.

    ``weight`` is 0 for a required term, negative for a preferred one of anti-affinity.
    """

    namespaces: frozenset[str]
    namespace_selector: Selector
    selector: Selector
    topology_key: str
    weight: int = 0

    def matches(
        self, namespace: str, namespace_labels: Mapping[str, str] | None, labels: Labels | None
    ) -> bool:
        """Whether the term speaks of a pod with these labels in this namespace."""
        there = namespace in self.namespaces or self.namespace_selector.matches(namespace_labels)
        return there and self.selector.matches(labels)


AffinityTerms = tuple[AffinityTerm, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class PodAffinityTerms:
    """A pod's terms. A list with a term that cannot be read is empty, and ``error`` says why (the
    first such error).
    """

    affinity: AffinityTerms = ()
    anti_affinity: AffinityTerms = ()
    preferred: AffinityTerms = ()
    """Preferred affinity, then preferred anti-affinity (with negative weights)."""
    error: str = ""


NO_TERMS = PodAffinityTerms()


def pod_terms(pod: Pod) -> PodAffinityTerms:
    """The compiled terms of a pod's affinity, so many as are looked at."""
    affinity = pod.spec.affinity
    if affinity is None or (affinity.pod_affinity is None and affinity.pod_anti_affinity is None):
        return NO_TERMS
    encoded = _encode(affinity)
    if len(encoded) > MAX_UNCHECKED_BYTES:
        encoded = _encode(terms_within(affinity))
    return _compile(pod.metadata.namespace, encoded)


@memoized(byte_size)
def _compile(namespace: str, encoded: bytes) -> PodAffinityTerms:
    affinity = _affinity.decode(encoded) or Affinity()
    errors: list[str] = []

    def read(
        terms: Iterable[PodAffinityTerm | WeightedPodAffinityTerm] | None, sign: int = 1
    ) -> AffinityTerms:
        try:
            return tuple(_term(term, namespace, sign) for term in terms or ())
        except SelectorError as error:
            errors.append(str(error))
            return ()

    towards, away = (
        affinity.pod_affinity or PodAffinity(),
        affinity.pod_anti_affinity or PodAffinity(),
    )
    return PodAffinityTerms(
        read(towards.required_during_scheduling_ignored_during_execution),
        read(away.required_during_scheduling_ignored_during_execution),
        read(towards.preferred_during_scheduling_ignored_during_execution)
        + read(away.preferred_during_scheduling_ignored_during_execution, -1),
        errors[0] if errors else "",
    )


def _term(
    term: PodAffinityTerm | WeightedPodAffinityTerm, namespace: str, sign: int
) -> AffinityTerm:
    weight = 0
    if isinstance(term, WeightedPodAffinityTerm):
        weight, term = sign * term.weight, term.pod_affinity_term
    named = term.namespaces or ((namespace,) if term.namespace_selector is None else ())
    return AffinityTerm(
        frozenset(named),
        compile_selector(term.namespace_selector),
        compile_selector(term.label_selector),
        term.topology_key,
        weight,
    )
