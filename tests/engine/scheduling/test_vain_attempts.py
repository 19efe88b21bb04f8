"""Attempts of groups that would be in vain: a group is not tried where nothing has happened."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from moorage.core.columns.changes import Entry
from moorage.core.cycle.decisions import GroupAttemptBegan
from moorage.core.objects.pod_groups import COSCHEDULING_LABEL
from moorage.core.objects.pods import Pod
from moorage.core.queue.scheduling_queue import MAX_UNSCHEDULABLE_SECONDS
from moorage.engine.scheduling.group_holds import HOLD_AFTER_SECONDS
from tests.builders import make_node, make_pod
from tests.engine.running import STEPS, Running
from tests.engine.scheduling.test_group_scheduler import come, group, member, placed, run
from tests.engine.worlds import a_body


class Attempts:
    """A journal that counts attempts of groups."""

    def __init__(self) -> None:
        self.count = 0

    def append(self, entry: Entry, /) -> None:
        """One more."""
        self.count += isinstance(entry, GroupAttemptBegan)


@pytest.mark.parametrize("happens", ["a pod comes", "a node changes", "minMember is raised"])
def test_a_group_is_tried_again_once_something_happens(happens: str) -> None:
    """Whatever it is; else only when an event may have been missed."""
    attempts = Attempts()

    async def scenario(world: Running) -> None:
        come(world, group(3), *(member(name, cpu="3") for name in "abc"))
        await world.clock.advance(HOLD_AFTER_SECONDS - 1)
        assert attempts.count == 1
        await world.clock.advance(MAX_UNSCHEDULABLE_SECONDS - 10)
        assert attempts.count == 2  # it might have had room held for it
        match happens:
            case "a pod comes":
                come(world, make_pod("other", cpu="1"))
            case "a node changes":
                come(world, make_node("n1", labels={"a": "b"}))
            case _:
                come(world, msgspec.structs.replace(group(2), spec=group(3, 9).spec))
        await world.clock.advance(5)
        assert attempts.count == 3
        await world.clock.advance(MAX_UNSCHEDULABLE_SECONDS - 10)
        assert attempts.count == 3
        await world.clock.advance(20)
        assert attempts.count == 4

    run(scenario, Running(journal=attempts))


@pytest.mark.parametrize("waited", [0.3, 15], ids=["in its backoff", "afterwards"])
@pytest.mark.parametrize("happens", ["deleted", "terminating", "of another group", "a swap"])
def test_what_is_no_event_of_the_cluster(happens: str, waited: float) -> None:
    """The first member is in the way of two others, and is a member no more; or the profile has
    another revision.
    """
    attempts = Attempts()

    async def scenario(world: Running) -> None:
        large = member("a", cpu="3")
        come(world, group(2), large, member("b"), member("c"))
        await world.clock.advance(waited)
        assert (attempts.count, placed(world, "b", "c")) == (1, [False, False])
        match happens:
            case "deleted":
                world.kube.delete(world.kube.pods["uid-a"])
            case "terminating":
                come(world, changed(large, deletion_timestamp="2026-01-01T00:00:00Z"))
            case "of another group":
                come(world, changed(large, labels={COSCHEDULING_LABEL: "h"}))
            case _:
                preferred = {"preferredTopologyKeys": ["rack"]}
                config = {"name": "TopologyPlacementGenerator", "args": preferred}
                body = a_body("test", generation=2, plugins=STEPS, pluginConfig=[config])
                world.engine.profile_changed("test", body)
        await world.clock.advance(15)
        assert attempts.count == 2
        assert placed(world, "b", "c") == [happens != "a swap"] * 2

    run(scenario, Running(journal=attempts), nodes=1)


def changed(pod: Pod, **metadata: Any) -> Pod:
    """With this in its metadata."""
    return msgspec.structs.replace(pod, metadata=msgspec.structs.replace(pod.metadata, **metadata))


def test_its_own_room_is_no_event() -> None:
    """Room that is held is set aside in each attempt and there again after it: nothing new."""
    attempts = Attempts()

    async def scenario(world: Running) -> None:
        for i in range(2):
            come(world, make_pod(f"low{i}", cpu="4", priority=0))
        await world.clock.advance(1)
        gang = [
            member(name, cpu="4", priority=1000, preemption_policy="Never") for name in ("a", "b")
        ]
        come(world, group(2), *gang)
        await world.clock.advance(HOLD_AFTER_SECONDS + 1)
        come(world, make_pod("late", cpu="4", priority=0))
        await world.clock.advance(15)
        assert len(world.engine.context.cache.nominations) == 2
        tried = attempts.count
        come(world, make_node("n1", labels={"a": "b"}))
        await world.clock.advance(60)
        assert attempts.count == tried + 1
        for i in range(2):
            world.kube.delete(world.kube.pods[f"uid-low{i}"])
        await world.clock.advance(3)
        assert placed(world, "a", "b") == [True, True]

    run(scenario, Running(journal=attempts))
