"""The store: every object that decisions read and that is neither pod nor node, by kind.

Each kind has a clock, which moves with each change of an object of that kind, so that whoever computed something from objects
knows that it is out of date. One writer, one thread; plugins read through ``snapshot.store``.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Protocol, TypeVar

from moorage.core.columns.changes import Clock
from moorage.core.objects import HasMetadata, key

T = TypeVar("T", bound=HasMetadata)


class Objects(Protocol):
    """The store's reading half."""

    def objects(self, kind: type[T]) -> Mapping[str, T]:
        """All objects of a kind by ``namespace/name`` (or name), in the order in which they came."""

    def clock(self, kind: type[HasMetadata]) -> Clock:
        """Moves when an object of the kind comes, changes or goes."""


class Store:
    """See the module's docstring. Kinds are the struct types of ``core``; any may be asked for, at any time."""

    def __init__(self) -> None:
        self._objects: dict[type[Any], dict[str, Any]] = {}
        self._views: dict[type[Any], Mapping[str, Any]] = {}
        self._clocks: dict[type[Any], Clock] = {}

    def objects(self, kind: type[T]) -> Mapping[str, T]:
        """All objects of a kind by ``namespace/name`` (or name), in the order in which they came."""
        view = self._views.get(kind)
        if view is None:
            view = self._views[kind] = MappingProxyType(self._of(kind))
        return view

    def clock(self, kind: type[HasMetadata]) -> Clock:
        """Moves when an object of the kind comes, changes or goes."""
        clock = self._clocks.get(kind)
        if clock is None:
            clock = self._clocks[kind] = Clock()
        return clock

    def put(self, obj: HasMetadata) -> None:
        """Add an object, or replace its former state."""
        self._of(type(obj))[key(obj)] = obj
        self.clock(type(obj)).tick()

    def remove(self, kind: type[HasMetadata], name: str) -> None:
        """Take an object out; unknown names are ignored."""
        if self._of(kind).pop(name, None) is not None:
            self.clock(kind).tick()

    def _of(self, kind: type[Any]) -> dict[str, Any]:
        return self._objects.setdefault(kind, {})
