"""Reads: an object, a list or a watch, in the form that the client wants."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

import msgspec

from towtank.model.kinds import APIResource, Body
from towtank.model.requests import (
    ApiRequest,
    ApiResponse,
    ListOptions,
    RequestTarget,
    parsed_version,
)
from towtank.storage.pages import ListPage, require_reached
from towtank.storage.store import Stored
from towtank.storage.verbs import Verbs
from towtank.tables import printer
from towtank.wire import accept, bodies, options
from towtank.wire.accept import AcceptedForm

_ENCODER = msgspec.json.Encoder()


class ReadHandlers:
    """Answers requests that only read."""

    def __init__(self, verbs: Verbs) -> None:
        self._verbs = verbs

    def get(self, request: ApiRequest, target: RequestTarget) -> ApiResponse:
        """One object. Raises ApiError."""
        wanted = accept.accepted_form(request.accept, target.resource)
        if version := request.query.get("resourceVersion"):
            require_reached(parsed_version(version), self._verbs.store.revision)
        body = to_served(target, self._verbs.get(target).body)
        return self.object_response(request, target, body, wanted)

    def list(self, request: ApiRequest, target: RequestTarget) -> ApiResponse:
        """A page of a list. Raises ApiError."""
        return self.list_response(request, target, options.listing(request.query))

    def list_response(
        self,
        request: ApiRequest,
        target: RequestTarget,
        which: ListOptions,
        chosen: Iterable[Stored] | None = None,
    ) -> ApiResponse:
        """A list as the client wants it; of ``chosen`` where that is what is left to show."""
        wanted = accept.accepted_form(request.accept, target.resource, collection=True)
        page = self._verbs.list(stored_target(target), which)
        meta = _list_meta(page, always=target.resource.custom and wanted.whole)
        items = page.items if chosen is None else chosen
        if wanted.whole and not wanted.yaml:
            return ApiResponse(200, _joined(target, items, meta))
        found = [to_served(target, stored.body) for stored in items]
        return self._formed(request, target.resource, found, meta, wanted)

    def _formed(
        self,
        request: ApiRequest,
        resource: APIResource,
        found: Iterable[Body],
        meta: Body,
        wanted: AcceptedForm,
    ) -> ApiResponse:
        if wanted.table:
            body = self._table(request, resource, found, meta)
        elif wanted.metadata_only:
            body = printer.partials(found, meta)
        else:
            items = [_item(resource, one) for one in found]
            body = {**_list_head(resource, meta), "items": items}
        return encoded(200, body, wanted)

    def _table(
        self, request: ApiRequest, resource: APIResource, found: Iterable[Body], meta: Body
    ) -> Body:
        include, now = request.query.get("includeObject", ""), self._verbs.clock()
        return printer.table(resource, found, now=now, include_object=include, list_meta=meta)

    def object_response(
        self,
        request: ApiRequest,
        target: RequestTarget,
        body: Body,
        wanted: AcceptedForm,
        code: int = 200,
    ) -> ApiResponse:
        """One object as the client wants it; writes answer so too. A Status is always whole."""
        if (body.get("apiVersion"), body.get("kind")) == ("v1", "Status"):
            wanted = AcceptedForm(yaml=wanted.yaml)
        if wanted.table:
            meta = {"resourceVersion": body["metadata"].get("resourceVersion", "")}
            body = self._table(request, target.resource, [body], meta)
        elif wanted.metadata_only:
            body = printer.partial(body)
        return encoded(code, body, wanted)

    def watch(self, request: ApiRequest, target: RequestTarget) -> ApiResponse:
        """What is to be streamed. Raises ApiError."""
        wanted = accept.accepted_form(request.accept, target.resource, watched=True)
        asked = options.watching(target, request.query, self._verbs.store.revision)
        return ApiResponse(
            200,
            dataclasses.replace(
                asked, as_table=wanted.table, metadata_only=wanted.metadata_only, meta=wanted.meta
            ),
        )


def encoded(code: int, body: Body, wanted: AcceptedForm) -> ApiResponse:
    """An answer in YAML, or in an older version of Tables and metadata, where that is wanted."""
    if not wanted.whole:
        body = printer.of_version(body, wanted.meta)
    return (
        ApiResponse(code, bodies.to_yaml(body), content_type=bodies.YAML)
        if wanted.yaml
        else ApiResponse(code, body)
    )


def stored_target(target: RequestTarget) -> RequestTarget:
    """Where the objects are that this path shows."""
    form = target.resource.mapping
    return (
        dataclasses.replace(target, resource=form.stored, shown=target.resource) if form else target
    )


def to_served(target: RequestTarget, body: Body) -> Body:
    """A stored body as this path shows it."""
    form = target.resource.mapping
    return form.to_served(body) if form else body


def to_stored(target: RequestTarget, body: Body) -> Body:
    """What came by this path, as it is stored."""
    form = target.resource.mapping
    return form.to_stored(body) if form else body


def _item(resource: APIResource, body: Body) -> Body:
    """An object as lists have it: what a built-in kind is, the list says."""
    return (
        body
        if resource.custom
        else {key: value for key, value in body.items() if key not in ("kind", "apiVersion")}
    )


def _list_meta(page: ListPage, *, always: bool) -> Body:
    """``always``: a continue token also where there is none."""
    meta: Body = {"resourceVersion": str(page.revision)}
    if page.continue_ or always:
        meta["continue"] = page.continue_
    if page.remaining is not None:
        meta["remainingItemCount"] = page.remaining
    return meta


def _list_head(resource: APIResource, meta: Body) -> Body:
    return {"kind": resource.list_kind, "apiVersion": resource.api_version, "metadata": meta}


def _joined(target: RequestTarget, items: Iterable[Stored], meta: Body) -> bytes:
    """A list of texts that are there already: thousands of objects cost no more than their
    bytes.
    """
    resource = target.resource
    head = _ENCODER.encode(_list_head(resource, meta))
    if form := resource.mapping:
        texts = [_ENCODER.encode(_item(resource, form.to_served(one.body))) for one in items]
    else:
        texts = [one.text if resource.custom else one.untyped for one in items]
    return b"".join((head[:-1], b',"items":[', b",".join(texts), b"]}\n"))
