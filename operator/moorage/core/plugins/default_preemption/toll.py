"""What a preemption costs those who go: how many pods, groups, and budgets."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from moorage.core.columns.pod_info import PodInfo
from moorage.core.columns.snapshot import Snapshot
from moorage.core.plugins.default_preemption.disruption_budgets import budgets, violating_units
from moorage.core.plugins.default_preemption.units import units_of


class Toll(NamedTuple):
    """``groups``: units of PodGroups among the victims. ``violations``: victims that a disruption
    budget protects.
    """

    victims: int
    groups: int
    violations: int


def toll_of(victims: Iterable[PodInfo], snapshot: Snapshot) -> Toll:
    """That of these pods, which are on nodes; pods that go with them are victims as well."""
    units = units_of(victims, snapshot)
    violations = violating_units(((unit.pods, 0) for unit in units), budgets(snapshot.store))
    return Toll(
        sum(len(unit.records) for unit in units),
        sum(unit.grouped for unit in units),
        sum(violations),
    )
