"""Which object it is, and whose: what its document says of that."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

Document = dict[str, Any]
"""An object as YAML or the API server has it."""

PART_OF: Final = "app.kubernetes.io/part-of"
"""A label of all objects of ours; its value is `moorage`."""
APP: Final = "app.kubernetes.io/name"
"""Another one; a Namespace for Moorage alone has it, too: `moorage`."""
INSTANCE: Final = "app.kubernetes.io/instance"
"""The installation, or the shard, that an object belongs to."""
SHARD_OF: Final = "moorage.dev/shard-of"
"""Of a shard's objects: the installation that the shard is a part of."""


class ObjectKey(NamedTuple):
    """Which object; ``namespace`` is "" for one that is in none."""

    api_version: str
    kind: str
    name: str
    namespace: str = ""

    def __str__(self) -> str:
        place = f"{self.namespace}/" if self.namespace else ""
        return f"{self.kind} {place}{self.name}"


class Kind(NamedTuple):
    """A kind of objects."""

    api_version: str
    kind: str


def key_of(document: Mapping[str, Any]) -> ObjectKey:
    """Which object a document is."""
    metadata = document["metadata"]
    namespace = metadata.get("namespace", "")
    return ObjectKey(document["apiVersion"], document["kind"], metadata["name"], namespace)


def kinds_of(documents: Iterable[Mapping[str, Any]]) -> tuple[Kind, ...]:
    """The kinds that there are, each once, as they come."""
    return tuple(dict.fromkeys(Kind(one["apiVersion"], one["kind"]) for one in documents))


def installation_of(document: Mapping[str, Any]) -> str:
    """The name of the installation that an object belongs to; "" for one that all have in common
    (CRDs) and for those of others.
    """
    labels = document["metadata"].get("labels") or {}
    if labels.get(PART_OF) != "moorage":
        return ""
    return str(labels.get(SHARD_OF) or labels.get(INSTANCE) or "")
