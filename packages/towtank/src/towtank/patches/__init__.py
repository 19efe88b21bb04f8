"""Patches: what makes a new body of an old one. Neither the old body nor the patch is changed; the
new one may share parts with both.

``change`` chooses by the media type; server-side apply, the fourth kind of patch, is in
``managed_fields``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from towtank.model.api_errors import unsupported_media_type
from towtank.model.kinds import APIResource, Body
from towtank.patches.json_patches import json_patch
from towtank.patches.merge_patches import merge_patch
from towtank.patches.strategic import strategic

__all__ = [
    "APPLY",
    "JSON",
    "MERGE",
    "STRATEGIC",
    "accepted",
    "change",
    "json_patch",
    "merge_patch",
    "strategic",
]

JSON: Final = "application/json-patch+json"
MERGE: Final = "application/merge-patch+json"
STRATEGIC: Final = "application/strategic-merge-patch+json"
APPLY: Final = "application/apply-patch+yaml"


def accepted(resource: APIResource) -> tuple[str, ...]:
    """The media types of patches of this resource's objects: a strategic one needs more than a
    custom resource's schema says.
    """
    return (JSON, MERGE, APPLY) if resource.custom else (JSON, MERGE, STRATEGIC, APPLY)


def change(media_type: str, patch: Any, resource: APIResource) -> Callable[[Body], Body]:
    """What a decoded patch does to a body. Raises ApiError 415 for media types that are none of
    ours; the function raises what it meets.
    """
    if media_type == JSON:
        return lambda old: json_patch(old, patch)
    if media_type == MERGE:
        return lambda old: merge_patch(old, patch)
    if media_type == STRATEGIC and not resource.custom:
        return lambda old: strategic(old, patch, resource.schema)
    raise unsupported_media_type(media_type, accepted(resource))
