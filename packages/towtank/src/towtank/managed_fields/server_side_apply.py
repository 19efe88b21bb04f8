"""Server-side apply: a manager says all that it wants of an object, and is told when somebody else
wants it otherwise.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from functools import reduce
from typing import Any

import msgspec

from towtank.managed_fields.apply_validation import require_appliable
from towtank.managed_fields.field_sets import Fields, difference, intersection, paths, union
from towtank.managed_fields.managers import (
    APPLY,
    UPDATE,
    Entry,
    ManagedFieldsEntry,
    arranged,
    without,
)
from towtank.managed_fields.merge import merged, pruned
from towtank.managed_fields.schema_walk import applied_fields, difference_of
from towtank.managed_fields.updates import empty_like, updated
from towtank.model.api_errors import ApiError, quoted
from towtank.model.json_values import cloned
from towtank.model.kinds import Body

_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_BEFORE = "before-first-apply"
"""Who owns, as an updater, what an object without owners had when it was applied to for the first
time.
"""


def apply(applied: Any, live: Body | None, write: ManagedFieldsEntry, *, force: bool) -> Body:
    """The live object, or a new one where that is None, with what is applied; neither is changed.

    Raises ApiError: 409 when others own what would change and ``force`` does not take it, 400 for
    what cannot be applied.
    """
    require_appliable(applied, write.resource)
    config, schema = _within_reach(cloned(applied), write), write.resource.schema
    base = live or {"apiVersion": config["apiVersion"], "kind": config["kind"], **empty_like(write)}
    mine, others = _owners(live, write)
    claimed = _claimed(config, write)
    owned = reduce(union, (entry["fieldsV1"] or None for entry in others), claimed)
    result = pruned(merged(base, config, schema), schema, mine["fieldsV1"], owned)
    changed, removed = difference_of(write.ownable(base), write.ownable(result), schema)
    if not force:
        _refuse_conflicts(others, difference(changed, _last_applied(live, write)))
    time = write.time() if changed or removed else mine.get("time")
    own = [] if claimed is None else [write.entry(APPLY, claimed, time)]
    return _with_entries(result, [*without(others, changed, removed), *own])


def _within_reach(config: Body, write: ManagedFieldsEntry) -> Body:
    """What this write may touch: through status only that, and metadata of built-in kinds."""
    if write.subresource == "status":
        names = ["apiVersion", "kind", "status"] + ([] if write.resource.custom else ["metadata"])
        return {name: value for name, value in config.items() if name in names}
    if write.resource.has_status:
        config.pop("status", None)
    return config


def _claimed(config: Body, write: ManagedFieldsEntry) -> Fields | None:
    said = {
        name: value for name, value in write.ownable(config).items() if value or name != "metadata"
    }
    return applied_fields(said, write.resource.schema) if said else None


def _owners(live: Body | None, write: ManagedFieldsEntry) -> tuple[Entry, list[Entry]]:
    """The writer's entry, without any field for a new one, and the others."""
    entries = _entries(live, write) if live else []
    others = [entry for entry in entries if not write.is_writer_of(entry, APPLY)]
    mine = [entry for entry in entries if write.is_writer_of(entry, APPLY)]
    return (mine or [write.entry(APPLY, {}, None)])[0], others


def _entries(live: Body, write: ManagedFieldsEntry) -> list[Entry]:
    entries: list[Entry] = live["metadata"].get("managedFields") or []
    return entries or updated(
        [], empty_like(write), live, dataclasses.replace(write, manager=_BEFORE)
    )


def _with_entries(body: Body, entries: list[Entry]) -> Body:
    metadata = {**(body.get("metadata") or {}), "managedFields": arranged(entries)}
    if not entries:
        del metadata["managedFields"]
    return {**body, "metadata": metadata}


def _last_applied(live: Body | None, write: ManagedFieldsEntry) -> Fields | None:
    """What kubectl applied by itself before it left that to the server, as far as it still is so:
    that it may take back.
    """
    if live is None or write.manager != "kubectl":
        return None
    text = live["metadata"].get("annotations", {}).get(_LAST_APPLIED, "{}")
    try:
        last = msgspec.json.decode(text, type=dict[str, Any])
    except msgspec.DecodeError:
        return None  # somebody else wrote the annotation
    if last.get("apiVersion") != live["apiVersion"] or not isinstance(last.get("metadata"), dict):
        return None
    schema, said = write.resource.schema, write.ownable(last)
    changed, removed = difference_of(said, write.ownable(live), schema)
    return difference(difference(applied_fields(said, schema), changed), removed)


def _refuse_conflicts(others: Iterable[Entry], changed: Fields | None) -> None:
    found = sorted(
        (_named(entry), list(paths(shared)))
        for entry in others
        if (shared := intersection(entry["fieldsV1"] or None, changed)) is not None
    )
    causes = [
        {"reason": "FieldManagerConflict", "message": f"conflict with {who}", "field": path}
        for who, fields in found
        for path in fields
    ]
    if len(causes) == 1:
        text = f"1 conflict: {causes[0]['message']}: {causes[0]['field']}"
    else:
        listed = ("\n- ".join([f"conflicts with {who}:", *fields]) for who, fields in found)
        text = f"{len(causes)} conflicts: " + "\n".join(listed)
    if causes:
        raise ApiError(409, "Conflict", f"Apply failed with {text}", {"causes": causes})


def _named(entry: Entry) -> str:
    subresource = (
        f" with subresource {quoted(entry['subresource'])}" if entry.get("subresource") else ""
    )
    version = f" using {entry['apiVersion']}" if entry["operation"] == UPDATE else ""
    return f"{quoted(entry['manager'])}{subresource}{version}"
