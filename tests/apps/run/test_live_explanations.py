"""Explanations of a running engine's own state."""

from __future__ import annotations

import asyncio
import datetime
import io

from moorage.apps.explain.group_texts import group_parts
from moorage.apps.printing.terminal import open_console, write
from moorage.apps.run.live_explanations import LiveExplanations
from moorage.apps.run.side_loop import OneLoop
from moorage.core.objects.meta import ObjectMeta
from moorage.core.objects.pod_groups import (
    GangSchedulingPolicy,
    PodGroup,
    PodGroupSchedulingPolicy,
    PodGroupSpec,
)
from moorage.core.objects.pods import PodSchedulingGroup, SchedulingGate
from moorage.engine.scheduling.group_holds import HOLD_AFTER_SECONDS
from moorage.ports.stored_kinds import POD_GROUPS
from tests.builders import make_pod
from tests.engine.running import Running
from tests.engine.scheduling.test_group_holds import filled, member
from tests.engine.scheduling.test_group_scheduler import come, group
from tests.engine.test_out_of_tree import in_a_loop
from tests.engine.worlds import a_body, versioned


def explanations(world: Running) -> LiveExplanations:
    """Of this engine."""
    return LiveExplanations(world.engine, OneLoop(), "moorage-1")


@in_a_loop
async def test_a_pending_pod_with_what_the_queue_knows() -> None:
    """Attempts, and until when it waits; the engine's own state stays as it is."""
    async with Running().leading() as world:
        world.kube.put(versioned(make_pod("big", cpu="9")))
        await world.clock.advance(2)
        before = world.engine.cache.nodes.order.names
        found = await explanations(world).explain("pod", "default/big")
        assert found is not None
        assert (found["kind"], found["verdict"]) == ("PodExplanation", "Pending")
        assert found["source"] == "the operator, moorage-1"
        assert found["revision"] == world.engine.live["test"].id
        assert [group["nodes"] for group in found["refusals"]] == [2]
        assert found["changes"][0]["changes"][0]["text"] == "cpu 9 -> 4"
        wait = found["wait"]
        assert (wait["queue"], wait["attempts"]) == ("unschedulable", 1)
        assert wait["until"] > wait["since"]
        assert world.engine.cache.nodes.order.names == before
        assert found["notAsked"] == []


@in_a_loop
async def test_other_pods() -> None:
    """One that is bound, one that is gated, none; and several at once, one after another."""
    async with Running().leading() as world:
        world.kube.put(versioned(make_pod("web")))
        gates = (SchedulingGate("example.com/a"),)
        world.kube.put(versioned(make_pod("gated", scheduling_gates=gates)))
        await world.clock.advance(2)
        explain = explanations(world).explain
        names = ("default/web", "default/gated", "default/none")
        bound, gated, none = await asyncio.gather(*(explain("pod", name) for name in names))
        assert none is None
        assert bound is not None
        assert (bound["verdict"], bound["wait"]) == ("Bound", None)
        assert bound["node"] == world.node("web")
        assert gated is not None
        assert (gated["verdict"], gated["wait"]["queue"]) == ("Gated", "gated")


@in_a_loop
async def test_a_group_of_an_api_that_is_not_served() -> None:
    """The pod's condition and explanations of it and its group say the same."""
    async with Running().leading() as world:
        sink = world.engine.stored_object_sinks[POD_GROUPS[0]]
        sink.list_started(served=False)
        sink.list_ended()
        world.kube.put(versioned(make_pod("a", scheduling_group=PodSchedulingGroup("g"))))
        await world.clock.advance(2)
        for kind, name in (("pod", "default/a"), ("podgroup", "default/g")):
            found = await explanations(world).explain(kind, name)
            assert found is not None
            assert found["verdict"] == "Gated"
            assert (
                "the API server does not serve PodGroups of scheduling.k8s.io" in found["message"]
            )


@in_a_loop
async def test_a_pod_whose_profile_holds_it() -> None:
    """It waits for kinds that are not up to date, or is suspended: no node is said anything of."""
    async with Running().leading() as world:
        world.kube.put(versioned(make_pod("big", cpu="9")))
        await world.clock.advance(2)
        holds = "the SchedulerProfile that decides for"
        world.engine.records.profiles["test"].waits_for = ("services", "nodes")
        found = await explanations(world).explain("pod", "default/big")
        assert found is not None and "refusals" not in found
        text = f"{holds} 'test' waits until services, nodes are up to date"
        assert (found["verdict"], found["message"]) == ("ProfileWaiting", text)
        world.engine.profile_changed("test", a_body("test", generation=2, suspend=True))
        await world.clock.advance(2)
        found = await explanations(world).explain("pod", "default/big")
        assert found is not None
        assert (found["verdict"], found["message"]) == ("Suspended", f"{holds} 'test' is suspended")


@in_a_loop
async def test_a_pod_group_with_what_the_queue_knows() -> None:
    """By its name, and by a member; where two APIs have one of that name, Kubernetes' own."""
    async with Running().leading() as world:
        policy = PodGroupSchedulingPolicy(gang=GangSchedulingPolicy(2))
        world.kube.put(PodGroup(ObjectMeta("g", "default", "uid-g"), PodGroupSpec(policy)))
        group = PodSchedulingGroup("g")
        for name in ("m0", "m1"):
            world.kube.put(versioned(make_pod(name, cpu="9", scheduling_group=group)))
        await world.clock.advance(2)
        explain = explanations(world).explain
        found, member = await explain("podgroup", "default/g"), await explain("pod", "default/m1")
        assert found is not None
        assert (found["kind"], found["verdict"]) == ("PodGroupExplanation", "Pending")
        assert found["group"]["minCount"] == 2
        assert found["wait"]["attempts"] >= 1
        assert member is not None
        assert (member["kind"], member["verdict"]) == ("PodExplanation", "Pending")
        assert member["group"] == found["group"]
        assert await explain("podgroup", "default/none") is None


@in_a_loop
async def test_room_that_is_held_for_a_group() -> None:
    """Where and until when, by the group's name and by a member; before that nothing is said."""
    async with Running().leading() as world:
        await filled(world)
        come(world, group(2), *(member(f"g{i}", cpu="4", priority=1000) for i in range(2)))
        await world.clock.advance(2)
        explain = explanations(world).explain
        found = await explain("podgroup", "default/g")
        assert found is not None
        assert (found["group"]["roomHeldOn"], found["wait"]["roomHeldUntil"]) == ([], None)
        await world.clock.advance(HOLD_AFTER_SECONDS + 10)
        for asked in (("podgroup", "default/g"), ("pod", "default/g1")):
            found = await explain(*asked)
            assert found is not None
            held = found["group"]["roomHeldOn"]
            assert sorted(one["pod"] for one in held) == ["default/g0", "default/g1"]
            assert {one["node"] for one in held} == {"n1", "n2"}
            until = datetime.datetime.fromisoformat(found["wait"]["roomHeldUntil"])
            at = datetime.datetime.fromisoformat(found["at"])
            write(
                open_console(out := io.StringIO()),
                *group_parts(found, at, all_nodes=False, all_changes=False),
            )
            last = out.getvalue().splitlines()[-1]
            assert last.startswith("Room is held for the group on n")
            assert last.endswith(f", until {until:%H:%M:%S} at the latest.")
