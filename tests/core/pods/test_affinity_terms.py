"""Compiled affinity terms: where they look, whom they speak of, what cannot be read."""

from __future__ import annotations

from typing import Any

import pytest

from kubefacts.labels import EVERYTHING, NOTHING
from moorage.core.pods.affinity_terms import NO_TERMS, pod_terms
from tests.core.plugins.companions import away, near, pod, prefers, term

BROKEN = {
    "labelSelector": {"matchExpressions": [{"key": "a", "operator": "Near"}]},
    "topologyKey": "t",
}


def test_without_terms() -> None:
    """Most pods; those with an affinity to nodes alone too."""
    assert pod_terms(pod("p")) is NO_TERMS
    assert pod_terms(pod("p", affinity={"nodeAffinity": {}})) is NO_TERMS
    assert pod_terms(pod("p", affinity={"podAffinity": {}})) == NO_TERMS


def test_lists_and_weights() -> None:
    """Each list in its place; weights of anti-affinity are negative, required terms weigh
    nothing.
    """
    affinity = near(term("a", app="x")) | away(term("b", app="x"))
    affinity["podAffinity"] |= prefers("podAffinity", (3, term("c", app="x")))["podAffinity"]
    affinity["podAntiAffinity"] |= prefers("podAntiAffinity", (5, term("d", app="x")))[
        "podAntiAffinity"
    ]
    found = pod_terms(pod("p", affinity=affinity))
    lists = (found.affinity, found.anti_affinity, found.preferred)
    assert [[(one.topology_key, one.weight) for one in terms] for terms in lists] == [
        [("a", 0)],
        [("b", 0)],
        [("c", 3), ("d", -5)],
    ]


@pytest.mark.parametrize(
    ("document", "named", "selecting"),
    [
        (term(app="x"), {"mine"}, NOTHING),
        (term(namespaces=["n"], app="x"), {"n"}, NOTHING),
        (term(teams="*", app="x"), set(), EVERYTHING),
        (term(namespaces=["n"], teams="*", app="x"), {"n"}, EVERYTHING),
        (term(namespaces=[], app="x"), {"mine"}, NOTHING),
    ],
    ids=["its own", "named", "selected", "both", "an empty list"],
)
def test_namespaces(document: dict[str, Any], named: set[str], selecting: object) -> None:
    """Without any, those of the pod itself; a selector takes its own's place."""
    (found,) = pod_terms(pod("p", namespace="mine", affinity=near(document))).affinity
    assert (found.namespaces, found.namespace_selector) == (named, selecting)


@pytest.mark.parametrize(
    ("namespace", "namespace_labels", "labels", "want"),
    [
        ("n", None, {"app": "x"}, True),
        ("other", {"team": "1"}, {"app": "x"}, True),
        ("other", {"team": "2"}, {"app": "x"}, False),
        ("other", None, {"app": "x"}, False),
        ("n", {"team": "1"}, {"app": "y"}, False),
        ("n", {"team": "1"}, None, False),
    ],
    ids=["named", "selected", "not selected", "unknown", "other labels", "no labels"],
)
def test_whom_a_term_speaks_of(
    namespace: str,
    namespace_labels: dict[str, str] | None,
    labels: dict[str, str] | None,
    want: bool,
) -> None:
    """In a namespace that is named or selected, and with labels that are selected."""
    (found,) = pod_terms(
        pod("p", affinity=near(term(namespaces=["n"], teams="1", app="x")))
    ).affinity
    assert found.matches(namespace, namespace_labels, labels) is want


def test_unreadable_terms() -> None:
    """Their list is empty, the others are not, and the first fault is told."""
    found = pod_terms(pod("p", affinity=near(term(app="x"), BROKEN) | away(term(app="x"))))
    assert (found.affinity, len(found.anti_affinity)) == ((), 1)
    assert found.error.startswith("matchExpressions[0].operator: ")


def test_equal_terms_are_compiled_once() -> None:
    """For all pods of a controller; another namespace is another matter."""
    one, same, other = (
        pod_terms(pod(name, namespace=space, affinity=near(term(app="x"))))
        for name, space in ("pa", "qa", "pb")
    )
    assert one is same
    assert one != other
