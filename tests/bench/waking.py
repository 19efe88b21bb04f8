"""How long events hold the loop up while many pods are parked: `python -m tests.bench.waking`.

Times are of this thread on its processor, so that other work on the machine does not count.
"""

from __future__ import annotations

import dataclasses
import gc
import statistics
import sys
import time
from collections.abc import Iterator

import msgspec

from moorage.core.columns.store import Store
from moorage.core.framework.cluster_events import (
    ActionType,
    ClusterEvent,
    ClusterEventWithHint,
    EventResource,
)
from moorage.core.plugins.node_resources.fit import NodeResourcesFit
from moorage.core.plugins.priority_sort import PrioritySort
from moorage.core.queue.hints import ProfileQueueConfig
from moorage.core.queue.pod_group_members import PodGroupTracker
from moorage.core.queue.scheduling_queue import SchedulingQueue
from tests.builders import make_node, make_pod
from tests.fakes.listeners import FakeQueueListener

PODS, TEMPLATES = 50_000, 5
SMALL_NODE = ClusterEvent(EventResource.NODE, ActionType.ADD, new=make_node("small", cpu="500m"))
POD_GONE = ClusterEvent(
    EventResource.ASSIGNED_POD, ActionType.DELETE, old=make_pod("gone", node="n")
)


def parked(wakes: tuple[ClusterEventWithHint, ...]) -> SchedulingQueue:
    """A scheduling queue with so many pods that NodeResourcesFit refused; their backoff is over at
    10.
    """
    queue = SchedulingQueue(PrioritySort().sort_key, PodGroupTracker(Store()), FakeQueueListener())
    queue.set_profile("test", ProfileQueueConfig((), {"NodeResourcesFit": wakes}), 0.0)
    for i in range(PODS):
        now = i * 1e-5
        pod = make_pod(f"p{i}", cpu="1")
        labels = {"app": str(i % TEMPLATES)}
        queue.add(
            msgspec.structs.replace(
                pod, metadata=msgspec.structs.replace(pod.metadata, labels=labels)
            ),
            now,
        )
        entry = queue.pop(now)
        assert entry is not None
        queue.requeue(entry, frozenset({"NodeResourcesFit"}), now)
    return queue


def timed(queue: SchedulingQueue, event: ClusterEvent | None = None) -> float:
    """Milliseconds of a thread's time that an event takes, or, without one, the next slice."""
    start = time.thread_time()
    if event is not None:
        queue.move_on_event(event, 10.0)
    else:
        queue.flush(10.0)
    return (time.thread_time() - start) * 1000


def slices(queue: SchedulingQueue) -> Iterator[float]:
    """Milliseconds of each slice until all pods have moved."""
    while queue.moves_pending:
        yield timed(queue)


def main() -> int:
    """Print a line for each figure."""
    wakes = NodeResourcesFit().events_to_register
    alone = tuple(dataclasses.replace(wake, shared_by_signature=False) for wake in wakes)
    for name, registered in (
        ("asked once for all that are alike", wakes),
        ("asked for each pod", alone),
    ):
        queue = parked(registered)
        gc.collect()
        # as the operator does: what was there at its start is not gone through again and again
        gc.freeze()
        none = statistics.median(timed(queue, SMALL_NODE) for _ in range(5))
        first = timed(queue, POD_GONE)
        rest = list(slices(queue))
        print(
            f"{name}: an event that frees none {none:.2f} ms; one that frees all {first:.1f} "
            f"ms, then {len(rest)} slices,"
        )
        print(f"    median {statistics.median(rest):.1f} ms, longest {max(rest):.1f} ms")
    return 0


if __name__ == "__main__":
    sys.exit(main())
