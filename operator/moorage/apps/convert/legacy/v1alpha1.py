"""KubeSchedulerConfiguration v1alpha1 (kube-scheduler up to 1.19), as far as it only says which
Policy or algorithm provider there is.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from moorage.apps.convert.kube_configuration import API_GROUP, DEFAULT_SCHEDULER, KIND
from moorage.apps.convert.remarks import ConversionRemark

VERSION = f"{API_GROUP}/v1alpha1"
_POINTS = frozenset({"apiVersion", "kind", "schedulerName", "algorithmSource"})
_OF_THE_OPERATOR = frozenset(
    {"leaderElection", "clientConnection", "healthzBindAddress", "metricsBindAddress"}
)
_DEFAULT_PROVIDER = "DefaultProvider"


def only_points(document: Mapping[str, Any]) -> bool:
    """Whether nothing but the algorithm, and what is the operator's, stands in it."""
    known = document.get("apiVersion") == VERSION and document.get("kind") == KIND
    return (
        known
        and document.get("algorithmSource") is not None
        and set(document) <= _POINTS | _OF_THE_OPERATOR
    )


def provider_of(document: Mapping[str, Any]) -> str | None:
    """The provider that it names; None when it points to a Policy."""
    source = document["algorithmSource"]
    if isinstance(source, Mapping) and source.get("policy") is not None:
        return None
    return str(
        (source.get("provider") if isinstance(source, Mapping) else None) or _DEFAULT_PROVIDER
    )


def remarks(document: Mapping[str, Any]) -> list[ConversionRemark]:
    """What of it has to be done by hand."""
    found = [
        ConversionRemark(field, "is the operator's: see its OperatorConfiguration")
        for field in sorted(_OF_THE_OPERATOR & set(document))
    ]
    name = document.get("schedulerName")
    if name and name != DEFAULT_SCHEDULER:
        found.append(
            ConversionRemark(
                "schedulerName", f"write it into the SchedulerProfile: schedulerName: {name}"
            )
        )
    return found
