"""CRDs from the models: pydantic's JSON schema, made structural as the API server wants it.

Structural means: no references, no alternatives, every node typed. Kubernetes' own keywords (list types, CEL rules) are declared
beside the fields, so nothing about a field is said here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

from moorage.api import documents
from moorage.api.v1alpha1.plugin_configs import PluginConfig
from moorage.api.v1alpha1.resources import CATEGORY, GROUP, VERSION, Column, Kind
from moorage.api.v1alpha1.scheduler_profiles import SchedulerProfile

KINDS: tuple[type[SchedulerProfile] | type[PluginConfig], ...] = (SchedulerProfile, PluginConfig)
_HEADER = "# Generated from operator/moorage/api/v1alpha1 by `python -m tests.generate`; do not edit.\n"
_DROPPED = ("title", "$defs", "additionalProperties", "propertyNames")


def crd_documents() -> dict[str, str]:
    """The CRD files by name, always the same text for the same models."""
    return {f"{model.KIND.plural}.yaml": _HEADER + documents.dump(crd(model)) for model in KINDS}


def crd(model: type[SchedulerProfile] | type[PluginConfig]) -> dict[str, Any]:
    """The CustomResourceDefinition of one kind."""
    kind: Kind = model.KIND
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{kind.plural}.{GROUP}"},
        "spec": {
            "group": GROUP,
            "scope": "Cluster",
            "names": {
                "kind": kind.name,
                "listKind": f"{kind.name}List",
                "plural": kind.plural,
                "singular": kind.singular,
                "shortNames": [kind.short_name],
                "categories": [CATEGORY],
            },
            "versions": [
                {
                    "name": VERSION,
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": _object_schema(model, kind)},
                    "subresources": {"status": {}},
                    "selectableFields": [{"jsonPath": path} for path in kind.selectable],
                    "additionalPrinterColumns": [_column(column) for column in kind.columns],
                }
            ],
        },
    }


def _column(column: Column) -> dict[str, Any]:
    made: dict[str, Any] = {"name": column.name, "type": column.type, "jsonPath": column.path}
    return {**made, "priority": column.priority} if column.priority else made


def _object_schema(model: type[BaseModel], kind: Kind) -> dict[str, Any]:
    """The schema of the whole object; metadata is the API server's business."""
    schema = model.model_json_schema(by_alias=True)
    whole = structural(schema, schema.get("$defs", {}))
    properties = {"apiVersion": {"type": "string"}, "kind": {"type": "string"}, "metadata": {"type": "object"}}
    properties |= {name: whole["properties"][name] for name in ("spec", "status")}
    made = {"description": whole["description"], "type": "object", "properties": properties, "required": ["spec"]}
    return {**made, "x-kubernetes-validations": list(kind.rules)} if kind.rules else made


def structural(node: Mapping[str, Any], definitions: Mapping[str, Any]) -> dict[str, Any]:
    """A node of pydantic's schema as the API server wants it."""
    flat = _flattened(node, definitions)
    made = {key: value for key, value in flat.items() if key not in _DROPPED}
    if "description" in made:
        made = {"description": " ".join(made.pop("description").split()), **made}
    if "default" in made and (made["default"] is None or made["default"] in ([], {})):
        del made["default"]  # the same as its absence
    if "const" in made:
        made["enum"] = [made.pop("const")]
    if "properties" in made:
        made["properties"] = {name: structural(child, definitions) for name, child in made["properties"].items()}
    if "items" in made:
        made["items"] = structural(made["items"], definitions)
    values = flat.get("additionalProperties")
    if isinstance(values, Mapping):
        made["additionalProperties"] = structural(values, definitions)
    elif values is True:
        made["x-kubernetes-preserve-unknown-fields"] = True
    return made


def _flattened(node: Mapping[str, Any], definitions: Mapping[str, Any]) -> dict[str, Any]:
    """The node with its reference and its "or null" resolved; what the node says itself goes before what it refers to."""
    made = dict(node)
    while "$ref" in made or "anyOf" in made:
        if "$ref" in made:
            target = definitions[made.pop("$ref").rpartition("/")[2]]
        else:
            (target,) = (option for option in made.pop("anyOf") if option.get("type") != "null")
        made = {**target, **made}
    return made
