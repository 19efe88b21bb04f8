"""The simulator: the scheduling queue, a clock of its own and what is to come, around
``core.cycle``.

It does what the engine does with a decision, at once and without anybody's doing: a pod that is
placed is there, victims are gone and wait again. Time passes only between what is to come. Nobody
is asked who is outside: extenders have no say, and what an actor would do is not done.
"""

from __future__ import annotations

import contextlib
import heapq
import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence

from moorage.core.columns.pod_info import PodInfo
from moorage.core.cycle import cycle
from moorage.core.cycle.context import CycleContext, Decision, Diagnosis, ScheduleResult
from moorage.core.framework.cluster_events import ActionType, ClusterEvent, EventResource
from moorage.core.framework.object_changes import node_changes, resources_freed
from moorage.core.framework.revisions import Revision
from moorage.core.framework.status import REJECTED, Code
from moorage.core.objects.meta import HasMetadata, key
from moorage.core.objects.nodes import Node
from moorage.core.objects.pod_groups import GroupKey, group_of
from moorage.core.objects.pods import Pod, belongs_to_node, on_node, priority
from moorage.core.plugins.priority_sort import PrioritySort
from moorage.core.queue.group_moves import rejectors
from moorage.core.queue.hints import ProfileQueueConfig, queue_config_of
from moorage.core.queue.pod_group_members import PodGroupTracker
from moorage.core.queue.queued_pod import QueuedPodInfo, QueueState
from moorage.core.queue.scheduling_queue import SchedulingQueue
from moorage.core.simulation.reasons import reasons
from moorage.core.simulation.replacements import made_again
from moorage.core.simulation.simulated_groups import SimulatedGroups
from moorage.core.simulation.undoing import UndoLog, node_named

BACKOFF_SECONDS, MAX_BACKOFF_SECONDS = 1.0, 10.0
"""As an OperatorConfiguration has them by default."""
MAX_FAULTS = 3
"""Attempts in a row that may end in a fault, until a pod is given up."""
MAX_PREEMPTIONS = 10
"""How often room is made for a pod, until it is given up: what had to go may come back where it is
in the way again, and so for ever.
"""
_RESOURCES = {resource.value: resource for resource in EventResource}


class Simulator:
    """Places pods on a context that belongs to it.

    ``revisions`` decide, by schedulerName. ``now``: seconds of the simulated clock. What it does is
    in ``log``, so that it can be undone. ``on_placed`` is called whenever a pod has its place.
    """

    def __init__(
        self,
        context: CycleContext,
        revisions: Mapping[str, Revision],
        *,
        now: float = 0.0,
        on_placed: Callable[[ScheduleResult], None] | None = None,
    ) -> None:
        self.context = context
        self.revisions = revisions
        self.now = now
        self.placed: dict[str, ScheduleResult] = {}
        """By UID: the pods that have a place by a decision made here."""
        self.diagnoses: dict[str, Diagnosis] = {}
        """By UID: why a pod that waits was refused the last time."""
        self.preempted: dict[str, float] = {}
        """By UID: when a pod had to go for another one first; it waits again, or has another place.
        """
        self.faults: dict[str, str] = {}
        """By plugin: what it failed with, the last time."""
        self._on_placed = on_placed
        self._given_up: dict[str, QueuedPodInfo] = {}
        """By UID: the pods that failed too often."""
        self._faults: Counter[str] = Counter()
        """By UID: in how many attempts in a row a pod had a fault."""
        self._events = 0
        """How many changes the queue was told of."""
        self._tried_at: dict[GroupKey, int] = {}
        """How many these were when a group was tried the last time."""
        self._preemptions: Counter[str] = Counter()
        """By UID: how often room was made for a pod."""
        self._groups = PodGroupTracker(context.cache.store)
        self._pod_groups = SimulatedGroups(context, self._groups)
        self.log = UndoLog(context, self._groups)
        self.queue = SchedulingQueue(PrioritySort().sort_key, self._groups, self)
        self._to_come: list[tuple[float, int, Callable[[], None]]] = []
        self._numbers = itertools.count()
        self._groups.all_listed()
        for record in context.cache.pod_infos():
            if isinstance(record.pod, Pod) and group_of(record.pod) is not None:
                self._groups.placed(record.pod, 1)
                self._groups.pod_bound(record.pod)
        for name, revision in revisions.items():
            self.queue.set_profile(name, _queue_config(revision), now)

    # ---- what happens ----------------------------------------------------------------------------

    def at(self, time: float, happen: Callable[[], None]) -> None:
        """Have this happen then; of what happens at one time, in the order in which it was said."""
        heapq.heappush(self._to_come, (time, next(self._numbers), happen))

    def arrive(self, pod: Pod) -> None:
        """A pod comes that waits for a node."""
        self.log.wait(pod)
        self._events += 1
        self.queue.add(pod, self.now)

    def leave(self, uid: str) -> None:
        """A pod ends, wherever it is."""
        cache = self.context.cache
        record, waiting = cache.pod_info(uid), cache.waiting.get(uid)
        self.queue.remove(uid)
        self.diagnoses.pop(uid, None)
        self._given_up.pop(uid, None)
        if record is not None:
            self._take_off(record)
        if waiting is not None:
            self.log.remove_waiting(waiting)

    def evict(self, record: PodInfo) -> None:
        """A pod leaves its node; whoever has made it makes it again, and that one waits."""
        self._take_off(record)
        if isinstance(record.pod, Pod) and record.pod.metadata.deletion_timestamp is None:
            self.arrive(made_again(record.pod))

    def put_node(self, node: Node) -> None:
        """A node comes, or is in another state."""
        old = node_named(node.metadata.name, self.context.cache)
        self.log.put_node(node)
        added = ClusterEvent(EventResource.NODE, ActionType.ADD, new=node)
        for event in [added] if old is None else node_changes(old, node):
            self._tell(event)

    def remove_node(self, name: str) -> None:
        """A node is gone; pods that are not bound to it are made again."""
        old = node_named(name, self.context.cache)
        if old is None:
            return
        for record in list(self.context.cache.pods_on(name)):
            if not belongs_to_node(record.pod):
                self.evict(record)
        self.log.remove_node(old)
        gone = ClusterEvent(EventResource.NODE, ActionType.DELETE, old=old)
        self._tell(gone)

    def update(self, pod: Pod) -> None:
        """A pod that waits is in another state."""
        if self.queue.get(pod.metadata.uid) is not None:
            self.log.wait(pod)
            self.queue.update(pod, self.now)

    def occupy(self, pod: Pod) -> None:
        """A pod is on its node without having waited for it."""
        self.log.observe(pod)
        self._tell_of(pod)

    def set_revision(self, name: str, revision: Revision) -> None:
        """This one decides for the schedulerName from now on."""
        old, self.revisions = self.revisions.get(name), {**self.revisions, name: revision}
        self.queue.set_profile(name, _queue_config(revision), self.now)
        if old is not None:
            self.queue.move_rejected_by(name, revision.changed_since(old), self.now)

    def put_object(self, obj: HasMetadata) -> None:
        """An object of another kind comes, or is in another state."""
        old = self.context.cache.store.objects(type(obj)).get(key(obj))
        self.log.put_object(obj)
        action = ActionType.ADD if old is None else ActionType.UPDATE
        self._tell(ClusterEvent(_resource(type(obj)), action, old, obj))

    def remove_object(self, kind: type[HasMetadata], name: str) -> None:
        """An object is gone; ``name`` is its ``namespace/name``."""
        old = self.context.cache.store.objects(kind).get(name)
        if old is not None:
            self.log.remove_object(old)
            event = ClusterEvent(_resource(kind), ActionType.DELETE, old)
            self._tell(event)

    # ---- time passes -----------------------------------------------------------------------------

    def run(self, until: float = math.inf) -> None:
        """Decide about all that wait until nothing moves any more, and let time pass as long as
        something is to come, but not beyond ``until``.
        """
        while True:
            entry = self.queue.pop(self.now)
            if entry is not None:
                self._attempt(entry)
            elif not self.queue.moves_pending:
                due = self._next_time()
                if due is None or due > until:
                    break
                self._pass_to(due)
        if until < math.inf:
            self.now = max(self.now, until)

    def undo(self) -> None:
        """Have everything as it was when this simulator was made, its clock aside."""
        for entry in list(self.queue.entries()):
            self.queue.remove(entry.uid)
        self.log.undo()
        self._to_come.clear()
        self.placed.clear()
        self.diagnoses.clear()
        self.preempted.clear()
        self._given_up.clear()
        self._preemptions.clear()
        self._faults.clear()
        self._tried_at.clear()

    @contextlib.contextmanager
    def trial(self) -> Iterator[None]:
        """Places that pods have, nodes and objects that come meanwhile are gone at the end. Nobody
        may run in between.
        """
        outer, self.log = self.log, UndoLog(self.context, self._groups)
        try:
            yield
        finally:
            self.log.undo()
            self.log = outer

    @property
    def waits(self) -> int:
        """How many pods have no place."""
        counts = self.queue.totals()
        queued = counts.active + counts.backoff + counts.unschedulable + counts.gated
        return queued + counts.unserved + len(self._given_up)

    def waiting(self) -> list[tuple[Pod, str]]:
        """The pods that have no place, in the order in which they came, and the first reason why
        (``reasons``).
        """
        entries = (*self.queue.entries(), *self._given_up.values())
        return [(entry.pod, self._why(entry)) for entry in entries]

    # ---- for the queue ---------------------------------------------------------------------------

    def pod_enqueued(self, queue: str, event: str, came: str) -> None:
        """Nobody counts here."""

    def pod_held(self, uid: str) -> None:
        """Nobody is told here."""

    def plugin_failed(self, plugin: str, pod: Pod, error: Exception) -> None:
        """A plugin failed when the queue asked it."""
        self.faults[plugin] = repr(error)

    # ---- inside ----------------------------------------------------------------------------------

    def _next_time(self) -> float | None:
        """When something happens next; None when nothing will."""
        coming = self._to_come[0][0] if self._to_come else None
        if coming is None and not any(map(self._may_go_on, self.queue.entries())):
            return None
        deadline = self.queue.next_deadline(self.now)
        return min((time for time in (coming, deadline) if time is not None), default=None)

    def _may_go_on(self, entry: QueuedPodInfo) -> bool:
        """Whether the end of its backoff may help. A group that nothing has changed for since it
        was tried would be tried for ever.
        """
        futile = entry.group is not None and self._tried_at.get(entry.group) == self._events
        return entry.state is QueueState.BACKOFF and not futile

    def _tell(self, event: ClusterEvent) -> None:
        self._events += 1
        self.queue.move_on_event(event, self.now)

    def _pass_to(self, time: float) -> None:
        self.now = max(self.now, time)
        while self._to_come and self._to_come[0][0] <= self.now:
            heapq.heappop(self._to_come)[2]()

    def _attempt(self, entry: QueuedPodInfo) -> None:
        revision = self.revisions[entry.scheduler_name]
        members = (entry, *entry.companions)
        victims: tuple[Pod, ...] = ()
        try:
            outcomes: Sequence[Decision]
            if entry.as_group:
                outcome = self._pod_groups.attempt(members, revision)
                victims, outcomes = outcome.victims, [outcome.members[one.uid] for one in members]
                self._note_placed(outcomes)
            else:
                outcomes = [self._place(entry.pod, revision)]
        except Exception as error:  # noqa: BLE001 - plugins may raise anything; it fails this pod
            text = f"scheduling failed: {error!r}"
            outcomes = [Diagnosis.error(member.pod, revision, text) for member in members]
        if entry.group is not None:
            self._tried_at[entry.group] = self._events
        for member, decision in zip(members, outcomes, strict=True):
            self._handle(member, decision)
        if victims:
            self._preemptions[entry.uid] += 1
            self._evict(victims)

    def _place(self, pod: Pod, revision: Revision) -> Decision:
        outcome = cycle.decide(pod, revision, self.context)
        return self.log.commit(outcome) if isinstance(outcome, ScheduleResult) else outcome

    def _note_placed(self, outcomes: Sequence[Decision]) -> None:
        for outcome in outcomes:
            if isinstance(outcome, ScheduleResult):
                self.log.note_placed(outcome)

    def _handle(self, entry: QueuedPodInfo, outcome: Decision) -> None:
        if isinstance(outcome, ScheduleResult):
            self._bound(entry, outcome)
            return
        self.diagnoses[entry.uid] = outcome
        if outcome.nominated_node is not None:
            self.context.cache.nominations.nominate(entry.pod, outcome.nominated_node, outcome.held)
        self._make_room(outcome)
        rejected = outcome.code in REJECTED
        self._faults[entry.uid] = 0 if rejected else self._faults[entry.uid] + 1
        kept_out_by = rejectors(entry, outcome.unschedulable_plugins, rejected)
        self.queue.requeue(entry, kept_out_by, self.now, outcome.code is Code.PENDING)
        futile = self._preemptions[entry.uid] > MAX_PREEMPTIONS
        if futile or self._faults[entry.uid] >= MAX_FAULTS:
            self.queue.remove(entry.uid)
            self.context.cache.nominations.nominate(entry.pod, "")
            self._given_up[entry.uid] = entry

    def _bound(self, entry: QueuedPodInfo, placement: ScheduleResult) -> None:
        pod = on_node(entry.pod, placement.node)
        self.queue.done(entry.uid)
        self.diagnoses.pop(entry.uid, None)
        self.placed[entry.uid] = placement
        self._groups.pod_bound(pod)
        self._tell_of(pod)
        if self._on_placed is not None:
            self._on_placed(placement)

    def _tell_of(self, pod: Pod) -> None:
        """A pod has come to its node."""
        event = ClusterEvent(EventResource.ASSIGNED_POD, ActionType.ADD, new=pod)
        self._tell(event)

    def _make_room(self, diagnosis: Diagnosis) -> None:
        """The victims go; pods of lower priority lose the node."""
        cache, node = self.context.cache, diagnosis.nominated_node or ""
        if diagnosis.victims:
            self._preemptions[diagnosis.pod.metadata.uid] += 1
            for record in list(cache.nominations.nominated_pods(node)):
                other = record.pod
                if isinstance(other, Pod) and priority(other) < priority(diagnosis.pod):
                    cache.nominations.nominate(other, "")
        self._evict(diagnosis.victims)

    def _evict(self, victims: Sequence[Pod]) -> None:
        for victim in victims:
            occupies = self.context.cache.pod_info(victim.metadata.uid)
            if occupies is not None:
                self.preempted.setdefault(victim.metadata.uid, self.now)
                self.evict(occupies)

    def _take_off(self, record: PodInfo) -> None:
        self.log.take_off(record)
        self.placed.pop(record.pod.metadata.uid, None)
        if isinstance(record.pod, Pod):
            self.log.free_claims(record.pod)
            self._tell(resources_freed(record.pod))

    def _why(self, entry: QueuedPodInfo) -> str:
        if entry.state is QueueState.UNSERVED:
            return f"no profile {entry.scheduler_name}"
        if entry.state is QueueState.GATED:
            return f"gated by {entry.gate_name}"
        diagnosis = self.diagnoses.get(entry.uid)
        if diagnosis is None or diagnosis.code not in REJECTED or entry.group:
            return "" if diagnosis is None else diagnosis.message
        now = reasons(entry.pod, self.revisions[entry.scheduler_name], self.context)
        return now[0].text if now else diagnosis.message


def _queue_config(revision: Revision) -> ProfileQueueConfig:
    return queue_config_of(revision, BACKOFF_SECONDS, MAX_BACKOFF_SECONDS)


def _resource(kind: type[HasMetadata]) -> EventResource:
    """What changes of a kind are to the queue; the kinds that it does not know wake everybody."""
    return _RESOURCES.get(kind.__name__, EventResource.ANY)
