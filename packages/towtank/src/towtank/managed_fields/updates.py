"""Plain writes: who sets a field owns it from then on."""

from __future__ import annotations

from typing import Any

import msgspec

from towtank.managed_fields.field_sets import union
from towtank.managed_fields.managers import (
    UPDATE,
    Entry,
    ManagedFieldsEntry,
    arranged,
    capped,
    readable,
    without,
)
from towtank.managed_fields.schema_walk import difference_of
from towtank.model.kinds import Body
from towtank.model.schema_nodes import SchemaNode


def track(new: Body, old: Body | None, write: ManagedFieldsEntry) -> None:
    """Give a body that was created (``old`` is None), updated or patched its managedFields, in
    place.

    What the writer sent there counts when it can be read, but through the main resource only;
    ``[{}]`` ends tracking until somebody applies.
    """
    metadata = new["metadata"]
    before = [] if old is None else old["metadata"].get("managedFields", [])
    entries = _sent(metadata.pop("managedFields", None), before, write)
    if not entries and old is not None:
        return
    entries = updated(entries, empty_like(write) if old is None else old, new, write)
    if entries:
        metadata["managedFields"] = entries


def updated(entries: list[Entry], old: Body, new: Body, write: ManagedFieldsEntry) -> list[Entry]:
    """The entries after a plain write; the same list where nothing changed."""
    always = {} if write.resource.custom else _always(write.resource.schema)
    before, after = always | write.ownable(old), always | write.ownable(new)
    changed, removed = difference_of(before, after, write.resource.schema)
    if not changed and not removed:
        return entries
    mine = [entry for entry in entries if write.is_writer_of(entry, UPDATE)]
    others = [entry for entry in entries if not write.is_writer_of(entry, UPDATE)]
    left = without(others, changed, removed)
    kept = without(mine, None, removed)
    if changed:
        owned = union(kept[0]["fieldsV1"] if kept else None, changed)
        kept = [write.entry(UPDATE, owned or {}, write.time())]
    return arranged(capped([*left, *kept]))


def _always(node: SchemaNode) -> dict[str, Any]:
    return {name: {} for name, child in node.properties.items() if child.present}


def empty_like(write: ManagedFieldsEntry) -> Body:
    """What a new object is compared with: of a built-in kind, what is there when nobody has said
    anything.
    """
    return {"metadata": {}, **({} if write.resource.custom else _blank(write.resource.schema))}


def _blank(node: SchemaNode) -> dict[str, Any]:
    blanks = {name: _blank(child) for name, child in node.properties.items() if child.present}
    lists = {
        name: None
        for name in node.required
        if (child := node.child(name)) and child.type == "array"
    }
    return blanks | lists


def _sent(sent: Any, before: list[Entry], write: ManagedFieldsEntry) -> list[Entry]:
    if write.subresource or not sent or sent == before:
        return before
    if sent == [{}]:
        return []
    return sent if readable(sent) else before


def same(new: Body, old: Body) -> bool:
    """Whether a write changes nothing: times of managedFields are no change."""
    if _essence(new) != _essence(old):
        return False
    # What compares equal in Python need not be so in JSON, as 1 and true.
    return msgspec.json.encode(_essence(new), order="sorted") == msgspec.json.encode(
        _essence(old), order="sorted"
    )


def _essence(body: Body) -> Body:
    metadata = {
        name: value for name, value in body["metadata"].items() if name != "resourceVersion"
    }
    if entries := metadata.get("managedFields"):
        metadata["managedFields"] = [
            {name: value for name, value in entry.items() if name != "time"} for entry in entries
        ]
    return {**body, "metadata": metadata}
