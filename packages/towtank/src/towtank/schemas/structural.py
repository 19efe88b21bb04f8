"""Structural schemas: what a CustomResourceDefinition's OpenAPI schema must look like before it is
compiled to a ``SchemaNode``.

Source: Kubernetes apiextensions-apiserver/pkg/apiserver/schema and
pkg/apis/apiextensions/validation (v1.36).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

from kubefacts import patterns
from towtank.model.api_errors import StatusCause
from towtank.model.json_values import json_type

Schema: TypeAlias = Mapping[str, Any]

_TYPES: Final = ("array", "boolean", "integer", "number", "object", "string")
_SCALARS: Final = ("boolean", "integer", "number", "string")
_UNSUPPORTED: Final = (
    "$ref",
    "additionalItems",
    "definitions",
    "dependencies",
    "patternProperties",
)
_JUNCTORS: Final = ("allOf", "anyOf", "oneOf")
_INT_OR_STRING: Final = [{"type": "integer"}, {"type": "string"}]
_X: Final = "x-kubernetes-"

# ---- JSON ----------------------------------------------------------------------------------------

_MAPS: Final = ("properties", "not")
_LISTS: Final = ("required", "enum", *_JUNCTORS, f"{_X}list-map-keys", f"{_X}validations")
_TEXTS: Final = (
    "type",
    "format",
    "pattern",
    "title",
    "description",
    f"{_X}list-type",
    f"{_X}map-type",
)
_FLAGS: Final = (
    "nullable",
    "uniqueItems",
    *(f"{_X}{name}" for name in ("preserve-unknown-fields", "embedded-resource", "int-or-string")),
)
_NUMBERS: Final = ("minimum", "maximum", "multipleOf")
_COUNTS: Final = tuple(
    f"{end}{what}" for end in ("min", "max") for what in ("Length", "Items", "Properties")
)
_JSON: Final[Mapping[str, tuple[tuple[type, ...], str]]] = {
    **dict.fromkeys(_MAPS, ((dict,), "map[string]v1.JSONSchemaProps")),
    **dict.fromkeys(_LISTS, ((list,), "[]v1.JSONSchemaProps")),
    **dict.fromkeys(_TEXTS, ((str,), "string")),
    **dict.fromkeys(_FLAGS, ((bool,), "bool")),
    **dict.fromkeys(_NUMBERS, ((int, float), "float64")),
    **dict.fromkeys(_COUNTS, ((int,), "int64")),
    "items": ((dict, list), "v1.JSONSchemaProps"),
    "additionalProperties": ((dict, bool), "v1.JSONSchemaProps"),
}


def malformed(schema: Any, path: str) -> str:
    """Why a schema cannot be decoded, or "". What follows here counts on that it can."""
    if not isinstance(schema, dict):
        return _unreadable(schema, path, "v1.JSONSchemaProps")
    for key, value in schema.items():
        kinds, name = _JSON.get(key, ((object,), ""))
        if not isinstance(value, kinds) or (
            isinstance(value, bool) and bool not in kinds and object not in kinds
        ):
            return _unreadable(value, f"{path}.{key}", name)
    for i, rule in enumerate(schema.get(f"{_X}validations") or ()):
        if not isinstance(rule, dict) or not all(
            isinstance(value, str | bool | None) for value in rule.values()
        ):
            return _unreadable(rule, f"{path}.{_X}validations[{i}]", "v1.ValidationRule")
    faults = (malformed(child, f"{path}.{_keyword(where)}") for where, child in _children(schema))
    return next(filter(None, faults), "")


def _unreadable(value: Any, path: str, name: str) -> str:
    return (
        f"json: cannot unmarshal {json_type(value)} into Go struct field "
        f"JSONSchemaProps.{path} of type {name}"
    )


def _children(schema: Schema) -> Iterator[tuple[str, Any]]:
    """The schemas within one, each with where it is."""
    yield from (
        (f"properties[{name}]", child) for name, child in (schema.get("properties") or {}).items()
    )
    yield from (
        (key, schema[key])
        for key in ("items", "additionalProperties", "not")
        if isinstance(schema.get(key), dict)
    )
    yield from (
        (f"{key}[{i}]", child) for key in _JUNCTORS for i, child in enumerate(schema.get(key) or ())
    )


def _keyword(where: str) -> str:
    return where.partition("[")[0]


# ---- structure -----------------------------------------------------------------------------------


def causes(schema: Schema, path: str) -> list[StatusCause]:
    """What keeps a well-formed schema from being structural."""
    return [
        *_root(schema, path),
        *_root_metadata(schema, f"{path}.properties[metadata]"),
        *_identity(schema, path),
        *_place(schema, path, "at the root"),
    ]


def _root(schema: Schema, path: str) -> Iterator[StatusCause]:
    if "additionalProperties" in schema:
        yield StatusCause.forbidden(f"{path}.additionalProperties", "must not be used at the root")
    if schema.get("type"):
        yield from _typed(schema, path, "object", "at the root")
    if "default" in schema:
        said = schema["default"] if isinstance(schema["default"], dict) else {}
        for key in ("apiVersion", "kind"):
            if not said.get(key):
                yield StatusCause.required(f"{path}.default.{key}")


def _root_metadata(schema: Schema, path: str) -> Iterator[StatusCause]:
    metadata = (schema.get("properties") or {}).get("metadata") or {}
    named = (metadata.get("properties") or {}).keys()
    if "default" in metadata:
        yield StatusCause.forbidden(f"{path}.default", "must not be set in top-level metadata")
    if metadata.keys() - {"type", "description", "properties", "default"} or (
        named - {"name", "generateName"}
    ):
        why = (
            "must not specify anything other than name and generateName, but metadata is "
            "implicitly specified"
        )
        yield StatusCause.forbidden(path, why)


def _place(schema: Schema, path: str, level: str) -> Iterator[StatusCause]:
    yield from _type(schema, path, level)
    yield from _keywords(schema, path)
    yield from _extensions(schema, path)
    yield from _list(schema, path)
    for where, child in _children(schema):
        keyword = _keyword(where)
        if keyword in ("properties", "additionalProperties", "items"):
            of = "array items" if keyword == "items" else "object fields"
            yield from _place(child, f"{path}.{where}", f"for specified {of}")
        elif not _spells_int_or_string(schema, keyword, child):
            yield from _valued(child, f"{path}.{where}")


def _typed(schema: Schema, path: str, wanted: str, when: str) -> Iterator[StatusCause]:
    """Of what only a schema of one type may say."""
    kind = schema.get("type")
    if kind != wanted:
        yield StatusCause.invalid(f"{path}.type", kind, f"must be {wanted} {when}")


def _one_of(schema: Schema, path: str, key: str, choices: tuple[str, ...]) -> Iterator[StatusCause]:
    if (said := schema.get(key)) and said not in choices:
        yield StatusCause.unsupported(f"{path}.{key}", said, choices)


def _type(schema: Schema, path: str, level: str) -> Iterator[StatusCause]:
    yield from _one_of(schema, path, "type", _TYPES)
    untyped = (f"{_X}int-or-string", f"{_X}preserve-unknown-fields")
    if not (schema.get("type") or "$ref" in schema or any(map(schema.get, untyped))):
        yield StatusCause.required(f"{path}.type", f"must not be empty {level}")
    if schema.get("type") == "array" and not schema.get("items"):
        if schema.get("items") is None:
            yield StatusCause.required(f"{path}.items", "must be specified")
        else:  # an empty schema of items is one without a type
            why = "must not be empty for specified array items"
            yield StatusCause.required(f"{path}.items.type", why)


_FORBIDDEN: Final[tuple[tuple[str, Callable[[Schema], Any], str], ...]] = (
    (
        "uniqueItems",
        lambda schema: schema.get("uniqueItems"),
        "uniqueItems cannot be set to true since the runtime complexity becomes quadratic",
    ),
    (
        "items",
        lambda schema: isinstance(schema.get("items"), list),
        "items must be a schema object and not an array",
    ),
    (
        "additionalProperties",
        lambda schema: schema.get("properties") and schema.get("additionalProperties"),
        "additionalProperties and properties are mutual exclusive",
    ),
)
"""Keywords, when they may not be there, and why."""


def _keywords(schema: Schema, path: str) -> Iterator[StatusCause]:
    for key in _UNSUPPORTED:
        if key in schema:
            yield StatusCause.forbidden(f"{path}.{key}", f"{key} is not supported")
    for key, forbidden, why in _FORBIDDEN:
        if forbidden(schema):
            yield StatusCause.forbidden(f"{path}.{key}", why)
    if pattern := schema.get("pattern"):
        try:
            patterns.matches(pattern, "")
        except patterns.PatternError as error:
            why = f"must be a valid regular expression, but isn't: {error}"
            yield StatusCause.invalid(f"{path}.pattern", pattern, why)


def _extensions(schema: Schema, path: str) -> Iterator[StatusCause]:
    if schema.get(f"{_X}preserve-unknown-fields") is False:
        yield StatusCause.invalid(
            f"{path}.{_X}preserve-unknown-fields", False, "must be true or undefined"
        )
    if schema.get(f"{_X}embedded-resource"):
        yield from _embedded(schema, path)
    if schema.get(f"{_X}map-type"):
        yield from _one_of(schema, path, f"{_X}map-type", ("atomic", "granular"))
        yield from _typed(schema, path, "object", f"if {_X}map-type is specified")


def _embedded(schema: Schema, path: str) -> Iterator[StatusCause]:
    if not schema.get("properties") and not schema.get(f"{_X}preserve-unknown-fields"):
        why = (
            f"must not be empty if {_X}embedded-resource is true without "
            f"{_X}preserve-unknown-fields"
        )
        yield StatusCause.required(f"{path}.properties", why)
    if schema.get("type"):
        yield from _typed(schema, path, "object", f"if {_X}embedded-resource is true")
    yield from _identity(schema, path)


def _identity(schema: Schema, path: str) -> Iterator[StatusCause]:
    """Of an object with a kind of its own."""
    for name, kind in (("apiVersion", "string"), ("kind", "string"), ("metadata", "object")):
        said = ((schema.get("properties") or {}).get(name) or {}).get("type", kind)
        if said != kind:
            yield StatusCause.invalid(f"{path}.properties[{name}].type", said, f"must be {kind}")


def _list(schema: Schema, path: str) -> Iterator[StatusCause]:
    kind, keys = schema.get(f"{_X}list-type"), schema.get(f"{_X}list-map-keys") or ()
    if kind:
        yield from _one_of(schema, path, f"{_X}list-type", ("atomic", "set", "map"))
        yield from _typed(schema, path, "array", f"if {_X}list-type is specified")
    if keys and kind != "map":
        why = f"must be map if {_X}list-map-keys is non-empty"
        yield StatusCause.required(f"{path}.{_X}list-type", why)
    items = schema.get("items")
    if kind == "map":
        yield from _map_list(keys, items if isinstance(items, dict) else None, path)
    elif kind == "set" and isinstance(items, dict):
        yield from _set_items(items, f"{path}.items")


def _set_items(items: Schema, path: str) -> Iterator[StatusCause]:
    """Items are compared as a whole; a list is atomic unless it says otherwise."""
    for kind, key, unsaid in (("object", "map-type", None), ("array", "list-type", "atomic")):
        said = items.get(f"{_X}{key}", unsaid)
        if items.get("type") == kind and said != "atomic":
            why = f"must be atomic as item of a list with {_X}list-type=set"
            yield StatusCause.invalid(f"{path}.{_X}{key}", said, why)


def _map_list(keys: Sequence[Any], items: Schema | None, path: str) -> Iterator[StatusCause]:
    at, names = f"{path}.{_X}list-map-keys", [str(key) for key in keys]
    if not keys:
        yield StatusCause.required(at, f"must not be empty if {_X}list-type is map")
    if items is None:
        yield StatusCause.required(f"{path}.items", f"must have a schema if {_X}list-type is map")
    elif items.get("type") != "object":
        when = f"if parent array's {_X}list-type is map"
        yield from _typed(items, f"{path}.items", "object", when)
    else:
        for name in dict.fromkeys(names):
            if name in (items.get("properties") or {}):
                yield from _map_key(name, items, f"{path}.items.properties[{name}]")
            else:
                why = "entries must all be names of item properties"
                yield StatusCause.invalid(at, names, why)
        if len(set(names)) != len(names):
            yield StatusCause.invalid(at, names, "must not contain duplicate entries")


def _map_key(name: str, items: Schema, path: str) -> Iterator[StatusCause]:
    """A property that tells items apart: every item has it, and it has one value."""
    key = items["properties"][name]
    if key.get("type") not in _SCALARS and not key.get(f"{_X}int-or-string"):
        why = f"must be a scalar type if parent array's {_X}list-type is map"
        yield StatusCause.invalid(f"{path}.type", key.get("type"), why)
    if "default" not in key and name not in (items.get("required") or ()):
        why = (
            f"this property is in {_X}list-map-keys, so it must have a default or be a "
            f"required property"
        )
        yield StatusCause.required(f"{path}.default", why)


# ---- what may only say more of values ------------------------------------------------------------

_UNDEFINED: Final = ("default", "additionalProperties")
_EMPTY: Final = (
    "description",
    "title",
    "type",
    *(f"{_X}{name}" for name in ("list-map-keys", "list-type", "map-type", "validations")),
)
_FALSE: Final = (
    "nullable",
    *(f"{_X}{name}" for name in ("embedded-resource", "int-or-string", "preserve-unknown-fields")),
)


def _valued(schema: Schema, path: str) -> Iterator[StatusCause]:
    """A schema within allOf, anyOf, oneOf or not: the structure is said outside."""
    for keys, state in ((_UNDEFINED, "undefined"), (_EMPTY, "empty"), (_FALSE, "false")):
        for key in keys:
            if schema.get(key) not in (None, "", [], False):
                yield StatusCause.forbidden(f"{path}.{key}", f"must be {state} to be structural")
    for where, child in _children(schema):
        if where != "additionalProperties":
            yield from _valued(child, f"{path}.{where}")


def _spells_int_or_string(schema: Schema, keyword: str, child: Schema) -> bool:
    """Whether this is the customary way of saying x-kubernetes-int-or-string once more."""
    if not schema.get(f"{_X}int-or-string"):
        return False
    return (keyword == "anyOf" and schema["anyOf"] == _INT_OR_STRING) or (
        keyword == "allOf" and child.get("anyOf") == _INT_OR_STRING
    )
