"""Group preemption: with the victims gone the members fit where they are nominated to, no victim
goes in vain, and nobody sees that it was tried.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Generator, Sequence
from typing import Any, NamedTuple

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moorage.core.cycle.context import CycleContext, Decision
from moorage.core.cycle.group_attempt import GroupAttempt
from moorage.core.cycle.group_cycle import place_member, schedule_group
from moorage.core.cycle.group_preemption import GroupPreemption, make_room, units_below
from moorage.core.framework.placement_contract import Placement
from moorage.core.framework.status import Code
from moorage.core.groups.group_spec import GroupSpec
from moorage.core.objects.meta import ObjectMeta
from moorage.core.objects.nodes import Node
from moorage.core.objects.pod_groups import (
    AllDisruptionMode,
    DisruptionMode,
    PodGroup,
    PodGroupSpec,
)
from moorage.core.objects.pods import Pod, PodSchedulingGroup
from moorage.core.objects.selector_terms import LabelSelector
from moorage.core.objects.workloads import (
    PodDisruptionBudget,
    PodDisruptionBudgetSpec,
    PodDisruptionBudgetStatus,
)
from moorage.core.recording.forks import fork
from moorage.core.simulation.simulated_groups import finished
from moorage.core.structures.budget import OutOfTime, TimeBudget
from tests.builders import make_node, make_pod
from tests.core.cycle.test_group_cycle import REVISION, TRIO
from tests.core.cycle.test_group_cycle import context as cluster_of

URGENT = dataclasses.replace(TRIO, priority=100)
TOGETHER = DisruptionMode(all=AllDisruptionMode())
ASKS = PodGroupSpec(priority=10, disruption_mode=TOGETHER)
TEAM = PodGroup(ObjectMeta("team", "default"), ASKS)


def in_team(pod: Pod) -> bool:
    """Pods whose names begin so are members of the team."""
    return pod.metadata.name.startswith("team")


def context(nodes: Sequence[Node], pods: Sequence[Pod]) -> CycleContext:
    """A cluster in which the team goes together."""
    member = PodSchedulingGroup("team")
    there = [
        msgspec.structs.replace(
            pod, spec=msgspec.structs.replace(pod.spec, scheduling_group=member)
        )
        if in_team(pod)
        else pod
        for pod in pods
    ]
    tried = cluster_of(nodes, there)
    tried.cache.store.put(TEAM)
    return tried


def room(tried: CycleContext, members: Sequence[Pod], group: GroupSpec = URGENT) -> GroupPreemption:
    """What preemption finds."""

    def copy(without: Collection[str]) -> Generator[bool, bool | None, CycleContext]:
        return fork(tried, without)

    attempt = GroupAttempt(group, members)
    found = finished(make_room(attempt, REVISION, tried, copy))
    assert found is not None
    return found


def waiting(cpu: str = "2", **spec: Any) -> list[Pod]:
    """Three members."""
    return [make_pod(name, cpu=cpu, priority=100, **spec) for name in ("g0", "g1", "g2")]


def victims(found: GroupPreemption) -> str:
    """Their names, the most important one first."""
    return " ".join(pod.metadata.name for pod in found.victims)


def test_who_must_go_and_who_may_stay() -> None:
    """On each of two nodes the less important pods go, and one that need not go stays."""
    tried = context(
        [make_node(f"n{i}", cpu="4") for i in range(2)],
        [
            make_pod("a", cpu="1", node="n0", priority=1),
            make_pod("b", cpu="2", node="n0", priority=9),
            make_pod("c", cpu="3", node="n1", priority=5),
            make_pod("equal", cpu="1", node="n1", priority=100),
        ],
    )
    found = room(tried, waiting("1500m"))
    assert found.status.message == "found a placement for podgroup, preempting 2 victims"
    assert (victims(found), set(found.nominations)) == ("b c", {"uid-g0", "uid-g1", "uid-g2"})
    assert len(tried.cache) == 4


@pytest.mark.parametrize(
    ("members", "there", "message"),
    [
        pytest.param(
            waiting(preemption_policy="Never"),
            [],
            "not eligible due to preemptionPolicy=Never.",
            id="may not",
        ),
        pytest.param(
            waiting(),
            [make_pod("same", cpu="4", node="n0", priority=100)],
            "No preemption victims found for incoming preemptor",
            id="nobody is lower",
        ),
        pytest.param(
            waiting("9"),
            [make_pod("low", cpu="4", node="n0", priority=1)],
            "minCount (3) cannot be satisfied: 0 scheduled, 2 remaining",
            id="no help",
        ),
    ],
)
def test_why_nobody_goes(members: list[Pod], there: list[Pod], message: str) -> None:
    """And nobody is nominated."""
    found = room(context([make_node("n0", cpu="4")], there), members)
    assert (found.status.message, found.victims, found.nominations) == (message, (), {})


def test_a_group_that_is_disrupted_together_goes_whole() -> None:
    """From all its nodes, though one of its pods is in nobody's way; with the group's priority."""
    there = [
        make_pod("team-a", cpu="4", node="n0", priority=999),
        make_pod("team-b", cpu="1", node="far", priority=999),
    ]
    nodes = [make_node("n0", cpu="4"), make_node("far", cpu="1")]
    tried = context(nodes, there)
    one = dataclasses.replace(URGENT, min_count=1)
    found = room(tried, [make_pod("g0", cpu="4", priority=100)], one)
    assert sorted(pod.metadata.name for pod in found.victims) == ["team-a", "team-b"]
    low = dataclasses.replace(one, priority=10)
    assert room(tried, [make_pod("g0", cpu="4", priority=10)], low).victims == ()


def test_what_is_important_comes_back_first() -> None:
    """Groups before pods, larger ones before smaller ones, then those that run for longer."""
    old, new = "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"
    there = [
        started(make_pod("new", node="n0", priority=10), new),
        started(make_pod("old", node="n0", priority=10), old),
        make_pod("top", node="n0", priority=11),
        started(make_pod("team-a", node="n0"), new),
        started(make_pod("team-b", node="n0"), new),
    ]
    units = units_below(100, context([make_node("n0")], there))
    names = [" ".join(sorted(pod.metadata.name for pod in unit.pods)) for unit in units]
    assert names == ["top", "team-a team-b", "old", "new"]


def test_budgets_are_spared_where_there_is_a_choice() -> None:
    """Of two pods of which one has to go, the one goes that no budget protects."""
    there = [
        labelled(make_pod("guarded", cpu="2", node="n0", priority=1), app="db"),
        make_pod("free", cpu="2", node="n0", priority=9),
    ]
    tried = context([make_node("n0", cpu="4")], there)
    tried.cache.store.put(
        PodDisruptionBudget(
            ObjectMeta(name="db", namespace="default"),
            PodDisruptionBudgetSpec(selector=LabelSelector(match_labels={"app": "db"})),
            PodDisruptionBudgetStatus(disruptions_allowed=0),
        )
    )
    one = dataclasses.replace(URGENT, min_count=1)
    assert victims(room(tried, [make_pod("g0", cpu="2", priority=100)], one)) == "free"


def test_victims_that_are_going_are_waited_for() -> None:
    """Nobody else is chosen meanwhile, and the members keep their nodes."""
    low = make_pod("low", cpu="4", node="n0", priority=1)
    tried = context([make_node("n0", cpu="4")], [low])
    members = waiting("1")
    for pod in members:
        tried.cache.nominations.nominate(pod, "n0")
    tried.cache.mark_preempted("uid-low")
    found = room(tried, members)
    assert found.status.message == "ongoing preemption on nominated nodes"
    assert (set(found.nominations.values()), found.victims) == ({"n0"}, ())


def labelled(pod: Pod, **labels: str) -> Pod:
    """The pod has these labels."""
    metadata = msgspec.structs.replace(pod.metadata, labels=labels)
    return msgspec.structs.replace(pod, metadata=metadata)


class Impatient(TimeBudget):
    """Its time is out every second time that it is asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = 0

    def check(self) -> None:
        """Raises OutOfTime, or not."""
        self.asked += 1
        if self.asked % 2:
            raise OutOfTime


@pytest.mark.parametrize("topology", ["", "zone"])
def test_what_is_found_out_in_slices_is_the_same(topology: str) -> None:
    """Wherever time runs out, it goes on from there."""
    nodes = [
        make_node(f"{zone}{i}", cpu="3", labels={"zone": zone}) for zone in "ab" for i in range(2)
    ]
    there = [
        make_pod(f"p{i}", cpu="2", node=node.metadata.name, priority=i)
        for i, node in enumerate(nodes)
    ]
    group = dataclasses.replace(URGENT, min_count=2, topology_key=topology)
    members = waiting("1500m")
    found = room(context(nodes, there), members, group)
    budget = Impatient()
    slow = CycleContext(context(nodes, there).cache, 7, budget=budget)
    assert found.victims
    assert room(slow, members, group) == found
    assert budget.asked > len(nodes)


def started(pod: Pod, time: str) -> Pod:
    """The pod runs since then."""
    status = msgspec.structs.replace(pod.status, start_time=time)
    return msgspec.structs.replace(pod, status=status)


class Crowd(NamedTuple):
    """Nodes, the pods on them, and members of a group of priority 100 that waits."""

    nodes: list[Node]
    pods: list[Pod]
    members: list[Pod]


@st.composite
def crowds(draw: st.DrawFn) -> Crowd:
    """Some pods are in the team, some are more important than the group that waits."""
    cpus = draw(st.lists(st.sampled_from(["2", "3", "4"]), min_size=1, max_size=4))
    team, cpu = st.sampled_from(["", "team-"]), st.sampled_from(["500m", "1", "2"])
    level = st.sampled_from([0, 5, 50, 500])
    there = draw(st.lists(st.tuples(team, cpu, st.integers(0, 3), level), max_size=10))
    gang = draw(st.lists(cpu, min_size=1, max_size=4))
    return Crowd(
        [make_node(f"n{i}", cpu=cpu) for i, cpu in enumerate(cpus)],
        [
            make_pod(f"{team}{i}", cpu=cpu, node=f"n{node % len(cpus)}", priority=level)
            for i, (team, cpu, node, level) in enumerate(there)
        ],
        [make_pod(f"g{i}", cpu=cpu, priority=100) for i, cpu in enumerate(gang)],
    )


@settings(max_examples=60)
@given(crowds(), st.integers(1, 4))
def test_victims_suffice_and_are_needed(crowd: Crowd, least: int) -> None:
    """Without them the group fits where it is nominated to; with any unit of them back it does
    not; whoever is as important as the group is no victim.
    """
    cluster, pods, members = crowd
    group = dataclasses.replace(URGENT, min_count=min(least, len(members)))
    tried = context(cluster, pods)
    found = room(tried, members, group)
    assert len(tried.cache) == len(pods)
    if found.status.code is not Code.SUCCESS:
        assert not found.victims
        return
    gone = {pod.metadata.uid for pod in found.victims}
    left = [pod for pod in pods if pod.metadata.uid not in gone]
    assert all(in_team(pod) or (pod.spec.priority or 0) < 100 for pod in found.victims)
    assert _stands(context(cluster, left), members, found, group)
    for unit in units_below(group.priority, tried):
        if {pod.metadata.uid for pod in unit.pods} <= gone:
            assert not _stands(context(cluster, [*left, *unit.pods]), members, found, group)


def _stands(
    there: CycleContext, members: Sequence[Pod], found: GroupPreemption, group: GroupSpec
) -> bool:
    """Whether all nominated members go where they are nominated to."""
    for pod in members:
        if node := found.nominations.get(pod.metadata.uid):
            there.cache.nominations.nominate(pod, node)

    def place(pod: Pod, placement: Placement) -> Decision:
        return place_member(pod, REVISION, there, placement)

    nominated = [pod for pod in members if pod.metadata.uid in found.nominations]
    attempt = GroupAttempt(dataclasses.replace(group, min_count=len(nominated)), nominated)
    result = finished(schedule_group(attempt, place, there, REVISION))
    where = {one.pod.metadata.uid: one.node for one in result.placed}
    return where == dict(found.nominations)
