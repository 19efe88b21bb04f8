"""What both kinds are made of: bases of the models, and how a kind presents itself in its CRD."""

from __future__ import annotations

import dataclasses
from typing import Annotated, Any, TypeAlias

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from moorage.core.framework.revisions import MAX_WEIGHT

GROUP = "moorage.dev"
VERSION = "v1alpha1"
API_VERSION = f"{GROUP}/{VERSION}"
CATEGORY = "moorage"
PROFILES_PATH = f"/apis/{API_VERSION}/schedulerprofiles"
CONFIGS_PATH = f"/apis/{API_VERSION}/pluginconfigs"
"""Where the API server has them: all of a cluster."""

_SUBDOMAIN = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*"
_LABEL = r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"


class SpecModel(BaseModel):
    """What users write: unknown fields are refused."""

    model_config = ConfigDict(
        alias_generator=to_camel, extra="forbid", frozen=True, use_attribute_docstrings=True
    )


class StatusModel(BaseModel):
    """What we write and others read."""

    model_config = ConfigDict(
        alias_generator=to_camel, extra="ignore", frozen=True, use_attribute_docstrings=True
    )


class ResourceMeta(StatusModel):
    """The parts of an object's metadata that we read."""

    name: str
    uid: str = ""
    generation: int = 0
    creation_timestamp: str = ""


def rule(expression: str, message: str, field: str = "") -> dict[str, Any]:
    """A CEL rule of a schema node; ``field`` is the one to blame, relative to the node."""
    made = {"rule": expression, "message": message}
    return {**made, "fieldPath": f".{field}"} if field else made


def immutable(field: str, *, optional: bool = False) -> dict[str, Any]:
    """The rule for the object that holds an immutable field.

    It has to stand there: a rule of the field itself is not asked when an optional field comes or
    goes.
    """
    same = f"self.{field} == oldSelf.{field}"
    if optional:
        same = f"has(self.{field}) == has(oldSelf.{field}) && (!has(self.{field}) || {same})"
    return rule(same, f"{field} is immutable: delete the object and make a new one", field)


def rules(*made: dict[str, Any]) -> dict[str, Any]:
    """CEL rules for a class's ``json_schema_extra``."""
    return {"x-kubernetes-validations": list(made)}


ATOMIC: dict[str, Any] = {"x-kubernetes-list-type": "atomic"}
"""A list that server-side apply replaces as a whole."""
SET: dict[str, Any] = {"x-kubernetes-list-type": "set"}


def keyed_by(key: str) -> dict[str, Any]:
    """A list whose items are told apart by a field; the API server refuses two with the same."""
    return {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": [key]}


ObjectName: TypeAlias = Annotated[
    str, Field(min_length=1, max_length=253, pattern=rf"^{_SUBDOMAIN}$")
]
QualifiedName: TypeAlias = Annotated[
    str, Field(min_length=1, max_length=63, pattern=rf"^({_SUBDOMAIN}/)?{_LABEL}$")
]
PluginName: TypeAlias = Annotated[str, Field(min_length=1, max_length=63)]
Weight: TypeAlias = Annotated[int, Field(ge=0, le=MAX_WEIGHT)]
Arguments: TypeAlias = dict[str, Any]
"""Free in the CRD, read strictly by the operator (``resolution``): only it knows the plugins."""
Time: TypeAlias = Annotated[str, Field(json_schema_extra={"format": "date-time"})]


class NamedReference(SpecModel):
    """A reference to a cluster-scoped object of a known kind."""

    name: ObjectName
    """The object's name."""


@dataclasses.dataclass(frozen=True, slots=True)
class PrinterColumn:
    """A column of ``kubectl get``. Priority 1 is shown with ``-o wide`` only."""

    name: str
    path: str
    type: str = "string"
    priority: int = 0


def condition_path(kind: str, field: str) -> str:
    """Where a field of the condition of this type is."""
    return f'.status.conditions[?(@.type=="{kind}")].{field}'


AGE = PrinterColumn("Age", ".metadata.creationTimestamp", "date")


@dataclasses.dataclass(frozen=True, slots=True)
class CustomResourceKind:
    """How a kind presents itself. ``selectable``: fields for field selectors; ``rules``: CEL rules
    of the whole object.
    """

    name: str
    plural: str
    short_name: str
    columns: tuple[PrinterColumn, ...]
    selectable: tuple[str, ...]
    rules: tuple[dict[str, Any], ...] = ()

    @property
    def singular(self) -> str:
        """The name in one word, lower case."""
        return self.name.lower()
