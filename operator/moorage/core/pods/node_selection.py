"""Predicates on nodes that several plugins share: taints against tolerations, node selectors and
node affinity.

Here a node is its labels and its name, one at a time; ``columns.nodes.row_selection`` asks the same
of many rows at once.
Sources: Kubernetes component-helpers ``nodeaffinity`` and core/v1 ``ToleratesTaint`` (v1.37).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from kubefacts.labels import (
    NODE_OPERATORS,
    LabelRequirementCheck,
    RequirementFault,
    SelectorError,
    all_match,
    at,
    condition,
    equality,
    requirement_faults,
)
from moorage.core.objects.nodes import Node, Taint
from moorage.core.objects.pods import Pod, Toleration
from moorage.core.objects.selector_terms import (
    NodeSelector,
    NodeSelectorTerm,
    PreferredSchedulingTerm,
    Requirement,
)
from moorage.core.structures.remembering import WORD_BYTES, memoized

# ---- taints --------------------------------------------------------------------------------------

HARD = ("NoSchedule", "NoExecute")
"""Effects that keep pods away."""
SOFT = ("PreferNoSchedule",)
"""The effect that makes a node less welcome."""


def tolerates(toleration: Toleration, taint: Taint) -> bool:
    """Whether this toleration covers this taint. An empty effect or key covers any; operators other
    than Equal and Exists cover none.
    """
    if toleration.effect not in ("", taint.effect) or toleration.key not in ("", taint.key):
        return False
    if toleration.operator in ("", "Equal"):
        return toleration.value == taint.value
    return toleration.operator == "Exists"


def untolerated_taints(
    taints: Iterable[Taint], tolerations: Iterable[Toleration], effects: tuple[str, ...] = HARD
) -> Iterator[Taint]:
    """The taints with one of these effects that no toleration covers, in the taints' order."""
    for taint in taints:
        if taint.effect in effects and not any(
            tolerates(toleration, taint) for toleration in tolerations
        ):
            yield taint


# ---- node selectors ------------------------------------------------------------------------------

NODE_NAME = "metadata.name"
"""The only field that matchFields can tell nodes apart by."""


@dataclasses.dataclass(frozen=True, slots=True)
class NodeTerm:
    """A compiled term: all conditions on labels and on fields must hold."""

    labels: tuple[LabelRequirementCheck, ...]
    fields: tuple[LabelRequirementCheck, ...] = ()

    def matches(self, labels: Mapping[str, str], name: str) -> bool:
        """Whether a node matches; for a node without a name the fields are not looked at."""
        if not all_match(self.labels, labels):
            return False
        return not name or all(
            field.matches(name if field.key == NODE_NAME else "") for field in self.fields
        )


NodeTerms = tuple[NodeTerm, ...]
"""A node matches when it matches any of the terms: none, when there are none."""


class Preference(NamedTuple):
    """A compiled preferred term."""

    weight: int
    term: NodeTerm


def matches_any(terms: NodeTerms, node: Node) -> bool:
    """Whether a node matches one of the terms."""
    labels, name = node.metadata.labels or {}, node.metadata.name
    return any(term.matches(labels, name) for term in terms)


def compile_node_selector(selector: NodeSelector, path: str = "") -> NodeTerms:
    """Terms without requirements match nothing and are left out. Raises SelectorError with the
    faults of all terms.
    """
    terms = selector.node_selector_terms or ()
    compiled, faults = _compile(
        [
            (at(path, f"nodeSelectorTerms[{i}]"), term)
            for i, term in enumerate(terms)
            if not _is_empty(term)
        ]
    )
    if faults:
        raise SelectorError(faults)
    return tuple(compiled)


def compile_preferences(
    terms: Iterable[PreferredSchedulingTerm], path: str = ""
) -> tuple[Preference, ...]:
    """Terms that weigh nothing or have no requirements are left out unread. Raises SelectorError
    with the faults of all others.
    """
    counted = [
        (i, term) for i, term in enumerate(terms) if term.weight and not _is_empty(term.preference)
    ]
    compiled, faults = _compile([(f"{path}[{i}]", term.preference) for i, term in counted])
    if faults:
        raise SelectorError(faults)
    return tuple(
        Preference(term.weight, ready) for (_, term), ready in zip(counted, compiled, strict=True)
    )


def required_node_terms(pod: Pod) -> NodeTerms:
    """Where a pod can run by its nodeSelector and required node affinity. A term with a fault
    matches nothing, silently.
    """
    pairs = equality(pod.spec.node_selector or {})
    required = required_node_selector(pod)
    if required is None:
        return (NodeTerm(pairs),)
    return tuple(NodeTerm(pairs + term.labels, term.fields) for term in valid_terms(required))


def required_node_selector(pod: Pod) -> NodeSelector | None:
    """The pod's required node affinity as it stands."""
    affinity = pod.spec.affinity
    if affinity is None or affinity.node_affinity is None:
        return None
    return affinity.node_affinity.required_during_scheduling_ignored_during_execution


def extent(terms: NodeTerms) -> int:
    """The size of compiled terms, for ``memoized``."""
    return WORD_BYTES * sum(
        1 + len(one.values) for term in terms for one in term.labels + term.fields
    )


@memoized(lambda terms, _: extent(terms))
def valid_terms(selector: NodeSelector) -> NodeTerms:
    """The terms that can be read, compiled; one with a fault matches nothing, silently."""
    compiled: list[NodeTerm] = []
    for term in selector.node_selector_terms or ():
        if not _is_empty(term):
            compiled += _compile([("", term)])[0]
    return tuple(compiled)


def _is_empty(term: NodeSelectorTerm) -> bool:
    return not term.match_expressions and not term.match_fields


def _compile(
    terms: Iterable[tuple[str, NodeSelectorTerm]],
) -> tuple[list[NodeTerm], list[RequirementFault]]:
    """The terms without faults, and the faults of the others; each term comes with its path."""
    compiled: list[NodeTerm] = []
    faults: list[RequirementFault] = []
    for path, term in terms:
        if found := list(_term_faults(term, path)):
            faults += found
            continue
        labels, fields = term.match_expressions or (), term.match_fields or ()
        compiled.append(NodeTerm(tuple(map(condition, labels)), tuple(map(condition, fields))))
    return compiled, faults


def _term_faults(term: NodeSelectorTerm, path: str) -> Iterator[RequirementFault]:
    for i, one in enumerate(term.match_expressions or ()):
        yield from requirement_faults(one, at(path, f"matchExpressions[{i}]"), NODE_OPERATORS)
    for i, one in enumerate(term.match_fields or ()):
        yield from _field_faults(one, at(path, f"matchFields[{i}]"))


def _field_faults(requirement: Requirement, path: str) -> Iterator[RequirementFault]:
    if requirement.operator not in ("In", "NotIn"):
        yield RequirementFault(at(path, "operator"), requirement.operator, "must be In or NotIn")
    elif len(requirement.values or ()) != 1:
        yield RequirementFault(
            at(path, "values"), requirement.values or (), "must have one element"
        )
