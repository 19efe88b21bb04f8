"""The entries of metadata.managedFields: one for each manager, kind of write and subresource."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from datetime import datetime
from typing import Any, Final, TypeAlias

from towtank.managed_fields.field_sets import Fields, difference, union, well_formed
from towtank.model.kinds import APIResource, Body
from towtank.model.times import timestamp

Entry: TypeAlias = dict[str, Any]

UPDATE: Final = "Update"
APPLY: Final = "Apply"
MAX_UPDATE_ENTRIES: Final = 10
"""Entries of updates; the oldest beyond go into one of this manager:"""
ANCIENT: Final = "ancient-changes"

_SERVERS: Final = frozenset(
    {
        "name",
        "namespace",
        "uid",
        "selfLink",
        "clusterName",
        "generation",
        "creationTimestamp",
        "resourceVersion",
        "managedFields",
    }
)
"""Metadata that nobody owns."""


@dataclasses.dataclass(frozen=True, slots=True)
class ManagedFieldsEntry:
    """Who writes what, by which way, and when."""

    resource: APIResource
    manager: str
    subresource: str
    now: datetime

    def ownable(self, body: Body) -> Body:
        """What of a body can have owners by this write: the main resource's writers cannot own a
        status that has its own.
        """
        body = self.resource.mapping.to_served(body) if self.resource.mapping else body
        unseen = "status" if self.resource.has_status and self.subresource != "status" else ""
        view = {
            name: value
            for name, value in body.items()
            if name not in ("apiVersion", "kind", "metadata", unseen)
        }
        metadata = {
            name: value
            for name, value in (body.get("metadata") or {}).items()
            if name not in _SERVERS
        }
        return {"metadata": metadata, **view}

    def entry(self, operation: str, fields: Fields, time: str | None) -> Entry:
        """This writer's entry. One that changed nothing so far has no time."""
        return {
            "manager": self.manager,
            "operation": operation,
            "apiVersion": self.resource.api_version,
            **({"time": time} if time else {}),
            "fieldsType": "FieldsV1",
            "fieldsV1": fields,
            **({"subresource": self.subresource} if self.subresource else {}),
        }

    def is_writer_of(self, entry: Entry, operation: str) -> bool:
        """Whether the entry is this writer's: an applier stays the same when it takes another
        version.
        """
        mine = (entry["manager"], entry["operation"], entry.get("subresource", "")) == (
            self.manager,
            operation,
            self.subresource,
        )
        return mine and (operation == APPLY or entry["apiVersion"] == self.resource.api_version)

    def time(self) -> str | None:
        """As entries have it; those of who scales have none."""
        return None if self.subresource == "scale" else timestamp(self.now)


def readable(entries: Any) -> bool:
    """Whether a client's managedFields can be taken as they are."""
    return isinstance(entries, list) and all(
        isinstance(entry, dict)
        and entry.get("operation") in (APPLY, UPDATE)
        and entry.get("fieldsType") == "FieldsV1"
        and all(
            isinstance(entry.get(name, ""), str)
            for name in ("manager", "apiVersion", "time", "subresource")
        )
        and {"manager", "apiVersion"} <= entry.keys()
        and well_formed(entry.get("fieldsV1"))
        for entry in entries
    )


def without(
    entries: Iterable[Entry], changed: Fields | None, removed: Fields | None
) -> list[Entry]:
    """The entries after somebody else set and removed fields; those that own nothing any more are
    left out.
    """
    left = []
    for entry in entries:
        fields = entry["fieldsV1"] or None
        kept = difference(difference(fields, changed), removed)
        if kept is not None:
            left.append(entry if kept is fields else {**entry, "fieldsV1": kept})
    return left


def arranged(entries: Iterable[Entry]) -> list[Entry]:
    """The entries in the API server's order."""
    return sorted(
        entries,
        key=lambda e: (
            e["operation"],
            e.get("time", ""),
            e["manager"],
            e["apiVersion"],
            e.get("subresource", ""),
        ),
    )


def capped(entries: list[Entry]) -> list[Entry]:
    """No more entries of updates than are kept: the oldest of one version become one."""
    updaters = [entry for entry in arranged(entries) if entry["operation"] == UPDATE]
    excess, gone, buckets = len(updaters) - MAX_UPDATE_ENTRIES, [], dict[str, Entry]()
    for entry in updaters:
        if excess <= 0:
            break
        bucket = buckets.get(entry["apiVersion"])
        buckets[entry["apiVersion"]] = _together(bucket, entry) if bucket else entry
        excess -= bucket is not None
        gone.append(entry)
    kept = [entry for entry in entries if not any(entry is one for one in gone)]
    return [*kept, *buckets.values()]


def _together(older: Entry, newer: Entry) -> Entry:
    fields = union(older["fieldsV1"] or None, newer["fieldsV1"] or None)
    together = {**newer, "manager": ANCIENT, "fieldsV1": fields}
    together.pop("subresource", None)
    return together
