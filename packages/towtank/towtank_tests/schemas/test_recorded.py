"""Custom resources and built-in kinds against what a kube-apiserver said to the same objects."""

from __future__ import annotations

import copy
import json
from typing import Any, Final

import pytest

from towtank.schemas import pruning, schema_parser
from towtank_tests.schemas.cases import BUILT_IN, DEFINITION, RECORDED, SEVERAL, SPECS, Body, custom

SAID: Final = json.loads(RECORDED.read_text(encoding="utf-8"))
SHAPE: Final = schema_parser.parse(DEFINITION["spec"]["versions"][0]["schema"]["openAPIV3Schema"])
CUSTOM: Final[dict[str, tuple[Body, Body]]] = {
    f"{name} {json.dumps(value)}": ({"spec": {name: value}}, said)
    for name in SPECS
    for value, said in zip(SPECS[name], SAID["specs"][name], strict=True)
} | {name: (body, SAID["several"][name]) for name, body in SEVERAL.items()}
UNLIKE: Final = {
    'embedded {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": 1}}': (
        "the API server refuses with 400, we with 422"
    ),
    'embedded {"apiVersion": 1, "kind": "Pod"}': "the API server refuses with 400, we with 422",
    "format-date []": "the API server takes a list for a text that has a format",
}
"""What differs, and how."""


def outcome(given: Body) -> Body:
    """As record.py writes it."""
    body = copy.deepcopy(custom(given))
    unknown = pruning.prune(body, SHAPE)
    if text := pruning.mistyped(body, SHAPE):
        return {
            "code": 400,
            "message": f'Shape in version "v1" cannot be handled as a Shape: {text}',
        }
    pruning.default(body, SHAPE)
    if causes := pruning.validate(body, SHAPE, ""):
        return {"causes": sorted([cause.reason, cause.field, cause.text] for cause in causes)}
    return {
        "kept": {
            name: value
            for name, value in body.items()
            if name not in ("apiVersion", "kind", "metadata")
        },
        "unknown": unknown,
    }


@pytest.mark.parametrize("name", CUSTOM)
def test_a_custom_resource_becomes_what_the_api_server_makes_of_it(name: str) -> None:
    """The causes of a refusal in any order: the API server goes through fields in none."""
    given, said = CUSTOM[name]
    theirs = said | ({"causes": sorted(said["causes"])} if "causes" in said else {})
    assert (outcome(given) == theirs) == (name not in UNLIKE), outcome(given)


def test_causes_stand_in_the_order_of_the_object() -> None:
    """So that ours come the same way each time."""
    assert [
        cause.field
        for cause in pruning.validate({"spec": {"list": [1, 2], "string": 1}}, SHAPE, "")
    ] == [
        "spec.list[0]",
        "spec.list[1]",
        "spec.string",
    ]


@pytest.mark.parametrize("name", BUILT_IN)
def test_a_built_in_kind_is_decoded_as_the_api_server_does(name: str) -> None:
    """Unknown fields in the order of the object; of wrong types the first, with the words of Go's
    decoder.
    """
    body = copy.deepcopy(BUILT_IN[name][1])
    node = schema_parser.builtin(body["apiVersion"], body["kind"])
    unknown, text, said = (
        pruning.prune(body, node),
        pruning.mistyped(body, node),
        SAID["built in"][name],
    )
    _, _, theirs = said.get("message", "").partition(" cannot be handled as a ")
    assert (text or "") == theirs.partition(": ")[2]
    assert said["unknown"] == ([] if text else unknown)


def test_null_is_not_there() -> None:
    """In lists and maps of built-in kinds it is the type's zero, as in Go."""
    body: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"labels": {"a": None}},
        "spec": {"nodeName": None, "containers": [None]},
    }
    pruning.default(body, schema_parser.builtin("v1", "Pod"))
    assert (body["metadata"], body["spec"]["containers"]) == ({"labels": {"a": ""}}, [{"name": ""}])
    assert "nodeName" not in body["spec"]
