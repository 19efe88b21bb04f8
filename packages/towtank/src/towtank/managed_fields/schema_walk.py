"""Reading sets of fields off values, with the schema that says what is owned as a whole and what in
parts.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import msgspec

from towtank.managed_fields.field_sets import LEAF, SELF, Fields, built
from towtank.model.schema_nodes import ANYTHING, MergeType, SchemaNode

OwnedParts: TypeAlias = dict[str, tuple[Any, SchemaNode]]


def parts(value: Any, node: SchemaNode) -> OwnedParts | None:
    """What is owned apart within this value, by its keys in a set; None for a value that is owned
    as a whole.

    Where the schema says nothing, objects have parts and lists have none.
    """
    if isinstance(value, dict):
        if node.type and node.merge is not MergeType.GRANULAR:
            return None
        return {f"f:{name}": (child, node.child(name) or ANYTHING) for name, child in value.items()}
    if not isinstance(value, list) or node.merge not in (MergeType.SET, MergeType.MAP):
        return None
    items = node.items or ANYTHING
    return {item_key(item, node): (item, items) for item in value}


def item_key(item: Any, node: SchemaNode) -> str:
    """What tells an item of a list from others."""
    if node.merge is not MergeType.MAP or not isinstance(item, dict):
        return f"v:{msgspec.json.encode(item, order='sorted').decode()}"
    keys = {
        name: item[name] if name in item else _default(name, node) for name in sorted(node.keys)
    }
    stated = {name: value for name, value in keys.items() if value is not None}
    return f"k:{msgspec.json.encode(stated).decode()}"


def _default(name: str, node: SchemaNode) -> Any:
    key = node.items.child(name) if node.items else None
    return key.default if key else None


def declared(key: str, node: SchemaNode) -> bool:
    """Whether this is a field that the schema names: such a one belongs to nobody, only what is
    below it does.
    """
    return key.startswith("f:") and key[2:] in node.properties


def all_fields(value: Any, node: SchemaNode) -> Fields:
    """Every field of a value, itself and each object and list within too."""
    below = parts(value, node)
    return (
        {SELF: LEAF, **{key: all_fields(child, kind) for key, (child, kind) in below.items()}}
        if below
        else LEAF
    )


def difference_of(old: Any, new: Any, node: SchemaNode) -> tuple[Fields | None, Fields | None]:
    """The fields that a change set, new ones with others, and those that it removed."""
    if old is new or old == new:
        return None, None
    before, after = parts(old, node), parts(new, node)
    if old is None or new is None:  # null has the other's shape
        before, after = before if before is not None else {}, after if after is not None else {}
        if not before and not after:
            return LEAF, None
    if before is None or after is None or not (before or after):
        # One of another shape, or an empty one of another type: all of the old goes, and this field
        # is new.
        return all_fields(new, node), built(_wholes(before or {}), itself=False)
    return _difference_of_parts(before, after)


def _difference_of_parts(
    before: OwnedParts, after: OwnedParts
) -> tuple[Fields | None, Fields | None]:
    changed: Fields = {}
    removed: Fields = _wholes({key: part for key, part in before.items() if key not in after})
    for key, (value, kind) in after.items():
        more, less = (
            difference_of(before[key][0], value, kind)
            if key in before
            else (all_fields(value, kind), None)
        )
        if more is not None:
            changed[key] = more
        if less is not None:
            removed[key] = less
    return changed or None, removed or None


def _wholes(below: OwnedParts) -> Fields:
    return {key: all_fields(value, kind) for key, (value, kind) in below.items()}


def applied_fields(value: Any, node: SchemaNode) -> Fields | None:
    """What an applied configuration lays claim to: values, items and members of maps, but not the
    named objects around them.
    """
    below = parts(value, node)
    if not below:
        return None if below is not None and isinstance(value, list) else LEAF
    found: Fields = {}
    for key, (child, kind) in below.items():
        fields = applied_fields(child, kind)
        if not declared(key, node):
            fields = {SELF: LEAF, **fields} if fields else LEAF
        if fields is not None:
            found[key] = fields
    return found or None
