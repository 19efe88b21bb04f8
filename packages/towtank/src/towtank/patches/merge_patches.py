"""JSON merge patches (RFC 7396): objects are merged, null removes, everything else replaces."""

from __future__ import annotations

from typing import Any

from towtank.model.api_errors import bad_request
from towtank.model.json_values import cloned, json_type
from towtank.model.kinds import Body


def merge_patch(old: Body, patch: Any) -> Body:
    """The new body. Raises ApiError 400 for a patch that is no object."""
    if patch is None:
        raise bad_request("Invalid JSON Patch")
    if not isinstance(patch, dict):
        text = (
            f"json: cannot unmarshal {json_type(patch)} into Go value of type "
            f"map[string]interface {{}}"
        )
        raise bad_request(f"error decoding patch: {text}")
    return _merged(old, patch)


def _merged(old: Any, patch: dict[str, Any]) -> dict[str, Any]:
    new = dict(old) if isinstance(old, dict) else {}
    for name, value in patch.items():
        if value is None:
            new.pop(name, None)
        else:
            new[name] = _merged(new.get(name), value) if isinstance(value, dict) else cloned(value)
    return new
