"""The store: every object that decisions read and that is neither pod nor node, by kind.

Each kind has a version counter, which moves with each change of an object of that kind, so that
whoever computed something from objects knows that it is out of date. One writer, one thread;
plugins read through ``snapshot.store``.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, Protocol, TypeVar

from moorage.core.columns.change_log import VersionCounter
from moorage.core.columns.changes import NO_JOURNAL, Journal, ObjectPut, ObjectRemoved
from moorage.core.columns.freed_room import FreedRoom
from moorage.core.columns.nodes.node_table import NodeTable
from moorage.core.columns.priorities import PriorityTable
from moorage.core.objects.meta import HasMetadata, key
from moorage.core.objects.pod_groups import PodGroup

T = TypeVar("T", bound=HasMetadata)
KeptIndex = TypeVar("KeptIndex")
Follower = Callable[[Any, Any], None]
"""Told of an object's former and its new state, None where there is none."""


class Lister(Protocol):
    """The store's reading half."""

    def __hash__(self) -> int:
        """By identity: what follows from a store at a version of a counter may be remembered under
        these.
        """

    def objects(self, kind: type[T]) -> Mapping[str, T]:
        """All objects of a kind by ``namespace/name`` (or name), in the order in which they
        came.
        """

    def version_counter(self, kind: type[HasMetadata]) -> VersionCounter:
        """Moves when an object of the kind comes, changes or goes."""

    @property
    def room(self) -> FreedRoom:
        """What is left on nodes."""

    def index(self, make: Callable[[Store], KeptIndex]) -> KeptIndex:
        """What ``make`` (a class, say) keeps of objects beside them, always the same one; made when
        first asked for.
        """


class Store:
    """Keeps the objects that decisions read, neither pods nor nodes.

    Kinds are the struct types of ``core``; any may be asked for, at any time.
    """

    def __init__(
        self, indexes: Iterable[Callable[[Store], object]] = (), journal: Journal = NO_JOURNAL
    ) -> None:
        """``indexes`` are made before any object comes, so that these can refuse one; others are
        made when first asked for.
        """
        self.journal = journal
        """Takes what cache and indexes are told, in order."""
        self._objects: dict[type[Any], dict[str, Any]] = {}
        self._views: dict[type[Any], Mapping[str, Any]] = {}
        self._version_counters: dict[type[Any], VersionCounter] = {}
        self._followers: dict[type[Any], list[Follower]] = {}
        self._indexes: dict[Callable[[Store], Any], Any] = {}
        self.room = FreedRoom(NodeTable(), PriorityTable(self.objects(PodGroup)))
        """What is left on nodes; nothing is known until a cache fills its tables."""
        for make in indexes:
            self.index(make)

    def objects(self, kind: type[T]) -> Mapping[str, T]:
        """All objects of a kind by ``namespace/name`` (or name), in the order in which they
        came.
        """
        view = self._views.get(kind)
        if view is None:
            view = self._views[kind] = MappingProxyType(self._of(kind))
        return view

    def all_objects(self) -> Iterator[HasMetadata]:
        """Those of all kinds. Not to be changed while this runs."""
        return itertools.chain.from_iterable(map(dict.values, self._objects.values()))

    def version_counter(self, kind: type[HasMetadata]) -> VersionCounter:
        """Moves when an object of the kind comes, changes or goes."""
        clock = self._version_counters.get(kind)
        if clock is None:
            clock = self._version_counters[kind] = VersionCounter()
        return clock

    def index(self, make: Callable[[Store], KeptIndex]) -> KeptIndex:
        """What ``make`` keeps of objects beside them, always the same one; made when first asked
        for.
        """
        if make not in self._indexes:
            self._indexes[make] = make(self)
        index: KeptIndex = self._indexes[make]
        return index

    def follow(self, kind: type[T], follower: Callable[[T | None, T | None], None]) -> None:
        """Tell ``follower`` of each object of a kind, now and whenever one comes, changes or goes.
        One that raises now is told no more.
        """
        for obj in self.objects(kind).values():
            follower(None, obj)
        self._followers.setdefault(kind, []).append(follower)

    def put(self, obj: HasMetadata) -> None:
        """Add an object, or replace its former state. If a follower raises, nothing has changed."""
        self._change(type(obj), key(obj), obj)

    def remove(self, kind: type[HasMetadata], name: str) -> None:
        """Take an object out; unknown names are ignored. If a follower raises, nothing has
        changed.
        """
        if name in self._of(kind):
            self._change(kind, name, None)

    def _change(self, kind: type[HasMetadata], name: str, new: HasMetadata | None) -> None:
        """Followers are told one after another; one that raises has changed nothing, and those
        before it are told to go back.
        """
        self.version_counter(kind).increment()
        told: list[Follower] = []
        objects = self._of(kind)
        old = objects.get(name)
        try:
            _set(objects, name, new)
            for follower in self._followers.get(kind, ()):
                follower(old, new)
                told.append(follower)
        except BaseException:
            _set(objects, name, old)
            for follower in reversed(told):
                follower(new, old)
            raise
        self.journal.append(ObjectRemoved(kind, name) if new is None else ObjectPut(new))

    def _of(self, kind: type[Any]) -> dict[str, Any]:
        return self._objects.setdefault(kind, {})


def _set(objects: dict[str, Any], name: str, obj: HasMetadata | None) -> None:
    if obj is None:
        objects.pop(name, None)
    else:
        objects[name] = obj
