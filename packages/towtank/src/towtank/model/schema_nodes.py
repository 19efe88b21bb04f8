"""SchemaNode: one place of a schema, read-only and compiled.

Built-in kinds bring theirs in ``data/``, CustomResourceDefinitions in their own text; from here on
nobody asks which.
"""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

NOTHING: Mapping[str, Any] = MappingProxyType({})


class MergeType(enum.Enum):
    """How server-side apply sees a list or a map (x-kubernetes-list-type,
    x-kubernetes-map-type).
    """

    ATOMIC = "atomic"
    SET = "set"
    MAP = "map"
    """A list whose items are told apart by ``keys``."""
    GRANULAR = "granular"
    """A map, or an object, whose fields have owners each."""


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class ValidationRule:
    """One of x-kubernetes-validations, as it was written."""

    rule: str
    message: str = ""
    message_expression: str = ""
    reason: str = "FieldValueInvalid"
    field_path: str = ""
    optional_old_self: bool = False


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class SchemaNode:
    """What may stand here.

    ``type``: object, array, string, integer, number, boolean, or "" for anything. ``merge`` is of
    arrays and objects; ``keys`` of arrays that merge as maps. ``patch_key`` and
    ``patch_strategies`` are those of strategic merge patches (built-in kinds alone have them).
    ``limits`` holds what a JSON schema says of values: enum, pattern, minimum, maxLength, format
    and so on, by their names there.
    """

    name: str = ""
    """Of the definition, for built-in kinds: as Go calls the type."""
    package: str = "v1"
    """Where it is defined, as Go calls that."""
    type: str = ""
    properties: Mapping[str, SchemaNode] = dataclasses.field(default_factory=lambda: NOTHING)
    additional: SchemaNode | None = None
    """Of a map's values; None when only ``properties`` may stand here."""
    items: SchemaNode | None = None
    required: tuple[str, ...] = ()
    default: Any = None
    has_default: bool = False
    present: bool = False
    """Of built-in kinds: an object that is there, empty, when nobody has said anything, as a struct
    of Go's is that no pointer leads to.
    """
    nullable: bool = False
    int_or_string: bool = False
    preserve_unknown: bool = False
    embedded: bool = False
    """An object with apiVersion, kind and metadata of its own."""
    merge: MergeType = MergeType.ATOMIC
    keys: tuple[str, ...] = ()
    patch_key: str = ""
    patch_strategies: tuple[str, ...] = ()
    limits: Mapping[str, Any] = dataclasses.field(default_factory=lambda: NOTHING)
    rules: tuple[ValidationRule, ...] = ()
    defaulted: tuple[tuple[str, SchemaNode], ...] = dataclasses.field(init=False)
    """The properties that have defaults."""

    def __post_init__(self) -> None:
        """Said once: whoever fills in defaults asks at every object."""
        object.__setattr__(
            self,
            "defaulted",
            tuple((name, child) for name, child in self.properties.items() if child.has_default),
        )

    def children(self) -> Iterator[tuple[str, SchemaNode]]:
        """All nodes right below, each with where it stands in a written schema."""
        yield from ((f"properties[{name}]", child) for name, child in self.properties.items())
        if self.additional:
            yield "additionalProperties", self.additional
        if self.items:
            yield "items", self.items

    def child(self, name: str) -> SchemaNode | None:
        """What may stand at a field of an object; None for an unknown one."""
        return self.properties.get(name) or self.additional


ANYTHING = SchemaNode(type="", preserve_unknown=True)
