"""The engine: joins intake, queue, loop, swapping and status to one thing that apps start and handlers talk to."""

from __future__ import annotations

import asyncio
import dataclasses
import functools
import logging
from collections.abc import Awaitable, Callable, Collection, Mapping

from moorage.api import bodies
from moorage.api.bodies import Body
from moorage.api.operator_config import OperatorConfiguration
from moorage.core.columns.cache import Cache
from moorage.core.cycle.context import Scheduler
from moorage.core.framework.guard import PluginFault
from moorage.core.framework.interfaces import Point
from moorage.core.framework.registry import Registry
from moorage.core.framework.revisions import Revision
from moorage.core.objects.meta import Namespace, key
from moorage.core.objects.pods import Pod
from moorage.core.plugins.intree import INDEXES
from moorage.core.plugins.priority_sort import PrioritySort
from moorage.core.queue.scheduling_queue import QUEUE, Backlog
from moorage.engine.binding.actors.contract import ActorFactory, Tools
from moorage.engine.binding.actors.intree import join
from moorage.engine.binding.binder import Binder
from moorage.engine.binding.object_waiter import Following
from moorage.engine.binding.permit import Waiting
from moorage.engine.binding.slots import Slots
from moorage.engine.intake.node_sink import Nodes
from moorage.engine.intake.pod_sink import Pods
from moorage.engine.intake.set_aside import SetAside
from moorage.engine.intake.stored_object_sink import Others
from moorage.engine.profiles.ownership import Claims
from moorage.engine.profiles.profile_status import Reconciler
from moorage.engine.profiles.quarantine import Quarantine
from moorage.engine.profiles.replica_monitor import Surveyor
from moorage.engine.profiles.resolving import Resolver
from moorage.engine.profiles.swap import Swapper, profile_object
from moorage.engine.profiles.unmatched_pods import Strangers, Unserved
from moorage.engine.reports.inspection import Inspector
from moorage.engine.reports.kubelet_rejections import Rejections
from moorage.engine.reports.metrics import Reporter
from moorage.engine.reports.pod_conditions import SCHEDULER_ERROR, Failures, Verdict
from moorage.engine.scheduling.gang_scheduler import Gangs
from moorage.engine.scheduling.loop import Loop
from moorage.engine.scheduling.nomination_controller import LOOK_EVERY, Promises
from moorage.engine.scheduling.outcomes import Handover
from moorage.engine.scheduling.post_filter_actions import Errands
from moorage.engine.scheduling.preemption import Preemptor
from moorage.ports.bundle import Surroundings
from moorage.ports.event_recorder import ObjectRef
from moorage.ports.guards import going, guard, heard, quiet
from moorage.ports.kube import HOME_LABEL
from moorage.ports.leadership import Leadership
from moorage.ports.repeated_logs import bug
from moorage.ports.stored_kinds import NAMESPACES, POD_GROUPS, StoredKind, kinds_in, kinds_of

log = logging.getLogger(__name__)

CONDITION_WRITERS = 8
TICK = 0.25
"""Seconds between looks at what is due by time, when nothing else happens."""


class Engine:
    """See the module's docstring. All methods belong to the event loop's thread."""

    def __init__(
        self,
        config: OperatorConfiguration,
        around: Surroundings,
        resolver: Resolver,
        registry: Registry,
        actors: Mapping[str, ActorFactory],
    ) -> None:
        around = dataclasses.replace(around, events=quiet(around.events), telemetry=quiet(around.telemetry))
        clock, reads, writes, events, telemetry = around.clock, around.reads, around.writes, around.events, around.telemetry
        self._around = around
        self._config = config
        self._listed = asyncio.Event()
        self._promises_due = 0.0
        self._late: set[str] = set()
        """Resources that have not caught up since the lease was had."""

        # 1. What is known, and what waits.
        cache = Cache(INDEXES)
        self.reporter = Reporter(telemetry, clock)
        self.scheduler = Scheduler(cache, observer=self.reporter)
        self.scheduler.snapshot.now, self.scheduler.snapshot.count_error = clock.boottime, telemetry.expression_failed
        flush_after = config.pod_max_in_unschedulable_pods_duration
        self.backlog = Backlog(PrioritySort().sort_key, cache.store, heard(self._moved), heard(self._plugin_failed), flush_after)

        # 2. What decides, and what is done with decisions.
        tools = Tools(writes, reads, clock, Following(cache), Waiting(clock))
        joined = join(registry, actors, tools)
        self.failures = Failures(writes, events, clock, self._current)
        self.gangs = Gangs(self.scheduler, self.backlog, self.failures, around)
        self.promises = Promises(cache, self.backlog, self.failures, clock, lambda name: self.loop.ours(name))  # noqa: PLW0108 - it is made below
        slots = Slots(config.bind_concurrency, lambda: self.loop.poke())  # noqa: PLW0108 - as above
        self.binder = Binder(self.scheduler, joined, tools.waiting, around, slots)
        preemptor = Preemptor(around, cache, self.failures, self.binder)
        handover = Handover(around, cache, self.backlog, self.failures, self.gangs, self.promises, self.binder, preemptor, Errands(joined))
        self.loop = Loop(self.scheduler, self.backlog, around, handover)

        # 3. Profiles: from objects to what is live, and what is said of them.
        lease = config.leader_election
        claims = Claims(reads, f"{lease.resource_namespace}/{lease.resource_name}", self._is_home)
        self.swapper = Swapper(self.loop, resolver, around, claims)
        self.unserved = Unserved(self.swapper, self.backlog, self.failures)
        self.strangers = Strangers(self.backlog, clock, events, config.foreign_schedulers, self.unserved.tell)
        self.reconciler = Reconciler(self.swapper, self.backlog, writes, clock)
        self.reconciler.situation.claimed_by = claims.ours
        self.quarantine = Quarantine(registry, reads, claims.ours, resolver.quarantined, self.swapper.quarantine)
        self.surveyor = Surveyor(around, self.quarantine.look)
        self.rejections = Rejections(clock, events, telemetry, self._profile, cache.nodes.is_resource)
        self.inspector = Inspector(cache, self.backlog, reads, clock, telemetry)
        self.swapper.changed, self.swapper.orphaned = heard(self._settled), heard(self.strangers.orphaned)
        self.swapper.lacking = self._lacking

        # 4. What the watches feed.
        self.pods = Pods(cache, self.backlog, clock.boottime, heard(self._queued))
        self.nodes = Nodes(cache, self.backlog, clock.boottime)
        self.others = {kind: Others(kind, cache, self.backlog, clock.boottime) for kind in kinds_in(registry)}
        self._listen()
        handover.unbound = heard(self.pods.look_again)
        self.set_aside = SetAside(self.pods, (self.nodes, *self.others.values()), self.failures, events, self.loop.ours)

    # ---- what handlers say -------------------------------------------------------------------------------------------------

    def profile_seen(self, name: str, body: Body | None) -> None:
        """A SchedulerProfile is in this state; None: it is gone. Those of other installations are none of ours."""
        self.strangers.profile_seen(name, None if body is None else bodies.scheduler_name(body))
        mine = body is not None and bodies.controller_name(body) == self._config.controller_name
        self.swapper.profile_seen(name, body if mine else None)

    def plugin_config_seen(self, name: str, body: Body | None) -> None:
        """A PluginConfig is in this state; None: it is gone."""
        self.swapper.plugin_config_seen(name, body)

    def listed(self) -> None:
        """Both kinds have been listed once: from now on what is not there is missing."""
        self._listed.set()

    # ---- the engine's life -------------------------------------------------------------------------------------------------

    async def restore(self) -> None:
        """Read the stored revisions, so that a bad spec finds its last good one, and which plugins hung.

        Where they cannot be read, what is known stays.
        """
        await self.quarantine.look()
        await self.swapper.stored.restore()

    def lead(self, leadership: Callable[[], Leadership | None], late: Collection[str] = ()) -> None:
        """Start deciding and writing: the lease is held and the feeds have caught up, less the late ones: whoever reads these waits."""
        self.reconciler.situation.leadership = leadership
        self._late = set(late)
        self.swapper.lead(self._around.identity)
        self.loop.deciding = True
        self.strangers.lead()
        self.rejections.leading = True
        self.loop.poke()

    def caught_up(self, resource: str) -> None:
        """What the API server held when the lease was had has come, of a resource that was late."""
        self._late.discard(resource)
        self.swapper.review_lacking()

    async def run(self) -> None:
        """Run all parts until cancelled; one that fails is begun anew."""
        parts: dict[str, Callable[[], Awaitable[None]]] = {
            "loop": self.loop.run,
            "swapping": self._swap,
            "survey": lambda: self.surveyor.run(self.swapper, self.reconciler),
            "status": self.reconciler.run,
            "time": self._time,
            "lag": self.reporter.watch_lag,
            "inspection": self.inspector.run,
            **{f"conditions-{i}": self.failures.run for i in range(CONDITION_WRITERS)},
        }
        async with asyncio.TaskGroup() as group:
            for name, part in parts.items():
                group.create_task(going(name, part, self._around.clock), name=name)

    async def settle(self, seconds: float) -> None:
        """Decide no more; wait, at most so long, for the bindings and evictions in flight."""
        await self.loop.settle(seconds)

    def checks(self) -> Mapping[str, Callable[[], str | None]]:
        """What readiness asks: name -> a problem, or None."""
        return {
            "pods": lambda: None if self.pods.synced else "pods are not listed yet",
            "nodes": lambda: None if self.nodes.synced else "nodes are not listed yet",
            "namespaces": lambda: None if self.others[NAMESPACES].synced else "namespaces are not listed yet",
            "profiles": lambda: None if self._listed.is_set() else "profiles are not listed yet",
        }

    # ---- inside ------------------------------------------------------------------------------------------------------------

    def _listen(self) -> None:
        """What the sinks tell the other parts."""
        self.pods.left, self.nodes.left = heard(self.loop.gone), heard(self._node_gone)
        self.pods.came, self.nodes.changed = heard(self.promises.pod_came), heard(self.promises.node_changed)
        for kind, others in self.others.items():
            others.listed = heard(functools.partial(self._kind_listed, kind))

    async def _swap(self) -> None:
        """Settle profiles, once their PluginConfigs are known too: none of them is missing before."""
        await self._listed.wait()
        await self.swapper.run(self._config.swap_debounce)

    async def _time(self) -> None:
        """What is due by the clock: backoffs, flushes, owed moves, gauges."""
        while True:
            now = self._around.clock.boottime()
            self._do_what_is_due(now)
            due = self.backlog.next_deadline(now)
            await self._around.clock.sleep(TICK if due is None else min(max(due - now, 0.01), TICK))

    def _do_what_is_due(self, now: float) -> None:
        """A step that fails stops no other."""
        with guard("moving pods whose time has come"):
            self.backlog.tick(now)
        self.loop.poke()
        with guard("breaking off what takes too long"):
            self.binder.sweep()
        with guard("asking extenders again"):
            self.loop.extending.tick(self.loop.live.values())
        with guard("looking after nominations"):
            if self.loop.deciding and now >= self._promises_due:
                self._promises_due = now + LOOK_EVERY
                self.promises.sweep()
        with guard("telling gangs"):
            if self.loop.deciding:
                self.gangs.tell(now)
        with guard("telling what is set aside"):
            if self.loop.deciding:
                self.set_aside.tell()
        with guard("telling pods of unknown schedulers"):
            self.strangers.tick()
        with guard("looking after profiles"):
            self.swapper.tick(now)
        with guard("measuring"):
            self.reporter.gauges(self.backlog, self.scheduler.cache, self.swapper.records.values(), self.set_aside.counts)

    def _kind_listed(self, kind: StoredKind) -> None:
        """A whole list of this kind is in: profiles may have waited for it, and so may pod groups."""
        if kind is POD_GROUPS:
            self.backlog.groups.all_listed()
        self.swapper.review_lacking()

    def _lacking(self, revision: Revision) -> tuple[str, ...]:
        """The resources that a revision's plugins read and that are not listed yet, or late."""
        return tuple(kind.name for kind in kinds_of(revision) if kind.name in self._late or not self.others[kind].synced)

    def _is_home(self, namespace: str) -> bool:
        """Whether Leases in this namespace may be an installation's: tenants cannot make it one."""
        known = self.scheduler.cache.store.objects(Namespace).get(namespace)
        labelled = known is not None and HOME_LABEL in (known.metadata.labels or {})
        return labelled or namespace in (self._config.leader_election.resource_namespace, "kube-system")

    def _node_gone(self, node: str) -> None:
        self.binder.node_gone(node)
        self.promises.node_gone(node)

    def _current(self, uid: str) -> Pod | None:
        """The pod's newest state while it waits."""
        pod = self.pods.objects.get(uid) or self.set_aside.waiting(uid)
        return pod if pod is not None and not pod.spec.node_name else None

    def _moved(self, queue: str, event: str) -> None:
        """A pod came into a queue: there may be something to decide."""
        self._around.telemetry.incoming(queue, event)
        self.loop.poke()

    def _queued(self, pod: Pod) -> None:
        """A pod came into the backlog: it may be one that nobody serves."""
        self.strangers.came(pod)
        self.unserved.came(pod)

    def _settled(self) -> None:
        """Profiles were settled: status follows, and those whose pods cannot be served are told so."""
        self.reconciler.poke()
        self.surveyor.poke()
        self.unserved.settled()
        self.set_aside.settled()

    def _profile(self, scheduler_name: str) -> ObjectRef | None:
        """The profile that has this schedulerName."""
        records = self.swapper.records.values()
        return next((profile_object(record) for record in records if bodies.scheduler_name(record.body) == scheduler_name), None)

    def _plugin_failed(self, plugin: str, pod: Pod, error: Exception) -> None:
        """A plugin that the backlog asked about a pod failed: a preEnqueue plugin keeps it gated, a hint lets it be tried again."""
        what = plugin if plugin == QUEUE else f"plugin {plugin}"
        log.error("%s failed for a waiting pod", what, extra=bug(error, pod=key(pod)), exc_info=error)
        if plugin == QUEUE:
            self.failures.report(Verdict(pod, SCHEDULER_ERROR, f"out of the queue until it changes: {error!r}"))
        if isinstance(error, PluginFault) and error.point == Point.PRE_ENQUEUE and self.swapper.leading:
            self.unserved.tell(pod, str(error))
