"""The snapshot: what plugins may look at.

A cycle is synchronous, so nothing changes under it: a snapshot needs no copies, it is the read side
of the cache. What outlives an await must copy what it needs. ``trial`` lets a decision be tried on
the real columns and takes every change back.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Final, Protocol

import numpy as np
import numpy.typing as npt

from moorage.core.columns.cache import Cache, PodInfo
from moorage.core.columns.nodes.node_columns import NodeColumns
from moorage.core.columns.nodes.node_table import NodeTable
from moorage.core.columns.pod_counters import PodQuery
from moorage.core.columns.pod_info import PodBatch
from moorage.core.columns.store import Lister
from moorage.core.columns.views import (
    GroupedPodsView,
    NominatorView,
    PodCountersView,
    PrioritiesView,
    RowCounts,
    VolumeColumns,
)
from moorage.core.columns.volume_table import VolumeTable
from moorage.core.objects.pods import Pod
from moorage.core.pods.host_ports import HostPort
from moorage.core.structures.budget import Budget, TimeBudget
from moorage.core.volumes.pod_volumes import PodVolumeUse


class Trial:
    """Pods taken off rows, or put on them, until the trial ends. What is counted over many nodes
    keeps its counts.
    """

    def __init__(self, nodes: NodeTable, volumes: VolumeTable) -> None:
        self._nodes = nodes
        self._volume_table = volumes
        self._before = nodes.requested.copy(), nodes.non_zero_requested.copy()
        self._others: list[tuple[str, npt.NDArray[np.intp], npt.NDArray[np.int64]]] = []
        self._ports: list[tuple[int, tuple[HostPort, ...], int]] = []
        self._volumes: list[tuple[int, PodVolumeUse, int]] = []
        self._gone: set[str] = set()
        self._new: dict[str, dict[str, PodInfo]] = {}

    def remove(self, batch: PodBatch, which: npt.NDArray[np.intp]) -> None:
        """Try what would be without these pods of the batch (by place)."""
        self._charge(batch, which, -1)
        for i in which.tolist():
            record = batch.records[i]
            uid = record.pod.metadata.uid
            if self._new and self._new.get(record.node, {}).pop(uid, None) is not None:
                continue
            self._gone.add(uid)

    def add_back(self, batch: PodBatch, which: npt.NDArray[np.intp]) -> None:
        """Try what would be with them there (again)."""
        self._charge(batch, which, 1)
        for i in which.tolist():
            record = batch.records[i]
            uid = record.pod.metadata.uid
            if uid in self._gone:
                self._gone.discard(uid)
            else:
                self._new.setdefault(record.node, {})[uid] = record

    def pods_on(self, node: str, pods: Iterator[PodInfo]) -> Iterator[PodInfo]:
        """The pods on a node as the trial has them."""
        yield from (record for record in pods if record.pod.metadata.uid not in self._gone)
        yield from self._new.get(node, {}).values()

    def undo(self) -> None:
        """Take all of it back."""
        self._nodes.reset(*self._before)
        for resource, rows, amounts in reversed(self._others):
            self._nodes.resources.charge_many(resource, rows, -amounts, self._nodes.rows)
        for row, ports, sign in reversed(self._ports):
            self._nodes.ports.charge(row, ports, -sign)
        for row, volumes, sign in reversed(self._volumes):
            self._volume_table.charge(row, volumes, -sign)

    def _charge(self, batch: PodBatch, which: npt.NDArray[np.intp], sign: int) -> None:
        self._nodes.try_out(
            batch.rows[which],
            sign * batch.amounts[:, which],
            sign * batch.non_zero_requested[:, which],
        )
        for resource, rows, amounts in batch.others(which):
            self._nodes.resources.charge_many(resource, rows, sign * amounts, self._nodes.rows)
            self._others.append((resource, rows, sign * amounts))
        if batch.ports:
            for i in which.tolist():
                if i in batch.ports:
                    row = int(batch.rows[i])
                    self._nodes.ports.charge(row, batch.ports[i], sign)
                    self._ports.append((row, batch.ports[i], sign))
        if batch.volumes:
            for i in which.tolist():
                if i in batch.volumes:
                    row = int(batch.rows[i])
                    self._volume_table.charge(row, batch.volumes[i], sign)
                    self._volumes.append((row, batch.volumes[i], sign))


class ExpressionObserver(Protocol):
    """Counts expressions that fail."""

    def expression_failed(self, plugin: str, point: str) -> None:
        """A plugin's expression failed at an extension point."""


class Snapshot:
    """Read access to the cache for plugins and for whoever explains a decision."""

    def __init__(
        self,
        cache: Cache,
        budget: Budget | None = None,
        observer: ExpressionObserver | None = None,
    ) -> None:
        self.nodes: Final[NodeColumns] = cache.nodes
        self.store: Final[Lister] = cache.store
        self.pod_counters: Final[PodCountersView] = cache.pod_counters
        self.volumes: Final[VolumeColumns] = cache.volumes
        self.priorities: Final[PrioritiesView] = cache.priorities
        self.grouped_pods: Final[GroupedPodsView] = cache.grouped_pods
        self.nominations: Final[NominatorView] = cache.nominations
        self._cache = cache
        self._trial: Trial | None = None
        self._observer = observer
        self.budget: Final[Budget] = budget or TimeBudget()
        """To be asked after each piece of work that is kept."""

    def expression_failed(self, plugin: str, point: str) -> None:
        """A plugin's expression failed at an extension point: whoever observes counts it."""
        if self._observer is not None:
            self._observer.expression_failed(plugin, point)

    def matching(self, query: PodQuery) -> RowCounts:
        """The counter of the pods that a query speaks of; it takes a look at all of them where
        nobody asked lately.
        """
        made = self._cache.pod_counters.made
        counter = self._cache.pod_counters.matching(query)
        if self._cache.pod_counters.made != made:
            self.budget.check()
        return counter

    def together_with(self, record: PodInfo) -> list[PodInfo]:
        """All pods that are preempted with one, itself included, on whatever nodes they are."""
        uids = self.grouped_pods.together_with(record.pod) if isinstance(record.pod, Pod) else ()
        found = (self._cache.pod_info(uid) for uid in uids)
        return [one for one in found if one is not None] or [record]

    def pods_on(self, node: str) -> Iterator[PodInfo]:
        """The pods on a node, assumed ones included."""
        pods = self._cache.pods_on(node)
        return pods if self._trial is None else self._trial.pods_on(node, pods)

    @contextlib.contextmanager
    def trial(self) -> Iterator[Trial]:
        """Changes made through the yielded trial are undone at the end, whatever happens in
        between; one at a time.
        """
        if self._trial is not None:
            raise RuntimeError("a trial is going on")
        self._trial = Trial(self._cache.nodes, self._cache.volumes)
        try:
            yield self._trial
        finally:
            self._trial.undo()
            self._trial = None
