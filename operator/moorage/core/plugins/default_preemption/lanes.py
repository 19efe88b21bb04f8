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
    violations: npt.NDArray[np.int64]
    """How many pods of each unit budgets protect. int64[units]."""
    bundles: Bundles | None = None

    @property
    def queue(self) -> IntRows:
        """The units in the order in which they are put back: on each row those come first whose
        going would violate a budget, the most important ones first in either group.
        """
        units = np.arange(self.violations.size)
        if not self.violations.any():
            return units
        row = np.searchsorted(self.ends, units, "right")
        return np.lexsort((units, self.violations == 0, row))

    def remove(self, what_if: DryRun, units: IntRows) -> None:
        """Try their rows without these units."""
        what_if.remove(self.batch, self._places(units))
        self._tell(what_if, units, -1)

    def add(self, what_if: DryRun, units: IntRows) -> None:
        """Try them with these units there again."""
        what_if.add(self.batch, self._places(units))
        self._tell(what_if, units, 1)

    def pods_of(self, units: IntRows) -> tuple[Pod, ...]:
        """All pods of these units, on whatever rows they are."""
        if self.bundles is None:
            records = self.batch.records
            return _pods([records[j] for j in units.tolist()])
        return _pods(record for j in units.tolist() for record in self.bundles.units[j].records)

    def _places(self, units: IntRows) -> IntRows:
        return units if self.bundles is None else self.bundles.places(units)

    def _tell(self, what_if: DryRun, units: IntRows, sign: int) -> None:
        if self.bundles is not None:
            for j in units.tolist():
                if others := self.bundles.elsewhere.get(j):
                    what_if.tell(int(self.batch.rows[self.bundles.firsts[j]]), others, sign)


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
    violations = np.zeros(len(batch.records), np.int64)
    if by_namespace:
        there = zip(_pods(batch.records), batch.rows.tolist(), strict=True)
        violations[:] = violating_pods(there, by_namespace)
    return Lanes(rows, *_bounds(pods), batch, violations)


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
    return Lanes(rows, *_bounds(units), batch, violations, Bundles(everyone, firsts, elsewhere))


def _bounds(units: Sequence[Sequence[object]]) -> tuple[IntRows, IntRows]:
    """Where each row's units begin and end."""
    ends = np.cumsum([len(each) for each in units], dtype=np.intp)
    return np.concatenate([[0], ends[:-1]]), ends


def _pods(records: Iterable[PodInfo]) -> tuple[Pod, ...]:
    return tuple([record.pod for record in records if isinstance(record.pod, Pod)])
