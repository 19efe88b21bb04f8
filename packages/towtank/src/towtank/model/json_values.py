"""JSON values: copied, named as the API server names their types, and no deeper than can be walked
through.
"""

from __future__ import annotations

from typing import Any, Final

MAX_DEPTH: Final = 150
"""How many objects and lists may stand in one another. An API server takes 10,000: our code goes
down one call or more for each.
"""


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


class DecodeFailure(Exception):
    """A text is no JSON, or no YAML, that we read; the text of this says why."""


class TooDeep(DecodeFailure):
    """More objects and lists stand in one another than we go down."""


def require_shallow(value: Any) -> None:
    """Raises TooDeep for what is too deep to be walked through."""
    level = [value]
    for _ in range(MAX_DEPTH):
        level = [
            inner
            for one in level
            if isinstance(one, dict | list)
            for inner in (one.values() if isinstance(one, dict) else one)
        ]
        if not level:
            return
    if found := next((one for one in level if isinstance(one, dict | list)), None):
        raise TooDeep(
            f"invalid character '{'{' if isinstance(found, dict) else '['}' exceeded max depth"
        )
