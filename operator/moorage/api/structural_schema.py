"""Structural schemas: pydantic's JSON schema as Kubernetes wants it, without references and
alternatives.

Every node says its type, or that it is free (``x-kubernetes-preserve-unknown-fields``). That
unknown fields are refused is not said in it: the API server prunes what no schema names.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_DROPPED = ("title", "$defs", "additionalProperties", "propertyNames")


def structural(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The whole schema. Raises ValueError where a field may be of several types, null aside."""
    return _node(schema, schema.get("$defs", {}))


def pruned(value: Any, schema: Mapping[str, Any]) -> Any:
    """The value less the fields that a structural schema does not name, at whatever depth. What is
    of another type than the schema says stays.
    """
    if isinstance(value, Mapping) and (fields := schema.get("properties")):
        return {name: pruned(value[name], fields[name]) for name in value if name in fields}
    if isinstance(value, (list, tuple)) and "items" in schema:
        return [pruned(one, schema["items"]) for one in value]
    return value


def _node(node: Mapping[str, Any], definitions: Mapping[str, Any]) -> dict[str, Any]:
    flat = _flattened(node, definitions)
    made = {key: value for key, value in flat.items() if key not in _DROPPED}
    if "description" in made:
        made = {"description": " ".join(made.pop("description").split()), **made}
    if made.get("default", ...) in (None, [], {}):
        del made["default"]  # the same as its absence
    if "const" in made:
        made["enum"] = [made.pop("const")]
    if fields := made.get("properties"):
        made["properties"] = {name: _node(field, definitions) for name, field in fields.items()}
    for key in ("items", "additionalProperties"):
        if isinstance(flat.get(key), Mapping):
            made[key] = _node(flat[key], definitions)
    if flat.get("additionalProperties") is True:
        made["x-kubernetes-preserve-unknown-fields"] = True
    return made


def _flattened(node: Mapping[str, Any], definitions: Mapping[str, Any]) -> dict[str, Any]:
    """The node with its reference and its "or null" resolved; what the node says itself goes before
    what it refers to.
    """
    made = dict(node)
    while "$ref" in made or "anyOf" in made:
        if "$ref" in made:
            target = definitions[made.pop("$ref").rpartition("/")[2]]
        else:
            (target,) = (option for option in made.pop("anyOf") if option.get("type") != "null")
        made = {**target, **made}
    return made
