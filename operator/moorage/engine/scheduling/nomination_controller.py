"""The nomination controller keeps nominations true: a pod that preemption nominated to a node gets
there, or is let go in bounded time.

What ends a nomination: the pod has its place or is gone; its next attempt finds otherwise; a pod of
higher priority takes the node, or so much of it that the rest is not enough; the node is deleted.
What makes the pod be tried again before its victims are gone: its node changes (a taint, another
size); somebody else nominates it; victims do not die. Those who should have been gone
``NOMINATION_TIMEOUT_SECONDS`` ago, their grace over, are given up: nobody counts on their room any
more, and the pod is tried again for another one.

Statuses follow through ``PodConditionWriter``. Pods of schedulers that are not ours are nominated
as well; their statuses are left alone. Nobody else ends such a nomination, nor that of a pod which
is gated: it lapses after ``NOMINATION_TIMEOUT_SECONDS``, and the grace of those that go there.
"""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Sequence

from moorage.core.columns.cache import Cache
from moorage.core.columns.pod_info import PodInfo, fits_with
from moorage.core.framework.object_changes import resources_freed
from moorage.core.objects.meta import PartialObject, key
from moorage.core.objects.pod_groups import group_of
from moorage.core.objects.pods import Pod, on_node, priority
from moorage.core.queue.queued_pod import QueueState
from moorage.core.queue.scheduling_queue import SchedulingQueue
from moorage.engine.live_revisions import LiveRevisions
from moorage.engine.reports.pod_conditions import PodConditionWriter
from moorage.ports.clock import Clock

log = logging.getLogger(__name__)

NOMINATION_TIMEOUT_SECONDS = 60.0
"""Seconds that a victim may take to be gone, beyond its grace. A kubelet needs a few to kill and
clean up.
"""
CHECK_INTERVAL_SECONDS = 1.0
REWRITE_INTERVAL_SECONDS = 10.0
"""Seconds after which a status that could not be written, or is not seen to be, is written
again.
"""
DEFAULT_GRACE_SECONDS = 30
_MAX_NAMED = 3
"""Pods that a message names at most."""
_TRIED_STATES = (
    QueueState.ACTIVE,
    QueueState.BACKOFF,
    QueueState.UNSCHEDULABLE,
    QueueState.IN_FLIGHT,
)


@dataclasses.dataclass(frozen=True, slots=True)
class NominationWaker:
    """Wakes pods that were kept out of a node for a nominated pod, once it is not nominated to that
    node any more.
    """

    queue: SchedulingQueue
    clock: Clock

    def nomination_cleared(self, pod: Pod, node: str) -> None:
        """Whoever was kept out for this pod may fit now."""
        self.queue.move_on_event(resources_freed(on_node(pod, node)), self.clock.boottime())


@dataclasses.dataclass(slots=True)
class NominationController:
    """Ends nominations that do not hold any more and has their pods tried again."""

    cache: Cache
    queue: SchedulingQueue
    pod_conditions: PodConditionWriter
    clock: Clock
    live: LiveRevisions
    _since: dict[str, tuple[str, float]] = dataclasses.field(default_factory=dict)
    """UID -> the node that the pod is nominated to and since when, as ``check`` has seen it."""
    _lagging: dict[str, float] = dataclasses.field(default_factory=dict)
    """UID -> since when its status has lagged, or when it was written last."""
    _unchecked: set[str] = dataclasses.field(default_factory=set)
    """Nodes that got a pod while another one in flight was nominated to them."""
    _check_due: float = 0.0

    def nominate(self, pod: Pod, node: str, held: bool = False) -> None:
        """The pod is nominated to this node, or to none (""); its status follows with the next word
        on it. ``held`` as in ``PodInfo``.
        """
        entry = self.queue.get(pod.metadata.uid)
        if entry is not None:  # else it is gone meanwhile, or has a node
            self.cache.nominations.nominate(entry.pod, node, held)

    def clear_lower(self, pod: Pod, node: str) -> None:
        """Pods of lower priority lose this node, and are tried again."""
        for other in self._ours_on(node):
            if priority(other) < priority(pod):
                self._end(other)

    def node_deleted(self, node: str) -> None:
        """A node was deleted: nominations to it cannot be kept."""
        for pod in self._ours_on(node):
            self._end(pod)

    def pod_placed(self, node: str) -> None:
        """A pod has come to a node: nominations end for which there is no room there any more, even
        when all have gone that go.

        Of a pod in flight ``check`` finds out later: those that are to go for it may not have been
        evicted yet.
        """
        nominated = self._ours_on(node)
        if not nominated or node not in self.cache.nodes.row_of:
            return
        # of one that is stuck the room cannot be counted on
        staying = [one for one in self.cache.pods_on(node) if one.stuck or not one.is_leaving]
        for pod in nominated:
            uid = pod.metadata.uid
            record, entry = self.cache.nominations.get(uid), self.queue.get(uid)
            if record is None or entry is None or fits_with(record, staying, self.cache.nodes):
                continue
            if entry.state is QueueState.IN_FLIGHT:
                self._unchecked.add(node)
            else:
                self._end(pod)

    def node_changed(self, node: str) -> None:
        """A node has changed: pods that are nominated to it are tried again, as it may not do."""
        self.pod_placed(node)
        for pod in self._ours_on(node):
            self.queue.retry(pod.metadata.uid, self.clock.boottime())

    def check_due(self, now: float) -> None:
        """``check`` from time to time; only a leader does."""
        if now >= self._check_due:
            self._check_due = now + CHECK_INTERVAL_SECONDS
            self.check()

    def check(self) -> None:
        """Find victims that do not die, pods that will not come, and statuses that lag."""
        now, since = self.clock.boottime(), dict[str, tuple[str, float]]()
        for record in list(self.cache.nominations):
            uid, node = record.pod.metadata.uid, record.node
            known = self._since.get(uid)
            since[uid] = known if known is not None and known[0] == node else (node, now)
            waited = now - since[uid][1]
            if waited <= NOMINATION_TIMEOUT_SECONDS or not isinstance(record.pod, Pod):
                continue
            if self._is_tried(record.pod):
                self._give_up_victims(record.pod, node, waited)
            elif waited > NOMINATION_TIMEOUT_SECONDS + self._grace_on(node):
                self._lapse(record.pod, node, waited)
        self._since.clear()
        self._since.update(since)
        unchecked = list(self._unchecked)
        self._unchecked.clear()
        for node in unchecked:
            self.pod_placed(node)
        self._rewrite_status(now)

    # ---- inside ----------------------------------------------------------------------------------

    def _ours_on(self, node: str) -> list[Pod]:
        there = [record.pod for record in self.cache.nominations.nominated_pods(node)]
        owns = self.live.owns
        return [pod for pod in there if isinstance(pod, Pod) and owns(pod.spec.scheduler_name)]

    def _end(self, pod: Pod) -> None:
        self.nominate(pod, "")
        self.pod_conditions.write_nomination(pod)
        self.queue.retry(pod.metadata.uid, self.clock.boottime())

    def _rewrite_status(self, now: float) -> None:
        lagging = self.cache.nominations.unwritten
        since = {uid: self._lagging.get(uid, now) for uid in lagging}
        for uid, entry in [(uid, self.queue.get(uid)) for uid in lagging]:
            if (
                now - since[uid] >= REWRITE_INTERVAL_SECONDS
                and entry is not None
                and self.live.owns(entry.scheduler_name)
            ):
                self.pod_conditions.write_nomination(entry.pod)
                since[uid] = now
        self._lagging.clear()
        self._lagging.update(since)

    def _is_tried(self, pod: Pod) -> bool:
        """Whether the pod has its turns with us, each of which says what it is nominated to."""
        entry = self.queue.get(pod.metadata.uid)
        return (
            entry is not None
            and entry.state in _TRIED_STATES
            and self.live.owns(pod.spec.scheduler_name)
        )

    def _grace_on(self, node: str) -> float:
        """The longest grace of the pods that go from a node."""
        return max(
            (
                _grace(record)
                for record in self.cache.pods_on(node)
                if record.pod.metadata.deletion_timestamp is not None
            ),
            default=0,
        )

    def _lapse(self, pod: Pod, node: str, waited: float) -> None:
        extra = {
            "pod": key(pod),
            "node": node,
            "scheduler": pod.spec.scheduler_name,
            "seconds": round(waited),
        }
        log.warning(
            "room is not kept any more for a pod that is nominated to a node and does not come",
            extra=extra,
        )
        self.cache.nominations.lapse(pod.metadata.uid)

    def _give_up_victims(self, pod: Pod, node: str, waited: float) -> None:
        level_of, mine = self.cache.priorities.level_of, priority(pod)
        stuck = [
            other
            for other in self.cache.pods_on(node)
            if _should_be_gone(other, waited)
            and isinstance(other.pod, Pod)
            and level_of(other.pod) < mine
        ]
        for other in stuck:
            log.warning(
                "a pod that was evicted does not go",
                extra={"pod": key(other.pod), "node": node, "for": key(pod)},
            )
            self.cache.mark_stuck(other.pod.metadata.uid)
        if stuck:
            self.queue.retry(pod.metadata.uid, self.clock.boottime())


def nominated_message(records: Sequence[PodInfo]) -> str:
    """Who keeps room that a pod would fit in, for its message; "" when nobody does."""
    each = [
        f"{record.node} for {key(record.pod)} {_known_by(record.pod)}"
        for record in records[:_MAX_NAMED]
    ]
    more = f" and {len(records) - _MAX_NAMED} more" if len(records) > _MAX_NAMED else ""
    return f" Room is kept on {', '.join(each)}{more}." if each else ""


def _known_by(pod: Pod | PartialObject) -> str:
    if isinstance(pod, Pod) and (group := group_of(pod)):
        return f"(pod group {group}, priority {priority(pod)})"
    return (
        f"(schedulerName {pod.spec.scheduler_name}, priority {priority(pod)})"
        if isinstance(pod, Pod)
        else ""
    )


def _should_be_gone(record: PodInfo, waited: float) -> bool:
    """Whether a pod is terminating for longer than it may take."""
    if record.stuck or record.pod.metadata.deletion_timestamp is None:
        return False
    return waited > NOMINATION_TIMEOUT_SECONDS + _grace(record)


def _grace(record: PodInfo) -> int:
    grace = record.pod.metadata.deletion_grace_period_seconds
    return DEFAULT_GRACE_SECONDS if grace is None else grace
