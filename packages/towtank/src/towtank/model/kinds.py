"""Kinds: what is served, and what a kind does beyond its schema.

``APIResource`` describes one plural name of one API version. Its ``Strategy`` holds what
Kubernetes' own code does for that kind: further defaults, fields that only the server sets, rules
that look at more than one field. Strategies are pure: bodies in, causes out.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, Protocol, TypeAlias

from kubefacts import names
from towtank.model.api_errors import StatusCause
from towtank.model.schema_nodes import ANYTHING, SchemaNode

KUBERNETES: Final = (1, 37, 2)
"""The version whose API this is."""

Body: TypeAlias = dict[str, Any]
"""An object as JSON has it."""

META: Final = ("labels", "annotations", "finalizers", "ownerReferences")
"""Metadata that who writes an object may set."""


class ObjectGetter(Protocol):
    """What strategies and admission may look up. ``resource`` is a qualified plural name: ``pods``,
    ``deployments.apps``.
    """

    def find(self, resource: str, namespace: str, name: str) -> Body | None:
        """The object, or None; not to be changed."""

    def every(self, resource: str, namespace: str = "") -> Sequence[Body]:
        """All objects, of one namespace or of all; not to be changed."""


class Strategy:
    """What a kind does beyond its schema; this one does what all kinds do. ``body`` and ``new`` may
    be changed in place.
    """

    grace_seconds: int = 0
    """How long a deletion waits for somebody to finish it (30 for pods) where the object does not
    say otherwise.
    """
    status_at_creation: bool = False
    """Whether a creator may set the status."""
    conditional: bool = False
    """Whether who replaces an object has to say its metadata.resourceVersion."""
    made_by_update: bool = False
    """Whether an object that is not there is made when somebody replaces it."""
    status_leaves: Sequence[str] = ()
    """Metadata that stays as it is when the status is changed."""
    propagation: str = ""
    """What becomes of what the object owns, when who deletes it does not say: Background where this
    is empty.
    """
    orphans: str = ""
    """What who deletes an object is told when they do not say what becomes of what it owns."""
    selectable: Mapping[str, Callable[[Body], str]] = MappingProxyType({})
    """What a field selector may name besides metadata.name and metadata.namespace, and how to read
    it (``field_readers``).
    """

    def name(self, name: str) -> Sequence[str]:
        """What is wrong with an object's name."""
        return names.dns_subdomain(name)

    def default(self, body: Body) -> None:
        """Fill in what is not said and no schema says."""

    def admit(self, body: Body, reads: ObjectGetter) -> None:
        """What admission plugins set or refuse on creation, before validation. Raises ApiError."""

    def prepare_create(self, body: Body) -> None:
        """Set what only the server sets on a new object (a phase, a zeroed counter)."""

    def prepare_update(self, new: Body, old: Body) -> None:
        """Keep what an update of the main resource must not touch beyond status, which is kept
        anyway.
        """

    def validate(self, body: Body) -> Sequence[StatusCause]:
        """Rules of one object."""
        return ()

    def validate_update(self, new: Body, old: Body) -> Sequence[StatusCause]:
        """Rules of a change; ``validate`` is asked besides."""
        return ()

    def validate_status(self, new: Body, old: Body) -> Sequence[StatusCause]:
        """Rules of a change through the status subresource."""
        return ()

    def grace(self, body: Body, asked: int | None) -> int:
        """Seconds that a deletion waits; 0 removes at once."""
        return (self.grace_seconds if asked is None else asked) if self.grace_seconds else 0

    def held(self, body: Body) -> bool:
        """Whether somebody has something to do before a deleted object may go."""
        return bool(body["metadata"].get("finalizers"))

    def prepare_delete(self, body: Body) -> None:
        """Mark an object whose deletion has begun (a phase)."""


@dataclasses.dataclass(frozen=True, slots=True)
class TableColumn:
    """A column of a table: ``priority`` above 0 is shown with -o wide only."""

    name: str
    type: str = "string"
    format: str = ""
    description: str = ""
    priority: int = 0
    json_path: str = ""
    """Of custom resources' columns."""


@dataclasses.dataclass(frozen=True, slots=True)
class ScaleSubresource:
    """The scale subresource: where replicas and selector stand, as JSON paths with a leading
    dot.
    """

    spec_replicas: str = ".spec.replicas"
    status_replicas: str = ".status.replicas"
    selector: str = ""


@dataclasses.dataclass(frozen=True, slots=True)
class StorageMapping:
    """Objects that are stored as another resource's and shown here in another form: events.k8s.io's
    of core's Events.

    Reading asks for the resource itself, whose ``key`` is that of ``stored``; writing asks the
    verbs for ``stored``. The handlers turn bodies: ``to_stored`` what came, ``to_served`` what
    goes. Neither changes the body that it is given.
    """

    stored: APIResource
    to_stored: Callable[[Body], Body]
    to_served: Callable[[Body], Body]


VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class APIResource:
    """One plural name of one API version."""

    group: str
    version: str
    plural: str
    kind: str
    singular: str = ""
    namespaced: bool = True
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    verbs: tuple[str, ...] = VERBS
    has_status: bool = False
    """Whether status is a subresource: then the main resource ignores it."""
    generation: bool = False
    """Whether metadata.generation counts changes of everything but metadata and status."""
    scale: ScaleSubresource | None = None
    subresources: tuple[str, ...] = ()
    """Others than status and scale: binding, eviction, token."""
    schema: SchemaNode = ANYTHING
    strategy: Strategy = dataclasses.field(default_factory=Strategy)
    columns: tuple[TableColumn, ...] = ()
    """Of a custom resource; built-in kinds' tables are in ``tables``."""
    selectable: tuple[str, ...] = ()
    """JSON paths that field selectors may name, of a custom resource."""
    custom: bool = False
    shows_removed: bool = False
    """Whether who deletes an object for good is shown it, and not a Status."""
    mapping: StorageMapping | None = None
    error_group: str = ""
    """The group that refusals name, where that is another one's than the resource's own: of what a
    ``StorageMapping`` stores it as.
    """

    @property
    def key(self) -> str:
        """The qualified plural name under which the store has the objects."""
        if self.mapping:
            return self.mapping.stored.key
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @property
    def api_version(self) -> str:
        """As objects have it."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def list_kind(self) -> str:
        """The kind of a list of these."""
        return f"{self.kind}List"
