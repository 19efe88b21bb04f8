"""PrioritySort: the pod with the highest priority goes first, among equals the one queued first.

Cost: a comparison of numbers in a heap.
Source: kube-scheduler (v1.37).
"""

from __future__ import annotations

import dataclasses
from typing import ClassVar

from moorage.core.framework.cluster_events import ClusterEventWithHint
from moorage.core.framework.interfaces import SortKey
from moorage.core.framework.status import Reason
from moorage.core.objects.pods import Pod, priority

NAME = "PrioritySort"


@dataclasses.dataclass(frozen=True, slots=True)
class PrioritySort:
    """Orders the active queue."""

    name: ClassVar[str] = NAME
    reasons: ClassVar[tuple[Reason, ...]] = ()
    events_to_register: ClassVar[tuple[ClusterEventWithHint, ...]] = ()

    def sort_key(self, pod: Pod, queued_at: float) -> SortKey:
        """Higher priority first, then who has waited longest."""
        return -priority(pod), queued_at
