"""Requests to answers: the path says what, the method says which verb, and the rest is options."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Final

from towtank.answering.discovery import Discovery
from towtank.answering.reading import Reading, encoded
from towtank.answering.writing import Writing
from towtank.model.catalogue import Catalogue
from towtank.model.problems import Problem, Unserved, method_not_allowed, no_such_path
from towtank.model.requests import Answer, Request, Target
from towtank.storage.verbs import Verbs
from towtank.subresources.dispatch import Subresources
from towtank.wire import accepting, options, paths
from towtank.wire.accepting import Wanted

_OF_CONTAINERS: Final = frozenset({"attach", "exec", "log", "portforward", "proxy"})
_STATUS: Final = "status"
_DEPRECATED: Final = {"endpoints": ("v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice",)}
"""What is said to whoever asks about a resource, whatever the answer."""


class Answering:
    """Synchronous; raises nothing but what is a fault of ours."""

    def __init__(self, verbs: Verbs, catalogue: Catalogue, subresources: Subresources, discovery: Discovery) -> None:
        self._catalogue = catalogue
        self._subresources = subresources
        self._discovery = discovery
        self._reading = reading = Reading(verbs)
        self._writing = writing = Writing(verbs, reading)
        self._of_collections: Mapping[str, tuple[str, Callable[[Request, Target], Answer]]] = {
            "GET": ("list", reading.list),
            "POST": ("create", writing.create),
            "DELETE": ("deletecollection", writing.delete_collection),
        }
        self._of_objects: Mapping[str, tuple[str, Callable[[Request, Target], Answer]]] = {
            "GET": ("get", reading.get),
            "PUT": ("update", writing.update),
            "PATCH": ("patch", writing.patch),
            "DELETE": ("delete", writing.delete),
        }

    def answer(self, request: Request) -> Answer:
        """Answer; a refusal is a Status."""
        warnings: tuple[str, ...] = ()
        try:
            if found := self._discovery.answer(request):
                return found
            target, watched = paths.target(self._catalogue, request.path)
            warnings = _DEPRECATED.get(target.resource.key, ())
            answer = self._about(request, target, watched=watched)
        except Unserved:
            return Answer(404, b"404 page not found\n", content_type="text/plain; charset=utf-8")
        except Problem as problem:
            answer = _refused(request, problem)
        return dataclasses.replace(answer, warnings=(*warnings, *answer.warnings)) if warnings else answer

    def _about(self, request: Request, target: Target, *, watched: bool) -> Answer:
        if target.subresource or not target.name:
            one = self._subresources.find(target)
            if one is not None:
                return self._writing.asked(request, target, one)
        if target.subresource:
            return self._subresource(request, target)
        if request.method == "GET" and (watched or options.flag(request.query, "watch")):
            if "watch" not in target.resource.verbs:
                raise method_not_allowed()
            return self._reading.watch(request, target)
        verb, act = self._verb(request, target)
        if verb not in target.resource.verbs:
            raise method_not_allowed()
        return act(request, target)

    def _verb(self, request: Request, target: Target) -> tuple[str, Callable[[Request, Target], Answer]]:
        known = self._of_objects if target.name else self._of_collections
        everywhere = target.resource.namespaced and not target.namespace
        if request.method not in known or (everywhere and request.method != "GET"):
            raise method_not_allowed()
        return known[request.method]

    def _subresource(self, request: Request, target: Target) -> Answer:
        """The status, which is the object under other rules; or what needs containers, of which there are none."""
        if target.resource.key == "pods" and target.subresource in _OF_CONTAINERS:
            self._reading.get(Request("GET", request.path), Target(target.resource, target.namespace, target.name))
            why = f"pods of the embedded cluster run no containers, so there is no {target.subresource} of them"
            raise Problem(405, "MethodNotAllowed", why, {})
        if target.subresource != _STATUS or not target.resource.has_status:
            raise no_such_path()
        if request.method not in ("GET", "PUT", "PATCH"):
            raise method_not_allowed()
        return self._of_objects[request.method][1](request, target)


def _refused(request: Request, problem: Problem) -> Answer:
    after = (problem.details or {}).get("retryAfterSeconds")
    answer = encoded(problem.code, problem.status(), Wanted(yaml=accepting.yaml_first(request.accept)))
    headers = {"Retry-After": str(after)} if after else {}
    return dataclasses.replace(answer, headers=headers, warnings=tuple(request.warnings))
