"""Inspecting: what is shown is what there is; what differs from the API server is named, and
nothing else is.
"""

from __future__ import annotations

import asyncio
import dataclasses
import logging
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moorage.core.objects.pods import PodCondition, PodStatus
from moorage.engine.intake.comparison import RECHECK_DELAY_SECONDS
from moorage.engine.reports import inspection
from moorage.engine.reports.inspection import CacheDifference, CacheInspector
from moorage.ports.errors import Retryable
from tests.builders import make_node, make_pod
from tests.engine.worlds import Bench, versioned
from tests.fakes.clocks import EagerClock
from tests.fakes.held_rooms import ScriptedRooms
from tests.fakes.sinks import NullTelemetry


class Gauge(NullTelemetry):
    """Keeps what the last comparison found."""

    counts: dict[str, int] | None = None

    def differences(self, counts: Any) -> None:
        """Keep it."""
        self.counts = dict(counts)


@dataclasses.dataclass
class World:
    """Intake and queue that hear of an API server, unless ``deaf``."""

    bench: Bench = dataclasses.field(default_factory=Bench)
    gauge: Gauge = dataclasses.field(default_factory=Gauge)
    clock: EagerClock = dataclasses.field(default_factory=EagerClock)

    def __post_init__(self) -> None:
        self.kube = self.bench.kube
        self.hear()
        ports = dataclasses.replace(self.bench.ports, clock=self.clock, telemetry=self.gauge)
        self.inspector = CacheInspector(self.bench.cache, self.bench.queue, ScriptedRooms(), ports)

    def hear(self, deaf: bool = False) -> None:
        """Listen to the watches, or not."""
        self.kube.pod_sinks[:] = [] if deaf else [self.bench.pods]
        self.kube.node_sinks[:] = [] if deaf else [self.bench.nodes]

    def compare(self) -> list[CacheDifference]:
        """What is found."""
        return asyncio.run(self.inspector.compare())


async def everything(items: Any) -> list[Any]:
    """All that comes."""
    return [item async for item in items]


# ---- what differs --------------------------------------------------------------------------------


def test_each_kind_of_difference_is_named() -> None:
    """By node or pod, with what we have and what the API server has; and counted."""
    world = World()
    world.kube.put(make_node("n1"))
    world.kube.put(make_node("gone"))
    for name in ("same", "moved"):
        world.kube.put(make_pod(name, node="n1"))
    for name in ("left", "bound", "waits"):
        world.kube.put(make_pod(name))
    world.hear(deaf=True)
    world.kube.put(make_node("n2"))
    world.kube.delete(world.kube.nodes["gone"])
    world.kube.put(make_pod("moved", node="n2"))
    world.kube.put(make_pod("new"))
    world.kube.put(make_pod("bound", node="n2"))
    world.kube.delete(world.kube.pods["uid-left"])
    assert world.compare() == [
        CacheDifference("missed node", "n2"),
        CacheDifference("redundant node", "gone"),
        CacheDifference("misplaced pod", "default/moved", "n1", "n2"),
        CacheDifference("misplaced pod", "default/bound", "", "n2"),
        CacheDifference("missed pod", "default/new"),
        CacheDifference("redundant pod", "default/left"),
    ]
    assert world.gauge.counts == {
        "missed node": 1,
        "redundant node": 1,
        "missed pod": 1,
        "redundant pod": 1,
        "misplaced pod": 2,
    }
    world.hear()
    world.kube.relist()
    assert world.compare() == []
    assert world.gauge.counts == dict.fromkeys(inspection.DIFFERENCE_KINDS, 0)


def test_what_is_on_its_way_is_no_difference() -> None:
    """A pod that is being bound has no node at the API server yet; one that is going and waits is
    not queued any more.
    """
    world = World()
    world.kube.put(make_node("n1"))
    world.kube.put(make_pod("assumed"))
    assert world.bench.attempt() == "assumed"
    world.kube.put(versioned(make_pod("going"), deletion_timestamp="2026-01-01T00:00:00Z"))
    assert world.bench.attempt() == "going"
    assert world.compare() == []
    assert world.clock.slept == []
    world.hear(deaf=True)
    world.kube.put(make_pod("assumed", node="n2"))
    assert world.compare() == [CacheDifference("misplaced pod", "default/assumed", "n1", "n2")]


def test_what_changes_between_the_looks_is_no_difference() -> None:
    """Only what both looks find is told: here a watch that lags, and hears what it had missed
    before the second look.
    """

    async def story() -> None:
        world = World()
        world.kube.put(make_node("n1"))
        world.hear(deaf=True)
        for name in ("late", "lost"):
            world.kube.put(make_pod(name, node="n1"))
        gate = world.kube.hold("node_names")
        comparing = asyncio.create_task(world.inspector.compare())
        gate.set()
        while not world.clock.slept:
            await asyncio.sleep(0)
        gate.clear()
        world.bench.pods.put(world.kube.pods["uid-late"])
        world.kube.put(make_pod("new", node="n1"))
        gate.set()
        assert await comparing == [CacheDifference("missed pod", "default/lost", "", "n1")]
        assert world.clock.slept == [RECHECK_DELAY_SECONDS]

    asyncio.run(story())


class History:
    """What happens to pods and nodes, and which of it is heard. ``truth`` and ``heard``: object ->
    node, "" for a pod without one.
    """

    def __init__(self) -> None:
        self.world = World()
        self.truth: dict[str, str] = {}
        self.heard: dict[str, str] = {}

    def happen(self, op: str, i: int, hears: bool) -> None:
        """One step, if it can happen now."""
        name = f"n{i}" if op in ("appear", "vanish") else f"p{i}"
        self.world.hear(deaf=not hears)
        if getattr(self, op)(name, i) is not False and hears:
            self.heard.pop(name, None)
            if name in self.truth:
                self.heard[name] = self.truth[name]

    def decide(self, name: str, i: int) -> bool:
        """A pod is assumed on a node."""
        self.world.bench.attempt()
        return False

    def come(self, name: str, i: int, node: str = "") -> bool:
        """A pod comes, or is bound."""
        if self.truth.get(name, node) not in ("", node) or (name in self.truth and not node):
            return False
        self.truth[name] = node
        self.world.kube.put(make_pod(name, node=node))
        return True

    def bind(self, name: str, i: int) -> bool:
        """By somebody else."""
        return self.come(name, i, f"n{i % 3}") if name in self.truth else False

    def end(self, name: str, i: int) -> bool:
        """It has run."""
        if self.truth.pop(name, None) is None:
            return False
        pod = self.world.kube.pods[f"uid-{name}"]
        self.world.kube.put(msgspec.structs.replace(pod, status=PodStatus(phase="Succeeded")))
        return True

    def go(self, name: str, i: int) -> bool:
        """It is deleted."""
        if f"uid-{name}" not in self.world.kube.pods:
            return False
        self.truth.pop(name, None)
        self.world.kube.delete(self.world.kube.pods[f"uid-{name}"])
        return True

    def appear(self, name: str, i: int) -> None:
        """A node comes, or changes."""
        self.truth[name] = ""
        self.world.kube.put(make_node(name))

    def vanish(self, name: str, i: int) -> bool:
        """A node goes."""
        if self.truth.pop(name, None) is None:
            return False
        self.world.kube.delete(self.world.kube.nodes[name])
        return True

    @property
    def different(self) -> set[tuple[str, str]]:
        """What was not heard, by kind and name. Where we have placed a pod that has no node yet, it
        may come to be on that one.
        """
        flying = {
            placement.pod.metadata.name: placement.node
            for _, placement in self.world.bench.binder.under_way.values()
        }
        both = self.truth.keys() & self.heard.keys()
        moved = {
            name for name in both if self.truth[name] != (self.heard[name] or flying.get(name, ""))
        }
        return {
            *((f"missed {_kind(name)}", name) for name in self.truth.keys() - both),
            *((f"redundant {_kind(name)}", name) for name in self.heard.keys() - both),
            *(("misplaced pod", name) for name in moved if self.truth[name]),
        }


def _kind(name: str) -> str:
    return "node" if name.startswith("n") else "pod"


OPS = ("come", "bind", "end", "go", "decide", "appear", "vanish")


@given(st.lists(st.tuples(st.sampled_from(OPS), st.integers(0, 4), st.booleans()), max_size=30))
@settings(max_examples=100, deadline=None)
def test_differences_are_what_was_not_heard(steps: list[tuple[str, int, bool]]) -> None:
    """For any history of which some is not heard; when all of it is in the end, there are none."""
    history = History()
    history.happen("appear", 0, True)
    for step in steps:
        history.happen(*step)
    found = {
        (difference.kind, difference.object.removeprefix("default/"))
        for difference in history.world.compare()
    }
    assert found == history.different
    history.world.hear()
    history.world.kube.relist()
    assert history.world.compare() == []


# ---- what is shown -------------------------------------------------------------------------------


def test_nodes_and_pods_as_data() -> None:
    """Amounts as quantities; who is where and how we know; who waits where, since when and why."""

    async def story() -> None:
        world = World()
        world.kube.put(make_node("n1", cpu="2"))
        world.kube.put(make_pod("seen", node="n1", cpu="1500m"))
        world.kube.put(make_pod("lost", node="n9"))
        status = PodStatus(
            conditions=(
                PodCondition("PodScheduled", "False", "Unschedulable", "0/1 nodes are available"),
            )
        )
        world.kube.put(msgspec.structs.replace(make_pod("big", cpu="1"), status=status))
        world.bench.attempt()
        nodes = await everything(world.inspector.nodes())
        seen = {"pod": "default/seen", "uid": "uid-seen", "state": "observed"}
        assert nodes[0] == {
            "node": "n1",
            "exists": True,
            "allocatable": {"cpu": "2000m", "memory": str(8 * 2**30), "pods": "110"},
            "requested": {"cpu": "1500m", "memory": str(100 * 2**20), "pods": "1"},
            "pods": [seen],
            "nominatedPods": [],
        }
        assert [
            (node["node"], node["exists"], [pod["pod"] for pod in node["pods"]])
            for node in nodes[1:]
        ] == [("n9", False, ["default/lost"])]
        (waiting,) = await everything(world.inspector.pods())
        assert waiting["pod"] == "default/big"
        assert (waiting["state"], waiting["profile"], waiting["attempts"]) == (
            "unschedulable",
            "test",
            1,
        )
        assert waiting["unschedulablePlugins"] == ["NodeResourcesFit"]
        assert waiting["message"] == "0/1 nodes are available"
        assert waiting["timestamp"] == waiting["since"] == "2026-01-02T03:04:05.000+00:00"
        assert waiting["until"] == "2026-01-02T03:09:05.000+00:00"
        assert "NodeAdd" in waiting["wakesOn"]
        assert (waiting["turn"], waiting["owner"], waiting["priority"]) == (None, "", 0)

    asyncio.run(story())


def test_others_have_their_turn() -> None:
    """A cluster of many nodes is not given in one go, and what goes meanwhile harms nothing."""

    async def story() -> None:
        world = World()
        for i in range(10 * inspection.ITEMS_PER_STEP):
            world.kube.put(make_node(f"n{i}"))
        turns = 0

        async def others() -> None:
            nonlocal turns
            while True:
                turns += 1
                if f"n{turns}" in world.kube.nodes:
                    world.kube.delete(world.kube.nodes[f"n{turns}"])
                await asyncio.sleep(0)

        task = asyncio.create_task(others())
        assert len(await everything(world.inspector.nodes())) == 10 * inspection.ITEMS_PER_STEP
        task.cancel()
        assert turns >= 9

    asyncio.run(story())


@pytest.mark.parametrize(
    ("fails", "text"),
    [
        pytest.param(None, "compared with the API server: 1 differences", id="compared"),
        pytest.param(
            Retryable("busy"),
            "the cache cannot be compared with the API server: busy",
            id="no answer",
        ),
        pytest.param(RuntimeError("a bug"), "looking inside failed with a bug", id="a bug"),
    ],
)
def test_the_log(fails: Exception | None, text: str, caplog: pytest.LogCaptureFixture) -> None:
    """A line for each node and each waiting pod, at a pace; then what differs. A failure ends
    neither the task nor the process.
    """
    caplog.set_level(logging.INFO)

    async def story() -> None:
        world = World()
        for i in range(250):
            world.kube.put(make_node(f"n{i}"))
        world.kube.put(make_pod("waits"))
        world.hear(deaf=True)
        world.kube.put(make_pod("missed", node="n1"))
        if fails is not None:
            world.kube.fail("pod_places", fails)
        task = asyncio.create_task(world.inspector.run())
        for _ in range(2):
            caplog.clear()
            world.inspector.request()
            while not any(
                record.message.startswith(("compared", "the cache cannot", "looking"))
                for record in caplog.records
            ):
                await asyncio.sleep(0)
                assert not task.done()
            if fails:
                break
        task.cancel()
        assert world.clock.slept.count(inspection.LINES_EVERY) == (2 if fails else 4)

    asyncio.run(story())
    lines = [record.message for record in caplog.records]
    assert lines.count("cached node") == 250
    assert lines[250:252] == ["waiting pod", "the cache holds 250 nodes and 0 pods"]
    assert lines[-1] == text
    if fails is None:
        assert [
            (r.__dict__["kind"], r.__dict__["object"], r.__dict__["theirs"])
            for r in caplog.records[252:-1]
        ] == [("missed pod", "default/missed", "n1")]
