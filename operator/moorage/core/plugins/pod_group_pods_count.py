"""PodGroupPodsCount: of several placements of a pod group, the one that takes most members is best.

Cost: none.
Source: KEP-5732; kube-scheduler PodGroupPodsCount (v1.37).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from moorage.core.columns.snapshot import Snapshot
from moorage.core.framework.cluster_events import ClusterEventWithHint
from moorage.core.framework.interfaces import MAX_NODE_SCORE, Scores
from moorage.core.framework.placement_contract import Proposal
from moorage.core.framework.status import Reason
from moorage.core.groups.group_spec import GroupSpec

NAME = "PodGroupPodsCount"


@dataclasses.dataclass(frozen=True, slots=True)
class PodGroupPodsCount:
    """Counts members."""

    name: ClassVar[str] = NAME
    reasons: ClassVar[tuple[Reason, ...]] = ()
    events_to_register: ClassVar[tuple[ClusterEventWithHint, ...]] = ()

    def score_placements(
        self, _group: GroupSpec, proposals: Sequence[Proposal], _snapshot: Snapshot
    ) -> Scores:
        """Members that have a node then, in percent of the most."""
        counts = np.array([one.scheduled + len(one.assignments) for one in proposals], np.int64)
        percent: Scores = counts * MAX_NODE_SCORE // max(1, int(counts.max(initial=0)))
        return percent
