"""Merging an applied configuration into a live object, and taking out what its manager has given
up.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from towtank.managed_fields.field_sets import Fields, has_itself
from towtank.managed_fields.schema_walk import applied_fields, declared, parts
from towtank.model.schema_nodes import SchemaNode


def merged(live: Any, applied: Any, node: SchemaNode) -> Any:
    """The live value with what is applied; neither is changed."""
    theirs, ours = parts(live, node), parts(applied, node)
    if theirs is None or ours is None or type(live) is not type(applied):
        return live if theirs and applied is None else applied
    if not ours:
        return live if theirs else applied
    new = {
        key: merged(theirs[key][0], value, kind) if key in theirs else value
        for key, (value, kind) in ours.items()
    }
    if isinstance(applied, dict):
        return {**live, **{key[2:]: value for key, value in new.items()}}
    return [
        new[key] if key in new else theirs[key][0] for key in _interleaved(list(theirs), list(ours))
    ]


def _interleaved(before: list[str], after: list[str]) -> Iterator[str]:
    """Both orders in one: that of ``after``, and what is only in ``before`` stays ahead of the next
    that is in both.
    """
    place = {key: index for index, key in enumerate(before)}
    shared = [key for key in reversed(after) if key in place]
    theirs = place.keys() - set(after)
    cursor = 0
    for key in after:
        ahead = place[shared[-1]] if shared else -1
        stop = ahead if ahead >= cursor else len(before)  # one further ahead has been passed
        yield from (other for other in before[cursor:stop] if other in theirs)
        cursor = max(cursor, stop)
        yield key
        if shared and shared[-1] == key:
            shared.pop()
            cursor += cursor == place[key]
    yield from (other for other in before[cursor:] if other in theirs)


def pruned(value: Any, node: SchemaNode, last: Fields, owned: Fields | None) -> Any:
    """The value without what is in ``last``, what its manager applied before, and not in ``owned``,
    what anybody owns now.
    """
    below = parts(value, node)
    if not below:
        return value
    kept: dict[str, Any] = {}
    for key, (child, kind) in below.items():
        given_up, still = last.get(key), (owned or {}).get(key)
        if given_up is None:
            kept[key] = child
        elif not _in(key, given_up, node) or _in(key, still, node):
            left = pruned(child, kind, given_up, still)
            if not (declared(key, node) and _emptied(child, left, kind)):
                kept[key] = left
    named = {key[2:]: child for key, child in kept.items()}
    return named if isinstance(value, dict) else list(kept.values())


def _emptied(before: Any, left: Any, node: SchemaNode) -> bool:
    """Whether nothing is left that anybody could own; an empty list cannot be owned, while an empty
    map can.
    """
    return (
        left is not before
        and applied_fields(left, node) is None
        and applied_fields(before, node) is not None
    )


def _in(key: str, fields: Fields | None, node: SchemaNode) -> bool:
    """Named objects are in a set when anything below them is."""
    return fields is not None and (declared(key, node) or has_itself(fields))
