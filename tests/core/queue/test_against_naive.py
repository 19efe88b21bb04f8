"""Whatever happens in whatever order, the queue and the naive one agree on where every pod is, and
why.
"""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    initialize,
    invariant,
    multiple,
    rule,
)

from moorage.core.columns.store import Store
from moorage.core.framework.cluster_events import ClusterEvent
from moorage.core.plugins.priority_sort import PrioritySort
from moorage.core.queue.hints import PreEnqueueGate
from moorage.core.queue.pending_moves import MOVES_PER_SLICE
from moorage.core.queue.pod_group_members import PodGroupTracker
from moorage.core.queue.queued_pod import QueuedPodInfo, QueueState
from moorage.core.queue.scheduling_queue import SchedulingQueue
from tests.core.queue.helpers import (
    ANYTHING,
    GATE,
    LATCH,
    NODE_ADDED,
    NODE_DELETED,
    WAKES,
    a_pod,
    node_relabelled,
    pod_deleted,
    view,
)
from tests.core.queue.naive import NaiveSchedulingQueue
from tests.fakes.listeners import StrictQueueListener

NAMES = st.sampled_from(["test", "other"])
FULL = st.sampled_from(
    [frozenset[str](), frozenset({"test"}), frozenset({"other"}), frozenset({"test", "other"})]
)
GATES = st.sampled_from([(), (GATE,), (GATE, LATCH), (LATCH, GATE)])
LABELS = st.sets(st.sampled_from(["gate", "latch", "x"])).map(
    lambda names: dict.fromkeys(sorted(names), "")
)
PLUGINS = st.frozensets(st.sampled_from(sorted(WAKES)), max_size=3)
LEAVING = [
    pod_deleted(**{"is": "0"}),
    pod_deleted(**{"is": "1", "against": ""}),
    pod_deleted(against=""),
    pod_deleted(against="y"),
]
EVENTS = st.sampled_from(
    [NODE_ADDED, NODE_DELETED, ANYTHING, node_relabelled("0"), node_relabelled("1"), *LEAVING]
)
BACKOFFS = st.sampled_from([(1.0, 10.0), (1.0, 2.0), (3.0, 3.0), (1.0, 0.0)])
MAX_UNSCHEDULABLE = 20.0


class Machine(RuleBasedStateMachine):
    """Pods of two profiles come, change, are tried and go; profiles come, are swapped and go; time
    passes.
    """

    uids = Bundle("uids")
    out = Bundle("out")

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0
        self.number = 0
        self.queue = SchedulingQueue(
            PrioritySort().sort_key,
            PodGroupTracker(Store()),
            StrictQueueListener(),
            MAX_UNSCHEDULABLE,
        )
        self.naive = NaiveSchedulingQueue(MAX_UNSCHEDULABLE)
        self.swap("test", (), (1.0, 10.0))

    @initialize(target=uids, moves=st.sampled_from([1, 2, MOVES_PER_SLICE]))
    def begin(self, moves: int) -> object:
        """Some are there already; so many are moved at a time."""
        self.queue._pending.moves_per_slice = moves
        return multiple(*(self.add("test", 0, {}) for _ in range(3)))

    @rule(target=uids, name=NAMES, priority=st.integers(0, 1), labels=LABELS)
    def add(self, name: str, priority: int, labels: dict[str, str]) -> str:
        """A pod comes."""
        self.number += 1
        pod = a_pod(str(self.number), name, priority, wants=str(self.number % 2), **labels)
        self.queue.add(pod, self.now)
        self.naive.add(pod, self.now)
        return pod.metadata.uid

    @rule(uid=uids, labels=LABELS)
    def update(self, uid: str, labels: dict[str, str]) -> None:
        """A pod's labels change, or don't."""
        if uid in self.naive.pods:
            old = self.naive.pods[uid].pod
            wants = (old.metadata.labels or {})["wants"]
            pod = a_pod(
                old.metadata.name,
                old.spec.scheduler_name,
                old.spec.priority or 0,
                wants=wants,
                **labels,
            )
            self.queue.update(pod, self.now)
            self.naive.update(pod, self.now)

    @rule(uid=consumes(uids))
    def remove(self, uid: str) -> None:
        """A pod goes."""
        self.queue.remove(uid)
        self.naive.pods.pop(uid, None)

    def _pop(self, early: bool, full: frozenset[str]) -> QueuedPodInfo | None:
        """Somebody's turn: one of those whose turn it can be, somebody if there is anybody."""
        while (entry := self.queue.pop(self.now, early, full)) is None and self.queue.moves_pending:
            pass
        candidates = self.naive.candidates(self.now, early, full)
        if entry is None:
            assert not candidates
            return None
        assert entry.uid in [it.pod.metadata.uid for it in candidates]
        self.naive.popped(self.naive.pods[entry.uid])
        return entry

    @rule(target=out, early=st.booleans(), full=FULL)
    def pop(self, early: bool, full: frozenset[str]) -> QueuedPodInfo | object:
        """An attempt begins."""
        entry = self._pop(early, full)
        return multiple() if entry is None else entry

    @rule(early=st.booleans(), full=FULL, rejectors=PLUGINS, pending=st.booleans())
    def attempt(
        self, early: bool, full: frozenset[str], rejectors: frozenset[str], pending: bool
    ) -> None:
        """An attempt begins and ends badly at once, as most do."""
        if (entry := self._pop(early, full)) is not None:
            self.requeue(entry, rejectors, pending)

    @rule(entry=consumes(out))
    def done(self, entry: QueuedPodInfo) -> None:
        """An attempt ends well."""
        self.queue.done(entry.uid)
        self.naive.pods.pop(entry.uid, None)

    @rule(entry=consumes(out), rejectors=PLUGINS, pending=st.booleans())
    def fail(self, entry: QueuedPodInfo, rejectors: frozenset[str], pending: bool) -> None:
        """An attempt ends badly."""
        self.requeue(entry, rejectors, pending)

    def requeue(self, entry: QueuedPodInfo, rejectors: frozenset[str], pending: bool) -> None:
        """Back to the queue, unless the pod is gone."""
        self.queue.requeue(entry, rejectors, self.now, pending)
        if (it := self.naive.pods.get(entry.uid)) is not None:
            self.naive.requeue(it, rejectors, pending, self.now)

    @rule(event=EVENTS)
    def wake(self, event: ClusterEvent) -> None:
        """Something happens in the cluster."""
        self.queue.move_on_event(event, self.now)
        self.naive.wake(event, self.now)
        self.catch_up()

    @rule(name=NAMES, gates=GATES, backoff=BACKOFFS)
    def swap(
        self, name: str, gates: tuple[PreEnqueueGate, ...], backoff: tuple[float, float]
    ) -> None:
        """A profile comes or changes."""
        new = view(*gates, initial=backoff[0], maximum=backoff[1])
        self.queue.set_profile(name, new, self.now)
        self.naive.set_profile(name, new, self.now)

    @rule(name=NAMES, plugins=PLUGINS)
    def swap_plugins(self, name: str, plugins: frozenset[str]) -> None:
        """Plugins of a profile change."""
        if name in self.naive.views:
            self.queue.move_rejected_by(name, plugins, self.now)
            self.naive.wake_profile(name, plugins, self.now)
            self.catch_up()

    @rule(name=NAMES)
    def suspend(self, name: str) -> None:
        """A profile goes."""
        self.queue.set_profile(name, None, self.now)
        self.naive.set_profile(name, None, self.now)

    @rule(seconds=st.sampled_from([0.5, 1.0, 2.0, 20.0]), noticed=st.booleans())
    def pass_time(self, seconds: float, noticed: bool) -> None:
        """Time goes by; somebody looks at the clock, or nobody does before the next pop."""
        self.now += seconds
        if noticed:
            self.queue.flush(self.now)
            self.naive.tick(self.now)
            self.catch_up()

    def catch_up(self) -> None:
        """Move all that are due; whoever looks at the clock for that sees those whose time has
        come, too.
        """
        if self.queue.moves_pending:
            assert self.queue.next_deadline(self.now) == self.now
            self.naive.tick(self.now)
        while self.queue.moves_pending:
            self.queue.flush(self.now)

    @invariant()
    def same_places(self) -> None:
        """Every pod is where the naive queue has it, with the same history."""
        got = {
            entry.uid: (entry.state, entry.gating_plugin, entry.attempts)
            for entry in self.queue.entries()
        }
        assert got == {uid: (it.place, it.gate, it.attempts) for uid, it in self.naive.pods.items()}
        for entry in self.queue.entries():
            it = self.naive.pods[entry.uid]
            assert (entry.pod, entry.unschedulable_count, entry.consecutive_errors_count) == (
                it.pod,
                it.refusals,
                it.errors,
            )
            assert entry.state is not QueueState.BACKOFF or entry.backoff_expiration == it.until

    @invariant()
    def same_numbers(self) -> None:
        """Counts, deadlines and refusals are what one finds by looking at all pods."""
        assert self.queue.totals() == self.naive.counts(None)
        for name in ("test", "other"):
            assert self.queue.counts(name) == self.naive.counts(name)
        assert self.queue.next_deadline(self.now) == self.naive.deadline(self.now)
        assert {
            (name, plugin): count for name, plugin, count in self.queue.unschedulable_counts()
        } == self.naive.refusals()

    def teardown(self) -> None:
        """When all pods have gone there is nothing left of them anywhere: no ghost in a queue, none
        in a number.
        """
        for uid in list(self.naive.pods):
            self.queue.remove(uid)
        assert list(self.queue.entries()) == []
        assert self.queue.pop(self.now) is None
        assert self.queue.next_deadline(self.now) is None
        assert self.queue.move_on_event(ANYTHING, self.now) == 0
        assert self.queue.totals() == NaiveSchedulingQueue(0.0).counts(None)


TestAgainstNaive = Machine.TestCase
