"""Paths, methods, headers and options to codes and reasons, without a socket. The texts are a
kube-apiserver's.
"""

import time

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from towtank.model.requests import WatchOptions
from towtank_tests.in_memory import DEFINITION, InMemoryCluster, content, node

NODES = "/api/v1/nodes"
MERGE = "application/merge-patch+json"


@pytest.fixture
def asked() -> InMemoryCluster:
    """With one node and one custom resource."""
    asked = InMemoryCluster()
    assert asked.ask("POST", NODES, node("one", kept="yes")).code == 201
    assert (
        asked.ask(
            "POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", DEFINITION
        ).code
        == 201
    )
    return asked


@pytest.mark.parametrize(
    ("method", "path", "code", "reason"),
    [
        ("GET", NODES, 200, ""),
        ("GET", f"{NODES}/one", 200, ""),
        ("GET", f"{NODES}/two", 404, "NotFound"),
        ("GET", f"{NODES}/one/status", 200, ""),
        ("GET", f"{NODES}/one/foo", 404, "NotFound"),
        ("GET", f"{NODES}/one/status/more", 404, "NotFound"),
        ("GET", f"{NODES}/one/scale", 404, "NotFound"),
        ("GET", "/api/v1/foos", 404, "NotFound"),
        ("GET", "/apis/example.com/v1/boats", 200, ""),
        ("GET", "/apis/example.com/v2/boats", 404, ""),
        ("GET", "/apis/apps/v2/boats", 404, "NotFound"),
        ("GET", "/apis/example.com/v1/namespaces/default/boats", 200, ""),
        ("GET", "/apis/example.com/v1/namespaces/default/boats/a/status", 404, "NotFound"),
        ("GET", "/api/v1/namespaces/default", 200, ""),
        ("GET", "/api/v1/namespaces/default/status", 200, ""),
        ("GET", "/api/v1/namespaces/default/pods", 200, ""),
        ("GET", "/api/v1/namespaces/default/nodes", 404, "NotFound"),
        ("GET", "/api/v1/pods/a", 404, "NotFound"),
        ("GET", "/api/v1/namespaces/default/pods/a/log", 404, "NotFound"),
        ("PUT", NODES, 405, "MethodNotAllowed"),
        ("POST", f"{NODES}/one", 405, "MethodNotAllowed"),
        ("POST", "/api/v1/pods", 405, "MethodNotAllowed"),
        ("FOO", NODES, 405, "MethodNotAllowed"),
        ("DELETE", "/api/v1/namespaces", 405, "MethodNotAllowed"),
        ("DELETE", "/api/v1", 405, "MethodNotAllowed"),
        ("GET", "/api/v1/bindings", 405, "MethodNotAllowed"),
        ("GET", "/foo", 404, ""),
        ("GET", "/apis/foo/v1", 404, ""),
        ("GET", "/openapi/v2", 200, ""),
        ("GET", "/openapi/v3/apis/example.com/v1", 200, ""),
        ("GET", "/readyz", 200, ""),
        ("GET", f"{NODES}?limit=foo", 400, "BadRequest"),
        ("GET", f"{NODES}?watch=1&timeoutSeconds=foo", 400, "BadRequest"),
        ("GET", f"{NODES}?labelSelector=(", 400, "BadRequest"),
        ("GET", f"{NODES}?sendInitialEvents=true", 422, "Invalid"),
        ("GET", f"{NODES}?sendInitialEvents=true&watch=1", 422, "Invalid"),
        ("GET", f"{NODES}?resourceVersionMatch=Foo&resourceVersion=1", 422, "Invalid"),
        ("DELETE", f"{NODES}/one?gracePeriodSeconds=foo", 400, "BadRequest"),
        ("DELETE", f"{NODES}/one?propagationPolicy=foo", 422, "Invalid"),
        ("DELETE", f"{NODES}/one?propagationPolicy=Orphan&orphanDependents=true", 422, "Invalid"),
    ],
)
def test_codes(asked: InMemoryCluster, method: str, path: str, code: int, reason: str) -> None:
    """What is there, what is not, and what may not be done to it."""
    answer = asked.ask(method, path)
    assert answer.code == code
    if reason:
        assert content(answer)["reason"] == reason


@pytest.mark.parametrize(
    ("body", "content_type", "query", "code", "text"),
    [
        (
            b"",
            "application/json",
            "",
            400,
            "json parse error: unexpected end of JSON input (<empty>)",
        ),
        (
            b'{"a"',
            "application/json",
            "",
            400,
            'json parse error: unexpected end of JSON input ({"a")',
        ),
        (b"[]", "application/json", "", 400, "must be of type Node"),
        (b"{}", "text/plain", "", 415, "the body of the request was in an unknown format"),
        (b"{}", "application/json", "", 422, "name or generateName is required"),
        (
            b"{}",
            "application/json",
            "?fieldValidation=Foo",
            422,
            'fieldValidation: Unsupported value: "Foo"',
        ),
        (
            b"{}",
            "application/json",
            "?dryRun=Foo",
            422,
            'dryRun: Unsupported value: ["Foo"]: supported values: "All"',
        ),
        (b'{"kind":"Pod"}', "application/json", "", 400, "cannot be handled as a Node"),
        (b"\xff\xfe", "application/json", "", 400, "invalid character"),
        (b'{"metadata": 1' + b"0" * 400 + b"}", "application/json", "", 400, ""),
        (b'{"a":' * 100_000, "application/json", "", 400, ""),
        (b"a: &a [*a]", "application/yaml", "", 400, "exceeded max depth"),
        (
            b"a: {b: ",
            "application/yaml",
            "",
            400,
            "yaml: line 1: did not find expected node content",
        ),
        (
            b'{"metadata":{"name":"x","name":"y"}}',
            "application/json",
            "?fieldValidation=Strict",
            400,
            'duplicate field "metadata.name"',
        ),
    ],
)
def test_bodies_that_are_refused(
    asked: InMemoryCluster, body: bytes, content_type: str, query: str, code: int, text: str
) -> None:
    """No body makes a fault of ours, and each refusal says what is wrong."""
    answer = asked.ask("POST", NODES + query, body, content_type)
    assert answer.code == code
    assert text in content(answer)["message"]


def test_a_field_that_is_said_twice_is_warned_of(asked: InMemoryCluster) -> None:
    """And the last one counts."""
    answer = asked.ask("POST", NODES, b'{"metadata":{"name":"x","name":"y"}}')
    assert answer.code == 201
    assert content(answer)["metadata"]["name"] == "y"
    assert answer.warnings == ('duplicate field "metadata.name"',)
    assert not asked.ask(
        "POST", f"{NODES}?fieldValidation=Ignore", b'{"metadata":{"name":"z","name":"z"}}'
    ).warnings


@pytest.mark.parametrize(
    ("content_type", "query", "body", "code", "text"),
    [
        ("application/json", "", b"{}", 415, "415: Unsupported Media Type"),
        ("application/apply-patch+cbor", "", b"{}", 415, "415: Unsupported Media Type"),
        (MERGE, "", b'{"kind":', 400, "invalid JSON patch"),
        (
            MERGE,
            "?force=true",
            b"{}",
            422,
            "force: Forbidden: may not be specified for non-apply patch",
        ),
        (
            "application/apply-patch+yaml",
            "",
            b"{}",
            422,
            "fieldManager: Required value: is required for apply patch",
        ),
        (
            "application/apply-patch+yaml",
            "?fieldManager=x",
            b'{"kind":',
            400,
            "error encoding patch: yaml: line 1",
        ),
        (MERGE, "", b'{"metadata":{"labels":{"a":"b"}}}', 200, ""),
        (
            "application/strategic-merge-patch+json",
            "",
            b'{"metadata":{"labels":{"a":"b"}}}',
            200,
            "",
        ),
        (
            "application/json-patch+json",
            "",
            b'[{"op":"add","path":"/metadata/labels/a","value":"b"}]',
            200,
            "",
        ),
    ],
)
def test_patches(
    asked: InMemoryCluster, content_type: str, query: str, body: bytes, code: int, text: str
) -> None:
    """By their media types."""
    answer = asked.ask("PATCH", f"{NODES}/one{query}", body, content_type)
    assert answer.code == code
    if text:
        assert text in content(answer)["message"]
    else:
        assert content(answer)["metadata"]["labels"]["a"] == "b"


def test_a_strategic_patch_needs_more_than_a_custom_schema(asked: InMemoryCluster) -> None:
    """As with a kube-apiserver."""
    path = "/apis/example.com/v1/namespaces/default/boats"
    assert (
        asked.ask(
            "POST",
            path,
            {
                "apiVersion": "example.com/v1",
                "kind": "Boat",
                "metadata": {"name": "a"},
                "spec": {"masts": 2},
            },
        ).code
        == 201
    )
    assert asked.ask("PATCH", f"{path}/a", {}, "application/strategic-merge-patch+json").code == 415


def test_apply_creates_and_then_changes(asked: InMemoryCluster) -> None:
    """201, then 200."""
    applied = {**node("two"), "spec": {"unschedulable": True}}
    for code in (201, 200):
        answer = asked.ask(
            "PATCH", f"{NODES}/two?fieldManager=x", applied, "application/apply-patch+yaml"
        )
        assert answer.code == code


@pytest.mark.parametrize(
    ("accept", "kind"),
    [
        ("", "NodeList"),
        ("*/*", "NodeList"),
        ("application/vnd.kubernetes.protobuf, application/json", "NodeList"),
        ("application/json;as=Table;v=v1;g=meta.k8s.io,application/json", "Table"),
        ("application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json", "Table"),
        (
            "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io",
            "PartialObjectMetadataList",
        ),
        ("application/json;q=0.1,application/json;as=Table;v=v1;g=meta.k8s.io", "Table"),
        ("text/html", None),
        ("application/json;as=Foo;v=v1;g=meta.k8s.io", None),
        ("application/vnd.kubernetes.protobuf", None),
    ],
)
def test_forms(asked: InMemoryCluster, accept: str, kind: str | None) -> None:
    """The first that the client accepts and we serve; 406 for none."""
    answer = asked.ask("GET", NODES, accept=accept)
    assert (content(answer)["kind"] if answer.code == 200 else None) == kind
    assert answer.code in (200, 406)


def test_yaml_goes_in_and_out(asked: InMemoryCluster) -> None:
    """Texts that look like times or numbers stay what they are."""
    made = asked.ask(
        "POST",
        "/api/v1/namespaces",
        b"metadata: {name: a, annotations: {b: '2020-01-01', c: \"1\"}}",
        "application/yaml",
    )
    assert made.code == 201
    answer = asked.ask("GET", "/api/v1/namespaces/a", accept="application/yaml")
    assert answer.content_type == "application/yaml"
    assert isinstance(answer.body, bytes)
    assert b"b: '2020-01-01'" in answer.body


def test_deletions_are_answered_by_kind(asked: InMemoryCluster) -> None:
    """A Status with details where the object has gone; the object where a finalizer holds it."""
    gone = asked.ask("DELETE", f"{NODES}/one")
    assert content(gone)["status"] == "Success"
    assert content(gone)["details"]["kind"] == "nodes"
    held = node("held")
    held["metadata"]["finalizers"] = ["example.com/a"]
    asked.ask("POST", NODES, held)
    assert content(asked.ask("DELETE", f"{NODES}/held"))["metadata"]["deletionTimestamp"]
    assert asked.ask("GET", f"{NODES}/held").code == 200


def test_a_collection_is_deleted_by_its_selector(asked: InMemoryCluster) -> None:
    """And answered with what was chosen."""
    asked.ask("POST", NODES, node("two", pool="a"))
    answer = asked.ask("DELETE", f"{NODES}?labelSelector=pool=a")
    assert [item["metadata"]["name"] for item in content(answer)["items"]] == ["two"]
    assert asked.ask("GET", f"{NODES}/one").code == 200
    assert asked.ask("GET", f"{NODES}/two").code == 404


def test_the_manager_is_who_says_so_or_the_user_agent(asked: InMemoryCluster) -> None:
    """The user agent's first word."""
    asked.ask(
        "PATCH",
        f"{NODES}/one",
        {"metadata": {"labels": {"a": "b"}}},
        MERGE,
        user_agent="kubectl/v1 (linux)",
    )
    asked.ask("PATCH", f"{NODES}/one?fieldManager=me", {"metadata": {"labels": {"c": "d"}}}, MERGE)
    entries = content(asked.ask("GET", f"{NODES}/one"))["metadata"]["managedFields"]
    assert {"kubectl", "me"} <= {entry["manager"] for entry in entries}


def test_dry_runs_change_nothing(asked: InMemoryCluster) -> None:
    """Though they answer as if they had."""
    assert asked.ask("POST", f"{NODES}?dryRun=All", node("two")).code == 201
    assert asked.ask("GET", f"{NODES}/two").code == 404
    assert asked.ask("DELETE", f"{NODES}/one?dryRun=All").code == 200
    assert asked.ask("DELETE", f"{NODES}/one", {"dryRun": ["All"]}).code == 200
    assert asked.ask("GET", f"{NODES}/one").code == 200


def test_reviews_are_only_posted(asked: InMemoryCluster) -> None:
    """They are nobody's objects."""
    path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
    review = {"spec": {"resourceAttributes": {"verb": "get", "resource": "pods"}}}
    assert content(asked.ask("POST", path, review))["status"]["allowed"] is True
    assert asked.ask("GET", path).code == 405


def test_a_definition_is_served_until_it_goes(asked: InMemoryCluster) -> None:
    """In discovery as in paths."""
    plain = content(asked.ask("GET", "/apis/example.com/v1"))
    assert [one["name"] for one in plain["resources"]] == ["boats"]
    accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
    aggregated = content(asked.ask("GET", "/apis", accept=accept))
    assert "example.com" in {item["metadata"]["name"] for item in aggregated["items"]}
    document = content(asked.ask("GET", "/openapi/v3/apis/example.com/v1"))
    schema = document["components"]["schemas"]["com.example.v1.Boat"]
    assert schema["properties"]["spec"]["properties"]["masts"] == {"type": "integer"}


def test_watches_are_handed_out(asked: InMemoryCluster) -> None:
    """With what the query and the Accept header say."""
    options = asked.watching(
        f"{NODES}?watch=true&resourceVersion=3&allowWatchBookmarks=true&timeoutSeconds=7"
    )
    assert (options.since, options.bookmarks, options.timeout_seconds) == (3, True, 7)
    assert asked.watching("/api/v1/watch/nodes").since is None
    assert asked.watching(
        f"{NODES}?watch=1", accept="application/json;as=Table;v=v1;g=meta.k8s.io"
    ).as_table
    assert isinstance(
        asked.ask("GET", f"{NODES}?watch=1&fieldSelector=metadata.name=one").body, WatchOptions
    )


def test_a_list_is_its_objects_texts(asked: InMemoryCluster) -> None:
    """Nothing is encoded again: five thousand nodes are joined in less than they would be encoded
    in.
    """
    for number in range(5000):
        asked.verbs.store.put(
            "nodes",
            "",
            {**node(f"n{number}"), "spec": {}, "status": {"capacity": {"cpu": "8", "pods": "110"}}},
        )
    asked.ask("GET", NODES)
    started = time.perf_counter()
    answer = asked.ask("GET", NODES)
    assert time.perf_counter() - started < 1
    assert isinstance(answer.body, bytes)
    assert len(msgspec.json.decode(answer.body)["items"]) == 5001


METHODS = st.sampled_from(["GET", "POST", "PUT", "PATCH", "DELETE"])
PATHS = st.sampled_from(
    [
        *(
            NODES,
            f"{NODES}/one",
            f"{NODES}/one/status",
            "/api/v1/namespaces/default/pods",
            "/api/v1/namespaces/default/pods/a/eviction",
        ),
        *(
            "/apis/apps/v1/namespaces/default/deployments/a/scale",
            "/api/v1/namespaces/default/serviceaccounts/a/token",
        ),
        *(
            "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
            "/apis/events.k8s.io/v1/namespaces/default/events",
        ),
        *(
            "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
            "/apis/example.com/v1/namespaces/default/boats/a",
        ),
    ]
)
TYPES = st.sampled_from(
    ["application/json", "application/yaml", MERGE, "application/strategic-merge-patch+json"]
)
NAMES = st.sampled_from(
    [
        "metadata",
        "name",
        "labels",
        "spec",
        "status",
        "kind",
        "apiVersion",
        "finalizers",
        "ownerReferences",
        "dryRun",
        "a",
    ]
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=4),
    max_leaves=12,
)


@settings(max_examples=300, deadline=None)
@given(
    METHODS,
    PATHS,
    TYPES,
    VALUES,
    st.dictionaries(
        st.sampled_from(["dryRun", "limit", "fieldSelector", "force"]), st.text(max_size=4)
    ),
)
def test_no_request_is_a_fault_of_ours(
    method: str, path: str, content_type: str, body: object, query: dict[str, str]
) -> None:
    """Whatever comes is refused or done; anything that is raised fails this test."""
    asked = InMemoryCluster()
    asked.ask("POST", NODES, node("one"))
    text = "&".join(f"{key}={value}" for key, value in query.items())
    answer = asked.ask(method, f"{path}?fieldManager=x&{text}", body, content_type)
    assert answer.code < 500
