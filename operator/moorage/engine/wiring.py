"""The engine's wiring: its parts, each made with what stands above it.

What changes together is made in one step; none of the parts is given anything later.
"""

from __future__ import annotations

import asyncio
import collections
import dataclasses
import functools
from collections.abc import Mapping

from moorage.api.operator_config import OperatorConfiguration
from moorage.core.columns.cache import Cache
from moorage.core.columns.store import Store
from moorage.core.cycle.context import CycleContext
from moorage.core.framework.registry import Registry
from moorage.core.objects.meta import Namespace
from moorage.core.plugins.intree import INDEXES
from moorage.core.plugins.priority_sort import PrioritySort
from moorage.core.queue.pod_group_members import PodGroupTracker
from moorage.core.queue.scheduling_queue import SchedulingQueue
from moorage.core.structures.budget import TimeBudget
from moorage.engine.background_tasks import WorkSignal
from moorage.engine.binding.actors.contract import ActorFactory, ActorTools
from moorage.engine.binding.actors.intree import join
from moorage.engine.binding.actors.object_waiter import ObjectWaiter
from moorage.engine.binding.actors.siblings import Siblings
from moorage.engine.binding.binder import Binder
from moorage.engine.binding.permit import WaitingPods
from moorage.engine.binding.sender import BindingSlots
from moorage.engine.intake.latest import LatestPods
from moorage.engine.intake.node_sink import NodeSink
from moorage.engine.intake.object_sink import IntakeTargets
from moorage.engine.intake.pod_sink import PodAdmission, PodSink
from moorage.engine.intake.stored_object_sink import StoredObjectSink
from moorage.engine.intake.synced_kinds import SyncedKinds
from moorage.engine.live_revisions import LiveRevisions
from moorage.engine.profile_records import ProfileRecords
from moorage.engine.profiles.activation import RevisionActivator, RevisionNeeds, SwapTargets
from moorage.engine.profiles.admission import AdmissionJudge
from moorage.engine.profiles.assignment_reviews import AssignmentReviews
from moorage.engine.profiles.assignments import Assignments
from moorage.engine.profiles.desired_status import StatusBuilder
from moorage.engine.profiles.list_reactions import ListReactions
from moorage.engine.profiles.ownership import (
    ObserverOwnership,
    ProfileOwnership,
    may_hold_leases,
)
from moorage.engine.profiles.profile_conditions import StatusInputs
from moorage.engine.profiles.profile_listeners import ProfileReports
from moorage.engine.profiles.profile_status import ProfileStatusWriter
from moorage.engine.profiles.quarantine import PluginQuarantine
from moorage.engine.profiles.replica_monitor import ReplicaMonitor
from moorage.engine.profiles.resolving import PluginConfigResults, ProfileResolver
from moorage.engine.profiles.rights_monitor import RightsMonitor
from moorage.engine.profiles.shared_nodes import SharedNodes
from moorage.engine.profiles.stored_revisions import StoredRevisions
from moorage.engine.profiles.swap import ProfileSwapper
from moorage.engine.profiles.trials import ProfileTrials
from moorage.engine.profiles.unmatched_pods import PodsOfInvalidProfiles, UnmatchedPods
from moorage.engine.reports.group_conditions import GroupConditionWriter
from moorage.engine.reports.group_reports import GroupReporter, GroupReports
from moorage.engine.reports.held_pods import HeldPods
from moorage.engine.reports.inspection import CacheInspector
from moorage.engine.reports.kubelet_rejections import KubeletRejections
from moorage.engine.reports.metrics import MetricsReporter
from moorage.engine.reports.pod_conditions import PodConditionWriter
from moorage.engine.reports.queue_reports import QueueReports
from moorage.engine.reports.set_aside import SetAsideReporter
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
from moorage.engine.scheduling.post_filter_actions import PostFilterActions
from moorage.engine.scheduling.preemption import Preemptor
from moorage.engine.scheduling.reactions import NodeReactions, PodReactions
from moorage.ports.bundle import Ports
from moorage.ports.guards import guarded_port
from moorage.ports.stored_kinds import kinds_in


class EngineParts:
    """All parts, in the order in which they are made."""

    def __init__(
        self,
        config: OperatorConfiguration,
        ports: Ports,
        resolver: ProfileResolver,
        registry: Registry,
        factories: Mapping[str, ActorFactory],
    ) -> None:
        self.config = config
        self.ports = dataclasses.replace(
            ports, events=guarded_port(ports.events), telemetry=guarded_port(ports.telemetry)
        )
        self._wire_state(registry)
        self._wire_reports()
        self._wire_scheduling(registry, factories)
        self._wire_profiles(registry, resolver)
        self._wire_intake(registry)

    def _wire_state(self, registry: Registry) -> None:
        """What is known, and what waits."""
        clock, telemetry = self.ports.clock, self.ports.telemetry
        self.work = WorkSignal()
        self.live = LiveRevisions()
        self.records = ProfileRecords()
        self.assignments, self.shared_nodes = Assignments(), SharedNodes(self.records)
        self.synced = SyncedKinds(kinds_in(registry))
        self.latest_pods = LatestPods()
        self.store = Store(INDEXES, self.ports.journal)
        self.pod_groups = PodGroupTracker(self.store)
        self.queue_reports = QueueReports(telemetry, self.work)
        self.queue = SchedulingQueue(
            PrioritySort().sort_key,
            self.pod_groups,
            guarded_port(self.queue_reports),
            self.config.pod_max_in_unschedulable_pods_duration,
        )
        self.cache = Cache(
            self.store, pods=self.pod_groups, nominations=NominationWaker(self.queue, clock)
        )
        self.metrics = MetricsReporter(telemetry, clock)
        self.context = CycleContext(
            self.cache, observer=self.metrics, budget=TimeBudget(clock.boottime)
        )

    def _wire_reports(self) -> None:
        """What is reported of pods, and how those that wait come in."""
        ports, clock = self.ports, self.ports.clock
        self.pod_conditions = PodConditionWriter(
            ports.writes, ports.events, clock, self.latest_pods.waiting, self.cache
        )
        self.group_conditions = GroupConditionWriter(ports.writes, clock, self.store)
        self.pods_of_invalid_profiles = PodsOfInvalidProfiles(
            self.live, self.records, self.queue, self.pod_conditions
        )
        self.unmatched_pods = UnmatchedPods(
            self.live,
            self.queue,
            ports,
            self.config.foreign_schedulers,
            self.pods_of_invalid_profiles.report,
        )
        self.held_pods = HeldPods(self.live, self.queue, self.queue_reports, ports)
        self.targets = IntakeTargets(self.cache, self.queue, clock.boottime)
        self.admission = PodAdmission(
            self.latest_pods, self.targets, (self.unmatched_pods, self.pods_of_invalid_profiles)
        )
        self.kubelet_rejections = KubeletRejections(
            self.live, ports, self.records, self.cache.nodes.is_resource
        )

    def _wire_scheduling(self, registry: Registry, factories: Mapping[str, ActorFactory]) -> None:
        """What decides, and what is done with decisions."""
        ports, clock = self.ports, self.ports.clock
        waiting_pods, objects = WaitingPods(clock), ObjectWaiter(self.cache)
        siblings = Siblings(self.cache, self.pod_groups)
        a_turn = functools.partial(asyncio.Semaphore, self.config.bind_concurrency)
        turns = collections.defaultdict[str, asyncio.Semaphore](a_turn)
        tools = ActorTools(ports.writes, ports.reads, clock, objects, waiting_pods, siblings, turns)
        actors = join(registry, factories, tools)
        self.group_scheduler = GroupScheduler(
            self.context,
            self.queue,
            GroupReporter(
                self.queue,
                GroupReports(self.pod_conditions, self.group_conditions, self.held_pods),
                ports.events,
            ),
            ports.clock,
        )
        self.nomination_controller = NominationController(
            self.cache, self.queue, self.pod_conditions, clock, self.live
        )
        self.slots = BindingSlots(self.config.bind_concurrency, self.work)
        self.binder = Binder(self.context, actors, waiting_pods, ports, self.slots)
        outcomes = CycleOutcomes(
            ports=ports,
            cache=self.cache,
            queue=self.queue,
            pod_conditions=self.pod_conditions,
            group_scheduler=self.group_scheduler,
            nomination_controller=self.nomination_controller,
            binder=self.binder,
            preemptor=Preemptor(ports, self.context, self.pod_conditions, self.binder),
            actions=PostFilterActions(actors),
            admission=self.admission,
        )
        runner = ExtenderRunner(self.context, ports)
        group_extenders = GroupExtenders(self.context, runner, self.work, ports.clock)
        group_attempts = GroupAttempts(
            self.queue, self.live, outcomes, group_extenders, ports.clock
        )
        attempts = SchedulingAttempts(self.context, self.queue, self.live, group_attempts, ports)
        self.extender_cycles = ExtenderCycles(
            self.context, self.queue, attempts, runner, ports.clock
        )
        self.loop = SchedulingLoop(
            queue=self.queue,
            live=self.live,
            attempts=attempts,
            extenders=self.extender_cycles,
            slots=self.slots,
            work=self.work,
            budget=self.context.budget,
            clock=clock,
        )
        self.inspector = CacheInspector(self.cache, self.queue, self.group_scheduler, ports)
        self.under_way = PodsUnderWay(attempts.group_attempts, self.extender_cycles, self.binder)

    def _wire_profiles(self, registry: Registry, resolver: ProfileResolver) -> None:
        """Profiles: from objects to what is live, and their statuses."""
        ports, lease = self.ports, self.config.leader_election
        owning = ObserverOwnership if self.config.observes else ProfileOwnership
        ownership = owning(
            ports.reads,
            f"{lease.resource_namespace}/{lease.resource_name}",
            functools.partial(may_hold_leases, self.store, lease.resource_namespace),
        )
        config_results = PluginConfigResults(resolver)
        self.assignment_reviews = AssignmentReviews(self.assignments, self.store.objects(Namespace))
        self._wire_statuses(config_results, ownership.own_lease)
        changed = asyncio.Event()
        reports = ProfileReports(
            self.profile_status,
            self.pods_of_invalid_profiles,
            self.unmatched_pods,
            self.latest_pods,
            changed,
            ports.rights_in_doubt,
        )
        self._wire_trials(resolver)
        self.swapper = ProfileSwapper(
            live=self.live,
            records=self.records,
            resolver=resolver,
            config_results=config_results,
            stored=self.trials.stored,
            activator=self.trials.activator,
            trials=self.trials,
            ownership=ownership,
            listener=guarded_port(reports),
            ports=ports,
        )
        self.admission_judge = AdmissionJudge(self.records, resolver, self.config.controller_name)
        self._wire_monitors(registry, changed)

    def _wire_monitors(self, registry: Registry, changed: asyncio.Event) -> None:
        """What looks at this replica's own state, and the others'."""
        ports, inputs = self.ports, self.status_inputs
        lease = self.swapper.ownership.own_lease
        self.quarantine = PluginQuarantine(registry, ports.reads, lease, self.swapper)
        self.replica_monitor = ReplicaMonitor(
            live=self.live,
            records=self.records,
            inputs=inputs,
            status=self.profile_status,
            quarantine=self.quarantine,
            changed=changed,
            ports=ports,
        )

        self.rights_monitor = RightsMonitor(
            live=self.live,
            records=self.records,
            inputs=inputs,
            activator=self.trials.activator,
            status=self.profile_status,
            ports=ports,
        )

    def _wire_statuses(self, config_results: PluginConfigResults, own_lease: str) -> None:
        """What is said of profiles, and of PluginConfigs."""
        inputs = self.status_inputs = StatusInputs(
            assignments=self.assignments,
            shared_nodes=self.shared_nodes,
            synced=self.synced,
            observes=self.config.observes,
        )
        ports = self.ports
        statuses = StatusBuilder(
            records=self.records,
            config_results=config_results,
            queue=self.queue,
            rooms=self.group_scheduler,
            under_way=self.under_way,
            inputs=inputs,
            election=ports.election,
            own_lease=own_lease,
            clock=ports.clock,
        )
        # What became of PluginConfigs is for those to say who run them.
        told = ProfileRecords(self.records.profiles) if inputs.observes else self.records
        self.profile_status = ProfileStatusWriter(
            self.live, told, statuses, ports.status_writes, ports.clock
        )

    def _wire_trials(self, resolver: ProfileResolver) -> None:
        """How a revision comes to decide."""
        ports = self.ports
        targets = SwapTargets(self.queue, self.context.evaluator, self.under_way)
        needs = RevisionNeeds(self.synced, self.status_inputs.rights)
        self.trials = ProfileTrials(
            live=self.live,
            records=self.records,
            stored=StoredRevisions(ports.reads, ports.writes, resolver),
            activator=RevisionActivator(self.live, targets, needs, ports),
            bound=self.context,
            status=self.profile_status,
            ports=ports,
        )

    def _wire_intake(self, registry: Registry) -> None:
        """What the watches feed."""
        pod_reactions = PodReactions(self.under_way, self.nomination_controller)
        node_reactions = NodeReactions(self.binder, self.nomination_controller)
        list_reactions = ListReactions(self.pod_groups, self.synced, self.swapper)
        self.pod_sink = PodSink(self.latest_pods, self.targets, self.admission, pod_reactions)
        self.node_sink = NodeSink(self.targets, node_reactions)
        self.stored_object_sinks = {
            kind: StoredObjectSink(kind, self.targets, list_reactions)
            for kind in kinds_in(registry)
        }
        self.set_aside = SetAsideReporter(
            self.latest_pods,
            (self.pod_sink, self.node_sink, *self.stored_object_sinks.values()),
            self.pod_conditions,
            self.ports.events,
            self.live,
        )
