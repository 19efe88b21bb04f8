"""Row caches: what a postFilter plugin found out about single rows, kept as long as it is true.

Nodes change one by one while many pods of one template find no room, so most of what the last
attempt found still holds. A cache forgets the rows that changed in any aspect, or by what something
else says that the plugin depends on; everything when a filter was prepared anew, or when something
moved that does not tell rows. Only the caches used last are kept: one may hold something for every
row.
"""

from __future__ import annotations

import weakref
from collections import OrderedDict
from collections.abc import Collection, Iterable
from typing import Any

from moorage.core.columns.change_log import Aspect, RowVersioned, Versioned
from moorage.core.columns.snapshot import Snapshot
from moorage.core.framework.evaluation.evaluation import Evaluation
from moorage.core.framework.evaluation.plugin_result import ResultFollower

MAX_ROW_CACHES = 16
"""Caches that are kept."""


class RowCache:
    """What is remembered by row, for one plugin and one evaluation."""

    def __init__(self, evaluation: Evaluation) -> None:
        columns = {**evaluation.pre_filters, **evaluation.filters}
        self._follower = ResultFollower(columns.values(), Aspect)
        self._versions: list[int] | None = None
        self._found: dict[int, Any] = {}

    def catch_up(self, snapshot: Snapshot, depends: Iterable[Versioned]) -> dict[int, Any]:
        """What still holds, by row; the plugin adds to it."""
        depends = tuple(depends)
        versions = [one.version for one in depends]
        self._follower.restarted()
        changed = self._follower.catch_up(snapshot)
        beyond = () if versions == self._versions else self._rows_of(depends)
        if changed is None or beyond is None:
            self._found.clear()
        else:
            for row in (*changed.tolist(), *beyond):
                self._found.pop(row, None)
        self._versions = versions
        return self._found

    def _rows_of(self, depends: tuple[Versioned, ...]) -> Collection[int] | None:
        """The rows that changed by what the plugin depends on; None for all."""
        rows: set[int] = set()
        if self._versions is None or len(self._versions) != len(depends):
            return None
        for before, one in zip(self._versions, depends, strict=True):
            if one.version != before:
                if not isinstance(one, RowVersioned):
                    return None
                rows.update(one.rows_since(before))
        return rows


class RowCaches:
    """All caches, by evaluation (which they do not keep) and plugin."""

    def __init__(self) -> None:
        self._caches: OrderedDict[tuple[weakref.ref[Evaluation], str], RowCache] = OrderedDict()

    def of(self, evaluation: Evaluation, plugin: str) -> RowCache:
        """The plugin's cache for an evaluation, empty if it was not used lately."""
        key = weakref.ref(evaluation), plugin
        memory = self._caches.get(key)
        if memory is None:
            for gone in [each for each in self._caches if each[0]() is None]:
                del self._caches[gone]
            memory = self._caches[key] = RowCache(evaluation)
            if len(self._caches) > MAX_ROW_CACHES:
                self._caches.popitem(last=False)
        self._caches.move_to_end(key)
        return memory
