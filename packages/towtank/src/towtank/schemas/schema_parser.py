"""Parsing: schemas as they are written into SchemaNodes, of custom resources and of the built-in
kinds in ``data/``.

``data/resources.json`` is a list of {group, version, plural, kind, singular, namespaced,
shortNames, categories, verbs, subresources}; ``data/schemas.json`` maps definitions' names to
OpenAPI v3 schemas whose references are such names, and under "kinds" maps APIVERSION/KIND to them.
Both are written from a kube-apiserver by tests/tools/openapi.py.
"""

from __future__ import annotations

import dataclasses
import functools
import json
from collections.abc import Callable, Iterable, Mapping
from importlib import resources
from typing import Any, Final

from towtank.model.kinds import APIResource
from towtank.model.schema_nodes import ANYTHING, MergeType, SchemaNode, ValidationRule

_X: Final = "x-kubernetes-"
_JUNCTORS: Final = ("allOf", "anyOf", "oneOf")
_LIMITS: Final = (
    *("enum", "format", "pattern", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"),
    *("multipleOf", "minLength", "maxLength", "minItems", "maxItems"),
    *("minProperties", "maxProperties", "uniqueItems", *_JUNCTORS, "not"),
)
_QUANTITY: Final = "io.k8s.apimachinery.pkg.api.resource.Quantity"
_INT_OR_STRING: Final = "io.k8s.apimachinery.pkg.util.intstr.IntOrString"
_METADATA: Final = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
QUANTITY: Final = SchemaNode(int_or_string=True, limits={"format": "quantity"})


class _Parser:
    """Parses schemas whose references are names of ``definitions``. Each definition is parsed once;
    one within itself may hold anything.
    """

    def __init__(self, definitions: Mapping[str, Any]) -> None:
        self._definitions = definitions
        self._parsed: dict[str, SchemaNode] = {
            _QUANTITY: QUANTITY,
            _INT_OR_STRING: SchemaNode(int_or_string=True),
        }

    def definition(self, name: str) -> SchemaNode:
        """The definition of this name."""
        if name not in self._parsed:
            self._parsed[name] = SchemaNode(
                type="object", preserve_unknown=True, merge=MergeType.GRANULAR
            )
            *_, package, kind = name.split(".")
            self._parsed[name] = dataclasses.replace(
                self.node(self._definitions[name]), name=kind, package=package
            )
        return self._parsed[name]

    def node(self, schema: Mapping[str, Any]) -> SchemaNode:
        """A schema, or what it refers to."""
        if name := schema.get("$ref"):
            return _overlaid(self.definition(name), schema)
        granular = {"merge": MergeType.GRANULAR} if schema.get("type") == "object" else {}
        node = SchemaNode(
            properties={
                name: self.field(one) for name, one in schema.get("properties", {}).items()
            },
            additional=self._held(schema.get("additionalProperties")),
            items=self._held(schema.get("items")),
            limits=self._limits(schema),
            **{**granular, **_said(schema, _FIELDS)},
        )
        if not node.embedded:
            return node
        return _whole(node, tuple(dict.fromkeys((*node.required, "apiVersion", "kind"))))

    def _held(self, schema: Any) -> SchemaNode | None:
        """What may stand in a map, or a list: true is anything."""
        if isinstance(schema, Mapping):
            return self.node(schema)
        return ANYTHING if schema is True else None

    def field(self, schema: Mapping[str, Any]) -> SchemaNode:
        """What may stand at a field of an object."""
        return self.node(schema)

    def _limits(self, schema: Mapping[str, Any]) -> dict[str, Any]:
        limits = {key: schema[key] for key in _LIMITS if key in schema}
        for key in _JUNCTORS:
            if key in limits:
                limits[key] = tuple(self.node(one) for one in limits[key])
        if "not" in limits:
            limits["not"] = self.node(limits["not"])
        return limits


def parse(schema: Mapping[str, Any]) -> SchemaNode:
    """The openAPIV3Schema of a custom resource; apiVersion, kind and metadata are known besides."""
    node = _Parser({}).node(schema)
    return _whole(node, node.required)


def builtin(api_version: str, kind: str) -> SchemaNode:
    """The schema of a built-in kind."""
    return _builtins().definition(data("schemas.json")["kinds"][f"{api_version}/{kind}"])


def served() -> list[APIResource]:
    """The built-in resources, with their schemas."""
    return [
        APIResource(
            **{key: one[key] for key in ("group", "version", "plural", "kind", "singular")},
            namespaced=one["namespaced"],
            short_names=tuple(one["shortNames"]),
            categories=tuple(one["categories"]),
            verbs=tuple(one["verbs"]),
            has_status="status" in one["subresources"],
            subresources=tuple(
                name for name in one["subresources"] if name not in ("status", "scale")
            ),
            schema=builtin(f"{one['group']}/{one['version']}".lstrip("/"), one["kind"]),
        )
        for one in data("resources.json")
    ]


def definitions() -> Mapping[str, Any]:
    """The schemas of the built-in kinds as they are written; not to be changed."""
    found: Mapping[str, Any] = data("schemas.json")
    return found


@functools.cache
def data(name: str) -> Any:
    """What a file of ``data/`` holds, read once; not to be changed."""
    return json.loads((resources.files("towtank") / "data" / name).read_text(encoding="utf-8"))


@functools.cache
def _builtins() -> _Parser:
    return _BuiltIn(data("schemas.json"))


class _BuiltIn(_Parser):
    """What OpenAPI says of Go's types: a field's default is the type's zero, unless it is more;
    what has no fields may hold anything.
    """

    def node(self, schema: Mapping[str, Any]) -> SchemaNode:
        """As Go sees it."""
        fields = {"$ref", "properties", "additionalProperties"} & schema.keys()
        anything = not fields and schema.get("type", "object") == "object"
        whole = {"x-kubernetes-preserve-unknown-fields": True, "x-kubernetes-map-type": "atomic"}
        return super().node({**schema, **whole} if anything else schema)

    def _held(self, schema: Any) -> SchemaNode | None:
        """Null in a list or a map is the type's zero."""
        if not isinstance(schema, Mapping) or "default" in schema:
            return super()._held(schema)
        known = self._definitions.get(schema.get("$ref", ""))
        if known is None:
            zero = None if schema.get("format") == "byte" else _ZEROS.get(schema.get("type", ""))
        else:
            zero = {} if known.get("type") == "object" else None
        return super()._held(schema if zero is None else {**schema, "default": zero})

    def field(self, schema: Mapping[str, Any]) -> SchemaNode:
        """A text, a number or a truth that is always written has its zero; a struct is present
        where it is asked for.
        """
        if schema.get("default") != {}:
            return super().field(schema)
        return dataclasses.replace(
            super().field({key: value for key, value in schema.items() if key != "default"}),
            present=True,
        )


_ZEROS: Final = {"string": "", "integer": 0, "boolean": False}


def _overlaid(node: SchemaNode, schema: Mapping[str, Any]) -> SchemaNode:
    """A definition, with what the place that refers to it says besides."""
    more = _said(schema, ("default", f"{_X}map-type", f"{_X}patch-strategy"))
    return dataclasses.replace(node, **more) if more else node


_FIELDS: Final[Mapping[str, Callable[[Any], dict[str, Any]]]] = {
    "type": lambda said: {"type": said},
    "required": lambda said: {"required": tuple(said)},
    "default": lambda said: {"default": said, "has_default": True},
    "nullable": lambda said: {"nullable": bool(said)},
    "format": lambda said: {"int_or_string": said == "int-or-string"},
    f"{_X}int-or-string": lambda said: {"int_or_string": bool(said)},
    f"{_X}preserve-unknown-fields": lambda said: {"preserve_unknown": bool(said)},
    f"{_X}embedded-resource": lambda said: {"embedded": bool(said)},
    f"{_X}map-type": lambda said: {"merge": MergeType(said)} if said else {},
    f"{_X}list-type": lambda said: {"merge": MergeType(said)} if said else {},
    f"{_X}list-map-keys": lambda said: {"keys": tuple(said)},
    f"{_X}patch-merge-key": lambda said: {"patch_key": said},
    f"{_X}patch-strategy": lambda said: {"patch_strategies": tuple(said.split(","))},
    f"{_X}validations": lambda said: {"rules": tuple(_rule(one) for one in said)},
}
"""What a keyword makes of a SchemaNode's fields."""


def _said(schema: Mapping[str, Any], keywords: Iterable[str]) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for keyword in keywords:
        if keyword in schema:
            fields |= _FIELDS[keyword](schema[keyword])
    return fields


def _rule(written: Mapping[str, Any]) -> ValidationRule:
    return ValidationRule(
        rule=written.get("rule", ""),
        message=written.get("message", ""),
        message_expression=written.get("messageExpression", ""),
        reason=written.get("reason", "FieldValueInvalid"),
        field_path=written.get("fieldPath", ""),
        optional_old_self=bool(written.get("optionalOldSelf")),
    )


def _whole(node: SchemaNode, required: tuple[str, ...]) -> SchemaNode:
    """Every object has apiVersion, kind and metadata, whatever its schema says of them."""
    own = {
        "apiVersion": SchemaNode(type="string"),
        "kind": SchemaNode(type="string"),
        "metadata": _builtins().definition(_METADATA),
    }
    return dataclasses.replace(
        node, type="object", properties={**node.properties, **own}, required=required
    )
