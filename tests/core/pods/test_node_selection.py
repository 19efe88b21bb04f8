"""Taints against tolerations, node selectors and node affinity on one node."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from kubefacts.labels import SelectorError
from moorage.core.objects.nodes import Taint
from moorage.core.objects.pods import Affinity, NodeAffinity, Toleration
from moorage.core.objects.selector_terms import NodeSelector, PreferredSchedulingTerm
from moorage.core.pods.node_selection import (
    SOFT,
    NodeTerm,
    compile_node_selector,
    compile_preferences,
    matches_any,
    required_node_terms,
    tolerates,
    untolerated_taints,
)
from tests.builders import make_node, make_pod

TAINT = Taint("dedicated", "gpu", "NoSchedule")


@pytest.mark.parametrize(
    ("toleration", "want"),
    [
        (Toleration("dedicated", "Equal", "gpu", "NoSchedule"), True),
        (Toleration("dedicated", "", "gpu", "NoSchedule"), True),
        (Toleration("dedicated", "Equal", "gpu"), True),
        (Toleration("dedicated", "Equal", "cpu"), False),
        (Toleration("dedicated", "Exists", "cpu"), True),
        (Toleration("other", "Exists"), False),
        (Toleration("dedicated", "Exists", "", "NoExecute"), False),
        (Toleration("", "Exists"), True),
        (Toleration("", "Equal", "gpu"), True),
        (Toleration("", "Equal"), False),
        (Toleration("dedicated", "Gt", "1"), False),
        (Toleration("dedicated", "Lt", "zzz"), False),
        (Toleration("dedicated", "Near", "gpu"), False),
    ],
    ids=lambda value: (
        f"{value.key}-{value.operator}-{value.value}-{value.effect}"
        if isinstance(value, Toleration)
        else ""
    ),
)
def test_toleration_covers_taint(toleration: Toleration, want: bool) -> None:
    """Effect, key and value by the operator; comparisons are switched off in Kubernetes 1.37 and
    cover nothing.
    """
    assert tolerates(toleration, TAINT) is want


def test_untolerated_taints_come_in_order() -> None:
    """Only the effects asked about, in the order of the node's list."""
    soft, hard, evicting = (
        Taint("a", "", "PreferNoSchedule"),
        Taint("b", "", "NoSchedule"),
        Taint("c", "", "NoExecute"),
    )
    assert list(untolerated_taints((evicting, soft, hard), ())) == [evicting, hard]
    assert list(untolerated_taints((evicting, soft, hard), (), SOFT)) == [soft]
    assert list(untolerated_taints((evicting, soft, hard), (Toleration("c", "Exists"),))) == [hard]


NODE = make_node("n1", labels={"disk": "ssd", "gen": "7"})
SSD = {"matchExpressions": [{"key": "disk", "operator": "In", "values": ["ssd"]}]}
HDD = {"matchExpressions": [{"key": "disk", "operator": "In", "values": ["hdd"]}]}
BAD = {"matchExpressions": [{"key": "gen", "operator": "Gt", "values": ["x"]}]}


def by_name(operator: str, *values: str, key: str = "metadata.name") -> dict[str, Any]:
    """A term on a field."""
    return {"matchFields": [{"key": key, "operator": operator, "values": list(values)}]}


@pytest.mark.parametrize(
    ("terms", "want"),
    [
        ([], False),
        ([{}], False),
        ([{"matchExpressions": [], "matchFields": []}], False),
        ([SSD], True),
        ([HDD], False),
        ([HDD, SSD], True),
        ([{**SSD, **by_name("In", "n1")}], True),
        ([{**SSD, **by_name("In", "n2")}], False),
        ([{**HDD, **by_name("In", "n1")}], False),
        ([by_name("NotIn", "n2")], True),
        ([by_name("NotIn", "n1")], False),
        ([by_name("In", "x", key="metadata.uid")], False),
        ([by_name("In", "", key="metadata.uid")], True),
        ([by_name("NotIn", "", key="metadata.uid")], False),
        ([by_name("In", "n1", "n2")], False),
        ([by_name("Exists")], False),
        ([BAD], False),
        ([BAD, SSD], True),
        ([{"matchExpressions": SSD["matchExpressions"] + BAD["matchExpressions"]}], False),
    ],
)
@pytest.mark.parametrize(
    "selector",
    [None, {}, {"gen": "7"}, {"gen": "8"}],
    ids=["no selector", "empty", "fits", "differs"],
)
def test_required_affinity(
    terms: list[dict[str, Any]], selector: dict[str, str] | None, want: bool
) -> None:
    """nodeSelector and one of the terms; terms without requirements or with faults match nothing
    and harm no other.
    """
    affinity = {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}
        }
    }
    pod = make_pod("p", node_selector=selector, affinity=msgspec.convert(affinity, Affinity))
    assert matches_any(required_node_terms(pod), NODE) is (want and selector != {"gen": "8"})


@pytest.mark.parametrize(
    ("spec", "want"),
    [
        ({}, True),
        ({"node_selector": {"disk": "hdd"}}, False),
        ({"affinity": Affinity()}, True),
        ({"affinity": Affinity(NodeAffinity())}, True),
        ({"affinity": Affinity(NodeAffinity(NodeSelector()))}, False),
    ],
    ids=["nothing", "selector alone", "empty affinity", "empty node affinity", "no terms"],
)
def test_what_is_missing(spec: dict[str, Any], want: bool) -> None:
    """No required affinity asks for nothing; one without terms matches nothing."""
    assert matches_any(required_node_terms(make_pod("p", **spec)), NODE) is want


def test_node_without_a_name() -> None:
    """Fields are not looked at, labels are."""
    (term,) = compile_node_selector(
        msgspec.convert({"nodeSelectorTerms": [{**SSD, **by_name("In", "n1")}]}, NodeSelector)
    )
    assert term.matches({"disk": "ssd"}, "")
    assert not term.matches({"disk": "hdd"}, "")


def test_strict_reading_tells_all_faults() -> None:
    """Each term's labels before its fields, with paths; empty terms are no fault and match
    nothing.
    """
    document = {"nodeSelectorTerms": [{}, {**BAD, **by_name("Exists")}, by_name("In", "a", "b")]}
    with pytest.raises(SelectorError) as caught:
        compile_node_selector(msgspec.convert(document, NodeSelector), "required")
    assert [(fault.path, fault.problem) for fault in caught.value.faults] == [
        (
            "required.nodeSelectorTerms[1].matchExpressions[0].values[0]",
            "for 'Gt', 'Lt' operators, the value must be an integer",
        ),
        ("required.nodeSelectorTerms[1].matchFields[0].operator", "must be In or NotIn"),
        ("required.nodeSelectorTerms[2].matchFields[0].values", "must have one element"),
    ]
    assert compile_node_selector(msgspec.convert({"nodeSelectorTerms": [{}]}, NodeSelector)) == ()


def test_preferences() -> None:
    """Terms that weigh nothing or say nothing are not read; faults in others are told by their
    place in the whole list.
    """
    terms = [
        {"weight": 0, "preference": BAD},
        {"weight": 5, "preference": {}},
        {"weight": 7, "preference": SSD},
    ]
    (preference,) = compile_preferences(msgspec.convert(terms, tuple[PreferredSchedulingTerm, ...]))
    assert preference.weight == 7
    assert preference.term == NodeTerm(preference.term.labels)
    with pytest.raises(
        SelectorError, match=r"^\[3\]\.matchExpressions\[0\]\.values\[0\]: Invalid value: \"x\""
    ):
        compile_preferences(
            msgspec.convert(
                [*terms, {"weight": 1, "preference": BAD}], tuple[PreferredSchedulingTerm, ...]
            )
        )
