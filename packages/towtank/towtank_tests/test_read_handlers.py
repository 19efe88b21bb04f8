"""Reads: how lists, versions, forms and refusals look. The texts are a kube-apiserver's."""

import json
from typing import Any

import pytest

from towtank.model import json_values
from towtank.storage.pages import CONTINUE_LIFETIME, MAX_CONTINUED_LISTS
from towtank.wire import bodies
from towtank_tests.in_memory import DEFINITION, InMemoryCluster, content, node

NODES = "/api/v1/nodes"
BOATS = "/apis/example.com/v1/namespaces/default/boats"
TABLE = "application/json;as=Table;v={};g=meta.k8s.io"
PARTIAL = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
SERVED = "application/json, application/yaml, application/vnd.kubernetes.protobuf"
STREAMS = "application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch"


@pytest.fixture
def asked() -> InMemoryCluster:
    """With one node, one event, and one custom resource."""
    asked = InMemoryCluster()
    assert asked.ask("POST", NODES, node("one", kept="yes")).code == 201
    assert (
        asked.ask(
            "POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", DEFINITION
        ).code
        == 201
    )
    assert (
        asked.ask(
            "POST",
            BOATS,
            {"apiVersion": "example.com/v1", "kind": "Boat", "metadata": {"name": "b"}},
        ).code
        == 201
    )
    event = {"metadata": {"name": "e"}, "involvedObject": {"namespace": "default"}}
    assert asked.ask("POST", "/api/v1/namespaces/default/events", event).code == 201
    return asked


@pytest.mark.parametrize(
    ("path", "typed"),
    [
        (NODES, False),
        ("/api/v1/events", False),
        ("/apis/events.k8s.io/v1/events", False),
        (BOATS, True),
    ],
)
@pytest.mark.parametrize("accept", ["application/json", "application/yaml"])
def test_lists_of_built_in_kinds_say_once_what_they_are_of(
    asked: InMemoryCluster, path: str, typed: bool, accept: str
) -> None:
    """The items of custom resources say it each."""
    answer = asked.ask("GET", path, accept=accept)
    assert isinstance(answer.body, bytes)
    [item] = bodies.from_yaml(answer.body)["items"]
    assert ("kind" in item, "apiVersion" in item) == (typed, typed)
    assert item["metadata"]["name"]


@pytest.mark.parametrize(
    ("version", "code", "text"),
    [
        ("", 200, ""),
        ("0", 200, ""),
        ("1", 200, ""),
        (
            "abc",
            500,
            (
                'resourceVersion: Invalid value: "abc": strconv.ParseUint: parsing "abc": '
                "invalid syntax"
            ),
        ),
        ("-1", 500, 'strconv.ParseUint: parsing "-1": invalid syntax'),
        ("٣", 500, "invalid syntax"),
        ("9" * 5000, 500, "value out of range"),
        ("100000000", 504, "Timeout: Too large resource version: 100000000, current: "),
    ],
)
@pytest.mark.parametrize("path", [f"{NODES}/one", f"{NODES}?watch=1"])
def test_a_version_is_one_that_was(
    asked: InMemoryCluster, path: str, version: str, code: int, text: str
) -> None:
    """500 for what is none is the API server's own; a watch waits for what is to come."""
    answer = asked.ask("GET", f"{path}{'&' if '?' in path else '?'}resourceVersion={version}")
    if "watch" in path and code == 504:
        code, text = 200, ""
    assert answer.code == code
    assert not text or text in content(answer)["message"]


@pytest.mark.parametrize(
    ("path", "accept", "text"),
    [
        (f"{NODES}/one", "text/csv", f"406: Not Acceptable\n\nAvailable representations: {SERVED}"),
        (
            f"{NODES}/one",
            "application/*",
            f"406: Not Acceptable\n\nAvailable representations: {SERVED}",
        ),
        (
            NODES,
            "text/csv",
            f"406: Not Acceptable\n\nAvailable representations: {SERVED}, {STREAMS}",
        ),
        (NODES, TABLE.format("v2"), f"only the following media types are accepted: {SERVED}"),
        (
            NODES,
            "application/json;as=Table",
            f"only the following media types are accepted: {SERVED}",
        ),
        (
            NODES,
            PARTIAL,
            (
                "you requested PartialObjectMetadata, but the requested object is a list "
                "(*core.NodeList)"
            ),
        ),
        (
            "/apis/rbac.authorization.k8s.io/v1/roles",
            PARTIAL,
            "the requested object is a list (*rbac.RoleList)",
        ),
        (
            f"{NODES}/one",
            PARTIAL.replace("Metadata", "MetadataList"),
            "but the requested object is not a list (*core.Node)",
        ),
        (
            f"{NODES}?watch=1",
            "application/yaml",
            f"only the following media types are accepted: {STREAMS}",
        ),
    ],
)
def test_forms_that_are_not_served(
    asked: InMemoryCluster, path: str, accept: str, text: str
) -> None:
    """406, with what is."""
    answer = asked.ask("GET", path, accept=accept)
    assert answer.code == 406
    assert (
        text
        in bodies.from_yaml(
            answer.body if isinstance(answer.body, bytes) else json.dumps(answer.body).encode()
        )["message"]
    )


def test_refusals_come_in_the_form_that_is_wanted(asked: InMemoryCluster) -> None:
    """YAML, or else JSON."""
    refused = asked.ask("GET", f"{NODES}/two", accept="application/yaml")
    assert (refused.code, refused.content_type) == (404, "application/yaml")
    assert isinstance(refused.body, bytes)
    assert bodies.from_yaml(refused.body)["reason"] == "NotFound"
    assert asked.ask("GET", f"{NODES}/two", accept="text/csv").content_type == "application/json"


@pytest.mark.parametrize("version", ["v1", "v1beta1"])
@pytest.mark.parametrize("path", [NODES, f"{NODES}/one"])
def test_tables_have_the_version_that_is_wanted(
    asked: InMemoryCluster, path: str, version: str
) -> None:
    """They, and the metadata in their rows; whole objects in rows keep theirs."""
    table = content(asked.ask("GET", path, accept=TABLE.format(version)))
    assert (
        table["apiVersion"] == table["rows"][0]["object"]["apiVersion"] == f"meta.k8s.io/{version}"
    )
    whole = content(asked.ask("GET", f"{path}?includeObject=Object", accept=TABLE.format(version)))
    assert whole["rows"][0]["object"]["apiVersion"] == "v1"


@pytest.mark.parametrize(
    "path",
    [
        "/nothing",
        "/api/v1x/..",
        "/apis/nothing.example.com/v1/things",
        "/apis/example.com/v2/boats",
        "/openapi",
    ],
)
def test_what_no_api_is_at_is_a_text(asked: InMemoryCluster, path: str) -> None:
    """A Status is for groups of built-in kinds."""
    answer = asked.ask("GET", path)
    if path.startswith("/api/"):
        assert content(answer)["reason"] == "NotFound"
    else:
        assert (answer.code, answer.body, answer.content_type) == (
            404,
            b"404 page not found\n",
            "text/plain; charset=utf-8",
        )


def test_whoever_asks_for_endpoints_is_warned(asked: InMemoryCluster) -> None:
    """Whatever the answer is."""
    for path in ("/api/v1/endpoints", "/api/v1/namespaces/default/endpoints/none"):
        assert asked.ask("GET", path).warnings == (
            "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice",
        )


def test_the_groups_of_newer_events_are_named_as_asked(asked: InMemoryCluster) -> None:
    """Though core's events are what is stored."""
    path = "/apis/events.k8s.io/v1/namespaces/default/events/none"
    assert content(asked.ask("GET", path))["message"] == 'events.events.k8s.io "none" not found'


def test_discovery_tells_subresources_and_verbs_in_order(asked: InMemoryCluster) -> None:
    """And where the server is."""
    names = [one["name"] for one in content(asked.ask("GET", "/apis/apps/v1"))["resources"]]
    assert names == sorted(names)
    [boats] = content(asked.ask("GET", "/apis/example.com/v1"))["resources"]
    assert boats["verbs"] == [
        "delete",
        "deletecollection",
        "get",
        "list",
        "patch",
        "create",
        "update",
        "watch",
    ]
    addresses = content(asked.ask("GET", "/api", host="127.0.0.1:1"))["serverAddressByClientCIDRs"]
    assert addresses == [{"clientCIDR": "0.0.0.0/0", "serverAddress": "127.0.0.1:1"}]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"", "unexpected end of JSON input"),
        (b" ", "unexpected end of JSON input"),
        (b'{"a', "unexpected end of JSON input"),
        (b"1.", "unexpected end of JSON input"),
        (b"hello", "invalid character 'h' looking for beginning of value"),
        (b'{"a": NaN}', "invalid character 'N' looking for beginning of value"),
        (b'{"a" 1}', "invalid character '1' after object key"),
        (b'{"a":"b" 1}', "invalid character '1' after object key:value pair"),
        (b"[1 2]", "invalid character '2' after array element"),
        (b"{a: 1}", "invalid character 'a' looking for beginning of object key string"),
        (b'{"a": 1,}', "invalid character '}' looking for beginning of object key string"),
        (b"{} x", "invalid character 'x' after top-level value"),
        (b'"\x01"', "invalid character '\\x01' in string literal"),
        (b'"\\x"', "invalid character 'x' in string escape code"),
        (b"1e400", "json: Number out of range"),
        (b"[" * 100_000, "exceeded max depth"),
    ],
)
def test_what_is_no_json_is_told_as_go_tells_it(text: bytes, said: str) -> None:
    """The words that administrators know."""
    with pytest.raises(json_values.DecodeFailure) as refusal:
        bodies.from_json(text)
    assert str(refusal.value) == said


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"a: [b\n", "yaml: line 1: did not find expected ',' or ']'"),
        (b"a: b: c", "yaml: mapping values are not allowed in this context"),
        (b"a: b\nc: d: e\n", "yaml: line 2: mapping values are not allowed in this context"),
        (b'a: "\0"', "yaml: control characters are not allowed"),
    ],
)
def test_what_is_no_yaml_is_told_with_its_line(text: bytes, said: str) -> None:
    """Counted as libyaml's users in Go count."""
    with pytest.raises(json_values.DecodeFailure) as refusal:
        bodies.from_yaml(text)
    assert str(refusal.value) == said


@pytest.mark.parametrize(
    ("body", "shown"),
    [
        (b"", "(<empty>)"),
        (b"hello", "(68656c6c6f)"),
        (b"{", "({)"),
        (b'{"a": "' + b"b" * 40, '({"a": "bbbbbbbbbbbbbbbbbbbbbbb ...)'),
    ],
)
def test_an_unreadable_body_is_shown_in_part(
    asked: InMemoryCluster, body: bytes, shown: str
) -> None:
    """As text where it begins as an object, else in hexadecimal digits."""
    assert content(asked.ask("POST", NODES, body))["message"].endswith(shown)


@pytest.mark.parametrize(
    ("body", "code", "text"),
    [
        (None, 400, "unexpected end of JSON input"),
        (b"null", 422, "name or generateName is required"),
        ({"metadata": None}, 422, "name or generateName is required"),
        (
            {"kind": 1},
            400,
            "json: cannot unmarshal number into Go struct field .kind of type string",
        ),
        (
            {"apiVersion": {}},
            400,
            "json: cannot unmarshal object into Go struct field .apiVersion of type string",
        ),
        (b"[]", 400, "json: cannot unmarshal array into an object"),
    ],
)
def test_what_an_object_has_to_say_of_itself(
    asked: InMemoryCluster, body: Any, code: int, text: str
) -> None:
    """Nothing is as good as an empty object."""
    answer = asked.ask("POST", NODES, body)
    assert answer.code == code
    assert text in content(answer)["message"]


MAPS = "/api/v1/namespaces/default/configmaps"


def names(listed: Any) -> list[str]:
    """Of a list's items."""
    return [item["metadata"]["name"] for item in listed["items"]]


@pytest.fixture
def maps() -> InMemoryCluster:
    """With five ConfigMaps."""
    asked = InMemoryCluster()
    for number in range(5):
        body = {"metadata": {"name": f"m{number}", "labels": {"kept": "yes"}}}
        assert asked.ask("POST", MAPS, body).code == 201
    return asked


@pytest.mark.parametrize(
    "other",
    [
        f"{MAPS}?labelSelector=kept",
        f"{MAPS}?fieldSelector=metadata.name!=m0",
        "/api/v1/configmaps?",
        MAPS.replace("default", "other") + "?",
        MAPS.replace("configmaps", "secrets") + "?",
    ],
)
def test_a_page_goes_on_with_its_own_list(maps: InMemoryCluster, other: str) -> None:
    """A token of another resource, namespace or selector is none."""
    token = content(maps.ask("GET", f"{MAPS}?limit=1"))["metadata"]["continue"]
    assert maps.ask("GET", f"{other}&continue={token}").code == 410
    assert names(content(maps.ask("GET", f"{MAPS}?continue={token}"))) == ["m1", "m2", "m3", "m4"]


def test_pages_are_of_one_revision(maps: InMemoryCluster) -> None:
    """What came or went after the first page changes none of the others; each may be read again."""
    first = content(maps.ask("GET", f"{MAPS}?limit=2"))["metadata"]
    assert (first["remainingItemCount"], maps.ask("DELETE", f"{MAPS}/m3").code) == (3, 200)
    assert maps.ask("POST", MAPS, {"metadata": {"name": "m9"}}).code == 201
    second, again = (
        content(maps.ask("GET", f"{MAPS}?limit=2&continue={first['continue']}")) for _ in range(2)
    )
    assert names(second) == names(again) == ["m2", "m3"]
    assert second["metadata"]["resourceVersion"] == first["resourceVersion"]
    assert second["metadata"]["remainingItemCount"] == 1
    last = content(maps.ask("GET", f"{MAPS}?limit=2&continue={second['metadata']['continue']}"))
    assert (names(last), last["metadata"]) == (
        ["m4"],
        {"resourceVersion": first["resourceVersion"]},
    )


def test_a_token_grows_old(maps: InMemoryCluster) -> None:
    """After five minutes, or when a hundred younger ones are out, it is 410."""
    page = f"{MAPS}?limit=1"
    old = content(maps.ask("GET", page))["metadata"]["continue"]
    maps.wait(CONTINUE_LIFETIME.total_seconds())
    assert maps.ask("GET", f"{page}&continue={old}").code == 200
    maps.wait(1)
    status = content(maps.ask("GET", f"{page}&continue={old}"))
    assert (status["code"], status["reason"]) == (410, "Expired")
    tokens = [
        content(maps.ask("GET", page))["metadata"]["continue"]
        for _ in range(MAX_CONTINUED_LISTS + 1)
    ]
    assert [maps.ask("GET", f"{MAPS}?continue={token}").code for token in tokens[:2]] == [410, 200]


@pytest.mark.parametrize(("version", "code"), [("0", 200), ("1", 400)])
def test_a_token_has_its_version(maps: InMemoryCluster, version: str, code: int) -> None:
    """Another one is refused beside it."""
    token = content(maps.ask("GET", f"{MAPS}?limit=1"))["metadata"]["continue"]
    answer = maps.ask("GET", f"{MAPS}?continue={token}&resourceVersion={version}")
    assert answer.code == code
    if code == 400:
        why = "specifying resource version is not allowed when using continue"
        assert content(answer)["message"] == why
