"""The cycle of a pod group: members are placed as they would be one after another, or everything is
as before; topology; what others do meanwhile; what is said of each.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moorage.core.columns.cache import Cache
from moorage.core.cycle.context import CycleContext, Decision, Diagnosis, ScheduleResult
from moorage.core.cycle.cycle import assume_and_reserve, decide
from moorage.core.cycle.group_attempt import GroupAttempt
from moorage.core.cycle.group_cycle import GroupResult, PlaceMember, place_member, schedule_group
from moorage.core.cycle.group_outcome import group_outcome
from moorage.core.cycle.group_post_filter import GroupRoom
from moorage.core.cycle.group_validation import validate
from moorage.core.framework.interfaces import ReserveResult
from moorage.core.framework.placement_contract import Placement
from moorage.core.framework.registry import build_registry
from moorage.core.framework.revisions import RequestedProfile, resolve
from moorage.core.framework.status import SUCCESS, Code
from moorage.core.groups.group_spec import GroupSpec
from moorage.core.objects.nodes import Node
from moorage.core.objects.pod_groups import API, GroupKey
from moorage.core.objects.pods import Pod, PodSchedulingGroup
from moorage.core.plugins.intree import INTREE, PRESETS
from moorage.core.pods.requests import pod_requests
from moorage.core.simulation.simulated_groups import finished
from moorage.core.structures.budget import OutOfTime
from tests.builders import make_node, make_pod
from tests.core import companion_strategies as companions

REVISION = resolve(RequestedProfile("test"), build_registry(INTREE), PRESETS)
KEY = GroupKey(API, "default", "g")
TRIO = GroupSpec(KEY, 3, 0)
ZONE = "topology.kubernetes.io/zone"


def context(nodes: Sequence[Node], there: Sequence[Pod] = ()) -> CycleContext:
    """One that has seen nothing but this."""
    cache = Cache()
    for node in nodes:
        cache.put_node(node)
    for pod in there:
        cache.observe(pod, pod_requests(pod))
    return CycleContext(cache, 7)


def placer(tried: CycleContext) -> PlaceMember:
    """Decides with all plugins."""

    def place(pod: Pod, placement: Placement) -> Decision:
        return place_member(pod, REVISION, tried, placement)

    return place


def scripted(outcomes: dict[str, str], undone: list[str]) -> PlaceMember:
    """Pods that fit, or are refused by the plugin named; "!" stands for a fault."""

    def place(pod: Pod, _placement: Placement) -> Decision:
        name = pod.metadata.name
        if outcomes[name] == "!":
            return Diagnosis.error(pod, REVISION, "broken")
        if plugin := outcomes[name]:
            return Diagnosis(
                pod=pod,
                revision=REVISION,
                code=Code.UNSCHEDULABLE,
                message=f"no {plugin}.",
                unschedulable_plugins=frozenset({plugin}),
            )
        reserved = ReserveResult(SUCCESS, unreserve=lambda: undone.append(name))
        return ScheduleResult(pod, "n1", REVISION, 1, reservations={"Test": reserved})

    return place


def run(group: GroupSpec, outcomes: dict[str, str]) -> tuple[GroupResult, list[str]]:
    """The result, and who was taken back, in order."""
    undone: list[str] = []
    attempt = GroupAttempt(group, [make_pod(name) for name in outcomes])
    tried = CycleContext(Cache())
    return finished(schedule_group(attempt, scripted(outcomes, undone), tried, REVISION)), undone


# ---- how many ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("outcomes", "minimum", "message", "reached", "undone"),
    [
        pytest.param("....", 3, "", 4, "", id="all fit"),
        pytest.param(".x..", 3, "", 4, "", id="enough fit"),
        pytest.param(
            ".x.x",
            3,
            "minCount (3) cannot be satisfied: 2 scheduled, 0 remaining",
            4,
            "ca",
            id="too few fit",
        ),
        pytest.param(
            "xx..",
            3,
            "minCount (3) cannot be satisfied: 0 scheduled, 2 remaining",
            2,
            "",
            id="known early",
        ),
        pytest.param(
            "..",
            3,
            "pod group is unschedulable, minCount (3) cannot be satisfied: 0 scheduled, "
            "2 remaining",
            0,
            "",
            id="known before the first",
        ),
        pytest.param(
            ".!..",
            1,
            "failed to schedule other pod from a pod group: broken",
            2,
            "a",
            id="a fault ends it",
        ),
        pytest.param("x.", 1, "", 2, "", id="a basic group goes as far as it fits"),
    ],
)
def test_enough_or_none(
    outcomes: str, minimum: int, message: str, reached: int, undone: str
) -> None:
    """Those that were not reached are not asked; what was placed is taken back in reverse."""
    kinds = {".": "", "x": "Size", "!": "!"}
    members = {name: kinds[kind] for name, kind in zip("abcd", outcomes, strict=False)}
    result, taken_back = run(dataclasses.replace(TRIO, min_count=minimum), members)
    assert (result.status.message, len(result.decisions), "".join(taken_back)) == (
        message,
        reached,
        undone,
    )


def test_members_that_run_count_and_somebody_new_must_fit() -> None:
    """Two run: one more makes three; where none fits, the group is rejected without a count."""
    running = [(make_pod(name), "n1") for name in ("r1", "r2")]
    undone: list[str] = []
    for outcome, message in (("", ""), ("Size", "cannot be satisfied: 2 scheduled, 0 remaining")):
        attempt = GroupAttempt(TRIO, [make_pod("a")], running)
        place = scripted({"a": outcome}, undone)
        result = finished(schedule_group(attempt, place, CycleContext(Cache()), REVISION))
        assert message in result.status.message
    enough = dataclasses.replace(TRIO, min_count=2)
    attempt = GroupAttempt(enough, [make_pod("a")], running)
    result = finished(
        schedule_group(attempt, scripted({"a": "x"}, undone), CycleContext(Cache()), REVISION)
    )
    assert result.status.message == "pod group is unschedulable"


# ---- what is said --------------------------------------------------------------------------------


def test_what_is_said_of_each_member() -> None:
    """Who does not fit has the own reason, who fits the group's, who was not reached the group's as
    it was then.
    """
    attempt = GroupAttempt(TRIO, [make_pod(name) for name in "abcd"])
    place = scripted({"a": "", "b": "Size", "c": "Size", "d": ""}, [])
    result = finished(schedule_group(attempt, place, CycleContext(Cache()), REVISION))
    done = "deallocation and deletion of ResourceClaims completed"
    room = GroupRoom(done, actions={"uid-a": {"Test": "give back"}})
    outcome = group_outcome(attempt, result, REVISION, room)
    why = "minCount (3) cannot be satisfied: 1 scheduled, 1 remaining"
    assert outcome.status.message == f"{why}, {done}"
    said = [one.message for one in outcome.members.values() if isinstance(one, Diagnosis)]
    assert said == [
        f"pod group is unschedulable, {why}, {done}",
        "no Size.",
        "no Size.",
        why,
    ]


@pytest.mark.parametrize(
    ("other", "message"),
    [
        ({}, ""),
        ({"priority": 7}, "priority as the pod group's priority, got 7 and 0"),
        ({"preemption_policy": "Never"}, "preemption policy, got Never and PreemptLowerPriority"),
        ({"scheduler_name": "b"}, '.spec.schedulerName set, got: "b" and "test"'),
    ],
)
@pytest.mark.parametrize("runs", [False, True])
def test_what_members_must_have_in_common(other: dict[str, Any], message: str, runs: bool) -> None:
    """Whether the one that differs waits or runs."""
    mine, its = make_pod("a"), make_pod("b")
    its = msgspec.structs.replace(its, spec=msgspec.structs.replace(its.spec, **other))
    attempt = GroupAttempt(TRIO, [mine], [(its, "n1")]) if runs else GroupAttempt(TRIO, [mine, its])
    expected = f"all pods in a single pod group should have the same {message}" if message else ""
    assert validate(attempt).message == expected


@pytest.mark.parametrize(
    ("group", "members", "message"),
    [
        ("Never", "Never", ""),
        ("Never", None, "PreemptLowerPriority and Never"),
        ("PreemptLowerPriority", None, ""),
        ("PreemptLowerPriority", "Never", "Never and PreemptLowerPriority"),
        (None, "Never", ""),
    ],
)
def test_a_preemption_policy_of_the_group(
    group: str | None, members: str | None, message: str
) -> None:
    """Where its PodGroup has one, all members must have it."""
    spec = dataclasses.replace(TRIO, preemption_policy=group)
    pods = [make_pod(name, preemption_policy=members) for name in "ab"]
    said = "preemption policy as the pod group's preemption policy, got "
    expected = f"all pods in a single pod group should have the same {said}{message}"
    assert validate(GroupAttempt(spec, pods)).message == (expected if message else "")


# ---- in slices -----------------------------------------------------------------------------------


def test_what_breaks_in_between_leaves_nothing_behind() -> None:
    """Whoever was placed before it is taken back, and nominations are as they were."""
    tried = context([make_node("n1")])
    cache, waiting = tried.cache, [make_pod(name) for name in "abc"]
    for pod in waiting:
        cache.observe_waiting(pod, pod_requests(pod))
        cache.nominations.nominate(pod, "n1")
    before = list(cache.nominations.states())
    steps = schedule_group(GroupAttempt(TRIO, waiting), placer(tried), tried, REVISION)
    assert [next(steps), next(steps)] == [True, True]
    assert (cache.assumed, len(cache.nominations)) == (2, 1)
    steps.close()
    assert cache.assumed == 0
    assert sorted(cache.nominations.states(), key=lambda one: one.uid) == before


def test_siblings_need_not_stand_back_for_each_others_nominations() -> None:
    """Room that is kept for one member may be another's; of others it is kept."""
    tried = context([make_node("n1", cpu="2")])
    waiting = [
        make_pod(name, cpu="1", priority=5, scheduling_group=PodSchedulingGroup("g"))
        for name in "ab"
    ]
    other = make_pod("other", cpu="1", priority=5)
    for pod in (*waiting, other):
        tried.cache.observe_waiting(pod, pod_requests(pod))
        tried.cache.nominations.nominate(pod, "n1")
    pair = dataclasses.replace(TRIO, min_count=1, priority=5)
    result = finished(schedule_group(GroupAttempt(pair, waiting), placer(tried), tried, REVISION))
    assert [one.pod.metadata.name for one in result.placed] == ["a"]


def test_a_member_that_takes_long_is_asked_again() -> None:
    """It says that its time ran out, and goes on."""
    asked: list[str] = []

    def place(pod: Pod, placement: Placement) -> Decision:
        asked.append(pod.metadata.name)
        if len(asked) == 1:
            raise OutOfTime
        return scripted({"a": ""}, [])(pod, placement)

    one = dataclasses.replace(TRIO, min_count=1)
    steps = schedule_group(
        GroupAttempt(one, [make_pod("a")]),
        place,
        CycleContext(Cache()),
        REVISION,
        lambda: "swapped",
    )
    assert next(steps) is False
    assert next(steps) is True
    assert next(steps) is True, "it is taken back"
    with pytest.raises(StopIteration) as end:
        next(steps)
    text = 'pod group "default/g" was overtaken while its members were placed: swapped'
    assert (end.value.value.status.message, asked) == (text, ["a", "a"])


@pytest.mark.parametrize("what", ["room", "node"])
def test_what_others_take_meanwhile_is_noticed(what: str) -> None:
    """The node of a member is full by then, or gone: all is taken back, as a fault."""
    tried = context([make_node("n1", cpu="2")])
    steps = schedule_group(
        GroupAttempt(dataclasses.replace(TRIO, min_count=2), [make_pod(n, cpu="1") for n in "ab"]),
        placer(tried),
        tried,
        REVISION,
    )
    assert (next(steps), steps.send(False)) == (True, True)
    if what == "room":
        intruder = make_pod("x", cpu="1", node="n1")
        tried.cache.observe(intruder, pod_requests(intruder))
    else:
        tried.cache.remove_node("n1")
    assert steps.send(True), "the last one is taken back"
    assert steps.send(True), "and the first"
    with pytest.raises(StopIteration) as end:
        steps.send(True)
    status = end.value.value.status
    assert (status.code, tried.cache.assumed) == (Code.ERROR, 0)
    assert "node 'n1' has" in status.message


# ---- topology ------------------------------------------------------------------------------------


def zones(**sizes: str) -> list[Node]:
    """Two nodes in each zone, of so much cpu."""
    return [
        make_node(f"{zone}{i}", cpu=cpu, labels={ZONE: zone})
        for zone, cpu in sizes.items()
        for i in range(2)
    ]


@pytest.mark.parametrize(
    ("sizes", "zone"),
    [
        pytest.param({"a": "1", "b": "2"}, "b", id="one has room"),
        pytest.param({"a": "2", "b": "8"}, "a", id="the fuller one of two"),
        pytest.param({"a": "1", "b": "1"}, "", id="none has"),
        pytest.param({}, "", id="there is none"),
    ],
)
def test_all_members_lie_in_one_domain(sizes: dict[str, str], zone: str) -> None:
    """Or nobody is placed; nothing of the placements that were tried is left."""
    tried = context([*zones(**sizes), make_node("outside", cpu="9")])
    group = dataclasses.replace(TRIO, topology_key=ZONE)
    attempt = GroupAttempt(group, [make_pod(name, cpu="1") for name in "abc"])
    result = finished(schedule_group(attempt, placer(tried), tried, REVISION))
    assert {one.node[0] for one in result.placed} == ({zone} if zone else set())
    assert tried.cache.assumed == len(result.placed)
    if not sizes:
        assert result.status.message == "no feasible placements found"
    elif not zone:
        head = "pod group is unschedulable, 0/2 placements are available, first placement status: "
        assert result.status.message.startswith(head)


def test_of_more_members_is_better_than_fuller() -> None:
    """A placement that takes four is taken before a fuller one that takes three."""
    tried = context(zones(a="1500m", b="4"))
    group = dataclasses.replace(TRIO, min_count=2, topology_key=ZONE)
    members = [make_pod(name, cpu="1") for name in "abcd"]
    result = finished(schedule_group(GroupAttempt(group, members), placer(tried), tried, REVISION))
    assert [one.node[0] for one in result.placed] == ["b"] * 4


@pytest.mark.parametrize(
    ("on", "message"),
    [
        (["b0", "b1"], ""),
        (["a0", "b0"], "cannot determine domain for already scheduled pods: more than 1 domain"),
        (["outside"], "cannot determine domain for already scheduled pods: no topology domain"),
    ],
)
def test_members_that_run_say_where_the_others_go(on: list[str], message: str) -> None:
    """Only their domain is tried."""
    tried = context([*zones(a="8", b="8"), make_node("outside")])
    running = [(make_pod(f"r{i}"), node) for i, node in enumerate(on)]
    group = dataclasses.replace(TRIO, topology_key=ZONE)
    attempt = GroupAttempt(group, [make_pod(name) for name in "xyz"], running)
    result = finished(schedule_group(attempt, placer(tried), tried, REVISION))
    if message:
        assert result.status.message.startswith(message)
        assert (result.status.code, result.placed) == (Code.ERROR, [])
    else:
        assert {one.node[0] for one in result.placed} == {"b"}


def test_what_is_said_of_a_placement_counts_its_nodes() -> None:
    """The message of a member speaks of the nodes of the placement alone."""
    tried = context(zones(a="1", b="1"))
    group = dataclasses.replace(TRIO, min_count=1, topology_key=ZONE)
    attempt = GroupAttempt(group, [make_pod("x", cpu="9")])
    result = finished(schedule_group(attempt, placer(tried), tried, REVISION))
    (decision,) = result.decisions
    assert isinstance(decision, Diagnosis)
    assert decision.message.startswith("0/2 nodes are available: 2 Insufficient cpu.")
    assert decision.unschedulable_plugins == {"NodeResourcesFit"}


# ---- against one after another -------------------------------------------------------------------


def brief(decision: Decision) -> tuple[Any, ...]:
    """All that counts of a decision."""
    if isinstance(decision, ScheduleResult):
        return decision.node, decision.score
    return decision.message, decision.unschedulable_plugins


members = st.lists(st.tuples(st.integers(0, 3), companions.pod_bodies), min_size=2, max_size=5)


@settings(max_examples=60)
@given(
    st.lists(companions.node_bodies, min_size=1, max_size=4),
    companions.pod_specs,
    st.lists(st.tuples(st.integers(0, 3), companions.pod_bodies, st.integers(0, 3)), max_size=4),
    members,
    st.integers(1, 4),
)
def test_all_or_as_before(nodes: Any, specs: Any, there: Any, gang: Any, least: int) -> None:
    """Members see each other as pods that are placed one by one do; if that does not do, nobody can
    tell that it was tried.
    """
    cluster = [companions.node(f"n{i}", body) for i, body in enumerate(nodes)]
    others = [
        companions.pod(f"p{i}", specs[which], body, f"n{node}")
        for i, (which, body, node) in enumerate(there)
    ]
    waiting = [
        companions.pod(f"m{i}", specs[which], {**body, "deletionTimestamp": None})
        for i, (which, body) in enumerate(gang)
    ]
    tried, naive = context(cluster, others), context(cluster, others)
    group = GroupSpec(KEY, min(least, len(waiting)), 0)
    result = finished(schedule_group(GroupAttempt(group, waiting), placer(tried), tried, REVISION))

    alone: list[str] = []
    for pod in waiting:
        decision = decide(pod, REVISION, naive)
        if isinstance(decision, ScheduleResult):
            decision = assume_and_reserve(decision, naive)
        alone.append(decision.node if isinstance(decision, ScheduleResult) else "")
    if sum(map(bool, alone)) >= group.min_count:
        found = [one.node if isinstance(one, ScheduleResult) else "" for one in result.decisions]
        assert found == alone
    else:
        assert result.status.code is Code.UNSCHEDULABLE
        assert tried.cache.assumed == 0
        fresh = context(cluster, others)
        assert [brief(decide(pod, REVISION, tried)) for pod in waiting] == [
            brief(decide(pod, REVISION, fresh)) for pod in waiting
        ]
