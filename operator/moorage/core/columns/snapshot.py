"""The snapshot: what plugins may look at.

A cycle is synchronous, so nothing changes under it: a snapshot needs no copies, it is the read side of the cache. What outlives
an await must copy what it needs. ``trial`` lets a decision be tried on the real columns and takes every change back.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from moorage.core.columns.cache import Cache, Record, State
from moorage.core.columns.matches import Matches
from moorage.core.columns.node_table import NodeTable
from moorage.core.columns.requests import Requests
from moorage.core.columns.store import Objects
from moorage.core.objects import Pod


class Trial:
    """Pods taken off a row, or put on it, until the trial ends. What is counted over many nodes keeps its counts."""

    def __init__(self, cache: Cache) -> None:
        self._cache = cache
        self._changes: list[tuple[Record, bool]] = []

    def remove(self, record: Record) -> None:
        """Try what would be without this pod."""
        self._cache.lift(record)
        self._changes.append((record, False))

    def add(self, pod: Pod, node: str, requests: Requests) -> Record:
        """Try what would be with this pod on ``node``; the record, for ``remove``."""
        record = Record(pod, node, requests, State.ASSUMED)
        self.put_back(record)
        return record

    def put_back(self, record: Record) -> None:
        """Try what would be with this pod there (again)."""
        self._cache.put_back(record)
        self._changes.append((record, True))

    def undo(self) -> None:
        """Take all of it back, newest first."""
        while self._changes:
            record, added = self._changes.pop()
            if added:
                self._cache.lift(record)
            else:
                self._cache.put_back(record)


class Snapshot:
    """Read access to the cache for plugins and for whoever explains a decision."""

    def __init__(self, cache: Cache) -> None:
        self._cache = cache

    @property
    def nodes(self) -> NodeTable:
        """The node table; only its reading half is for plugins."""
        return self._cache.nodes

    @property
    def store(self) -> Objects:
        """Every other object."""
        return self._cache.store

    @property
    def matches(self) -> Matches:
        """Counters of pods; only ``matching`` and ``carried_against`` are for plugins."""
        return self._cache.matches

    def pods_on(self, node: str) -> Iterator[Record]:
        """The pods on a node, assumed ones included."""
        return self._cache.pods_on(node)

    @contextlib.contextmanager
    def trial(self) -> Iterator[Trial]:
        """Changes made through the yielded trial are undone at the end, whatever happens in between."""
        trial = Trial(self._cache)
        try:
            yield trial
        finally:
            trial.undo()
