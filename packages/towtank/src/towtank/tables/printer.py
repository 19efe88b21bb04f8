"""Lists and objects as Tables, and as metadata alone.

The modules beside this one have each kind's columns and its function from a body to cells.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from towtank.model.api_errors import bad_request, quoted
from towtank.model.kinds import APIResource, Body, TableColumn
from towtank.tables import ages
from towtank.tables.ages import Age
from towtank.tables.cells import KindPrinter
from towtank.tables.core_tables import BASICS
from towtank.tables.other_tables import OTHER, OTHERS, custom
from towtank.tables.pod_tables import PODS, row_conditions
from towtank.tables.storage_tables import STORAGES
from towtank.tables.workload_tables import WORKLOADS

_META = "meta.k8s.io/v1"
_PRINTINGS: Mapping[str, KindPrinter] = {"pods": PODS, **BASICS, **WORKLOADS, **STORAGES, **OTHERS}
_INCLUDED = ("Metadata", "Object", "None", "")


class TablePrinter:
    """Tables of one resource. A watch keeps one, and asks it for a table of each object."""

    def __init__(self, resource: APIResource, include_object: str = "Metadata") -> None:
        """``include_object`` is the query's includeObject. Raises ApiError 400."""
        if include_object not in _INCLUDED:
            why = (
                f"includeObject: Invalid value: {quoted(include_object)}: must be 'Metadata', "
                f"'Object', 'None', or empty"
            )
            raise bad_request(f"Unable to convert to Table as requested: {why}")
        self._kind_printer = (
            custom(resource.columns) if resource.custom else _PRINTINGS.get(resource.key, OTHER)
        )
        self._include = include_object or "Metadata"
        self._pods = resource.key == "pods"
        self.columns = [_definition(column) for column in self._kind_printer.columns]

    def table(
        self, bodies: Iterable[Body], now: datetime, list_meta: Mapping[str, Any], *, headers: bool
    ) -> Body:
        """``list_meta`` is the list's metadata, or an object's resourceVersion. A watch has
        ``headers`` with its first event alone.
        """
        age = ages.at(now)
        return {
            "kind": "Table",
            "apiVersion": _META,
            "metadata": list_meta,
            "columnDefinitions": self.columns if headers else None,
            "rows": [self._row(body, age) for body in bodies],
        }

    def _row(self, body: Body, age: Age) -> Body:
        row = {"cells": self._kind_printer.cells(body, age), "object": self._object(body)}
        if self._pods and (conditions := row_conditions(body)):
            row["conditions"] = conditions
        return row

    def _object(self, body: Body) -> Body | None:
        if self._include == "Metadata":
            return partial(body)
        return body if self._include == "Object" else None


def table(
    resource: APIResource,
    bodies: Iterable[Body],
    *,
    now: datetime,
    include_object: str = "Metadata",
    list_meta: Mapping[str, Any],
) -> Body:
    """A Table of objects. Raises ApiError 400 for another ``include_object`` than there are."""
    return TablePrinter(resource, include_object).table(bodies, now, list_meta, headers=True)


def partial(body: Body) -> Body:
    """An object's metadata, as PartialObjectMetadata."""
    return {"kind": "PartialObjectMetadata", "apiVersion": _META, "metadata": body["metadata"]}


def partials(bodies: Iterable[Body], list_meta: Mapping[str, Any]) -> Body:
    """A list of objects' metadata."""
    items = [partial(body) for body in bodies]
    return {
        "kind": "PartialObjectMetadataList",
        "apiVersion": _META,
        "metadata": list_meta,
        "items": items,
    }


def of_version(shown: Body, api_version: str) -> Body:
    """A Table, or metadata alone, in the version of meta.k8s.io that the client knows."""
    if shown["apiVersion"] == api_version:
        return shown
    rows = [
        {**row, "object": _of_version(row["object"], api_version)} for row in shown.get("rows", ())
    ]
    items = [_of_version(item, api_version) for item in shown.get("items", ())]
    return {
        **shown,
        "apiVersion": api_version,
        **({"rows": rows} if rows else {}),
        **({"items": items} if items else {}),
    }


def _of_version(body: Body | None, api_version: str) -> Body | None:
    """A row's object may be whole, or not there."""
    return {**body, "apiVersion": api_version} if body and body["apiVersion"] == _META else body


def _definition(column: TableColumn) -> Body:
    return {
        "name": column.name,
        "type": column.type,
        "format": column.format,
        "description": column.description,
        "priority": column.priority,
    }
