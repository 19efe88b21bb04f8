"""Events during an attempt are not lost on the pod whose attempt it is."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from moorage.core.framework.cluster_events import ActionType, ClusterEvent, EventResource
from moorage.core.objects.storage import AnnotatedMeta, PersistentVolume, PersistentVolumeSpec
from moorage.core.queue.queued_pod import QueuedPodInfo
from moorage.core.queue.sub_queues import MAX_EVENT_BYTES, MAX_EVENTS, InFlightPods
from tests.core.queue.helpers import NODE_ADDED, NODE_DELETED, a_pod, node_relabelled


def test_a_pod_misses_what_comes_after_its_pop() -> None:
    """Each pod is told of the events since its own attempt began, in order."""
    flight, first, second = (
        InFlightPods(),
        QueuedPodInfo(a_pod("a"), "test", 0.0),
        QueuedPodInfo(a_pod("b"), "test", 0.0),
    )
    flight.record(NODE_DELETED)
    flight.add(first)
    flight.record(NODE_ADDED)
    flight.add(second)
    flight.record(NODE_DELETED)
    assert flight.events_since(first) == [NODE_ADDED, NODE_DELETED]
    assert flight.events_since(second) == [NODE_DELETED]


def test_nothing_is_kept_for_nobody() -> None:
    """With the last pod the events go."""
    flight, entry = InFlightPods(), QueuedPodInfo(a_pod("a"), "test", 0.0)
    flight.add(entry)
    flight.record(NODE_ADDED)
    flight.discard(entry)
    flight.record(NODE_ADDED)
    assert not flight._events
    flight.add(entry)
    assert flight.events_since(entry) == []


@given(st.integers(0, 3), st.integers(0, 2 * MAX_EVENTS))
def test_more_than_is_remembered_counts_as_anything(before: int, during: int) -> None:
    """Up to the bound the events are told exactly, beyond it "there may have been any" is."""
    flight, other, entry = (
        InFlightPods(),
        QueuedPodInfo(a_pod("a"), "test", 0.0),
        QueuedPodInfo(a_pod("b"), "test", 0.0),
    )
    flight.add(other)
    for _ in range(before):
        flight.record(NODE_ADDED)
    flight.add(entry)
    events = [node_relabelled(str(i)) for i in range(3)]
    for i in range(during):
        flight.record(events[i % 3])
    missed = flight.events_since(entry)
    assert missed == (None if during > MAX_EVENTS else [events[i % 3] for i in range(during)])
    assert len(flight._events) <= MAX_EVENTS


def test_large_objects_are_not_kept_for_long() -> None:
    """Events hold on to objects that may be gone: what these come to is bounded, too."""
    flight, entry = InFlightPods(), QueuedPodInfo(a_pod("a"), "test", 0.0)
    flight.add(entry)
    for i in range(20):
        flight.record(node_relabelled(f"{i}" + "x" * (MAX_EVENT_BYTES // 8)))
    assert 0 < len(flight._events) <= 8
    assert flight.events_since(entry) is None


def test_forgetting() -> None:
    """A pod that is said to have missed everything has, even when nothing was noted."""
    flight, entry = InFlightPods(), QueuedPodInfo(a_pod("a"), "test", 0.0)
    flight.add(entry)
    flight.requeue_anyway(entry)
    assert flight.events_since(entry) is None


def test_a_number_of_any_size_can_be_noted() -> None:
    """What an object says is nothing to the noting of it."""
    flight, entry = InFlightPods(), QueuedPodInfo(a_pod("a"), "test", 0.0)
    flight.add(entry)
    event = ClusterEvent(
        EventResource.PERSISTENT_VOLUME,
        ActionType.ADD,
        new=PersistentVolume(
            AnnotatedMeta("pv"), PersistentVolumeSpec(capacity={"storage": 2**70})
        ),
    )
    flight.record(event)
    assert flight.events_since(entry) == [event]
