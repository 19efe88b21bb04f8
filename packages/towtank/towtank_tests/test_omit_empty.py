"""What is empty is left out where a map or a list may be missing, and stays where it says
something.
"""

from __future__ import annotations

from types import MappingProxyType

from towtank.model.schema_nodes import ANYTHING, SchemaNode
from towtank.schemas.omit_empty import compact

_TEXTS = SchemaNode(type="object", additional=SchemaNode(type="string"))
_ITEM = SchemaNode(
    type="object",
    properties=MappingProxyType(
        {
            "env": SchemaNode(type="array", items=_TEXTS),
            "emptyDir": SchemaNode(type="object", properties=MappingProxyType({"a": ANYTHING})),
        }
    ),
)
_PLACES = {
    "labels": _TEXTS,
    "items": SchemaNode(type="array", items=_ITEM),
    "needed": SchemaNode(type="array", items=_ITEM),
    "free": ANYTHING,
}
_SCHEMA = SchemaNode(type="object", properties=MappingProxyType(_PLACES), required=("needed",))


def test_empty_lists_and_maps_go_wherever_they_are() -> None:
    """Also where they became empty."""
    body = {
        "labels": {},
        "items": [{"env": [], "emptyDir": {}}],
        "needed": [],
        "free": {"x": {}},
        "unknown": {},
    }
    compact(body, _SCHEMA)
    assert body == {"items": [{"emptyDir": {}}], "needed": [], "free": {"x": {}}, "unknown": {}}


def test_null_for_a_list_or_a_map_is_nothing() -> None:
    """Elsewhere it may say something."""
    body = {
        "labels": None,
        "items": [{"env": None, "emptyDir": None}],
        "needed": None,
        "free": None,
    }
    compact(body, _SCHEMA)
    assert body == {"items": [{"emptyDir": None}], "needed": None, "free": None}


def test_what_is_there_stays() -> None:
    """Zeros and empty texts too: a pointer's value is not nothing."""
    body = {"labels": {"a": ""}, "items": [{"env": [{"a": "b"}]}], "needed": [{}]}
    before = {"labels": {"a": ""}, "items": [{"env": [{"a": "b"}]}], "needed": [{}]}
    compact(body, _SCHEMA)
    assert body == before
