"""CRDs from the models. What is said of a field, in Kubernetes' own keywords too, stands beside the
field and not here.
"""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

from moorage.api import yaml_documents
from moorage.api.structural_schema import structural
from moorage.api.v1alpha1.common import CATEGORY, GROUP, VERSION, CustomResourceKind, PrinterColumn
from moorage.api.v1alpha1.plugin_config import PluginConfig
from moorage.api.v1alpha1.scheduler_profile import SchedulerProfile

KINDS: tuple[type[SchedulerProfile] | type[PluginConfig], ...] = (SchedulerProfile, PluginConfig)
_HEADER = (
    "# Generated from operator/moorage/api/v1alpha1 by `python -m tests.generate`; do not edit.\n"
)


def crd_documents() -> dict[str, str]:
    """The CRD files by name, always the same text for the same models."""
    return {
        f"{model.KIND.plural}.yaml": _HEADER + yaml_documents.dump(crd(model)) for model in KINDS
    }


def crd(model: type[SchedulerProfile] | type[PluginConfig]) -> dict[str, Any]:
    """The CustomResourceDefinition of one kind."""
    kind: CustomResourceKind = model.KIND
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {
            "name": f"{kind.plural}.{GROUP}",
            # no instance: they belong to all installations
            "labels": {"app.kubernetes.io/part-of": "moorage"},
        },
        "spec": {
            "group": GROUP,
            "scope": "Cluster",
            "names": _names(kind),
            "versions": [_version(model, kind)],
        },
    }


def _names(kind: CustomResourceKind) -> dict[str, Any]:
    return {
        "kind": kind.name,
        "listKind": f"{kind.name}List",
        "plural": kind.plural,
        "singular": kind.singular,
        "shortNames": [kind.short_name],
        "categories": [CATEGORY],
    }


def _version(model: type[BaseModel], kind: CustomResourceKind) -> dict[str, Any]:
    return {
        "name": VERSION,
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": _object_schema(model, kind)},
        "subresources": {"status": {}},
        "selectableFields": [{"jsonPath": path} for path in kind.selectable],
        "additionalPrinterColumns": [_column(column) for column in kind.columns],
    }


def _column(column: PrinterColumn) -> dict[str, Any]:
    made: dict[str, Any] = {"name": column.name, "type": column.type, "jsonPath": column.path}
    return {**made, "priority": column.priority} if column.priority else made


def _object_schema(model: type[BaseModel], kind: CustomResourceKind) -> dict[str, Any]:
    """The schema of the whole object; metadata is the API server's business."""
    whole = structural(model.model_json_schema(by_alias=True))
    properties = {
        "apiVersion": {"type": "string"},
        "kind": {"type": "string"},
        "metadata": {"type": "object"},
    }
    properties |= {name: whole["properties"][name] for name in ("spec", "status")}
    made = {
        "description": whole["description"],
        "type": "object",
        "properties": properties,
        "required": ["spec"],
    }
    return {**made, "x-kubernetes-validations": list(kind.rules)} if kind.rules else made
