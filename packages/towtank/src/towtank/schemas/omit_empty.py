"""What is empty and need not be there is left out, as the API server's types do when they are
written.
"""

from __future__ import annotations

from typing import Any

from towtank.model.schema_nodes import SchemaNode


def compact(value: Any, node: SchemaNode) -> None:
    """Remove empty lists and maps, and null for one, in place. Empty objects stay: ``emptyDir: {}``
    says something.
    """
    if isinstance(value, list) and node.items:
        for item in value:
            compact(item, node.items)
    elif isinstance(value, dict):
        for name, inner in tuple(value.items()):
            child = node.child(name)
            if child is None or not (inner is None or isinstance(inner, dict | list)):
                continue
            compact(inner, child)
            if not inner and name not in node.required and _may_be_empty(child):
                del value[name]


def _may_be_empty(node: SchemaNode) -> bool:
    """Of a list or a map, not of an object with fields."""
    return node.type == "array" or (node.additional is not None and not node.properties)
