"""Attempts of pod groups, made again from what a journal holds of them, whatever happened between
their slices.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from moorage.core.columns.cache import Cache
from moorage.core.columns.store import Store
from moorage.core.cycle.context import CycleContext, Decision
from moorage.core.cycle.group_cycle import GroupAttempt, place_member, schedule_group
from moorage.core.framework.placement_contract import Placement
from moorage.core.objects.pods import Pod
from moorage.core.plugins.intree import INDEXES
from moorage.core.pods.requests import pod_requests
from tests.builders import make_node, make_pod
from tests.core.cycle.test_group_cycle import REVISION, TRIO, ZONE
from tests.twins import Twin


@dataclasses.dataclass
class Recorded:
    """A cluster whose journal is followed by a twin."""

    twin: Twin = dataclasses.field(default_factory=Twin)

    def __post_init__(self) -> None:
        self.context = CycleContext(Cache(Store(INDEXES, self.twin)))

    @property
    def cache(self) -> Cache:
        return self.context.cache

    def waiting(self, names: str, cpu: str, **spec: Any) -> list[Pod]:
        """Pods that wait."""
        pods = [make_pod(name, cpu=cpu, **spec) for name in names]
        for pod in pods:
            self.cache.observe_waiting(pod, pod_requests(pod))
        return pods

    def place(self, pod: Pod, placement: Placement) -> Decision:
        """For real."""
        return place_member(pod, REVISION, self.context, placement)


nodes = st.lists(st.tuples(st.sampled_from("abc"), st.integers(1, 4)), min_size=1, max_size=6)
"""Zones, and how many cores."""


def put(recorded: Recorded, some: Sequence[tuple[str, int]], first: int = 0) -> None:
    """These nodes come, or are in another zone from now on."""
    for i, (zone, cores) in enumerate(some, first):
        recorded.cache.put_node(make_node(f"n{i}", cpu=str(cores), labels={ZONE: zone}))


@settings(max_examples=100)
@given(nodes, nodes, st.integers(1, 4), st.integers(0, 12))
def test_members_of_placements(
    there: list[tuple[str, int]], later: list[tuple[str, int]], least: int, when: int
) -> None:
    """Nodes come and go to other zones while a group is tried in one zone after another: each
    member comes out as it did.
    """
    recorded = Recorded()
    put(recorded, there)
    group = dataclasses.replace(TRIO, min_count=least, topology_key=ZONE)
    attempt = GroupAttempt(group, recorded.waiting("wxyz", "1"))
    steps = schedule_group(attempt, recorded.place, recorded.context, REVISION)
    for number, _ in enumerate(steps):
        if number == when:
            put(recorded, later, first=number % 4)
    assert recorded.twin.differences == []
    assert recorded.twin.replay.not_made_again == 0
    assert recorded.twin.replay.decisions == recorded.twin.decided
    assert recorded.twin.strays(recorded.context) == {}
