"""The engine: joins intake, queue, loop, swapper and status to one thing that apps start and
handlers talk to.
"""

from __future__ import annotations

import asyncio
import dataclasses
import logging
from collections.abc import Awaitable, Callable, Collection, Mapping

from moorage.api import bodies
from moorage.api.bodies import Body
from moorage.api.operator_config import OperatorConfiguration
from moorage.core.columns.cache import Cache
from moorage.core.columns.store import Store
from moorage.core.cycle.context import CycleContext
from moorage.core.framework.guard import PluginFault
from moorage.core.framework.interfaces import ExtensionPoint
from moorage.core.framework.registry import Registry
from moorage.core.objects.meta import Namespace, key
from moorage.core.objects.pods import Pod
from moorage.core.plugins.intree import INDEXES
from moorage.core.plugins.priority_sort import PrioritySort
from moorage.core.queue.pod_group_members import PodGroupTracker
from moorage.core.queue.scheduling_queue import SchedulingQueue
from moorage.core.queue.sub_queues import QUEUE_AS_PLUGIN
from moorage.core.structures.budget import TimeBudget
from moorage.engine.background_tasks import WorkSignal
from moorage.engine.binding.actors.contract import ActorFactory, ActorTools
from moorage.engine.binding.actors.intree import join
from moorage.engine.binding.actors.object_waiter import ObjectWaiter
from moorage.engine.binding.binder import Binder
from moorage.engine.binding.permit import WaitingPods
from moorage.engine.binding.slots import BindingSlots
from moorage.engine.intake.admission import PodAdmission
from moorage.engine.intake.latest import LatestPods
from moorage.engine.intake.node_sink import NodeSink
from moorage.engine.intake.object_sink import IntakeTargets
from moorage.engine.intake.pod_sink import PodSink
from moorage.engine.intake.stored_object_sink import StoredObjectSink
from moorage.engine.intake.synced_kinds import SyncedKinds
from moorage.engine.live_revisions import LiveRevisions
from moorage.engine.profile_records import ProfileRecords
from moorage.engine.profiles.activation import RevisionActivator, SwapTargets
from moorage.engine.profiles.desired_status import StatusBuilder
from moorage.engine.profiles.ownership import ProfileOwnership
from moorage.engine.profiles.profile_conditions import StatusInputs
from moorage.engine.profiles.profile_listeners import ProfileReports
from moorage.engine.profiles.profile_status import ProfileStatusWriter
from moorage.engine.profiles.quarantine import PluginQuarantine
from moorage.engine.profiles.replica_monitor import ReplicaMonitor
from moorage.engine.profiles.resolving import PluginConfigResults, ProfileResolver
from moorage.engine.profiles.stored_revisions import StoredRevisions
from moorage.engine.profiles.swap import ProfileSwapper
from moorage.engine.profiles.unmatched_pods import PodsOfInvalidProfiles, UnmatchedPods
from moorage.engine.reports.inspection import CacheInspector
from moorage.engine.reports.kubelet_rejections import KubeletRejections
from moorage.engine.reports.metrics import MetricsReporter
from moorage.engine.reports.pod_conditions import (
    SCHEDULER_ERROR,
    PodConditionUpdate,
    PodConditionWriter,
)
from moorage.engine.reports.set_aside import UnreadableObjects
from moorage.engine.scheduling.attempts import SchedulingAttempts
from moorage.engine.scheduling.extender_cycles import ExtenderCycles
from moorage.engine.scheduling.gang_scheduler import GangScheduler
from moorage.engine.scheduling.loop import SchedulingLoop
from moorage.engine.scheduling.nomination_controller import (
    CHECK_INTERVAL_SECONDS,
    NominationController,
    NominationWaker,
)
from moorage.engine.scheduling.outcomes import CycleOutcomes
from moorage.engine.scheduling.pods_under_way import PodsUnderWay
from moorage.engine.scheduling.post_filter_actions import PostFilterActions
from moorage.engine.scheduling.preemption import Preemptor
from moorage.engine.scheduling.reactions import NodeReactions, PodReactions
from moorage.ports.bundle import Ports
from moorage.ports.guards import guard, guarded_listener, guarded_port, run_restarting
from moorage.ports.kube import HOME_LABEL
from moorage.ports.repeated_logs import once_per_bug
from moorage.ports.stored_kinds import NAMESPACES, POD_GROUPS, StoredKind, kinds_in

log = logging.getLogger(__name__)

CONDITION_WRITERS = 8
TICK_SECONDS = 0.25
"""Seconds between looks at what is due by time, when nothing else happens."""


class Engine:
    """See the module's docstring. All methods belong to the event loop's thread."""

    def __init__(
        self,
        config: OperatorConfiguration,
        ports: Ports,
        resolver: ProfileResolver,
        registry: Registry,
        actors: Mapping[str, ActorFactory],
    ) -> None:
        ports = dataclasses.replace(
            ports, events=guarded_port(ports.events), telemetry=guarded_port(ports.telemetry)
        )
        clock, reads, writes, events, telemetry = (
            ports.clock,
            ports.reads,
            ports.writes,
            ports.events,
            ports.telemetry,
        )
        self._ports = ports
        self._config = config
        self._listed = asyncio.Event()
        self._nomination_check_due = 0.0

        # 1. What is known, and what waits.
        self.work = WorkSignal()
        self.live = LiveRevisions()
        self.records = ProfileRecords()
        self.synced = SyncedKinds(kinds_in(registry))
        store = Store(INDEXES)
        pod_groups = PodGroupTracker(store)
        flush_after = config.pod_max_in_unschedulable_pods_duration
        self.queue = SchedulingQueue(
            PrioritySort().sort_key,
            pod_groups,
            guarded_listener(self._pod_enqueued),
            guarded_listener(self._plugin_failed),
            flush_after,
        )
        cache = Cache(store, pods=pod_groups, nominations=NominationWaker(self.queue, clock))
        self.metrics = MetricsReporter(telemetry, clock)
        self.context = CycleContext(cache, observer=self.metrics, budget=TimeBudget(clock.boottime))

        targets, latest_pods = IntakeTargets(cache, self.queue, clock.boottime), LatestPods()
        admission = PodAdmission(latest_pods, targets, self)

        # 2. What decides, and what is done with decisions.
        tools = ActorTools(writes, reads, clock, ObjectWaiter(cache), WaitingPods(clock))
        joined = join(registry, actors, tools)
        self.pod_conditions = PodConditionWriter(writes, events, clock, latest_pods.waiting, cache)
        self.gang_scheduler = GangScheduler(self.context, self.queue, self.pod_conditions, ports)
        self.nomination_controller = NominationController(
            cache,
            self.queue,
            self.pod_conditions,
            clock,
            self.live,
        )
        self.slots = BindingSlots(config.bind_concurrency, self.work)
        self.binder = Binder(self.context, joined, tools.waiting_pods, ports, self.slots)
        preemptor = Preemptor(ports, cache, self.pod_conditions, self.binder)
        outcomes = CycleOutcomes(
            ports,
            cache,
            self.queue,
            self.pod_conditions,
            self.gang_scheduler,
            self.nomination_controller,
            self.binder,
            preemptor,
            PostFilterActions(joined),
            admission,
        )
        attempts = SchedulingAttempts(self.context, self.queue, self.live, outcomes, ports)
        self.extender_cycles = ExtenderCycles(self.context, self.queue, attempts, ports)
        self.loop = SchedulingLoop(
            self.queue,
            self.live,
            attempts,
            self.extender_cycles,
            self.slots,
            self.work,
            self.context.budget,
            clock,
        )
        self.under_way = PodsUnderWay(attempts.gangs, self.extender_cycles, self.binder)

        # 3. Profiles: from objects to what is live, and what is said of them.
        lease = config.leader_election
        ownership = ProfileOwnership(
            reads, f"{lease.resource_namespace}/{lease.resource_name}", self._may_hold_leases
        )
        config_results = PluginConfigResults(resolver)
        statuses = StatusBuilder(
            records=self.records,
            config_results=config_results,
            queue=self.queue,
            under_way=self.under_way,
            inputs=StatusInputs(),
            election=ports.election,
            claimed_by=ownership.own_lease,
            clock=clock,
        )
        self.profile_status = ProfileStatusWriter(self.live, self.records, statuses, writes, clock)
        self.pods_of_invalid_profiles = PodsOfInvalidProfiles(
            self.live, self.records, self.queue, self.pod_conditions
        )
        self.unmatched_pods = UnmatchedPods(
            self.live,
            self.queue,
            ports,
            config.foreign_schedulers,
            self.pods_of_invalid_profiles.report,
        )
        changed = asyncio.Event()
        reports = ProfileReports(
            self.profile_status,
            self.pods_of_invalid_profiles,
            self.unmatched_pods,
            latest_pods,
            changed,
        )
        self.swapper = ProfileSwapper(
            live=self.live,
            records=self.records,
            resolver=resolver,
            config_results=config_results,
            stored=StoredRevisions(reads, writes, resolver),
            activator=RevisionActivator(
                self.live,
                SwapTargets(self.queue, self.context.evaluator, self.under_way),
                self.synced,
                ports,
            ),
            ownership=ownership,
            listener=guarded_port(reports),
            ports=ports,
        )
        self.quarantine = PluginQuarantine(
            registry, reads, ownership.own_lease, resolver.quarantined, self.swapper
        )
        self.replica_monitor = ReplicaMonitor(
            live=self.live,
            records=self.records,
            status=self.profile_status,
            quarantine=self.quarantine,
            changed=changed,
            ports=ports,
        )
        self.kubelet_rejections = KubeletRejections(
            self.live, ports, self.records, cache.nodes.is_resource
        )
        self.inspector = CacheInspector(cache, self.queue, reads, clock, telemetry)

        # 4. What the watches feed.
        self.pod_sink = PodSink(
            latest_pods,
            targets,
            admission,
            PodReactions(self.under_way, self.nomination_controller),
        )
        self.node_sink = NodeSink(targets, NodeReactions(self.binder, self.nomination_controller))
        self.stored_object_sinks = {
            kind: StoredObjectSink(kind, targets, self) for kind in kinds_in(registry)
        }
        self.set_aside = UnreadableObjects(
            latest_pods,
            (self.pod_sink, self.node_sink, *self.stored_object_sinks.values()),
            self.pod_conditions,
            events,
            self.live,
        )

    # ---- what handlers say -----------------------------------------------------------------------

    def profile_changed(self, name: str, body: Body | None) -> None:
        """A SchedulerProfile is in this state; None: it is gone. Those of other installations are
        none of ours.
        """
        self.unmatched_pods.profile_changed(
            name, None if body is None else bodies.scheduler_name(body)
        )
        mine = body is not None and bodies.controller_name(body) == self._config.controller_name
        self.swapper.profile_changed(name, body if mine else None)

    def plugin_config_changed(self, name: str, body: Body | None) -> None:
        """A PluginConfig is in this state; None: it is gone."""
        self.swapper.plugin_config_changed(name, body)

    def listed(self) -> None:
        """Both kinds have been listed once: from now on what is not there is missing."""
        self._listed.set()

    # ---- the engine's life -----------------------------------------------------------------------

    async def restore(self) -> None:
        """Read the stored revisions, so that a bad spec finds its last good one, and which plugins
        hung.

        Where they cannot be read, what is known stays.
        """
        await self.quarantine.refresh()
        await self.swapper.stored.restore()

    def lead(self, late: Collection[str] = ()) -> None:
        """Start deciding and writing: the lease is held and the informers have caught up, less the
        late ones: whoever reads these waits.
        """
        self.synced.lead(late)
        self.live.lead()
        self.swapper.lead()
        self.unmatched_pods.lead()
        self.work.wake_up()

    def caught_up(self, resource: str) -> None:
        """What the API server held when the lease was had has come, of a resource that was late."""
        self.synced.caught_up(resource)
        self.swapper.recheck_kinds()

    async def run(self) -> None:
        """Run all parts until cancelled; one that fails is begun anew."""
        parts: dict[str, Callable[[], Awaitable[None]]] = {
            "loop": self.loop.run,
            "swapping": self._reconcile_profiles,
            "survey": self.replica_monitor.run,
            "status": self.profile_status.run,
            "time": self._tick,
            "lag": self.metrics.watch_lag,
            "inspection": self.inspector.run,
            **{f"conditions-{i}": self.pod_conditions.run for i in range(CONDITION_WRITERS)},
        }
        async with asyncio.TaskGroup() as group:
            for name, part in parts.items():
                group.create_task(run_restarting(name, part, self._ports.clock), name=name)

    async def settle(self, seconds: float) -> None:
        """Decide no more; wait, at most so long, for the bindings and evictions in flight."""
        await self.loop.settle(seconds)

    def checks(self) -> Mapping[str, Callable[[], str | None]]:
        """What readiness asks: name -> a problem, or None."""
        return {
            "pods": lambda: None if self.pod_sink.synced else "pods are not listed yet",
            "nodes": lambda: None if self.node_sink.synced else "nodes are not listed yet",
            "namespaces": lambda: (
                None
                if self.stored_object_sinks[NAMESPACES].synced
                else "namespaces are not listed yet"
            ),
            "profiles": lambda: None if self._listed.is_set() else "profiles are not listed yet",
        }

    # ---- inside ----------------------------------------------------------------------------------

    async def _reconcile_profiles(self) -> None:
        """Reconcile profiles, once their PluginConfigs are known too: none of them is missing
        before.
        """
        await self._listed.wait()
        await self.swapper.run(self._config.swap_debounce)

    async def _tick(self) -> None:
        """What is due by the clock: backoffs, flushes, owed moves, gauges."""
        while True:
            now = self._ports.clock.boottime()
            self._run_due_steps(now)
            due = self.queue.next_deadline(now)
            await self._ports.clock.sleep(
                TICK_SECONDS if due is None else min(max(due - now, 0.01), TICK_SECONDS)
            )

    def _run_due_steps(self, now: float) -> None:
        """A step that fails stops no other."""
        with guard("moving pods whose time has come"):
            self.queue.flush(now)
        self.work.wake_up()
        with guard("breaking off what takes too long"):
            self.binder.check_timeouts()
        with guard("asking extenders again"):
            self.extender_cycles.requeue_rejected(self.live.values())
        with guard("looking after nominations"):
            if self.live.deciding and now >= self._nomination_check_due:
                self._nomination_check_due = now + CHECK_INTERVAL_SECONDS
                self.nomination_controller.check()
        with guard("telling gangs"):
            if self.live.deciding:
                self.gang_scheduler.report_due(now)
        with guard("telling what is set aside"):
            if self.live.deciding:
                self.set_aside.report_due()
        with guard("telling pods of unknown schedulers"):
            self.unmatched_pods.tick()
        with guard("looking after profiles"):
            self.swapper.tick(now)
        with guard("measuring"):
            self.metrics.gauges(
                self.queue,
                self.context.cache,
                self.records.profiles.values(),
                self.set_aside.counts,
            )

    def kind_listed(self, kind: StoredKind) -> None:
        """A whole list of this kind is in: profiles may have waited for it, and so may pod
        groups.
        """
        self.synced.listed(kind)
        if kind is POD_GROUPS:
            self.queue.groups.all_listed()
        self.swapper.recheck_kinds()

    def _may_hold_leases(self, namespace: str) -> bool:
        """Whether Leases in this namespace may be an installation's: tenants cannot make it one."""
        known = self.context.cache.store.objects(Namespace).get(namespace)
        labelled = known is not None and HOME_LABEL in (known.metadata.labels or {})
        return labelled or namespace in (
            self._config.leader_election.resource_namespace,
            "kube-system",
        )

    def _pod_enqueued(self, queue: str, event: str) -> None:
        """A pod came into a queue: there may be something to decide."""
        self._ports.telemetry.pod_queued(queue, event)
        self.work.wake_up()

    def pod_queued(self, pod: Pod) -> None:
        """A pod came into the queue: it may be one that nobody serves."""
        self.unmatched_pods.pod_queued(pod)
        self.pods_of_invalid_profiles.pod_queued(pod)

    def _plugin_failed(self, plugin: str, pod: Pod, error: Exception) -> None:
        """A plugin that the queue asked about a pod failed: a preEnqueue plugin keeps it gated, a
        hint lets it be tried again.
        """
        what = plugin if plugin == QUEUE_AS_PLUGIN else f"plugin {plugin}"
        log.error(
            "%s failed for a waiting pod",
            what,
            extra=once_per_bug(error, pod=key(pod)),
            exc_info=error,
        )
        if plugin == QUEUE_AS_PLUGIN:
            self.pod_conditions.report(
                PodConditionUpdate(
                    pod, SCHEDULER_ERROR, f"out of the queue until it changes: {error!r}"
                )
            )
        if (
            isinstance(error, PluginFault)
            and error.point == ExtensionPoint.PRE_ENQUEUE
            and self.live.leading
        ):
            self.pods_of_invalid_profiles.report(pod, str(error))
