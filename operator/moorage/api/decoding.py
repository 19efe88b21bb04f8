"""Decoding: JSON-like data into a typed value, or the list of everything that is wrong with it,
each with its field path.

One way in for custom resources, plugin arguments and the operator's configuration. Types are taken
strictly: no text for a number, no unknown field. Messages follow kube-scheduler's where it has one.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Generic, TypeAlias, TypeVar

from pydantic import BaseModel, TypeAdapter, ValidationError

from moorage.api.structural_schema import structural
from moorage.core.framework.arguments import FieldErrorType, Validated, Violation
from moorage.core.structures.likeness import suggest

T = TypeVar("T")
Schema: TypeAlias = Mapping[str, Any]
"""A node of a structural schema."""

MAX_VIOLATIONS = 20
"""Errors of one document that are told one by one."""
_MAX_SHOWN_CHARACTERS = 100
_MESSAGES = {
    "missing": "Required value",
    "string_type": "must be a string",
    "int_type": "must be an integer",
    "float_type": "must be a number",
    "bool_type": "must be true or false",
    "tuple_type": "must be a list",
    "list_type": "must be a list",
    "dict_type": "must be an object",
    "model_type": "must be an object",
    "model_attributes_type": "must be an object",
    "dataclass_type": "must be an object",
}
_SUBJECT = re.compile(r"^(Input|String|Tuple) (?=should )")
"""Of pydantic's other messages; in ours the field is it."""
_UNKNOWN_FIELD = ("extra_forbidden", "unexpected_keyword_argument")
_OTHERWISE_INVALID = (
    "string_pattern_mismatch",
    "string_too_short",
    "string_too_long",
    "too_short",
    "too_long",
    "value_error",
)
_OUT_OF_RANGE = ("greater_than", "greater_than_equal", "less_than", "less_than_equal")


class DecodeError(ValueError):
    """All that is wrong with a document; paths are relative to it, "" is the document itself."""

    def __init__(self, violations: Iterable[Violation]) -> None:
        self.violations = tuple(violations)
        super().__init__("; ".join(f"{v.path}: {v.value!r}: {v.message}" for v in self.violations))


class Decoder(Generic[T]):
    """Reads documents into one type: a pydantic model or a dataclass."""

    def __init__(self, kind: type[T]) -> None:
        self._adapter: TypeAdapter[T] = TypeAdapter(kind)

    def decode(self, document: object) -> T:
        """The value. Raises DecodeError for whatever the document may hold."""
        try:
            text = json.dumps(document)
        except (RecursionError, TypeError, ValueError) as error:
            raise DecodeError([Violation("", shown(document), f"is not JSON: {error}")]) from error
        try:
            value = self._adapter.validate_json(text, strict=True)
        except ValidationError as error:
            raise DecodeError(self._violations(error.errors(include_url=False))) from error
        if isinstance(value, BaseModel) or not isinstance(value, Validated):
            return value  # a pydantic model has a ``validate`` too, but another
        if found := value.validate():
            raise DecodeError(one._replace(value=shown(one.value)) for one in found)
        return value

    def encode(self, value: T) -> Any:
        """The document that means ``value``."""
        return self._adapter.dump_python(value, mode="json", by_alias=True)

    def encode_set(self, value: T) -> Any:
        """The same less what has its default, at every level; tuples and sets stay what they
        are.
        """
        return self._adapter.dump_python(value, by_alias=True, exclude_defaults=True)

    @functools.cached_property
    def schema(self) -> dict[str, Any]:
        """The type's structural schema."""
        return structural(self._adapter.json_schema(by_alias=True))

    def _violations(self, faults: Sequence[Mapping[str, Any]]) -> Iterator[Violation]:
        """pydantic's faults in our words: the first ones, and how many there are besides."""
        for fault in faults[:MAX_VIOLATIONS]:
            path, parent, node = self._locate(fault["loc"])
            value = None if fault["type"] == "missing" else shown(fault["input"])
            yield Violation(path, value, _message(fault, parent, node), _problem(fault["type"]))
        if (more := len(faults) - MAX_VIOLATIONS) > 0:
            yield Violation("", None, f"{more} more errors like these")

    def _locate(self, location: tuple[str | int, ...]) -> tuple[str, Schema, Schema]:
        """The field path of a pydantic location, the schema of what contains it and its own (empty:
        it is not in the schema).
        """
        path = ""
        parent = node = self.schema
        for step in location:
            parent = node
            if isinstance(step, int):
                path += f"[{step}]"
                node = parent.get("items", {})
            elif "properties" in parent:
                path += f".{shown(step)}"
                node = parent["properties"].get(step, {})
            elif step != "[key]":
                path += f"[{shown(step)}]"
                node = parent.get("additionalProperties", {})
        return path.removeprefix("."), parent, node


def decoder(kind: type[T]) -> Decoder[T]:
    """The decoder of a type, made once."""
    key: Any = kind
    return _decoder(key)


@functools.cache
def _decoder(kind: Any) -> Decoder[Any]:
    return Decoder(kind)


def laid_over(base: Any, document: Any) -> Any:
    """``document`` with what it leaves out taken from ``base``: objects field by field, everything
    else as a whole.
    """
    if not isinstance(base, Mapping) or not isinstance(document, Mapping):
        return document
    return {**base, **{name: laid_over(base.get(name), value) for name, value in document.items()}}


def shown(value: object) -> object:
    """A value as messages show it: containers and long texts abbreviated, so that the message
    itself is not pushed out.
    """
    if isinstance(value, str):
        return value if len(value) <= _MAX_SHOWN_CHARACTERS else value[:_MAX_SHOWN_CHARACTERS] + "…"
    if isinstance(value, Mapping):
        return "{…}"
    if value is None or isinstance(value, (bool, int, float)):
        return value
    return "[…]" if isinstance(value, (list, tuple)) else f"{type(value).__name__}(…)"


def _problem(kind: str) -> FieldErrorType:
    """What a pydantic fault is to Kubernetes."""
    if kind == "missing":
        return FieldErrorType.REQUIRED
    if kind == "literal_error":
        return FieldErrorType.UNSUPPORTED
    return (
        FieldErrorType.INVALID
        if kind in _OUT_OF_RANGE or kind in _OTHERWISE_INVALID
        else FieldErrorType.MALFORMED
    )


def _message(fault: Mapping[str, Any], parent: Schema, node: Schema) -> str:
    kind, context = fault["type"], fault.get("ctx", {})
    if kind in _MESSAGES:
        return _MESSAGES[kind]
    if kind in _UNKNOWN_FIELD:
        return f"unknown field{suggest(str(shown(fault['loc'][-1])), parent.get('properties', ()))}"
    if kind == "literal_error":
        values = [str(value) for value in node.get("enum", ())]
        supported = ", ".join(map(_quoted, values))
        return f"supported values: {supported}{suggest(str(shown(fault['input'])), values)}"
    if kind in _OUT_OF_RANGE and (interval := _interval(node)):
        return f"not in valid range {interval}"
    if kind == "string_pattern_mismatch":
        return f"should match '{context['pattern']}'"
    if kind == "value_error":
        return str(context["error"])
    return _SUBJECT.sub("", fault["msg"])


def _interval(node: Schema) -> str:
    """The numbers that a field may hold, ``[0, 100]`` or ``(0, inf)``; empty when it has no lower
    bound.
    """
    if "exclusiveMinimum" in node:
        low = f"({node['exclusiveMinimum']}"
    elif "minimum" in node:
        low = f"[{node['minimum']}"
    else:
        return ""
    return f"{low}, {node['maximum']}]" if "maximum" in node else f"{low}, inf)"


def _quoted(text: str) -> str:
    return f'"{text}"'
