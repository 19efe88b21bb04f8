"""Placements: the sets of nodes that are tried for a pod group, and which of them is best, as the
plugins of a revision say.

Source: KEP-5732; kube-scheduler's placementGenerate and placementScore (v1.37).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from moorage.core.columns.nodes.label_columns import ABSENT
from moorage.core.cycle.context import CycleContext
from moorage.core.framework.guard import PluginFault
from moorage.core.framework.interfaces import ExtensionPoint
from moorage.core.framework.placement_contract import (
    Assignments,
    PlacementPlan,
    Proposal,
)
from moorage.core.framework.revisions import Revision
from moorage.core.framework.status import SUCCESS, Code, Status, error_status
from moorage.core.groups.group_spec import GroupSpec
from moorage.core.structures.tie_breaking import name_hash, pick

NO_PLACEMENTS: Final = Status(Code.UNSCHEDULABLE, ("no feasible placements found",))


def plan(
    group: GroupSpec, scheduled: Assignments, revision: Revision, context: CycleContext
) -> PlacementPlan | Status:
    """Where the group may be tried; ``scheduled`` are the members that have a node. A status where
    there is no such place.
    """
    found: PlacementPlan | Status = PlacementPlan()
    context.observer.begin(ExtensionPoint.PLACEMENT_GENERATE)
    for _, plugin in revision.at(ExtensionPoint.PLACEMENT_GENERATE):
        found = plugin.plan_placements(group, scheduled, context.snapshot)
    if isinstance(found, PlacementPlan) and found.required is not None:
        found = found if (found.required.domains != ABSENT).any() else NO_PLACEMENTS
    code = found.code if isinstance(found, Status) else Code.SUCCESS
    context.observer.end(ExtensionPoint.PLACEMENT_GENERATE, code.value, revision.scheduler_name)
    return found


def best(
    group: GroupSpec, proposals: Sequence[Proposal], revision: Revision, context: CycleContext
) -> int | Status:
    """Which of these is best, ties by (seed, group, placement); ERROR where a plugin fails."""
    totals, status = np.zeros(len(proposals), np.int64), SUCCESS
    context.observer.begin(ExtensionPoint.PLACEMENT_SCORE)
    try:
        for name, plugin in revision.at(ExtensionPoint.PLACEMENT_SCORE):
            scores = plugin.score_placements(group, proposals, context.snapshot)
            totals += scores * revision.placement_weights[name]
    except PluginFault as fault:
        status = error_status(f"running PlacementScore plugins: {fault}")
    context.observer.end(ExtensionPoint.PLACEMENT_SCORE, status.code.value, revision.scheduler_name)
    if status is not SUCCESS:
        return status
    equals = np.flatnonzero(totals == totals.max())
    names = np.array([name_hash(one.placement.name) for one in proposals], np.uint64)
    return pick(equals, names, group.tie_breaker, context.seed)
