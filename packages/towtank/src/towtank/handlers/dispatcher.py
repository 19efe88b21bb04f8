"""Requests to responses: the path says what, the method says which verb, and the rest is
options.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Final

from towtank.handlers.discovery import DiscoveryHandler
from towtank.handlers.read_handlers import ReadHandlers, encoded
from towtank.handlers.write_handlers import WriteHandlers
from towtank.model.api_errors import ApiError, NotServed, method_not_allowed, no_such_path
from towtank.model.catalogue import Catalogue
from towtank.model.requests import ApiRequest, ApiResponse, RequestTarget
from towtank.storage.verbs import Verbs
from towtank.subresources.subresource_table import SubresourceTable
from towtank.wire import accept, options, request_paths
from towtank.wire.accept import AcceptedForm

_OF_CONTAINERS: Final = frozenset({"attach", "exec", "log", "portforward", "proxy"})
_STATUS: Final = "status"
_DEPRECATED: Final = {
    "endpoints": ("v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice",)
}
"""What is said to whoever asks about a resource, whatever the answer."""


class RequestDispatcher:
    """Synchronous; raises nothing but what is a fault of ours."""

    def __init__(
        self,
        verbs: Verbs,
        catalogue: Catalogue,
        subresources: SubresourceTable,
        discovery: DiscoveryHandler,
    ) -> None:
        self._catalogue = catalogue
        self._subresources = subresources
        self._discovery = discovery
        self._reads = reading = ReadHandlers(verbs)
        self._writes = writing = WriteHandlers(verbs, reading)
        self._of_collections: Mapping[
            str, tuple[str, Callable[[ApiRequest, RequestTarget], ApiResponse]]
        ] = {
            "GET": ("list", reading.list),
            "POST": ("create", writing.create),
            "DELETE": ("deletecollection", writing.delete_collection),
        }
        self._of_objects: Mapping[
            str, tuple[str, Callable[[ApiRequest, RequestTarget], ApiResponse]]
        ] = {
            "GET": ("get", reading.get),
            "PUT": ("update", writing.update),
            "PATCH": ("patch", writing.patch),
            "DELETE": ("delete", writing.delete),
        }

    def answer(self, request: ApiRequest) -> ApiResponse:
        """Answer; a refusal is a Status."""
        try:
            if found := self._discovery.answer(request):
                return found
            target, watched = request_paths.target(self._catalogue, request.path)
            request.warnings.extend(_DEPRECATED.get(target.resource.key, ()))
            answer = self._about(request, target, watched=watched)
        except NotServed:
            return ApiResponse(
                404, b"404 page not found\n", content_type="text/plain; charset=utf-8"
            )
        except ApiError as problem:
            answer = _refused(request, problem)
        return dataclasses.replace(answer, warnings=tuple(request.warnings))

    def _about(self, request: ApiRequest, target: RequestTarget, *, watched: bool) -> ApiResponse:
        if target.subresource or not target.name:
            one = self._subresources.find(target)
            if one is not None:
                return self._writes.call_subresource(request, target, one)
        if target.subresource:
            return self._subresource(request, target)
        if request.method == "GET" and (watched or options.flag(request.query, "watch")):
            if "watch" not in target.resource.verbs:
                raise method_not_allowed()
            return self._reads.watch(request, target)
        verb, act = self._verb(request, target)
        if verb not in target.resource.verbs:
            raise method_not_allowed()
        return act(request, target)

    def _verb(
        self, request: ApiRequest, target: RequestTarget
    ) -> tuple[str, Callable[[ApiRequest, RequestTarget], ApiResponse]]:
        known = self._of_objects if target.name else self._of_collections
        everywhere = target.resource.namespaced and not target.namespace
        if request.method not in known or (everywhere and request.method != "GET"):
            raise method_not_allowed()
        return known[request.method]

    def _subresource(self, request: ApiRequest, target: RequestTarget) -> ApiResponse:
        """The status, which is the object under other rules; or what needs containers, of which
        there are none.
        """
        if target.resource.key == "pods" and target.subresource in _OF_CONTAINERS:
            self._reads.get(ApiRequest("GET", request.path), target)
            why = (
                f"pods of the embedded cluster run no containers, so there is no "
                f"{target.subresource} of them"
            )
            raise ApiError(405, "MethodNotAllowed", why, {})
        if target.subresource != _STATUS or not target.resource.has_status:
            raise no_such_path()
        if request.method not in ("GET", "PUT", "PATCH"):
            raise method_not_allowed()
        return self._of_objects[request.method][1](request, target)


def _refused(request: ApiRequest, problem: ApiError) -> ApiResponse:
    after = (problem.details or {}).get("retryAfterSeconds")
    answer = encoded(
        problem.code, problem.status(), AcceptedForm(yaml=accept.yaml_first(request.accept))
    )
    return dataclasses.replace(answer, headers={"Retry-After": str(after)} if after else {})
