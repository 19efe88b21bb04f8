"""The loop: who may be decided when and by which revision, and that a plugin's bug is one pod's
trouble.
"""

from __future__ import annotations

import asyncio
import dataclasses
from typing import ClassVar

import numpy as np
import pytest

from moorage.api.operator_config import OperatorConfiguration
from moorage.core.columns.nodes.node_table import Aspect, Rows
from moorage.core.columns.snapshot import Snapshot
from moorage.core.columns.store import Lister
from moorage.core.framework.cluster_events import (
    ActionType,
    ClusterEvent,
    ClusterEventWithHint,
    EventResource,
)
from moorage.core.framework.interfaces import (
    Codes,
    ExtensionPoint,
    PreFilterResult,
    ReserveResult,
    Scores,
)
from moorage.core.framework.post_filter_contract import FailedAttempt, PostFilterResult
from moorage.core.framework.registry import PluginSpec
from moorage.core.framework.status import SKIP, SUCCESS, Code, Reason, Status
from moorage.core.objects.pods import Pod
from moorage.core.queue.queued_pod import QueueState
from moorage.engine.slices import LOOP_SLICE_SECONDS
from moorage.ports.errors import Forbidden
from moorage.ports.leadership import Fence
from tests.builders import make_node, make_pod
from tests.engine.running import TRIED_AGAIN, Running
from tests.engine.worlds import Bench, a_body, versioned
from tests.fakes.clocks import ManualClock, settle
from tests.fakes.kube import InMemoryKube

UNLUCKY = 13
"""The priority of pods that the plugin Bomb fails for; they come first."""


@dataclasses.dataclass(frozen=True)
class Bomb:
    """Lets every pod pass everywhere, and raises for unlucky ones in the method ``where``."""

    name: ClassVar[str] = "Bomb"
    reads: ClassVar[frozenset[Aspect]] = frozenset({Aspect.RESOURCES})
    where: ClassVar[str] = ""

    @classmethod
    def reached(cls, method: str, pod: Pod) -> None:
        """A method runs for a pod."""
        if method == cls.where and pod.spec.priority == UNLUCKY:
            raise ZeroDivisionError(f"a bug in {method}")

    @property
    def events_to_register(self) -> tuple[ClusterEventWithHint, ...]:
        """New nodes may help."""
        return (ClusterEventWithHint(EventResource.NODE, ActionType.ADD, self.hint),)

    def hint(self, pod: Pod, event: ClusterEvent, _store: Lister) -> bool:
        """No."""
        self.reached("hint", pod)
        return False

    def pre_enqueue(self, pod: Pod, _store: Lister) -> Status:
        """Come in."""
        self.reached("pre_enqueue", pod)
        return SUCCESS

    def pre_filter(self, pod: Pod, snapshot: Snapshot) -> PreFilterResult:
        """The pod is the state."""
        self.reached("pre_filter", pod)
        return PreFilterResult(SUCCESS, pod)

    def filter(self, state: Pod, snapshot: Snapshot, rows: Rows) -> Codes:
        """Refuses unlucky pods everywhere if that is the way to the method."""
        self.reached("filter", state)
        refuses = (
            self.where in ("explain", "post_filter", "hint") and state.spec.priority == UNLUCKY
        )
        return np.full(snapshot.nodes.live[rows].size, int(refuses), np.int64)

    def explain(self, state: Pod, code: int) -> tuple[tuple[Reason, str], ...]:
        """Some reason."""
        self.reached("explain", state)
        return ((Reason("Bomb", "node(s) ticked", Code.UNSCHEDULABLE), ""),)

    def post_filter(self, pod: Pod, attempt: FailedAttempt) -> PostFilterResult:
        """Nothing to be done."""
        self.reached("post_filter", pod)
        return PostFilterResult(Status(Code.UNSCHEDULABLE))

    def pre_score(self, pod: Pod, snapshot: Snapshot) -> PreFilterResult:
        """The pod is the state."""
        self.reached("pre_score", pod)
        return PreFilterResult(SUCCESS, pod)

    def score(self, state: Pod, snapshot: Snapshot, rows: Rows) -> Scores:
        """All alike."""
        self.reached("score", state)
        return np.zeros(snapshot.nodes.live[rows].size, np.int64)

    def normalize_score(self, state: Pod, raw: Scores) -> Scores:
        """They are already."""
        self.reached("normalize_score", state)
        return raw

    def reserve(self, pod: Pod, node: str, snapshot: Snapshot) -> ReserveResult:
        """Nothing."""
        self.reached("reserve", pod)
        return ReserveResult(SUCCESS)


def fails_in(method: str) -> PluginSpec:
    """The plugin Bomb that fails there."""
    return PluginSpec("Bomb", type("Bomb", (Bomb,), {"where": method}))


METHODS = (
    "pre_filter",
    "filter",
    "explain",
    "post_filter",
    "pre_score",
    "score",
    "normalize_score",
    "reserve",
    "hint",
    "pre_enqueue",
)


@pytest.mark.parametrize("method", METHODS)
def test_a_plugin_that_raises_fails_one_pod(method: str) -> None:
    """Whichever method it is: the pod is told, or where there is nobody to tell the log is; all
    other pods are placed.
    """

    async def scenario() -> None:
        world = Running(specs=(fails_in(method),))
        profile = a_body("test", plugins={"multiPoint": {"enabled": [{"name": "Bomb"}]}})
        async with world.leading(profile) as world:
            for name, priority in (("lucky", None), ("unlucky", UNLUCKY), ("too", None)):
                world.kube.put(make_pod(name, priority=priority))
            await settle()
            world.kube.put(make_node("n3"))
            await world.clock.advance(TRIED_AGAIN)
            assert world.kube.bindings.keys() == {"lucky", "too"}
            assert world.assumed == 0
            entry = world.engine.queue.get("uid-unlucky")
            assert entry is not None
            assert (entry.state is QueueState.GATED) == (method == "pre_enqueue")
            if method not in ("hint", "pre_enqueue"):
                notes = set(world.notes("FailedScheduling", "unlucky"))
                assert notes == {f"scheduling failed: ZeroDivisionError('a bug in {method}')"}

    asyncio.run(scenario())


@dataclasses.dataclass(frozen=True)
class Hold:
    """Reserves something for each pod and knows what is held."""

    name: ClassVar[str] = "Steps"
    events_to_register: ClassVar[tuple[ClusterEventWithHint, ...]] = ()
    held: ClassVar[list[str]] = []

    def reserve(self, pod: Pod, node: str, snapshot: Snapshot) -> ReserveResult:
        """A value for the actor, and its undoing."""
        ticket = f"{pod.metadata.name} on {node}"
        self.held.append(ticket)
        return ReserveResult(
            SUCCESS, ticket, lambda: self.held.remove(ticket) if ticket in self.held else None
        )


@pytest.mark.parametrize("step", ["permit", "pre_bind", "bind", "post_bind"])
def test_reservations(step: str) -> None:
    """Each actor gets what its own plugin has reserved; a failed binding gives it back, a done one
    does not.
    """

    async def scenario() -> None:
        Hold.held.clear()
        world = Running(holds=Hold)
        async with world.leading(nodes=1) as world:
            if step == "bind":
                world.kube.fail("bind", Forbidden("POST binding", 403))
            else:
                world.steps.script[step].append(ValueError("no"))
            world.kube.put(make_pod("a"))
            await settle()
            assert Hold.held == (["a on n1"] if step == "post_bind" else [])
            await world.clock.advance(TRIED_AGAIN)
            assert Hold.held == ["a on n1"]
            assert world.steps.reserved == {"a on n1"}

    asyncio.run(scenario())


@dataclasses.dataclass(frozen=True)
class HoldForSome:
    """Reserves something for the pod "kept", nothing for "asked"; is not asked for "skipped"."""

    name: ClassVar[str] = "Steps"
    events_to_register: ClassVar[tuple[ClusterEventWithHint, ...]] = ()
    skips_reserve: ClassVar[bool] = True

    def pre_filter(self, pod: Pod, snapshot: Snapshot) -> PreFilterResult:
        """SKIP for one of them."""
        return PreFilterResult(SKIP if pod.metadata.name == "skipped" else SUCCESS)

    def reserve(self, pod: Pod, node: str, snapshot: Snapshot) -> ReserveResult:
        """A value for the actor, or none."""
        assert pod.metadata.name != "skipped"
        return ReserveResult(SUCCESS, "a ticket" if pod.metadata.name == "kept" else None)


@pytest.mark.parametrize(
    ("name", "prepared"), [("kept", True), ("asked", False), ("skipped", False)]
)
def test_nothing_is_prepared_where_nothing_is_reserved(name: str, prepared: bool) -> None:
    """PreBind leaves out a plugin that reserved nothing, and one that was not even asked to."""

    async def scenario() -> None:
        async with Running(holds=HoldForSome).leading(nodes=2) as world:
            world.kube.put(make_pod(name))
            await settle()
            assert world.node(name)
            assert (("pre_bind", name) in world.steps.calls) is prepared
            assert ("permit", name) in world.steps.calls

    asyncio.run(scenario())


@pytest.mark.parametrize("limit", [1, 7, 64])
def test_no_more_bindings_than_allowed(limit: int) -> None:
    """Pods are not even decided while so many bindings are in flight; then all get their turn."""

    async def scenario() -> None:
        world = Running(config=OperatorConfiguration.model_validate({"bindConcurrency": limit}))
        async with world.leading(a_body("test"), nodes=3) as world:
            gate = world.kube.hold("bind")
            for i in range(2 * limit + 1):
                world.kube.put(make_pod(f"p{i}", cpu="10m"))
            await settle()
            assert (
                world.kube.in_flight["bind"] == len(world.engine.binder) == world.assumed == limit
            )
            assert world.engine.queue.totals().active == limit + 1
            gate.set()
            await settle(100)
            assert len(world.kube.bindings) == 2 * limit + 1

    asyncio.run(scenario())


def test_nobody_decides_before_leading() -> None:
    """A standby has warm caches and binds nothing; as the leader it goes on with what waits."""

    async def scenario() -> None:
        async with Running().leading(lead=False) as world:
            world.kube.put(make_pod("a"))
            await world.clock.advance(1)
            assert world.engine.queue.totals().active == 1
            assert (world.kube.written, world.events.events) == ([], [])
            world.engine.lead()
            await settle()
            assert world.node("a")

    asyncio.run(scenario())


def test_nobody_decides_behind_a_closed_fence() -> None:
    """A decision that could not be carried out would only cost the pod an attempt; it goes on when
    the fence is open again.
    """

    async def scenario() -> None:
        clock = ManualClock()
        fence = Fence(clock.boottime)
        fence.extend(clock.boottime() + 0.5)
        async with Running(InMemoryKube(fence), clock).leading() as world:
            await world.clock.advance(1)
            world.kube.put(make_pod("a"))
            await world.clock.advance(1)
            entry = world.engine.queue.get("uid-a")
            assert entry is not None
            assert (entry.state, entry.attempts) == (QueueState.ACTIVE, 0)
            fence.extend(clock.boottime() + 10)
            await world.clock.advance(1)
            assert world.node("a")

    asyncio.run(scenario())


def test_pods_that_are_being_deleted_are_skipped() -> None:
    """They are told so and leave the queue; one that begins to be deleted while it is bound is not
    tried again.
    """

    async def scenario() -> None:
        async with Running().leading() as world:
            world.kube.put(versioned(make_pod("going"), deletion_timestamp="2026-01-01T00:00:00Z"))
            gate = world.kube.hold("bind")
            world.kube.fail("bind", Forbidden("POST binding", 403))
            pod = world.kube.put(make_pod("later"))
            await settle()
            world.kube.put(versioned(pod, deletion_timestamp="2026-01-01T00:00:00Z"))
            gate.set()
            await world.clock.advance(TRIED_AGAIN)
            assert world.notes("FailedScheduling", "going") == [
                "skip schedule deleting pod: default/going"
            ]
            assert (
                world.notes("FailedScheduling", "later")[-1]
                == "skip schedule deleting pod: default/later"
            )
            assert world.kube.bindings == {}
            assert list(world.engine.queue.entries()) == []

    asyncio.run(scenario())


@pytest.mark.parametrize("step", ["permit", "pre_bind", "bind"])
def test_a_pod_keeps_its_revision_to_the_end(step: str) -> None:
    """A swap while it is being bound changes nothing for it; it counts as draining until then."""

    async def scenario() -> None:
        async with Running().leading() as world:
            gate = (
                world.kube.hold("bind")
                if step == "bind"
                else world.steps.gates.setdefault(step, asyncio.Event())
            )
            world.kube.put(make_pod("old"))
            await settle()
            world.engine.profile_changed("test", a_body("test", generation=2))
            await world.clock.advance(1)
            world.kube.put(make_pod("new"))
            await settle()
            record = world.engine.records.profiles["test"]
            assert record.prune_superseded(world.engine.under_way.count) == 1
            gate.set()
            await world.clock.advance(1)
            assert world.kube.bindings.keys() == {"old", "new"}
            assert world.steps.calls == [
                ("permit", "old"),
                ("pre_bind", "old"),
                ("post_bind", "old"),
            ]
            assert record.prune_superseded(world.engine.under_way.count) == 0
            assert record.superseded == []

    asyncio.run(scenario())


def test_settling_waits_but_not_for_ever(caplog: pytest.LogCaptureFixture) -> None:
    """Nobody is decided any more; bindings in flight get their time, and what is left is named."""

    async def scenario() -> None:
        async with Running().leading() as world:
            gate = world.kube.hold("bind")
            world.kube.put(make_pod("a"))
            await settle()
            await world.engine.settle(0)
            assert "1 bindings were not answered within 0.0 s" in caplog.text
            world.kube.put(make_pod("late"))
            settling = asyncio.create_task(world.engine.settle(3600))
            await settle()
            assert not settling.done()
            gate.set()
            await settling
            await world.clock.advance(1)
            assert world.kube.bindings.keys() == {"a"}

    asyncio.run(scenario())


class Ticking(ManualClock):
    """Each look at the clock takes half a millisecond."""

    def boottime(self) -> float:
        """Virtual seconds."""
        self.jump(0.0005)
        return super().boottime()


def test_others_get_their_turn_between_slices() -> None:
    """However many pods wait, the loop does not decide for longer than a slice at a stretch."""

    async def scenario() -> list[float]:
        bench = Bench(clock=Ticking())
        bench.nodes.put(versioned(make_node("n1", cpu="100", pods="1000")))
        for i in range(200):
            bench.pods.put(versioned(make_pod(f"p{i}", cpu="1m", memory="1Mi")))
        bench.live.deciding = True
        running = asyncio.create_task(bench.loop.run())
        turns = []
        while len(bench.binder.under_way) < 200:
            before = bench.clock.boottime()
            await asyncio.sleep(0)
            assert not running.done()
            turns.append(bench.clock.boottime() - before)
        running.cancel()
        return turns

    turns = asyncio.run(scenario())
    assert len(turns) > 50
    assert max(turns) < 2 * LOOP_SLICE_SECONDS


def test_who_is_freed_is_tried_at_once() -> None:
    """The loop does not wait for its clock when an event frees a pod whose backoff is over."""

    async def scenario() -> None:
        async with Running().leading(a_body("test"), nodes=1) as world:
            world.kube.put(make_pod("a", cpu="1k"))
            await world.clock.advance(TRIED_AGAIN)
            world.kube.put(make_node("large", cpu="2k"))
            await settle()
            assert world.node("a") == "large"

    asyncio.run(scenario())


def test_the_points_that_plugins_can_fail_at_are_all_here() -> None:
    """A new method of the contract has to be tried too."""
    registered = {point for point in fails_in("").points if point is not ExtensionPoint.QUEUE_SORT}
    acting = {
        ExtensionPoint.PLACEMENT_GENERATE,  # not for plugins from outside the tree
        ExtensionPoint.PLACEMENT_SCORE,  # tests/core/cycle/test_group_placements.py
        ExtensionPoint.POD_GROUP_POST_FILTER,
        ExtensionPoint.PERMIT,
        ExtensionPoint.PRE_BIND,
        ExtensionPoint.BIND,
        ExtensionPoint.POST_BIND,
        ExtensionPoint.QUEUE_SORT,
    }
    assert registered | acting == set(ExtensionPoint)
