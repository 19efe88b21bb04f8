"""Objects in protobuf: written here by the wire's own rules from the same table of fields, read
back as the JSON that they were.
"""

from __future__ import annotations

import base64
import json
import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from towtank.model.api_errors import ApiError
from towtank.schemas import schema_parser
from towtank.wire import bodies, protobuf

# As `kubectl create deployment`, `kubectl create secret` and `kubectl auth can-i` send them.
DEPLOYMENT = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web", "labels": {"app": "web"}},
    "spec": {
        "replicas": 0,
        "selector": {"matchLabels": {"app": "web"}},
        "template": {
            "metadata": {"labels": {"app": "web"}},
            "spec": {"containers": [{"name": "nginx", "image": "nginx"}]},
        },
    },
}
POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "p", "creationTimestamp": "2026-11-28T10:00:00Z"},
    "spec": {
        "containers": [
            {
                "name": "c",
                "resources": {"requests": {"cpu": "100m", "memory": "1Gi"}},
                "ports": [{"containerPort": 80}],
                "livenessProbe": {"httpGet": {"path": "/", "port": "http"}, "periodSeconds": 5},
            }
        ],
        "volumes": [
            {"name": "v", "emptyDir": {}},
            {"name": "w", "configMap": {"name": "m", "defaultMode": 0}},
        ],
        "priority": -5,
        "tolerations": [{"key": "k", "operator": "Exists", "tolerationSeconds": 0}],
    },
}
SECRET = {
    "apiVersion": "v1",
    "kind": "Secret",
    "metadata": {"name": "s"},
    "data": {"a": "Yg=="},
    "type": "Opaque",
}
REVIEW = {
    "apiVersion": "authorization.k8s.io/v1",
    "kind": "SelfSubjectAccessReview",
    "metadata": {},
    "spec": {"resourceAttributes": {"verb": "create", "resource": "pods"}},
}
OBJECTS = [pytest.param(one, id=str(one["kind"])) for one in (DEPLOYMENT, POD, SECRET, REVIEW)]


def varint(number: int) -> bytes:
    """As protobuf writes numbers; negative ones as 64 bits."""
    number &= (1 << 64) - 1
    written = bytearray()
    while number > 0x7F:
        written.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*written, number])


def length_delimited(number: int, data: bytes) -> bytes:
    """A field of bytes."""
    return varint(number << 3 | 2) + varint(len(data)) + data


def fields_of(message: str) -> list[list[Any]]:
    """The table's."""
    fields: list[list[Any]] = schema_parser.data("messages.json")[message]
    return fields


def value(field: int, kind: str, held: Any) -> bytes:
    """One field."""
    match kind:
        case "string":
            return length_delimited(field, held.encode())
        case "bytes":
            return length_delimited(field, base64.b64decode(held))
        case "bool" | "int32" | "int64":
            return varint(field << 3) + varint(int(held))
        case "double":
            return varint(field << 3 | 1) + struct.pack("<d", held)
    if kind.endswith("Quantity"):
        return length_delimited(field, length_delimited(1, held.encode()))
    if kind.endswith("IntOrString"):
        parts = (
            value(1, "int64", 1) + value(3, "string", held)
            if isinstance(held, str)
            else value(1, "int64", 0) + value(2, "int32", held)
        )
        return length_delimited(field, parts)
    if kind.endswith("meta.v1.Time"):
        assert held == "2026-11-28T10:00:00Z"
        return length_delimited(field, value(1, "int64", 1795860000))
    return length_delimited(field, message_of(kind, held))


def message_of(message: str, body: dict[str, Any]) -> bytes:
    """A message; one that is laid into its parent takes what is its own."""
    data = b""
    for number, name, kind, letters in fields_of(message):
        if not name:
            own = {one[1] for one in fields_of(kind)}
            data += length_delimited(
                number, message_of(kind, {key: held for key, held in body.items() if key in own})
            )
        elif name not in body:
            continue
        elif "m" in letters:
            for key, held in body[name].items():
                data += length_delimited(number, value(1, "string", key) + value(2, kind, held))
        elif "r" in letters:
            data += b"".join(value(number, kind, held) for held in body[name])
        else:
            data += value(number, kind, body[name])
    return data


def sent(body: dict[str, Any]) -> bytes:
    """An object as a client sends it."""
    message = protobuf._definition(body["apiVersion"], body["kind"])
    assert message is not None
    type_meta = value(1, "string", body["apiVersion"]) + value(2, "string", body["kind"])
    return (
        b"k8s\0" + length_delimited(1, type_meta) + length_delimited(2, message_of(message, body))
    )


@pytest.mark.parametrize("body", OBJECTS)
def test_an_object_is_read_as_its_json(body: dict[str, Any]) -> None:
    """Zeros stay where they say something, empty structs that Go always writes do not."""
    expected = {key: held for key, held in body.items() if held != {}}
    assert protobuf.read(sent(body)) == expected


def test_what_go_writes_without_saying_anything_is_left_out() -> None:
    """A false that nobody set, a strategy with nothing in it."""
    message = "io.k8s.api.apps.v1.DeploymentSpec"
    spec = message_of(message, DEPLOYMENT["spec"]) + value(7, "bool", 0) + length_delimited(4, b"")  # type: ignore[arg-type]
    data = b"k8s\0" + length_delimited(
        1, value(1, "string", "apps/v1") + value(2, "string", "Deployment")
    )
    assert (
        protobuf.read(data + length_delimited(2, length_delimited(2, spec)))["spec"]
        == DEPLOYMENT["spec"]
    )


@pytest.mark.parametrize("bytes_", [1, 5, 40])
def test_what_is_cut_short_is_no_object(bytes_: int) -> None:
    """Though all that is there could be read."""
    with pytest.raises(protobuf.MalformedProtobuf, match="unexpected EOF"):
        protobuf.read(sent(DEPLOYMENT)[:-bytes_])


@pytest.mark.parametrize(
    ("seconds", "time"),
    [(-62135596800, None), (0, "1970-01-01T00:00:00Z"), (1893456000, "2030-01-01T00:00:00Z")],
)
def test_times(seconds: int, time: str | None) -> None:
    """Go's zero time is none."""
    assert protobuf._time(varint(1 << 3) + varint(seconds % (1 << 64))) == time


def refusal(data: bytes) -> int:
    """The code that bytes are refused with; 0 when they are read as something."""
    try:
        json.dumps(bodies.read(data, protobuf.MEDIA_TYPE, "Pod"))
    except ApiError as problem:
        return problem.code
    return 0


@given(some.binary(max_size=200))
def test_no_bytes_end_in_anything_but_an_object_or_a_refusal(data: bytes) -> None:
    """After the four bytes that say what it is, as anywhere."""
    for given_data in (data, b"k8s\0" + data, sent(SECRET)[:10] + data):
        assert refusal(given_data) in (0, 400)


@given(some.sampled_from((DEPLOYMENT, POD)), some.data())
def test_a_broken_object_is_refused(body: dict[str, Any], data: some.DataObject) -> None:
    """Cut short or with a changed byte, it is read as something or refused."""
    whole = bytearray(sent(body))
    at = data.draw(some.integers(0, len(whole) - 1))
    whole[at] = data.draw(some.integers(0, 255))
    for broken in (bytes(whole), bytes(whole[:at])):
        assert refusal(broken) in (0, 400)
