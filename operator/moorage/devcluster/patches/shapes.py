"""What all patches do with JSON values: copy them, and name their types as the API server does."""

from __future__ import annotations

from typing import Any


def cloned(value: Any) -> Any:
    """A copy that shares no object and no list."""
    if isinstance(value, dict):
        return {name: cloned(child) for name, child in value.items()}
    return [cloned(item) for item in value] if isinstance(value, list) else value


def json_type(value: Any) -> str:
    """The type's name in messages about JSON."""
    if isinstance(value, bool):
        return "bool"
    names = {dict: "object", list: "array", str: "string", int: "number", float: "number"}
    return names.get(type(value), "null")
