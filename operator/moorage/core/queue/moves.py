"""Moves in the scheduling queue: what they are called, and what may not happen."""

from __future__ import annotations

from typing import Protocol

from moorage.core.framework.cluster_events import ActionType, ClusterEvent, EventResource
from moorage.core.queue.queued_pod import QueuedPodInfo

UNSCHEDULED_POD_ADDED = ClusterEvent(EventResource.UNSCHEDULED_POD, ActionType.ADD).label
SCHEDULE_ATTEMPT_FAILURE = "ScheduleAttemptFailure"
BACKOFF_COMPLETE = "BackoffComplete"
POP_FROM_BACKOFF_Q = "PopFromBackoffQ"
UNSCHEDULABLE_TIMEOUT = "UnschedulableTimeout"
PROFILE_UPDATED = ClusterEvent(EventResource.PROFILE, ActionType.UPDATE).label
NOMINATION_CHANGED = "NominationChanged"
POD_GROUP_CHANGED = "PodGroupReadinessChanged"


class IllegalTransition(RuntimeError):
    """The caller asked for a move that is not in the table; nothing has changed."""


class SubQueue(Protocol):
    """What holds the pods of one state."""

    def add(self, entry: QueuedPodInfo) -> None:
        """Put a pod in."""

    def discard(self, entry: QueuedPodInfo) -> None:
        """Take a pod out, if it is in."""
