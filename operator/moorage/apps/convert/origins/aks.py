"""Azure Kubernetes Service: objects of kind SchedulerConfiguration, which have a
KubeSchedulerConfiguration in ``spec.rawConfig``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from moorage.apps.convert.origins.origin import Origin, OriginResult
from moorage.apps.convert.remarks import ConversionRemark
from moorage.apps.convert.source_documents import WantedDocuments

_GROUP = "aks.azure.com/"
_NAME = "upstream"
"""The only object of the kind that AKS reads."""


def convert(document: Mapping[str, Any]) -> OriginResult:
    """What there is to say of the object around the configuration."""
    metadata = document.get("metadata")
    name = metadata.get("name") if isinstance(metadata, dict) else None
    text = (
        f"AKS serves these profiles until kubectl delete schedulerconfigurations {name}: do so "
        "before you apply ours, or two schedulers bind the same pods"
    )
    remarks = [ConversionRemark("spec.rawConfig", text)]
    if name != _NAME:
        text = f"{name!r} was never in effect: AKS reads the object {_NAME} only"
        remarks = [ConversionRemark("metadata.name", text)]
    return OriginResult((), tuple(remarks))


def _is_scheduler_configuration(document: Mapping[str, Any]) -> bool:
    version = document.get("apiVersion")
    return document.get("kind") == "SchedulerConfiguration" and str(version).startswith(_GROUP)


AKS = Origin(
    "KubeSchedulerConfiguration in a SchedulerConfiguration of AKS",
    WantedDocuments(_is_scheduler_configuration, ("SchedulerConfiguration",)),
    convert,
    manager="AKS",
)
