"""What the server makes of an object's metadata."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from towtank.model.kinds import APIResource
from towtank.model.requests import RequestTarget
from towtank.storage import object_meta
from towtank_tests.in_memory import InMemoryCluster, content

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
MERGE = "application/merge-patch+json"
NOW = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(("free_after", "tries"), [(0, 1), (1, 2), (7, 8), (100, 8)])
def test_a_name_that_is_taken_is_made_up_again(free_after: int, tries: int) -> None:
    """Up to eight times; names are no longer than a label."""
    asked_for: list[str] = []

    def taken(name: str) -> bool:
        asked_for.append(name)
        return len(asked_for) <= free_after

    body: dict[str, Any] = {"metadata": {"generateName": "n" * 80}}
    object_meta.initialise(
        RequestTarget(APIResource("", "v1", "things", "Thing"), "default"), body, NOW, "uid", taken
    )
    assert len(set(asked_for)) == tries
    assert body["metadata"]["name"] == asked_for[-1]
    assert len(asked_for[-1]) == 63


def test_who_replaces_an_object_says_its_name() -> None:
    """Of patches what comes out has to; who applies may leave it to the URL."""
    asked = InMemoryCluster()
    asked.ask("POST", CONFIG_MAPS, {"metadata": {"name": "a"}})
    text = "the name of the object (a based on URL) was undeterminable: name must be provided"
    for method, body, content_type in (
        ("PUT", {}, "application/json"),
        ("PATCH", {"metadata": {"name": None}}, MERGE),
    ):
        answer = asked.ask(method, f"{CONFIG_MAPS}/a", body, content_type)
        assert (answer.code, content(answer)["message"]) == (400, text)
    applied = {"apiVersion": "v1", "kind": "ConfigMap"}
    for name, code in (("a", 200), ("b", 201)):
        assert (
            asked.ask(
                "PATCH",
                f"{CONFIG_MAPS}/{name}?fieldManager=one",
                applied,
                "application/apply-patch+yaml",
            ).code
            == code
        )
    unsaid = {**applied, "metadata": None}
    assert (
        asked.ask(
            "PATCH", f"{CONFIG_MAPS}/c?fieldManager=one", unsaid, "application/apply-patch+yaml"
        ).code
        == 201
    )


def test_managers_can_be_read() -> None:
    """As Go shows what cannot."""
    answer = InMemoryCluster().ask(
        "POST", f"{CONFIG_MAPS}?fieldManager=a\x01", {"metadata": {"name": "a"}}
    )
    cause = content(answer)["details"]["causes"][0]["message"]
    assert (answer.code, cause) == (
        422,
        'Invalid value: "a\\x01": invalid character U+0001 (at position 1)',
    )


def test_who_scales_owns_the_replicas() -> None:
    """And nothing else, at no time that is told."""
    asked = InMemoryCluster()
    path = "/apis/apps/v1/namespaces/default/deployments"
    template = {
        "metadata": {"labels": {"a": "b"}},
        "spec": {"containers": [{"name": "c", "image": "i"}]},
    }
    spec = {"replicas": 1, "selector": {"matchLabels": {"a": "b"}}, "template": template}
    asked.ask("POST", f"{path}?fieldManager=one", {"metadata": {"name": "a"}, "spec": spec})
    asked.ask("PATCH", f"{path}/a/scale?fieldManager=two", {"spec": {"replicas": 3}}, MERGE)
    first, second = content(asked.ask("GET", f"{path}/a"))["metadata"]["managedFields"]
    assert first == {
        "manager": "two",
        "operation": "Update",
        "apiVersion": "apps/v1",
        "fieldsType": "FieldsV1",
        "fieldsV1": {"f:spec": {"f:replicas": {}}},
        "subresource": "scale",
    }
    assert second["manager"] == "one"
    assert "f:replicas" not in second["fieldsV1"]["f:spec"]
    wrongs: tuple[Any, ...] = ({"spec": {"replicas": "x"}}, {"spec": 5}, {"metadata": []})
    for wrong in wrongs:
        assert asked.ask("PATCH", f"{path}/a/scale", wrong, MERGE).code == 422


def test_reviews_say_who_owns_what_was_asked() -> None:
    """As a kube-apiserver does, though nobody will look for him."""
    asked = InMemoryCluster()
    spec = {"resourceAttributes": {"verb": "get", "resource": "pods"}}
    answer = asked.ask(
        "POST",
        "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews?fieldManager=one",
        {"spec": spec},
    )
    (entry,) = content(answer)["metadata"]["managedFields"]
    assert (entry["manager"], entry["fieldsV1"]) == (
        "one",
        {"f:spec": {"f:resourceAttributes": {".": {}, "f:verb": {}, "f:resource": {}}}},
    )
    asked.ask("POST", "/api/v1/namespaces/default/serviceaccounts", {"metadata": {"name": "robot"}})
    tokens = "/api/v1/namespaces/default/serviceaccounts/robot/token"
    (entry,) = content(asked.ask("POST", f"{tokens}?fieldManager=one", {"spec": None}))["metadata"][
        "managedFields"
    ]
    assert (entry["subresource"], entry["fieldsV1"]) == (
        "token",
        {"f:spec": {"f:expirationSeconds": {}}},
    )
    for wrong in ({"spec": {"expirationSeconds": "x"}}, {"spec": "x"}, {"spec": {"audiences": 5}}):
        assert asked.ask("POST", tokens, wrong).code == 400


def test_an_event_s_owners_are_those_of_its_own_form() -> None:
    """Whichever way it is read."""
    asked = InMemoryCluster()
    path = "/apis/events.k8s.io/v1/namespaces/default/events"
    body = {
        "metadata": {"name": "e"},
        "regarding": {"namespace": "default"},
        "note": "n",
        "reason": "r",
        "type": "Normal",
        "action": "a",
        "eventTime": "2026-01-02T03:04:05.000006Z",
        "reportingController": "example.com/one",
        "reportingInstance": "one",
    }
    assert asked.ask("POST", path, body).code == 201
    (entry,) = content(asked.ask("GET", "/api/v1/namespaces/default/events/e"))["metadata"][
        "managedFields"
    ]
    assert entry["apiVersion"] == "events.k8s.io/v1"
    assert {"f:note", "f:regarding"} <= entry["fieldsV1"].keys()
    assert not {"f:message", "f:involvedObject"} & entry["fieldsV1"].keys()
