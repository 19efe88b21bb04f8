"""OpenAPI v3: what ``kubectl explain`` shows, and where kubectl reads that the server validates
fields by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

from towtank.model.api_errors import NotServed
from towtank.model.catalogue import Catalogue
from towtank.model.kinds import KUBERNETES, APIResource, Body
from towtank.model.requests import ApiResponse
from towtank.schemas import schema_parser
from towtank.strategies import crd

_REF: Final = "$ref"
_AT: Final = "#/components/schemas/"
_METADATA: Final = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
_GVK: Final = "x-kubernetes-group-version-kind"
_INFO: Final = {"title": "Moorage's embedded cluster", "version": "{}.{}".format(*KUBERNETES)}
_V2: Final = "com.github.proto-openapi.spec.v2"
_V2_PROTOBUF: Final = f"application/{_V2}.v1.0+protobuf"
_OF_COLLECTIONS: Final = {"post": "create"}
_OF_OBJECTS: Final = {"get": "get", "put": "update", "patch": "patch", "delete": "delete"}
"""Methods that are told, and their verbs."""
_WRITES: Final = frozenset({"post", "put", "patch"})


class OpenAPIHandler:
    """``find`` reads an object: definitions of custom resources have their schemas."""

    def __init__(self, catalogue: Catalogue, find: Callable[[str, str, str], Body | None]) -> None:
        self._catalogue = catalogue
        self._find = find

    def answer(self, parts: list[str], accept: str) -> ApiResponse:
        """What is behind /openapi/ and these parts. Raises NotServed. v2 is empty: kubectl looks
        there for kinds that v3 has not.
        """
        match parts:
            case ["v2"] if _V2 in accept:
                return ApiResponse(200, b"\n\x032.0", content_type=_V2_PROTOBUF)
            case ["v2"]:
                body: Body = {"swagger": "2.0", "info": _INFO, "paths": {}, "definitions": {}}
            case ["v3"]:
                urls = {_place(one): f"/openapi/v3/{_place(one)}" for one in self._catalogue}
                body = {"paths": {place: {"serverRelativeURL": url} for place, url in urls.items()}}
            case ["v3", *place] if found := self._at("/".join(place)):
                body = self._document(found)
            case _:
                raise NotServed
        return ApiResponse(200, body)

    def _at(self, place: str) -> list[APIResource]:
        return [resource for resource in self._catalogue if _place(resource) == place]

    def _document(self, resources: Iterable[APIResource]) -> Body:
        schemas: Body = {}
        paths: Body = {}
        for resource in resources:
            schemas |= self._schemas(resource)
            paths |= _paths(resource)
        return {
            "openapi": "3.0.0",
            "info": _INFO,
            "paths": paths,
            "components": {"schemas": schemas},
        }

    def _schemas(self, resource: APIResource) -> Body:
        """The kind's, with all that they refer to."""
        definitions = schema_parser.definitions()
        if resource.custom:
            group = ".".join(reversed(resource.group.split(".")))
            name = f"{group}.{resource.version}.{resource.kind}"
            root = self._custom(resource)
        else:
            name = definitions["kinds"][f"{resource.api_version}/{resource.kind}"]
            root = definitions[name]
        return {name: {**_pointed(root), _GVK: [_gvk(resource)]}, **_closure(root, definitions)}

    def _custom(self, resource: APIResource) -> Body:
        definition = self._find(crd.KEY, "", resource.key) or {"spec": {"versions": []}}
        versions = {version["name"]: version for version in definition["spec"]["versions"]}
        said = (versions.get(resource.version, {}).get("schema") or {}).get("openAPIV3Schema") or {
            "type": "object"
        }
        known = {
            "apiVersion": {"type": "string"},
            "kind": {"type": "string"},
            "metadata": {_REF: _METADATA},
        }
        return {
            **said,
            "properties": {**known, **said.get("properties", {}), "metadata": known["metadata"]},
        }


def _place(resource: APIResource) -> str:
    return f"apis/{resource.api_version}" if resource.group else f"api/{resource.version}"


def _gvk(resource: APIResource) -> Body:
    return {"group": resource.group, "version": resource.version, "kind": resource.kind}


def _references(schema: Any) -> Iterator[str]:
    if isinstance(schema, dict):
        if isinstance(schema.get(_REF), str):
            yield schema[_REF]
        for inner in schema.values():
            yield from _references(inner)
    elif isinstance(schema, list):
        for inner in schema:
            yield from _references(inner)


def _closure(root: Body, definitions: Mapping[str, Any]) -> Body:
    found: Body = {}
    left = list(_references(root))
    while left:
        name = left.pop()
        if name not in found and name in definitions:
            found[name] = _pointed(definitions[name])
            left += _references(definitions[name])
    return found


def _pointed(schema: Any) -> Any:
    """References as OpenAPI has them; one with something beside it stands in allOf."""
    if isinstance(schema, list):
        return [_pointed(inner) for inner in schema]
    if not isinstance(schema, dict):
        return schema
    name = schema.get(_REF)
    if not isinstance(name, str):
        return {key: _pointed(inner) for key, inner in schema.items()}
    more = {key: _pointed(inner) for key, inner in schema.items() if key != _REF}
    reference = {_REF: _AT + name}
    return {**more, "allOf": [reference]} if more else reference


def _paths(resource: APIResource) -> Body:
    """Of what kubectl reads no more than which kind a method is about, and its parameters."""
    within = "namespaces/{namespace}/" if resource.namespaced else ""
    stem = f"/{_place(resource)}/{within}{resource.plural}"
    return {
        path: {
            method: _operation(resource, method)
            for method, verb in methods.items()
            if verb in resource.verbs
        }
        for path, methods in ((stem, _OF_COLLECTIONS), (f"{stem}/{{name}}", _OF_OBJECTS))
    }


def _operation(resource: APIResource, action: str) -> Body:
    names = ("dryRun", "fieldManager", "fieldValidation") if action in _WRITES else ()
    return {
        "parameters": [
            {"name": name, "in": "query", "schema": {"type": "string", "uniqueItems": True}}
            for name in names
        ],
        "responses": {"200": {"description": "OK"}},
        "x-kubernetes-action": action,
        _GVK: _gvk(resource),
    }
