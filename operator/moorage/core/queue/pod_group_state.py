"""The state of a pod group in the queue: its members by where they are, and what they add up to."""

from __future__ import annotations

import dataclasses
from collections import Counter

from moorage.core.groups.group_spec import GroupSpec
from moorage.core.groups.member_kinds import MemberKind
from moorage.core.objects.pod_groups import GroupKey, Membership
from moorage.core.queue.queued_pod import QueuedPodInfo

POD_GROUP_GATE = "PodGroup"
"""What gates members whose group is not complete, beside the preEnqueue plugins."""


@dataclasses.dataclass(slots=True, eq=False)
class PodGroupState:
    """The members of one group that name one schedulerName."""

    key: GroupKey
    scheduler_name: str
    waiting: dict[str, QueuedPodInfo] = dataclasses.field(default_factory=dict)
    """By UID: those that nothing but their group keeps out."""
    in_flight: dict[str, QueuedPodInfo] = dataclasses.field(default_factory=dict)
    """By UID: those in flight."""
    held_back: dict[str, QueuedPodInfo] = dataclasses.field(default_factory=dict)
    """By UID, of a PodGroup of Kubernetes: those that another plugin gates, and by that all."""
    assigned: Counter[str] = dataclasses.field(default_factory=Counter)
    """UIDs of members in flight, placed (assumed or on a node), or both: the count says how many of
    the two.
    """
    placed: Counter[str] = dataclasses.field(default_factory=Counter)
    """UIDs of members that occupy a node."""
    kinds: Counter[MemberKind] = dataclasses.field(default_factory=Counter)
    """What those must have in common."""
    said: Counter[Membership] = dataclasses.field(default_factory=Counter)
    """What members say of it."""
    seen: set[str] = dataclasses.field(default_factory=set)
    """UIDs of members that were seen on nodes, until the minimum is met."""
    met: bool = False
    """Whether as many were seen as it needs: those that follow or replace others need nobody."""
    spec: GroupSpec | None = None
    """What it asked for when that was last looked at."""
    counted: int = 0
    """How many members counted then."""
    complete: bool = False
    complete_since: float = 0.0
    needed: int = 0
    """While it is complete: how many members had to be placed at once when that was last looked
    at.
    """

    @property
    def name(self) -> str:
        """``namespace/name``."""
        return str(self.key)

    @property
    def present(self) -> int:
        """How many members count."""
        return len(self.waiting) + len(self.held_back) + len(self.assigned)

    @property
    def bound(self) -> int:
        """How many are placed and need nothing more."""
        return len(self.assigned) - len(self.in_flight)

    @property
    def gated(self) -> list[QueuedPodInfo]:
        """Those that wait for others to come."""
        return [entry for entry in self.waiting.values() if entry.gating_plugin == POD_GROUP_GATE]
