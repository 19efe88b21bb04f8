"""Writes: POST, PUT, PATCH and DELETE of objects, collections and subresources."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from towtank import patches
from towtank.handlers.read_handlers import ReadHandlers, stored_target, to_served, to_stored
from towtank.model.api_errors import (
    ApiError,
    bad_request,
    method_not_allowed,
    status_details,
    undecodable,
    unregistered,
    unsupported_media_type,
)
from towtank.model.json_values import DecodeFailure, cloned, json_type
from towtank.model.kinds import Body
from towtank.model.requests import ApiRequest, ApiResponse, RequestTarget, WriteOptions
from towtank.storage import object_meta
from towtank.storage.verbs import Verbs
from towtank.subresources.subresource_table import Subresource
from towtank.wire import accept, bodies, options

_CHANGES: Final = {"PUT": "UpdateOptions", "PATCH": "PatchOptions"}
"""Methods that change a subresource, and their options."""


class WriteHandlers:
    """Each method answers one request about one target. All raise ApiError."""

    def __init__(self, verbs: Verbs, reading: ReadHandlers) -> None:
        self._verbs = verbs
        self._reads = reading

    def create(self, request: ApiRequest, target: RequestTarget) -> ApiResponse:
        """POST to a collection."""
        asked = options.writing(request, "CreateOptions")
        body = self._stored_body(request, target, asked)
        made = self._verbs.create(stored_target(target), body, asked)
        return self._shown(request, target, made, 201)

    def update(self, request: ApiRequest, target: RequestTarget) -> ApiResponse:
        """Answer a PUT."""
        asked = options.writing(request, "UpdateOptions")
        body = self._stored_body(request, target, asked)
        made, created = self._verbs.update(stored_target(target), body, asked)
        return self._shown(request, target, made, 201 if created else 200)

    def patch(self, request: ApiRequest, target: RequestTarget) -> ApiResponse:
        """PATCH, by the media type."""
        if bodies.media_type(request.content_type) == patches.APPLY:
            return self._apply(request, target)
        asked = options.writing(request, "PatchOptions")
        change = self._change(request, target, asked)
        form = target.resource.mapping
        turned: Callable[[Body], Body] = (
            (lambda old: form.to_stored(change(form.to_served(old)))) if form else change
        )
        made = self._verbs.patch(stored_target(target), turned, asked)
        return self._shown(request, target, made)

    def _apply(self, request: ApiRequest, target: RequestTarget) -> ApiResponse:
        asked = options.writing(request, "PatchOptions", apply=True)
        body = to_stored(target, _applied(request))
        self._warn(request, target.resource.kind, asked)
        made, created = self._verbs.apply(stored_target(target), body, asked)
        return self._shown(request, target, made, 201 if created else 200)

    def _change(
        self, request: ApiRequest, target: RequestTarget, asked: WriteOptions
    ) -> Callable[[Body], Body]:
        """What a patch does. Raises ApiError 400 and 415."""
        given, resource = bodies.media_type(request.content_type), target.resource
        if given not in (served := patches.accepted(resource)):
            if resource.custom:
                raise unsupported_media_type(request.content_type or "?", served)
            raise ApiError(415, "UnsupportedMediaType", "415: Unsupported Media Type", {})
        try:
            patch = bodies.from_json(request.body)
        except DecodeFailure as fault:
            texts = {
                patches.STRATEGIC: f"{fault}",
                patches.MERGE: "invalid JSON patch",
            }
            raise bad_request(texts.get(given, f"error decoding patch: {fault}")) from fault
        self._warn(request, resource.kind, asked)
        return patches.change(given, patch, resource)

    def delete(self, request: ApiRequest, target: RequestTarget) -> ApiResponse:
        """DELETE of an object: a Status where it is gone, and the object where somebody has to
        finish it.
        """
        asked = options.deleting(request.query, self._delete_body(request))
        before = self._verbs.get(stored_target(target))
        body = self._verbs.delete(stored_target(target), asked)
        orphans = target.resource.strategy.orphans
        if orphans and not asked.propagation:
            request.warnings.append(orphans)
        waits = "deletionTimestamp" in body["metadata"] and self._still_there(target, before.body)
        if waits or target.resource.shows_removed:
            return self._shown(request, target, body)
        group, uid = target.resource.group, body["metadata"]["uid"]
        details = status_details(target.name, group, target.resource.plural, uid=uid)
        success = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}
        return ApiResponse(200, {**success, "details": details})

    def _still_there(self, target: RequestTarget, before: Body) -> bool:
        now = self._verbs.find(stored_target(target).resource.key, target.namespace, target.name)
        return now is not None and now["metadata"]["uid"] == before["metadata"]["uid"]

    def delete_collection(self, request: ApiRequest, target: RequestTarget) -> ApiResponse:
        """DELETE of a collection: a list of what was chosen."""
        which = options.listing(
            {key: value for key, value in request.query.items() if key != "sendInitialEvents"}
        )
        asked = options.deleting(request.query, self._delete_body(request))
        chosen = self._verbs.delete_collection(stored_target(target), which, asked)
        return self._reads.list_response(request, target, which, chosen)

    def _delete_body(self, request: ApiRequest) -> Any:
        if not request.body.strip():
            return None
        body = bodies.read(request.body, request.content_type, "")
        if (kind := body.get("kind", "DeleteOptions")) != "DeleteOptions":
            raise bad_request(unregistered(kind, body.get("apiVersion", "v1")))
        return body

    # ---- subresources ----------------------------------------------------------------------------

    def call_subresource(
        self, request: ApiRequest, target: RequestTarget, one: Subresource
    ) -> ApiResponse:
        """A subresource, or a review. Raises ApiError 405 for what it does not take."""
        if request.method == "GET" and one.get:
            wanted = accept.accepted_form(request.accept, target.resource)
            found = one.get(self._verbs, target)
            return self._reads.object_response(request, target, found, wanted)
        if request.method == "POST" and one.create:
            asked = options.writing(request, "CreateOptions")
            body = self._read(request, target, one, asked)
            code, made = one.create(self._verbs, target, body, asked)
            return self._shown(request, target, made, code)
        if request.method in _CHANGES and one.change:
            asked = options.writing(request, _CHANGES[request.method])
            change = self._subresource_change(request, target, one, asked)
            return self._shown(request, target, one.change(self._verbs, target, change, asked))
        raise method_not_allowed()

    def _subresource_change(
        self, request: ApiRequest, target: RequestTarget, one: Subresource, asked: WriteOptions
    ) -> Callable[[Body], Body]:
        """What a PUT or a PATCH makes of it."""
        if request.method == "PUT":
            new = self._read(request, target, one, asked)
            return lambda _: new
        return self._decoding(self._change(request, target, asked), one, asked)

    def _read(
        self, request: ApiRequest, target: RequestTarget, one: Subresource, asked: WriteOptions
    ) -> Body:
        """The body that a subresource takes, decoded where no verb will do so."""
        body = self._body(request, one.kind, asked)
        version = str(body.setdefault("apiVersion", one.api_version)).rpartition("/")[2]
        if (kind := body.setdefault("kind", one.kind)) != one.kind:
            package = one.api_version.partition("/")[0].partition(".")[0]
            text = f"converting ({version}.{kind}) to ({package}.{one.kind}): unknown conversion"
            raise undecodable(kind, version, one.kind, text)
        if one.body is None:
            return body
        decoded = object_meta.decoded(one.body, body | {"apiVersion": one.api_version}, asked)
        object_meta.same_namespace(target, decoded["metadata"])
        return decoded

    @staticmethod
    def _decoding(
        change: Callable[[Body], Body], one: Subresource, asked: WriteOptions
    ) -> Callable[[Body], Body]:
        """A patch that decodes what it makes, where no verb will do so."""
        if (resource := one.body) is None:
            return change

        def changed(old: Body) -> Body:
            try:
                return object_meta.decoded(resource, change(cloned(old)), asked)
            except ApiError as refused:
                raise object_meta.unpatched(resource, change(cloned(old)), refused) from refused

        return changed

    # ---- bodies ----------------------------------------------------------------------------------

    def _stored_body(self, request: ApiRequest, target: RequestTarget, asked: WriteOptions) -> Body:
        resource = target.resource
        return to_stored(target, self._body(request, resource.kind, asked, custom=resource.custom))

    def _body(
        self, request: ApiRequest, kind: str, asked: WriteOptions, *, custom: bool = False
    ) -> Body:
        body: Body = bodies.read(request.body, request.content_type, kind)
        if custom and not body.get("kind"):
            raise bodies.unrecognized(
                request.body,
                kind,
                f"Object 'Kind' is missing in '{request.body.decode(errors='replace')}'",
            )
        self._warn(request, kind, asked)
        return body

    @staticmethod
    def _warn(request: ApiRequest, kind: str, asked: WriteOptions) -> None:
        """Refuse fields that are said twice, or warn of them, as the client wants it."""
        if asked.field_validation == "Ignore":
            return
        found = bodies.duplicates(request.body, request.content_type)
        if found and asked.field_validation == "Strict":
            if found[0].startswith("line "):
                found[0] = f"yaml: unmarshal errors:\n  {found[0]}"
            raise undecodable(kind, "v1", kind, f"strict decoding error: {', '.join(found)}")
        asked.warnings += found

    def _shown(
        self, request: ApiRequest, target: RequestTarget, body: Body, code: int = 200
    ) -> ApiResponse:
        wanted = accept.accepted_form(request.accept, target.resource)
        served = to_served(target, body)
        return self._reads.object_response(request, target, served, wanted, code)


def _applied(request: ApiRequest) -> Body:
    """The body of a server-side apply. Raises ApiError 400."""
    try:
        body = bodies.from_yaml(request.body)
    except DecodeFailure as fault:
        raise bad_request(f"error encoding patch: {fault}") from fault
    if not isinstance(body, dict | None):
        unmarshaled = (
            f"json: cannot unmarshal {json_type(body)} into Go value of type "
            f"map[string]interface {{}}"
        )
        raise bad_request(
            f"error decoding YAML: error unmarshaling JSON: while decoding JSON: {unmarshaled}"
        )
    return body or {}
