"""Domains that a group prefers, or has to lie in: which of them are tried, against trying all."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moorage.core.columns.cache import Cache
from moorage.core.cycle.context import CycleContext, Decision
from moorage.core.cycle.group_attempt import GroupAttempt
from moorage.core.cycle.group_cycle import GroupResult, place_member, schedule_group
from moorage.core.cycle.group_domains import Wanted, domains_with_room
from moorage.core.framework.placement_contract import (
    Division,
    Placement,
    PlacementPlan,
    RoomPlugin,
)
from moorage.core.framework.registry import build_registry
from moorage.core.framework.revisions import EnabledPlugins, RequestedProfile, Revision, resolve
from moorage.core.framework.status import Code
from moorage.core.groups.group_spec import GroupSpec
from moorage.core.objects.pod_groups import API, GroupKey
from moorage.core.objects.pods import Pod
from moorage.core.plugins.intree import INTREE, PRESETS
from moorage.core.plugins.node_resources.fit import NodeResourcesFit
from moorage.core.plugins.topology_placement_generator import (
    TopologyPlacementGenerator,
    TopologyPlacementGeneratorArgs,
)
from moorage.core.pods.requests import pod_requests
from moorage.core.simulation.simulated_groups import finished
from tests.builders import make_node, make_pod

_knows_room: RoomPlugin = NodeResourcesFit()

RACK, BLOCK, HOST = "example.com/rack", "example.com/block", "kubernetes.io/hostname"
GROUP = GroupSpec(GroupKey(API, "default", "g"), 1, 0)


def profile(*keys: str, **plugins: EnabledPlugins) -> Revision:
    """One that prefers these labels."""
    args = {TopologyPlacementGenerator.name: TopologyPlacementGeneratorArgs(keys)}
    request = RequestedProfile("test", plugins=plugins, args=args)
    return resolve(request, build_registry(INTREE), PRESETS)


PLAIN, RACKS, BOTH = profile(), profile(RACK), profile(RACK, BLOCK)


def cluster(racks: list[list[int]], taints: bool = False) -> CycleContext:
    """Nodes of so many cores; two racks are a block. ``taints``: odd cores can't be had."""
    cache = Cache()
    for i, sizes in enumerate(racks):
        for j, cores in enumerate(sizes):
            labels = {RACK: f"r{i}", BLOCK: f"b{i // 2}", HOST: f"n{i}{j}"}
            node = make_node(
                f"n{i}{j}", cpu=str(cores), labels=labels, unschedulable=taints and cores % 2 == 1
            )
            cache.put_node(node)
    return CycleContext(cache, 7)


def attempted(
    by: Revision,
    there: CycleContext,
    members: list[Pod],
    tried: list[Placement] | None = None,
    **group: object,
) -> GroupResult:
    """What comes of a group, and where it was tried."""

    def place(pod: Pod, placement: Placement) -> Decision:
        if tried is not None and placement not in tried[-1:] and len(placement.key) > 0:
            tried.append(placement)
        return place_member(pod, by, there, placement)

    spec = dataclasses.replace(GROUP, **group)  # type: ignore[arg-type]
    return finished(schedule_group(GroupAttempt(spec, members), place, there, by))


def waiting(*cores: int) -> list[Pod]:
    """Members that ask for so many."""
    return [make_pod(f"m{i}", cpu=str(size)) for i, size in enumerate(cores)]


def racks_of(result: GroupResult) -> set[str]:
    """Where members lie: n10 is in rack 1."""
    return {one.node[1] for one in result.placed}


@pytest.mark.parametrize(
    ("racks", "cores", "by", "want", "text"),
    [
        pytest.param([[8], [2]], [1, 1], RACKS, "1", "all members lie in example.com/rack=r1"),
        pytest.param(
            [[8], [2]],
            [1, 1, 1],
            RACKS,
            "0",
            (
                "all members lie in example.com/rack=r0; 1 of 2 values of example.com/rack have "
                "no room for 3 members"
            ),
        ),
        pytest.param(
            [[1], [1], [2], [2]],
            [1, 1, 1],
            BOTH,
            "23",
            (
                "all members lie in example.com/block=b1; 4 of 4 values of example.com/rack have "
                "no room for 3 members; 1 of 2 values of example.com/block have no room for 3 "
                "members"
            ),
        ),
        pytest.param(
            [[1], [1], [2]],
            [1, 1, 2],
            RACKS,
            None,
            (
                "members lie in no preferred domain; 2 of 3 values of example.com/rack have no "
                "room for 3 members; example.com/rack=r2: 0/1 nodes are available: 1 Insufficient "
                "cpu."
            ),
        ),
        pytest.param([[8], [2]], [1, 1], PLAIN, None, ""),
    ],
)
def test_the_smallest_domain_that_takes_all(
    racks: list[list[int]], cores: list[int], by: Revision, want: str | None, text: str
) -> None:
    """And why not a smaller one; nothing is said where nothing is preferred."""
    result = attempted(by, cluster(racks), waiting(*cores))
    assert result.status.code is Code.SUCCESS
    assert result.status.message == text
    assert want is None or racks_of(result) == set(want)


def test_room_that_plugins_refuse_is_told() -> None:
    """A rack that has the room, and yet does not take them."""
    result = attempted(RACKS, cluster([[3], [8]], taints=True), waiting(1, 1))
    assert racks_of(result) == {"1"}
    assert result.status.message == (
        "all members lie in example.com/rack=r1; example.com/rack=r0: 0/1 nodes are available: "
        "1 node(s) were unschedulable."
    )


def test_members_that_run_draw_the_others() -> None:
    """To their rack, or block, even if another one is smaller."""
    by, there = BOTH, cluster([[1], [8], [4], [8]])

    def place(pod: Pod, placement: Placement) -> Decision:
        return place_member(pod, by, there, placement)

    for nodes, want in ((["n10"], {"1"}), (["n00", "n10"], {"0", "1"}), (["gone"], {"1", "3"})):
        running = [(make_pod(f"r{i}"), node) for i, node in enumerate(nodes)]
        attempt = GroupAttempt(GROUP, waiting(1, 1), running)
        plan = TopologyPlacementGenerator(TopologyPlacementGeneratorArgs((RACK, BLOCK)))
        assert isinstance(plan.plan_placements(GROUP, running, there.snapshot), PlacementPlan)
        result = finished(schedule_group(attempt, place, there, by))
        assert racks_of(result) <= want
        for one in result.placed:
            there.cache.forget(one.pod.metadata.uid)


racks = st.lists(st.lists(st.integers(1, 4), min_size=1, max_size=3), min_size=1, max_size=4)
sizes = st.lists(st.integers(1, 3), min_size=1, max_size=5)


@settings(max_examples=150)
@given(racks, sizes, st.integers(1, 5), st.booleans())
def test_against_trying_all(
    there: list[list[int]], cores: list[int], least: int, taints: bool
) -> None:
    """With a preference a group is placed wherever it is without one, in a rack that takes all of
    it if there is any, and then in the one with the least room.
    """
    members, least = waiting(*cores), min(least, len(cores))
    plain = attempted(PLAIN, cluster(there, taints), members, min_count=least)
    result = attempted(RACKS, cluster(there, taints), members, min_count=least)
    whole = [
        rack
        for rack in range(len(there))
        if len(attempted(PLAIN, only(there, rack, taints), members).placed) == len(members)
    ]
    if not whole:
        assert len(result.placed) == len(plain.placed)
        assert result.status.code is plain.status.code
        return
    least_room = min(room(there[rack], cores) for rack in whole)
    (taken,) = racks_of(result)
    assert int(taken) in [rack for rack in whole if room(there[rack], cores) == least_room]


def only(there: list[list[int]], rack: int, taints: bool) -> CycleContext:
    """The cluster without the other racks."""
    return cluster([sizes if i == rack else [] for i, sizes in enumerate(there)], taints)


def room(nodes: list[int], cores: list[int]) -> int:
    """How many members of each kind a rack could take, were they alone; summed up."""
    return sum(size // kind for kind in set(cores) for size in nodes)


@settings(max_examples=150)
@given(racks, sizes, st.integers(1, 5), st.booleans())
def test_no_domain_is_left_out_that_fits(
    there: list[list[int]], cores: list[int], least: int, taints: bool
) -> None:
    """With a constraint, a group is placed just if one of the racks alone takes enough of it."""
    members, least = waiting(*cores), min(least, len(cores))
    result = attempted(PLAIN, cluster(there, taints), members, topology_key=RACK, min_count=least)
    alone = [
        len(attempted(PLAIN, only(there, rack, taints), members).placed)
        for rack in range(len(there))
    ]
    assert len(result.placed) in ([count for count in alone if count >= least] or [0])


def test_a_label_of_hosts_is_cheap() -> None:
    """Of thousands of domains without room one is tried; of many with room no more than enough."""
    there = cluster([[1] * 9 for _ in range(40)])
    tried: list[Placement] = []
    result = attempted(PLAIN, there, waiting(1, 1), tried, topology_key=HOST, min_count=2)
    assert (result.status.code, len(tried)) == (Code.UNSCHEDULABLE, 1)
    tried.clear()
    result = attempted(PLAIN, there, waiting(1), tried, topology_key=HOST)
    assert (len(result.placed), len(tried)) == (1, 100)
    tried.clear()
    there = cluster([[1] * 9 for _ in range(40)])
    result = attempted(profile(HOST), there, waiting(1, 1), tried)
    assert (len(result.placed), len(tried)) == (2, 0)


def test_preferred_domains_are_tried_up_to_a_bound() -> None:
    """Racks that have the room and take nobody."""
    there = cluster([[3] for _ in range(40)], taints=True)
    tried: list[Placement] = []
    assert attempted(RACKS, there, waiting(1), tried).status.code is Code.UNSCHEDULABLE
    assert len(tried) == 16


def by_rack(there: CycleContext) -> Division:
    """The nodes of a cluster."""
    nodes = there.snapshot.nodes
    column = nodes.labels.column(RACK)
    return Division(RACK, column.codes[nodes.all_rows], column.values)


def test_room_of_one_kind_is_none_of_another() -> None:
    """Three nodes for two small members, and none for the large one."""
    there = cluster([[1, 1, 1]])
    found = domains_with_room(by_rack(there), Wanted(GROUP, waiting(1, 1, 2), 3), PLAIN, there)
    assert (found.placements, found.without_room) == ([], [(Placement(RACK, "r0"), 2)])


def test_equal_domains_have_their_turns() -> None:
    """The group says which comes first, the same one each time."""

    def taken(uid: str) -> str:
        result = attempted(RACKS, cluster([[2], [2], [2], [3]]), waiting(1), uid=uid)
        return "".join(racks_of(result))

    uids = [f"uid-{i}" for i in range(40)]
    first = [taken(uid) for uid in uids]
    assert set(first) == set("012")
    assert [taken(uid) for uid in uids[:9]] == first[:9]


def test_without_the_filter_no_room_is_known() -> None:
    """Nothing is left out where requests do not count."""
    off = EnabledPlugins(disabled=("NodeResourcesFit",))
    by = profile(RACK, filter=off)
    there = cluster([[1], [1]])
    division = by_rack(there)
    pair = Wanted(GROUP, waiting(9, 9), 2)
    assert len(domains_with_room(division, pair, by, there).placements) == 2
    assert not domains_with_room(division, pair, RACKS, there).placements


def test_what_runs_takes_room() -> None:
    """Pods on nodes, and the number of pods that a node has."""
    cache = Cache()
    cache.put_node(make_node("a", cpu="4", pods="2", labels={RACK: "a"}))
    cache.put_node(make_node("b", cpu="4", pods="9", labels={RACK: "b"}))
    there = make_pod("there", cpu="3", node="b")
    cache.observe(there, pod_requests(there))
    (alike,) = NodeResourcesFit().room_for(waiting(1, 1, 1), CycleContext(cache).snapshot)
    assert alike.most is not None
    assert (alike.number, alike.most.tolist()) == (3, [2, 1])


def test_arguments() -> None:
    """Keys of labels, each once."""
    wrong = TopologyPlacementGeneratorArgs((RACK, "a b", RACK))
    assert [one.path for one in wrong.validate()] == [
        "preferredTopologyKeys[1]",
        "preferredTopologyKeys[2]",
    ]
    many = TopologyPlacementGeneratorArgs(tuple(f"k{i}" for i in range(9)))
    assert [one.path for one in many.validate()] == ["preferredTopologyKeys"]
