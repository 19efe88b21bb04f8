"""Write what the embedded cluster knows of built-in kinds: ``python -m tests.tools.openapi``.

Asks a kube-apiserver which resources it serves and what their objects may hold, and keeps the facts
of those that the embedded cluster serves: no descriptions. ``packages/towtank/src/towtank/data``
holds the result, one resource or definition a line.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from tests.rig import Rig
from tests.rig.clients import Client
from tests.tools import assets

DATA: Final = Path(__file__).parents[2] / "packages" / "towtank" / "src" / "towtank" / "data"
AGGREGATED: Final = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"

SERVED: Final[Mapping[str, str]] = {  # of v1, where a group has no version beside it
    "": "bindings configmaps endpoints events namespaces nodes persistentvolumeclaims "
    "persistentvolumes pods podtemplates replicationcontrollers resourcequotas secrets "
    "serviceaccounts services",
    "admissionregistration.k8s.io": (
        "mutatingadmissionpolicies mutatingadmissionpolicybindings mutatingwebhookconfigurations "
        "validatingwebhookconfigurations"
    ),
    "apiextensions.k8s.io": "customresourcedefinitions",
    "apps": "controllerrevisions daemonsets deployments replicasets statefulsets",
    "authentication.k8s.io": "selfsubjectreviews tokenreviews",
    "authorization.k8s.io": (
        "localsubjectaccessreviews selfsubjectaccessreviews selfsubjectrulesreviews "
        "subjectaccessreviews"
    ),
    "batch": "jobs",
    "coordination.k8s.io": "leases",
    "events.k8s.io": "events",
    "flowcontrol.apiserver.k8s.io": "flowschemas prioritylevelconfigurations",
    "networking.k8s.io": "networkpolicies",
    "node.k8s.io": "runtimeclasses",
    "policy": "poddisruptionbudgets",
    "rbac.authorization.k8s.io": "clusterrolebindings clusterroles rolebindings roles",
    "resource.k8s.io": (
        "deviceclasses devicetaintrules resourceclaims resourceclaimtemplates resourceslices"
    ),
    "scheduling.k8s.io": "priorityclasses",
    "scheduling.k8s.io/v1beta1": "podgroups workloads",
    "storage.k8s.io": "csidrivers csinodes csistoragecapacities storageclasses volumeattachments",
}
SUBRESOURCES: Final = (
    "binding",
    "eviction",
    "ephemeralcontainers",
    "finalize",
    "resize",
    "scale",
    "status",
    "token",
)
"""Those that are served."""
MORE: Final = (
    ("v1", "Binding"),
    ("policy/v1", "Eviction"),
    ("autoscaling/v1", "Scale"),
    ("authentication.k8s.io/v1", "TokenRequest"),
)
"""Kinds that only subresources take."""
DROPPED: Final = ("description", "x-kubernetes-selectors", "externalDocs", "example")


def facts(client: Client) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """The resources, and the definitions by name with the kinds' names under "kinds"."""
    groups = [*_discovered(client, "/api"), *_discovered(client, "/apis")]
    resources = sorted(
        (_resource(*found) for found in groups if _served(*found)),
        key=lambda one: (one["group"], one["plural"]),
    )
    kinds = {(_api_version(one), one["kind"]) for one in resources} | set(MORE)
    definitions: dict[str, Any] = {}
    named: dict[str, str] = {}
    for api_version in sorted({api_version for api_version, _ in kinds}):
        schemas = client.get(
            f"/openapi/v3/{'apis/' if '/' in api_version else 'api/'}{api_version}"
        )["components"]["schemas"]
        for name, schema in schemas.items():
            for of in schema.get("x-kubernetes-group-version-kind", ()):
                said = (f"{of['group']}/{of['version']}".lstrip("/"), of["kind"])
                if said in kinds and len(schema["x-kubernetes-group-version-kind"]) == 1:
                    named["/".join(said)] = name
                    _take(name, schemas, definitions)
    return resources, {"kinds": named, **definitions}


def _discovered(client: Client, path: str) -> Iterator[tuple[str, dict[str, Any], dict[str, Any]]]:
    for group in client.request("GET", path, accept=AGGREGATED)["items"]:
        for version in group["versions"]:
            for resource in version["resources"]:
                yield group["metadata"].get("name", ""), version, resource


def _served(group: str, version: Mapping[str, Any], resource: Mapping[str, Any]) -> bool:
    beta = "" if version["version"] == "v1" else f"/{version['version']}"
    return resource["resource"] in SERVED.get(f"{group}{beta}", "").split()


def _resource(group: str, version: Mapping[str, Any], found: Mapping[str, Any]) -> dict[str, Any]:
    subresources = [
        one["subresource"]
        for one in found.get("subresources", ())
        if one["subresource"] in SUBRESOURCES
    ]
    return {
        "group": group,
        "version": version["version"],
        "plural": found["resource"],
        "kind": found["responseKind"]["kind"],
        "singular": found["singularResource"],
        "namespaced": found["scope"] == "Namespaced",
        "shortNames": found.get("shortNames", []),
        "categories": found.get("categories", []),
        "verbs": found["verbs"],
        "subresources": subresources,
    }


def _api_version(resource: Mapping[str, Any]) -> str:
    return f"{resource['group']}/{resource['version']}".lstrip("/")


def _take(name: str, schemas: Mapping[str, Any], taken: dict[str, Any]) -> None:
    """Keep a definition and all that it refers to."""
    if name in taken:
        return
    taken[name] = bare = _bare(schemas[name])
    bare.pop("x-kubernetes-group-version-kind", None)
    for reference in _references(bare):
        _take(reference, schemas, taken)


def _bare(schema: Any) -> Any:
    """A schema without texts; of a reference its name alone: {"allOf": [{"$ref": ...}]} says no
    more.
    """
    if isinstance(schema, list):
        return [_bare(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    bare = {
        key: _bare(value)
        for key, value in schema.items()
        if key not in DROPPED and key != "properties"
    }
    if properties := schema.get("properties"):  # whose names are fields', not a schema's words
        bare["properties"] = {name: _bare(value) for name, value in properties.items()}
    match bare.get("allOf"):
        case [{"$ref": reference}]:
            bare["$ref"] = reference
            del bare["allOf"]
    if isinstance(bare.get("$ref"), str):
        bare["$ref"] = bare["$ref"].rpartition("/")[2]
    return bare


def _references(bare: Any) -> Iterator[str]:
    if isinstance(bare, list):
        for item in bare:
            yield from _references(item)
    elif isinstance(bare, dict):
        if "$ref" in bare:
            yield bare["$ref"]
        for value in bare.get("properties", {}).values():
            yield from _references(value)
        for key in ("items", "additionalProperties", "oneOf", "anyOf", "allOf"):
            yield from _references(bare.get(key))


def written(resources: list[dict[str, Any]], schemas: Mapping[str, Any]) -> dict[str, str]:
    """The files' texts by name."""

    def line(one: Any) -> str:
        return json.dumps(one, sort_keys=True, separators=(",", ":"))

    lines = ",\n".join(map(line, resources))
    definitions = ",\n".join(
        f"{json.dumps(name)}:{line(schemas[name])}" for name in sorted(schemas)
    )
    return {"resources.json": f"[\n{lines}\n]\n", "schemas.json": f"{{\n{definitions}\n}}\n"}


def main() -> int:
    """Write the files."""
    with Rig(assets.ensure()) as rig:
        client = Client(rig)
        texts = written(*facts(client))
        client.close()
    for name, text in texts.items():
        (DATA / name).write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
