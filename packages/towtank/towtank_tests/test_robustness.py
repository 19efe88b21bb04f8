"""Whatever comes is refused or done: random requests, and objects of every kind with something
unexpected in one place.

Nothing here looks at what is answered, but that it is an answer: ``Answering`` lets faults of ours
through, and they fail the test.
"""

import json
import logging
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.conformance.conversations import HERE, Kind, filled
from towtank.model.requests import ApiResponse, WatchOptions
from towtank.model.schema_nodes import SchemaNode
from towtank.wire import protobuf, request_paths
from towtank_tests.in_memory import DEFINITION, InMemoryCluster

JSON, YAML, PROTOBUF = "application/json", "application/yaml", "application/vnd.kubernetes.protobuf"
MERGE, STRATEGIC = "application/merge-patch+json", "application/strategic-merge-patch+json"
APPLY, OPERATIONS = "application/apply-patch+yaml", "application/json-patch+json"
TYPES = (
    JSON,
    YAML,
    PROTOBUF,
    MERGE,
    STRATEGIC,
    APPLY,
    OPERATIONS,
    "",
    "a/b",
    "application/json; charset=utf-8",
)
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
ACCEPTS = (
    "",
    YAML,
    TABLE,
    "application/json;as=PartialObjectMetadataList;v=v1beta1;g=meta.k8s.io",
    "text/csv",
    ";q=nan,,;;=",
)
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "BREW")
WHERE = {
    "ns": "default",
    "core": "/api/v1/namespaces/default",
    "apps": "/apis/apps/v1/namespaces/default",
}
BOAT: dict[str, Any] = {"apiVersion": "example.com/v1", "kind": "Boat", "spec": {"masts": 1}}
PATIENT = settings(deadline=timedelta(seconds=10), suppress_health_check=[HealthCheck.too_slow])


def _places() -> Iterator[tuple[str, dict[str, Any]]]:
    """A collection's path, and a named object, of every kind."""
    for kind in msgspec.yaml.decode(
        (HERE / "kinds.yaml").read_bytes(), type=dict[str, Kind]
    ).values():
        body = {"metadata": {"name": kind.named}, **kind.body}
        yield filled(kind.path, WHERE), filled(body, WHERE)
    yield "/apis/example.com/v1/namespaces/default/boats", {**BOAT, "metadata": {"name": "one"}}


PLACES = tuple(_places())
PATHS = tuple(
    f"{path}{end}" for path, body in PLACES for end in ("", f"/{body['metadata']['name']}")
)
BESIDE = (
    "/api/v1/namespaces/default/pods/one/eviction",
    "/api/v1/namespaces/default/pods/one/binding",
    "/api/v1/namespaces/default/pods/one/log",
    "/api/v1/namespaces/default/bindings",
    "/api/v1/namespaces/default/serviceaccounts/one/token",
    "/api/v1/namespaces/default/finalize",
    "/apis/apps/v1/namespaces/default/deployments/one/scale",
    "/apis/authentication.k8s.io/v1/tokenreviews",
    "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
    "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews",
)
QUERIES = (
    *(
        "dryRun",
        "fieldManager",
        "fieldValidation",
        "force",
        "watch",
        "limit",
        "continue",
        "labelSelector",
        "fieldSelector",
        "resourceVersion",
    ),
    *(
        "resourceVersionMatch",
        "timeoutSeconds",
        "sendInitialEvents",
        "allowWatchBookmarks",
        "gracePeriodSeconds",
        "propagationPolicy",
    ),
    *("orphanDependents", "includeObject", "pretty"),
)
TEXTS = st.sampled_from(
    [
        "",
        "a",
        "All",
        "true",
        "0",
        "-1",
        "9" * 30,
        str(2**63 - 1),
        "a=b",
        "a in (b",
        "!",
        "metadata.name=one",
        "Strict",
        "\0",
    ]
)
NAMES = st.sampled_from(
    [
        "metadata",
        "name",
        "labels",
        "spec",
        "status",
        "kind",
        "a",
        "",
        "$patch",
        "$retainKeys",
        "\0",
        "é",
        "k: v",
    ]
)
JUNK: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=4)
    | TEXTS
    | st.sampled_from(["1Gi", "50%", 10**400, -(2**63), 2**63 - 1]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=8,
)
BOMB = b"a: &a [x,x]\n" + b"".join(
    b"%c: &%c [*%c,*%c,*%c,*%c]\n" % (n, n, n - 1, n - 1, n - 1, n - 1) for n in range(98, 123)
)
NASTY = (
    b"",
    b"null",
    b"NaN",
    b'{"metadata":{"name":NaN}}',
    b'{"metadata":{"name":1e999}}',
    b'{"metadata":{"generation":' + b"9" * 5000 + b"}}",
    b'{"metadata":{"name":"a","name":"b"},"metadata":{"name":"c"}}',
    b'{"a":' * 5000 + b"1" + b"}" * 5000,
    b"[" * 100_000,
    b"{" * 100_000,
    b"a: " + b"[" * 3000,
    b"- " * 20_000,
    BOMB,
    b"a: &a {b: *a}",
    b"<<: *a",
    b"<<: 1",
    b"? [a]\n: b",
    b"? {a: b}\n: c",
    b"a: !!binary AAAA\nb: !!set {c}\nd: !!python/object:os.system {}",
    b"a: 2020-01-01T00:00:00Z\nb: 0o17\nc: 1_000\nd: .nan\ne: 1:60\nf: yes",
    b"a: 1\n---\nb: 2",
    b"%YAML 9.9\n---\na: b",
    b"a: \xff\xfe",
    b"\xff\xfe{\0}\0",
    b'{"metadata":{"name":"\\ud800"},"data":{"\\u0000":"\\udfff"}}',
    b'{"metadata":{"name":"\0"}}',
    b"k8s\0",
    b"k8s\0\x0a\x0b\x0a\x02v1\x12\x05Nodes",
    b"k8s\0\x0a\x0a\x0a\x02v1\x12\x04Node\x12\x05\x0a\x03\x0a\x01a",
    b"k8s\0" + b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\x7f",
    b'[{"op":"copy","from":"","path":"/a"}]' * 3,
    b"[" + b",".join([b'{"op":"copy","from":"","path":"/a"}'] * 40) + b"]",
    b'[{"op":"add","path":"/metadata/labels/-1","value":1},{"op":"test"}]',
    b'[{"op":"remove","path":""},null]',
    b'{"spec":{"containers":[{"$patch":"delete"}],"$setElementOrder/containers":[1,{"name":[]}]}}',
)


def checked(answer: ApiResponse) -> ApiResponse:
    """It can be sent."""
    if isinstance(answer.body, WatchOptions):
        return answer
    text = answer.body if isinstance(answer.body, bytes) else msgspec.json.encode(answer.body)
    if answer.content_type == JSON:
        json.loads(text)
    return answer


def world(*resources: tuple[str, dict[str, Any]]) -> InMemoryCluster:
    """With a custom kind and these objects."""
    asked = InMemoryCluster()
    assert (
        asked.ask(
            "POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", DEFINITION
        ).code
        == 201
    )
    for path, body in resources:
        assert asked.ask("POST", path, body).code in (201, 409)  # events are there under two paths
    return asked


class _Raises(logging.Handler):
    """The store goes on when somebody who follows it fails, and logs that."""

    def emit(self, record: logging.LogRecord) -> None:
        """Fail the test."""
        raise AssertionError(record.getMessage()) from (record.exc_info or (None, None))[1]


@pytest.fixture(scope="module", autouse=True)
def _loud() -> Iterator[None]:
    """A logged fault fails."""
    log, handler = logging.getLogger("towtank"), _Raises(logging.ERROR)
    log.addHandler(handler)
    yield
    log.removeHandler(handler)


@pytest.fixture(scope="module")
def everything() -> InMemoryCluster:
    """One of every kind; requests change it as they like."""
    return world(*PLACES)


@settings(PATIENT, max_examples=1500)
@given(
    st.sampled_from(METHODS),
    st.sampled_from([*PATHS, *(f"{path}/status" for path in PATHS), *BESIDE]),
    st.sampled_from(TYPES),
    st.sampled_from(ACCEPTS),
    st.dictionaries(st.sampled_from(QUERIES), TEXTS, max_size=3),
    st.sampled_from(NASTY)
    | st.binary(max_size=80)
    | JUNK.map(lambda value: json.dumps(value).encode()),
)
def test_no_request_is_a_fault_of_ours(
    everything: InMemoryCluster,
    method: str,
    path: str,
    content_type: str,
    accept: str,
    query: dict[str, str],
    body: bytes,
) -> None:
    """Any method, path, media type, query and body; and what they leave is none to the
    controllers.
    """
    pairs = "&".join(f"{key}={value}" for key, value in query.items())
    checked(everything.ask(method, f"{path}?{pairs}", body, content_type, accept=accept))
    everything.settle(0, steps=5)


# ---- objects with something unexpected in one place ----------------------------------------------

LEAVES = JUNK | st.sampled_from(
    [
        "",
        "-",
        "a" * 300,
        "1Gi",
        "-1",
        "150%",
        0,
        -1,
        2**31,
        2**63 - 1,
        0.5,
        True,
        [],
        {},
        [None],
        [{}],
        {"a": None},
    ]
)


@st.composite
def planted(draw: st.DrawFn, node: SchemaNode, body: Any) -> Any:
    """``body`` with one place of its schema filled with anything; what is on the way there is
    made.
    """
    known = sorted(node.properties) or (["a"] if node.additional else [])
    if node.items is not None and draw(st.integers(0, 3)):
        first, *rest = body if isinstance(body, list) and body else [{}]
        item = draw(planted(node.items, first))
        return [item, *rest, *([first] if draw(st.booleans()) else [])]
    if not known or not draw(st.integers(0, 5)):
        return draw(LEAVES)
    name = draw(st.sampled_from(known))
    inner, old = node.child(name), body if isinstance(body, dict) else {}
    assert inner
    value = draw(planted(inner, old.get(name)))
    return (
        {**old, name: value}
        if draw(st.integers(0, 9))
        else {key: inner for key, inner in old.items() if key != name}
    )


@settings(PATIENT, max_examples=400)
@given(st.data())
def test_no_object_is_a_fault_of_ours(data: st.DataObject) -> None:
    """However it is written; and neither for tables, watches and controllers that meet it
    afterwards.
    """
    path, body = data.draw(st.sampled_from(PLACES))
    one, asked = f"{path}/{body['metadata']['name']}", world()
    target, _ = request_paths.target(asked.catalogue, path)
    there = data.draw(st.booleans())
    if there:
        assert asked.ask("POST", path, body).code == 201
    typed = {"apiVersion": target.resource.api_version, "kind": target.resource.kind, **body}
    for _ in range(data.draw(st.integers(1, 2))):
        changed = data.draw(planted(target.resource.schema, typed))
        method, content_type = data.draw(
            st.sampled_from(
                [
                    ("PATCH", MERGE),
                    ("PATCH", STRATEGIC),
                    ("PATCH", APPLY),
                    ("PUT", JSON),
                    ("PUT", YAML),
                ]
            )
        )
        if not there:
            checked(asked.ask("POST", path, changed))
        where = data.draw(st.sampled_from(["", "/status"]))
        checked(asked.ask(method, f"{one}{where}?fieldManager=x", changed, content_type))
        if method == "PATCH":
            place, value = (
                data.draw(
                    st.sampled_from(["/spec", "/metadata", "/status", "/metadata/labels/a", ""])
                ),
                data.draw(JUNK),
            )
            checked(
                asked.ask("PATCH", one, [{"op": "add", "path": place, "value": value}], OPERATIONS)
            )
    for accept in (JSON, TABLE, YAML):
        checked(asked.ask("GET", path, accept=accept))
    asked.settle()
    checked(asked.ask("DELETE", one, data.draw(st.none() | JUNK)))
    checked(asked.ask("DELETE", path))
    asked.settle()


# ---- what was found so ---------------------------------------------------------------------------

RBAC = "/apis/rbac.authorization.k8s.io/v1"


@pytest.mark.parametrize(
    ("path", "body", "code", "text"),
    [
        (
            f"{RBAC}/namespaces/default/rolebindings",
            {"roleRef": {"kind": "Role", "name": "r"}, "subjects": [None]},
            422,
            "subjects[0].name",
        ),
        (
            f"{RBAC}/clusterrolebindings",
            {
                "roleRef": {"kind": "ClusterRole", "name": "r"},
                "subjects": [{"kind": "ServiceAccount", "name": "x"}],
            },
            422,
            "subjects[0].namespace: Required value",
        ),
        (
            "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
            {},
            422,
            "spec.group: Required value",
        ),
        (
            "/api/v1/namespaces/default/endpoints",
            {"subsets": [{"addresses": [None]}]},
            201,
            '"ip":""',
        ),
        (
            "/apis/policy/v1/namespaces/default/poddisruptionbudgets",
            {"status": {"conditions": [{}]}},
            201,
            "",
        ),
    ],
)
def test_what_is_missing_in_a_list_is_its_zero_or_refused(
    path: str, body: dict[str, Any], code: int, text: str
) -> None:
    """As in Go, where a struct has all its fields; tables and controllers count on it."""
    asked = world((PLACES[0][0], PLACES[0][1]))
    answer = asked.ask("POST", path, {"metadata": {"name": "one"}, **body})
    assert answer.code == code
    assert text in (msgspec.json.encode(answer.body).decode())
    assert checked(asked.ask("GET", path, accept=TABLE)).code == 200


def test_a_condition_without_a_type_has_an_empty_one() -> None:
    """So that whoever looks for one may compare types."""
    node = next((path, body) for path, body in PLACES if path == "/api/v1/nodes")
    asked = world(node)
    one = f"{node[0]}/{node[1]['metadata']['name']}"
    answer = asked.ask("PATCH", f"{one}/status", {"status": {"conditions": [{}]}}, MERGE)
    assert isinstance(answer.body, dict)
    [condition] = answer.body["status"]["conditions"]
    assert (condition["type"], condition["status"]) == ("", "")
    assert checked(asked.ask("GET", one, accept=TABLE)).code == 200


def test_a_program_s_name_is_printed_as_far_as_it_can_be() -> None:
    """Of the user agent, which is whatever bytes the client sends."""
    asked = world()
    answer = asked.ask(
        "POST",
        "/api/v1/nodes",
        {"metadata": {"name": "n", "labels": {"a": "b"}}},
        user_agent="a\x01b\x7f/1",
    )
    assert isinstance(answer.body, dict)
    assert answer.body["metadata"]["managedFields"][0]["manager"] == "ab"


def test_json_within_protobuf_is_json() -> None:
    """No NaN, which would go into an answer."""
    raw = b"\x0a\x03NaN"
    with pytest.raises(protobuf.MalformedProtobuf):
        protobuf.read(
            b"k8s\0"
            + _field(1, _field(1, b"apps/v1") + _field(2, b"ControllerRevision"))
            + _field(2, _field(2, raw))
        )


def _field(number: int, data: bytes) -> bytes:
    return bytes((number << 3 | 2, len(data))) + data
