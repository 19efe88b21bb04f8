"""Node affinity, naively: every term is read again for every node. What NodeAffinity must agree
with.
"""

from __future__ import annotations

import string

from moorage.core.objects.nodes import Node
from moorage.core.objects.pods import NodeAffinity, Pod
from moorage.core.objects.selector_terms import NodeSelectorTerm, Requirement
from moorage.core.plugins.node_affinity import (
    AddedAffinity,
    AddedRequirement,
    AddedTerm,
    NodeAffinityArgs,
)

AnyRequirement = Requirement | AddedRequirement
AnyTerm = NodeSelectorTerm | AddedTerm


class Unreadable(Exception):
    """A term that means nothing."""


def number(text: str | None) -> int | None:
    """A whole number."""
    digits = (text or "").lstrip("+-")
    right = digits.isdecimal() and digits.isascii() and len(text or "") - len(digits) <= 1
    return int(text or "") if right and -(2**63) <= int(text or "") < 2**63 else None


def is_label_value(text: str) -> bool:
    """Whether a label may have this value."""
    inner = string.ascii_letters + string.digits + "-_."
    return not text or (
        len(text) <= 63
        and all(one in inner for one in text)
        and text[0].isalnum()
        and text[-1].isalnum()
    )


def holds(requirement: AnyRequirement, value: str | None) -> bool:
    """Whether a value is what a requirement wants; raises Unreadable."""
    values = requirement.values or ()
    if requirement.operator in ("In", "NotIn"):
        if not values or not all(map(is_label_value, values)):
            raise Unreadable
        return (value in values) == (requirement.operator == "In")
    if requirement.operator in ("Exists", "DoesNotExist"):
        if values:
            raise Unreadable
        return (value is not None) == (requirement.operator == "Exists")
    if (
        requirement.operator not in ("Gt", "Lt")
        or len(values) != 1
        or number(values[0]) is None
        or not is_label_value(values[0])
    ):
        raise Unreadable
    mine, bound = number(value), number(values[0])
    assert bound is not None
    return mine is not None and (mine > bound if requirement.operator == "Gt" else mine < bound)


def field_holds(requirement: AnyRequirement, node: Node) -> bool:
    """Whether a node's field is what a requirement wants; raises Unreadable."""
    if requirement.operator not in ("In", "NotIn") or len(requirement.values or ()) != 1:
        raise Unreadable
    value = node.metadata.name if requirement.key == "metadata.name" else ""
    return (value in (requirement.values or ())) == (requirement.operator == "In")


def term_matches(term: AnyTerm, node: Node) -> bool:
    """Whether a node meets all of a term, every part of which must be readable; raises
    Unreadable.
    """
    labels = node.metadata.labels or {}
    verdicts = [holds(one, labels.get(one.key)) for one in term.match_expressions or ()]
    verdicts += [field_holds(one, node) for one in term.match_fields or ()]
    return bool(verdicts) and all(verdicts)


def readable_and_matches(term: AnyTerm, node: Node) -> bool:
    """As ``term_matches``; what can't be read matches nothing."""
    try:
        return term_matches(term, node)
    except Unreadable:
        return False


def affinity_of(pod: Pod) -> NodeAffinity:
    """The pod's node affinity, empty when it has none."""
    return (pod.spec.affinity and pod.spec.affinity.node_affinity) or NodeAffinity()


def wanted(pod: Pod, node: Node) -> bool:
    """Whether the pod can be on the node by its own wish."""
    labels = node.metadata.labels or {}
    if any(labels.get(key) != value for key, value in (pod.spec.node_selector or {}).items()):
        return False
    required = affinity_of(pod).required_during_scheduling_ignored_during_execution
    return required is None or any(
        readable_and_matches(term, node) for term in required.node_selector_terms or ()
    )


def allowed(args: NodeAffinityArgs, node: Node) -> bool:
    """Whether pods can be on the node by the administrator's wish."""
    required = (
        args.added_affinity or AddedAffinity()
    ).required_during_scheduling_ignored_during_execution
    return required is None or any(
        term_matches(term, node) for term in required.node_selector_terms
    )


def named(pod: Pod) -> set[str] | None:
    """The only nodes that the pod's terms can mean, None when they do not go by name."""
    required = affinity_of(pod).required_during_scheduling_ignored_during_execution
    terms = required.node_selector_terms or () if required is not None else ()
    sets = []
    for term in terms:
        fields = [
            set(one.values or ())
            for one in term.match_fields or ()
            if one.key == "metadata.name" and one.operator == "In"
        ]
        if not fields:
            return None
        sets.append(set.intersection(*fields))
    return set.union(*sets) if sets else None


def prefers(pod: Pod, args: NodeAffinityArgs) -> bool:
    """Whether there is any preference to rank nodes by."""
    added = (
        args.added_affinity or AddedAffinity()
    ).preferred_during_scheduling_ignored_during_execution
    return (
        bool(added)
        or affinity_of(pod).preferred_during_scheduling_ignored_during_execution is not None
    )


def score(pod: Pod, node: Node, args: NodeAffinityArgs) -> int:
    """The sum of the weights of what the node meets; raises Unreadable."""
    added = (
        args.added_affinity or AddedAffinity()
    ).preferred_during_scheduling_ignored_during_execution or ()
    own = affinity_of(pod).preferred_during_scheduling_ignored_during_execution or ()
    weighed: list[tuple[int, AnyTerm]] = [(one.weight, one.preference) for one in added]
    weighed += [(one.weight, one.preference) for one in own]
    return sum(weight for weight, term in weighed if weight and term_matches(term, node))
