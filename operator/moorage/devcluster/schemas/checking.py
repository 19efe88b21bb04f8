"""Checking a custom resource against its schema: one cause for each rule that a value breaks, with the API server's words.

Source: kube-openapi's validation as apiextensions-apiserver uses it, JSON Schema (draft 4) and the list types of structural schemas.
"""

from __future__ import annotations

import base64
import binascii
import datetime
import ipaddress
import json
import re
import uuid
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from moorage.devcluster.problems import Cause
from moorage.devcluster.schemas.node import Merge, Node


def validate(value: Any, node: Node, path: str) -> list[Cause]:
    """All that is wrong with a value; ``path`` is where it stands, "" for a whole object."""
    return list(_causes(value, node, path))


def _causes(value: Any, node: Node, path: str) -> Iterator[Cause]:
    if value is None and node.nullable:
        return
    if node.int_or_string:
        if isinstance(value, bool) or not isinstance(value, int | str):
            yield _mistyped(path, "integer,string", value)
            return
    elif node.type and not _is_of(value, node.type):
        yield _mistyped(path, node.type, value)
        return
    yield from _limits(value, node.limits, path)
    if isinstance(value, dict):
        yield from _of_object(value, node, path)
    elif isinstance(value, list):
        yield from _of_array(value, node, path)


def _of_object(value: Mapping[str, Any], node: Node, path: str) -> Iterator[Cause]:
    for name in node.required:
        if name not in value:
            yield Cause.required(_under(path, name))
    for name, held in value.items():
        if (child := node.child(name)) is not None:
            yield from _causes(held, child, _under(path, name) if name in node.properties else f"{path}.{name}")


def _of_array(value: list[Any], node: Node, path: str) -> Iterator[Cause]:
    if node.items is not None:
        for index, item in enumerate(value):
            yield from _causes(item, node.items, f"{path}[{index}]")
    if node.merge in (Merge.SET, Merge.MAP):
        yield from _duplicates(value, node, path)


def _duplicates(value: list[Any], node: Node, path: str) -> Iterator[Cause]:
    seen: set[str] = set()
    for index, item in enumerate(value):
        key = {name: item.get(name) for name in node.keys if name in item} if node.merge is Merge.MAP and isinstance(item, dict) else item
        text = json.dumps(key, sort_keys=True, separators=(",", ":"))
        if text in seen:
            yield Cause("FieldValueDuplicate", f"{path}[{index}]", f"Duplicate value: {text}")
        seen.add(text)


def _limits(value: Any, limits: Mapping[str, Any], path: str) -> Iterator[Cause]:
    """JSON Schema's words on a value."""
    for word, bound in limits.items():
        if (check := _CHECKS.get(word)) is not None:
            yield from check(value, bound, limits, path)
    if (choices := limits.get("enum")) is not None and value not in choices:
        shown = [choice if isinstance(choice, str) else json.dumps(choice) for choice in choices]
        yield Cause.unsupported(path, value, shown)
    yield from _junctors(value, limits, path)


def _junctors(value: Any, limits: Mapping[str, Any], path: str) -> Iterator[Cause]:
    def fits(schema: Node) -> bool:
        return not validate(value, schema, path)

    if (several := limits.get("allOf")) and not all(map(fits, several)):
        yield Cause.invalid(path, "", f'"{path}" must validate all the schemas (allOf)')
    if (several := limits.get("anyOf")) and not any(map(fits, several)):
        yield Cause.invalid(path, "", f'"{path}" must validate at least one schema (anyOf)')
    if (several := limits.get("oneOf")) and (fitting := sum(map(fits, several))) != 1:
        found = f"Found {fitting} valid alternatives" if fitting else "Found none valid"
        yield Cause.invalid(path, "", f'"{path}" must validate one and only one schema (oneOf). {found}')
    if (schema := limits.get("not")) is not None and fits(schema):
        yield Cause.invalid(path, "", f'"{path}" must not validate the schema (not)')


# ---- single words ----------------------------------------------------------------------------------------------------------

Check = Callable[[Any, Any, Mapping[str, Any], str], Iterator[Cause]]


def _minimum(value: Any, bound: Any, limits: Mapping[str, Any], path: str) -> Iterator[Cause]:
    if _is_number(value):
        if limits.get("exclusiveMinimum"):
            if value <= bound:
                yield Cause.invalid(path, value, f"{path} in body should be greater than {bound}")
        elif value < bound:
            yield Cause.invalid(path, value, f"{path} in body should be greater than or equal to {bound}")


def _maximum(value: Any, bound: Any, limits: Mapping[str, Any], path: str) -> Iterator[Cause]:
    if _is_number(value):
        if limits.get("exclusiveMaximum"):
            if value >= bound:
                yield Cause.invalid(path, value, f"{path} in body should be less than {bound}")
        elif value > bound:
            yield Cause.invalid(path, value, f"{path} in body should be less than or equal to {bound}")


def _multiple(value: Any, bound: Any, _: Mapping[str, Any], path: str) -> Iterator[Cause]:
    if _is_number(value) and value % bound:
        yield Cause.invalid(path, value, f"{path} in body should be a multiple of {bound}")


def _min_length(value: Any, bound: int, _: Mapping[str, Any], path: str) -> Iterator[Cause]:
    if isinstance(value, str) and len(value) < bound:
        yield Cause.invalid(path, value, f"{path} in body should be at least {bound} chars long")


def _max_length(value: Any, bound: int, _: Mapping[str, Any], path: str) -> Iterator[Cause]:
    if isinstance(value, str) and len(value) > bound:
        yield Cause("FieldValueTooLong", path, f"Too long: may not be more than {bound} bytes")


def _pattern(value: Any, bound: str, _: Mapping[str, Any], path: str) -> Iterator[Cause]:
    if isinstance(value, str) and not _compiled(bound).search(value):
        yield Cause.invalid(path, value, f"{path} in body should match '{bound}'")


def _min_items(value: Any, bound: int, _: Mapping[str, Any], path: str) -> Iterator[Cause]:
    if isinstance(value, list) and len(value) < bound:
        yield Cause.invalid(path, len(value), f"{path} in body should have at least {bound} items")


def _max_items(value: Any, bound: int, _: Mapping[str, Any], path: str) -> Iterator[Cause]:
    if isinstance(value, list) and len(value) > bound:
        yield Cause("FieldValueTooMany", path, f"Too many: {len(value)}: must have at most {bound} items")


def _min_properties(value: Any, bound: int, _: Mapping[str, Any], path: str) -> Iterator[Cause]:
    if isinstance(value, dict) and len(value) < bound:
        yield Cause.invalid(path, len(value), f"{path} in body should have at least {bound} properties")


def _max_properties(value: Any, bound: int, _: Mapping[str, Any], path: str) -> Iterator[Cause]:
    if isinstance(value, dict) and len(value) > bound:
        yield Cause("FieldValueTooMany", path, f"Too many: {len(value)}: must have at most {bound} items")


def _format(value: Any, bound: str, _: Mapping[str, Any], path: str) -> Iterator[Cause]:
    check = _FORMATS.get(bound)
    if isinstance(value, str) and check is not None and not _passes(check, value):
        yield Cause.invalid(path, value, f'{path} in body must be of type {bound}: "{value}"')


_CHECKS: Final[Mapping[str, Check]] = {
    "minimum": _minimum,
    "maximum": _maximum,
    "multipleOf": _multiple,
    "minLength": _min_length,
    "maxLength": _max_length,
    "pattern": _pattern,
    "minItems": _min_items,
    "maxItems": _max_items,
    "minProperties": _min_properties,
    "maxProperties": _max_properties,
    "format": _format,
}

_FORMATS: Final[Mapping[str, Callable[[str], object]]] = {
    "date": datetime.date.fromisoformat,
    "date-time": datetime.datetime.fromisoformat,
    "byte": lambda text: base64.b64decode(text, validate=True),
    "ipv4": ipaddress.IPv4Address,
    "ipv6": ipaddress.IPv6Address,
    "cidr": lambda text: ipaddress.ip_network(text, strict=False),
    "uuid": uuid.UUID,
}
"""The formats that are checked; the API server knows a few more, and ignores what it does not know."""


def _passes(check: Callable[[str], object], text: str) -> bool:
    try:
        check(text)
    except (ValueError, binascii.Error):
        return False
    return True


def _compiled(pattern: str) -> re.Pattern[str]:
    r"""Go's \z is Python's \Z. What Python cannot compile was refused with the definition."""
    return re.compile(pattern.replace(r"\z", r"\Z"))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _type(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case str():
            return "string"
        case int():
            return "integer"
        case float():
            return "number"
        case list():
            return "array"
        case _:
            return "object"


def _is_of(value: Any, wanted: str) -> bool:
    kind = _type(value)
    return kind == wanted or (wanted == "number" and kind == "integer") or (wanted == "integer" and kind == "number" and value.is_integer())


def _mistyped(path: str, wanted: str, value: Any) -> Cause:
    kind = _type(value)
    shown = f'"{kind}"'
    return Cause.wrong_type(path or "<nil>", shown, f"{path} in body must be of type {wanted}: {shown}")


def _under(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name
