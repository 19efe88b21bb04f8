"""Plugin results: a plugin's answer for every row, for one template of pods, kept from pod to pod.

What a template asks for is compiled once (``prepare``); after that only rows that changed in an
aspect which the plugin reads are asked again. A result belongs to a template and a plugin value, so
profiles and revisions that enable the same plugin with the same arguments share it, and a swap
recomputes only what it changed.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from moorage.core.columns.change_log import ChangedRows, ChangeReader, Versioned
from moorage.core.columns.nodes.node_table import Aspect, Rows
from moorage.core.columns.snapshot import Snapshot
from moorage.core.framework.interfaces import (
    DependentPlugin,
    FilterPlugin,
    Plugin,
    PreFilterResult,
    is_a,
)
from moorage.core.framework.status import SUCCESS, Code, Why
from moorage.core.objects.pods import Pod
from moorage.core.structures.budget import OutOfTime
from moorage.core.structures.growing import grown

AskRows = Callable[[Any, Snapshot, Rows], npt.NDArray[np.int64]]
PrepareFn = Callable[[Pod, Snapshot], PreFilterResult]


class PluginResult:
    """``values[row]`` is the plugin's code or raw score; arbitrary before the first ``refresh`` and
    on rows without a node.
    """

    __slots__ = (
        "_ask",
        "_depends_on_fn",
        "_piece",
        "_prepare",
        "_rest",
        "_versions",
        "applies",
        "depends_on",
        "plugin",
        "prepare_count",
        "prepared",
        "reader",
        "reads",
        "refresh_count",
        "values",
    )

    def __init__(self, plugin: Plugin, pod: Pod, ask: AskRows, prepare: PrepareFn | None) -> None:
        self.plugin = plugin
        self.prepared = PreFilterResult(SUCCESS, pod)
        self.applies = True
        """False when the plugin has no say about this template."""
        self.depends_on: tuple[Versioned, ...] = ()
        """What the template has to be compiled again for."""
        said: frozenset[Aspect] = getattr(plugin, "reads", frozenset())
        self.reads = said - {Aspect.MEMBERSHIP} or frozenset({Aspect.MEMBERSHIP})
        """The aspects that the answers depend on."""
        self.values: npt.NDArray[np.int64] = np.zeros(0, np.int64)
        self._ask = ask
        self._prepare = prepare
        self.reader: ChangeReader | None = None
        """Its place in the logs; None when all rows have to be asked."""
        self._depends_on_fn = plugin.depends_on if is_a(plugin, DependentPlugin) else None
        self._versions: list[int] | None = None
        self._piece: int = getattr(plugin, "rows_at_a_time", sys.maxsize)
        self._rest: tuple[ChangeReader, npt.NDArray[np.intp]] | None = None
        """Its place in the logs, and the rows that are still to be asked, where time ran out."""
        self.prepare_count = 0
        """How often the template was compiled: whoever keeps something made from this result
        compares it.
        """
        self.refresh_count = 0
        """How often rows were asked, likewise."""

    def prepare(self, pod: Pod, snapshot: Snapshot) -> None:
        """Compile the template, for which this pod of it stands, if that was not done yet, or if
        something that it depends on moved (then all rows are stale).
        """
        if self._versions == [one.version for one in self.depends_on]:
            return
        self._versions = None  # a plugin that raises is asked again
        if self._prepare is not None:
            self.prepared = self._prepare(pod, snapshot)
        self.applies = self.prepared.status.code is not Code.SKIP
        self.depends_on = self.prepared.depends_on + (
            self._depends_on_fn(snapshot) if self._depends_on_fn is not None else ()
        )
        self._versions = [one.version for one in self.depends_on]
        self.reader = self._rest = None
        self.prepare_count += 1
        snapshot.budget.check()

    def refresh(self, snapshot: Snapshot) -> None:
        """Ask again for the rows that changed since the last call."""
        nodes = snapshot.nodes
        # a plugin that raises is asked again for all rows
        reader, self.reader = self.reader, None
        rest, self._rest = self._rest, None
        if rest is not None:
            reader = rest[0]
        reader = reader or nodes.reader(self.reads)
        changed = reader.catch_up(nodes.rows)
        if changed is not None and rest is not None:
            changed = np.union1d(changed, rest[1][rest[1] < nodes.rows])
        if changed is not None and not changed.size:
            self.reader = reader
            return
        self.refresh_count += 1
        if changed is None:
            self.values = np.zeros(nodes.live.size, np.int64)
        elif self.values.size < nodes.live.size:
            self.values = grown(self.values, nodes.live.size)
        self._ask_again(changed, reader, snapshot)
        self.reader = reader
        snapshot.budget.check()

    def _ask_again(self, changed: ChangedRows, reader: ChangeReader, snapshot: Snapshot) -> None:
        """Ask for these rows, None for all; what is left when time runs out is asked the next
        time.
        """
        nodes = snapshot.nodes
        if self._piece >= (nodes.rows if changed is None else changed.size):
            rows: Rows = nodes.all_rows if changed is None else changed
            self.values[rows] = self._ask(self.prepared.state, snapshot, rows)
            return
        left = np.arange(nodes.rows) if changed is None else changed
        while left.size:
            piece = left[: self._piece]
            try:
                self.values[piece] = self._ask(self.prepared.state, snapshot, piece)
            except OutOfTime:
                self._rest = reader, left
                raise
            left = left[self._piece :]

    def explain(self, code: int) -> Why:
        """The plugin's words for a value of a filter."""
        plugin: FilterPlugin = self.plugin  # type: ignore[assignment]  # only filters reject
        return plugin.explain(self.prepared.state, code)


class ResultFollower:
    """Brings several results up to date together, and tells which rows changed for any of them.

    Rows count as changed, too, when they change in one of ``aspects``, or for one of the results
    ``beside`` these, which somebody else brings up to date.
    """

    def __init__(
        self,
        results: Iterable[PluginResult],
        aspects: Iterable[Aspect] = (),
        beside: Iterable[PluginResult] = (),
    ) -> None:
        self.results = list(results)
        self._followed = [*self.results, *beside]
        self._aspects = frozenset(aspects).union(*(result.reads for result in self._followed))
        self._dependent = self.results
        """Those that may have to be compiled again."""
        self._prepare_counts: list[int] | None = None
        self._restarts = False
        """Whether one was compiled since the last ``catch_up``."""
        self._reader: ChangeReader | None = None

    def prepare(self, pod: Pod, snapshot: Snapshot) -> bool:
        """Have the template compiled where that is out of date; whether any result was compiled
        anew since this was last asked, by whomever.
        """
        for result in self._dependent:
            result.prepare(pod, snapshot)
        if not self.restarted():
            return False
        self._dependent = [result for result in self.results if result.depends_on]
        return True

    def restarted(self) -> bool:
        """Whether any result was compiled anew since this was last asked."""
        counts = [result.prepare_count for result in self._followed]
        if counts == self._prepare_counts:
            return False
        self._prepare_counts, self._restarts = counts, True
        return True

    def refresh(self, snapshot: Snapshot) -> ChangedRows:
        """After ``prepare``: ask those that have a say again for the rows that changed; which rows
        these are, None for all.
        """
        moved = self._reader.moved() if self._reader is not None else self._aspects
        for result in self.results if moved or self._restarts else ():
            if result.applies and (result.reader is None or not result.reads.isdisjoint(moved)):
                result.refresh(snapshot)
        return self.catch_up(snapshot)

    def catch_up(self, snapshot: Snapshot) -> ChangedRows:
        """The rows that changed since the last call; None for all, as where results restarted."""
        if self._reader is None:
            self._reader = snapshot.nodes.reader(self._aspects)
        changed, restarts = self._reader.catch_up(snapshot.nodes.rows), self._restarts
        self._restarts = False
        return None if restarts else changed
