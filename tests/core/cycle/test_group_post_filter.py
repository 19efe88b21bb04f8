"""PodGroupPostFilter: who is asked, in which order, and what comes of it all."""

from __future__ import annotations

import dataclasses
from collections.abc import Generator, Mapping
from typing import Any, ClassVar

import pytest

from moorage.core.columns.cache import Cache
from moorage.core.cycle.context import CycleContext, Diagnosis
from moorage.core.cycle.group_attempt import GroupAttempt
from moorage.core.cycle.group_cycle import GroupResult
from moorage.core.cycle.group_outcome import group_outcome
from moorage.core.cycle.group_post_filter import GroupPostFilters, GroupRoom
from moorage.core.cycle.group_steps import Steps
from moorage.core.framework.cluster_events import ClusterEventWithHint
from moorage.core.framework.interfaces import ExtensionPoint
from moorage.core.framework.post_filter_contract import (
    FailedAttempt,
    FailedGroupAttempt,
    PodGroupPostFilterPlugin,
    PodGroupPostFilterResult,
)
from moorage.core.framework.revisions import Revision
from moorage.core.framework.status import Code, Status
from moorage.core.groups.group_spec import GroupSpec
from moorage.core.objects.pods import Pod
from moorage.core.recording.forks import fork
from moorage.core.simulation.simulated_groups import finished
from moorage.core.structures.budget import OutOfTime
from tests.builders import make_node, make_pod
from tests.core.cycle.test_group_cycle import REVISION, TRIO, context

NO_VICTIMS = "pod group preemption: No preemption victims found for incoming preemptor"
NEVER = "pod group preemption: not eligible due to preemptionPolicy=Never."


@dataclasses.dataclass(frozen=True)
class Giver:
    """Says this, and wants something to be done for each member that it was shown."""

    name: ClassVar[str] = "Giver"
    events_to_register: ClassVar[tuple[ClusterEventWithHint, ...]] = ()

    status: Status
    interruptions: list[int] = dataclasses.field(default_factory=list, compare=False)
    """How often time runs out."""

    def look_at_member(self, pod: Pod, group: GroupSpec, attempt: FailedAttempt) -> str:
        """Its name, and how many nodes rejected it."""
        if self.interruptions:
            self.interruptions.pop()
            raise OutOfTime
        assert group is TRIO
        rejected = attempt.node_codes[attempt.snapshot.nodes.live] > 0
        return f"{pod.metadata.name}: {int(rejected.sum())}"

    def pod_group_post_filter(self, attempt: FailedGroupAttempt) -> PodGroupPostFilterResult:
        """All of it."""
        return PodGroupPostFilterResult(
            self.status, {pod.metadata.uid: found for pod, found in attempt.members}
        )


_protocol: PodGroupPostFilterPlugin = Giver(Status(Code.UNSCHEDULABLE))


def with_giver(giver: Giver, *order: str) -> Revision:
    """A profile with these podGroupPostFilter plugins."""
    points = {**REVISION.points, ExtensionPoint.POD_GROUP_POST_FILTER: order}
    deciders = {**REVISION.deciders, Giver.name: giver}
    return dataclasses.replace(REVISION, points=points, deciders=deciders)


def said(code: Code, *reasons: str) -> Giver:
    """A plugin that says so."""
    return Giver(Status(code, reasons))


def steps(
    revision: Revision, members: list[Pod], tried: CycleContext | None = None, reached: int = 2
) -> Steps[GroupRoom]:
    """What plugins say of a group of which so many members were tried, and none fits."""
    cluster = tried or context([make_node("n0"), make_node("n1")])
    decisions = [Diagnosis.error(pod, revision, "") for pod in members[:reached]]
    result = GroupResult(Status(Code.UNSCHEDULABLE, ("no",)), decisions)
    plugins = GroupPostFilters(revision, cluster, never)
    return plugins.run(GroupAttempt(TRIO, members), result)


def never(_without: object) -> Generator[bool, bool | None, CycleContext]:
    """Nobody is to be displaced here."""
    raise AssertionError
    yield True


def waiting(policy: str = "Never") -> list[Pod]:
    """Three members that fit nowhere."""
    return [make_pod(name, cpu="99", preemption_policy=policy) for name in "abc"]


LOOKED_AT = {"uid-a": {"Giver": "a: 2"}, "uid-b": {"Giver": "b: 2"}}


@pytest.mark.parametrize(
    ("giver", "order", "message", "actions"),
    [
        (
            said(Code.UNSCHEDULABLE, "x", "y"),
            "Giver DefaultPreemption",
            f"x, y, {NEVER}",
            LOOKED_AT,
        ),
        (said(Code.UNSCHEDULABLE, "x"), "DefaultPreemption Giver", f"{NEVER}, x", LOOKED_AT),
        (said(Code.UNSCHEDULABLE), "Giver DefaultPreemption", NEVER, LOOKED_AT),
        (
            said(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, "x"),
            "Giver DefaultPreemption",
            "x",
            LOOKED_AT,
        ),
        (said(Code.UNSCHEDULABLE, "x"), "Giver", "x", LOOKED_AT),
        (said(Code.UNSCHEDULABLE, "x"), "DefaultPreemption", NEVER, {}),
        (said(Code.UNSCHEDULABLE, "x"), "", "", {}),
    ],
    ids=["both", "other order", "silent", "last word", "no preemption", "alone", "nobody"],
)
def test_who_is_asked(
    giver: Giver, order: str, message: str, actions: Mapping[str, Mapping[str, Any]]
) -> None:
    """Each in its turn, about the members that were tried, until one has the last word."""
    room = finished(steps(with_giver(giver, *order.split()), waiting()))
    assert (room.message, room.actions) == (message, actions)
    assert (room.preemption is not None) is ("pod group preemption" in room.message)


def test_who_knows_better_replaces_what_was_said() -> None:
    """As preemption does that finds no victims."""
    giver = said(Code.UNSCHEDULABLE, "x")
    room = finished(steps(with_giver(giver, "Giver", "DefaultPreemption"), waiting("")))
    assert room.message == NO_VICTIMS


def test_it_goes_on_after_each_member() -> None:
    """A large group is asked about in slices; what was not done in time is done again."""
    giver = Giver(Status(Code.UNSCHEDULABLE), [1, 2])
    going = steps(with_giver(giver, "Giver"), waiting())
    assert [next(going) for _ in range(4)] == [False, False, True, True]
    with pytest.raises(StopIteration) as end:
        next(going)
    assert end.value.value.actions == LOOKED_AT


def test_a_member_that_cannot_be_judged() -> None:
    """Without a node there is nothing to look at."""
    giver = said(Code.UNSCHEDULABLE, "x")
    room = finished(steps(with_giver(giver, "Giver"), waiting(), CycleContext(Cache())))
    assert room.actions == {"uid-a": {"Giver": None}, "uid-b": {"Giver": None}}


def test_the_engine_is_told_what_to_do_for_each() -> None:
    """With the member's diagnosis, as for pods alone."""
    members = waiting()
    status = Status(Code.UNSCHEDULABLE, ("no",))
    outcome = group_outcome(
        GroupAttempt(TRIO, members), GroupResult(status), REVISION, GroupRoom("x", None, LOOKED_AT)
    )
    assert outcome.status.message == "no, x"
    found = {
        uid: one.post_filter_actions
        for uid, one in outcome.members.items()
        if isinstance(one, Diagnosis)
    }
    assert found == {**LOOKED_AT, "uid-c": {}}


def test_where_others_are_displaced_nothing_else_is_done() -> None:
    """The group fits then with its claims as they are."""
    cluster = context([make_node("n0")], [make_pod("low", cpu="4", node="n0", priority=-1)])
    members = [make_pod(name, cpu="1") for name in "abc"]
    decisions = [Diagnosis.error(pod, REVISION, "") for pod in members]
    result = GroupResult(Status(Code.UNSCHEDULABLE, ("no",)), decisions)
    revision = with_giver(said(Code.UNSCHEDULABLE, "x"), "Giver", "DefaultPreemption")
    plugins = GroupPostFilters(revision, cluster, lambda without: fork(cluster, without))
    room = finished(plugins.run(GroupAttempt(TRIO, members), result))
    assert room.message.endswith("found a placement for podgroup, preempting 1 victims")
    assert room.actions == {}
