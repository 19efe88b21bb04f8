"""Bodies of subresources come in by the same door as objects: decoded once, refused in the API
server's words.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from towtank_tests.in_memory import InMemoryCluster, content

CORE = "/api/v1/namespaces/default"
SCALE = "/apis/apps/v1/namespaces/default/deployments/one/scale"
MERGE = "application/merge-patch+json"
SPEC: dict[str, Any] = {"containers": [{"name": "c", "image": "i"}]}
LABELS = {"matchLabels": {"a": "b"}}
NAMED: dict[str, Any] = {"metadata": {"name": "one"}}
PATHS = (
    f"{CORE}/pods/one/binding",
    f"{CORE}/bindings",
    f"{CORE}/pods/one/eviction",
    f"{CORE}/serviceaccounts/one/token",
    SCALE,
)


def world() -> InMemoryCluster:
    """With what has subresources."""
    asked = InMemoryCluster()
    assert asked.ask("POST", f"{CORE}/serviceaccounts", NAMED).code == 201
    assert asked.ask("POST", f"{CORE}/pods", {**NAMED, "spec": SPEC}).code == 201
    template = {"metadata": {"labels": {"a": "b"}}, "spec": SPEC}
    body = {**NAMED, "spec": {"replicas": 2, "selector": LABELS, "template": template}}
    assert asked.ask("POST", SCALE.removesuffix("/one/scale"), body).code == 201
    return asked


def cannot(kind: str, what: str, field: str, go_type: str) -> str:
    """A refusal."""
    unread = f"json: cannot unmarshal {what} into Go struct field {field} of type {go_type}"
    return f'{kind} in version "v1" cannot be handled as a {kind}: {unread}'


@pytest.mark.parametrize(
    ("path", "body", "message"),
    [
        (
            PATHS[3],
            {"spec": [1]},
            cannot("TokenRequest", "array", "TokenRequest.spec", "v1.TokenRequestSpec"),
        ),
        (
            PATHS[3],
            {"spec": "s"},
            cannot("TokenRequest", "string", "TokenRequest.spec", "v1.TokenRequestSpec"),
        ),
        (
            PATHS[3],
            {"metadata": [1]},
            cannot("TokenRequest", "array", "TokenRequest.metadata", "v1.ObjectMeta"),
        ),
        (
            PATHS[3],
            {"spec": {"expirationSeconds": "a"}},
            cannot("TokenRequest", "string", "TokenRequestSpec.spec.expirationSeconds", "int64"),
        ),
        (
            PATHS[0],
            {**NAMED, "target": "n"},
            cannot("Binding", "string", "Binding.target", "v1.ObjectReference"),
        ),
        (
            PATHS[1],
            {**NAMED, "target": "n"},
            cannot("Binding", "string", "Binding.target", "v1.ObjectReference"),
        ),
        (
            PATHS[0],
            {**NAMED, "target": {"kind": []}},
            cannot("Binding", "array", "ObjectReference.target.kind", "string"),
        ),
        (
            PATHS[0],
            {"metadata": {"labels": [1]}},
            cannot("Binding", "array", "ObjectMeta.metadata.labels", "map[string]string"),
        ),
        (
            PATHS[0],
            {"metadata": {"labels": {"a b": {"x": 1}}}},
            cannot("Binding", "object", "ObjectMeta.metadata.labels", "string"),
        ),
        (
            PATHS[0],
            {"metadata": {"annotations": {"q": 5}}},
            cannot("Binding", "number", "ObjectMeta.metadata.annotations", "string"),
        ),
        (
            PATHS[0],
            {"metadata": {"namespace": "other"}},
            "the namespace of the provided object does not match the namespace sent on the request",
        ),
        (
            PATHS[2],
            {**NAMED, "deleteOptions": "x"},
            cannot("Eviction", "string", "Eviction.deleteOptions", "v1.DeleteOptions"),
        ),
        (
            PATHS[2],
            {**NAMED, "deleteOptions": {"gracePeriodSeconds": "x"}},
            cannot("Eviction", "string", "DeleteOptions.deleteOptions.gracePeriodSeconds", "int64"),
        ),
        (
            PATHS[2],
            {**NAMED, "deleteOptions": {"preconditions": [1]}},
            cannot(
                "Eviction", "array", "DeleteOptions.deleteOptions.preconditions", "v1.Preconditions"
            ),
        ),
        (
            PATHS[2],
            {**NAMED, "deleteOptions": {"dryRun": 5}},
            cannot("Eviction", "number", "DeleteOptions.deleteOptions.dryRun", "[]string"),
        ),
        (SCALE, {**NAMED, "spec": "x"}, cannot("Scale", "string", "Scale.spec", "v1.ScaleSpec")),
        (
            SCALE,
            {**NAMED, "spec": {"replicas": 1 << 31}},
            cannot("Scale", f"number {1 << 31}", "ScaleSpec.spec.replicas", "int32"),
        ),
        (
            SCALE,
            {**NAMED, "spec": {"replicas": True}},
            cannot("Scale", "bool", "ScaleSpec.spec.replicas", "int32"),
        ),
    ],
)
def test_what_cannot_be_decoded_is_refused(path: str, body: dict[str, Any], message: str) -> None:
    """With 400, and nothing is written."""
    asked = world()
    revision = asked.verbs.store.revision
    answer = asked.ask("PUT" if path == SCALE else "POST", path, body)
    assert (answer.code, content(answer)["message"]) == (400, message)
    assert asked.verbs.store.revision == revision


def test_a_patch_that_makes_no_scale_is_refused() -> None:
    """With 422, as of every other kind; one that leaves out the number means none."""
    asked = world()
    refused = asked.ask("PATCH", SCALE, {"spec": "x"}, MERGE)
    assert refused.code == 422
    assert content(refused)["message"].endswith(
        "json: cannot unmarshal string into Go struct field Scale.spec of type v1.ScaleSpec"
    )
    assert content(asked.ask("PATCH", SCALE, {"spec": {"replicas": 3}}, MERGE))["spec"] == {
        "replicas": 3
    }
    assert content(asked.ask("PATCH", SCALE, {"spec": None}, MERGE))["spec"] == {}


@pytest.mark.parametrize(
    ("options", "field"),
    [({"dryRun": ["x"]}, "dryRun"), ({"propagationPolicy": "x"}, "propagationPolicy")],
)
def test_an_evictions_options_are_those_of_a_deletion(options: dict[str, Any], field: str) -> None:
    """And checked so."""
    refused = world().ask("POST", PATHS[2], {**NAMED, "deleteOptions": options})
    assert (refused.code, content(refused)["details"]["causes"][0]["field"]) == (422, field)


@pytest.mark.parametrize("path", PATHS)
def test_who_says_what_is_not_known_is_warned(path: str) -> None:
    """Once; or refused, where that is asked for."""
    body = (
        {**NAMED, "target": {"name": "n"}, "foo": 1} if "binding" in path else {**NAMED, "foo": 1}
    )
    method = "PUT" if path == SCALE else "POST"
    assert world().ask(method, path, body).warnings == ('unknown field "foo"',)
    assert world().ask(method, f"{path}?fieldValidation=Strict", body).code == 400
    if path == SCALE:
        assert world().ask("PATCH", path, {"foo": 1}, MERGE).warnings == ('unknown field "foo"',)


LEAVES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.sampled_from(["", "one", "a b", "All", 10**400])
)
KEYS = st.sampled_from(
    [
        *(
            "metadata",
            "name",
            "namespace",
            "labels",
            "annotations",
            "uid",
            "resourceVersion",
            "spec",
            "replicas",
            "target",
            "kind",
        ),
        *(
            "deleteOptions",
            "dryRun",
            "gracePeriodSeconds",
            "preconditions",
            "propagationPolicy",
            "orphanDependents",
            "status",
        ),
        *("expirationSeconds", "audiences", "boundObjectRef", "apiVersion", "a b"),
    ]
)
JUNK = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=12,
)


@given(st.sampled_from(PATHS), st.dictionaries(KEYS, JUNK, max_size=4), st.booleans())
def test_whatever_comes_is_answered_and_objects_stay_of_use(
    path: str, body: dict[str, Any], named: bool
) -> None:
    """Whether it is done or refused."""
    asked = world()
    body = {**body, **NAMED} if named else body
    if path == SCALE:
        asked.ask("PATCH", path, body, MERGE)
    assert asked.ask("PUT" if path == SCALE else "POST", path, body).code < 500
    for one in (f"{CORE}/pods/one", SCALE.removesuffix("/scale"), f"{CORE}/serviceaccounts/one"):
        assert asked.ask("PATCH", one, {"metadata": {"annotations": {"x": "y"}}}, MERGE).code in (
            200,
            404,
        )


@pytest.mark.parametrize("form", ["Table", "PartialObjectMetadata"])
def test_a_status_is_answered_whole(form: str) -> None:
    """Whatever form objects are wanted in.

    Source: kube-apiserver doTransformObject.
    """
    asked = world()
    assert asked.ask("POST", "/api/v1/nodes", {"metadata": {"name": "n"}}).code == 201
    target = {"kind": "Node", "name": "n"}
    for path, body in ((PATHS[0], {**NAMED, "target": target}), (PATHS[2], NAMED)):
        answer = asked.ask(
            "POST", path, body, accept=f"application/json;as={form};v=v1;g=meta.k8s.io"
        )
        assert (answer.code, content(answer)["kind"]) == (201, "Status")
