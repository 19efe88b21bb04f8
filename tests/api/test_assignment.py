"""Which pods are assigned, and which profiles could ask for the same one."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubefacts.labels import Selector, from_body
from moorage.api import yaml_documents
from moorage.api.assignment import (
    OPEN_NAMESPACES,
    OPEN_PODS,
    Assignment,
    assign_errors,
    compiled,
)
from moorage.api.decoding import Decoder
from moorage.api.pod_reviews import NewPod, NewPodMetadata, NewPodSpec
from moorage.api.v1alpha1.profile_assign import ProfileAssign
from tests.assignment_cases import CASES, Case
from tests.generate import ROOT

decode = Decoder(ProfileAssign).decode


def assignment(namespaces: Mapping[str, Any], pods: Mapping[str, Any]) -> Assignment:
    """Of these selectors."""
    return compiled(decode({"namespaceSelector": namespaces, "podSelector": pods}))


# ---- which pods ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "case",
    [case for case in CASES if "assign" in case.profile["spec"] and case.is_assigned],
    ids=lambda case: case.name,
)
def test_case(case: Case) -> None:
    """A pod is taken where the policy gives it the profile."""
    taken = case.gets not in ("default-scheduler", "volcano")
    labels = case.namespace["metadata"]["labels"]
    assign = compiled(decode(case.profile["spec"]["assign"]))
    assert assign.takes(NewPod.model_validate(case.pod), labels) == taken


def component(name: str) -> dict[str, Any]:
    """What a file of manifests/components has."""
    text = (ROOT / "manifests" / "components" / name).read_text(encoding="utf-8")
    (found,) = yaml_documents.load_all(text)
    return dict(found)


def asked_about() -> dict[str, dict[str, Any]]:
    """By component, of which pods an API server asks."""
    (webhook,) = component("assign-webhook/webhook.yaml")["webhooks"]
    policy = component("assign/policy.yaml")["spec"]["matchConstraints"]
    return {"assign": policy, "assign-webhook": webhook}


@pytest.mark.parametrize("name", asked_about())
def test_components_leave_out_the_same(name: str) -> None:
    """Pods that nobody takes, by labels alone: an API server does not ask about them."""
    for field, conditions in (
        ("namespaceSelector", OPEN_NAMESPACES),
        ("objectSelector", OPEN_PODS),
    ):
        selector = from_body(asked_about()[name][field])
        assert selector is not None
        assert [
            (one.key, one.operator, set(one.values or ()))
            for one in selector.match_expressions or ()
        ] == [(one.key, one.operator, set(one.values)) for one in conditions]


# ---- the same pod --------------------------------------------------------------------------------

KEYS, VALUES = ("a", "b"), ("1", "2")
UNIVERSE = [
    {key: value for key, value in zip(KEYS, values, strict=True) if value is not None}
    for values in itertools.product((None, *VALUES, "another"), repeat=len(KEYS))
]
"""All labels that selectors of these keys and values can tell apart."""
SOME_VALUES = st.lists(st.sampled_from(VALUES), min_size=1, max_size=2, unique=True)
REQUIREMENTS = st.one_of(
    st.fixed_dictionaries(
        {
            "key": st.sampled_from(KEYS),
            "operator": st.sampled_from(("In", "NotIn")),
            "values": SOME_VALUES,
        }
    ),
    st.fixed_dictionaries(
        {"key": st.sampled_from(KEYS), "operator": st.sampled_from(("Exists", "DoesNotExist"))}
    ),
)
SELECTORS = st.fixed_dictionaries(
    {},
    optional={
        "matchLabels": st.dictionaries(st.sampled_from(KEYS), st.sampled_from(VALUES)),
        "matchExpressions": st.lists(REQUIREMENTS, max_size=3),
    },
)
ASSIGNMENTS = st.builds(assignment, SELECTORS, SELECTORS)


def a_pod(labels: dict[str, str]) -> NewPod:
    """One that names no scheduler."""
    return NewPod(metadata=NewPodMetadata(labels=labels), spec=NewPodSpec())


def taken(one: Assignment) -> Iterator[tuple[int, int]]:
    """All that it takes: places in the universe of a namespace's labels, and of a pod's."""
    for i, namespace in enumerate(UNIVERSE):
        for j, labels in enumerate(UNIVERSE):
            if one.takes(a_pod(labels), namespace):
                yield i, j


@given(ASSIGNMENTS, ASSIGNMENTS)
def test_two_meet_where_both_take_a_pod(one: Assignment, other: Assignment) -> None:
    """As trying all labels says."""
    both = not set(taken(one)).isdisjoint(taken(other))
    assert one.meets(other) == both
    assert other.meets(one) == both


APART: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "other values": ({"matchLabels": {"a": "1"}}, {"matchLabels": {"a": "2"}}),
    "a label and its absence": (
        {"matchExpressions": [{"key": "a", "operator": "Exists"}]},
        {"matchExpressions": [{"key": "a", "operator": "DoesNotExist"}]},
    ),
    "among and not among": (
        {"matchExpressions": [{"key": "a", "operator": "In", "values": ["1", "2"]}]},
        {"matchExpressions": [{"key": "a", "operator": "NotIn", "values": ["2", "1", "3"]}]},
    ),
    "only pods that opt out": ({"matchLabels": {"moorage.dev/assign": "false"}}, {}),
}


@pytest.mark.parametrize("case", APART)
def test_apart(case: str) -> None:
    """By pods' labels; and as well where namespaces alone differ, but for the label of pods."""
    one, other = APART[case]
    assert not assignment({}, one).meets(assignment({}, other))
    in_namespaces = assignment(one, {}).meets(assignment(other, {}))
    assert in_namespaces == (case == "only pods that opt out")


@pytest.mark.parametrize("home", [{"moorage.dev/home": ""}, {"kubernetes.io/metadata.name": "x"}])
def test_no_namespace_that_is_left_out_counts(home: dict[str, str]) -> None:
    """Two that would meet there only are apart."""
    there = assignment({"matchLabels": home}, {})
    assert there.meets(there) == ("moorage.dev/home" not in home)


# ---- faults --------------------------------------------------------------------------------------


def test_every_fault_is_told_with_its_place() -> None:
    """What the CRD does not say: how keys and values are written."""
    assign = decode(
        {
            "namespaceSelector": {"matchLabels": {"a b": "1"}},
            "podSelector": {
                "matchExpressions": [{"key": "a", "operator": "In", "values": ["1", "-2"]}]
            },
        }
    )
    found = {error.path: error.value for error in assign_errors(assign)}
    assert found == {
        "assign.namespaceSelector.matchLabels": "a b",
        "assign.podSelector.matchExpressions[0].values[1][a]": "-2",
    }


def test_an_empty_selector_is_all() -> None:
    """And no selector is none: both are required."""
    everything = assignment({}, {})
    assert everything.takes(a_pod({}), {})
    assert Selector(everything.pods).matches({"a": "1"})
