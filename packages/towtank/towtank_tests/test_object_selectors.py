"""Selectors choose what kube-apiserver chooses, and refuse with its words what it refuses."""

import contextlib
import re
import string
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from towtank.model import object_selectors
from towtank.model.api_errors import ApiError
from towtank.model.kinds import APIResource, Strategy
from towtank.strategies.event import EventStrategy, EventsV1Strategy
from towtank.strategies.node_strategy import NodeStrategy
from towtank.strategies.pod import PodStrategy
from towtank.strategies.resource_claim import ResourceSliceStrategy
from towtank.strategies.workload import JobStrategy, ReplicationControllerStrategy

PODS = APIResource("", "v1", "pods", "Pod", strategy=PodStrategy())
NODES = APIResource("", "v1", "nodes", "Node", namespaced=False, strategy=NodeStrategy())
CONFIG_MAPS = APIResource("", "v1", "configmaps", "ConfigMap")
THINGS = APIResource(
    "example.com",
    "v1",
    "things",
    "Thing",
    custom=True,
    selectable=(".spec.color", ".spec.size", ".spec.on"),
)
GLOBAL_THINGS = APIResource("example.com", "v1", "things", "Thing", custom=True, namespaced=False)


def chosen(resource: APIResource, selector: str, body: Mapping[str, Any]) -> bool:
    """Whether a field selector chooses an object."""
    choose = object_selectors.object_filter(resource, "", selector)
    return choose is None or choose({"metadata": {}, **body})


def refusal(resource: APIResource, labels: str = "", fields: str = "") -> str:
    """What selectors are refused with."""
    with pytest.raises(ApiError) as caught:
        object_selectors.object_filter(resource, labels, fields)
    assert (caught.value.code, caught.value.reason) == (400, "BadRequest")
    return caught.value.message


# ---- labels --------------------------------------------------------------------------------------

NAME = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end "
    "with an alphanumeric character (e.g. "
    "'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
REQUIREMENT = "unable to parse requirement: "
INTEGER = "for 'Gt', 'Lt' operators, the value must be an integer"


@pytest.mark.parametrize(
    ("selector", "text"),
    [
        (",", "found ',', expected: !, identifier, or 'end of string'"),
        ("a,", "found '', expected: identifier after ','"),
        ("a,,b", "found ',', expected: identifier after ','"),
        ("a=b=c", "found '=', expected: ',' or 'end of string'"),
        ("!a=b", "found '=', expected: ',' or 'end of string'"),
        ("a in (x)y", "found 'y', expected: ',' or 'end of string'"),
        ("a in x", REQUIREMENT + "found 'x' expected: '('"),
        ("a in (", REQUIREMENT + "found '', expected: ',', ')' or identifier"),
        ("a in (x", REQUIREMENT + "found '', expected: ',' or ')'"),
        ("a b", REQUIREMENT + "found 'b', expected: in, notin, =, ==, !=, gt, lt"),
        ("!", REQUIREMENT + "found '', expected: identifier"),
        ("a=(x)", REQUIREMENT + "found '(', expected: identifier"),
        ("-a", f'{REQUIREMENT}<nil>: Invalid value: "-a": {NAME}'),
        ("a/=x", f'{REQUIREMENT}<nil>: Invalid value: "a/": name part must be non-empty; {NAME}'),
        ("/a", f'{REQUIREMENT}<nil>: Invalid value: "/a": prefix part must be non-empty'),
        (
            "x" * 64,
            (
                f'{REQUIREMENT}<nil>: Invalid value: "{"x" * 64}": name part must be no more '
                f"than 63 bytes"
            ),
        ),
        (
            "a in (b," + "x" * 64 + ")",
            (
                f'{REQUIREMENT}values[1][a]: Invalid value: "{"x" * 64}": must be no more than '
                f"63 bytes"
            ),
        ),
        ("a>x", f'{REQUIREMENT}values[0]: Invalid value: "x": {INTEGER}'),
        ("a>", f'{REQUIREMENT}values[0]: Invalid value: "": {INTEGER}'),
        (
            "a>9223372036854775808",
            f'{REQUIREMENT}values[0]: Invalid value: "9223372036854775808": {INTEGER}',
        ),
    ],
)
def test_what_cannot_be_read_is_refused_with_the_words_of_kube_apiserver(
    selector: str, text: str
) -> None:
    """Each text was given by one."""
    assert refusal(PODS, labels=selector) == text


@pytest.mark.parametrize(
    ("selector", "matching"),
    [
        ("", ["none", "x", "empty", "seven"]),
        ("a", ["x", "empty", "seven"]),
        ("!a", ["none"]),
        ("! a", ["none"]),
        ("a=x", ["x"]),
        ("a == x", ["x"]),
        ("a!=x", ["none", "empty", "seven"]),
        ("a=", ["empty"]),
        ("a!=", ["none", "x", "seven"]),
        ("a in (x, 7)", ["x", "seven"]),
        ("a in (x,)", ["x", "empty"]),
        ("a in ()", ["empty"]),
        ("a notin (x,7)", ["none", "empty"]),
        ("a>6", ["seven"]),
        ("a<8,a", ["seven"]),
        ("a>7", []),
        ("in notin (in),notin!=in", ["none", "x", "empty", "seven"]),
    ],
)
def test_each_operator(selector: str, matching: list[str]) -> None:
    """On objects without the label, with a text, nothing and a number."""
    objects: dict[str, dict[str, str]] = {
        "none": {},
        "x": {"a": "x"},
        "empty": {"a": ""},
        "seven": {"a": "7"},
    }
    assert [
        name
        for name, labels in objects.items()
        if object_selectors.parsed(selector).matches(labels)
    ] == matching


TERMS = st.tuples(
    st.sampled_from(["a", "b.c/d", "in"]),
    st.sampled_from(["in", "notin", "=", "!=", "exists", "!"]),
    st.sets(st.sampled_from("xyz"), min_size=1),
)


@given(
    st.lists(TERMS),
    st.dictionaries(st.sampled_from(["a", "b.c/d", "in"]), st.sampled_from("xyz")),
    st.sampled_from(["", " "]),
)
def test_a_selector_agrees_with_a_naive_evaluator(
    terms: list[tuple[str, str, set[str]]], labels: dict[str, str], space: str
) -> None:
    """All terms hold, however they are written."""
    written, expected = [], True
    for key, operator, values in terms:
        if operator in ("exists", "!"):
            written.append(key if operator == "exists" else f"!{space}{key}")
            expected &= (key in labels) == (operator == "exists")
            continue
        several = operator in ("in", "notin")
        wanted = values if several else {min(values)}
        shown = (
            f" {operator} ({f',{space}'.join(sorted(wanted))})"
            if several
            else f"{space}{operator}{space}{min(wanted)}"
        )
        written.append(key + shown)
        expected &= (labels.get(key) in wanted) == (operator in ("in", "="))
    assert object_selectors.parsed(f"{space},{space}".join(written)).matches(labels) == expected


@given(
    st.text(st.sampled_from("ab!=()<>, /-.1\\\n") | st.characters(), max_size=20),
    st.sampled_from([PODS, CONFIG_MAPS, THINGS]),
)
def test_no_text_breaks_a_selector(text: str, resource: APIResource) -> None:
    """It is read, or refused."""
    for labels, fields in ((text, ""), ("", text), ("", f"metadata.name={text}")):
        with contextlib.suppress(ApiError):
            choose = object_selectors.object_filter(resource, labels, fields)
            assert choose is None or choose({"metadata": {}}) in (True, False)


# ---- fields --------------------------------------------------------------------------------------

ONLY = 'is not a known field selector: only "metadata.name", "metadata.namespace"'


@pytest.mark.parametrize(
    ("resource", "selector", "text"),
    [
        (PODS, "a=b", "field label not supported: a"),
        (PODS, " metadata.name=x", "field label not supported:  metadata.name"),
        (CONFIG_MAPS, "a=b", f'"a" {ONLY}'),
        (CONFIG_MAPS, "a\\,b=c", f'"a\\\\,b" {ONLY}'),
        (NODES, "metadata.namespace=x", "field label not supported: metadata.namespace"),
        (THINGS, ".spec.color=x", "field label not supported: .spec.color"),
        (GLOBAL_THINGS, "metadata.namespace=x", "field label not supported: metadata.namespace"),
        (
            APIResource("batch", "v1", "jobs", "Job", strategy=JobStrategy()),
            "a=b",
            'field label "a" not supported for Job',
        ),
        (
            APIResource(
                "resource.k8s.io",
                "v1",
                "resourceslices",
                "ResourceSlice",
                namespaced=False,
                strategy=ResourceSliceStrategy(),
            ),
            "metadata.namespace=x",
            (
                "field label not supported for resource.k8s.io/v1, Kind=ResourceSlice: "
                "metadata.namespace"
            ),
        ),
        (
            PODS,
            "metadata.name",
            "invalid selector: 'metadata.name'; can't understand 'metadata.name'",
        ),
        (
            PODS,
            "foo,metadata.name=x\\z",
            "invalid selector: 'foo,metadata.name=x\\z'; can't understand 'foo'",
        ),
        (PODS, "a=b,metadata.name=a\\b", "invalid field selector: invalid escape sequence: \\b"),
        (PODS, "metadata.name=\\", "invalid field selector: invalid escape sequence: \\"),
        (PODS, "metadata.name=a=b", "invalid field selector: unescaped character in value: 61"),
    ],
)
def test_fields_are_refused_with_the_words_of_kube_apiserver(
    resource: APIResource, selector: str, text: str
) -> None:
    """Whether or not there are objects, and each kind in its own way."""
    assert refusal(resource, fields=selector) == text


@pytest.mark.parametrize("selector", ["", ",", "=", "!=", ",,"])
def test_a_selector_of_nothing_chooses_all(selector: str) -> None:
    """And costs nothing, where it is empty altogether."""
    assert object_selectors.object_filter(PODS, "", selector) is None


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        ("metadata.name=a", True),
        ("metadata.name==a,metadata.namespace!=c", True),
        ("metadata.name!=a", False),
        ("metadata.name=a,metadata.name=b", False),
        ("metadata.name= a", False),
        ("spec.nodeName=n", True),
        ("spec.nodeName!=", True),
        ("spec.hostNetwork=false", True),
        ("spec.hostNetwork=", False),
        ("spec.schedulerName=", True),
        ("status.phase=Running", True),
        ("status.podIPs=10.0.0.1", False),
    ],
)
def test_fields_of_pods(selector: str, expected: bool) -> None:
    """By name, by place, and by what is not said."""
    pod = {
        "metadata": {"name": "a", "namespace": "b"},
        "spec": {"nodeName": "n"},
        "status": {"phase": "Running", "podIPs": [{"ip": "10.0.0.1"}]},
    }
    assert chosen(PODS, selector, pod) is expected


@pytest.mark.parametrize(
    ("strategy", "field", "body", "value"),
    [
        (NodeStrategy(), "spec.unschedulable", {"spec": {}}, "false"),
        (NodeStrategy(), "spec.unschedulable", {"spec": {"unschedulable": True}}, "true"),
        (JobStrategy(), "status.successful", {"status": {"succeeded": 2}}, "2"),
        (JobStrategy(), "status.successful", {}, "0"),
        (ReplicationControllerStrategy(), "status.replicas", {"status": {"replicas": 0}}, "0"),
        (EventStrategy(), "source", {"source": {"component": "c"}, "reportingComponent": "r"}, "c"),
        (EventStrategy(), "source", {"source": {}, "reportingComponent": "r"}, "r"),
        (EventsV1Strategy(), "regarding.name", {"involvedObject": {"name": "p"}}, "p"),
        (EventsV1Strategy(), "reportingController", {"reportingComponent": "r"}, "r"),
    ],
)
def test_fields_that_are_not_just_texts(
    strategy: Strategy, field: str, body: dict[str, Any], value: str
) -> None:
    """As kube-apiserver compares them."""
    resource = APIResource("", "v1", "kinds", "Kind", strategy=strategy)
    assert chosen(resource, f"{field}={value}", body) and not chosen(
        resource, f"{field}!={value}", body
    )


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        ("spec.color=red", True),
        ("spec.size=3", True),
        ("spec.on=true", True),
        ("spec.color=", False),
        ("spec.size!=0", True),
    ],
)
def test_fields_of_custom_resources(selector: str, expected: bool) -> None:
    """Their definition says which, without the dot in front."""
    assert chosen(THINGS, selector, {"spec": {"color": "red", "size": 3, "on": True}}) is expected
    assert chosen(THINGS, selector, {"spec": {}}) is (not expected or "!=" in selector)


@given(st.text(string.printable, max_size=10))
def test_an_escaped_value_is_found(value: str) -> None:
    """A backslash before each comma, equals sign and backslash."""
    escaped = re.sub(r"([\\,=])", r"\\\1", value)
    assert chosen(PODS, f"metadata.name={escaped}", {"metadata": {"name": value}})
    assert chosen(PODS, f"metadata.name!={escaped}", {"metadata": {"name": value}}) is False


def test_labels_and_fields_hold_together() -> None:
    """A list may have both."""
    choose = object_selectors.object_filter(PODS, "a", "metadata.name=x")
    assert choose is not None
    bodies: list[dict[str, Any]] = [
        {"metadata": {"name": name, "labels": labels}}
        for name in "xy"
        for labels in ({"a": ""}, None)
    ]
    assert [choose(body) for body in bodies] == [True, False, False, False]
