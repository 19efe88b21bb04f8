"""Values against schemas: what is unknown, what is missing and has a default, what is of a wrong
type.

``prune``, ``default`` and ``mistyped`` go along what is there, not along the schema: a pod holds a
tenth of what its schema allows.
Source: structural schemas of apiextensions.k8s.io/v1, and how Kubernetes decodes its own kinds.
"""

from __future__ import annotations

import copy
from typing import Any, Final

import msgspec

from towtank.model.api_errors import too_large
from towtank.model.schema_nodes import ANYTHING, SchemaNode
from towtank.schemas.go_decoding import mistyped as mistyped
from towtank.schemas.schema_validation import validate as validate

_CONTAINERS: Final = (dict, list)


def prune(body: Any, node: SchemaNode) -> list[str]:
    """Remove, in place, what the schema does not know; returns where that was, as
    ``spec.containers[0].imagee``.
    """
    unknown: list[str] = []
    _prune(body, node, "", unknown)
    # built-in kinds are read as they come, custom resources by name
    return unknown if node.name else sorted(unknown)


def _prune(value: Any, node: SchemaNode, path: str, unknown: list[str]) -> None:
    if isinstance(value, dict):
        if node.type == "object":  # else it is of a wrong type, which others tell
            _prune_object(value, node, path, unknown)
    elif isinstance(value, list) and node.items is not None:
        for index, item in enumerate(value):
            _prune(item, node.items, f"{path}[{index}]", unknown)


def _prune_object(value: dict[str, Any], node: SchemaNode, path: str, unknown: list[str]) -> None:
    for name in tuple(value):
        child = node.child(name)
        if child is not None:
            if isinstance(value[name], _CONTAINERS):
                _prune(value[name], child, f"{path}.{name}" if path else name, unknown)
        elif not node.preserve_unknown:
            unknown.append(f"{path}.{name}" if path else name)
            del value[name]


MAX_DEFAULT_BYTES: Final = 3 << 20
"""Bytes of JSON that the defaults of one object may come to."""


def default(value: Any, node: SchemaNode) -> None:
    """Fill in, in place, the schema's defaults of fields whose parents are there. Null is no value,
    where the schema does not want it.

    Raises ApiError 413 when that makes too much: one default may be wanted by many items.
    """
    _default(value, node, [MAX_DEFAULT_BYTES])


def _made(node: SchemaNode, left: list[int]) -> Any:
    """A default; ``left`` is how many bytes there may still be."""
    left[0] -= len(msgspec.json.encode(node.default))
    if left[0] < 0:
        raise too_large(MAX_DEFAULT_BYTES)
    return copy.deepcopy(node.default)


def _default(value: Any, node: SchemaNode, left: list[int]) -> None:
    if isinstance(value, list):
        if node.items is not None:
            _default_items(value, node.items, left)
    elif isinstance(value, dict):
        for name, child in node.defaulted:
            if name not in value:
                value[name] = _made(child, left)
        for name, held in tuple(value.items()):
            if held is None:
                _default_null(value, name, node.child(name), left)
            elif isinstance(held, _CONTAINERS) and (below := node.child(name)) is not None:
                _default(held, below, left)


def _default_items(value: list[Any], items: SchemaNode, left: list[int]) -> None:
    for index, item in enumerate(value):
        if item is None and items.has_default and not items.nullable:
            value[index] = _made(items, left)
        _default(value[index], items, left)


def _default_null(
    value: dict[str, Any], name: str, node: SchemaNode | None, left: list[int]
) -> None:
    if node is None or node.nullable or node is ANYTHING:
        return
    if node.has_default:
        value[name] = _made(node, left)
        _default(value[name], node, left)
    else:
        del value[name]
