"""Definitions are named and served within the call that made them, and again when names become
free.
"""

from __future__ import annotations

from typing import Any

from towtank.storage.store import StoreChange
from towtank.strategies import crd
from towtank_tests.in_memory import DEFINITION, InMemoryCluster, content

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
MERGE = "application/merge-patch+json"


def definition(plural: str, kind: str, *short_names: str) -> dict[str, Any]:
    """Of the group example.com."""
    names = {"plural": plural, "kind": kind, "shortNames": list(short_names)}
    return {
        **DEFINITION,
        "metadata": {"name": f"{plural}.example.com"},
        "spec": {**DEFINITION["spec"], "names": names},
    }


def conditions(asked: InMemoryCluster, name: str) -> dict[str, str]:
    """Type -> reason."""
    found = content(asked.ask("GET", f"{CRDS}/{name}"))
    return {one["type"]: one["reason"] for one in found["status"]["conditions"]}


def test_a_definition_is_served_when_it_has_been_made() -> None:
    """Though the answer is what was made; the names are a write of the server's own."""
    asked = InMemoryCluster()
    told: list[StoreChange] = []
    asked.verbs.store.subscribe(crd.KEY, told.append)
    made = content(asked.ask("POST", CRDS, definition("cats", "Cat", "c")))
    assert made["status"] == {
        "conditions": None,
        "acceptedNames": {"plural": "", "kind": ""},
        "storedVersions": ["v1"],
    }
    assert conditions(asked, "cats.example.com") == {
        "NamesAccepted": "NoConflicts",
        "Established": "InitialNamesAccepted",
    }
    entries = content(asked.ask("GET", f"{CRDS}/cats.example.com"))["metadata"]["managedFields"]
    assert ("kube-apiserver", "status", ["f:status"]) in [
        (entry["manager"], entry.get("subresource"), list(entry["fieldsV1"])) for entry in entries
    ]
    assert asked.ask("GET", "/apis/example.com/v1/cats").code == 200
    assert [change.type for change in told] == ["ADDED", "MODIFIED"]


def test_names_that_become_free_are_taken() -> None:
    """By one that waits for them; another one that waits too has to wait for that."""
    asked = InMemoryCluster()
    for body in (
        definition("cats", "Cat", "c"),
        definition("cows", "Cow", "c"),
        definition("crabs", "Crab", "c"),
    ):
        asked.ask("POST", CRDS, body)
    assert conditions(asked, "cows.example.com")["NamesAccepted"] == "ShortNamesConflict"
    assert asked.ask("GET", "/apis/example.com/v1/cows").code == 404
    asked.ask("DELETE", f"{CRDS}/cats.example.com")
    asked.ask("PATCH", f"{CRDS}/cats.example.com", {"metadata": {"finalizers": None}}, MERGE)
    assert asked.ask("GET", "/apis/example.com/v1/cats").code == 404
    assert asked.ask("GET", "/apis/example.com/v1/cows").code == 200
    assert asked.ask("GET", "/apis/example.com/v1/crabs").code == 404
    short_names = {"spec": {"names": {"shortNames": ["w"]}}}
    asked.ask("PATCH", f"{CRDS}/cows.example.com", short_names, MERGE)
    assert content(asked.ask("GET", f"{CRDS}/cows.example.com"))["status"]["acceptedNames"][
        "shortNames"
    ] == ["w"]
    assert asked.ask("GET", "/apis/example.com/v1/crabs").code == 200


def test_custom_resources_may_have_any_finalizer() -> None:
    """With a warning where it could be somebody else's; built-in kinds' need a domain."""
    asked = InMemoryCluster()
    asked.ask("POST", CRDS, DEFINITION)
    body = {
        "apiVersion": "example.com/v1",
        "kind": "Boat",
        "metadata": {"name": "b", "finalizers": ["mine", "my.own", "example.com/ours"]},
    }
    answer = asked.ask("POST", "/apis/example.com/v1/namespaces/default/boats", body)
    assert (answer.code, len(answer.warnings)) == (201, 2)
    assert all("prefer a domain-qualified finalizer name" in warning for warning in answer.warnings)
    changed = {"metadata": {"annotations": {"a": "b"}}}
    assert (
        asked.ask(
            "PATCH", "/apis/example.com/v1/namespaces/default/boats/b", changed, MERGE
        ).warnings
        == ()
    )
    assert (
        asked.ask(
            "POST",
            "/api/v1/namespaces/default/configmaps",
            {"metadata": {"name": "b", "finalizers": ["mine"]}},
        ).code
        == 422
    )


def test_a_refusal_warns_too() -> None:
    """Of fields that nobody knows."""
    asked = InMemoryCluster()
    asked.ask("POST", CRDS, DEFINITION)
    boat = {
        "apiVersion": "example.com/v1",
        "kind": "Boat",
        "metadata": {"name": "b"},
        "spec": {"sails": 1},
    }
    answers = [
        asked.ask("POST", "/apis/example.com/v1/namespaces/default/boats", boat) for _ in range(2)
    ]
    assert [(answer.code, answer.warnings) for answer in answers] == [
        (code, ('unknown field "spec.sails"',)) for code in (201, 409)
    ]


def test_rules_that_are_not_there_are_not_missed() -> None:
    """An object of wrong types is refused for these alone, where its definition has no rules."""
    asked = InMemoryCluster()
    asked.ask("POST", CRDS, DEFINITION)
    boat = {
        "apiVersion": "example.com/v1",
        "kind": "Boat",
        "metadata": {"name": "b"},
        "spec": {"masts": "two"},
    }
    refused = content(asked.ask("POST", "/apis/example.com/v1/namespaces/default/boats", boat))
    assert [cause["field"] for cause in refused["details"]["causes"]] == ["spec.masts"]
