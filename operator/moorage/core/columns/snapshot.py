"""The snapshot: what plugins may look at.

A cycle is synchronous, so nothing changes under it: a snapshot needs no copies, it is the read side of the cache. What outlives
an await must copy what it needs. ``trial`` lets a decision be tried on the real columns and takes every change back.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence

from moorage.core.columns.cache import Cache, Record, State
from moorage.core.columns.matches import Matches
from moorage.core.columns.node_table import NodeTable
from moorage.core.columns.nominations import Nominations
from moorage.core.columns.priorities import PriorityTable
from moorage.core.columns.requests import Requests
from moorage.core.columns.store import Objects
from moorage.core.objects import Pod


class Trial:
    """Pods taken off rows, or put on them, until the trial ends. What is counted over many nodes keeps its counts."""

    def __init__(self, cache: Cache) -> None:
        self._cache = cache
        self._borrowed: dict[str, dict[str, Record]] = {}
        self._gone: dict[str, Record] = {}
        self._new: dict[str, Record] = {}

    def remove(self, *records: Record) -> None:
        """Try what would be without these pods."""
        self._move(records, -1, self._new, self._gone)

    def put_back(self, *records: Record) -> None:
        """Try what would be with these pods there (again)."""
        self._move(records, 1, self._gone, self._new)

    def add(self, pod: Pod, node: str, requests: Requests) -> Record:
        """Try what would be with this pod on ``node``; the record, for ``remove``."""
        record = Record(pod, node, requests, State.ASSUMED)
        self.put_back(record)
        return record

    def undo(self) -> None:
        """Take all of it back."""
        self._cache.move(self._new.values(), -1)
        self._cache.move(self._gone.values(), 1)
        for node, pods in self._borrowed.items():
            self._cache.give_back(node, pods)  # in the order in which they came

    def _move(self, records: Sequence[Record], sign: int, off: dict[str, Record], onto: dict[str, Record]) -> None:
        for record in records:
            if record.node not in self._borrowed:
                self._borrowed[record.node] = self._cache.borrow(record.node)
        self._cache.move(records, sign)
        for record in records:
            if off.pop(record.pod.metadata.uid, None) is None:
                onto[record.pod.metadata.uid] = record


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

    @property
    def priorities(self) -> PriorityTable:
        """On which rows there are pods of which priorities; only its reading half is for plugins."""
        return self._cache.priorities

    @property
    def nominations(self) -> Nominations:
        """Which waiting pods are promised room on which node; only its reading half is for plugins."""
        return self._cache.nominations

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
