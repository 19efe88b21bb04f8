"""Followers of results: which rows changed for any of several plugins."""

from __future__ import annotations

from collections.abc import Iterable

from moorage.core.columns.change_log import Aspect, ChangedRows, ChangeReader
from moorage.core.columns.snapshot import Snapshot
from moorage.core.framework.evaluation.plugin_result import PluginResult


class ResultFollower:
    """Tells which rows changed for any of several results, and whether one of them was compiled
    anew.
    """

    def __init__(
        self,
        columns: Iterable[PluginResult],
        aspects: frozenset[Aspect] = frozenset({Aspect.MEMBERSHIP}),
    ) -> None:
        self.results = list(columns)
        self._aspects = aspects.union(*(column.reads for column in self.results))
        self._prepare_counts: list[int] | None = None
        self._reader: ChangeReader

    @property
    def stale(self) -> bool:
        """Whether a result was compiled since the last ``catch_up``."""
        return self._prepare_counts != [column.prepare_count for column in self.results]

    def catch_up(self, snapshot: Snapshot) -> ChangedRows:
        """The rows that changed since the last call; None for all."""
        if self.stale:
            self._prepare_counts = [column.prepare_count for column in self.results]
            self._reader = snapshot.nodes.reader(self._aspects)
        return self._reader.catch_up(snapshot.nodes.rows)
