"""What the tests of the engine share: an engine's parts with plain surroundings, and how objects of every kind of harm look."""

from __future__ import annotations

import dataclasses
import itertools
from typing import Any

import msgspec

from moorage.api.operator_config import OperatorConfiguration
from moorage.api.resolution import Resolver
from moorage.core.columns.cache import Cache
from moorage.core.cycle.context import Placement, Scheduler
from moorage.core.framework.registry import PluginSpec, build_registry
from moorage.core.objects.meta import PartialObject
from moorage.core.objects.nodes import Node
from moorage.core.objects.pods import Pod
from moorage.core.plugins.intree import INDEXES, INTREE, PRESETS
from moorage.core.plugins.priority_sort import PrioritySort
from moorage.core.queue.queued_pod import Entry
from moorage.core.queue.scheduling_queue import Backlog
from moorage.engine.binding.actors.intree import ACTORS
from moorage.engine.binding.binder import Binder, Finish
from moorage.engine.binding.permit import Waiting
from moorage.engine.binding.sender import Outcome
from moorage.engine.binding.slots import Slots
from moorage.engine.engine import Engine
from moorage.engine.intake.node_sink import Nodes
from moorage.engine.intake.pod_sink import Pods
from moorage.engine.reports.pod_conditions import Failures
from moorage.engine.scheduling.gang_scheduler import Gangs
from moorage.engine.scheduling.loop import Loop
from moorage.engine.scheduling.nomination_controller import Promises
from moorage.engine.scheduling.outcomes import Handover
from moorage.engine.scheduling.post_filter_actions import Errand, Errands
from moorage.engine.scheduling.post_filter_actions import Finish as Done
from moorage.engine.scheduling.preemption import Eviction, Preemptor
from moorage.engine.scheduling.preemption import Finish as Evicted
from moorage.ports.bundle import Surroundings
from moorage.ports.clock import Clock
from moorage.ports.kube import Unreadable
from moorage.ports.stored_kinds import NAMESPACES
from tests.fakes.clocks import EagerClock, ManualClock
from tests.fakes.extenders import ScriptedExtenders
from tests.fakes.kube import InMemoryKube
from tests.fakes.sinks import CountingTelemetry, RecordingEvents

REGISTRY = build_registry(INTREE)
RESOLVER = Resolver(REGISTRY, PRESETS)
_VERSIONS = itertools.count(1)


def a_body(name: str, /, *, uid: str = "", generation: int = 1, created: str = "2026-01-01T00:00:00Z", **spec: Any) -> dict[str, Any]:
    """A SchedulerProfile as the API server has it."""
    metadata = {"name": name, "uid": uid or f"uid-{name}", "generation": generation, "creationTimestamp": created}
    return {"apiVersion": "moorage.dev/v1alpha1", "kind": "SchedulerProfile", "metadata": metadata, "spec": spec}


def a_config(name: str, /, *, uid: str = "", generation: int = 1, plugin: str = "NodeResourcesFit", **args: Any) -> dict[str, Any]:
    """A PluginConfig as the API server has it."""
    metadata = {"name": name, "uid": uid or f"uid-{name}", "generation": generation}
    return {"apiVersion": "moorage.dev/v1alpha1", "kind": "PluginConfig", "metadata": metadata, "spec": {"plugin": plugin, "args": args}}


def versioned(obj: Any, **metadata: Any) -> Any:
    """The object with a resourceVersion that no other has, and with this in its metadata."""
    changed = msgspec.structs.replace(obj.metadata, resource_version=str(next(_VERSIONS)), **metadata)
    return msgspec.structs.replace(obj, metadata=changed)


def on_node(pod: Pod, node: str) -> Pod:
    """The pod, bound."""
    return msgspec.structs.replace(pod, spec=msgspec.structs.replace(pod.spec, node_name=node))


def unreadable(obj: Pod | Node) -> Unreadable:
    """The object as a feed hands it over when it could not be decoded."""
    partial = PartialObject(msgspec.structs.replace(obj.metadata))
    return Unreadable(partial, obj.spec.node_name if isinstance(obj, Pod) else "", "spec: expected `object`, got `array`")


def surroundings(kube: InMemoryKube, clock: Clock, events: RecordingEvents, telemetry: CountingTelemetry) -> Surroundings:
    """With this API server, and extenders that nobody asks."""
    return Surroundings(clock, kube, kube, events, telemetry, kube, ScriptedExtenders(), "me")


class HeldBinder(Binder):
    """Binds nothing: a test ends each attempt as it wants."""

    def __init__(self, scheduler: Scheduler, around: Surroundings) -> None:
        super().__init__(scheduler, {}, Waiting(around.clock), around, Slots(64, lambda: None))
        self.flying: dict[str, tuple[Entry, Placement]] = {}

    def start(self, entry: Entry, placement: Placement, finish: Finish) -> None:
        """Only remember it."""
        self.flying[entry.uid] = (entry, placement)
        self.finish = finish

    def land(self, uid: str, outcome: Outcome) -> None:
        """The binding has ended so."""
        self.finish(*self.flying.pop(uid), outcome)


class HeldPreemptor(Preemptor):
    """Evicts nobody: a test ends each eviction as it wants."""

    def __init__(self, around: Surroundings, cache: Cache, failures: Failures, binder: Binder) -> None:
        super().__init__(around, cache, failures, binder)
        self.held: list[tuple[Eviction, Evicted]] = []

    def start(self, eviction: Eviction, finish: Evicted) -> None:
        """Only remember it."""
        self.under_way = eviction
        self.held.append((eviction, finish))


class HeldErrands(Errands):
    """Does nothing: a test ends each errand as it wants."""

    def __init__(self) -> None:
        super().__init__({})
        self.held: list[tuple[Errand, Done]] = []

    def start(self, errand: Errand, finish: Done) -> None:
        """Only remember it."""
        self.held.append((errand, finish))


@dataclasses.dataclass
class Bench:
    """Intake, backlog and loop without any task: every step is a call. Profile ``test`` is live with the Default preset."""

    kube: InMemoryKube = dataclasses.field(default_factory=InMemoryKube)
    clock: ManualClock = dataclasses.field(default_factory=ManualClock)
    events: RecordingEvents = dataclasses.field(default_factory=RecordingEvents)
    telemetry: CountingTelemetry = dataclasses.field(default_factory=CountingTelemetry)
    reported: list[str] = dataclasses.field(default_factory=list)

    def __post_init__(self) -> None:
        self.scheduler = Scheduler(Cache(INDEXES))
        self.backlog = Backlog(PrioritySort().sort_key, self.scheduler.cache.store, self.telemetry.incoming, self._report)
        self.queued: list[str] = []
        self.pods = Pods(self.cache, self.backlog, self.clock.boottime, lambda pod: self.queued.append(pod.metadata.name))
        self.nodes = Nodes(self.cache, self.backlog, self.clock.boottime)
        self.failures = Failures(self.kube, self.events, self.clock, self.pods.objects.get)
        around = self.around = surroundings(self.kube, self.clock, self.events, self.telemetry)
        self.binder = HeldBinder(self.scheduler, around)
        self.preemptor = HeldPreemptor(around, self.cache, self.failures, self.binder)
        self.errands = HeldErrands()
        gangs = Gangs(self.scheduler, self.backlog, self.failures, around)
        promises = Promises(self.cache, self.backlog, self.failures, self.clock, lambda name: self.loop.ours(name))  # noqa: PLW0108 - it is made below
        handover = Handover(
            around,
            self.cache,
            self.backlog,
            self.failures,
            gangs,
            promises,
            self.binder,
            self.preemptor,
            self.errands,
            self.pods.look_again,
        )
        self.loop = Loop(self.scheduler, self.backlog, around, handover)
        resolution = RESOLVER(a_body("test"), {})
        self.loop.live["test"] = resolution.revision
        self.backlog.set_profile("test", resolution.queue_view, self.clock.boottime())

    @property
    def cache(self) -> Cache:
        """The scheduler's."""
        return self.scheduler.cache

    def attempt(self) -> str:
        """One attempt of whoever's turn it is; returns the pod's name, "" when nobody is ready."""
        entry = self.backlog.pop(self.clock.boottime())
        if entry is None:
            return ""
        self.loop.attempt(entry)
        return entry.pod.metadata.name

    def _report(self, plugin: str, pod: Pod, error: Exception) -> None:
        self.reported.append(f"{plugin}: {pod.metadata.name}: {error}")


def make_engine(kube: InMemoryKube, events: RecordingEvents, clock: Clock | None = None, *specs: PluginSpec) -> Engine:
    """A whole engine that leads, with these plugins too; none of its tasks runs. The kinds that only some profiles need are listed."""
    around = surroundings(kube, clock or EagerClock(), events, CountingTelemetry())
    registry = build_registry(INTREE, specs)
    engine = Engine(OperatorConfiguration(), around, Resolver(registry, PRESETS), registry, ACTORS)
    for kind, sink in engine.others.items():
        if kind is not NAMESPACES:
            sink.list_started()
            sink.list_ended()
    engine.lead(lambda: None)
    return engine
