"""The legacy Policy as a document: its fields and their types. Names of fields may be written in
any case, as they always could.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from moorage.api import duration_field
from moorage.apps.convert.kube_configuration import ExtenderManagedResource, ExtenderTLSConfig


class _Part(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel, extra="forbid", frozen=True)


class ServiceAffinity(_Part):
    """Labels in which the nodes of a service's pods are to agree."""

    labels: tuple[str, ...] = ()


class LabelsPresence(_Part):
    """Labels that nodes must have, or must not have."""

    labels: tuple[str, ...] = ()
    presence: bool = False


class PredicateArgument(_Part):
    """At most one of them."""

    service_affinity: ServiceAffinity | None = None
    labels_presence: LabelsPresence | None = None


class PredicatePolicy(_Part):
    """A filter of a Policy."""

    name: str
    argument: PredicateArgument | None = None


class ServiceAntiAffinity(_Part):
    """A label over whose values a service's pods are spread."""

    label: str = ""


class LabelPreference(_Part):
    """A label that nodes are to have, or not to have."""

    label: str = ""
    presence: bool = False


class ShapePoint(_Part):
    """A point of a curve."""

    utilization: int = 0
    score: int = 0


class ResourceSpecDocument(_Part):
    """A resource that counts."""

    name: str = ""
    weight: int = 0


class RequestedToCapacityRatioArguments(_Part):
    """A curve over the use of resources."""

    shape: tuple[ShapePoint, ...] = ()
    resources: tuple[ResourceSpecDocument, ...] = ()

    def strategy(self) -> dict[str, Any]:
        """The same as a scoringStrategy of NodeResourcesFit."""
        found: dict[str, Any] = {
            "type": "RequestedToCapacityRatio",
            "requestedToCapacityRatio": {"shape": [point.model_dump() for point in self.shape]},
        }
        if self.resources:
            found["resources"] = [resource.model_dump() for resource in self.resources]
        return found


class PriorityArgument(_Part):
    """At most one of them."""

    service_anti_affinity: ServiceAntiAffinity | None = None
    label_preference: LabelPreference | None = None
    requested_to_capacity_ratio_arguments: RequestedToCapacityRatioArguments | None = None


class PriorityPolicy(_Part):
    """A score and its weight."""

    name: str
    weight: int = 0
    argument: PriorityArgument | None = None


class LegacyExtender(_Part):
    """An HTTP service to ask. httpTimeout is in nanoseconds. Some files give its version, which
    nobody ever looked at.
    """

    api_version: str = ""
    url_prefix: str = ""
    filter_verb: str = ""
    preempt_verb: str = ""
    prioritize_verb: str = ""
    weight: int = 0
    bind_verb: str = ""
    enable_https: bool = False
    tls_config: ExtenderTLSConfig | None = None
    http_timeout: int = 0
    node_cache_capable: bool = False
    managed_resources: tuple[ExtenderManagedResource, ...] = ()
    ignorable: bool = False

    def as_v1(self) -> dict[str, Any]:
        """The same in a KubeSchedulerConfiguration."""
        document = self.model_dump(
            mode="json", by_alias=True, exclude_defaults=True, exclude={"api_version"}
        )
        if document.pop("enableHttps", False):
            document["enableHTTPS"] = True
        if timeout := document.pop("httpTimeout", 0):
            document["httpTimeout"] = duration_field.text_of(timeout / 10**9)
        return document


class Policy(_Part):
    """The whole of it."""

    api_version: str = "v1"
    kind: str = "Policy"
    predicates: tuple[PredicatePolicy, ...] | None = None
    priorities: tuple[PriorityPolicy, ...] | None = None
    extenders: tuple[LegacyExtender, ...] = ()
    hard_pod_affinity_symmetric_weight: Annotated[int, Field(ge=0, le=100)] = 0
    always_check_all_predicates: bool = False


_MODELS = (
    *(
        Policy,
        PredicatePolicy,
        PredicateArgument,
        ServiceAffinity,
        LabelsPresence,
        PriorityPolicy,
        PriorityArgument,
        ServiceAntiAffinity,
    ),
    *(
        LabelPreference,
        RequestedToCapacityRatioArguments,
        ShapePoint,
        ResourceSpecDocument,
        LegacyExtender,
        ExtenderTLSConfig,
        ExtenderManagedResource,
    ),
)
_SPELLINGS = {
    alias.lower(): alias
    for model in _MODELS
    for name, field in model.model_fields.items()
    for alias in [field.alias or name]
}


def canonical(document: Any) -> Any:
    """The document with its fields as they are written today."""
    if isinstance(document, Mapping):
        return {
            _SPELLINGS.get(str(name).lower(), name): canonical(value)
            for name, value in document.items()
        }
    return [canonical(item) for item in document] if isinstance(document, list) else document
