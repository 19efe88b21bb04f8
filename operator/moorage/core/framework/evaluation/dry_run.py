"""What if: would these nodes take the pod, with some pods gone from them or others there?

Preemption asks it, and so does every decision about nodes that pods are nominated to. Pods are tried on their own rows only; a
plugin whose state spans nodes is told of each and answers with its state adjusted (``AdjustingPlugin``). Many rows are asked side
by side, each as if it alone had changed. Everything is as it was when the ``with`` block ends; nothing must catch up inside it.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
from collections.abc import Iterator, Mapping
from typing import Any, Self, TypeVar

import numpy as np
import numpy.typing as npt

from moorage.core.columns.change_log import Aspect
from moorage.core.columns.nominations import FAR, yields_to
from moorage.core.columns.pod_info import Herd, Record
from moorage.core.columns.snapshot import Snapshot, Trial
from moorage.core.framework.evaluation.plugin_result import Column
from moorage.core.framework.interfaces import AdjustingPlugin, FilterPlugin, Refusal, is_a
from moorage.core.objects.pods import Pod

T = TypeVar("T")
IntRows = npt.NDArray[np.intp]
States = dict[int, Any]
"""The state of an adjusting plugin, for each row where it differs from the template's."""
FarGuests = Mapping[int, list[tuple[Pod, int]]]
"""The far guests that each plugin whose state spans nodes (by place) is concerned with, and their rows."""
_MOVING = frozenset({Aspect.RESOURCES, Aspect.PORTS, Aspect.VOLUMES, Aspect.PODS})
"""What pods that are tried away or there change about a node."""


class WhatIf:
    """See the module's docstring. ``filters`` are a blueprint's filter columns, caught up; ``pod`` is the one to be placed.

    The pods nominated to a row that this pod must leave room for (other ones, of its priority or a higher one) are its guests. Those
    that a plugin whose state spans nodes is concerned with are guests of all rows, ``far`` ones: what they need of a claim or of a
    domain nobody may take elsewhere either.
    """

    def __init__(self, pod: Pod, filters: Mapping[str, Column], snapshot: Snapshot, far: FarGuests | None = None) -> None:
        self._snapshot = snapshot
        self._filters: list[tuple[int, FilterPlugin, Any]] = [
            (i, column.plugin, column.prepared.state)  # type: ignore[misc]  # filter columns have filter plugins
            for i, column in enumerate(filters.values())
            if column.takes_part or (len(snapshot.nominations) and _might(column))
        ]
        self._settled = {
            i: column.values for i, column in enumerate(filters.values()) if column.takes_part and column.reads.isdisjoint(_MOVING)
        }
        """What filters have said of each row to which pods make no difference, as long as their state is the template's."""
        self._adjusted: dict[int, States] = {i: {} for i, plugin, _ in self._filters if is_a(plugin, AdjustingPlugin)}
        self._strangers: dict[int, set[str]] = {i: set() for i in self._adjusted}
        """Pods (UIDs) that are of no concern to an adjusting plugin."""
        self._stack = contextlib.ExitStack()
        self._trial: Trial
        self._pod = pod
        self._far = far
        self._guests: dict[int, list[Record]] = {}
        self._everywhere: States = {}
        """By plugin: its state with the far guests there, where no row has a state of its own."""

    def __enter__(self) -> Self:
        self._trial = self._stack.enter_context(self._snapshot.trial())
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()
        for states in self._adjusted.values():
            states.clear()

    def remove(self, herd: Herd, which: IntRows) -> None:
        """Without these pods of the herd (by place)."""
        self._trial.remove(herd, which)
        self._adjust(herd, which, -1)

    def put_back(self, herd: Herd, which: IntRows) -> None:
        """With them there (again)."""
        self._trial.put_back(herd, which)
        self._adjust(herd, which, 1)

    def ask(self, rows: IntRows) -> dict[int, Refusal]:
        """Who refuses these rows first; a row that is missing in the answer passes.

        Rows must pass with their guests, the far ones too, and without them.
        """
        if not len(self._snapshot.nominations):
            return self._ask(rows)
        crowded = [row for row in rows.tolist() if self.guests(row)]
        if not crowded and not self.far:
            return self._ask(rows)
        with self._guests_there(crowded):
            refused = self._ask(rows if self.far else np.array(crowded, np.intp))
        return self._ask(rows) | refused  # what was said first counts

    @property
    def far(self) -> FarGuests:
        """The far guests; looked for once, unless somebody else has done it."""
        if self._far is None:
            self._far = self._find_far()
        return self._far

    def _find_far(self) -> FarGuests:
        pods = list(itertools.islice(_ahead_of(self._pod, self._snapshot), FAR))
        found = {}
        for i, plugin, state in self._filters if pods else ():
            if is_a(plugin, AdjustingPlugin):
                found[i] = [(pod, row) for pod, row in pods if plugin.adjust(state, pod, row, 1, self._snapshot) is not state]
        return {i: guests for i, guests in found.items() if guests}

    def guests(self, row: int) -> list[Record]:
        """The pods nominated to this row that are to be left room."""
        found = self._guests.get(row)
        if found is None:
            there = self._snapshot.nominations.on(self._snapshot.nodes.names[row])
            found = self._guests[row] = [record for record in there if yields_to(self._pod, record)] if there else []
        return found

    # ---- inside ------------------------------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def _guests_there(self, crowded: list[int]) -> Iterator[None]:
        """With each far guest on its row, and the guests of these rows, which may be the same ones; these have each once."""
        before = {i: dict(states) for i, states in self._adjusted.items()}
        guests = Herd([record for row in crowded for record in self.guests(row)], self._snapshot.nodes)
        everyone = np.arange(len(guests.records))
        self.put_back(guests, everyone)
        for i, plugin, state in self._filters:
            if i in self.far and is_a(plugin, AdjustingPlugin):
                everywhere = functools.partial(functools.reduce, functools.partial(self._joined, plugin))
                self._everywhere[i] = everywhere(self.far[i], state)
                for row, own in self._adjusted[i].items():
                    self._adjusted[i][row] = everywhere([(pod, at) for pod, at in self.far[i] if at != row], own)
        yield
        self._everywhere.clear()
        self._adjusted = before
        self._trial.remove(guests, everyone)

    def _joined(self, plugin: AdjustingPlugin, state: Any, guest: tuple[Pod, int]) -> Any:
        return plugin.adjust(state, *guest, 1, self._snapshot)

    def _ask(self, rows: IntRows) -> dict[int, Refusal]:
        refused: dict[int, Refusal] = {}
        for i, plugin, alone in self._filters:
            if not rows.size:
                break
            codes, states = self._codes(i, plugin, alone, rows)
            for j in np.flatnonzero(codes).tolist():
                row = int(rows[j])
                refused[row] = Refusal(i, plugin, states.get(row, self._everywhere.get(i, alone)), int(codes[j]))
            rows = rows[codes == 0]
        return refused

    def _codes(self, i: int, plugin: FilterPlugin, alone: Any, rows: IntRows) -> tuple[npt.NDArray[np.int64], States]:
        """The plugin's code for each row: all rows at once, but for those that have a state of their own."""
        state = self._everywhere.get(i, alone)
        states = {row: own for row, own in self._adjusted.get(i, {}).items() if own is not state}
        own = np.array([row in states for row in rows.tolist()], bool) if states else np.zeros(rows.size, bool)
        codes = np.zeros(rows.size, np.int64)
        if i in self._settled and state is alone:
            codes[~own] = self._settled[i][rows[~own]]
        elif not own.all():
            codes[~own] = plugin.filter(state, self._snapshot, rows[~own])
        for j in np.flatnonzero(own).tolist():
            codes[j] = plugin.filter(states[int(rows[j])], self._snapshot, rows[j : j + 1])[0]
        return codes, states

    def _adjust(self, herd: Herd, which: IntRows, sign: int) -> None:
        for i, plugin, state in self._filters:
            if i in self._adjusted and is_a(plugin, AdjustingPlugin):
                states, strangers = self._adjusted[i], self._strangers[i]
                for j, row in zip(which.tolist(), herd.rows[which].tolist(), strict=True):
                    pod = herd.records[j].pod
                    if not isinstance(pod, Pod) or pod.metadata.uid in strangers:
                        continue
                    before = states.get(row, state)
                    states[row] = plugin.adjust(before, pod, row, sign, self._snapshot)
                    if states[row] is before:
                        strangers.add(pod.metadata.uid)


def _ahead_of(pod: Pod, snapshot: Snapshot) -> Iterator[tuple[Pod, int]]:
    """The nominated pods, wherever they are, that a pod must leave room for, and their rows."""
    for record in snapshot.nominations.ahead_of(pod):
        row = snapshot.nodes.row_of.get(record.node)
        if isinstance(record.pod, Pod) and row is not None:
            yield record.pod, row


def beside_guests(plugin: AdjustingPlugin, state: T, pod: Pod, snapshot: Snapshot) -> T:
    """The state with all these pods there: by it ``reserve`` chooses, so that it takes nothing that filter left to them."""
    for other, row in _ahead_of(pod, snapshot) if len(snapshot.nominations) else ():
        state = plugin.adjust(state, other, row, 1, snapshot)
    return state


def _might(column: Column) -> bool:
    """Whether a plugin that has no say about the pod might have one beside the pods that are nominated."""
    return column.prepared.state is not None and is_a(column.plugin, AdjustingPlugin)
