"""Swapping: what becomes of the pods of a profile that changed, stopped or never was any good."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from moorage.core.queue.queued_pod import QueuedPodInfo, QueueState
from tests.builders import make_node, make_pod
from tests.engine.running import Running
from tests.engine.worlds import a_body, make_engine, versioned
from tests.fakes.clocks import settle
from tests.fakes.kube import InMemoryKube
from tests.fakes.sinks import FakeEventRecorder

INITIAL_BACKOFF = 5
GPU = "example.com/gpu"


class Refused:
    """A running world with two refused pods: ``gpu`` by NodeResourcesFit, ``picky`` by
    NodeAffinity.
    """

    def __init__(self, world: Running) -> None:
        self.world = world
        self.generation = 1

    async def begin(self) -> None:
        """Let them be refused."""
        self.see(GPU + "x")
        await self.world.clock.advance(INITIAL_BACKOFF + 1)  # a move may come again from now on
        gpu = make_pod("gpu", containers=(make_pod("x").spec.containers[0],), overhead={GPU: "1"})  # type: ignore[index]
        self.world.kube.put(gpu)
        self.world.kube.put(make_pod("picky", node_selector={"disk": "fast"}))
        await self.world.clock.advance(1)
        assert {self.place("gpu"), self.place("picky")} == {QueueState.UNSCHEDULABLE}

    def see(self, *ignored: str, **spec: Any) -> None:
        """The profile changes: these resources are ignored."""
        self.generation += 1
        entry = {"name": "NodeResourcesFit", "args": {"ignoredResources": list(ignored)}}
        body = a_body(
            "test",
            generation=self.generation,
            podInitialBackoffSeconds=INITIAL_BACKOFF,
            pluginConfig=[entry],
            **spec,
        )
        self.world.engine.profile_changed("test", body)

    def entry(self, name: str) -> QueuedPodInfo:
        """A pod that waits."""
        entry = self.world.engine.queue.get(f"uid-{name}")
        assert entry is not None
        return entry

    def place(self, name: str) -> QueueState | None:
        """Where it waits."""
        return self.entry(name).state

    @property
    def attempts(self) -> tuple[int, int]:
        """Of both."""
        return self.entry("gpu").attempts, self.entry("picky").attempts


WITHOUT_AFFINITY = {"disabled": [{"name": "NodeAffinity"}]}
CHANGES: dict[str, tuple[dict[str, Any], tuple[int, int]]] = {
    "arguments of one": ({"ignored": "y"}, (1, 0)),
    "another is taken out": ({"plugins": {"multiPoint": WITHOUT_AFFINITY}}, (0, 1)),
    "a third one": ({"plugins": {"multiPoint": {"disabled": [{"name": "ImageLocality"}]}}}, (0, 0)),
    "weights alone": ({"weights": {"NodeResourcesFit": 7}}, (0, 0)),
    "a place at score": (
        {"plugins": {"score": WITHOUT_AFFINITY, "preScore": WITHOUT_AFFINITY}},
        (0, 1),
    ),
}


@pytest.mark.parametrize("change", CHANGES)
def test_pods_that_changed_plugins_had_refused_are_tried_again(change: str) -> None:
    """Those and no others."""
    spec, moved = CHANGES[change]

    async def scenario() -> None:
        async with Running().leading() as world:
            pods = Refused(world)
            await pods.begin()
            before = pods.attempts
            pods.see(
                GPU + spec.get("ignored", "x"),
                **{name: value for name, value in spec.items() if name != "ignored"},
            )
            await world.clock.advance(1)
            now = world.engine.queue.get("uid-picky")
            assert pods.entry("gpu").attempts - before[0] == moved[0]
            assert (now is None or now.attempts > before[1]) == bool(moved[1])
            assert bool(world.node("picky")) == (change == "another is taken out")

    asyncio.run(scenario())


def test_a_swap_that_helps_places_the_pod() -> None:
    """The next attempt is by the new rules."""

    async def scenario() -> None:
        async with Running().leading() as world:
            pods = Refused(world)
            await pods.begin()
            pods.see(GPU)
            await world.clock.advance(1)
            assert world.node("gpu")

    asyncio.run(scenario())


def test_moves_are_no_oftener_than_the_initial_backoff() -> None:
    """However often the profile changes; what is owed is moved when the time has come, backoff
    counters stay.
    """

    async def scenario() -> None:
        async with Running().leading() as world:
            pods = Refused(world)
            await pods.begin()
            for i in range(10):
                pods.see(f"{GPU}{i}")
                await world.clock.advance(1)
                if i == 0:
                    assert pods.attempts == (2, 1)
            assert pods.attempts == (3, 1)
            assert pods.entry("gpu").unschedulable_count == 3
            await world.clock.advance(5)
            assert pods.attempts == (4, 1)
            await world.clock.advance(10)
            assert pods.attempts == (4, 1)

    asyncio.run(scenario())


def test_a_pod_that_is_decided_by_the_old_revision_during_a_swap_is_tried_again() -> None:
    """A refusal by rules that are no more counts for nothing."""
    engine = make_engine(InMemoryKube(), FakeEventRecorder())
    engine.node_sink.put(versioned(make_node("n1", cpu="1")))
    engine.profile_changed("test", a_body("test"))
    asyncio.run(engine.swapper.reconcile())
    engine.pod_sink.put(versioned(make_pod("a", cpu="2")))
    entry = engine.queue.pop(engine.metrics.last_heartbeat)
    assert entry is not None
    ignoring_cpu = {"name": "NodeResourcesFit", "args": {"ignoredResources": [GPU]}}
    engine.profile_changed("test", a_body("test", generation=2, pluginConfig=[ignoring_cpu]))
    asyncio.run(engine.swapper.reconcile())
    engine.queue.requeue(entry, frozenset({"NodeResourcesFit"}), engine.metrics.last_heartbeat)
    assert entry.state is QueueState.BACKOFF


@pytest.mark.parametrize("how", ["suspended", "deleted"])
def test_pods_of_a_stopped_profile_are_held(how: str) -> None:
    """None is bound meanwhile, one in flight ends; when the profile is back they go on."""

    async def scenario() -> None:
        async with Running().leading() as world:
            gate = world.kube.hold("bind")
            world.kube.put(make_pod("flying"))
            await settle()
            world.kube.put(make_pod("refused", node_selector={"disk": "fast"}))
            await settle()
            world.engine.profile_changed(
                "test", None if how == "deleted" else a_body("test", generation=2, suspend=True)
            )
            await world.clock.advance(1)
            world.kube.put(make_pod("new"))
            gate.set()
            await world.clock.advance(20)
            assert world.kube.bindings.keys() == {"flying"}
            assert world.engine.queue.counts("test").unserved == 2
            assert ("test" not in world.engine.live) == (how == "deleted")
            body = (
                a_body("test", uid="uid-again")
                if how == "deleted"
                else a_body("test", generation=3)
            )
            world.engine.profile_changed("test", body)
            await world.clock.advance(1)
            assert world.kube.bindings.keys() == {"flying", "new"}
            entry = world.engine.queue.get("uid-refused")
            assert entry is not None
            assert entry.attempts == 2

    asyncio.run(scenario())


def test_pods_of_a_profile_that_was_never_good_are_told_why() -> None:
    """Each one once, those that come later too, in event and condition; with the profile mended
    they are placed.
    """

    async def scenario() -> None:
        async with Running().leading(a_body("good")) as world:
            world.kube.put(make_pod("first", scheduler_name="bad"))
            world.kube.put(make_pod("other"))
            world.engine.profile_changed("bad", a_body("bad", preset="Best"))
            await world.clock.advance(1)
            world.kube.put(make_pod("second", scheduler_name="bad"))
            for _ in range(3):
                await world.engine.swapper.reconcile()
                await world.clock.advance(1)
            for name in ("first", "second"):
                (note,) = world.notes("FailedScheduling", name)
                assert note.startswith(
                    "SchedulerProfile 'bad' has never been valid: spec.preset: 'Best': "
                    "supported values: "
                )
                (condition,) = world.kube.pods[f"uid-{name}"].status.conditions or ()
                assert (condition.reason, condition.message) == ("SchedulerError", note)
            assert world.notes("FailedScheduling", "other") == []
            world.engine.profile_changed("bad", a_body("bad", generation=2))
            await world.clock.advance(1)
            assert world.kube.bindings.keys() == {"first", "second"}

    asyncio.run(scenario())


def test_pods_that_wait_at_a_takeover_are_told_by_the_new_leader() -> None:
    """What the old one had told them is not told again."""

    async def scenario() -> None:
        kube = InMemoryKube()
        for last in (False, True):
            async with Running(kube).leading(a_body("bad", preset="Best")) as world:
                kube.put(make_pod("first", scheduler_name="bad")) if not last else None
                await world.clock.advance(1)
                assert len(world.notes("FailedScheduling", "first")) == int(not last)
            kube.pod_sinks.clear()
            kube.node_sinks.clear()

    asyncio.run(scenario())
