"""Row memories: what a postFilter plugin found out about single rows, kept as long as it is true.

Nodes change one by one while many pods of one template find no room, so most of what the last attempt found still holds. A memory
forgets the rows that changed in any aspect, and everything when a filter was prepared anew or when something else moved that the
plugin depends on. Only the memories used last are kept: one may hold something for every row.
"""

from __future__ import annotations

import weakref
from collections import OrderedDict
from collections.abc import Iterable
from typing import Any

from moorage.core.columns.change_log import Aspect, Versioned
from moorage.core.columns.snapshot import Snapshot
from moorage.core.framework.evaluation.evaluation import Blueprint, Follower

MOST = 16
"""Memories that are kept."""


class RowMemory:
    """What is remembered by row, for one plugin and one blueprint."""

    def __init__(self, blueprint: Blueprint) -> None:
        columns = {**blueprint.preparing, **blueprint.filters}
        self._follower = Follower(columns.values(), frozenset(Aspect))
        self._versions: list[int] | None = None
        self._found: dict[int, Any] = {}

    def catch_up(self, snapshot: Snapshot, depends: Iterable[Versioned]) -> dict[int, Any]:
        """What still holds, by row; the plugin adds to it."""
        versions = [one.version for one in depends]
        changed = self._follower.catch_up(snapshot)
        if changed is None or versions != self._versions:
            self._found.clear()
        else:
            for row in changed.tolist():
                self._found.pop(row, None)
        self._versions = versions
        return self._found


class RowMemories:
    """All memories, by blueprint (which they do not keep) and plugin."""

    def __init__(self) -> None:
        self._memories: OrderedDict[tuple[weakref.ref[Blueprint], str], RowMemory] = OrderedDict()

    def of(self, blueprint: Blueprint, plugin: str) -> RowMemory:
        """The plugin's memory for a blueprint, empty if it was not used lately."""
        key = weakref.ref(blueprint), plugin
        memory = self._memories.get(key)
        if memory is None:
            for gone in [each for each in self._memories if each[0]() is None]:
                del self._memories[gone]
            memory = self._memories[key] = RowMemory(blueprint)
            if len(self._memories) > MOST:
                self._memories.popitem(last=False)
        self._memories.move_to_end(key)
        return memory
