"""What the tests of the engine share: an engine's parts with plain ports, and how objects of every
kind of harm look.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Collection
from typing import Any

import msgspec

from moorage.api.operator_config import OperatorConfiguration
from moorage.api.resolution import Resolver
from moorage.core.columns.cache import Cache
from moorage.core.columns.changes import NO_JOURNAL
from moorage.core.columns.store import Store
from moorage.core.cycle.context import CycleContext, ScheduleResult
from moorage.core.framework.registry import PluginSpec, build_registry
from moorage.core.objects.meta import PartialObject
from moorage.core.objects.nodes import Node
from moorage.core.objects.pods import Pod
from moorage.core.plugins.intree import INDEXES, INTREE, PRESETS
from moorage.core.plugins.priority_sort import PrioritySort
from moorage.core.queue.pod_group_members import PodGroupTracker
from moorage.core.queue.queued_pod import QueuedPodInfo
from moorage.core.queue.scheduling_queue import SchedulingQueue
from moorage.engine.background_tasks import WorkSignal
from moorage.engine.binding.actors.intree import ACTORS
from moorage.engine.binding.binder import Binder, BindingCallback
from moorage.engine.binding.outcome import BindingOutcome
from moorage.engine.binding.permit import WaitingPods
from moorage.engine.binding.sender import BindingSlots
from moorage.engine.engine import Engine
from moorage.engine.intake.latest import LatestPods
from moorage.engine.intake.node_sink import NodeSink
from moorage.engine.intake.object_sink import IntakeTargets
from moorage.engine.intake.pod_sink import PodAdmission, PodSink
from moorage.engine.live_revisions import LiveRevisions
from moorage.engine.reports.group_conditions import GroupConditionWriter
from moorage.engine.reports.group_reports import GroupReporter, GroupReports
from moorage.engine.reports.held_pods import HeldPods
from moorage.engine.reports.pod_conditions import PodConditionWriter
from moorage.engine.reports.queue_reports import QueueReports
from moorage.engine.scheduling.attempt import SchedulingAttempt
from moorage.engine.scheduling.attempts import SchedulingAttempts
from moorage.engine.scheduling.extender_cycles import ExtenderCycles
from moorage.engine.scheduling.extender_runner import ExtenderRunner
from moorage.engine.scheduling.group_attempts import GroupAttempts
from moorage.engine.scheduling.group_extenders import GroupExtenders
from moorage.engine.scheduling.group_scheduler import GroupScheduler
from moorage.engine.scheduling.loop import SchedulingLoop
from moorage.engine.scheduling.nomination_controller import NominationController, NominationWaker
from moorage.engine.scheduling.outcomes import CycleOutcomes
from moorage.engine.scheduling.pods_under_way import PodsUnderWay
from moorage.engine.scheduling.post_filter_actions import ActionsCallback as Done
from moorage.engine.scheduling.post_filter_actions import PostFilterAction, PostFilterActions
from moorage.engine.scheduling.preemption import PreemptionCallback as Evicted
from moorage.engine.scheduling.preemption import PreemptionTask, Preemptor
from moorage.ports.bundle import Ports
from moorage.ports.clock import Clock
from moorage.ports.kube import UnreadableObject
from moorage.ports.stored_kinds import NAMESPACES, StoredKind
from tests.fakes.clocks import EagerClock, ManualClock
from tests.fakes.election import FakeElection
from tests.fakes.extenders import ScriptedExtenderClient
from tests.fakes.kube import InMemoryKube
from tests.fakes.listeners import Unheard
from tests.fakes.sinks import CountingTelemetry, FakeEventRecorder
from tests.twins import Twin

REGISTRY = build_registry(INTREE)
RESOLVER = Resolver(REGISTRY, PRESETS)
_VERSIONS = itertools.count(1)
TWINS: list[tuple[Twin, CycleContext]] = []
"""Those of the test that runs, each with what it follows (``conftest``)."""


def a_body(
    name: str,
    /,
    *,
    uid: str = "",
    generation: int = 1,
    created: str = "2026-01-01T00:00:00Z",
    **spec: Any,
) -> dict[str, Any]:
    """A SchedulerProfile as the API server has it."""
    metadata = {
        "name": name,
        "uid": uid or f"uid-{name}",
        "generation": generation,
        "creationTimestamp": created,
    }
    return {
        "apiVersion": "moorage.dev/v1alpha1",
        "kind": "SchedulerProfile",
        "metadata": metadata,
        "spec": spec,
    }


def a_config(
    name: str,
    /,
    *,
    uid: str = "",
    generation: int = 1,
    plugin: str = "NodeResourcesFit",
    **args: Any,
) -> dict[str, Any]:
    """A PluginConfig as the API server has it."""
    metadata = {"name": name, "uid": uid or f"uid-{name}", "generation": generation}
    return {
        "apiVersion": "moorage.dev/v1alpha1",
        "kind": "PluginConfig",
        "metadata": metadata,
        "spec": {"plugin": plugin, "args": args},
    }


def versioned(obj: Any, **metadata: Any) -> Any:
    """The object with a resourceVersion that no other has, and with this in its metadata."""
    changed = msgspec.structs.replace(
        obj.metadata, resource_version=str(next(_VERSIONS)), **metadata
    )
    return msgspec.structs.replace(obj, metadata=changed)


def on_node(pod: Pod, node: str) -> Pod:
    """The pod, bound."""
    return msgspec.structs.replace(pod, spec=msgspec.structs.replace(pod.spec, node_name=node))


def unreadable(obj: Pod | Node) -> UnreadableObject:
    """The object as an informer hands it over when it could not be decoded."""
    partial = PartialObject(msgspec.structs.replace(obj.metadata))
    return UnreadableObject(
        partial,
        obj.spec.node_name if isinstance(obj, Pod) else "",
        "spec: expected `object`, got `array`",
    )


def make_ports(
    kube: InMemoryKube,
    clock: Clock,
    events: FakeEventRecorder,
    telemetry: CountingTelemetry,
    election: FakeElection | None = None,
) -> Ports:
    """With this API server, and extenders that nobody asks."""
    return Ports(
        clock=clock,
        writes=kube,
        status_writes=kube,
        reads=kube,
        events=events,
        telemetry=telemetry,
        announcer=kube,
        extenders=ScriptedExtenderClient(),
        election=election or FakeElection(),
    )


class HeldBinder(Binder):
    """Binds nothing: a test ends each attempt as it wants."""

    def __init__(self, context: CycleContext, ports: Ports) -> None:
        super().__init__(
            context, {}, WaitingPods(ports.clock), ports, BindingSlots(64, WorkSignal())
        )
        self.under_way: dict[str, tuple[QueuedPodInfo, ScheduleResult]] = {}

    def start(
        self, entry: QueuedPodInfo, placement: ScheduleResult, on_done: BindingCallback
    ) -> None:
        """Only remember it."""
        self.under_way[entry.uid] = (entry, placement)
        self.on_done = on_done

    def end(self, uid: str, outcome: BindingOutcome) -> None:
        """The binding has ended so."""
        self.on_done(*self.under_way.pop(uid), outcome)


class HeldPreemptor(Preemptor):
    """Evicts nobody: a test ends each eviction as it wants."""

    def __init__(
        self,
        ports: Ports,
        context: CycleContext,
        pod_conditions: PodConditionWriter,
        binder: Binder,
    ) -> None:
        super().__init__(ports, context, pod_conditions, binder)
        self.held: list[tuple[PreemptionTask, Evicted]] = []

    def start(self, eviction: PreemptionTask, on_done: Evicted) -> None:
        """Only remember it."""
        self.under_way = eviction
        self.held.append((eviction, on_done))


class HeldActions(PostFilterActions):
    """Does nothing: a test ends each post-filter action as it wants."""

    def __init__(self) -> None:
        super().__init__({})
        self.held: list[tuple[PostFilterAction, Done]] = []

    def start(self, action: PostFilterAction, on_done: Done) -> None:
        """Only remember it."""
        self.held.append((action, on_done))


@dataclasses.dataclass
class Bench:
    """Intake, queue and loop without any task: every step is a call. Profile ``test`` is live with
    the Default preset.
    """

    kube: InMemoryKube = dataclasses.field(default_factory=InMemoryKube)
    clock: ManualClock = dataclasses.field(default_factory=ManualClock)
    events: FakeEventRecorder = dataclasses.field(default_factory=FakeEventRecorder)
    telemetry: CountingTelemetry = dataclasses.field(default_factory=CountingTelemetry)
    reported: list[str] = dataclasses.field(default_factory=list)
    has_twin: bool = True
    """Whether a replay follows it, which must know and decide the same at the end."""

    def __post_init__(self) -> None:
        self.work, self.live = WorkSignal(), LiveRevisions()
        twin = Twin() if self.has_twin else None
        store = Store(INDEXES, twin or NO_JOURNAL)
        pod_groups = PodGroupTracker(store)
        self.queue = SchedulingQueue(
            PrioritySort().sort_key,
            pod_groups,
            self,
        )
        waker = NominationWaker(self.queue, self.clock)
        self.context = CycleContext(Cache(store, pods=pod_groups, nominations=waker))
        if twin is not None:
            TWINS.append((twin, self.context))
        self.queued: list[str] = []
        self.targets = IntakeTargets(self.cache, self.queue, self.clock.boottime)
        self.latest_pods = LatestPods()
        self.admission = PodAdmission(self.latest_pods, self.targets, [self])
        self.pods = PodSink(self.latest_pods, self.targets, self.admission, Unheard())
        self.nodes = NodeSink(self.targets, Unheard())
        self.pod_conditions = PodConditionWriter(
            self.kube, self.events, self.clock, self.pods.objects.get, self.cache
        )
        ports = self.ports = make_ports(self.kube, self.clock, self.events, self.telemetry)
        self.binder = HeldBinder(self.context, ports)
        self.preemptor = HeldPreemptor(ports, self.context, self.pod_conditions, self.binder)
        self.actions = HeldActions()
        reports = QueueReports(self.telemetry, self.work)
        held = HeldPods(self.live, self.queue, reports, ports)
        told = GroupConditionWriter(self.kube, self.clock, self.cache.store)
        heard = GroupReports(self.pod_conditions, told, held)
        reporter = GroupReporter(self.queue, heard, ports.events)
        group_scheduler = GroupScheduler(self.context, self.queue, reporter, ports.clock)
        promises = NominationController(
            self.cache,
            self.queue,
            self.pod_conditions,
            self.clock,
            self.live,
        )
        outcomes = CycleOutcomes(
            ports,
            self.cache,
            self.queue,
            self.pod_conditions,
            group_scheduler,
            promises,
            self.binder,
            self.preemptor,
            self.actions,
            self.admission,
        )
        runner = ExtenderRunner(self.context, ports)
        group_extenders = GroupExtenders(self.context, runner, self.work, ports.clock)
        gangs = GroupAttempts(self.queue, self.live, outcomes, group_extenders, ports.clock)
        attempts = SchedulingAttempts(self.context, self.queue, self.live, gangs, ports)
        extenders = ExtenderCycles(self.context, self.queue, attempts, runner, ports.clock)
        self.loop = SchedulingLoop(
            self.queue,
            self.live,
            attempts,
            extenders,
            BindingSlots(64, self.work),
            self.work,
            self.context.budget,
            self.clock,
        )
        self.under_way = PodsUnderWay(attempts.group_attempts, extenders, self.binder)
        resolution = RESOLVER(a_body("test"), {})
        self.live["test"] = resolution.revision
        self.queue.set_profile("test", resolution.queue_config, self.clock.boottime())

    @property
    def cache(self) -> Cache:
        """The scheduler's."""
        return self.context.cache

    def attempt(self) -> str:
        """One attempt of whoever's turn it is; returns the pod's name, "" when nobody is ready."""
        entry = self.queue.pop(self.clock.boottime())
        if entry is None:
            return ""
        self.loop.attempt(SchedulingAttempt(entry, self.clock.boottime()))
        return entry.pod.metadata.name

    def pod_queued(self, pod: Pod) -> None:
        """No profile serves it."""
        self.queued.append(pod.metadata.name)

    def pod_enqueued(self, queue: str, event: str, came: str) -> None:
        """A pod came into the queue."""
        self.telemetry.pod_queued(queue, event, came)

    def pod_held(self, uid: str) -> None:
        """Nobody is told here."""

    def plugin_failed(self, plugin: str, pod: Pod, error: Exception) -> None:
        """Keep it."""
        self.reported.append(f"{plugin}: {pod.metadata.name}: {error}")


class RecordingProfileListener:
    """``ProfileListener`` that keeps what it hears."""

    def __init__(self) -> None:
        self.reconciled = 0
        self.orphans: list[tuple[str, str]] = []

    def profiles_reconciled(self) -> None:
        """Count it."""
        self.reconciled += 1

    def profile_orphaned(self, scheduler_name: str, profile: str) -> None:
        """Keep it."""
        self.orphans.append((scheduler_name, profile))


def make_engine(
    kube: InMemoryKube,
    events: FakeEventRecorder,
    clock: Clock | None = None,
    *specs: PluginSpec,
    election: FakeElection | None = None,
    unlisted: Collection[StoredKind] = (NAMESPACES,),
    has_twin: bool = True,
) -> Engine:
    """A whole engine that leads, with these plugins too; none of its tasks runs. The kinds that
    only some profiles need are listed. Its twin follows it, and keeps all revisions that there
    ever were.
    """
    twin = Twin() if has_twin else None
    ports = make_ports(kube, clock or EagerClock(), events, CountingTelemetry(), election)
    ports = dataclasses.replace(ports, journal=twin or NO_JOURNAL)
    registry = build_registry(INTREE, specs)
    engine = Engine(OperatorConfiguration(), ports, Resolver(registry, PRESETS), registry, ACTORS)
    if twin is not None:
        TWINS.append((twin, engine.context))
    for kind, sink in engine.stored_object_sinks.items():
        if kind not in unlisted:
            sink.list_started()
            sink.list_ended()
    engine.lead()
    return engine
