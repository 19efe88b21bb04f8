"""Plugins with one plain behaviour each, for tests of the framework itself."""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar

import numpy as np

from moorage.core.columns.change_log import Versioned
from moorage.core.columns.nodes.node_table import Aspect, Rows
from moorage.core.columns.snapshot import Snapshot
from moorage.core.framework.interfaces import (
    Codes,
    ExtensionPoint,
    PreFilterResult,
    ReserveResult,
    Scores,
    SortKey,
)
from moorage.core.framework.presets import Preset
from moorage.core.framework.registry import PluginSpec, Registry, build_registry
from moorage.core.framework.status import SUCCESS, Code, Reason, Status
from moorage.core.objects.pods import Pod
from moorage.core.pods.requests import CPU

BLOCKED = Reason("Blocked", "node(s) were blocked by {}", Code.UNSCHEDULABLE)


@dataclasses.dataclass(frozen=True)
class Plain:
    """Base of them all."""

    name: ClassVar[str] = ""
    events_to_register: ClassVar[tuple[()]] = ()
    reads: ClassVar[frozenset[Aspect]] = frozenset({Aspect.RESOURCES})


@dataclasses.dataclass(frozen=True)
class Sort(Plain):
    """Orders by time."""

    name = "Sort"

    def sort_key(self, pod: Pod, queued_at: float) -> SortKey:
        """First come, first served."""
        return (queued_at,)


@dataclasses.dataclass(frozen=True)
class BlockArgs:
    """Nodes to refuse."""

    nodes: frozenset[str] = frozenset()


@dataclasses.dataclass(frozen=True)
class Block(Plain):
    """Refuses some nodes; counts nothing, so equal arguments are equal plugins."""

    args: BlockArgs = BlockArgs()
    name = "Block"

    def filter(self, state: Pod, snapshot: Snapshot, rows: Rows) -> Codes:
        """7 for each blocked node."""
        names = np.array(snapshot.nodes.names)[rows]
        return np.where(np.isin(names, list(self.args.nodes)), np.int64(7), np.int64(0))

    def explain(self, state: Pod, code: int) -> tuple[tuple[Reason, str], ...]:
        """The code is the detail."""
        return ((BLOCKED, str(code)),)


@dataclasses.dataclass(frozen=True)
class Rank(Plain):
    """Scores a node by the last figure of its name."""

    name = "Rank"

    def pre_score(self, pod: Pod, snapshot: Snapshot) -> PreFilterResult:
        """Nothing to compile."""
        return PreFilterResult(SUCCESS, pod)

    def score(self, state: Any, snapshot: Snapshot, rows: Rows) -> Scores:
        """0..9."""
        return np.array(
            [int(name[-1:] or 0) for name in np.array(snapshot.nodes.names)[rows]], np.int64
        )


@dataclasses.dataclass(frozen=True)
class Stretch(Plain):
    """Scores by allocatable cpu, stretched to 0..100 over the feasible nodes."""

    name = "Stretch"

    def score(self, state: Any, snapshot: Snapshot, rows: Rows) -> Scores:
        """Millicores."""
        cpu: Scores = snapshot.nodes.allocatable[CPU][rows].copy()
        return cpu

    def normalize_score(self, state: Any, raw: Scores) -> Scores:
        """The largest becomes 100."""
        return raw * 100 // max(1, int(raw.max(initial=0)))


@dataclasses.dataclass(frozen=True)
class Keep(Plain):
    """Refuses to reserve on some nodes; remembers what it holds."""

    args: BlockArgs = BlockArgs()
    held: ClassVar[list[str]] = []
    name = "Keep"

    def reserve(self, pod: Pod, node: str, snapshot: Snapshot) -> ReserveResult:
        """A refusal on blocked nodes."""
        if node in self.args.nodes:
            return ReserveResult(Status(Code.UNSCHEDULABLE, ("cannot keep",)))
        self.held.append(node)
        return ReserveResult(
            SUCCESS, node, lambda: self.held.remove(node) if node in self.held else None
        )


@dataclasses.dataclass(frozen=True)
class Census(Plain):
    """Favours the node whose last figure is the number of cordoned nodes: every row depends on all
    of them.
    """

    name = "Census"

    def score(self, state: Any, snapshot: Snapshot, rows: Rows) -> Scores:
        """100 for the favourite, else 0."""
        names = np.array(snapshot.nodes.names)[rows]
        return np.array([100 * (name[-1:] == str(cordoned(snapshot))) for name in names], np.int64)

    def depends_on(self, snapshot: Snapshot) -> tuple[Versioned, ...]:
        """Cordons."""
        return (snapshot.nodes.logs[Aspect.TAINTS],)


def cordoned(snapshot: Snapshot) -> int:
    """The number of cordoned nodes."""
    return int(np.count_nonzero(snapshot.nodes.unschedulable & snapshot.nodes.live))


REGISTRY: Registry = build_registry(
    [
        PluginSpec("Sort", Sort),
        PluginSpec("Block", Block, BlockArgs),
        PluginSpec("Rank", Rank),
        PluginSpec("Stretch", Stretch),
        PluginSpec("Keep", Keep, BlockArgs),
        PluginSpec("Census", Census),
        PluginSpec("Bind", None, None, frozenset({ExtensionPoint.BIND})),
    ]
)
PRESETS = {"Default": Preset("Default", (("Sort", 1), ("Block", 1), ("Rank", 3), ("Bind", 1)))}
