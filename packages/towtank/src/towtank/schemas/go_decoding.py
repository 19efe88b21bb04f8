"""What Go's decoder says of a value of a wrong type, where Kubernetes decodes a built-in kind: its
text is what people search for.

The data do not tell which structs are inlined in others, so that is said here, and how Go calls its
types.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from kubefacts import quantities
from towtank.model.schema_nodes import ANYTHING, SchemaNode

_INLINED: Final[Mapping[str, tuple[str, str]]] = {
    "Probe": ("Action", "ProbeHandler"),
    "Volume": ("VolumeSource", "VolumeSource"),
    "PersistentVolumeSpec": ("VolumeSource", "PersistentVolumeSource"),
}
"""Of a struct: how the types of those fields end that are another struct's, and what that is
called.
"""
_SECONDS: Final = tuple(
    (part, r"\d" * len(part) if part.isdigit() else part)
    for part in re.findall(r"\d+|.", "2006-01-02T15:04:05")
)
"""The parts of a time in Go's layout, and what may stand there."""
_MICROSECONDS: Final = (".000000", r"\.\d{6}")
_FRACTION: Final = ("", r"(?:\.\d+)?")
_ZONE: Final = ("Z07:00", r"Z|[+-]\d\d:\d\d")
_BITS: Final = {"int32": 31, "int64": 63}


_Step: TypeAlias = tuple[SchemaNode, str]
"""An object's node, and which of its fields was taken ("" in a map)."""


def mistyped(body: Any, node: SchemaNode) -> str | None:
    """What Kubernetes' decoder says of the first value of a wrong type in an object; None when
    there is none.
    """
    if not node.name:  # a custom resource: its metadata alone is decoded so
        node = node.properties.get("metadata", ANYTHING)
        body = body.get("metadata") if isinstance(body, dict) else None
    steps: list[_Step] = []
    found = _first(body, node, steps) if node.name else None
    if found is None:
        return None
    struct, path = node.name, ""
    for within, field in reversed(steps):
        struct = within.name or struct
        path += field and f".{_inlined(within, within.properties[field])}{field}"
    return _text(*found, f"{struct}{path}")


def _first(value: Any, node: SchemaNode, steps: list[_Step]) -> tuple[Any, SchemaNode] | None:
    """The first value that is wrong; ``steps`` are told only then, from the inside: nearly all
    bodies are right.
    """
    # most values, soon
    if value is None or (node.type == "string" and not node.limits and isinstance(value, str)):
        return None
    if not _sound(value, node):
        return value, node
    if isinstance(value, dict):
        properties = node.properties
        for name, held in value.items():
            child = properties.get(name)
            below = node.additional if child is None else child
            if below is not None and (found := _first(held, below, steps)) is not None:
                steps.append((node, "" if child is None else name))
                return found
    elif isinstance(value, list) and (items := node.items) is not None:
        for item in value:
            if (found := _first(item, items, steps)) is not None:
                return found
    return None


def _inlined(node: SchemaNode, child: SchemaNode) -> str:
    ending, name = _INLINED.get(node.name, ("", ""))
    return f"{name}." if name and child.name.endswith(ending) else ""


def _sound(value: Any, node: SchemaNode) -> bool:
    form = node.limits.get("format", "") if node.limits else ""
    if form in _READ:
        return _fits(value, node) and _READ[form](value, node) is None
    return _fits(value, node)


def _text(value: Any, node: SchemaNode, where: str) -> str | None:
    form = node.limits.get("format", "")
    if form in _READ and (_fits(value, node) or form == "quantity"):
        return _READ[form](value, node)
    return (
        f"json: cannot unmarshal {_token(value, node)} into Go struct field {where} of type "
        f"{_go_type(node)}"
    )


_KINDS: Final[Mapping[str, type]] = {"object": dict, "array": list, "string": str, "boolean": bool}


def _fits(value: Any, node: SchemaNode) -> bool:
    if (kind := _KINDS.get(node.type)) is not None:
        return isinstance(value, kind)
    if not node.type and not node.int_or_string:
        return True
    if node.int_or_string and isinstance(value, str):
        return True
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    if node.type == "number" or node.limits.get("format") == "quantity":
        return True
    limit = 1 << _BITS.get(_size(node), 63)
    return isinstance(value, int) and -limit <= value < limit


def _size(node: SchemaNode) -> str:
    return "int32" if node.int_or_string else str(node.limits.get("format", "int"))


def _token(value: Any, node: SchemaNode) -> str:
    """What Go's decoder calls it. Of a number that does not fit into whole ones it says which."""
    match value:
        case bool():
            return "bool"
        case str():
            return "string"
        case int() | float():
            return f"number {value}" if node.type == "integer" or node.int_or_string else "number"
        case list():
            return "array"
        case _:
            return "object"


def _go_type(node: SchemaNode) -> str:
    if node.limits.get("format") == "byte":
        return "[]uint8"
    if node.type == "array":
        return f"[]{_go_type(node.items)}" if node.items else "[]"
    if node.type == "object":
        if node.name or node.additional is None:
            return f"{node.package}.{node.name}" if node.name else "map[string]"
        of_quantities = node.additional.limits.get("format") == "quantity"
        return "v1.ResourceList" if of_quantities else f"map[string]{_go_type(node.additional)}"
    if node.int_or_string or node.type == "integer":
        return _size(node)
    return {"boolean": "bool", "number": "float64"}.get(node.type, "string")


def _no_quantity(value: Any, _: SchemaNode) -> str | None:
    text = value if isinstance(value, str) else f"{value}" if isinstance(value, int | float) else ""
    try:
        quantities.exact("" if isinstance(value, bool) else text)
    except quantities.QuantityError as error:
        return error.problem
    return None


def _no_bytes(text: str, _: SchemaNode) -> str | None:
    joined = text.replace("\n", "").replace("\r", "")
    try:
        base64.b64decode(joined, validate=True)
    except ValueError:
        known = re.match("[A-Za-z0-9+/]*", joined)
        end = known.end() if known else 0
        return f"illegal base64 data at input byte {end if end < len(joined) else end // 4 * 4}"
    return None


def _no_time(text: str, node: SchemaNode) -> str | None:
    parts = (
        (*_SECONDS, _MICROSECONDS, _ZONE)
        if node.name == "MicroTime"
        else (*_SECONDS, _FRACTION, _ZONE)
    )
    rest = text
    for part, pattern in parts:
        found = re.match(pattern, rest)
        if found is None or (part == _ZONE[0] and found.end() < len(rest)):
            layout = "".join(name for name, _ in parts)
            return f'parsing time "{text}" as "{layout}": cannot parse "{rest}" as "{part}"'
        rest = rest[found.end() :]
    return None


_READ: Final[Mapping[str, Callable[[Any, SchemaNode], str | None]]] = {
    "quantity": _no_quantity,
    "byte": _no_bytes,
    "date-time": _no_time,
}
"""Formats that are read: what is said of a text that cannot be."""
