"""Metadata of objects, and what all objects have in common."""

from __future__ import annotations

from typing import Protocol

import msgspec

Labels = dict[str, str]
ResourceList = dict[str, str | int]


class Struct(msgspec.Struct, frozen=True, gc=False, rename="camel", omit_defaults=True):
    """Base of all objects: frozen, camelCase on the wire, defaults left out when encoded."""


# ---- metadata ------------------------------------------------------------------------------------


class OwnerReference(Struct, frozen=True):
    """An owner of an object (metav1.OwnerReference)."""

    api_version: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool | None = None


class ObjectMeta(Struct, frozen=True):
    """What every object carries (metav1.ObjectMeta)."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int | None = None
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None
    deletion_grace_period_seconds: int | None = None
    labels: Labels | None = None
    owner_references: tuple[OwnerReference, ...] | None = None


def version(metadata: ObjectMeta) -> int:
    """The state of an object: a later one has a greater number. 0 where an object was never
    stored.
    """
    return int(metadata.resource_version) if metadata.resource_version.isdecimal() else 0


class PartialObject(Struct, frozen=True):
    """An object of which only the metadata could be, or had to be, read
    (metav1.PartialObjectMetadata).
    """

    metadata: ObjectMeta = ObjectMeta()


class Namespace(Struct, frozen=True):
    """A namespace (core/v1); its labels matter to namespace selectors."""

    metadata: ObjectMeta


class HasMetadata(Protocol):
    """Any object of the API server."""

    @property
    def metadata(self) -> ObjectMeta: ...


def key(obj: HasMetadata) -> str:
    """``namespace/name`` of an object, or its name when it has no namespace."""
    meta = obj.metadata
    return f"{meta.namespace}/{meta.name}" if meta.namespace else meta.name
