"""Odd entries: a pod that makes a move raise is taken out and reported; nobody waits behind it."""

from __future__ import annotations

import dataclasses

import pytest

from moorage.core.framework.interfaces import SortKey
from moorage.core.objects.pods import Pod
from moorage.core.plugins.priority_sort import PrioritySort
from moorage.core.queue.pod_group_members import PodGroupTracker
from moorage.core.queue.scheduling_queue import SchedulingQueue
from moorage.core.queue.sub_queues import QUEUE_AS_PLUGIN
from tests.core.queue.helpers import NODE_ADDED, Rig


class Fussy(Rig):
    """A scheduling queue whose queueSort plugin comes to dislike pods."""

    def __init__(self) -> None:
        super().__init__()
        self.odd: set[str] = set()
        self.queue = SchedulingQueue(self.sort, PodGroupTracker(self.store), self)
        self.queue.set_profile("test", self.view, self.now)
        self.queue.groups.all_listed()

    def sort(self, pod: Pod, queued_at: float) -> SortKey:
        """As always, or a fault."""
        if pod.metadata.name in self.odd:
            raise ZeroDivisionError("odd")
        return PrioritySort().sort_key(pod, queued_at)

    def well(self, odd: str) -> None:
        """The others are there, and this one was reported and is not; it may come again."""
        assert self.failures == [(QUEUE_AS_PLUGIN, odd, "odd")]
        assert self.place(odd) is None
        *counts, _ = dataclasses.astuple(self.queue.counts("test"))
        assert sum(counts) == len(list(self.queue.entries("test")))
        self.odd.clear()
        self.add(odd)
        assert odd in self.order()


def fault(rig: Fussy) -> None:
    """Both failed and their backoff ends."""
    for name in ("odd", "good"):
        rig.add(name)
        assert rig.pop() == name
        rig.refuse(name)
    rig.odd = {"odd"}
    rig.pass_time(30)


def freed(rig: Fussy) -> None:
    """Both were refused, and a node frees them."""
    rig.refused("odd", "Size")
    rig.refused("good", "Size")
    rig.now += 30
    rig.odd = {"odd"}
    rig.wake(NODE_ADDED)


def too_long(rig: Fussy) -> None:
    """Both were refused long ago."""
    rig.refused("odd", "Deaf")
    rig.refused("good", "Deaf")
    rig.odd = {"odd"}
    rig.pass_time(1000)


@pytest.mark.parametrize("happens", [fault, freed, too_long])
def test_nobody_waits_behind_an_odd_pod(happens: object) -> None:
    """Whatever would move it."""
    rig = Fussy()
    assert callable(happens)
    happens(rig)
    assert rig.pop() == "good"
    rig.well("odd")
