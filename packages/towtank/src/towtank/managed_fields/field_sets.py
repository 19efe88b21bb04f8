"""Sets of fields as FieldsV1 has them: nested dicts whose keys are ``f:name``, ``k:{...}`` and
``v:...``.

A dict that is empty, or has the key ".", stands for its field itself; one with other keys for what
is below. ``None`` is the empty set. Sets are never changed in place, and results share parts with
what they were made of.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, TypeAlias

import msgspec

Fields: TypeAlias = dict[str, Any]

SELF: Final = "."
LEAF: Final[Fields] = {}
"""A field without anything below. Not to be changed, as no set is."""


def has_itself(fields: Fields) -> bool:
    """Whether the field is in the set, and not only what is below it."""
    return not fields or SELF in fields


def built(below: Fields, *, itself: bool) -> Fields | None:
    """A set of what is below, with or without the field itself."""
    if not below:
        return LEAF if itself else None
    return {SELF: LEAF, **below} if itself else below


def union(one: Fields | None, other: Fields | None) -> Fields | None:
    """What is in one of both."""
    if one is None or other is None or one is other:
        return other if one is None else one
    below = {key: fields for key, fields in one.items() if key != SELF}
    for key, fields in other.items():
        if key != SELF:
            below[key] = union(below.get(key), fields)
    return built(below, itself=has_itself(one) or has_itself(other))


def difference(one: Fields | None, other: Fields | None) -> Fields | None:
    """What is in one and not in the other; ``one`` itself when they share nothing."""
    if one is None or other is None:
        return one
    itself = has_itself(one)
    left, changed = {}, itself and has_itself(other)
    for key, fields in one.items():
        if key != SELF:
            kept = difference(fields, other[key]) if key in other else fields
            changed |= kept is not fields
            if kept is not None:
                left[key] = kept
    return built(left, itself=itself and not has_itself(other)) if changed else one


def intersection(one: Fields | None, other: Fields | None) -> Fields | None:
    """What is in both."""
    if one is None or other is None:
        return None
    shared = {
        key: intersection(fields, other[key])
        for key, fields in one.items()
        if key != SELF and key in other
    }
    return built(
        {key: fields for key, fields in shared.items() if fields is not None},
        itself=has_itself(one) and has_itself(other),
    )


def paths(fields: Fields, prefix: str = "") -> Iterator[str]:
    """The fields as an administrator reads them, ``.spec.ports[port=80].name``: those of a level
    before what is below them.
    """
    keys = sorted(key for key in fields if key != SELF)
    for key in keys:
        if has_itself(fields[key]):
            yield prefix + shown(key)
    for key in keys:
        yield from paths(fields[key], prefix + shown(key))


def shown(key: str) -> str:
    """A key as an administrator reads it, after the path of what holds it."""
    kind, name = key[:2], key[2:]
    if kind == "f:":
        return f".{name}"
    if kind == "k:":
        keys = msgspec.json.decode(name)
        stated = (f"{field}={msgspec.json.encode(value).decode()}" for field, value in keys.items())
        return f"[{','.join(stated)}]"
    return f"[={name}]"


def well_formed(fields: Any) -> bool:
    """Whether this is a set, when somebody else says so."""
    if not isinstance(fields, dict):
        return False
    return all(
        (key == SELF and not below) or (_is_key(key) and well_formed(below))
        for key, below in fields.items()
    )


def _is_key(key: str) -> bool:
    if key.startswith(("k:", "v:")):
        try:
            value = msgspec.json.decode(key[2:])
        except msgspec.DecodeError:
            return False
        return key[0] == "v" or isinstance(value, dict)
    return key.startswith("f:") or (key.startswith("i:") and key[2:].isdecimal())
