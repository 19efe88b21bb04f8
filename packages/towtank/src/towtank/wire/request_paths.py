"""Paths: which resource, object or subresource a request is about."""

from __future__ import annotations

from towtank.model.api_errors import NotServed, no_such_path
from towtank.model.catalogue import Catalogue
from towtank.model.requests import RequestTarget

_WITH_SUBRESOURCE = 3
_OF_NAMESPACES = ("status", "finalize")


def target(catalogue: Catalogue, path: str) -> tuple[RequestTarget, bool]:
    """What a path names, and whether it is one of the old paths that say ``watch`` themselves.
    Raises ApiError 404 and NotServed.
    """
    parts = path.strip("/").split("/")
    if parts[0] == "api" and len(parts) > 2:
        group, version, rest = "", parts[1], parts[2:]
    elif parts[0] == "apis" and len(parts) > 3:
        group, version, rest = parts[1], parts[2], parts[3:]
    else:
        raise NotServed
    watched = rest[0] == "watch" and len(rest) > 1
    return _found(catalogue, group, version, rest[1:] if watched else rest), watched


def _found(catalogue: Catalogue, group: str, version: str, rest: list[str]) -> RequestTarget:
    namespace = ""
    if (
        rest[0] == "namespaces"
        and len(rest) >= _WITH_SUBRESOURCE
        and not (group == "" and rest[2] in _OF_NAMESPACES and len(rest) == 3)
    ):
        namespace, rest = rest[1], rest[2:]
    plural, name, subresource, *more = (*rest, "", "") if len(rest) <= _WITH_SUBRESOURCE else rest
    resource = catalogue.find(group, version, plural)
    if resource is None and not catalogue.built_in(group):
        raise NotServed
    if resource is None or any(more) or "" in rest:
        raise no_such_path()
    if bool(namespace) != resource.namespaced and (namespace or name):
        raise no_such_path()  # a namespace where there are none, or an object without its namespace
    return RequestTarget(resource, namespace, name, subresource)
