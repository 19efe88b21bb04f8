"""Discovery: which versions, groups and resources there are; what clients ask before anything
else.
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Iterator, Sequence
from typing import Final

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
        body: Body | None = None
        match first, rest:
            case "api", []:
                address = {"clientCIDR": "0.0.0.0/0", "serverAddress": host}
                body = {
                    "kind": "APIVersions",
                    "versions": ["v1"],
                    "serverAddressByClientCIDRs": [address],
                }
            case "apis", []:
                groups = [self._group(name) for name in self._groups() if name]
                body = {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}
            case "api", [version]:
                body = self._version("", version)
            case "apis", [group]:
                if not group or group not in self._groups():
                    raise NotServed
                body = {"kind": "APIGroup", "apiVersion": "v1", **self._group(group)}
            case "apis", [group, version]:
                body = self._version(group, version)
        return None if body is None else ApiResponse(200, body)

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
        beside = list(self._beside(resource))
        for name, api_version, kind, verbs in (
            beside if resource.custom else sorted(beside, key=operator.itemgetter(0))
        ):
            group, _, version = api_version.rpartition("/")
            other = (
                {}
                if (group, version) == (resource.group, resource.version)
                else {"group": group, "version": version}
            )
            other = {key: value for key, value in other.items() if value}
            one = {
                "name": f"{resource.plural}/{name}",
                "singularName": "",
                "namespaced": resource.namespaced,
            }
            yield {**one, **other, "kind": kind, "verbs": list(verbs)}

    def _beside(self, resource: APIResource) -> Iterator[tuple[str, str, str, Sequence[str]]]:
        """Name, apiVersion, kind and verbs of the subresources that are served."""
        if resource.has_status:
            yield "status", resource.api_version, resource.kind, _CHANGES
        for name in (*resource.subresources, *(["scale"] if resource.scale else [])):
            found = self._subresources.find(RequestTarget(resource, subresource=name))
            if found is not None:
                verbs = [*(["create"] if found.create else []), *(["get"] if found.get else [])]
                yield (
                    name,
                    found.api_version,
                    found.kind,
                    [*verbs, *(["patch", "update"] if found.change else [])],
                )

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
        beside = [
            {"subresource": name, "responseKind": _kind(api_version, kind), "verbs": list(verbs)}
            for name, api_version, kind, verbs in self._beside(resource)
        ]
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
