"""PodGroups of Kubernetes in an engine: placed as one or not at all, with room made for them, and
told in kube-scheduler's words.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
import pytest

from moorage.core.objects.pod_groups import PodGroup
from moorage.core.objects.pods import Pod, PodSchedulingGroup, SchedulingGate, on_node
from tests.builders import make_node, make_pod
from tests.engine.running import Running
from tests.engine.worlds import a_body

LONG = 15.0
"""Seconds, more than any backoff."""


def group(least: int = 0, name: str = "g", **spec: Any) -> PodGroup:
    """A gang of so many, or a basic group."""
    policy = {"gang": {"minCount": least}} if least else {"basic": {}}
    metadata = {"name": name, "namespace": "default", "uid": f"uid-{name}"}
    return msgspec.convert(
        {"metadata": metadata, "spec": {"schedulingPolicy": policy, **spec}}, PodGroup
    )


def member(name: str, of: str = "g", **spec: Any) -> Pod:
    """A pod of a group; a node takes two, unless told otherwise."""
    pod = make_pod(name, **{"cpu": "2", **spec})
    spec_of = msgspec.structs.replace(pod.spec, scheduling_group=PodSchedulingGroup(of))
    return msgspec.structs.replace(pod, spec=spec_of)


def run(story: Callable[[Running], Awaitable[None]], nodes: int = 1, **profile: Any) -> None:
    """In a leading engine; ``profile``: the spec of the profile."""

    async def whole() -> None:
        world = Running()
        async with world.leading(a_body("test", **profile), nodes=nodes):
            await story(world)

    asyncio.run(whole())


def come(world: Running, *objects: Any) -> None:
    """These are created."""
    for obj in objects:
        world.kube.put(obj)


def placed(world: Running, names: str) -> str:
    """Which of these are on a node."""
    pods = world.kube.pods
    return "".join(name for name in names if f"uid-{name}" in pods and world.node(name))


def message(world: Running, name: str) -> str:
    """Of PodScheduled."""
    conditions = world.kube.pods[f"uid-{name}"].status.conditions or ()
    return next((c.message for c in conditions if c.type == "PodScheduled"), "")


def condition(world: Running, name: str = "g") -> tuple[str, str]:
    """Status and message of PodGroupInitiallyScheduled."""
    found: PodGroup = world.kube.others[PodGroup][f"default/{name}"]
    return next(((c.status, c.message) for c in found.status.conditions or ()), ("", ""))


def test_a_gang_goes_as_one() -> None:
    """Nobody is bound while there are too few, then all are."""

    async def story(world: Running) -> None:
        come(world, group(3), member("a"), member("b"))
        await world.clock.advance(LONG)
        assert placed(world, "abc") == ""
        assert "2 of 3 members are here" in message(world, "a")
        come(world, make_node("n2"), member("c"))
        await world.clock.advance(3.0)
        assert (placed(world, "abc"), condition(world)) == ("abc", ("True", ""))

    run(story)


def test_where_members_lie_is_told() -> None:
    """Once the minimum is bound, where a domain is preferred."""

    async def story(world: Running) -> None:
        come(world, *(make_node(f"r{i}", labels={"rack": f"r{i}"}) for i in range(2)))
        come(world, make_node("wide", cpu="9", labels={"rack": "wide"}))
        await world.clock.advance(1.0)
        come(world, group(3), *map(member, "abc"))
        await world.clock.advance(3.0)
        assert {world.node(name) for name in "abc"} == {"wide"}
        assert condition(world) == (
            "True",
            "all members lie in rack=wide; 2 of 3 values of rack have no room for 3 members",
        )

    preferred = {"preferredTopologyKeys": ["rack"]}
    config = {"name": "TopologyPlacementGenerator", "args": preferred}
    run(story, pluginConfig=[config])


def test_a_gang_that_does_not_fit() -> None:
    """Each is told in kube-scheduler's words, and so is the group."""

    async def story(world: Running) -> None:
        come(world, group(3), *map(member, "abc"))
        await world.clock.advance(3.0)
        count = "minCount (3) cannot be satisfied: 2 scheduled, 0 remaining"
        assert placed(world, "abc") == ""
        assert message(world, "a").startswith(f"pod group is unschedulable, {count}")
        assert message(world, "c").startswith("0/1 nodes are available: 1 Insufficient cpu.")
        status, text = condition(world)
        assert (status, text.startswith(count)) == ("False", True)
        assert text.endswith(
            "pod group preemption: No preemption victims found for incoming preemptor"
        )

    run(story)


def test_a_basic_group_goes_as_far_as_it_fits() -> None:
    """Those that do not fit are tried again, and told their own reason."""

    async def story(world: Running) -> None:
        come(world, group(), *map(member, "abc"))
        await world.clock.advance(LONG)
        assert (placed(world, "abc"), condition(world)) == ("ab", ("True", ""))
        assert message(world, "c").startswith("0/1 nodes are available: 1 Insufficient cpu.")
        come(world, make_node("n2"))
        await world.clock.advance(3.0)
        assert placed(world, "abc") == "abc"

    run(story)


def test_a_gated_member_keeps_the_others() -> None:
    """Until its gate is gone."""

    async def story(world: Running) -> None:
        gated = member("c", scheduling_gates=(SchedulingGate("hold"),))
        come(world, group(2), make_node("n2"), member("a"), member("b"), gated)
        await world.clock.advance(LONG)
        assert placed(world, "abc") == ""
        assert "pod 'c' is gated" in message(world, "a")
        come(world, member("c"))
        await world.clock.advance(3.0)
        assert placed(world, "abc") == "abc"

    run(story)


def room_comes(world: Running) -> None:
    """A pod ends that nobody would have evicted, so that a member fits beside the victim."""
    world.kube.delete(world.kube.pods["uid-high"])


def node_goes(world: Running) -> None:
    """That is where a member was to go."""
    world.kube.delete(world.kube.nodes["n1"])


@pytest.mark.parametrize("happens", [room_comes, node_goes])
def test_victims_are_looked_at_again_before_the_first_goes(
    happens: Callable[[Running], None],
) -> None:
    """Nobody is evicted where that is not needed any more, or of no use."""

    async def story(world: Running) -> None:
        come(world, make_pod("low", node="n1", cpu="2", priority=1))
        come(world, make_pod("high", node="n1", cpu="2", priority=9))
        gate = world.kube.hold("pod_condition")
        come(world, make_node("n2", cpu="2"))
        come(world, group(2, priority=9), *(member(name, priority=9) for name in "ab"))
        await world.clock.advance(0.2)
        happens(world)
        await world.clock.advance(0.1)
        assert "preempting 1 victims" in condition(world)[1]
        gate.set()
        await world.clock.advance(LONG)
        assert (world.notes("Preempted"), "uid-low" in world.kube.pods) == ([], True)
        assert placed(world, "ab") == ("ab" if happens is room_comes else "")

    run(story)


@pytest.mark.parametrize("mode", ["single", "all"])
def test_room_is_made_for_a_group(mode: str) -> None:
    """Victims go, members are nominated, and bound where they were; a group that is disrupted
    together goes whole.
    """

    async def story(world: Running) -> None:
        come(
            world,
            make_node("n2"),
            group(1, "old", disruptionMode={mode: {}}),
            member("x", "old"),
            member("y", "old"),
        )
        await world.clock.advance(3.0)
        assert placed(world, "xy") == "xy"
        come(world, group(3, priority=9), *(member(name, priority=9) for name in "abc"))
        await world.clock.advance(0.2)
        assert "found a placement for podgroup, preempting" in condition(world)[1]
        await world.clock.advance(3.0)
        assert condition(world)[1].endswith("ongoing preemption on nominated nodes")
        for pod in [pod for pod in world.kube.pods.values() if pod.metadata.deletion_timestamp]:
            world.kube.delete(pod)
        await world.clock.advance(LONG)
        assert (placed(world, "abc"), condition(world)) == ("abc", ("True", ""))
        gone = sum(f"uid-{name}" not in world.kube.pods for name in "xy")
        assert gone == {"single": 1, "all": 2}[mode]
        notes = {note for name in "xy" for note in world.notes("Preempted", name)}
        assert notes == {"Preempted by podgroup uid-g on node cluster"}

    run(story)


def test_members_that_differ_in_what_must_be_common() -> None:
    """None of them is tried."""

    async def story(world: Running) -> None:
        come(world, group(2, priority=5), member("a", priority=5), member("b", priority=7))
        await world.clock.advance(3.0)
        text = (
            "all pods in a single pod group should have the same priority as the pod group's "
            "priority, got 7 and 5"
        )
        assert (placed(world, "ab"), condition(world)) == ("", ("False", text))
        assert message(world, "a") == text

    run(story)


def test_a_minimum_that_is_lowered_frees_those_that_wait() -> None:
    """Without anything else happening."""

    async def story(world: Running) -> None:
        come(world, group(3), *map(member, "abc"))
        await world.clock.advance(3.0)
        assert placed(world, "abc") == ""
        come(world, group(2))
        await world.clock.advance(LONG)
        assert len(placed(world, "abc")) == 2

    run(story)


def test_a_member_that_replaces_another_needs_nobody() -> None:
    """The minimum was met once."""

    async def story(world: Running) -> None:
        come(world, group(2), member("a"), member("b"))
        await world.clock.advance(3.0)
        assert placed(world, "ab") == "ab"
        for name in "ab":
            world.kube.delete(world.kube.pods[f"uid-{name}"])
        come(world, member("c"))
        await world.clock.advance(LONG)
        assert placed(world, "c") == "c"

    run(story)


@pytest.mark.parametrize(
    ("scheduler", "least", "said"),
    [("test", 2, "True"), ("test", 3, ""), ("somebody-else", 2, "")],
    ids=["enough", "one too few", "not ours"],
)
def test_a_group_that_a_former_leader_bound(scheduler: str, least: int, said: str) -> None:
    """Its condition follows, once as many members as are needed are seen on nodes."""

    async def story(world: Running) -> None:
        pods = [member(name, scheduler_name=scheduler) for name in "ab"]
        come(world, group(least), *(on_node(pod, "n1") for pod in pods))
        await world.clock.advance(LONG)
        assert condition(world) == (said, "")

    run(story)
