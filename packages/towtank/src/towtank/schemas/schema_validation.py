"""Checking a custom resource against its schema: one cause for each rule that a value breaks, with
the API server's words.

Source: kube-openapi's validation as apiextensions-apiserver uses it, JSON Schema (draft 4) and the
list types of structural schemas.
"""

from __future__ import annotations

import itertools
import json
import math
import operator
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sized
from typing import Any, Final

from kubefacts import patterns
from towtank.model.api_errors import StatusCause, quoted
from towtank.model.schema_nodes import MergeType, SchemaNode
from towtank.schemas import formats


def validate(value: Any, node: SchemaNode, path: str) -> list[StatusCause]:
    """All that is wrong with a value; ``path`` is where it stands, "" for a whole object."""
    return list(_causes(value, node, path))


def _causes(value: Any, node: SchemaNode, path: str) -> Iterator[StatusCause]:
    """A wrong type does not stop the rest: an enumeration, say, is told besides."""
    if value is None and node.nullable:
        return
    if node.int_or_string:
        if isinstance(value, bool) or not isinstance(value, int | str):
            yield _mistyped(path, "integer,string", "", value)
    elif node.type and not _is_of(value, node.type):
        yield _mistyped(path, node.type, node.limits.get("format", ""), value)
    yield from _limits(value, node, path)
    if isinstance(value, dict):
        yield from _of_object(value, node, path)
    elif isinstance(value, list):
        yield from _of_array(value, node, path)


def _of_object(value: Mapping[str, Any], node: SchemaNode, path: str) -> Iterator[StatusCause]:
    for name, held in value.items():
        child = node.child(name)
        # an object's own metadata is decoded, and has rules of its own
        if child is not None and (path or not child.name):
            yield from _causes(held, child, _under(path, name))
    for name in node.required:
        if name not in value:
            yield StatusCause.required(_under(path, name))


def _of_array(value: list[Any], node: SchemaNode, path: str) -> Iterator[StatusCause]:
    if node.items is not None:
        for index, item in enumerate(value):
            yield from _causes(item, node.items, f"{path}[{index}]")
    if node.merge in (MergeType.SET, MergeType.MAP):
        yield from _duplicates(value, node, path)


def _duplicates(value: list[Any], node: SchemaNode, path: str) -> Iterator[StatusCause]:
    """Each value that is there more than once, at its second place."""
    seen: Counter[str] = Counter()
    for index, item in enumerate(value):
        key = (
            {name: item[name] for name in node.keys if name in item}
            if node.merge is MergeType.MAP and isinstance(item, dict)
            else item
        )
        text = json.dumps(key, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        seen[text] += 1
        if seen[text] == 2:
            yield StatusCause("FieldValueDuplicate", f"{path}[{index}]", f"Duplicate value: {text}")


def _limits(value: Any, node: SchemaNode, path: str) -> Iterator[StatusCause]:
    """JSON Schema's words on a value."""
    limits = node.limits
    if node.type == "integer" and _is_number(value):
        yield from _whole(value, limits.get("format", ""), path)
    for word, bound in limits.items():
        if (check := _CHECKS.get(word)) is not None:
            yield from check(value, bound, limits, path)
    if (choices := limits.get("enum")) is not None and value not in choices:
        shown = [choice if isinstance(choice, str) else json.dumps(choice) for choice in choices]
        yield StatusCause.unsupported(path, value, shown)
    yield from _junctors(value, limits, path)


def _whole(value: float, size: str, path: str) -> Iterator[StatusCause]:
    bits = _BITS.get(size, 64)
    if value % 1 or not -(1 << bits - 1) <= value < 1 << bits - 1:
        form = f"with format {size}" if size in _BITS else "(default format)"
        yield _nowhere(f"Checked value must be of type integer {form} in {path}")


def _junctors(value: Any, limits: Mapping[str, Any], path: str) -> Iterator[StatusCause]:
    """What fits none of several schemas is told what the first one says."""
    of_all, of_any, of_one = (
        [validate(value, schema, path) for schema in limits.get(word, ())]
        for word in ("allOf", "anyOf", "oneOf")
    )
    if any(of_all):
        yield from itertools.chain(*of_all)
        yield _nowhere(f'"{path}" must validate all the schemas (allOf)')
    if of_any and all(of_any):
        yield _nowhere(f'"{path}" must validate at least one schema (anyOf)')
        yield from of_any[0]
    if of_one and (fitting := of_one.count([])) != 1:
        found = f"{fitting} valid alternatives" if fitting else "none valid"
        yield _nowhere(f'"{path}" must validate one and only one schema (oneOf). Found {found}')
        yield from () if fitting else of_one[0]
    if (schema := limits.get("not")) is not None and not validate(value, schema, path):
        yield _nowhere(f'"{path}" must not validate the schema (not)')


def _nowhere(text: str) -> StatusCause:
    """The API server knows no place for these."""
    return StatusCause.invalid("<nil>", "", text)


# ---- single words --------------------------------------------------------------------------------

Check = Callable[[Any, Any, Mapping[str, Any], str], Iterator[StatusCause]]


def _limit(beyond: Callable[[float, float], bool], exclusive: str, words: str) -> Check:
    """A bound for numbers; ``exclusive`` says that the bound itself is too much."""

    def check(
        value: Any, bound: Any, limits: Mapping[str, Any], path: str
    ) -> Iterator[StatusCause]:
        if not _is_number(value):
            return
        limit, strict = _like(bound, value), limits.get(exclusive)
        if beyond(value, limit) or (strict and value == limit):
            said = words if strict else f"{words} or equal to"
            yield StatusCause.invalid(
                path, value, f"{path} in body should be {said} {quoted(limit)}"
            )

    return check


def _like(bound: float, value: float) -> float:
    """The API server compares whole numbers with a bound's whole part."""
    return int(bound) if isinstance(value, int) else bound


def _multiple(value: Any, bound: Any, _: Mapping[str, Any], path: str) -> Iterator[StatusCause]:
    if not _is_number(value):
        return
    factor = _like(bound, value)
    if factor <= 0:  # of a whole number's factor only the whole part counts, here too
        yield StatusCause.invalid(
            path,
            factor,
            f"factor MultipleOf declared for {path} must be positive: {quoted(factor)}",
        )
    elif (
        value % factor
        if isinstance(value, int)
        else not _is_whole(value / factor if factor >= 1 else 1 / factor * value)
    ):
        yield StatusCause.invalid(
            path, value, f"{path} in body should be a multiple of {quoted(factor)}"
        )


def _is_whole(value: float) -> bool:
    """As good as: what numbers with a fraction come to is seldom exact. Beyond 53 bits nothing
    is.
    """
    if not abs(value) < 1 << 53:
        return False
    rest = abs(value - math.trunc(value))
    return rest == 0 or (
        abs(value) > 1 and rest / (abs(value) + abs(math.trunc(value))) < _AS_GOOD_AS
    )


def _at_least(kind: type[Sized], words: str) -> Check:
    """Of texts the cause shows all, of lists and maps their size."""

    def check(value: Any, bound: int, _: Mapping[str, Any], path: str) -> Iterator[StatusCause]:
        if isinstance(value, kind) and len(value) < bound:
            shown = value if isinstance(value, str) else len(value)
            yield StatusCause.invalid(path, shown, f"{path} in body should {words.format(bound)}")

    return check


def _at_most(kind: type[Sized]) -> Check:
    def check(value: Any, bound: int, _: Mapping[str, Any], path: str) -> Iterator[StatusCause]:
        if isinstance(value, kind) and len(value) > bound:
            yield (
                StatusCause.too_long(path, bound)
                if isinstance(value, str)
                else StatusCause.too_many(path, len(value), bound)
            )

    return check


def _pattern(value: Any, bound: str, _: Mapping[str, Any], path: str) -> Iterator[StatusCause]:
    if isinstance(value, str) and not patterns.matches(bound, value):
        yield StatusCause.invalid(path, value, f"{path} in body should match '{bound}'")


def _format(value: Any, bound: str, _: Mapping[str, Any], path: str) -> Iterator[StatusCause]:
    if isinstance(value, str) and not formats.fits(value, bound):
        yield StatusCause.wrong_type(
            path, quoted(value), f"{path} in body must be of type {bound}: {quoted(value)}"
        )


_CHECKS: Final[Mapping[str, Check]] = {
    "minimum": _limit(operator.lt, "exclusiveMinimum", "greater than"),
    "maximum": _limit(operator.gt, "exclusiveMaximum", "less than"),
    "multipleOf": _multiple,
    "minLength": _at_least(str, "be at least {} chars long"),
    "maxLength": _at_most(str),
    "pattern": _pattern,
    "minItems": _at_least(list, "have at least {} items"),
    "maxItems": _at_most(list),
    "minProperties": _at_least(dict, "have at least {} properties"),
    "maxProperties": _at_most(dict),
    "format": _format,
}

_AS_GOOD_AS: Final = 1e-9
_BITS: Final[Mapping[str, int]] = {"int32": 32, "int64": 64}


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
    return (
        kind == wanted
        or (wanted == "number" and kind == "integer")
        or (wanted == "integer" and kind == "number" and value.is_integer())
    )


def _mistyped(path: str, wanted: str, form: str, value: Any) -> StatusCause:
    """Of numbers and the like the API server compares formats, where there is one."""
    kind = _type(value)
    if form in formats.KNOWN and not isinstance(value, str | list | None):
        wanted, kind = form, {"number": "float64", "integer": "int64"}.get(kind, "")
    return StatusCause.wrong_type(
        path or "<nil>", f'"{kind}"', f'{path} in body must be of type {wanted}: "{kind}"'
    )


def _under(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name
