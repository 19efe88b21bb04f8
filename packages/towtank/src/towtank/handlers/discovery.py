"""Discovery: which versions, groups and resources there are; what clients ask before anything
else.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Final, NamedTuple

from towtank.handlers.openapi import OpenAPIHandler
from towtank.model.api_errors import NotServed, method_not_allowed, no_such_path
from towtank.model.catalogue import Catalogue
from towtank.model.kinds import KUBERNETES, APIResource, Body
from towtank.model.requests import ApiRequest, ApiResponse, RequestTarget
from towtank.subresources.subresource_table import SubresourceTable
from towtank.wire import accept

_MAJOR, _MINOR, _PATCH = KUBERNETES
VERSION: Final = {
    "major": str(_MAJOR),
    "minor": str(_MINOR),
    "emulationMajor": str(_MAJOR),
    "emulationMinor": str(_MINOR),
    "minCompatibilityMajor": str(_MAJOR),
    "minCompatibilityMinor": str(_MINOR - 1),
    "gitVersion": f"v{_MAJOR}.{_MINOR}.{_PATCH}+towtank",
    "gitCommit": "",
    "gitTreeState": "clean",
    "buildDate": "1970-01-01T00:00:00Z",
    "goVersion": "none",
    "compiler": "none",
    "platform": "python",
}
_HEALTH: Final = frozenset({"/healthz", "/livez", "/readyz"})
_CHANGES: Final = ("get", "patch", "update")


class _Subresource(NamedTuple):
    """A subresource that is served."""

    name: str
    api_version: str
    kind: str
    verbs: tuple[str, ...]

    def listed(self, resource: APIResource) -> Body:
        """As an APIResourceList has it, which names the version where that is another one."""
        group, _, version = self.api_version.rpartition("/")
        own = self.api_version == resource.api_version
        return {
            "name": f"{resource.plural}/{self.name}",
            "singularName": "",
            "namespaced": resource.namespaced,
            **({"group": group} if group and not own else {}),
            **({} if own else {"version": version}),
            "kind": self.kind,
            "verbs": list(self.verbs),
        }

    def described(self) -> Body:
        """As aggregated discovery has it."""
        kind = _kind(self.api_version, self.kind)
        return {"subresource": self.name, "responseKind": kind, "verbs": list(self.verbs)}


class DiscoveryHandler:
    """Answers about what is served at this moment; None for paths that are about objects."""

    def __init__(
        self, catalogue: Catalogue, subresources: SubresourceTable, openapi: OpenAPIHandler
    ) -> None:
        self._catalogue = catalogue
        self._subresources = subresources
        self._openapi = openapi

    def answer(self, request: ApiRequest) -> ApiResponse | None:
        """The answer, or None. Raises ApiError and NotServed."""
        path = request.path.rstrip("/") or "/"
        found = self._at(path, request)
        if found is not None and request.method not in ("GET", "HEAD"):
            raise method_not_allowed()
        return found

    def _at(self, path: str, request: ApiRequest) -> ApiResponse | None:
        first, *rest = path.strip("/").split("/")
        if path in _HEALTH or (f"/{first}" in _HEALTH):
            return ApiResponse(200, b"ok", content_type="text/plain; charset=utf-8")
        if path == "/version":
            return ApiResponse(200, dict(VERSION))
        if first == "openapi":
            return self._openapi.answer(rest, request.accept)
        if path in ("/api", "/apis") and (version := accept.discovery_version(request.accept)):
            return self._aggregated(version, core=path == "/api")
        if path == "/":
            return ApiResponse(
                200, {"paths": ["/api", "/apis", *sorted(_HEALTH), "/openapi/v3", "/version"]}
            )
        return self._plain(first, rest, request.host)

    def _plain(self, first: str, rest: list[str], host: str) -> ApiResponse | None:
        match first, rest:
            case "api", []:
                body = _core_versions(host)
            case "apis", []:
                groups = [self._group(name) for name in self._groups() if name]
                body = {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}
            case "api", [version]:
                body = self._version("", version)
            case "apis", [group] if group and group in self._groups():
                body = {"kind": "APIGroup", "apiVersion": "v1", **self._group(group)}
            case "apis", [_]:
                raise NotServed
            case "apis", [group, version]:
                body = self._version(group, version)
            case _:
                return None
        return ApiResponse(200, body)

    def _groups(self) -> list[str]:
        return list(dict.fromkeys(resource.group for resource in self._catalogue))

    def _versions(self, group: str) -> list[str]:
        found = dict.fromkeys(
            resource.version for resource in self._catalogue if resource.group == group
        )
        return sorted(found, key=precedence)

    def _group(self, name: str) -> Body:
        versions = [
            {"groupVersion": f"{name}/{version}", "version": version}
            for version in self._versions(name)
        ]
        return {"name": name, "versions": versions, "preferredVersion": versions[0]}

    def _of(self, group: str, version: str) -> list[APIResource]:
        return [
            resource
            for resource in self._catalogue
            if (resource.group, resource.version) == (group, version)
        ]

    def _version(self, group: str, version: str) -> Body:
        found = self._of(group, version)
        if not found:
            raise no_such_path() if self._catalogue.built_in(group) else NotServed
        listed = list(itertools.chain.from_iterable(self._listed(resource) for resource in found))
        return {
            "kind": "APIResourceList",
            "apiVersion": "v1",
            "groupVersion": found[0].api_version,
            "resources": listed,
        }

    def _listed(self, resource: APIResource) -> Iterator[Body]:
        main = {
            "name": resource.plural,
            "singularName": resource.singular,
            "namespaced": resource.namespaced,
            "kind": resource.kind,
            "verbs": _verbs(resource),
            "shortNames": list(resource.short_names),
            "categories": list(resource.categories),
        }
        yield {key: value for key, value in main.items() if value not in ([], None)}
        beside = self._beside(resource)
        for one in beside if resource.custom else sorted(beside):
            yield one.listed(resource)

    def _beside(self, resource: APIResource) -> Iterator[_Subresource]:
        """The subresources that are served."""
        if resource.has_status:
            yield _Subresource("status", resource.api_version, resource.kind, _CHANGES)
        for name in (*resource.subresources, *(["scale"] if resource.scale else [])):
            found = self._subresources.find(RequestTarget(resource, subresource=name))
            if found is not None:
                served = {
                    "create": found.create,
                    "get": found.get,
                    "patch": found.change,
                    "update": found.change,
                }
                verbs = tuple(verb for verb, act in served.items() if act)
                yield _Subresource(name, found.api_version, found.kind, verbs)

    # ---- aggregated ------------------------------------------------------------------------------

    def _aggregated(self, version: str, *, core: bool) -> ApiResponse:
        groups = [self._gathered(name) for name in self._groups() if (name == "") == core]
        body = {
            "kind": "APIGroupDiscoveryList",
            "apiVersion": f"apidiscovery.k8s.io/{version}",
            "metadata": {},
            "items": groups,
        }
        content_type = (
            f"application/json;g=apidiscovery.k8s.io;v={version};as=APIGroupDiscoveryList"
        )
        return ApiResponse(200, body, content_type=content_type)

    def _gathered(self, group: str) -> Body:
        versions = [
            {
                "version": version,
                "resources": [self._described(one) for one in self._sorted(group, version)],
                "freshness": "Current",
            }
            for version in self._versions(group)
        ]
        return {"metadata": {"name": group} if group else {}, "versions": versions}

    def _sorted(self, group: str, version: str) -> list[APIResource]:
        """Custom ones by their names; built-in ones stand in the API server's order already."""
        return sorted(
            self._of(group, version),
            key=lambda resource: resource.plural if resource.custom else "",
        )

    def _described(self, resource: APIResource) -> Body:
        beside = [one.described() for one in self._beside(resource)]
        return {
            "resource": resource.plural,
            "responseKind": _kind(resource.api_version, resource.kind),
            "scope": "Namespaced" if resource.namespaced else "Cluster",
            "singularResource": resource.singular,
            "verbs": _verbs(resource),
            **({"shortNames": list(resource.short_names)} if resource.short_names else {}),
            **({"categories": list(resource.categories)} if resource.categories else {}),
            **({"subresources": beside} if beside else {}),
        }


def _core_versions(host: str) -> Body:
    address = {"clientCIDR": "0.0.0.0/0", "serverAddress": host}
    return {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": [address]}


def _verbs(resource: APIResource) -> list[str]:
    """Sorted; those of custom resources are told in an order of their own."""
    last = ("create", "update", "watch") if resource.custom else ()
    return sorted(resource.verbs, key=lambda verb: (verb in last, verb))


def _kind(api_version: str, kind: str) -> Body:
    group, _, version = api_version.rpartition("/")
    return {"group": group, "version": version, "kind": kind}


def precedence(version: str) -> tuple[int, int, int, str]:
    """What sorts versions as Kubernetes does: stable before beta before alpha, newer first, then
    what is none of these.
    """
    for stage, word in enumerate(("", "beta", "alpha")):
        major, found, minor = (
            version.removeprefix("v").partition(word)
            if word
            else (version.removeprefix("v"), "", "")
        )
        if (
            version.startswith("v")
            and major.isdecimal()
            and (minor.isdecimal() if found else not word)
        ):
            return stage, -int(major), -int(minor or 0), version
    return 3, 0, 0, version
