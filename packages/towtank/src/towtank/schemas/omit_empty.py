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
    if isinstance(value, list):
        for item in value if node.items else ():
            compact(item, node.items)  # type: ignore[arg-type]  # there is one
    elif isinstance(value, dict):
        for name in [
            name for name, inner in value.items() if inner is None or isinstance(inner, dict | list)
        ]:
            child, inner = node.child(name), value[name]
            if child is None:
                continue
            compact(inner, child)
            if (
                not inner
                and name not in node.required
                and (child.type == "array" or _is_map(child))
            ):
                del value[name]


def _is_map(node: SchemaNode) -> bool:
    return node.additional is not None and not node.properties
