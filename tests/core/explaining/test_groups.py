"""Every explanation of a pod group that waits is true: members find the nodes that are named, each
suggestion lets the group fit, no smaller one of its kind does, and nothing stays of what was tried.
"""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import msgspec
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from moorage.core.columns.cache import Cache
from moorage.core.columns.store import Store
from moorage.core.cycle.context import CycleContext, Decision
from moorage.core.cycle.group_attempt import GroupAttempt
from moorage.core.cycle.group_cycle import place_member, schedule_group
from moorage.core.explaining.cluster_changes import AddedNodes, MovedPod, with_added
from moorage.core.explaining.pending_groups import GroupExplanation, explain_group
from moorage.core.explaining.pending_pods import Limits
from moorage.core.explaining.pod_changes import RequestChange
from moorage.core.explaining.suggestions import Change
from moorage.core.explaining.what_if import WhatIf
from moorage.core.explaining.what_if_group import MinCountChange, WhatIfGroup, at_once
from moorage.core.framework.placement_contract import Placement
from moorage.core.objects.meta import ObjectMeta
from moorage.core.objects.nodes import Node, Taint
from moorage.core.objects.pod_groups import (
    GangSchedulingPolicy,
    PodGroup,
    PodGroupSchedulingConstraints,
    PodGroupSchedulingPolicy,
    PodGroupSpec,
    TopologyConstraint,
    group_of,
)
from moorage.core.objects.pods import Pod, PodSchedulingGroup, SchedulingGate, on_node
from moorage.core.plugins.intree import INDEXES
from moorage.core.pods.requests import pod_requests
from moorage.core.pods.signatures import pod_signature
from moorage.core.structures.budget import OutOfTime
from tests.builders import make_node, make_pod
from tests.core.explaining.pending_strategies import DEFAULT, SEED
from tests.core.explaining.test_limits import hasty
from tests.core.explaining.test_true import known_of, smaller
from tests.core.placement_strategies import lists, mostly
from tests.twins import opened

ZONE = "topology.kubernetes.io/zone"
FEW = settings(
    max_examples=300 if settings().max_examples >= 500 else 30,
    suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow],
)


class GroupCase(NamedTuple):
    """A cluster with a PodGroup, some members of which wait."""

    nodes: Sequence[Node]
    placed: Sequence[Pod]
    members: Sequence[Pod]
    least: int
    topology: str = ""
    priority: int = 0

    def context(self) -> CycleContext:
        cache = Cache(Store(INDEXES))
        for node in self.nodes:
            cache.put_node(node)
        cache.store.put(pod_group(self.least, self.topology, self.priority))
        for pod in self.placed:
            cache.observe(pod, pod_requests(pod))
        for pod in self.members:
            cache.observe_waiting(pod, pod_requests(pod))
        return CycleContext(cache, SEED)


def pod_group(least: int, topology: str = "", priority: int = 0) -> PodGroup:
    """A gang, or for a minimum of 0 a basic group."""
    gang = GangSchedulingPolicy(least) if least else None
    constraints = PodGroupSchedulingConstraints((TopologyConstraint(topology),))
    spec = PodGroupSpec(
        PodGroupSchedulingPolicy(gang=gang),
        scheduling_constraints=constraints if topology else None,
        priority=priority,
    )
    return PodGroup(ObjectMeta("g", "default", "uid-g"), spec)


def member(name: str, cpu: str = "1", node: str = "", **spec: Any) -> Pod:
    """A pod of group g."""
    group = PodSchedulingGroup("g")
    return make_pod(name, cpu=cpu, node=node, scheduling_group=group, **spec)


def explained(case: GroupCase, context: CycleContext | None = None) -> GroupExplanation:
    """The group, by its first member that waits."""
    return explain_group(context or case.context(), case.members[0], DEFAULT)


# ---- what is said is true ------------------------------------------------------------------------

nodes = st.builds(
    lambda cpu, zone, tainted: (cpu, zone, tainted),
    st.sampled_from(["1", "2", "3"]),
    st.sampled_from(["a", "b"]),
    mostly(False, st.just(True)),
)


@st.composite
def cases(draw: st.DrawFn) -> GroupCase:
    """Small nodes, some full, some tainted; members of two kinds, some on nodes already."""
    there = [
        make_node(
            f"n{i}",
            cpu=cpu,
            labels={ZONE: zone},
            taints=(Taint("t", "", "NoSchedule"),) if tainted else None,
        )
        for i, (cpu, zone, tainted) in enumerate(draw(lists(nodes, 4, 1)))
    ]
    names = [node.metadata.name for node in there]
    others = draw(lists(st.sampled_from(names), 4))
    priority = draw(st.sampled_from([0, 5]))
    kinds = draw(st.lists(st.sampled_from(["500m", "1", "2"]), min_size=2, max_size=4))
    on = draw(mostly([], st.lists(st.sampled_from(names), min_size=1, max_size=1)))
    running = [member(f"r{i}", node=node, priority=priority) for i, node in enumerate(on)]
    return GroupCase(
        there,
        [*(make_pod(f"p{i}", cpu="1", node=node) for i, node in enumerate(others)), *running],
        [member(f"m{i}", cpu, priority=priority) for i, cpu in enumerate(kinds)],
        draw(st.sampled_from([0, 2, len(kinds)])),
        draw(mostly("", st.just(ZONE))),
        priority,
    )


def members_placed(case: GroupCase, refused: Pod, changes: Sequence[Change]) -> dict[str, str]:
    """By name, where members go in a cluster made anew with these changes; none where they are not
    enough.
    """
    context = case.context()
    before = explained(case).spec
    assert before is not None
    spec = dataclasses.replace(before, min_count=1) if runs(case) >= before.min_count else before
    members, kind = list(case.members), pod_signature(refused)
    alike = [pod_signature(one) == kind for one in members]
    with contextlib.ExitStack() as undo:
        for change in changes:
            match change:
                case MovedPod():
                    context.cache.remove(change.pod.metadata.uid)
                    there = on_node(change.pod, change.to)
                    context.cache.observe(there, pod_requests(there))
                case AddedNodes():
                    undo.enter_context(with_added(WhatIf(context, DEFAULT), change))
                case MinCountChange():
                    spec = dataclasses.replace(spec, min_count=change.after)
                case _:
                    members = [
                        change.apply(one) if same else one
                        for one, same in zip(members, alike, strict=True)
                    ]
        infos = [one for one in context.cache.pod_infos() if group_of(one.pod) is not None]
        on = [(one.pod, one.node) for one in infos if isinstance(one.pod, Pod)]

        def place(pod: Pod, placement: Placement) -> Decision:
            return place_member(pod, DEFAULT, context, placement)

        attempt = GroupAttempt(spec, members, on)
        result = at_once(schedule_group(attempt, place, context, DEFAULT), context)
        return {one.pod.metadata.name: one.node for one in result.placed}


def runs(case: GroupCase) -> int:
    """How many members run."""
    return sum(group_of(pod) is not None for pod in case.placed)


def fewer(change: Change, pod: Pod) -> Iterator[Change]:
    """Those of its kind that are smaller by a step."""
    if isinstance(change, MinCountChange):
        if change.after + 1 < change.before:
            yield change._replace(after=change.after + 1)
        return
    yield from itertools.chain.from_iterable(smaller(change, pod))


@FEW
@given(cases())
def test_what_is_said_is_true(case: GroupCase) -> None:
    """On random clusters, each with a group that does not fit."""
    context, before = case.context(), case.context()
    said = explained(case, context)
    assert known_of(context) == known_of(before)
    assert (said.gate, said.error) == (None, "")
    assert said.present == len(case.members) + runs(case)
    assume(not said.fits)
    assert said.refused is not None
    assert members_placed(case, said.refused, ()) == {}
    for one in said.suggestions:
        went = members_placed(case, said.refused, one.changes)
        assert sorted(set(went.values())) == list(one.nodes) != []
        for i, change in enumerate(one.changes):
            for less in fewer(change, said.refused):
                some = (*one.changes[:i], less, *one.changes[i + 1 :])
                assert members_placed(case, said.refused, some) == {}, (one.changes, some)


@FEW
@given(cases(), st.integers(0, 40))
def test_what_is_found_in_time_is_true(case: GroupCase, looks: int) -> None:
    """However early time is over, nothing stays, and what is said is said with more time, too."""
    context = hasty(case.context())
    some = explain_group(context, case.members[0], DEFAULT, Limits(seconds=looks))
    assert known_of(context) == known_of(case.context())
    for one in some.suggestions:
        assert some.refused is not None
        assert members_placed(case, some.refused, one.changes)


def test_a_question_that_ran_out_of_time_changes_nothing() -> None:
    """In the middle of an attempt."""
    case = GroupCase([make_node("n")], [], [member("a"), member("b")], 2)
    context = hasty(case.context())
    spec = explained(case).spec
    assert spec is not None
    asked = WhatIfGroup(context, DEFAULT, GroupAttempt(spec, case.members))
    context.budget.slice = 4
    with pytest.raises(OutOfTime), context.budget:
        asked.fits(case.members[0])
    assert known_of(context) == known_of(case.context())


# ---- what is said --------------------------------------------------------------------------------


def test_who_found_a_node_and_who_did_not() -> None:
    """Two of three fit. What is asked of one member is asked of all that are alike, one is moved
    away, a node comes, or fewer are enough.
    """
    trio = [member(name, "2") for name in "abc"]
    other = make_pod("other", cpu="3", memory="10Mi", node="n2")
    there = [make_node("n1"), make_node("n2"), make_node("n3", cpu="3", memory="50Mi")]
    said = explained(GroupCase(there, [other], trio, 3))
    names = [(one.pod.metadata.name, one.node) for one in said.members]
    assert names == [("a", "n1"), ("b", "n1"), ("c", "")]
    assert "2 Insufficient cpu" in said.members[2].message
    assert said.message.startswith("minCount (3) cannot be satisfied: 2 scheduled, 0 remaining")
    assert sum(group.nodes for group in said.refusals) == 3
    found = [one.changes[0] for one in said.suggestions]
    assert {type(one) for one in found} == {RequestChange, MinCountChange, MovedPod, AddedNodes}
    assert MinCountChange(3, 2) in found
    assert MovedPod(other, "n2", "n3") in found
    assert AddedNodes(1, "n2") in found


def test_each_placement_with_its_first_reason() -> None:
    """All zones are too small, each otherwise; where there is no room nobody was tried, unless
    there is none anywhere.
    """
    there = [
        make_node("n0", cpu="1", labels={ZONE: "c"}),
        make_node("n1", cpu="2", labels={ZONE: "a"}),
        make_node("n2", labels={ZONE: "b"}, taints=(Taint("t", "", "NoSchedule"),)),
    ]
    trio = [member(name) for name in "abc"]
    said = explained(GroupCase(there, [], trio, 3, ZONE))
    tainted = "0/1 nodes are available: 1 node(s) had untolerated taint(s)."
    assert said.placements == (
        ("b", 0, tainted, True),
        ("a", 2, "room for 2 of 3 members at most", False),
        ("c", 1, "room for 1 of 3 members at most", False),
    )
    assert said.refusals == ()
    said = explained(GroupCase(there[:2], [], trio, 3, ZONE))
    assert said.placements == (
        ("a", 2, "0/1 nodes are available: 1 Insufficient cpu.", True),
        ("c", 1, "room for 1 of 3 members at most", False),
    )


@pytest.mark.parametrize(
    ("priority", "policy", "victims"),
    [(5, None, ["low"]), (0, None, []), (5, "Never", [])],
)
def test_what_preemption_would_do(priority: int, policy: str | None, victims: list[str]) -> None:
    """It hits those of lower priority, unless the group may not."""
    low = make_pod("low", cpu="3", node="n", priority=0)
    pair = [member(name, "2", priority=priority, preemption_policy=policy) for name in "ab"]
    said = explained(GroupCase([make_node("n")], [low], pair, 2, priority=priority))
    assert said.preemption is not None
    assert [pod.metadata.name for pod in said.preemption.victims] == victims
    assert said.preemption.nodes == ((("a", "n"), ("b", "n")) if victims else ())
    assert said.preemption.message


@pytest.mark.parametrize(
    ("gated", "there", "text"),
    [
        pytest.param(False, 2, "2 of 3 members are here", id="too few"),
        pytest.param(True, 3, "pod 'm2' is gated", id="one is gated"),
    ],
)
def test_a_group_that_is_not_tried(gated: bool, there: int, text: str) -> None:
    """No node is asked."""
    gates = (SchedulingGate("g"),) if gated else None
    last = member(f"m{there - 1}", scheduling_gates=gates)
    pods = [*(member(f"m{i}") for i in range(there - 1)), last]
    said = explained(GroupCase([make_node("n")], [], pods, 3))
    assert said.gate is not None
    assert text in said.gate.message
    assert (said.present, len(said.members), said.placements) == (there, there, ())


def test_a_group_that_fits_and_one_that_ends_in_a_fault() -> None:
    """Members have nodes; a member of another priority ends each attempt."""
    pair = [member("a"), member("b", "9")]
    said = explained(GroupCase([make_node("n")], [], pair, 1))
    assert (said.fits, [one.node for one in said.members]) == (True, ["n", ""])
    odd = [member("a"), member("b", priority=3)]
    assert "priority" in explained(GroupCase([make_node("n")], [], odd, 2)).error


def test_members_that_leave_do_not_count() -> None:
    """One is being deleted."""
    leaving = member("b")
    meta = msgspec.structs.replace(leaving.metadata, deletion_timestamp="2026-11-30T00:00:00Z")
    leaving = msgspec.structs.replace(leaving, metadata=meta)
    said = explained(GroupCase([make_node("n")], [], [member("a"), leaving], 2))
    assert said.gate is not None
    assert "1 of 2 members are here" in said.gate.message


def test_a_basic_group_has_no_minimum_to_lower() -> None:
    """And what is said is the same from a context made of a key frame."""
    case = GroupCase([make_node("n", cpu="1")], [], [member("a", "2")], 0)
    said = explained(case)
    kinds = {type(one) for suggestion in said.suggestions for one in suggestion.changes}
    assert kinds and MinCountChange not in kinds
    assert explained(case, opened(case.context())) == said
