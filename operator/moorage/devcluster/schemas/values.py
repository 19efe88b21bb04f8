"""Values against schemas: what is unknown, what is missing and has a default, what is of a wrong type.

``prune``, ``default`` and ``mistyped`` go along what is there, not along the schema: a pod holds a tenth of what its schema allows.
Source: structural schemas of apiextensions.k8s.io/v1, and how Kubernetes decodes its own kinds.
"""

from __future__ import annotations

import copy
import functools
from collections.abc import Iterable
from typing import Any, Final

from moorage.devcluster.schemas.checking import validate as validate
from moorage.devcluster.schemas.node import Node

_OF_EVERY_OBJECT: Final = frozenset({"apiVersion", "kind", "metadata"})


def prune(body: Any, node: Node) -> list[str]:
    """Remove, in place, what the schema does not know; returns where that was, as ``spec.containers[0].imagee``."""
    unknown: list[str] = []
    _prune(body, node, "", unknown)
    return unknown


def _prune(value: Any, node: Node, path: str, unknown: list[str]) -> None:
    if isinstance(value, dict):
        if node.type == "object":  # else it is of a wrong type, which others tell
            _prune_object(value, node, path, unknown)
    elif isinstance(value, list) and node.items is not None:
        for index, item in enumerate(value):
            _prune(item, node.items, f"{path}[{index}]", unknown)


def _prune_object(value: dict[str, Any], node: Node, path: str, unknown: list[str]) -> None:
    for name in tuple(value):
        child = node.child(name)
        if child is not None:
            if isinstance(value[name], dict | list):
                _prune(value[name], child, f"{path}.{name}" if path else name, unknown)
        elif not node.preserve_unknown and not (node.embedded and name in _OF_EVERY_OBJECT):
            unknown.append(f"{path}.{name}" if path else name)
            del value[name]


def default(value: Any, node: Node) -> None:
    """Fill in, in place, the schema's defaults of fields whose parents are there."""
    if isinstance(value, list):
        if node.items is not None:
            for item in value:
                default(item, node.items)
        return
    if not isinstance(value, dict):
        return
    for name, child in _having_defaults(node):
        if name not in value or (value[name] is None and not child.nullable):
            value[name] = copy.deepcopy(child.default)
    for name, held in value.items():
        if isinstance(held, dict | list) and (below := node.child(name)) is not None:
            default(held, below)


@functools.lru_cache(maxsize=8192)
def _having_defaults(node: Node) -> tuple[tuple[str, Node], ...]:
    return tuple((name, child) for name, child in node.properties.items() if child.has_default)


def mistyped(body: Any, node: Node) -> str | None:
    """What Kubernetes' decoder says of the first value of a wrong type in an object of a built-in kind; None when there is none."""
    return _mistyped(body, node, node.name, "")


def _mistyped(value: Any, node: Node, struct: str, path: str) -> str | None:
    if value is None or not (node.type or node.int_or_string):
        return None
    if not _fits(value, node):
        return f"json: cannot unmarshal {_token(value)} into Go struct field {struct}{path} of type {_go_type(node)}"
    below: Iterable[tuple[Any, Node | None, str]] = ()
    if isinstance(value, dict):
        below = ((held, node.child(name), f"{path}.{name}") for name, held in value.items())
    elif isinstance(value, list):
        below = ((item, node.items, path) for item in value)
    for held, child, where in below:
        if child is not None and (text := _mistyped(held, child, node.name or struct, where)):
            return text
    return None


def _fits(value: Any, node: Node) -> bool:
    if node.int_or_string:
        return isinstance(value, str | int | float) and not isinstance(value, bool)
    match node.type:
        case "object":
            return isinstance(value, dict)
        case "array":
            return isinstance(value, list)
        case "string":
            return isinstance(value, str)
        case "boolean":
            return isinstance(value, bool)
        case "integer":
            return isinstance(value, int) and not isinstance(value, bool)
        case _:
            return isinstance(value, int | float) and not isinstance(value, bool)


def _token(value: Any) -> str:
    """What Go's decoder calls it."""
    match value:
        case bool():
            return "bool"
        case str():
            return "string"
        case int():
            return "number"
        case float():
            return f"number {value}"
        case list():
            return "array"
        case _:
            return "object"


def _go_type(node: Node) -> str:
    if node.type == "array":
        return f"[]{_go_type(node.items)}" if node.items else "[]"
    if node.type == "object":
        return f"v1.{node.name}" if node.name else f"map[string]{_go_type(node.additional)}" if node.additional else "map[string]"
    return {"integer": str(node.limits.get("format", "int")), "boolean": "bool", "number": "float64"}.get(node.type, "string")
