"""The queue written down naively: one list of pods, everything found by looking at all of them.
Slow and plain.
"""

from __future__ import annotations

import dataclasses
import math

from moorage.core.columns.store import Store
from moorage.core.framework.cluster_events import ClusterEvent, EventResource
from moorage.core.framework.object_changes import pod_changes
from moorage.core.framework.status import SUCCESS
from moorage.core.objects.pods import Pod, priority
from moorage.core.queue.hints import ProfileQueueConfig
from moorage.core.queue.queued_pod import QueueCounts, QueueState


@dataclasses.dataclass
class NaivePod:
    """A pod and all that is known of it."""

    pod: Pod
    queued_at: float
    place: QueueState = QueueState.UNSERVED
    gate: str = ""
    first_queued_at: float | None = None
    attempts: int = 0
    refusals: int = 0
    errors: int = 0
    rejectors: frozenset[str] = frozenset()
    pending: bool = False
    until: float = math.nan
    """When its backoff ends; nan: nobody has asked yet."""
    missed: list[ClusterEvent] = dataclasses.field(default_factory=list)
    doubtful: bool = False
    """Whether it has to be tried again after its attempt, whatever it missed."""

    @property
    def name(self) -> str:
        """Its schedulerName."""
        return self.pod.spec.scheduler_name

    @property
    def blockers(self) -> frozenset[str]:
        """The plugins that can free it."""
        return frozenset({self.gate}) if self.place is QueueState.GATED else self.rejectors


class NaiveSchedulingQueue:
    """All pods in one list, looked through for everything."""

    def __init__(self, max_unschedulable: float) -> None:
        self.max_unschedulable = max_unschedulable
        self.views: dict[str, ProfileQueueConfig] = {}
        self.pods: dict[str, NaivePod] = {}

    # ---- operations ------------------------------------------------------------------------------

    def add(self, pod: Pod, now: float) -> None:
        """A pod comes."""
        self.pods[pod.metadata.uid] = it = NaivePod(pod, now)
        if it.name in self.views:
            self.go_on(it, now)

    def update(self, pod: Pod, now: float) -> None:
        """A pod changes."""
        it = self.pods[pod.metadata.uid]
        events = pod_changes(it.pod, pod)
        it.pod = pod
        if it.place is QueueState.IN_FLIGHT and it.name in self.views:
            it.doubtful |= any(
                wake.matches(event)
                for wakes in self.views[it.name].hints.values()
                for wake in wakes
                for event in events
            )
        if it.place in (QueueState.GATED, QueueState.UNSCHEDULABLE):
            for event in events:
                before = it.place, it.gate
                if self.frees(event, it):
                    self.go_on(it, now)
                if before != (it.place, it.gate):
                    break

    def candidates(
        self, now: float, early: bool, full: frozenset[str] = frozenset()
    ) -> list[NaivePod]:
        """The pods of which one may be popped now, of profiles that are none of these."""
        self.tick(now)
        if active := [it for it in self.at(QueueState.ACTIVE) if it.name not in full]:
            best = min(sort_key(it) for it in active)
            return [it for it in active if sort_key(it) == best]
        backing_off = (
            [it for it in self.at(QueueState.BACKOFF) if not it.errors and it.name not in full]
            if early
            else []
        )
        lowest = min(((it.until, sort_key(it)) for it in backing_off), default=None)
        return [it for it in backing_off if (it.until, sort_key(it)) == lowest]

    def popped(self, it: NaivePod) -> None:
        """This one was."""
        it.place, it.attempts, it.missed, it.doubtful = (
            QueueState.IN_FLIGHT,
            it.attempts + 1,
            [],
            False,
        )

    def requeue(self, it: NaivePod, rejectors: frozenset[str], pending: bool, now: float) -> None:
        """Its attempt failed."""
        it.queued_at, it.until, it.rejectors, it.pending = (
            now,
            math.nan,
            rejectors,
            pending and bool(rejectors),
        )
        if rejectors:
            it.refusals, it.errors = it.refusals + 1, 0
        else:
            it.errors += 1
        if it.name not in self.views:
            it.place = QueueState.UNSERVED
        elif not rejectors or it.doubtful or any(self.frees(event, it) for event in it.missed):
            self.go_on(it, now)
        else:
            it.place = QueueState.UNSCHEDULABLE

    def wake(self, event: ClusterEvent, now: float) -> None:
        """Something happens."""
        for it in self.pods.values():
            if it.place is QueueState.IN_FLIGHT:
                it.missed.append(event)
            elif it.place in (QueueState.GATED, QueueState.UNSCHEDULABLE) and self.frees(event, it):
                self.go_on(it, now)

    def wake_profile(self, name: str, plugins: frozenset[str], now: float) -> None:
        """Plugins of a profile were swapped."""
        for it in self.pods.values():
            if it.name == name and it.place is QueueState.IN_FLIGHT:
                it.doubtful = True
            elif (
                it.name == name and it.place is QueueState.UNSCHEDULABLE and it.rejectors & plugins
            ):
                self.go_on(it, now)

    def set_profile(self, name: str, view: ProfileQueueConfig | None, now: float) -> None:
        """A profile is there, is another one, or is gone."""
        old = self.views.pop(name, None)
        if view is not None:
            self.views[name] = view
        if view is not None and old is not None and view.pre_enqueue == old.pre_enqueue:
            return
        for it in self.pods.values():
            if it.name == name and it.place is QueueState.IN_FLIGHT:
                it.doubtful = True
            elif it.name == name and view is None:
                it.place, it.gate = QueueState.UNSERVED, ""
            elif it.name == name and it.place is not QueueState.UNSCHEDULABLE:
                self.go_on(it, now)

    def tick(self, now: float) -> None:
        """Time goes by."""
        for it in self.pods.values():
            if it.place is QueueState.BACKOFF and it.until <= now:
                it.place = QueueState.ACTIVE
            elif (
                it.place is QueueState.UNSCHEDULABLE
                and it.queued_at + self.max_unschedulable <= now
            ):
                self.go_on(it, now)

    # ---- rules -----------------------------------------------------------------------------------

    def go_on(self, it: NaivePod, now: float) -> None:
        """To where it may go."""
        view = self.views[it.name]
        if math.isnan(it.until):
            failures = it.errors or it.refusals
            delay = (
                min(view.initial_backoff * 2 ** (failures - 1), view.max_backoff) if failures else 0
            )
            it.until = math.ceil(it.queued_at + delay) if delay else it.queued_at
        shut = [
            gate.name for gate in view.pre_enqueue if gate.pre_enqueue(it.pod, Store()) != SUCCESS
        ]
        if shut:
            it.gate = it.gate if it.gate in shut else shut[0]
            it.place = QueueState.GATED
            return
        it.place, it.gate = (
            QueueState.BACKOFF if it.until > now and not it.pending else QueueState.ACTIVE,
            "",
        )
        if it.first_queued_at is None:
            it.first_queued_at = now

    def frees(self, event: ClusterEvent, it: NaivePod) -> bool:
        """Whether the event may free it."""
        wakes = [
            wake for plugin in it.blockers for wake in self.views[it.name].hints.get(plugin, ())
        ]
        if event.resource is EventResource.ANY:
            return bool(wakes)
        return any(
            wake.matches(event) and (wake.hint is None or wake.hint(it.pod, event, Store()))
            for wake in wakes
        )

    # ---- looking ---------------------------------------------------------------------------------

    def at(self, place: QueueState) -> list[NaivePod]:
        """The pods that are there."""
        return [it for it in self.pods.values() if it.place is place]

    def counts(self, name: str | None) -> QueueCounts:
        """How many are where."""
        mine = [it for it in self.pods.values() if name in (None, it.name)]
        oldest = min(
            (it.first_queued_at for it in mine if it.first_queued_at is not None), default=None
        )
        active, backoff, unschedulable, gated, in_flight, unserved = (
            sum(it.place is place for it in mine) for place in QueueState
        )
        return QueueCounts(active, backoff, unschedulable, gated, in_flight, unserved, oldest)

    def deadline(self, now: float) -> float | None:
        """When time alone will move a pod."""
        due = [it.until for it in self.at(QueueState.BACKOFF)]
        due += [it.queued_at + self.max_unschedulable for it in self.at(QueueState.UNSCHEDULABLE)]
        return max(now, min(due)) if due else None

    def refusals(self) -> dict[tuple[str, str], int]:
        """How many wait for each plugin."""
        found: dict[tuple[str, str], int] = {}
        for it in self.at(QueueState.UNSCHEDULABLE):
            for plugin in it.rejectors:
                found[it.name, plugin] = found.get((it.name, plugin), 0) + 1
        return found


def sort_key(it: NaivePod) -> tuple[float, float]:
    """The queue's order."""
    return -priority(it.pod), it.queued_at
