"""Fits of groups: a group starts where the simulator would start it, as many others as are said do,
and with the nodes that are said, not with one less.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moorage.core.cycle.context import CycleContext
from moorage.core.groups.group_spec import GroupSpec
from moorage.core.objects.meta import ObjectMeta
from moorage.core.objects.nodes import Node
from moorage.core.objects.pod_groups import (
    API,
    GangSchedulingPolicy,
    GroupKey,
    PodGroup,
    PodGroupSchedulingPolicy,
    PodGroupSpec,
)
from moorage.core.objects.pods import Pod, PodSchedulingGroup
from moorage.core.simulation.fitting import MoreNodes
from moorage.core.simulation.group_fits import GroupFit, fit_group
from moorage.core.simulation.more_nodes import add_nodes
from moorage.core.simulation.simulator import Simulator
from tests.builders import make_node
from tests.core.simulation.clusters import HOST, REVISIONS, ZONE, a_context, a_pod
from tests.twins import differing, opened

KEY = GroupKey(API, "default", "g")
GROUP = PodSchedulingGroup("g")


def spec(least: int, **changes: Any) -> GroupSpec:
    """A gang of so many."""
    return GroupSpec(KEY, least, 0, **changes)


def member(name: str, cpu: str = "1", **body: Any) -> Pod:
    """A pod of the group."""
    return a_pod(name, cpu=cpu, scheduling_group=GROUP, owner="", **body)


def members(*cpus: str) -> list[Pod]:
    """Which ask for so much each."""
    return [member(f"m{i}", cpu) for i, cpu in enumerate(cpus)]


def nodes(*cpus: str, zones: str = "") -> list[Node]:
    """Each with so much, in these zones."""
    labels = [{ZONE: zone} for zone in zones] or [{} for _ in cpus]
    return [
        make_node(f"n{i}", cpu=cpu, labels={HOST: f"n{i}", **labels[i]})
        for i, cpu in enumerate(cpus)
    ]


def fitted(context: CycleContext, group: GroupSpec, pods: Sequence[Pod]) -> GroupFit:
    """What comes of it."""
    return fit_group(Simulator(context, REVISIONS), group, pods)


def test_a_group_that_starts() -> None:
    """How many such groups would, and whom the next one lacks a node for."""
    found = fitted(a_context(nodes("4", "4")), spec(2), members("2", "1"))
    assert (found.starts, found.fits, found.room, found.counted_out) == (True, True, 2, True)
    assert [pod.metadata.name for pod, _ in found.nodes] == ["m0", "m1"]
    assert found.obstacle is not None
    assert found.obstacle.metadata.name == "m0"
    assert found.reason == "0/2 nodes are available: 2 Insufficient cpu."
    assert found.more_nodes is None


def test_a_group_that_does_not() -> None:
    """The member that finds no node, why, and what would do; nobody stays anywhere."""
    context = a_context(nodes("4", "1"))
    found = fitted(context, spec(3), members("3", "1", "2"))
    assert (found.starts, found.fits, found.room) == (False, False, 0)
    assert found.obstacle is not None
    assert (found.obstacle.metadata.name, len(found.nodes)) == ("m2", 2)
    assert found.more_nodes == MoreNodes(1, "n0")
    assert not list(context.cache.pod_infos())
    small = fitted(a_context(nodes("1")), spec(4), members("1", "1", "1", "1"))
    assert small.more_nodes == MoreNodes(3, "n0")


def test_a_group_of_too_few_members() -> None:
    """More nodes would not do; where its members would go is told all the same."""
    found = fitted(a_context(nodes("4")), spec(3), members("1", "1"))
    assert (found.starts, len(found.nodes), found.more_nodes) == (False, 2, None)
    assert (found.obstacle, found.room) == (None, 0)
    assert found.reason == "2 members are here, and 3 are needed together"
    found = fitted(a_context(nodes("4")), spec(3), members("1"))
    assert found.reason == "1 member is here, and 3 are needed together"


def test_members_beyond_the_minimum_may_lack_a_node() -> None:
    """Then it starts, and does not fit."""
    found = fitted(a_context(nodes("2")), spec(2), members("1", "1", "1"))
    assert (found.starts, found.fits, len(found.nodes), found.room) == (True, False, 2, 1)
    assert found.obstacle is not None
    assert found.obstacle.metadata.name == "m2"


def test_a_group_that_runs_needs_nobody() -> None:
    """Its minimum was met by the members that are there."""
    there = [member(f"r{i}", node="n0") for i in range(2)]
    found = fitted(a_context(nodes("8"), there), spec(2), members("1"))
    assert (found.starts, found.fits) == (True, True)
    assert found.room == 1, "others have to be two"
    few = fitted(a_context(nodes("8"), there[:1]), spec(3), members("1"))
    assert not few.starts


def test_members_that_may_not_go_together() -> None:
    """As the cycle would have it, and in its words."""
    pods = [member("m0"), member("m1", priority=7)]
    found = fitted(a_context(nodes("8")), spec(2), pods)
    assert not found.starts
    assert found.reason.startswith("all pods in a single pod group should have the same priority")
    others = GroupSpec(GroupKey("kueue.x-k8s.io", "default", "g"), 2, 0)
    assert fitted(a_context(nodes("8")), others, pods).starts


def test_topology() -> None:
    """All members lie in one zone; other groups take the zones that are left."""
    context = a_context(nodes("2", "2", "2", "1", zones="aabb"))
    found = fitted(context, spec(4, topology_key=ZONE), members("1", "1", "1", "1"))
    assert found.starts
    assert {node for _, node in found.nodes} == {"n0", "n1"}
    assert [(one.name, one.found) for one in found.domains] == [("a", 4), ("b", 3)]
    assert found.room == 1
    free = fitted(a_context(nodes("2", "2", "2", "1", zones="aabb")), spec(4), members(*"1111"))
    assert len(free.domains) == 1
    whole = fitted(
        a_context(nodes(*"2222", zones="aabb")), spec(4, topology_key=ZONE), members(*"1111")
    )
    assert whole.room == 2


FEW = settings(max_examples=300 if settings().max_examples >= 500 else 30, deadline=None)
CPUS = st.lists(st.sampled_from(["1", "2", "3"]), min_size=1, max_size=5)


@FEW
@given(CPUS, CPUS, st.integers(1, 5), st.booleans())
def test_what_is_said_is_so(cpus: list[str], asks: list[str], least: int, zoned: bool) -> None:
    """The group starts if the simulator starts it; the room is that of groups one after another;
    with so many more nodes it starts, not with one less.
    """
    group = spec(least, topology_key=ZONE if zoned else "")
    zones = "".join("ab"[i % 2] for i in range(len(cpus)))

    def world() -> CycleContext:
        return a_context(nodes(*cpus, zones=zones))

    found = fitted(world(), group, members(*asks))
    again = Simulator(world(), REVISIONS)
    started = 0
    while started < 100:
        others = [
            member(f"{started}-{pod.metadata.name}", cpu)
            for pod, cpu in zip(members(*asks), asks, strict=True)
        ]
        if not fit_group(
            again,
            GroupSpec(
                GroupKey(API, "default", f"g{started}"), least, 0, topology_key=group.topology_key
            ),
            others,
        ).starts:
            break
        started += 1
    assert found.room == started
    if found.more_nodes is not None:
        needed, like = found.more_nodes
        for count, starts in ((needed, True), (needed - 1, False)):
            larger = Simulator(world(), REVISIONS)
            add_nodes(larger, like, count)
            assert fit_group(larger, group, members(*asks)).starts == starts


def test_nothing_stays_of_what_is_tried() -> None:
    """Neither nodes, nor groups that do not start, nor those that are counted."""
    context = a_context(nodes("4", "2"))
    before = opened(context)
    fitted(context, spec(3), members("3", "2", "2"))
    assert not differing(before, context)


@pytest.mark.parametrize("later", [False, True])
def test_a_simulated_group_is_not_given_up_in_parts(later: bool) -> None:
    """One that does not fit is tried until nothing changes any more, however often that is: no
    member is gated, and one node more places all of them.
    """
    simulator = Simulator(a_context(nodes("8")), REVISIONS)
    policy = PodGroupSchedulingPolicy(gang=GangSchedulingPolicy(5))
    simulator.put_object(PodGroup(ObjectMeta("g", "default", "u"), PodGroupSpec(policy)))
    for pod in members("3", "2", "2", "2", "2"):
        simulator.arrive(pod)
    if later:
        simulator.at(100.0, lambda: simulator.put_node(make_node("late", cpu="8")))
    simulator.run()
    if later:
        assert len(simulator.placed) == 5
        return
    waiting = simulator.waiting()
    assert len(waiting) == 5
    assert not any("gated" in why for _, why in waiting)
