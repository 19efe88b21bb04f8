"""Storms: pods come and go while answers fail, get lost or are late and the watch falls behind."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Callable

from hypothesis import given, settings
from hypothesis import strategies as st

from moorage.ports.errors import Conflict, Fenced, Forbidden, Retryable
from tests.builders import make_node, make_pod
from tests.engine.running import STEPS, Running
from tests.engine.worlds import a_body
from tests.fakes.clocks import settle

NODES, ROOM = ("n1", "n2"), 3
"""Each node has room for so many pods."""
FAULTS: dict[str, Callable[[], tuple[Exception, bool]]] = {
    "lost before": lambda: (Retryable("reset", outcome_unknown=True), False),
    "lost after": lambda: (Retryable("reset", outcome_unknown=True), True),
    "busy": lambda: (Retryable("429", after=1), False),
    "conflict": lambda: (Conflict("POST binding", 409), False),
    "refused": lambda: (Forbidden("POST binding", 403), False),
    "fenced": lambda: (Fenced("no"), False),
    "bug": lambda: (ZeroDivisionError("bug"), False),
    "bug after": lambda: (ZeroDivisionError("bug"), True),
}


@dataclasses.dataclass(frozen=True)
class Gust:
    """What happens at about the same time."""

    creates: int
    deletes: int
    """How many pods, the oldest first."""
    faults: tuple[str, ...]
    unread: int
    """How many reads of a pod are not answered."""
    late: bool
    """Whether bindings are answered only after the deletions."""
    behind: bool
    """Whether the watch tells nothing from now on, until a gust without it brings a list."""
    swaps: bool
    seconds: float


GUSTS = st.builds(
    Gust,
    creates=st.integers(0, 4),
    deletes=st.integers(0, 2),
    faults=st.lists(st.sampled_from(sorted(FAULTS)), max_size=3).map(tuple),
    unread=st.integers(0, 3),
    late=st.booleans(),
    behind=st.booleans(),
    swaps=st.booleans(),
    seconds=st.sampled_from((0.0, 0.1, 2.5)),
)


class Storm:
    """Gusts, done to a running engine."""

    def __init__(self, world: Running) -> None:
        self.world = world
        self.kube = world.kube
        self.count = 0
        self.generation = 1

    async def blow(self, gust: Gust) -> None:
        """Let it happen."""
        for name in gust.faults:
            error, done = FAULTS[name]()
            self.kube.fail("bind", error, done=done)
        self.kube.fail("pod_node", Retryable("refused"), times=gust.unread)
        if self.kube.silent and not gust.behind:
            self.kube.relist()
        self.kube.silent = gust.behind
        gate = self.kube.hold("bind")
        if not gust.late:
            gate.set()
        for _ in range(gust.creates):
            self.count += 1
            self.kube.put(make_pod(f"p{self.count}", cpu="1", memory="1Mi"))
        if gust.swaps:
            self.generation += 1
            plugins = STEPS if self.generation % 2 else {}
            self.world.engine.profile_seen("test", a_body("test", generation=self.generation, plugins=plugins))
        await settle()
        for pod in list(self.kube.pods.values())[: gust.deletes]:
            self.kube.delete(pod)
        gate.set()
        await self.world.clock.advance(gust.seconds)
        self.check()

    def check(self) -> None:
        """Nobody was bound twice, and no node is over its room."""
        assert len(self.kube.bindings) <= self.count
        for node in NODES:
            assert sum(pod.spec.node_name == node for pod in self.kube.pods.values()) <= ROOM

    def check_calm(self) -> None:
        """Every pod is bound or waits for room that is not there, nothing is assumed, and cache and cluster agree."""
        bound = {uid for uid, pod in self.kube.pods.items() if pod.spec.node_name}
        assert len(bound) == min(len(self.kube.pods), len(NODES) * ROOM)
        engine, cache = self.world.engine, self.world.engine.scheduler.cache
        assert (cache.assumed, len(engine.loop.binder)) == (0, 0)
        assert {uid for uid in self.kube.pods if cache.record(uid) is not None} == bound
        assert len(cache) == len(bound)
        assert {entry.uid for entry in engine.backlog.entries()} == self.kube.pods.keys() - bound


CALM = Gust(0, 0, (), 0, late=False, behind=False, swaps=False, seconds=0.1)


@settings(max_examples=60)
@given(st.lists(GUSTS, min_size=1, max_size=8))
def test_any_storm_passes(gusts: list[Gust]) -> None:
    """No pod is lost or bound twice, no node gets too many, and when all is calm nothing is left of it."""

    async def scenario() -> None:
        async with Running().leading(nodes=0) as world:
            for name in NODES:
                world.kube.put(make_node(name, cpu=str(ROOM)))
            storm = Storm(world)
            for gust in gusts:
                await storm.blow(gust)
            world.kube._failures.clear()
            await storm.blow(CALM)
            await world.clock.advance(22)
            storm.check()
            storm.check_calm()

    asyncio.run(scenario())
