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
from moorage.core.framework.cluster_events import ActionType, ClusterEvent, ClusterEventWithHint, EventResource
from moorage.core.plugins.node_resources.fit import NodeResourcesFit
from moorage.core.plugins.priority_sort import PrioritySort
from moorage.core.queue.hints import ProfileQueueConfig
from moorage.core.queue.scheduling_queue import SchedulingQueue
from tests.builders import make_node, make_pod

PODS, TEMPLATES = 50_000, 5
SMALL_NODE = ClusterEvent(EventResource.NODE, ActionType.ADD, new=make_node("small", cpu="500m"))
POD_GONE = ClusterEvent(EventResource.ASSIGNED_POD, ActionType.DELETE, old=make_pod("gone", node="n"))


def parked(wakes: tuple[ClusterEventWithHint, ...]) -> SchedulingQueue:
    """A scheduling queue with so many pods that NodeResourcesFit refused; their backoff is over at 10."""
    backlog = SchedulingQueue(PrioritySort().sort_key, Store(), lambda *_: None, lambda *_: None)
    backlog.set_profile("test", ProfileQueueConfig((), {"NodeResourcesFit": wakes}), 0.0)
    for i in range(PODS):
        now = i * 1e-5
        pod = make_pod(f"p{i}", cpu="1")
        labels = {"app": str(i % TEMPLATES)}
        backlog.add(msgspec.structs.replace(pod, metadata=msgspec.structs.replace(pod.metadata, labels=labels)), now)
        entry = backlog.pop(now)
        assert entry is not None
        backlog.requeue(entry, frozenset({"NodeResourcesFit"}), now)
    return backlog


def timed(backlog: SchedulingQueue, event: ClusterEvent | None = None) -> float:
    """Milliseconds of a thread's time that an event takes, or, without one, the next slice."""
    start = time.thread_time()
    if event is not None:
        backlog.move_on_event(event, 10.0)
    else:
        backlog.flush(10.0)
    return (time.thread_time() - start) * 1000


def slices(backlog: SchedulingQueue) -> Iterator[float]:
    """Milliseconds of each slice until all pods have moved."""
    while backlog.moves_pending:
        yield timed(backlog)


def main() -> int:
    """Print a line for each figure."""
    wakes = NodeResourcesFit().events_to_register
    alone = tuple(dataclasses.replace(wake, shared_by_signature=False) for wake in wakes)
    for name, registered in (("asked once for all that are alike", wakes), ("asked for each pod", alone)):
        backlog = parked(registered)
        gc.collect()
        gc.freeze()  # as the operator does: what was there at its start is not gone through again and again
        none = statistics.median(timed(backlog, SMALL_NODE) for _ in range(5))
        first = timed(backlog, POD_GONE)
        rest = list(slices(backlog))
        print(f"{name}: an event that frees none {none:.2f} ms; one that frees all {first:.1f} ms, then {len(rest)} slices,")
        print(f"    median {statistics.median(rest):.1f} ms, longest {max(rest):.1f} ms")
    return 0


if __name__ == "__main__":
    sys.exit(main())
