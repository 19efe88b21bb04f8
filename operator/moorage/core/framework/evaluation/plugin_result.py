"""Plugin results: a plugin's answer for every row, for one template of pods, kept from pod to pod.

What a template asks for is compiled once (``prepare``); after that only rows that changed in an
aspect which the plugin reads are asked again. A result belongs to a template and a plugin value, so
profiles and revisions that enable the same plugin with the same arguments share it, and a swap
recomputes only what it changed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from moorage.core.columns.change_log import ChangeReader, Versioned
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
from moorage.core.structures.growing import grown

AskRows = Callable[[Any, Snapshot, Rows], npt.NDArray[np.int64]]
PrepareFn = Callable[[Pod, Snapshot], PreFilterResult]


class PluginResult:
    """``values[row]`` is the plugin's code or raw score; arbitrary before the first ``refresh`` and
    on rows without a node.
    """

    __slots__ = (
        "_ask",
        "_depends_on",
        "_depends_on_fn",
        "_prepare",
        "_reader",
        "_versions",
        "plugin",
        "pod",
        "prepare_count",
        "prepared",
        "values",
    )

    def __init__(self, plugin: Plugin, pod: Pod, ask: AskRows, prepare: PrepareFn | None) -> None:
        self.plugin = plugin
        self.prepared = PreFilterResult(SUCCESS, pod)
        self.values: npt.NDArray[np.int64] = np.zeros(0, np.int64)
        self.pod = pod
        """The pod that the template is compiled for when it has to be compiled again."""
        self._ask = ask
        self._prepare = prepare
        self._reader: ChangeReader | None = None
        self._depends_on_fn = plugin.depends_on if is_a(plugin, DependentPlugin) else None
        self._depends_on: tuple[Versioned, ...] = ()
        self._versions: list[int] | None = None
        self.prepare_count = 0
        """How often the template was compiled: whoever keeps something made from this result
        compares it.
        """

    @property
    def nbytes(self) -> int:
        """What the values take."""
        return self.values.nbytes

    def prepare(self, snapshot: Snapshot) -> PreFilterResult:
        """Compile the template if that was not done yet, or if something that it depends on moved
        (then all rows are stale).
        """
        if self._versions is None or (
            self._depends_on and self._versions != [one.version for one in self._depends_on]
        ):
            self._versions = None  # a plugin that raises is asked again
            if self._prepare is not None:
                self.prepared = self._prepare(self.pod, snapshot)
            self._depends_on = self.prepared.depends_on + (
                self._depends_on_fn(snapshot) if self._depends_on_fn is not None else ()
            )
            self._versions = [one.version for one in self._depends_on]
            self._reader = None
            self.prepare_count += 1
            snapshot.budget.check()
        return self.prepared

    @property
    def applies(self) -> bool:
        """False when the plugin has no say about this template."""
        return self.prepared.status.code is not Code.SKIP

    @property
    def reads(self) -> frozenset[Aspect]:
        """The aspects that the answers depend on."""
        reads: frozenset[Aspect] = getattr(self.plugin, "reads", frozenset())
        return reads | {Aspect.MEMBERSHIP}

    def refresh(self, snapshot: Snapshot) -> None:
        """Ask again for the rows that changed since the last call."""
        nodes = snapshot.nodes
        # a plugin that raises is asked again for all rows
        reader, self._reader = self._reader or nodes.reader(self.reads), None
        changed = reader.catch_up(nodes.rows)
        if changed is not None and not changed.size:
            self._reader = reader
            return
        if changed is None:
            self.values = np.zeros(nodes.live.size, np.int64)
            self.values[: nodes.rows] = self._ask(self.prepared.state, snapshot, nodes.all_rows)
        else:
            self.values = grown(self.values, nodes.live.size)
            self.values[changed] = self._ask(self.prepared.state, snapshot, changed)
        self._reader = reader
        snapshot.budget.check()

    def explain(self, code: int) -> Why:
        """The plugin's words for a value of a filter."""
        plugin: FilterPlugin = self.plugin  # type: ignore[assignment]  # only filters reject
        return plugin.explain(self.prepared.state, code)
