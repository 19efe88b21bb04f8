"""Queued pods: a pod in the queue, which state it is in and what became of its attempts."""

from __future__ import annotations

import dataclasses
import enum
import math
from collections.abc import Callable
from typing import Protocol

from moorage.core.framework.interfaces import SortKey
from moorage.core.objects.pod_groups import GroupKey, Membership, membership_of
from moorage.core.objects.pods import Pod

QueueSortFn = Callable[[Pod, float], SortKey]
"""(pod, queued_at) -> a key that is lower for the pod that is to go first."""


class QueueListener(Protocol):
    """Hears of what happens in the queue."""

    def pod_enqueued(self, queue: str, event: str, came: str) -> None:
        """A pod came into this sub-queue, by an event of this label, and with it the entity
        ``came``, as ``QueuedEntities`` says.
        """

    def pod_held(self, uid: str) -> None:
        """A pod is not to be tried for now: it is gated or unserved, or gated by another plugin."""

    def plugin_failed(self, plugin: str, pod: Pod, error: Exception) -> None:
        """The plugin failed when it was asked about the pod."""


SCHEDULING_GATES = "SchedulingGates"
"""The plugin that gates pods by their own gates."""
BACKOFF_NOT_COMPUTED = -math.inf
"""The end of a backoff that nobody has asked for since the last attempt: the profile that is live
then decides.
"""


class QueueState(enum.StrEnum):
    """Where a pod is; the value is the queue's name in metrics and status."""

    ACTIVE = "active"
    """Ready: to be tried as soon as its turn comes."""
    BACKOFF = "backoff"
    """Worth another try, but it failed just now: it waits a little."""
    UNSCHEDULABLE = "unschedulable"
    """Rejected: it waits for an event that a plugin which rejected it has registered for."""
    GATED = "gated"
    """Not to be tried until a preEnqueue plugin lets it in."""
    IN_FLIGHT = "inFlight"
    """Its attempt is running: being decided or being bound."""
    UNSERVED = "unserved"
    """Its profile is unknown, gone or suspended: it waits for that."""


@dataclasses.dataclass(slots=True, eq=False)
class QueuedPodInfo:
    """A pod in the queue.

    Times are seconds of the clock that gave ``now``. The engine writes ``attempt_started``,
    ``last_reported`` and ``report_suppressed_until``; all else only the queue writes.
    """

    pod: Pod
    """Its newest state."""
    scheduler_name: str
    timestamp: float
    """When it came, or when its last attempt failed: the older goes first among equals."""
    initial_attempt_timestamp: float = math.inf
    """When it could first have been tried; time spent gated or unserved before that does not count.
    inf: not yet.
    """
    state: QueueState | None = None
    """None: not in the queue (any more)."""
    attempts: int = 0
    unschedulable_count: int = 0
    """Attempts that ended in a rejection."""
    consecutive_errors_count: int = 0
    """Attempts that ended in a fault, since the last rejection."""
    backoff_expiration: float = BACKOFF_NOT_COMPUTED
    """When its backoff ends, or ended."""
    unschedulable_plugins: frozenset[str] = frozenset()
    """The plugins that rejected it in its last attempt; empty after a fault."""
    pending: bool = False
    """They said PENDING: once freed, it goes on without backoff."""
    gating_plugin: str = ""
    """The plugin that gates it, while it is gated."""
    gate_error_count: int = 0
    """How often, time after time, a preEnqueue plugin failed when it was asked to let it in."""
    gate_retry_at: float = math.inf
    """When the plugin that failed is asked again."""
    events_seen: int = 0
    """While in flight: how many events there had been when its attempt began (see
    ``in_flight``).
    """
    companions: tuple[QueuedPodInfo, ...] = ()
    """Members of its group that went in flight with it, in the queue's order: its attempt is theirs
    too.
    """
    as_group: bool = False
    """Its last attempt was that of its pod group as a whole, whoever came along."""
    prioritised: bool = False
    """It goes ahead of everybody the next time."""
    was_put_back: bool = False
    """It was not tried when its turn came, and waits a moment for the next one."""
    attempt_started: float = 0.0
    """When its attempt began; kept here for the engine."""
    last_reported: object = None
    """What kind of rejection was last reported for it, or the text on why it is not tried; kept
    here for the engine.
    """
    report_suppressed_until: float = -math.inf
    """Until then nothing of the same kind is reported again."""
    uid: str = dataclasses.field(init=False)
    """The pod's UID, by which the queue knows it."""
    membership: Membership | None = dataclasses.field(init=False)
    """What its newest state says of the pod group that it is a member of."""

    def __post_init__(self) -> None:
        """All states of a pod have one UID."""
        self.uid, self.membership = self.pod.metadata.uid, membership_of(self.pod)

    def attempt_failed(self, rejectors: frozenset[str], now: float, pending: bool) -> None:
        """Record an attempt that these plugins have rejected, or that failed by a fault."""
        self.timestamp, self.backoff_expiration = now, BACKOFF_NOT_COMPUTED
        self.unschedulable_plugins = rejectors
        self.pending = pending and bool(rejectors)
        self.unschedulable_count += bool(rejectors)
        self.consecutive_errors_count = 0 if rejectors else self.consecutive_errors_count + 1

    def put_back(self, until: float) -> None:
        """Record that its attempt was none: it keeps its timestamp and its counts, and has its next
        turn then.
        """
        self.attempts -= 1
        self.was_put_back, self.pending, self.backoff_expiration = True, False, until

    @property
    def group(self) -> GroupKey | None:
        """The pod group that it is a member of."""
        return None if self.membership is None else self.membership.key

    @property
    def may_go_early(self) -> bool:
        """Whether it may be popped before its backoff is over, when nobody is active: what kept it
        from being tried, or failed, is hardly over sooner. A PodGroup waits to the end.
        """
        return not (self.consecutive_errors_count or self.was_put_back or self.as_group)

    @property
    def gate_name(self) -> str:
        """The first of the pod's scheduling gates that are left, where these gate it; else the
        plugin that does.
        """
        gates = self.pod.spec.scheduling_gates
        return (
            gates[0].name
            if gates and self.gating_plugin == SCHEDULING_GATES
            else self.gating_plugin
        )

    @property
    def blocking_plugins(self) -> tuple[str, ...]:
        """The plugins that can set it free: its gate, or else those that rejected it. In a fixed
        order.
        """
        return (
            (self.gating_plugin,)
            if self.gating_plugin
            else tuple(sorted(self.unschedulable_plugins))
        )


@dataclasses.dataclass(frozen=True, slots=True)
class QueueCounts:
    """How many pods are where, and since when the one that waits longest could have been tried
    (None: there is none).
    """

    active: int
    backoff: int
    unschedulable: int
    gated: int
    in_flight: int
    unserved: int
    oldest: float | None
