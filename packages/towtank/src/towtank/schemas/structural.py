"""Structural schemas: what a CustomResourceDefinition's OpenAPI schema must look like before it is
compiled to a ``SchemaNode``.

Source: Kubernetes apiextensions-apiserver/pkg/apiserver/schema and
pkg/apis/apiextensions/validation (v1.36).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, TypeAlias

from kubefacts import patterns
from towtank.model.api_errors import StatusCause

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
_WORDS: Final = {
    dict: "object",
    list: "array",
    str: "string",
    bool: "bool",
    int: "number",
    float: "number",
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
    return next((fault for fault in faults if fault), "")


def _unreadable(value: Any, path: str, name: str) -> str:
    return (
        f"json: cannot unmarshal {_WORDS.get(type(value), 'null')} into Go struct field "
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
    found = []
    if "additionalProperties" in schema:
        found.append(
            StatusCause.forbidden(f"{path}.additionalProperties", "must not be used at the root")
        )
    if schema.get("type") and schema["type"] != "object":
        found.append(
            StatusCause.invalid(f"{path}.type", schema["type"], "must be object at the root")
        )
    if "default" in schema:
        said = schema["default"] if isinstance(schema["default"], dict) else {}
        found += [
            StatusCause.required(f"{path}.default.{key}")
            for key in ("apiVersion", "kind")
            if not said.get(key)
        ]
    metadata = (schema.get("properties") or {}).get("metadata") or {}
    where = f"{path}.properties[metadata]"
    if "default" in metadata:
        found.append(
            StatusCause.forbidden(f"{where}.default", "must not be set in top-level metadata")
        )
    if metadata.keys() - {"type", "description", "properties", "default"} or (
        metadata.get("properties") or {}
    ).keys() - {
        "name",
        "generateName",
    }:
        why = (
            "must not specify anything other than name and generateName, but metadata is "
            "implicitly specified"
        )
        found.append(StatusCause.forbidden(where, why))
    return [*found, *_identity(schema, path), *_place(schema, path, "at the root")]


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


def _type(schema: Schema, path: str, level: str) -> Iterator[StatusCause]:
    kind = schema.get("type")
    if not kind:
        if not (
            schema.get(f"{_X}int-or-string")
            or schema.get(f"{_X}preserve-unknown-fields")
            or "$ref" in schema
        ):
            yield StatusCause.required(f"{path}.type", f"must not be empty {level}")
    elif kind not in _TYPES:
        yield StatusCause.unsupported(f"{path}.type", kind, _TYPES)
    elif kind == "array" and not schema.get("items"):
        # An empty schema of items is one without a type.
        yield (
            StatusCause.required(f"{path}.items", "must be specified")
            if schema.get("items") is None
            else StatusCause.required(
                f"{path}.items.type", "must not be empty for specified array items"
            )
        )


def _keywords(schema: Schema, path: str) -> Iterator[StatusCause]:
    for key in _UNSUPPORTED:
        if key in schema:
            yield StatusCause.forbidden(f"{path}.{key}", f"{key} is not supported")
    if schema.get("uniqueItems"):
        why = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic"
        yield StatusCause.forbidden(f"{path}.uniqueItems", why)
    if isinstance(schema.get("items"), list):
        yield StatusCause.forbidden(
            f"{path}.items", "items must be a schema object and not an array"
        )
    if schema.get("properties") and schema.get("additionalProperties"):
        yield StatusCause.forbidden(
            f"{path}.additionalProperties",
            "additionalProperties and properties are mutual exclusive",
        )
    if pattern := schema.get("pattern"):
        try:
            patterns.matches(pattern, "")
        except patterns.PatternError as error:
            yield StatusCause.invalid(
                f"{path}.pattern",
                pattern,
                f"must be a valid regular expression, but isn't: {error}",
            )


def _extensions(schema: Schema, path: str) -> Iterator[StatusCause]:
    if schema.get(f"{_X}preserve-unknown-fields") is False:
        yield StatusCause.invalid(
            f"{path}.{_X}preserve-unknown-fields", False, "must be true or undefined"
        )
    if schema.get(f"{_X}embedded-resource"):
        if not schema.get("properties") and not schema.get(f"{_X}preserve-unknown-fields"):
            why = (
                f"must not be empty if {_X}embedded-resource is true without "
                f"{_X}preserve-unknown-fields"
            )
            yield StatusCause.required(f"{path}.properties", why)
        if schema.get("type", "object") != "object":
            yield StatusCause.invalid(
                f"{path}.type", schema["type"], f"must be object if {_X}embedded-resource is true"
            )
        yield from _identity(schema, path)
    if kind := schema.get(f"{_X}map-type"):
        if kind not in ("atomic", "granular"):
            yield StatusCause.unsupported(f"{path}.{_X}map-type", kind, ("atomic", "granular"))
        if schema.get("type") != "object":
            yield StatusCause.invalid(
                f"{path}.type", schema.get("type"), f"must be object if {_X}map-type is specified"
            )


def _identity(schema: Schema, path: str) -> Iterator[StatusCause]:
    """Of an object with a kind of its own."""
    for name, kind in (("apiVersion", "string"), ("kind", "string"), ("metadata", "object")):
        said = ((schema.get("properties") or {}).get(name) or {}).get("type", kind)
        if said != kind:
            yield StatusCause.invalid(f"{path}.properties[{name}].type", said, f"must be {kind}")


def _list(schema: Schema, path: str) -> Iterator[StatusCause]:
    kind, keys = schema.get(f"{_X}list-type"), schema.get(f"{_X}list-map-keys") or ()
    if kind and kind not in ("atomic", "set", "map"):
        yield StatusCause.unsupported(f"{path}.{_X}list-type", kind, ("atomic", "set", "map"))
    if kind and schema.get("type") != "array":
        yield StatusCause.invalid(
            f"{path}.type", schema.get("type"), f"must be array if {_X}list-type is specified"
        )
    if keys and kind != "map":
        yield StatusCause.required(
            f"{path}.{_X}list-type", f"must be map if {_X}list-map-keys is non-empty"
        )
    items = schema.get("items")
    if kind == "map":
        yield from _map_list(keys, items if isinstance(items, dict) else None, path)
    elif kind == "set" and isinstance(items, dict) and items.get("type") in ("object", "array"):
        key = "map" if items["type"] == "object" else "list"
        said = items.get(f"{_X}{key}-type")
        if said != "atomic" and not (key == "list" and said is None):
            yield StatusCause.invalid(
                f"{path}.items.{_X}{key}-type",
                said,
                f"must be atomic as item of a list with {_X}list-type=set",
            )


def _map_list(keys: Any, items: Schema | None, path: str) -> Iterator[StatusCause]:
    at = f"{path}.{_X}list-map-keys"
    if not keys:
        yield StatusCause.required(at, f"must not be empty if {_X}list-type is map")
    if items is None:
        yield StatusCause.required(f"{path}.items", f"must have a schema if {_X}list-type is map")
        return
    if items.get("type") != "object":
        yield StatusCause.invalid(
            f"{path}.items.type",
            items.get("type"),
            f"must be object if parent array's {_X}list-type is map",
        )
        return
    properties, shown = (
        items.get("properties") or {},
        "[" + ",".join(f'"{key}"' for key in keys) + "]",
    )
    for key in dict.fromkeys(str(key) for key in keys):
        where, child = f"{path}.items.properties[{key}]", properties.get(key)
        if child is None:
            yield StatusCause(
                "FieldValueInvalid",
                at,
                f"Invalid value: {shown}: entries must all be names of item properties",
            )
            continue
        if child.get("type") not in _SCALARS and not child.get(f"{_X}int-or-string"):
            why = f"must be a scalar type if parent array's {_X}list-type is map"
            yield StatusCause.invalid(f"{where}.type", child.get("type"), why)
        if "default" not in child and key not in (items.get("required") or ()):
            why = (
                f"this property is in {_X}list-map-keys, so it must have a default or be a "
                f"required property"
            )
            yield StatusCause.required(f"{where}.default", why)
    if len(set(map(str, keys))) != len(keys):
        yield StatusCause(
            "FieldValueInvalid", at, f"Invalid value: {shown}: must not contain duplicate entries"
        )


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
