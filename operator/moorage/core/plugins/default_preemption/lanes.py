"""Lanes: the pods that are tried away from several rows, side by side.

Each row has a lane, in which each unit of pods that may go from it has its turn. A unit's pods on
other rows are in none of its lanes: only plugins whose state spans nodes hear of them, for that row
alone. So a unit on two rows is tried for both, each time as a whole.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from moorage.core.columns.nodes.node_columns import NodeColumns
from moorage.core.columns.pod_info import PodBatch, PodInfo
from moorage.core.framework.post_filter_contract import DryRun
from moorage.core.objects.pods import Pod
from moorage.core.plugins.default_preemption.disruption_budgets import (
    BudgetsByNamespace,
    violating_pods,
    violating_units,
)
from moorage.core.plugins.default_preemption.units import Unit

IntRows = npt.NDArray[np.intp]


class Bundles(NamedTuple):
    """Which pods of the batch go together, where some do."""

    units: Sequence[Unit]
    firsts: IntRows
    """The pods of unit j on the lane's row are at places firsts[j]..firsts[j + 1] of the batch."""
    elsewhere: Mapping[int, Sequence[PodInfo]]
    """Those of other rows, by the unit's number."""

    def places(self, units: IntRows) -> IntRows:
        """Where the pods of these units are in the batch."""
        spans = (range(self.firsts[j], self.firsts[j + 1]) for j in units.tolist())
        return np.fromiter(itertools.chain.from_iterable(spans), np.intp)


class Lanes(NamedTuple):
    """The units that are tried away: those of row i have the numbers starts[i]..ends[i], the most
    important one first. Without ``bundles`` each pod of the batch is one, and has its number.
    """

    rows: IntRows
    starts: IntRows
    ends: IntRows
    batch: PodBatch
    queue: IntRows
    """The units in the order in which they are put back, within each row's range."""
    violations: npt.NDArray[np.int64]
    """How many pods of each unit budgets protect. int64[units]."""
    bundles: Bundles | None = None

    def remove(self, what_if: DryRun, units: IntRows) -> None:
        """Try their rows without these units."""
        if self.bundles is None:
            what_if.remove(self.batch, units)
        else:
            what_if.remove(self.batch, self.bundles.places(units))
            self._tell(self.bundles, what_if, units, -1)

    def add(self, what_if: DryRun, units: IntRows) -> None:
        """Try them with these units there again."""
        if self.bundles is None:
            what_if.add(self.batch, units)
        else:
            what_if.add(self.batch, self.bundles.places(units))
            self._tell(self.bundles, what_if, units, 1)

    def pods_of(self, units: IntRows) -> tuple[Pod, ...]:
        """All pods of these units, on whatever rows they are."""
        if self.bundles is None:
            records = self.batch.records
            return _pods([records[j] for j in units.tolist()])
        return _pods(record for j in units.tolist() for record in self.bundles.units[j].records)

    def _tell(self, bundles: Bundles, what_if: DryRun, units: IntRows, sign: int) -> None:
        for j in units.tolist():
            if others := bundles.elsewhere.get(j):
                what_if.tell(int(self.batch.rows[bundles.firsts[j]]), others, sign)


def lanes_of_pods(
    rows: IntRows,
    pods: Sequence[Sequence[PodInfo]],
    nodes: NodeColumns,
    by_namespace: BudgetsByNamespace,
) -> Lanes:
    """Of rows with pods each of which is a unit; those of each row, the most important one
    first.
    """
    batch = PodBatch(list(itertools.chain.from_iterable(pods)), nodes)
    starts, ends = _bounds(pods)
    queue = np.arange(len(batch.records))
    violations = np.zeros(queue.size, np.int64)
    if by_namespace:
        there = zip(_pods(batch.records), batch.rows.tolist(), strict=True)
        violations[:] = violating_pods(there, by_namespace)
        queue = _queue(ends, violations)
    return Lanes(rows, starts, ends, batch, queue, violations)


def lanes_of_units(
    rows: IntRows,
    units: Sequence[Sequence[Unit]],
    nodes: NodeColumns,
    by_namespace: BudgetsByNamespace,
) -> Lanes:
    """Likewise of units."""
    local, elsewhere = [], {}
    row_of_unit = np.repeat(rows, [len(each) for each in units]).tolist()
    everyone = list(itertools.chain.from_iterable(units))
    for j, (unit, row) in enumerate(zip(everyone, row_of_unit, strict=True)):
        name = nodes.names[row]
        local.append([record for record in unit.records if record.node == name])
        if len(local[-1]) < len(unit.records):
            elsewhere[j] = [record for record in unit.records if record.node != name]
    firsts = np.cumsum([0, *map(len, local)], dtype=np.intp)
    batch = PodBatch(list(itertools.chain.from_iterable(local)), nodes)
    there = ((unit.pods, row) for unit, row in zip(everyone, row_of_unit, strict=True))
    violations = np.array(violating_units(there, by_namespace), np.int64)
    starts, ends = _bounds(units)
    bundles = Bundles(everyone, firsts, elsewhere)
    return Lanes(rows, starts, ends, batch, _queue(ends, violations), violations, bundles)


def _bounds(units: Sequence[Sequence[object]]) -> tuple[IntRows, IntRows]:
    """Where each row's units begin and end."""
    ends = np.cumsum(list(map(len, units)), dtype=np.intp)
    return np.concatenate([[0], ends[:-1]]), ends


def _queue(ends: IntRows, violations: npt.NDArray[np.int64]) -> IntRows:
    """On each row those units come first whose going would violate a budget; the most important
    ones first in either group. Budgets are charged in the order of importance.
    """
    units = np.arange(violations.size)
    row = np.searchsorted(ends, units, "right")
    return np.lexsort((units, violations == 0, row))


def _pods(records: Iterable[PodInfo]) -> tuple[Pod, ...]:
    return tuple([record.pod for record in records if isinstance(record.pod, Pod)])
