"""Assignment reviews: pods get what the table of cases says, and all of them pass."""

from __future__ import annotations

import base64
import json
import logging
from typing import Any

import pytest

from moorage.core.objects.meta import Namespace, ObjectMeta
from moorage.engine.profiles.assignment_reviews import AssignmentReviews
from moorage.engine.profiles.assignments import Assignments
from tests.assignment_cases import CASES, EVERYTHING, Case, a_profile


def reviews(*profiles: dict[str, Any], **namespaces: dict[str, str]) -> AssignmentReviews:
    """With these profiles, and namespaces by name with their labels."""
    assignments = Assignments()
    for profile in profiles:
        assignments.profile_changed(profile["metadata"]["name"], profile)
    known = {
        name: Namespace(ObjectMeta(name=name, labels=labels)) for name, labels in namespaces.items()
    }
    return AssignmentReviews(assignments, known)


def review(pod: dict[str, Any]) -> bytes:
    """As an API server sends it."""
    request = {
        "uid": "u-1",
        "operation": "CREATE",
        "namespace": pod["metadata"]["namespace"],
        "object": pod,
    }
    about = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview"}
    return json.dumps({**about, "request": request}).encode()


def patch(answer: bytes) -> list[dict[str, Any]]:
    """What the answer changes; it lets the pod pass."""
    body = json.loads(answer)
    assert (body["apiVersion"], body["kind"]) == ("admission.k8s.io/v1", "AdmissionReview")
    response = body["response"]
    assert (response["uid"], response["allowed"]) == ("u-1", True)
    if "patch" not in response:
        assert "patchType" not in response
        return []
    assert response["patchType"] == "JSONPatch"
    found: list[dict[str, Any]] = json.loads(base64.b64decode(response["patch"]))
    return found


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_case(case: Case) -> None:
    """A pod gets what the table says."""
    namespace = case.namespace["metadata"]
    asked = reviews(case.profile, **{namespace["name"]: namespace["labels"]})
    changes = patch(asked.assign(review(case.pod)))
    kept = case.pod["spec"]["schedulerName"]
    wanted = {"op": "add", "path": "/spec/schedulerName", "value": case.gets}
    assert changes == ([wanted] if case.gets != kept else [])


def a_pod(namespace: str = "default") -> dict[str, Any]:
    """One that names no scheduler."""
    return {"metadata": {"name": "p", "namespace": namespace}, "spec": {}}


def test_the_oldest_of_several_is_taken() -> None:
    """As may be for a moment, when one has changed and the younger one is not told yet."""
    young, old = (a_profile(name, {"assign": EVERYTHING}) for name in ("young", "zzz-old"))
    young["metadata"]["creationTimestamp"] = "2026-06-01T00:00:00Z"
    (change,) = patch(reviews(young, old, default={}).assign(review(a_pod())))
    assert change["value"] == "zzz-old"


def test_a_profile_that_is_gone_gets_nothing() -> None:
    """Nor one that no more assigns, or is told that it must not."""
    profile = a_profile("p", {"assign": EVERYTHING})
    assignments = Assignments()
    asked = AssignmentReviews(assignments, {"default": Namespace(ObjectMeta(name="default"))})
    for other in (None, a_profile("p", {}), a_profile("p", {"assign": EVERYTHING}, "False")):
        assignments.profile_changed("p", profile)
        assert patch(asked.assign(review(a_pod())))
        assignments.profile_changed("p", other)
        assert patch(asked.assign(review(a_pod()))) == []


def test_an_unknown_namespace_is_told(caplog: pytest.LogCaptureFixture) -> None:
    """Its labels may come a moment after the first pod; the pod passes."""
    asked = reviews(a_profile("p", {"assign": EVERYTHING}), default={})
    assert patch(asked.assign(review(a_pod("new")))) == []
    assert "its namespace is not known yet" in caplog.text


STRANGE: dict[str, bytes] = {
    "no JSON": b"{",
    "no object": b"[]",
    "nothing": b"null",
    "no request": b"{}",
    "no text": b"\xff\xfe\xff",
    "too deep": b"[" * 100_000,
    "no pod": b'{"request": {"uid": "u", "namespace": "default", "object": null}}',
    "a pod without a spec": (
        b'{"request": {"uid": "u", "namespace": "default", "object": {"metadata": {}}}}'
    ),
    "a namespace that is none": (
        b'{"request": {"uid": "u", "namespace": {}, "object": {"metadata": {}, "spec": {}}}}'
    ),
    "labels that are none": (
        b'{"request": {"uid": "u", "namespace": "default", "object": '
        b'{"metadata": {"labels": [1]}, "spec": {}}}}'
    ),
}


@pytest.mark.parametrize("case", STRANGE)
def test_whatever_is_asked_passes(case: str, caplog: pytest.LogCaptureFixture) -> None:
    """And is told, as nobody's bug."""
    asked = reviews(a_profile("p", {"assign": EVERYTHING}), default={})
    response = json.loads(asked.assign(STRANGE[case]))["response"]
    assert response == {"uid": response["uid"], "allowed": True}
    assert [record.levelno for record in caplog.records] == [logging.WARNING]


def test_a_bug_passes(caplog: pytest.LogCaptureFixture) -> None:
    """And is told as one."""

    class Broken(Assignments):
        """Whose profiles are not what they should be."""

        by_age = (object(),)  # type: ignore[assignment]

        def __init__(self) -> None:
            """Nothing is made."""

    known = {"default": Namespace(ObjectMeta(name="default"))}
    assert patch(AssignmentReviews(Broken(), known).assign(review(a_pod()))) == []
    assert [record.levelno for record in caplog.records] == [logging.ERROR]
