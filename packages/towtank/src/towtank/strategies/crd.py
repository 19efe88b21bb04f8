"""CustomResourceDefinitions: what a definition's own life is, and what is served because of it.

Its names are accepted after it was made, unless another definition has them, and again when that
other one has gone (``renamed``).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final

from towtank.model import conditions
from towtank.model.api_errors import ApiError, StatusCause, forbidden, undecodable
from towtank.model.kinds import (
    META,
    APIResource,
    Body,
    ObjectGetter,
    ScaleSubresource,
    Strategy,
    TableColumn,
)
from towtank.schemas import schema_parser, structural
from towtank.strategies import crd_validation
from towtank.strategies.common import at, fill

KEY: Final = "customresourcedefinitions.apiextensions.k8s.io"
CLEANUP: Final = "customresourcecleanup.apiextensions.k8s.io"
"""The finalizer that holds a deleted definition until its objects have gone."""
_KIND: Final = "CustomResourceDefinition"


class CRDStrategy(Strategy):
    """Of definitions. The status is ours alone: ``admit`` writes all of it, whatever the creator
    says.
    """

    status_at_creation = True
    conditional = True
    status_leaves = META

    def default(self, body: Body) -> None:
        """Names that follow from others, and what is not said of versions. Raises ApiError for a
        schema that is none.
        """
        spec = body["spec"] = body.get("spec") or {}
        names = spec["names"] = spec.get("names") or {}
        if kind := names.get("kind"):
            fill(names, {"singular": kind.lower(), "listKind": f"{kind}List"})
        spec["conversion"] = {"strategy": "None", **(spec.get("conversion") or {})}
        spec["versions"] = spec.get("versions") or []
        for version in spec["versions"]:
            fill(version, {"name": "", "served": False, "storage": False})
            schema = at(version, "schema.openAPIV3Schema")
            where = "spec.versions.schema.openAPIV3Schema"
            if schema is not None and (why := structural.malformed(schema, where)):
                raise undecodable(_KIND, "v1", _KIND, why)

    def admit(self, body: Body, reads: ObjectGetter) -> None:
        """No names yet (``renamed``); note the storage version."""
        stored = [version["name"] for version in body["spec"]["versions"] if version["storage"]][:1]
        body["status"] = {
            "conditions": None,
            "acceptedNames": {"plural": "", "kind": ""},
            "storedVersions": stored,
        }

    def prepare_update(self, new: Body, old: Body) -> None:
        """Note a new storage version."""
        status = dict(new.get("status") or {})
        stored = status.get("storedVersions") or []
        storage = [
            version["name"]
            for version in new["spec"]["versions"]
            if version["storage"] and version["name"] not in stored
        ]
        status["storedVersions"] = [*stored, *storage[:1]]
        new["status"] = status

    def validate(self, body: Body) -> Sequence[StatusCause]:
        """Refuse wrong names, versions and schemas."""
        return crd_validation.causes(body)

    def validate_update(self, new: Body, old: Body) -> Sequence[StatusCause]:
        """What may not change."""
        return list(crd_validation.update_causes(new, old))

    def held(self, body: Body) -> bool:
        """Until its objects have gone, which somebody has to see to: so at first always."""
        return "deletionTimestamp" not in body["metadata"] or super().held(body)

    def prepare_delete(self, body: Body) -> None:
        """Have its objects deleted."""
        metadata, status = body["metadata"], body["status"]
        del metadata["deletionGracePeriodSeconds"]  # it takes as long as it takes
        metadata["finalizers"] = [
            *(one for one in metadata.get("finalizers", ()) if one != CLEANUP),
            CLEANUP,
        ]
        why = (
            "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon"
        )
        terminating = _condition("Terminating", True, "InstanceDeletionPending", why)
        status["conditions"] = conditions.merged_conditions(
            body, conditions.with_transition_time(body, terminating, metadata["deletionTimestamp"])
        )


# ---- names ---------------------------------------------------------------------------------------

_NAMES: Final = ("plural", "singular", "shortNames", "kind", "listKind")
_OF_KIND: Final = ("kind", "listKind")


def renamed(definition: Body, others: Iterable[Body], now: str) -> Body | None:
    """The definition with the names that it can have now, when those are not what its status
    says.
    """
    status = {**(definition.get("status") or {}), **_names_status(definition, others, now)}
    return None if status == definition.get("status") else {**definition, "status": status}


def _names_status(definition: Body, others: Iterable[Body], now: str) -> Body:
    """acceptedNames and conditions. A name that was accepted stays where the wanted one is
    taken.
    """
    wanted = definition["spec"]["names"]
    accepted = at(definition, "status.acceptedNames") or {}
    clashes = _clashes(wanted, *_taken(definition, others))
    names = {key: (accepted if key in clashes else wanted).get(key) for key in _NAMES}
    names["categories"] = wanted.get("categories")
    said = conditions.merged_conditions(
        definition,
        *(
            conditions.with_transition_time(definition, one, now)
            for one in _name_conditions(definition, clashes)
        ),
    )
    kept = {key: name for key, name in names.items() if name}
    return {"acceptedNames": {"plural": "", "kind": "", **kept}, "conditions": said}


def _clashes(wanted: Body, resources: set[str], kinds: set[str]) -> dict[str, str]:
    """The names that are taken, by what they were to be."""
    clashes = {}
    for key in _NAMES:
        said, taken = wanted.get(key), kinds if key in _OF_KIND else resources
        listed = said if isinstance(said, list) else [said]
        if clash := next((name for name in listed if name in taken), None):
            clashes[key] = clash
    return clashes


def _name_conditions(definition: Body, clashes: Mapping[str, str]) -> tuple[Body, Body]:
    """NamesAccepted, which tells the last clash, and Established, which stays."""
    accepted = _condition("NamesAccepted", True, "NoConflicts", "no conflicts found")
    established = _condition(
        "Established", True, "InitialNamesAccepted", "the initial names have been accepted"
    )
    for key, name in clashes.items():
        reason, why = f"{key[0].upper()}{key[1:]}Conflict", f'"{name}" is already in use'
        accepted = _condition("NamesAccepted", False, reason, why)
    if clashes and not conditions.holds(definition, "Established"):
        established = _condition("Established", False, "NotAccepted", "not all names are accepted")
    return accepted, established


def _taken(definition: Body, others: Iterable[Body]) -> tuple[set[str], set[str]]:
    """Names of resources and of kinds that other definitions of the group have."""
    own = definition["metadata"].get("name")
    names = [
        at(other, "status.acceptedNames") or {}
        for other in others
        if other["metadata"]["name"] != own
        and other["spec"]["group"] == definition["spec"].get("group")
    ]
    resources, kinds = (
        {said.get(key, "") for said in names for key in keys}
        for keys in (("plural", "singular"), _OF_KIND)
    )
    resources.update(*(said.get("shortNames") or () for said in names))
    return resources - {""}, kinds - {""}


def _condition(kind: str, true: bool, reason: str, message: str) -> Body:
    return {
        "type": kind,
        "status": "True" if true else "False",
        "reason": reason,
        "message": message,
    }


# ---- what is served ------------------------------------------------------------------------------


class CustomResourceStrategy(Strategy):
    """Of the objects that a definition defines."""

    conditional = True

    def __init__(self, refusal: Callable[[str], ApiError] | None = None) -> None:
        self._refusal = refusal

    def admit(self, body: Body, reads: ObjectGetter) -> None:
        """Nothing is made of a definition that is going."""
        if self._refusal:
            raise self._refusal(str(body["metadata"].get("name", "")))


def resources(definition: Body) -> list[APIResource]:
    """What is served: each version that is to be, once the names are accepted."""
    if not conditions.holds(definition, "Established"):
        return []
    common = _common(definition)
    versions = definition["spec"]["versions"]
    return [_of_version(common, version) for version in versions if version["served"]]


def _common(definition: Body) -> APIResource:
    """What all versions have in common."""
    spec, names = definition["spec"], at(definition, "status.acceptedNames") or {}
    group, plural = spec["group"], spec["names"]["plural"]
    going = conditions.holds(definition, "Terminating")
    return APIResource(
        group=group,
        version="",
        plural=plural,
        kind=spec["names"]["kind"],
        singular=names.get("singular", ""),
        namespaced=spec["scope"] == "Namespaced",
        short_names=tuple(names.get("shortNames") or ()),
        categories=tuple(names.get("categories") or ()),
        generation=True,
        strategy=CustomResourceStrategy(_refusal(plural, group) if going else None),
        custom=True,
    )


def _of_version(common: APIResource, version: Body) -> APIResource:
    subresources = version.get("subresources") or {}
    return dataclasses.replace(
        common,
        version=version["name"],
        has_status="status" in subresources,
        scale=_scale(subresources.get("scale")),
        schema=schema_parser.parse(version["schema"]["openAPIV3Schema"]),
        columns=tuple(_columns(version)),
        selectable=tuple(one["jsonPath"] for one in version.get("selectableFields") or ()),
    )


def _refusal(plural: str, group: str) -> Callable[[str], ApiError]:
    return lambda name: forbidden(
        plural, group, name, "create not allowed while custom resource definition is terminating"
    )


def _scale(said: Body | None) -> ScaleSubresource | None:
    if said is None:
        return None
    return ScaleSubresource(
        said["specReplicasPath"], said["statusReplicasPath"], said.get("labelSelectorPath", "")
    )


def _columns(version: Body) -> Iterator[TableColumn]:
    for one in version.get("additionalPrinterColumns") or ():
        yield TableColumn(
            one["name"],
            one["type"],
            one.get("format", ""),
            one.get("description", ""),
            one.get("priority", 0),
            one["jsonPath"],
        )
