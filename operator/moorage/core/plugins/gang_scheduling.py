"""GangScheduling: a profile of kube-scheduler names it to have pod groups scheduled as one; every
profile here does that, with or without it.

Cost: none.
Source: kube-scheduler (v1.37), where this plugin counts members. Here the queue does
(``core/queue/pod_group_members.py``), for groups of all APIs.
"""

from __future__ import annotations

import dataclasses
from typing import ClassVar

from moorage.core.columns.store import Lister
from moorage.core.framework.cluster_events import ClusterEventWithHint
from moorage.core.framework.status import SUCCESS, Reason, Status
from moorage.core.objects.pods import Pod

NAME = "GangScheduling"


@dataclasses.dataclass(frozen=True, slots=True)
class GangScheduling:
    """Lets every pod pass."""

    name: ClassVar[str] = NAME
    reasons: ClassVar[tuple[Reason, ...]] = ()
    events_to_register: ClassVar[tuple[ClusterEventWithHint, ...]] = ()

    def pre_enqueue(self, _pod: Pod, _store: Lister) -> Status:
        """Members are held by their group, not by this."""
        return SUCCESS
