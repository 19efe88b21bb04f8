"""What cannot be applied: a configuration must fit the schema, unlike other bodies, of which
unknown fields are dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from towtank.managed_fields.field_sets import shown
from towtank.managed_fields.schema_walk import item_key
from towtank.model.api_errors import bad_request
from towtank.model.json_values import json_type
from towtank.model.kinds import APIResource
from towtank.model.schema_nodes import ANYTHING, MergeType, SchemaNode


def require_appliable(applied: Any, resource: APIResource) -> None:
    """Raises ApiError 400 for another object than this resource's, and for one that does not fit
    the schema (the API server says 500).
    """
    _require_of_kind(applied, resource)
    if errors := list(_errors(applied, resource.schema, "")):
        metadata = applied.get("metadata")
        about = metadata if isinstance(metadata, dict) else {}
        name = f"{_text(about, 'namespace')}/{_text(about, 'name')}"
        kind = f"{_group_version(resource.api_version)}, Kind={resource.kind}"
        text = errors[0] if len(errors) == 1 else "\n  ".join(["errors:", *errors])
        raise bad_request(f"failed to create typed patch object ({name}; {kind}): {text}")


def _require_of_kind(applied: Any, resource: APIResource) -> None:
    if not isinstance(applied, dict):
        raise bad_request(f"error decoding YAML: {json_type(applied)} is no object")
    version, kind = _text(applied, "apiVersion"), _text(applied, "kind")
    if (version, kind) != (resource.api_version, resource.kind):
        raise bad_request(f"invalid object type: {_group_version(version)}, Kind={kind}")
    metadata = applied.get("metadata")
    if isinstance(metadata, dict) and metadata.get("managedFields") is not None:
        raise bad_request("metadata.managedFields must be nil")


def _text(body: Mapping[str, Any], name: str) -> str:
    value = body.get(name)
    return value if isinstance(value, str) else ""


def _group_version(version: str) -> str:
    return version if "/" in version else f"/{version}"


def _errors(value: Any, node: SchemaNode, path: str) -> Iterator[str]:
    if value is None or node.int_or_string or node.type not in _CHECKS:
        return
    yield from _CHECKS[node.type](value, node, path)


def _of_object(value: Any, node: SchemaNode, path: str) -> Iterator[str]:
    if not isinstance(value, dict):
        yield f"{path}: expected map, got &{{{value}}}"
        return
    for name in sorted(value):
        child = node.child(name) or (ANYTHING if node.preserve_unknown else None)
        if child is None:  # the API server does not look further
            yield f"{path}.{name}: field not declared in schema"
            return
        yield from _errors(value[name], child, f"{path}.{name}")


def _of_list(value: Any, node: SchemaNode, path: str) -> Iterator[str]:
    if not isinstance(value, list):
        yield f"{path}: expected list, got &{{{value}}}"
        return
    seen: set[str] = set()
    for index, item in enumerate(value):
        place = f"[{index}]"
        if node.merge in (MergeType.MAP, MergeType.SET):
            if wrong := _no_item(item, node):
                yield f"{path}: element {index}: {wrong}"
                continue
            key = item_key(item, node)
            place = shown(key)
            if key in seen:
                yield f"{path}: duplicate entries for key {place}"
                continue
            seen.add(key)
        yield from _errors(item, node.items or ANYTHING, path + place)


def _no_item(item: Any, node: SchemaNode) -> str:
    if node.merge is MergeType.MAP:
        return (
            ""
            if isinstance(item, dict)
            else "associative list with keys may not have non-map elements"
        )
    return (
        "associative list without keys has an element that's an explicit null"
        if item is None
        else ""
    )


def _of_string(value: Any, _node: SchemaNode, path: str) -> Iterator[str]:
    if not isinstance(value, str):
        yield f"{path}: expected string, got &value.valueUnstructured{{Value:{value}}}"


def _of_number(value: Any, _node: SchemaNode, path: str) -> Iterator[str]:
    if isinstance(value, bool) or not isinstance(value, int | float):
        names = {
            bool: "bool",
            str: "string",
            list: "[]interface {}",
            dict: "map[string]interface {}",
        }
        yield f"{path}: expected numeric (int or float), got {names[type(value)]}"


def _of_boolean(value: Any, _node: SchemaNode, path: str) -> Iterator[str]:
    if not isinstance(value, bool):
        yield f"{path}: expected boolean, got &value.valueUnstructured{{Value:{value}}}"


_CHECKS: Final[Mapping[str, Callable[[Any, SchemaNode, str], Iterator[str]]]] = {
    "object": _of_object,
    "array": _of_list,
    "string": _of_string,
    "integer": _of_number,
    "number": _of_number,
    "boolean": _of_boolean,
}
