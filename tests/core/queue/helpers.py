"""A scheduling queue with plain plugins: each test says which of them refuse or gate its pods."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping

from kubefacts.labels import Selector, equality
from moorage.core.columns.store import Lister, Store
from moorage.core.framework.cluster_events import (
    ActionType,
    ClusterEvent,
    ClusterEventWithHint,
    EventResource,
)
from moorage.core.framework.status import SUCCESS, Code, Status
from moorage.core.objects.pods import Pod, PodMeta, PodSpec
from moorage.core.plugins.priority_sort import PrioritySort
from moorage.core.queue.hints import PreEnqueueGate, ProfileQueueConfig
from moorage.core.queue.pod_group_members import PodGroupTracker
from moorage.core.queue.queued_pod import QueuedPodInfo, QueueState
from moorage.core.queue.scheduling_queue import SchedulingQueue
from tests.builders import make_node
from tests.fakes.listeners import FakeQueueListener

SHUT = Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, ("shut",))
NODE_ADDED = ClusterEvent(EventResource.NODE, ActionType.ADD, new=make_node("n"))
NODE_DELETED = ClusterEvent(EventResource.NODE, ActionType.DELETE, old=make_node("n"))
ANYTHING = ClusterEvent(EventResource.ANY, ActionType.ALL)


def a_pod(name: str, scheduler: str = "test", priority: int = 0, **labels: str) -> Pod:
    """A waiting pod with these labels."""
    meta = PodMeta(name=name, namespace="default", uid=f"uid-{name}", labels=labels)
    return Pod(meta, PodSpec(scheduler_name=scheduler, priority=priority))


def relabelled(pod: Pod, **labels: str) -> Pod:
    """The same pod with other labels."""
    return a_pod(pod.metadata.name, pod.spec.scheduler_name, pod.spec.priority or 0, **labels)


def node_relabelled(name: str) -> ClusterEvent:
    """A node of this name got other labels."""
    return ClusterEvent(
        EventResource.NODE,
        ActionType.UPDATE_NODE_LABEL,
        make_node(name),
        make_node(name, labels={"new": ""}),
    )


def wants_node(pod: Pod, event: ClusterEvent, _store: Lister) -> bool:
    """A hint: the pod's label ``wants`` names the node."""
    return event.new is not None and event.new.metadata.name == (pod.metadata.labels or {}).get(
        "wants"
    )


def is_namesake(pod: Pod, event: ClusterEvent, _store: Lister) -> bool:
    """A hint that goes by the pod's name, so that it cannot be shared: the node has the same."""
    return event.new is not None and event.new.metadata.name == pod.metadata.name


def is_itself(pod: Pod, event: ClusterEvent, _store: Lister) -> bool:
    """A hint: the event is about this pod."""
    return event.new is not None and event.new.metadata.uid == pod.metadata.uid


def pod_deleted(**labels: str) -> ClusterEvent:
    """A pod with these labels left its node."""
    return ClusterEvent(
        EventResource.ASSIGNED_POD, ActionType.DELETE, old=a_pod("gone", "test", 0, **labels)
    )


def is_beside(pod: Pod, event: ClusterEvent, _store: Lister) -> bool:
    """A hint: the pod that went has what this one wants as its label ``is``, or had something
    against its label ``x``.
    """
    gone, mine = (
        (event.old.metadata.labels or {}) if event.old is not None else {},
        pod.metadata.labels or {},
    )
    return gone.get("is") == mine.get("wants") or (
        "against" in gone and mine.get("x") == gone["against"]
    )


def wanted_by(pod: Pod) -> tuple[Selector, ...]:
    """``is_beside`` says no of other pods, unless they are selected."""
    return (Selector(equality({"is": (pod.metadata.labels or {}).get("wants", "")})),)


def against(event: ClusterEvent) -> tuple[Selector, ...]:
    """The pods that the one that went had something against."""
    gone = (event.old.metadata.labels or {}) if event.old is not None else {}
    return (Selector(equality({"x": gone["against"]})),) if "against" in gone else ()


@dataclasses.dataclass(frozen=True)
class LabelGate:
    """A preEnqueue plugin that gates the pods which have a label of its name."""

    name: str

    def pre_enqueue(self, pod: Pod, _store: Lister) -> Status:
        """Whether the label is there."""
        return SHUT if self.name in (pod.metadata.labels or {}) else SUCCESS


GATE, LATCH = LabelGate("gate"), LabelGate("latch")
ITSELF = (
    ClusterEventWithHint(
        EventResource.POD, ActionType.UPDATE_POD_LABEL, is_itself, shared_by_signature=True
    ),
)
WAKES: dict[str, tuple[ClusterEventWithHint, ...]] = {
    "Size": (ClusterEventWithHint(EventResource.NODE, ActionType.ADD),),
    "Picky": (
        ClusterEventWithHint(
            EventResource.NODE, ActionType.UPDATE_NODE_LABEL, wants_node, shared_by_signature=True
        ),
    ),
    "Namesake": (
        ClusterEventWithHint(EventResource.NODE, ActionType.UPDATE_NODE_LABEL, is_namesake),
    ),
    "Own": ITSELF,
    "Beside": (
        ClusterEventWithHint(
            EventResource.POD,
            ActionType.DELETE,
            is_beside,
            shared_by_signature=True,
            pod_selectors=wanted_by,
            event_selectors=against,
        ),
    ),
    "Deaf": (),
    "gate": ITSELF,
    "latch": ITSELF,
}
"""What frees pods: Size by any new node, Picky by a relabelled one that the pod wants, Namesake by
one of its name, Own by new labels of the pod, Beside by a pod that leaves and that it wants, or
that had something against it, Deaf nothing.
"""


def view(
    *gates: PreEnqueueGate,
    initial: float = 1.0,
    maximum: float = 10.0,
    wakes: Mapping[str, tuple[ClusterEventWithHint, ...]] | None = None,
) -> ProfileQueueConfig:
    """A live profile with all of WAKES and these."""
    heeds = {"Beside": lambda pod: (pod.metadata.labels or {}).get("wants"), "Size": lambda _: ()}
    return ProfileQueueConfig(gates, {**WAKES, **(wakes or {})}, initial, maximum, heeds)


class Rig(FakeQueueListener):
    """A scheduling queue with a clock of its own, and what it told."""

    def __init__(
        self,
        *gates: PreEnqueueGate,
        max_unschedulable: float = 300.0,
        **wakes: tuple[ClusterEventWithHint, ...],
    ) -> None:
        super().__init__()
        self.now = 0.0
        self.store = Store()
        self.queue = SchedulingQueue(
            PrioritySort().sort_key,
            PodGroupTracker(self.store),
            self,
            max_unschedulable,
        )
        self.view = view(*gates, wakes=wakes)
        self.queue.set_profile("test", self.view, self.now)

    def add(
        self, name: str, priority: int = 0, scheduler: str = "test", **labels: str
    ) -> QueuedPodInfo:
        """A pod comes."""
        self.queue.add(a_pod(name, scheduler, priority, **labels), self.now)
        return self.entry(name)

    def entry(self, name: str) -> QueuedPodInfo:
        """The entry of a pod that is there."""
        entry = self.queue.get(f"uid-{name}")
        assert entry is not None, f"{name} is not in the queue"
        return entry

    def place(self, name: str) -> QueueState | None:
        """Where a pod is; None when it is not in the queue."""
        entry = self.queue.get(f"uid-{name}")
        return entry.state if entry is not None else None

    def pop(self, early: bool = True) -> str | None:
        """The name of the pod whose turn it is."""
        entry = self.queue.pop(self.now, early)
        return entry.pod.metadata.name if entry is not None else None

    def refuse(self, name: str, *plugins: str, pending: bool = False) -> None:
        """An attempt of a pod that is in flight ends: refused by these plugins, by a fault when
        there are none.
        """
        self.queue.requeue(self.entry(name), frozenset(plugins), self.now, pending)

    def refused(self, name: str, *plugins: str, times: int = 1, priority: int = 0) -> QueuedPodInfo:
        """A new pod was popped and refused so often by these plugins; it must be the one that is
        popped.
        """
        self.add(name, priority, wants=name)
        for i in range(times):
            if i:
                self.queue.move_on_event(ANYTHING, self.now)
            assert self.pop() == name
            self.refuse(name, *plugins)
        return self.entry(name)

    def wake(self, *events: ClusterEvent) -> int:
        """Things happen in the cluster."""
        return sum(self.queue.move_on_event(event, self.now) for event in events)

    def pass_time(self, seconds: float) -> int:
        """Time goes by and the clock is looked at."""
        self.now += seconds
        return self.queue.flush(self.now)

    def order(self) -> list[str]:
        """Pop all that are ready, in their order."""
        return list(self._pops())

    def _pops(self) -> Iterable[str]:
        while (name := self.pop(early=False)) is not None:
            yield name
