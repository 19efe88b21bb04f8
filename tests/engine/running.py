"""A whole engine that runs, in virtual time, on an API server in memory."""

from __future__ import annotations

import asyncio
import collections
import contextlib
import dataclasses
from collections.abc import AsyncIterator, Mapping
from typing import Any

from moorage.api.operator_config import OperatorConfiguration
from moorage.api.resolution import Resolver
from moorage.core.columns.cache import Cache
from moorage.core.columns.changes import NO_JOURNAL, Journal
from moorage.core.framework.interfaces import ExtensionPoint, Plugin
from moorage.core.framework.registry import PluginSpec, build_registry
from moorage.core.framework.status import SUCCESS, Status
from moorage.core.objects.nodes import Node
from moorage.core.objects.pods import Pod
from moorage.core.plugins.intree import INTREE, PRESETS
from moorage.core.queue.pod_group_members import PodGroupTracker
from moorage.engine.binding.actors.contract import ActorFactory, ActorTools, PermitWait
from moorage.engine.binding.actors.intree import ACTORS
from moorage.engine.binding.actors.object_waiter import ObjectWaiter
from moorage.engine.binding.actors.siblings import Siblings
from moorage.engine.binding.permit import WaitingPods
from moorage.engine.engine import Engine
from moorage.engine.intake.comparison import CacheComparison, Compared
from moorage.engine.intake.object_sink import ObjectSink
from moorage.engine.observing import ObservingEngine
from moorage.ports.bundle import Ports
from moorage.ports.nowhere import NO_WRITES, NoEvents
from tests.builders import make_node
from tests.engine.worlds import a_body
from tests.fakes.clocks import ManualClock, settle
from tests.fakes.election import FakeElection
from tests.fakes.extenders import ScriptedExtenderClient
from tests.fakes.kube import InMemoryKube, InMemoryUncachedReader
from tests.fakes.sinks import CountingTelemetry, FakeEventRecorder

TRIED_AGAIN = 3.0
"""Seconds after which a pod that failed once has been tried again."""
STEPS = {"multiPoint": {"enabled": [{"name": "Steps"}]}}


def make_tools(kube: InMemoryKube) -> ActorTools:
    """What an actor is made with, with this API server."""
    clock, cache = ManualClock(), Cache()
    siblings = Siblings(cache, PodGroupTracker(cache.store))
    turns = collections.defaultdict[str, asyncio.Semaphore](lambda: asyncio.Semaphore(64))
    return ActorTools(kube, kube, clock, ObjectWaiter(cache), WaitingPods(clock), siblings, turns)


class Steps:
    """An actor that does what a test has scripted, or nothing. At bind it comes after DefaultBinder
    unless a profile says otherwise.
    """

    def __init__(self) -> None:
        self.script: dict[str, collections.deque[Exception | Status | PermitWait]] = (
            collections.defaultdict(collections.deque)
        )
        self.gates: dict[str, asyncio.Event] = {}
        self.calls: list[tuple[str, str]] = []
        self.reserved: set[str | None] = set()

    async def permit(self, pod: Pod, node: str, reserved: Any) -> Status | PermitWait:
        """As scripted."""
        return await self._scripted("permit", pod, reserved)

    async def pre_bind(self, pod: Pod, node: str, reserved: Any) -> None:
        """As scripted."""
        await self._step("pre_bind", pod, reserved)

    async def bind(self, pod: Pod, node: str, reserved: Any) -> Status:
        """As scripted."""
        return await self._step("bind", pod, reserved)

    async def post_bind(self, pod: Pod, node: str, reserved: Any) -> None:
        """As scripted."""
        await self._step("post_bind", pod, reserved)

    async def _step(self, step: str, pod: Pod, reserved: Any) -> Status:
        answer = await self._scripted(step, pod, reserved)
        assert isinstance(answer, Status), "only permit can hold a pod"
        return answer

    async def _scripted(self, step: str, pod: Pod, reserved: Any) -> Status | PermitWait:
        self.reserved.add(reserved)
        self.calls.append((step, pod.metadata.name))
        await asyncio.sleep(0)
        if step in self.gates:
            await self.gates[step].wait()
        answer = self.script[step].popleft() if self.script[step] else SUCCESS
        if isinstance(answer, Exception):
            raise answer
        return answer


@dataclasses.dataclass
class Running:
    """The engine and all around it. ``tests`` is a profile with the plugin Steps beside those of
    the Default preset.
    """

    kube: InMemoryKube = dataclasses.field(default_factory=InMemoryKube)
    clock: ManualClock = dataclasses.field(default_factory=ManualClock)
    extenders: ScriptedExtenderClient = dataclasses.field(default_factory=ScriptedExtenderClient)
    events: FakeEventRecorder = dataclasses.field(default_factory=FakeEventRecorder)
    telemetry: CountingTelemetry = dataclasses.field(default_factory=CountingTelemetry)
    election: FakeElection = dataclasses.field(default_factory=FakeElection)
    steps: Steps = dataclasses.field(default_factory=Steps)
    specs: tuple[PluginSpec, ...] = ()
    """Further plugins."""
    actors: Mapping[str, ActorFactory] = dataclasses.field(default_factory=dict)
    """Theirs."""
    holds: type[Plugin] | None = None
    """The half of Steps that decides."""
    config: OperatorConfiguration = dataclasses.field(default_factory=OperatorConfiguration)
    journal: Journal = dataclasses.field(default_factory=lambda: NO_JOURNAL)

    def __post_init__(self) -> None:
        acts = frozenset(
            {
                ExtensionPoint.PERMIT,
                ExtensionPoint.PRE_BIND,
                ExtensionPoint.BIND,
                ExtensionPoint.POST_BIND,
            }
        )
        registry = build_registry(
            INTREE, self.specs, [PluginSpec("Steps", self.holds, acts_at=acts)]
        )
        observes = self.config.observes
        ports = Ports(
            clock=self.clock,
            writes=NO_WRITES if observes else self.kube,
            status_writes=self.kube,
            reads=self.kube,
            events=NoEvents() if observes else self.events,
            telemetry=self.telemetry,
            announcer=self.kube,
            extenders=self.extenders,
            election=self.election,
            journal=self.journal,
        )
        actors = {**ACTORS, **self.actors, "Steps": lambda writes: self.steps}
        self.resolver = Resolver(registry, PRESETS, self.config)
        made_of = ObservingEngine if observes else Engine
        self.engine = made_of(self.config, ports, self.resolver, registry, actors)
        self.kube.pod_sinks.append(self.engine.pod_sink)
        self.kube.node_sinks.append(self.engine.node_sink)
        for kind, sink in self.engine.stored_object_sinks.items():
            self.kube.other_sinks[kind.struct] = [sink]
        compared: dict[type[Any], ObjectSink[Any]] = {
            Pod: self.engine.pod_sink,
            Node: self.engine.node_sink,
        }
        compared |= {kind.struct: sink for kind, sink in self.engine.stored_object_sinks.items()}
        looks: list[Compared] = [
            (InMemoryUncachedReader(self.kube, kind), sink) for kind, sink in compared.items()
        ]
        self.comparison = CacheComparison(looks, self.clock, self.telemetry)

    @contextlib.asynccontextmanager
    async def leading(
        self, *profiles: dict[str, Any], nodes: int = 2, lead: bool = True
    ) -> AsyncIterator[Running]:
        """Run it as the leader, with these profiles (or ``test``) live and so many empty nodes n1,
        n2, …; stop it at the end.
        """
        task = asyncio.create_task(self.engine.run())
        comparing = asyncio.create_task(self.comparison.run())
        for i in range(nodes):
            self.kube.put(make_node(f"n{i + 1}"))
        self.kube.relist()
        for body in profiles or (a_body("test", plugins=STEPS),):
            self.engine.profile_changed(body["metadata"]["name"], body)
        self.engine.listed()
        if lead:
            self.engine.lead()
            self.comparison.lead()
        await self.clock.advance(0.3)
        try:
            yield self
            assert not task.done(), "the engine has ended"
            assert not comparing.done(), "the comparison has ended"
        finally:
            task.cancel()
            comparing.cancel()
            await asyncio.wait({task, comparing})
            await self.engine.settle(0)
            await settle()

    def notes(self, reason: str, name: str = "") -> list[str]:
        """What the events with this reason say, on the object of this name or on all."""
        return [
            event.note
            for event in self.events.events
            if event.reason == reason and name in ("", event.regarding.name)
        ]

    def node(self, pod: str) -> str:
        """Where the API server has this pod, "" when it is not bound."""
        return self.kube.pods[f"uid-{pod}"].spec.node_name

    @property
    def assumed(self) -> int:
        """How many pods are assumed."""
        return self.engine.context.cache.assumed
