"""What two clusters cannot have in common: UIDs, times, revisions, addresses, tokens, and Go's own
way of printing structures.
"""

from __future__ import annotations

import re
from typing import Any, Final

_SERVERS_OWN: Final = frozenset(
    {"uid", "resourceVersion", "token", "resourceRules", "nonResourceRules"}
)
_LEFT_OUT: Final = frozenset({"managedFields", "extra"})
_TIME: Final = re.compile(r"(?!2026-01-01)20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
_UID: Final = re.compile(r"(?!1{8})[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_DIFF: Final = re.compile(r"\n@@.*", re.DOTALL)
_ADDRESS: Final = re.compile(r"10\.(0|96)\.0\.\d+")
_TEMPLATE: Final = re.compile(r'Invalid value: {"(labels|metadata)":.*}: field', re.DOTALL)


def masked(value: Any) -> Any:
    """A copy in which such values are names of what they are."""
    if isinstance(value, dict):
        return {
            key: "…" if key in _SERVERS_OWN and inner else masked(inner)
            for key, inner in value.items()
            if key not in _LEFT_OUT
        }
    if isinstance(value, list):
        return [masked(item) for item in value]
    if isinstance(value, str):
        for pattern, name in (
            (_TIME, "TIME"),
            (_UID, "UID"),
            (_DIFF, ""),
            (_ADDRESS, "ADDRESS"),
            (_TEMPLATE, "Invalid value: TEMPLATE: field"),
        ):
            value = pattern.sub(name, value)
    return value
