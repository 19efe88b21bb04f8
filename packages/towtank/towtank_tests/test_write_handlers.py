"""Writes by HTTP, without HTTP: what is answered, and what is there afterwards."""

from __future__ import annotations

from typing import Any

import pytest

from towtank_tests.in_memory import InMemoryCluster, content

CORE = "/api/v1/namespaces/default"
CLAIMS = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims"
MERGE = "application/merge-patch+json"
CLAIM = {"spec": {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "c"}}]}}}
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
CONTAINERS = [{"name": "c", "image": "i"}]
DEPLOYMENT = {
    "spec": {
        "selector": {"matchLabels": {"a": "b"}},
        "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": CONTAINERS}},
    }
}


def named(body: dict[str, Any], name: str = "one", **metadata: Any) -> dict[str, Any]:
    """An object to send."""
    return {**body, "metadata": {"name": name, **metadata}}


@pytest.mark.parametrize(
    ("path", "body", "kind"),
    [
        (f"{CORE}/configmaps", {}, "Status"),
        (f"{CORE}/serviceaccounts", {}, "ServiceAccount"),
        (CLAIMS, CLAIM, "ResourceClaim"),
        (f"{CORE}/events", {"involvedObject": {"namespace": "default"}}, "Status"),
        (
            "/apis/events.k8s.io/v1/namespaces/default/events",
            {"regarding": {"namespace": "default"}},
            "Status",
        ),
    ],
)
@pytest.mark.parametrize("grace", [0, -5, 60])
def test_who_deletes_is_shown_the_object_or_a_status_by_its_kind(
    path: str, body: dict[str, Any], kind: str, grace: int
) -> None:
    """And nothing but pods waits, whatever is asked for."""
    asked = InMemoryCluster()
    assert asked.ask("POST", path, named(body)).code == 201
    answer = asked.ask("DELETE", f"{path}/one", {"gracePeriodSeconds": grace})
    assert (answer.code, content(answer)["kind"]) == (200, kind)
    gone = asked.ask("GET", f"{path}/one")
    assert gone.code == 404
    assert content(gone)["details"].get("group", "") == (
        path.split("/")[2] if path.startswith("/apis") else ""
    )


@pytest.mark.parametrize(
    ("query", "told"),
    [("", True), ("?propagationPolicy=Orphan", False), ("?propagationPolicy=Background", False)],
)
def test_who_deletes_a_job_is_told_that_its_pods_stay(query: str, told: bool) -> None:
    """Where they do not say what they want."""
    asked, jobs = InMemoryCluster(), "/apis/batch/v1/namespaces/default/jobs"
    asked.ask(
        "POST",
        jobs,
        named(
            {"spec": {"template": {"spec": {"restartPolicy": "Never", "containers": CONTAINERS}}}}
        ),
    )
    assert (
        any("child pods" in text for text in asked.ask("DELETE", f"{jobs}/one{query}").warnings)
        is told
    )


@pytest.mark.parametrize(
    ("path", "body", "code"),
    [
        ("/apis/coordination.k8s.io/v1/namespaces/default/leases", {}, 201),
        (f"{CORE}/endpoints", {}, 201),
        ("/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles", {"rules": []}, 201),
        (f"{CORE}/services", {"spec": {"ports": [{"port": 80}]}}, 201),
        (f"{CORE}/configmaps", {}, 404),
        (CLAIMS, CLAIM, 404),
    ],
)
def test_some_kinds_are_made_by_who_replaces_what_is_not_there(
    path: str, body: dict[str, Any], code: int
) -> None:
    """Whatever version they say; a second time it is replaced."""
    asked = InMemoryCluster()
    assert asked.ask("PUT", f"{path}/one", named(body, resourceVersion="1")).code == code
    assert asked.ask("PUT", f"{path}/two", named(body)).code == 400
    if code == 201:
        version = content(asked.ask("GET", f"{path}/one"))["metadata"]["resourceVersion"]
        assert asked.ask("PUT", f"{path}/one", named(body, resourceVersion=version)).code == 200


@pytest.mark.parametrize(
    ("path", "body", "labels", "annotations"),
    [
        (DEPLOYMENTS, DEPLOYMENT, None, {"x": "y"}),
        (CLAIMS, CLAIM, None, None),
        (f"{CORE}/pods", {"spec": {"containers": CONTAINERS}}, {"x": "y"}, {"x": "y"}),
    ],
)
def test_metadata_changes_with_the_status_for_some_kinds(
    path: str, body: dict[str, Any], labels: Any, annotations: Any
) -> None:
    """As their strategies have it."""
    asked = InMemoryCluster()
    asked.ask("POST", path, named(body))
    answer = asked.ask(
        "PATCH",
        f"{path}/one/status",
        {"metadata": {"labels": {"x": "y"}, "annotations": {"x": "y"}}},
        MERGE,
    )
    assert answer.code == 200
    metadata = content(asked.ask("GET", f"{path}/one"))["metadata"]
    assert (metadata.get("labels"), metadata.get("annotations")) == (labels, annotations)


@pytest.mark.parametrize(
    ("query", "patch"),
    [("?fieldValidation=Strict", {"dada": 1}), ("", {"data": {"a": 1}}), ("", {"kind": "Secret"})],
)
def test_a_patch_that_makes_no_object_is_refused_with_what_it_makes(
    query: str, patch: dict[str, Any]
) -> None:
    """By 422 about the patch, not 400."""
    asked = InMemoryCluster()
    asked.ask("POST", f"{CORE}/configmaps", named({}))
    answer = asked.ask("PATCH", f"{CORE}/configmaps/one{query}", patch, MERGE)
    status = content(answer)
    assert (answer.code, [cause["field"] for cause in status["details"]["causes"]]) == (
        422,
        ["patch"],
    )
    assert status["message"].startswith(' "" is invalid: patch: Invalid value: "{')


def test_who_takes_the_last_finalizer_away_sees_what_they_made_and_others_what_was_there() -> None:
    """At the version that it had."""
    asked, path = InMemoryCluster(), f"{CORE}/configmaps"
    asked.ask("POST", path, named({}, finalizers=["example.com/f"]))
    deleted = content(asked.ask("DELETE", f"{path}/one"))["metadata"]
    released = content(
        asked.ask("PATCH", f"{path}/one", {"metadata": {"finalizers": None}}, MERGE)
    )["metadata"]
    assert "finalizers" not in released
    assert released["resourceVersion"] == deleted["resourceVersion"]
    last = list(asked.verbs.store.since("configmaps", int(deleted["resourceVersion"])))
    assert [(change.type, change.now.body["metadata"]["finalizers"]) for change in last] == [
        ("DELETED", ["example.com/f"])
    ]


def test_options_of_another_kind_are_refused() -> None:
    """As what nobody serves."""
    asked = InMemoryCluster()
    asked.ask("POST", f"{CORE}/configmaps", named({}))
    for body, text in (
        ({"kind": "ConfigMap"}, 'no kind "ConfigMap" is registered'),
        (b"{", "couldn't get version/kind; json parse error"),
    ):
        answer = asked.ask("DELETE", f"{CORE}/configmaps/one", body)
        assert (answer.code, content(answer)["message"].startswith(text)) == (400, True)
