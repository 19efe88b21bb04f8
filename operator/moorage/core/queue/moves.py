"""Moves in the scheduling queue: from which state to which a pod goes, and what moves are called.

==============  ======================  ============================================================
from            to                      when
==============  ======================  ============================================================
outside         active                  a pod comes and every preEnqueue plugin lets it in
outside         gated                   … and one does not
outside         unserved                … and its profile is unknown or suspended
active          in flight               its turn (``pop``), or that of a member of its pod group
backoff         active                  its backoff is over (``flush``)
backoff         in flight               nobody is active, and it was rejected, not failed (``pop``);
                                        or a member's turn
unschedulable   in flight               a member's turn
in flight       unschedulable           rejected, and nothing happened meanwhile that could free it
                                        (``requeue``)
in flight       backoff, active         it failed by a fault; or rejected, but freed meanwhile
in flight       backoff                 it was not tried after all (``put_back``)
unschedulable   backoff, active         an event or a swap may free it; its own update does; or it
                                        was there for too long
gated           active, backoff         likewise, and every preEnqueue plugin lets it in
active,         gated                   a swap changed the preEnqueue plugins and one does not let
backoff,                                it in (``set_profile``); or one shut in the meantime; its
unschedulable,                          pod group is not complete any more (``flush``)
in flight
gated           active, backoff         its pod group is complete (``flush``)
gated           gated                   another plugin gates it now
gated           active, backoff         the preEnqueue plugin that failed was asked again, and lets
                                        it in (``flush``)
all but         unserved                its profile goes or is suspended (``set_profile``)
in flight
in flight       unserved                … and then its attempt failed
unserved        active, backoff, gated  its profile is there again
anywhere        outside                 the pod is gone or has a node (``remove``); its binding
                                        succeeded (``done``)
==============  ======================  ============================================================

Going on from a rejection or a fault means active if the backoff is over, else backoff.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from moorage.core.framework.cluster_events import ActionType, ClusterEvent, EventResource
from moorage.core.queue.queued_pod import QueuedPodInfo, QueueState

UNSCHEDULED_POD_ADDED = ClusterEvent(EventResource.UNSCHEDULED_POD, ActionType.ADD).label
SCHEDULE_ATTEMPT_FAILURE = "ScheduleAttemptFailure"
PUT_BACK = "PutBack"
BACKOFF_COMPLETE = "BackoffComplete"
POP_FROM_BACKOFF_Q = "PopFromBackoffQ"
UNSCHEDULABLE_TIMEOUT = "UnschedulableTimeout"
PROFILE_UPDATED = ClusterEvent(EventResource.PROFILE, ActionType.UPDATE).label
NOMINATION_CHANGED = "NominationChanged"
POD_GROUP_CHANGED = "PodGroupReadinessChanged"

_ACTIVE, _BACKOFF, _UNSCHEDULABLE = QueueState.ACTIVE, QueueState.BACKOFF, QueueState.UNSCHEDULABLE
_GATED, _IN_FLIGHT, _UNSERVED = QueueState.GATED, QueueState.IN_FLIGHT, QueueState.UNSERVED
ALLOWED_TRANSITIONS: Mapping[QueueState | None, tuple[QueueState | None, ...]] = {
    None: (_ACTIVE, _GATED, _UNSERVED),
    _ACTIVE: (_IN_FLIGHT, _GATED, _UNSERVED, None),
    _BACKOFF: (_ACTIVE, _IN_FLIGHT, _GATED, _UNSERVED, None),
    _UNSCHEDULABLE: (_ACTIVE, _BACKOFF, _IN_FLIGHT, _GATED, _UNSERVED, None),
    _GATED: (_ACTIVE, _BACKOFF, _GATED, _UNSERVED, None),
    _IN_FLIGHT: (_ACTIVE, _BACKOFF, _UNSCHEDULABLE, _GATED, _UNSERVED, None),
    _UNSERVED: (_ACTIVE, _BACKOFF, _GATED, None),
}
"""From each state (None: outside), where a pod can go: the table above."""


class IllegalTransition(RuntimeError):
    """The caller asked for a move that is not in the table; nothing has changed."""


class SubQueue(Protocol):
    """What holds the pods of a state."""

    def add(self, entry: QueuedPodInfo) -> None:
        """Put a pod in, or, if it is in, in the place that its newest state gives it."""

    def discard(self, entry: QueuedPodInfo) -> None:
        """Take a pod out, if it is in."""
