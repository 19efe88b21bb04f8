"""Preemption by a pod alone, of pods of PodGroups: with which priority they count, who goes with
whom, and what that costs where there are none.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from types import FrameType
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moorage.core.cycle.context import CycleContext, Diagnosis
from moorage.core.cycle.cycle import decide
from moorage.core.objects.nodes import Node
from moorage.core.objects.pod_groups import PodGroup
from moorage.core.objects.pods import Pod, PodSchedulingGroup
from moorage.core.objects.workloads import PodDisruptionBudget
from moorage.core.plugins.default_preemption.plugin import DefaultPreemptionArgs
from moorage.core.pods.requests import pod_requests
from tests.builders import make_node
from tests.core.plugins.default_preemption.test_plugin import (
    BY_US,
    HIGH,
    NODE,
    PROFILE,
    REVISION,
    a_budget,
    a_pod,
    check_victims,
    diagnosis,
    going,
    names,
    nominated,
    revision_with,
    scheduler_of,
)
from tests.oracle import cluster as naive
from tests.oracle.preemption import Preemption
from tests.oracle.scheduler import schedule


def a_group(name: str, priority: int | None = None, mode: str = "all") -> PodGroup:
    """A PodGroup with this priority and disruption mode."""
    return msgspec.convert(
        {
            "metadata": {"name": name, "namespace": "default"},
            "spec": {"priority": priority, "disruptionMode": {mode: {}}},
        },
        PodGroup,
    )


def member(
    name: str, cpu: str, node: str, group: str = "team", priority: int | None = None, **more: Any
) -> Pod:
    """A pod of a group on a node."""
    return a_pod(name, cpu, node, priority, schedulingGroup={"podGroupName": group}, **more)


def cluster(
    nodes: Sequence[Node],
    pods: Sequence[Pod],
    groups: Sequence[PodGroup],
    budgets: Sequence[PodDisruptionBudget] = (),
) -> CycleContext:
    """A scheduler over these."""
    context = scheduler_of(nodes, pods, budgets)
    for group in groups:
        context.cache.store.put(group)
    return context


# ---- the same as a naive search ------------------------------------------------------------------

NODES = [
    make_node(f"n{i}", cpu=cpu, labels={"kubernetes.io/hostname": f"n{i}", "zone": "ab"[i % 2]})
    for i, cpu in enumerate(["2", "3", "3", "4"])
]
APPS = st.sampled_from([{}, {"app": "a"}, {"app": "b"}])
TERM = {"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": "a"}}}
ANTI = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [TERM]}}
SPREAD = [{**TERM, "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"}]
PLACED = st.tuples(
    st.sampled_from(["n0", "n1", "n2", "n3", "gone"]),
    st.sampled_from(["500m", "1", "2"]),
    st.sampled_from([None, 0, 5, 5, 9]),
    APPS,
    st.sampled_from([None, "2026-01-01T00:00:01Z", "2026-01-01T00:00:02Z"]),
    st.sampled_from([None, None, "g0", "g0", "g1", "g1", "absent"]),
    st.sampled_from([None, None, None, ANTI]),
)
GROUPS = st.tuples(st.sampled_from([None, 0, 5, 9, 10]), st.sampled_from(["all", "all", "single"]))
BUDGETS = st.tuples(
    st.sampled_from([{"matchLabels": {"app": "a"}}, {"matchLabels": {"app": "b"}}]),
    st.integers(0, 2),
)
WANTED = st.tuples(
    st.sampled_from(["1", "2", "3"]),
    st.sampled_from([4, 9, 20]),
    APPS,
    st.sampled_from([None, None, ANTI]),
    st.sampled_from([None, SPREAD]),
)


@given(
    st.lists(PLACED, min_size=6, max_size=18),
    st.tuples(GROUPS, GROUPS),
    st.lists(BUDGETS, max_size=2),
    WANTED,
)
@settings(max_examples=120, deadline=None)
def test_victims_are_those_of_a_naive_search(
    placed: list[tuple[Any, ...]],
    drawn: tuple[tuple[int | None, str], ...],
    protecting: list[tuple[Any, ...]],
    wanted: tuple[Any, ...],
) -> None:
    """Of groups that go together and others, over zones, with budgets."""
    pods = [
        a_pod(
            f"p{i}",
            cpu,
            node,
            level,
            {"startTime": start},
            metadata={"labels": labels},
            schedulingGroup=group and {"podGroupName": group},
            affinity=affinity,
        )
        for i, (node, cpu, level, labels, start, group, affinity) in enumerate(placed)
    ]
    groups = [a_group(f"g{i}", level, mode) for i, (level, mode) in enumerate(drawn)]
    budgets = [a_budget(f"b{i}", left, chosen) for i, (chosen, left) in enumerate(protecting)]
    cpu, level, labels, affinity, spread = wanted
    pod = a_pod(
        "new",
        cpu,
        priority=level,
        affinity=affinity,
        topologySpreadConstraints=spread,
        metadata={"labels": labels},
    )
    there = [(one, one.spec.node_name) for one in pods]
    expected = schedule(pod, naive.Cluster(NODES, there, [*budgets, *groups]), PROFILE)
    outcome = decide(pod, REVISION, cluster(NODES, pods, groups, budgets))
    if expected.feasible:
        assert not isinstance(outcome, Diagnosis)
        return
    assert isinstance(outcome, Diagnosis)
    assert outcome.message == expected.message_of(outcome.nominated_node)
    check_victims(outcome, expected.preemption or Preemption())


# ---- with which priority -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("own", "groups", "victims"),
    [
        pytest.param(99, [a_group("team", 1)], ["p"], id="its group's, and not its own"),
        pytest.param(1, [a_group("team", 9, "single")], [], id="however it goes"),
        pytest.param(99, [a_group("team")], ["p"], id="a group without one has 0"),
        pytest.param(99, [a_group("other", 1)], [], id="its own while its group is not there"),
        pytest.param(1, [a_group("other", 99)], ["p"], id="or if that is another's"),
    ],
)
def test_the_priority_that_counts(own: int, groups: list[PodGroup], victims: list[str]) -> None:
    """Whether its group came before it or afterwards."""
    pods = [member("p", "4", "n1", priority=own)]
    assert names(diagnosis(HIGH, cluster(NODE, pods, groups)).victims) == victims
    context = cluster([], [], groups)
    context.cache.put_node(NODE[0])
    context.cache.observe(pods[0], pod_requests(pods[0]))
    assert names(diagnosis(HIGH, context).victims) == victims


def test_what_is_cheapest_goes_by_the_pods_own_priorities() -> None:
    """As kube-scheduler does: their groups' are the other way round."""
    nodes = [make_node("n1"), make_node("n2")]
    pods = [member("a", "4", "n1", "low", 8), member("b", "4", "n2", "lower", 7)]
    context = cluster(nodes, pods, [a_group("low", 1), a_group("lower", 2)])
    assert names(diagnosis(HIGH, context).victims) == ["b"]


@pytest.mark.parametrize(("level", "waits"), [(1, True), (9, False)])
def test_a_victim_that_is_going_is_one_by_its_group(level: int, waits: bool) -> None:
    """What is no victim by its group's priority was not told to go for this pod."""
    leaving = going(BY_US)
    spec = msgspec.structs.replace(leaving.spec, scheduling_group=PodSchedulingGroup("team"))
    context = cluster(NODE, [msgspec.structs.replace(leaving, spec=spec)], [a_group("team", level)])
    found = diagnosis(HIGH, nominated(HIGH, "n1", context))
    assert ("a terminating pod on the nominated node" in found.message) is waits


# ---- who goes with whom --------------------------------------------------------------------------

TWO = [make_node("n1"), make_node("n2")]
TEAM = [
    member("a", "3", "n1", status={"startTime": "2026-01-01T00:00:03Z"}),
    member("b", "1", "n1", status={"startTime": "2026-01-01T00:00:01Z"}),
    member("c", "1", "n2", status={"startTime": "2026-01-01T00:00:02Z"}),
]
RUNNING = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
SMALL = a_pod("small", "3", priority=9)
STAYS = a_pod("stays", "3", "n2", 9)


@pytest.mark.parametrize(
    ("group", "victims"),
    [
        pytest.param(a_group("team"), ["b", "c", "a"], id="all, from all nodes"),
        pytest.param(a_group("team", mode="single"), ["a"], id="only who is in the way"),
    ],
)
def test_who_goes(group: PodGroup, victims: list[str]) -> None:
    """The one that runs for longest first; the message counts all, the node is the pod's."""
    found = diagnosis(SMALL, cluster(TWO, [*TEAM, STAYS], [group]))
    assert (names(found.victims), found.nominated_node) == (victims, "n1")
    assert f"on node n1, preempting {len(victims)} victims" in found.message


def test_a_pod_of_another_namespace_is_in_another_group() -> None:
    """Of the same name."""
    metadata = {"namespace": "elsewhere"}
    far = msgspec.structs.replace(
        TEAM[2], metadata=msgspec.structs.replace(TEAM[2].metadata, **metadata)
    )
    found = diagnosis(SMALL, cluster(TWO, [*TEAM[:2], far, STAYS], [a_group("team")]))
    assert names(found.victims) == ["b", "a"]


def test_a_member_that_does_not_go_is_left_out() -> None:
    """It was told long ago; nor does one count whose node is not there."""
    lost = member("lost", "1", "gone")
    context = cluster(TWO, [*TEAM, lost, STAYS], [a_group("team")])
    context.cache.mark_stuck("uid-c")
    assert names(diagnosis(SMALL, context).victims) == ["b", "a"]


def test_members_elsewhere_are_told_to_plugins_only() -> None:
    """What they keep others from by anti-affinity is gone with them; their own node is not tried as
    if they were gone.
    """
    nodes = [make_node(name, labels={"zone": "a"}) for name in ("n1", "n2")]
    anti = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [TERM]}}
    pods = [
        member("here", "4", "n1"),
        member("far", "1", "n2", metadata={"labels": {"app": "a"}}),
        a_pod("stays", "3", "n2", 9),
    ]
    new = a_pod("new", "4", priority=9, affinity=anti)
    found = diagnosis(new, cluster(nodes, pods, [a_group("team")]))
    assert (names(found.victims), found.nominated_node) == (["far", "here"], "n1")
    found = diagnosis(new, cluster(nodes, pods, [a_group("team", mode="single")]))
    assert found.victims == ()


def test_a_group_is_more_important_than_a_pod() -> None:
    """Of the same priority; and a larger one than a smaller one."""
    pods = [
        a_pod("alone", "1", "n1", 0, {"startTime": "2026-01-01T00:00:00Z"}),
        member("pair-a", "1", "n1", "pair"),
        member("pair-b", "1", "n2", "pair"),
        member("single", "1", "n1", "single"),
        a_pod("rest", "1", "n1", 9),
    ]
    context = cluster(TWO, [*pods, STAYS], [a_group("pair"), a_group("single", mode="single")])
    for cpu, victims in (("1", ["alone"]), ("2", ["single", "alone"]), ("3", [])):
        want = a_pod(f"want-{cpu}", cpu, priority=9)
        found = names(diagnosis(want, context).victims)
        assert found == (victims or ["pair-a", "pair-b", "single", "alone"])


def test_all_members_that_budgets_protect_are_counted() -> None:
    """A unit with two of them does more harm than one with a single one, wherever they are."""
    guarded = {"labels": {"app": "db"}}
    pods = [
        member("a", "4", "n1", metadata=guarded),
        member("b", "1", "n3", metadata=guarded),
        a_pod("single", "4", "n2", 8, metadata=guarded),
    ]
    nodes = [*TWO, make_node("n3", cpu="1")]
    budgets = [a_budget("db", 0, {"matchLabels": {"app": "db"}})]
    found = diagnosis(HIGH, cluster(nodes, pods, [a_group("team")], budgets))
    assert names(found.victims) == ["single"]
    assert names(diagnosis(HIGH, cluster(nodes, pods, [a_group("team")])).victims) == ["a", "b"]


def test_a_budget_protects_the_whole_unit() -> None:
    """Where budgets are respected, also by one of its pods elsewhere."""
    respectful = revision_with(DefaultPreemptionArgs(disruption_policy="RespectPDB"))
    pods = [
        member("a", "4", "n1"),
        member("b", "1", "n3", metadata={"labels": {"app": "db"}}, status=RUNNING),
        a_pod("single", "4", "n2", 8),
    ]
    nodes = [*TWO, make_node("n3", cpu="1")]
    budgets = [a_budget("db", 0, {"matchLabels": {"app": "db"}})]
    context = cluster(nodes, pods, [a_group("team")], budgets)
    assert names(diagnosis(HIGH, context, respectful).victims) == ["single"]


# ---- where there are none ------------------------------------------------------------------------


@pytest.mark.parametrize("grouped", [False, True])
def test_pods_alone_cost_nothing_more(grouped: bool) -> None:
    """Nobody asks for groups, unless a pod on some node is in one."""
    pods = [a_pod(f"p{i}", "1", "n1", i) for i in range(4)]
    pods += [member("m", "0", "n1")] if grouped else []
    context = cluster(NODE, pods, [a_group("team")])
    asked: set[str] = set()

    def profiler(frame: FrameType, event: str, _arg: object) -> None:
        if event == "call":
            asked.add(frame.f_code.co_name)

    sys.setprofile(profiler)
    try:
        decide(HIGH, REVISION, context)
    finally:
        sys.setprofile(None)
    assert "potential_victims" in asked
    about_groups = {"units_of", "level_of", "together_with", "pod_group_name", "tell", "places"}
    assert bool(asked & about_groups) is grouped
