"""Gangs: placed together or not at all, bound to the last member whatever fails, and never without
a reason to read.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from moorage.api.operator_config import OperatorConfiguration
from moorage.core.objects.meta import ObjectMeta
from moorage.core.objects.pod_groups import (
    COSCHEDULING_LABEL,
    CoschedulingPodGroup,
    CoschedulingPodGroupSpec,
)
from moorage.core.objects.pods import Pod, PodAnnotations
from moorage.core.queue.queued_pod import QueueState
from moorage.engine.reports.group_reports import REPORT_INTERVAL_SECONDS, SETTLE_SECONDS
from moorage.ports.errors import Conflict, Fenced, Forbidden, Retryable
from tests.builders import make_node, make_pod
from tests.engine.running import STEPS, Running
from tests.engine.worlds import a_body
from tests.fakes.clocks import settle


def member(name: str, group: str = "g", least: str = "", cpu: str = "2", **spec: Any) -> Pod:
    """A pod of a group; two of them fill a node, unless told otherwise."""
    pod = make_pod(name, cpu=cpu, **spec)
    meta = msgspec.structs.replace(
        pod.metadata,
        labels={COSCHEDULING_LABEL: group},
        annotations=PodAnnotations(least) if least else None,
    )
    return msgspec.structs.replace(pod, metadata=meta)


def group(least: int, seconds: int | None = None, name: str = "g") -> CoschedulingPodGroup:
    """A PodGroup with this minMember."""
    meta = ObjectMeta(name=name, namespace="default", uid=f"uid-{name}")
    return CoschedulingPodGroup(
        meta, CoschedulingPodGroupSpec(min_member=least, schedule_timeout_seconds=seconds)
    )


def come(world: Running, *objects: Any) -> None:
    """These are created."""
    for obj in objects:
        world.kube.put(obj)


def condition(world: Running, name: str) -> tuple[str, str]:
    """Reason and message of PodScheduled."""
    conditions = world.kube.pods[f"uid-{name}"].status.conditions or ()
    return next(((c.reason, c.message) for c in conditions if c.type == "PodScheduled"), ("", ""))


def placed(world: Running, *names: str) -> list[bool]:
    """Which of these are on a node."""
    return [bool(world.node(name)) for name in names]


def run(
    scenario: Callable[[Running], Any], world: Running | None = None, *profiles: Any, nodes: int = 2
) -> None:
    """Run it in a leading engine."""

    async def whole() -> None:
        async with (world or Running()).leading(*profiles, nodes=nodes) as running:
            await scenario(running)

    asyncio.run(whole())


# ---- all or nobody -------------------------------------------------------------------------------


def test_a_gang_that_fits_is_bound() -> None:
    """As soon as its last member is there."""

    async def scenario(world: Running) -> None:
        come(world, group(3), member("a"), member("b"))
        await world.clock.advance(1)
        assert placed(world, "a", "b") == [False, False]
        come(world, member("c"))
        await world.clock.advance(1)
        assert placed(world, "a", "b", "c") == [True, True, True]
        assert world.notes("FailedScheduling") == []
        assert world.assumed == 0

    run(scenario)


def test_a_gang_that_does_not_fit_holds_nothing_and_says_why() -> None:
    """Nobody is bound, nothing is assumed; each member is told, and a later pod takes the room. A
    node comes, and all go.
    """

    async def scenario(world: Running) -> None:
        come(world, group(3), *(member(name, cpu="3") for name in "abc"))
        await world.clock.advance(1)
        assert placed(world, "a", "b", "c") == [False, False, False]
        assert world.assumed == 0
        head = (
            "pod group is unschedulable, minCount (3) cannot be satisfied: 2 scheduled, 0 remaining"
        )
        why = "0/2 nodes are available: 2 Insufficient cpu."
        assert condition(world, "c") == ("Unschedulable", why)
        reason, text = condition(world, "a")
        assert (reason, text.startswith(head)) == ("Unschedulable", True)
        assert text.endswith(f"; 'c' does not fit: {why}")
        come(world, make_pod("single", cpu="4"))
        await world.clock.advance(1)
        assert world.node("single")
        come(world, make_node("n3"), make_node("n4"))
        await world.clock.advance(5)
        assert placed(world, "a", "b", "c") == [True, True, True]

    run(scenario)


def test_two_gangs_do_not_block_each_other() -> None:
    """On room for four, one of two gangs of three is placed whole; the other waits whole, and goes
    when there is room.
    """

    async def scenario(world: Running) -> None:
        come(world, group(3, name="g"), group(3, name="h"))
        come(world, *(member(f"{name}{i}", name) for i in range(3) for name in "gh"))
        await world.clock.advance(15)
        both = [placed(world, *(f"{name}{i}" for i in range(3))) for name in "gh"]
        assert sorted(map(sum, both)) == [0, 3]
        assert world.assumed == 0
        come(world, make_node("n3"))
        await world.clock.advance(15)
        assert sum(placed(world, *(f"{name}{i}" for i in range(3) for name in "gh"))) == 6

    run(scenario)


def test_members_beyond_the_minimum_wait_as_others_do() -> None:
    """What fits beyond it goes along; the rest is told its own reason, and goes when it fits."""

    async def scenario(world: Running) -> None:
        come(world, group(2), *(member(name, cpu="3") for name in "abc"))
        await world.clock.advance(1)
        assert placed(world, "a", "b", "c") == [True, True, False]
        assert condition(world, "c")[1].startswith("0/2 nodes are available: 2 Insufficient cpu.")
        come(world, make_node("n3"))
        await world.clock.advance(5)
        assert placed(world, "c") == [True]

    run(scenario)


@pytest.mark.parametrize("lowest", [9, 0])
def test_room_is_made_for_a_gang_as_a_whole(lowest: int) -> None:
    """Its members may differ in priority: it goes by the lowest: one quota lifts nobody."""

    async def scenario(world: Running) -> None:
        come(world, *(make_pod(f"low{i}", cpu="4", priority=0, node=f"n{i + 1}") for i in range(2)))
        members = member("a", cpu="4", priority=9), member("b", cpu="4", priority=lowest)
        come(world, group(2), *members)
        await world.clock.advance(15)
        gone = [write for write in world.kube.written if write.method == "delete_pod"]
        assert len(gone) == (2 if lowest else 0)

    run(scenario)


def test_a_bug_in_one_decision_fails_the_gang_not_the_process() -> None:
    """Whoever was placed is taken back; the group is tried again."""

    async def scenario(world: Running) -> None:
        decide, calls = world.engine.context.evaluator.evaluation, []

        def broken(pod: Pod, *rest: Any) -> Any:
            calls.append(pod.metadata.name)
            if calls.count("b") == 1 and pod.metadata.name == "b":
                raise ZeroDivisionError("bug")
            return decide(pod, *rest)

        world.engine.context.evaluator.evaluation = broken  # type: ignore[method-assign, assignment]
        come(world, group(2), member("a"), member("b"))
        await settle()
        assert world.assumed == 0
        assert (
            "scheduling failed: ZeroDivisionError('bug')" in world.notes("FailedScheduling", "a")[0]
        )
        await world.clock.advance(3)
        assert placed(world, "a", "b") == [True, True]

    run(scenario)


def test_a_gang_larger_than_the_limit_of_bindings() -> None:
    """All are handed over at once, and all end."""

    async def scenario(world: Running) -> None:
        names = [f"m{i}" for i in range(20)]
        come(world, group(20), *(member(name, cpu="100m") for name in names))
        await world.clock.advance(2)
        assert all(placed(world, *names))

    run(scenario, Running(config=OperatorConfiguration.model_validate({"bindConcurrency": 2})))


# ---- what fails afterwards -----------------------------------------------------------------------

FAILURES: dict[str, Callable[[Running], None]] = {
    "permit": lambda world: world.steps.script["permit"].append(ZeroDivisionError("bug")),
    "pre_bind": lambda world: world.steps.script["pre_bind"].append(
        Retryable("connection refused")
    ),
    "bind": lambda world: world.kube.fail(
        "bind", Forbidden("POST binding", 403, "Forbidden", "no")
    ),
    "bind, unknown": lambda world: world.kube.fail(
        "bind", Conflict("POST binding", 409, "Conflict", "no")
    ),
}


@pytest.mark.parametrize("where", FAILURES)
def test_a_member_that_is_not_bound_goes_first_and_is_told_of(where: str) -> None:
    """Ahead of a pod of higher priority that waits for its room; people see how many are bound."""

    async def scenario(world: Running) -> None:
        gate = world.steps.gates[where] = (
            asyncio.Event() if where in ("permit", "pre_bind") else world.kube.hold("bind")
        )
        come(world, group(4), *map(member, "abcd"))
        await settle(40)
        come(world, make_pod("vip", priority=1000, preemption_policy="Never", cpu="2"))
        await settle(40)
        assert condition(world, "vip")[0] == "Unschedulable"
        FAILURES[where](world)
        gate.set()
        await world.clock.advance(3)
        assert placed(world, "a", "b", "c", "d", "vip") == [True] * 4 + [False]
        (note,) = world.notes("GangIncomplete", "g")
        assert note.startswith('pod group "default/g": ')
        assert "members are bound (minMember 4)" in note
        assert len([note for name in "abcd" for note in world.notes("GangIncomplete", name)]) == 1
        assert world.assumed == 0

    run(scenario)


def test_the_note_counts_those_who_are_bound() -> None:
    """Not those whose binding is still out."""

    async def scenario(world: Running) -> None:
        come(world, group(3), member("a"), member("b"))
        await world.clock.advance(1)
        world.kube.fail("bind", Forbidden("POST binding", 403, "Forbidden", "no"))
        come(world, member("c"))
        await settle(40)
        (note,) = world.notes("GangIncomplete", "g")
        assert note.startswith(
            "pod group \"default/g\": 0 members are bound (minMember 3), 'a' is not: "
        )

    run(scenario)


def test_a_group_that_needs_nobody_is_not_incomplete() -> None:
    """Its members fail as other pods do."""

    async def scenario(world: Running) -> None:
        world.kube.fail("bind", Forbidden("POST binding", 403, "Forbidden", "no"))
        come(world, group(1), member("a"))
        await world.clock.advance(3)
        assert world.notes("GangIncomplete") == []
        assert placed(world, "a") == [True]

    run(scenario)


def test_a_fenced_member_is_not_told_of() -> None:
    """Another replica leads: it has the last word."""

    async def scenario(world: Running) -> None:
        world.kube.fail("bind", Fenced("not the leader"))
        come(world, group(2), member("a"), member("b"))
        await world.clock.advance(3)
        assert world.notes("GangIncomplete") == []
        assert placed(world, "a", "b") == [True, True]

    run(scenario)


@pytest.mark.parametrize("fails", [False, True], ids=["gone", "refused"])
def test_a_member_deleted_while_it_is_bound(fails: bool) -> None:
    """The others are bound; it is nobody's loss. A new one finds enough of them there."""

    async def scenario(world: Running) -> None:
        gate = world.kube.hold("bind")
        if fails:
            world.kube.fail("bind", Forbidden("POST binding", 403, "Forbidden", "no"), times=3)
        pods = [member(name) for name in "abc"]
        come(world, group(3), *pods)
        await settle(40)
        world.kube.delete(world.kube.pods["uid-b"])
        gate.set()
        await world.clock.advance(2)
        assert world.notes("GangIncomplete", "b") == []
        assert placed(world, "a", "c") == [not fails] * 2  # two of three alone are no gang
        assert world.assumed == 0
        come(world, member("d"))
        await world.clock.advance(1)
        assert placed(world, "a", "c", "d") == [True] * 3

    run(scenario)


# ---- what changes meanwhile ----------------------------------------------------------------------


def test_pod_groups_come_change_and_go() -> None:
    """Members follow what their PodGroup says now."""

    async def scenario(world: Running) -> None:
        come(world, member("a"), member("b"))
        await world.clock.advance(SETTLE_SECONDS + 1)
        assert "create the PodGroup default/g" in condition(world, "a")[1]
        come(world, group(3))
        await world.clock.advance(REPORT_INTERVAL_SECONDS + 1)
        assert condition(world, "a") == (
            "SchedulingGated",
            'waiting for pod group "default/g": 2 of 3 members are here',
        )
        world.kube.delete(group(3))
        await world.clock.advance(REPORT_INTERVAL_SECONDS + 1)
        assert "create the PodGroup default/g" in condition(world, "a")[1]
        come(world, group(2))
        await world.clock.advance(1)
        assert placed(world, "a", "b") == [True, True]
        assert world.notes("FailedScheduling") == []

    run(scenario)


def test_annotations_do_without_a_pod_group() -> None:
    """The largest of them counts."""

    async def scenario(world: Running) -> None:
        come(world, member("a", least="2"), member("b", least="3"))
        await world.clock.advance(1)
        assert placed(world, "a", "b") == [False, False]
        come(world, member("c"))
        await world.clock.advance(1)
        assert placed(world, "a", "b", "c") == [True, True, True]

    run(scenario)


def test_members_are_told_at_a_pace() -> None:
    """However often the count changes, once a while."""

    async def scenario(world: Running) -> None:
        come(world, group(50))
        for i in range(40):
            come(world, member(f"m{i}"))
            await world.clock.advance(0.1)
        written = [write for write in world.kube.written if write.method == "pod_condition"]
        assert len(written) <= 40
        await world.clock.advance(REPORT_INTERVAL_SECONDS + 1)
        assert condition(world, "m0")[1].endswith("40 of 50 members are here")
        assert condition(world, "m39")[1].endswith("40 of 50 members are here")

    run(scenario)


def test_a_group_whose_members_go_before_they_are_told(caplog: pytest.LogCaptureFixture) -> None:
    """Nobody is left to be told, and what is due for other groups is not held up by it."""

    async def scenario(world: Running) -> None:
        come(world, group(3), group(2, name="h"), member("a"), member("b", group="h"))
        await world.clock.advance(SETTLE_SECONDS / 2)
        world.kube.delete(world.kube.pods["uid-a"])
        await world.clock.advance(SETTLE_SECONDS)
        assert condition(world, "b")[1].endswith("1 of 2 members are here")

    run(scenario)
    assert not caplog.records


def test_a_standby_says_nothing_and_a_new_leader_says_it_all() -> None:
    """The gate is the same for all replicas, the telling is the leader's."""

    async def whole() -> None:
        async with Running().leading(lead=False) as world:
            come(world, group(3), member("a"), member("b"))
            await world.clock.advance(30)
            assert world.kube.written == []
            world.engine.lead()
            await world.clock.advance(SETTLE_SECONDS + 1)
            assert condition(world, "a")[1].endswith("2 of 3 members are here")
            come(world, member("c"))
            await world.clock.advance(1)
            assert placed(world, "a", "b", "c") == [True, True, True]

    asyncio.run(whole())


def test_a_suspended_profile_and_its_gang() -> None:
    """Nobody is placed while it is suspended; then all at once."""

    async def scenario(world: Running) -> None:
        world.engine.profile_changed(
            "test", a_body("test", generation=2, plugins=STEPS, suspend=True)
        )
        await world.clock.advance(1)
        come(world, group(2), member("a"), member("b"))
        await world.clock.advance(2)
        assert placed(world, "a", "b") == [False, False]
        world.engine.profile_changed("test", a_body("test", generation=3, plugins=STEPS))
        await world.clock.advance(1)
        assert placed(world, "a", "b") == [True, True]

    run(scenario)


def test_a_gang_whose_profile_is_suspended_while_it_is_bound() -> None:
    """All of it is bound, as some may be already; a pod alone goes back to the queue."""

    async def scenario(world: Running) -> None:
        gate = world.steps.gates["pre_bind"] = asyncio.Event()
        come(world, group(2), member("a"), member("b"), make_pod("alone", cpu="1"))
        await world.clock.advance(1)
        assert world.assumed == 3
        world.engine.profile_changed(
            "test", a_body("test", generation=2, plugins=STEPS, suspend=True)
        )
        await world.clock.advance(1)
        gate.set()
        await world.clock.advance(1)
        assert placed(world, "a", "b", "alone") == [True, True, False]
        assert world.assumed == 0

    run(scenario)


def test_a_swapped_plugin_frees_a_gang() -> None:
    """One that is freed brings the others along."""

    async def scenario(world: Running) -> None:
        come(world, group(3), *(member(name, cpu="3") for name in "abc"))
        await world.clock.advance(1)
        assert placed(world, "a", "b", "c") == [False, False, False]
        disabled = {"filter": {"disabled": [{"name": "NodeResourcesFit"}]}, **STEPS}
        world.engine.profile_changed("test", a_body("test", generation=2, plugins=disabled))
        await world.clock.advance(15)
        assert placed(world, "a", "b", "c") == [True, True, True]

    run(scenario)


def test_members_of_two_profiles_are_told_so() -> None:
    """They wait, and read why."""

    async def scenario(world: Running) -> None:
        come(world, group(2), member("a"), member("b", scheduler_name="other"))
        await world.clock.advance(SETTLE_SECONDS + 1)
        assert condition(world, "a")[1].endswith(
            "; 1 more name the scheduler 'other', and all must name the same"
        )
        assert world.engine.queue.get("uid-b").state is QueueState.GATED  # type: ignore[union-attr]

    run(scenario, None, a_body("test"), a_body("other"))


# ---- too late ------------------------------------------------------------------------------------


def test_a_gang_that_has_not_fitted_in_time_is_told_of_once() -> None:
    """One event on the PodGroup; members' conditions say so until it fits, and nothing else
    changes.
    """

    async def scenario(world: Running) -> None:
        come(world, group(3, seconds=30), *(member(name, cpu="3") for name in "abc"))
        await world.clock.advance(29)
        assert "scheduleTimeoutSeconds" not in condition(world, "a")[1]
        assert world.notes("GangOverdue") == []
        await world.clock.advance(60)
        assert condition(world, "a")[1].endswith(
            "Enough members have been here for longer than scheduleTimeoutSeconds, 30."
        )
        (note,) = world.notes("GangOverdue", "g")
        assert "Insufficient cpu" in note
        (event,) = [event for event in world.events.events if event.reason == "GangOverdue"]
        assert (event.regarding.kind, event.regarding.api_version, event.warning) == (
            "PodGroup",
            "scheduling.x-k8s.io/v1alpha1",
            True,
        )
        come(world, make_node("n3"))
        await world.clock.advance(15)
        assert placed(world, "a", "b", "c") == [True, True, True]
        assert len(world.notes("GangOverdue")) == 1

    run(scenario)


def test_members_beyond_the_minimum_are_never_overdue() -> None:
    """The group was placed; what they lack is their own affair."""

    async def scenario(world: Running) -> None:
        come(world, group(3, seconds=30), *(member(name, cpu="3") for name in "abcd"))
        await world.clock.advance(5)
        come(world, make_node("n3"))
        await world.clock.advance(60)
        assert sum(placed(world, *"abcd")) == 3
        assert world.notes("GangOverdue") == []

    run(scenario)
