"""What is empty is left out where a map or a list may be missing, and stays where it says something."""

from __future__ import annotations

from types import MappingProxyType

from moorage.devcluster.schemas.emptiness import compact
from moorage.devcluster.schemas.node import ANYTHING, Node

_TEXTS = Node("object", additional=Node("string"))
_ITEM = Node(
    "object", MappingProxyType({"env": Node("array", items=_TEXTS), "emptyDir": Node("object", MappingProxyType({"a": ANYTHING}))})
)
_PLACES = {"labels": _TEXTS, "items": Node("array", items=_ITEM), "needed": Node("array", items=_ITEM), "free": ANYTHING}
_SCHEMA = Node("object", MappingProxyType(_PLACES), required=("needed",))


def test_empty_lists_and_maps_go_wherever_they_are() -> None:
    """Also where they became empty."""
    body = {"labels": {}, "items": [{"env": [], "emptyDir": {}}], "needed": [], "free": {"x": {}}, "unknown": {}}
    compact(body, _SCHEMA)
    assert body == {"items": [{"emptyDir": {}}], "needed": [], "free": {"x": {}}, "unknown": {}}


def test_what_is_there_stays() -> None:
    """Zeros and empty texts too: a pointer's value is not nothing."""
    body = {"labels": {"a": ""}, "items": [{"env": [{"a": "b"}]}], "needed": [{}]}
    before = {"labels": {"a": ""}, "items": [{"env": [{"a": "b"}]}], "needed": [{}]}
    compact(body, _SCHEMA)
    assert body == before
