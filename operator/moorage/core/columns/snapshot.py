"""The snapshot: what plugins may look at.

A cycle is synchronous, so nothing changes under it: a snapshot needs no copies, it is the read side of the cache. What outlives
an await must copy what it needs. ``trial`` lets a decision be tried on the real columns and takes every change back.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from moorage.core.columns.cache import Cache, Record, State
from moorage.core.columns.node_table import NodeTable
from moorage.core.columns.requests import Requests
from moorage.core.objects import Pod


class Trial:
    """Changes that are taken back when the trial ends."""

    def __init__(self, cache: Cache) -> None:
        self._cache = cache
        self._removed: list[Record] = []
        self._added: list[str] = []

    def remove(self, uid: str) -> None:
        """Try what would be without this pod."""
        record = self._cache.record(uid)
        if record is not None:
            self._cache.remove(uid)
            self._removed.append(record)

    def add(self, pod: Pod, node: str, requests: Requests) -> None:
        """Try what would be with this pod on ``node``."""
        self._cache.assume(pod, node, requests)
        self._added.append(pod.metadata.uid)

    def undo(self) -> None:
        """Take all of it back, newest first."""
        while self._added:
            self._cache.forget(self._added.pop())
        while self._removed:
            record = self._removed.pop()
            if not isinstance(record.pod, Pod):
                self._cache.observe_unreadable(record.pod, record.node, record.requests)
            elif record.state is State.ASSUMED:
                self._cache.assume(record.pod, record.node, record.requests)
            else:
                self._cache.observe(record.pod, record.requests)


class Snapshot:
    """Read access to the cache for plugins and for whoever explains a decision."""

    def __init__(self, cache: Cache) -> None:
        self._cache = cache

    @property
    def nodes(self) -> NodeTable:
        """The node table; only its reading half is for plugins."""
        return self._cache.nodes

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
