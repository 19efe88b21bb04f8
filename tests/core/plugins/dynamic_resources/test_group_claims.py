"""Claims of pod groups: members share what is being allocated, and nobody else does; what is given
back where a group does not fit.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moorage.core.cycle.context import CycleContext, Decision, ScheduleResult
from moorage.core.cycle.cycle import assume_and_reserve, decide, unreserve_and_forget
from moorage.core.cycle.group_attempt import GroupAttempt
from moorage.core.cycle.group_cycle import GroupResult, place_member, schedule_group
from moorage.core.cycle.group_post_filter import GroupPostFilters, GroupRoom
from moorage.core.devices.ledger import DeviceLedger
from moorage.core.framework.placement_contract import Placement
from moorage.core.framework.post_filter_contract import PodGroupPostFilterPlugin
from moorage.core.framework.status import Code
from moorage.core.groups.group_spec import GroupSpec
from moorage.core.objects.meta import HasMetadata
from moorage.core.objects.pod_groups import API, COSCHEDULING_LABEL, GroupKey
from moorage.core.objects.pods import Pod
from moorage.core.objects.resource_claims import Consumer
from moorage.core.plugins.dynamic_resources.claim_reservation import ClaimRelease, ClaimReservation
from moorage.core.recording.forks import fork
from moorage.core.simulation.simulated_groups import finished
from tests.core.devices.test_pod_claims import Entry, group, member
from tests.core.plugins.dynamic_resources.test_plugin import (
    PLUGIN,
    REVISION,
    allocated,
    claim,
    placed,
    refused,
    user,
    world,
)

_protocol: PodGroupPostFilterPlugin = PLUGIN
SPEC = GroupSpec(GroupKey(API, "default", "g"), 2, 0, "uid-g")
OF_GROUP = Consumer("scheduling.k8s.io", "podgroups", "g", "uid-g")
OF_POD = Consumer(resource="pods", name="p0", uid="uid-p0")
SHARED = Entry("c", claim="c")
IN_PROCESS = "resource claim default/c is in the process of being allocated"


def pods(count: int, *entries: Entry, of: str | None = "g") -> list[Pod]:
    """Members with these claims."""
    return [member(*entries, of=of, name=f"p{i}") for i in range(count)]


def sized(cpu: str, *names: str) -> list[Pod]:
    """Members that ask for so much, and share a claim; a node has 4."""
    containers = user("x", cpu=cpu).spec.containers
    members = [member(SHARED, name=name) for name in names]
    specs = [msgspec.structs.replace(pod.spec, containers=containers) for pod in members]
    return [
        msgspec.structs.replace(pod, spec=spec) for pod, spec in zip(members, specs, strict=True)
    ]


def cluster(*objects: HasMetadata, of_group: tuple[Entry, ...] = (SHARED,)) -> CycleContext:
    """Two nodes with a device each, a PodGroup with these claims, and these objects."""
    return world(group(*of_group), *objects)


def scheduled(
    context: CycleContext, members: Iterable[Pod], spec: GroupSpec = SPEC, **others: Any
) -> tuple[GroupAttempt, GroupResult]:
    """The group's attempt."""

    def place(pod: Pod, placement: Placement) -> Decision:
        return place_member(pod, REVISION, context, placement)

    attempt = GroupAttempt(spec, tuple(members), **others)
    return attempt, finished(schedule_group(attempt, place, context, REVISION))


def reservation(placement: ScheduleResult) -> ClaimReservation:
    """What the actor is told."""
    value = placement.reservations["DynamicResources"].value
    assert isinstance(value, ClaimReservation)
    return value


def is_assumed(context: CycleContext, name: str = "c") -> bool:
    """Whether a claim is being allocated."""
    return context.cache.store.index(DeviceLedger).is_assumed(claim(name))


# ---- shared --------------------------------------------------------------------------------------


@pytest.mark.parametrize("consumer", [OF_GROUP, None], ids=["the group's", "each pod's"])
def test_members_share_a_claim_that_is_being_allocated(consumer: Consumer | None) -> None:
    """All get the same devices, on the node that has them; what is not the group's is reserved for
    each of them.
    """
    context = cluster(claim("c"), of_group=(SHARED,) if consumer else ())
    _, result = scheduled(context, pods(3, SHARED))
    assert len({one.node for one in result.placed}) == 1
    told = [reservation(one).claims for one in result.placed]
    assert [one.consumer.uid for (one,) in told] == (
        ["uid-g"] * 3 if consumer else ["uid-p0", "uid-p1", "uid-p2"]
    )
    assert consumer is None or told[0][0].consumer == consumer
    assert len({msgspec.json.encode(one.allocation) for (one,) in told}) == 1
    assert all(one.claim == claim("c") for (one,) in told), "as the API server shows it"


def test_where_the_devices_are_is_where_members_go() -> None:
    """The first one's node is full then: the second one goes nowhere, and says why."""
    context = cluster(claim("c"))
    members = sized("3", "p0", "p1")
    _, result = scheduled(context, members, dataclasses.replace(SPEC, min_count=1))
    text = "0/2 nodes are available: 1 Insufficient cpu, 1 resourceclaim not available on the node."
    assert [getattr(one, "message", "") for one in result.decisions] == ["", text]


@pytest.mark.parametrize(
    "other",
    [user("q", "c"), member(SHARED, of="h", name="q")],
    ids=["a pod alone", "a member of another group"],
)
def test_nobody_else_shares_it(other: Pod) -> None:
    """Before it is written, and until that is seen."""
    context = cluster(claim("c"), group(SHARED, name="h"))
    _, result = scheduled(context, pods(2, SHARED))
    assert IN_PROCESS in refused(other, context).message
    for one in result.placed:
        unreserve_and_forget(one, context.cache)
    assert isinstance(decide(other, REVISION, context), ScheduleResult)


def test_members_of_other_apis_share_it_too() -> None:
    """A group is a group; its claims are its members' own."""
    labelled = []
    for pod in pods(2, SHARED, of=None):
        metadata = msgspec.structs.replace(pod.metadata, labels={COSCHEDULING_LABEL: "g"})
        labelled.append(msgspec.structs.replace(pod, metadata=metadata))
    _, result = scheduled(cluster(claim("c")), labelled)
    uids = [one.consumer.uid for each in result.placed for one in reservation(each).claims]
    assert uids == ["uid-p0", "uid-p1"]


def test_what_a_pod_alone_has_allocated_no_group_shares() -> None:
    """It waits until that is written."""
    context = cluster(claim("c"))
    placed(user("q", "c"), context)
    _, result = scheduled(context, pods(2, SHARED))
    assert IN_PROCESS in str(getattr(result.decisions[0], "message", ""))


def test_the_last_member_that_leaves_gives_it_back() -> None:
    """In whatever order they leave, and twice is once."""
    context = cluster(claim("c"))
    _, result = scheduled(context, pods(3, SHARED))
    for one in (result.placed[1], result.placed[1], result.placed[0]):
        unreserve_and_forget(one, context.cache)
        assert is_assumed(context)
    unreserve_and_forget(result.placed[2], context.cache)
    assert not is_assumed(context)


def test_a_copy_shares_what_is_being_allocated() -> None:
    """So that preemption for a group sees the same."""
    context = cluster(claim("c"))
    first, second = pods(2, SHARED)
    outcome = assume_and_reserve(placed_member(first, context), context)
    assert isinstance(outcome, ScheduleResult)
    copy = finished(fork(context))
    assert isinstance(decide(second, REVISION, copy), ScheduleResult)
    assert IN_PROCESS in refused(user("q", "c"), copy).message


def placed_member(pod: Pod, context: CycleContext) -> ScheduleResult:
    """Where it goes."""
    outcome = decide(pod, REVISION, context)
    assert isinstance(outcome, ScheduleResult)
    return outcome


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.sets(st.sampled_from("abc"), max_size=2), min_size=1, max_size=4),
    st.sets(st.sampled_from("abc"), max_size=1),
    st.integers(1, 4),
)
def test_all_or_nothing(uses: list[set[str]], of_group: set[str], least: int) -> None:
    """Members of a group that fits lie where their claims' devices are, and each claim has devices
    once; of one that does not fit no claim has any.
    """
    entries = [[Entry(name, claim=name) for name in sorted(names)] for names in uses]
    members = [member(*each, name=f"p{i}") for i, each in enumerate(entries)]
    shared = tuple(Entry(name, claim=name) for name in of_group)
    context = cluster(*(claim(name) for name in "abc"), of_group=shared)
    _, result = scheduled(context, members, dataclasses.replace(SPEC, min_count=least))
    where: dict[str, set[str]] = {}
    for placement in result.placed if result.status.code is Code.SUCCESS else ():
        if "DynamicResources" not in placement.reservations:
            continue
        for one in reservation(placement).claims:
            assert one.allocation is not None
            where.setdefault(one.claim.metadata.name, set()).add(placement.node)
            expected = OF_GROUP if one.claim.metadata.name in of_group else None
            assert one.consumer.uid == (expected.uid if expected else placement.pod.metadata.uid)
            (device,) = one.allocation.devices.results or ()
            assert device.pool == placement.node
    assert all(len(nodes) == 1 for nodes in where.values())
    assert {name for name in "abc" if is_assumed(context, name)} == set(where)


# ---- given back ----------------------------------------------------------------------------------

FAR = {"allocation": allocated("gone")}
ANYWHERE = {"allocation": allocated(tied=False)}
DONE = "deallocation and deletion of ResourceClaims completed"
FREED = "deallocation of PodGroup ResourceClaim completed"
UNRESERVED = "ResourceClaim unreserved for PodGroup"


def given_back(
    context: CycleContext, members: list[Pod], spec: GroupSpec = SPEC, **others: Any
) -> GroupRoom:
    """What DynamicResources says of a group that does not fit, and what it wants to be done."""
    attempt, result = scheduled(context, members, spec, **others)
    assert result.status.code is Code.UNSCHEDULABLE
    plugins = GroupPostFilters(REVISION, context, lambda without: fork(context))
    return finished(plugins.run(attempt, result))


@pytest.mark.parametrize(
    ("status", "text", "releases"),
    [
        (FAR, DONE, ["deallocate"]),
        (FAR | {"reserved_for": (OF_POD,)}, DONE, ["deallocate"]),
        (FAR | {"reserved_for": (OF_GROUP,)}, FREED, ["deallocate"]),
        (FAR | {"reserved_for": (OF_GROUP, OF_POD)}, UNRESERVED, ["unreserve"]),
        (FAR | {"reserved_for": (Consumer(uid="x"),)}, DONE, []),
        (ANYWHERE, DONE, []),
        (ANYWHERE | {"reserved_for": (OF_GROUP,)}, UNRESERVED, ["unreserve"]),
        ({}, DONE, []),
    ],
    ids=[
        "nobody's",
        "a member's",
        "the group's",
        "both",
        "another's",
        "of use",
        "of use, the group's",
        "not allocated",
    ],
)
def test_what_is_given_back(status: dict[str, Any], text: str, releases: list[str]) -> None:
    """One member's claim, or else one of the group's."""
    kept = claim("c", **status)
    far = status.get("allocation") == FAR["allocation"]
    room = given_back(cluster(kept), sized("1" if far else "9", "p0", "p1"))
    assert room.message == text
    expected = {
        "deallocate": ClaimRelease(kept),
        "unreserve": ClaimRelease(kept, consumer=OF_GROUP),
    }
    found = [actions["DynamicResources"] for actions in room.actions.values()]
    assert found == [expected[release] for release in releases]


def test_nothing_of_the_groups_is_given_back_while_a_member_has_a_node() -> None:
    """It needs it."""
    kept = claim("c", **FAR, reserved_for=(OF_GROUP,))
    running, late = pods(2, SHARED)
    room = given_back(cluster(kept), [late], scheduled=[(running, "n0")])
    assert (room.message, room.actions) == (DONE, {})


def test_nothing_is_said_of_a_group_with_a_topology() -> None:
    """And nothing given back."""
    kept = claim("c", **FAR)
    spec = dataclasses.replace(SPEC, topology_key="kubernetes.io/hostname")
    room = given_back(cluster(kept), pods(2, SHARED), spec)
    assert (room.message, room.actions) == ("", {})


def test_each_member_gives_its_own_claim_back() -> None:
    """And the group, for one that has none."""
    own = [claim(f"own{i}", **FAR) for i in range(2)]
    kept = claim("c", **FAR, reserved_for=(OF_GROUP,))
    members = [
        member(Entry("own", claim="own0"), name="p0"),
        member(Entry("own", claim="own1"), name="p1"),
        member(SHARED, name="p2"),
    ]
    room = given_back(cluster(*own, kept), members, dataclasses.replace(SPEC, min_count=1))
    assert room.message == FREED
    assert {uid: one["DynamicResources"].claim for uid, one in room.actions.items()} == {
        "uid-p0": own[0],
        "uid-p1": own[1],
        "uid-p2": kept,
    }


def test_a_claim_that_is_being_written_is_not_taken_away() -> None:
    """A member that was placed before has decided it; the one that comes later does not fit."""
    context = cluster(claim("c"))
    first, *late = sized("3", "p0", "q", "r")
    committed = assume_and_reserve(placed_member(first, context), context)
    assert isinstance(committed, ScheduleResult)
    room = given_back(context, late)
    assert (room.message, room.actions) == (DONE, {})


@pytest.mark.parametrize(
    ("known", "there"), [("uid-new", "uid-new"), ("uid-old", "uid-g")], ids=["before", "meanwhile"]
)
def test_a_claim_of_another_group_of_that_name_stays(known: str, there: str) -> None:
    """The PodGroup was made anew: what is reserved for one is not the other's."""
    kept = claim("c", **FAR, reserved_for=(OF_GROUP,))
    context = cluster(kept)
    metadata = msgspec.structs.replace(group().metadata, uid=there)
    context.cache.store.put(msgspec.structs.replace(group(SHARED), metadata=metadata))
    room = given_back(context, pods(2, SHARED), dataclasses.replace(SPEC, uid=known))
    assert (room.message, room.actions) == (DONE, {})
