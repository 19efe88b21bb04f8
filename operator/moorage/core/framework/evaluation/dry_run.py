"""Dry runs: would these nodes take the pod, with some pods gone from them or others there?

Preemption asks it, and so does every decision about nodes that pods are nominated to. Pods are
tried on their own rows only; a plugin whose state spans nodes is told of each, and of pods of other
nodes that go with them, and answers with its state adjusted (``PreFilterExtensions``). Many rows
are asked side by side, each as if it alone had changed. Everything is as it was when the ``with``
block ends; nothing must catch up inside it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from moorage.core.columns.change_log import Aspect
from moorage.core.columns.pod_info import PodBatch, PodInfo
from moorage.core.columns.snapshot import Snapshot, Trial
from moorage.core.framework.evaluation.far_nominations import (
    FarNominatedPods,
    FarNominations,
    may_apply,
)
from moorage.core.framework.evaluation.plugin_result import PluginResult
from moorage.core.framework.interfaces import FilterPlugin, PreFilterExtensions, is_a
from moorage.core.framework.post_filter_contract import NodeRejection
from moorage.core.objects.pods import Pod

IntRows = npt.NDArray[np.intp]
States = dict[int, Any]
"""The state of a plugin that has ``PreFilterExtensions``, for each row where it differs from the
template's.
"""
_POD_ASPECTS = frozenset({Aspect.RESOURCES, Aspect.PORTS, Aspect.VOLUMES, Aspect.PODS})
"""What pods that are tried away or there change about a node."""


class FilterDryRun:
    """Asks filters about rows with some pods gone from them, or others there.

    ``filters`` are an evaluation's filter results, caught up; ``pod`` is the one to be placed.

    The pods nominated to a row that this pod must leave room for (other ones, of its priority or a
    higher one) count there. Those that a plugin whose state spans nodes is concerned with
    (``far_nominated_pods``) count for all rows: what they need of a claim or of a domain nobody may
    take elsewhere either.
    """

    def __init__(
        self,
        pod: Pod,
        filters: Mapping[str, PluginResult],
        snapshot: Snapshot,
        far: FarNominatedPods | None = None,
    ) -> None:
        self._snapshot = snapshot
        self._results = filters
        self._filters: list[tuple[int, FilterPlugin, Any]] = [
            (i, column.plugin, column.prepared.state)  # type: ignore[misc]  # filter results have filter plugins
            for i, column in enumerate(filters.values())
            if column.applies or (len(snapshot.nominations) and may_apply(column))
        ]
        self._silent = {i for i, column in enumerate(filters.values()) if not column.applies}
        """Filters that have no say, unless their state is another than the template's."""
        self._unaffected_codes = {
            i: column.values
            for i, column in enumerate(filters.values())
            if column.applies and column.reads.isdisjoint(_POD_ASPECTS)
        }
        """What filters have said of each row to which pods make no difference, as long as their
        state is the template's.
        """
        self._adjusted: dict[int, States] = {
            i: {} for i, plugin, _ in self._filters if is_a(plugin, PreFilterExtensions)
        }
        self._unaffecting_pods: dict[int, set[str]] = {i: set() for i in self._adjusted}
        """Pods (UIDs) that are of no concern to an adjusting plugin."""
        self._stack = contextlib.ExitStack()
        self._trial: Trial
        self._pod = pod
        self._far_nominated_pods = far
        self._nominated_pods: dict[int, Sequence[PodInfo]] = {}
        self._states_with_far: States = {}
        """By plugin: its state with the far nominated pods there, where no row has a state of its
        own.
        """

    def __enter__(self) -> Self:
        self._trial = self._stack.enter_context(self._snapshot.trial())
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()
        for states in self._adjusted.values():
            states.clear()

    def remove(self, batch: PodBatch, which: IntRows) -> None:
        """Without these pods of the batch (by place)."""
        self._trial.remove(batch, which)
        here = batch.rows[which].tolist()
        self._adjust(here, list(map(batch.records.__getitem__, which.tolist())), here, -1)

    def add(self, batch: PodBatch, which: IntRows) -> None:
        """With them there (again)."""
        self._trial.add_back(batch, which)
        here = batch.rows[which].tolist()
        self._adjust(here, list(map(batch.records.__getitem__, which.tolist())), here, 1)

    def tell(self, row: int, others: Sequence[PodInfo], sign: int) -> None:
        """For this row, as if pods of other nodes had come there (1) or left (-1): only plugins
        whose state spans nodes hear of it.
        """
        row_of = self._snapshot.nodes.row_of
        self._adjust([row] * len(others), others, [row_of[one.node] for one in others], sign)

    def run_filters(self, rows: IntRows) -> dict[int, NodeRejection]:
        """Who rejects these rows first; a row that is missing in the answer passes.

        Rows must pass with the pods nominated to them, the far ones too, and without them.
        """
        if not len(self._snapshot.nominations):
            return self._run_filters(rows)
        crowded = [row for row in rows.tolist() if self.nominated_pods(row)]
        if not crowded and not self.far_nominated_pods:
            return self._run_filters(rows)
        with self._with_nominated_pods(crowded):
            refused = self._run_filters(
                rows if self.far_nominated_pods else np.array(crowded, np.intp)
            )
        return self._run_filters(rows) | refused  # what was said first counts

    @property
    def far_nominated_pods(self) -> FarNominatedPods:
        """The far nominated pods; looked for once, unless somebody else has done it."""
        if self._far_nominated_pods is None:
            self._far_nominated_pods = FarNominations(self._results).find(self._pod, self._snapshot)
        return self._far_nominated_pods

    def nominated_pods(self, row: int) -> Sequence[PodInfo]:
        """The pods nominated to this row that are to be left room."""
        found = self._nominated_pods.get(row)
        if found is None:
            name = self._snapshot.nodes.names[row]
            found = self._snapshot.nominations.ahead_on(self._pod, name)
            self._nominated_pods[row] = found
        return found

    # ---- inside ----------------------------------------------------------------------------------

    @contextlib.contextmanager
    def _with_nominated_pods(self, crowded: list[int]) -> Iterator[None]:
        """With each far nominated pod on its row, and the pods nominated to these rows; a pod that
        is both is there once.
        """
        before = {i: dict(states) for i, states in self._adjusted.items()}
        guests = PodBatch(
            [record for row in crowded for record in self.nominated_pods(row)], self._snapshot.nodes
        )
        everyone, far = np.arange(len(guests.records)), self.far_nominated_pods
        self.add(guests, everyone)
        for i, plugin, state in self._filters:
            if i in far and is_a(plugin, PreFilterExtensions):
                self._states_with_far[i] = self._with_guests(plugin, state, far[i])
                for row, own in self._adjusted[i].items():
                    elsewhere = [(pod, at) for pod, at in far[i] if at != row]
                    self._adjusted[i][row] = self._with_guests(plugin, own, elsewhere)
        try:
            yield
        finally:
            self._states_with_far.clear()
            self._adjusted = before
            self._trial.remove(guests, everyone)

    def _with_guests(
        self, plugin: PreFilterExtensions, state: Any, guests: Iterable[tuple[Pod, int]]
    ) -> Any:
        """The state with these pods on these rows."""
        for pod, row in guests:
            state = plugin.adjust(state, pod, row, 1, self._snapshot)
        return state

    def _run_filters(self, rows: IntRows) -> dict[int, NodeRejection]:
        refused: dict[int, NodeRejection] = {}
        for i, plugin, alone in self._filters:
            if not rows.size:
                break
            if i in self._silent and not self._adjusted.get(i) and i not in self._states_with_far:
                continue
            codes, states = self._codes(i, plugin, alone, rows)
            for j in np.flatnonzero(codes).tolist():
                row = int(rows[j])
                refused[row] = NodeRejection(
                    i, plugin, states.get(row, self._states_with_far.get(i, alone)), int(codes[j])
                )
            rows = rows[codes == 0]
        return refused

    def _codes(
        self, i: int, plugin: FilterPlugin, alone: Any, rows: IntRows
    ) -> tuple[npt.NDArray[np.int64], States]:
        """The plugin's code for each row; those that have no state of their own, all at once."""
        state = self._states_with_far.get(i, alone)
        states = {row: own for row, own in self._adjusted.get(i, {}).items() if own is not state}
        if not states:
            return self._common_codes(i, plugin, alone, rows), states
        own = np.array([row in states for row in rows.tolist()], bool)
        codes = np.zeros(rows.size, np.int64)
        if not own.all():
            codes[~own] = self._common_codes(i, plugin, alone, rows[~own])
        for j in np.flatnonzero(own).tolist():
            codes[j] = plugin.filter(states[int(rows[j])], self._snapshot, rows[j : j + 1])[0]
        return codes, states

    def _common_codes(
        self, i: int, plugin: FilterPlugin, alone: Any, rows: IntRows
    ) -> npt.NDArray[np.int64]:
        """Those of rows without a state of their own."""
        state = self._states_with_far.get(i, alone)
        if i in self._unaffected_codes and state is alone:
            return self._unaffected_codes[i][rows]
        return plugin.filter(state, self._snapshot, rows)

    def _adjust(
        self, rows: list[int], records: Sequence[PodInfo], places: list[int], sign: int
    ) -> None:
        """For each of these rows, a pod came (``sign`` 1) to the row that is its place, which may
        be another one, or left it (-1).
        """
        for i, plugin, state in self._filters:
            if i in self._adjusted and is_a(plugin, PreFilterExtensions):
                states, strangers = self._adjusted[i], self._unaffecting_pods[i]
                for row, record, place in zip(rows, records, places, strict=True):
                    pod = record.pod
                    if not isinstance(pod, Pod) or pod.metadata.uid in strangers:
                        continue
                    before = states.get(row, state)
                    after = plugin.adjust(before, pod, place, sign, self._snapshot)
                    if after is before:
                        strangers.add(pod.metadata.uid)
                    else:
                        states[row] = after
