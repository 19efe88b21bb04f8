"""The engine: joins intake, queue, loop, swapping and status to one thing that apps start and handlers talk to."""

from __future__ import annotations

import asyncio
import dataclasses
import logging
from collections.abc import Callable, Mapping

from moorage.api import bodies
from moorage.api.bodies import Body
from moorage.api.conditions import Reason
from moorage.api.operator_config import OperatorConfiguration
from moorage.core.backlog.backlog import Backlog
from moorage.core.columns.cache import Cache
from moorage.core.cycle import Scheduler
from moorage.core.framework.guarding import PluginFault
from moorage.core.framework.interfaces import Point
from moorage.core.framework.profiles import Revision
from moorage.core.framework.registry import Registry
from moorage.core.objects import Pod, key
from moorage.core.plugins.priority_sort import PrioritySort
from moorage.engine import promises
from moorage.engine.actors.contract import ActorFactory, Tools
from moorage.engine.actors.intree import join
from moorage.engine.binding import Binder
from moorage.engine.claims import Claims
from moorage.engine.extending import Extending
from moorage.engine.failures import SCHEDULER_ERROR, Failures, Verdict
from moorage.engine.following import Following
from moorage.engine.inspecting import Inspector
from moorage.engine.intake import Nodes, Others, Pods
from moorage.engine.loop import Loop
from moorage.engine.preempting import Preemptor
from moorage.engine.profiles import ProfileRecord
from moorage.engine.quarantine import Quarantine
from moorage.engine.reconciling import Reconciler
from moorage.engine.rejections import Rejections
from moorage.engine.reporting import Reporter
from moorage.engine.strangers import Strangers
from moorage.engine.surveying import Surveyor
from moorage.engine.swapping import Resolver, Swapper, by_profile, profile_object
from moorage.engine.waiting import Waiting
from moorage.ports.errors import Forbidden
from moorage.ports.extenders import Extenders
from moorage.ports.kinds import NAMESPACES, POD_GROUPS, kinds_in, kinds_of
from moorage.ports.kube import Announcer, Leadership, Reads, Writes
from moorage.ports.surroundings import Clock, EventSink, ObjectRef, Telemetry

log = logging.getLogger(__name__)

CONDITION_WRITERS = 8
CLAIMS_EVERY = 10.0
TICK = 0.25
"""Seconds between looks at what is due by time, when nothing else happens."""


@dataclasses.dataclass(frozen=True, slots=True)
class Surroundings:
    """What the engine does things with."""

    clock: Clock
    writes: Writes
    reads: Reads
    events: EventSink
    telemetry: Telemetry
    announcer: Announcer
    extenders: Extenders
    identity: str
    """This replica's, as leader election has it."""


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
        clock = around.clock
        self._around = around
        self._config = config
        self._listed = asyncio.Event()
        self._claims_due = self._promises_due = 0.0
        self.reporter = Reporter(around.telemetry, clock)
        self.scheduler = Scheduler(Cache(), observer=self.reporter)
        flush_after = config.pod_max_in_unschedulable_pods_duration
        store = self.scheduler.cache.store
        self.backlog = Backlog(PrioritySort().sort_key, store, around.telemetry.incoming, self._plugin_failed, flush_after)
        tools = Tools(around.writes, around.reads, clock, Following(self.scheduler.cache), Waiting(clock))
        binder = Binder(join(registry, actors, tools), tools, config.bind_concurrency)
        self.failures = Failures(around.writes, around.events, clock, self._current)
        preemptor = Preemptor(around.writes, around.events, clock)
        self.loop = Loop(self.scheduler, self.backlog, binder, preemptor, self.failures)
        self.loop.ask_by(Extending(self.scheduler, self.backlog, around.extenders, around.reads, clock))
        binder.extenders = around.extenders
        self.loop.connect(clock, around.events, around.telemetry, lambda: around.writes.open)
        lease = config.leader_election
        claims = Claims(around.reads, f"{lease.resource_namespace}/{lease.resource_name}")
        self.swapper = Swapper(self.loop, resolver, around.writes, claims)
        self.swapper.connect(clock, around.events, around.telemetry)
        self.reconciler = Reconciler(self.swapper, self.backlog, around.writes, clock)
        self.reconciler.situation.claimed_by = claims.ours
        self.surveyor = Surveyor(around.identity, clock, around.announcer, around.reads, around.writes)
        self.quarantine = Quarantine(registry, around.reads, claims.ours, resolver.quarantined)
        self.quarantine.heed = self.swapper.quarantine
        self.surveyor.quarantine = self.quarantine.look
        self.swapper.changed = self._settled
        self.strangers = Strangers(self.backlog, clock, around.events, config.foreign_schedulers, self._tell)
        self.swapper.orphaned = self.strangers.orphaned
        nodes = self.scheduler.cache.nodes
        self.rejections = Rejections(clock, around.events, around.telemetry, self._profile, nodes.resource_index.__contains__)
        self.inspector = Inspector(self.scheduler.cache, self.backlog, around.reads, clock, around.telemetry)
        self.pods = Pods(self.scheduler.cache, self.backlog, clock.boottime, self._queued)
        self.loop.unbound = self.pods.look_again
        self.nodes = Nodes(self.scheduler.cache, self.backlog, clock.boottime)
        self.pods.left, self.nodes.left = self._pod_left, self._node_gone
        self.nodes.changed = self.loop.promises.node_changed
        self.others = {kind: Others(kind, self.scheduler.cache, self.backlog, clock.boottime) for kind in kinds_in(registry)}
        for others in self.others.values():
            others.listed = self.swapper.review_lacking
        self.others[POD_GROUPS].listed = self.backlog.groups.all_listed
        self.swapper.lacking = self._lacking

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

        Without the right to, it goes on without them.
        """
        await self.quarantine.look()
        try:
            self.swapper.stored = by_profile(await self._around.reads.revisions())
        except Forbidden as error:
            log.error("stored revisions cannot be read: %s", error)

    def lead(self, leadership: Callable[[], Leadership | None]) -> None:
        """Start deciding and writing: the lease is held and the feeds have caught up."""
        self.reconciler.situation.leadership = leadership
        self.loop.deciding = True
        self.swapper.lead(self._around.identity)
        self.strangers.lead()
        self.rejections.leading = True
        self.loop.poke()

    async def run(self) -> None:
        """Run all parts; ends only by an error of one of them, or cancelled."""
        async with asyncio.TaskGroup() as group:
            parts = {
                "loop": self.loop.run(),
                "swapping": self._swap(),
                "survey": self.surveyor.run(self.swapper, self.reconciler),
                "status": self.reconciler.run(),
                "time": self._time(),
                "lag": self.reporter.watch_lag(),
                "inspection": self.inspector.run(),
            }
            for name, part in parts.items():
                group.create_task(part, name=name)
            for i in range(CONDITION_WRITERS):
                group.create_task(self.failures.run(), name=f"conditions-{i}")

    async def settle(self, seconds: float) -> None:
        """Stop popping; wait, at most so long, for the bindings and evictions in flight."""
        self.loop.deciding = False
        await self.loop.extending.settle()
        settling = {
            "bindings": self.loop.binder.settle(seconds),
            "evictions": self.loop.preemptor.settle(seconds),
            "errands": self.loop.errands.settle(seconds),
        }
        for what, left in zip(settling, await asyncio.gather(*settling.values()), strict=True):
            if left:
                log.warning("%d %s were not answered within %.1f s", left, what, seconds)

    def checks(self) -> Mapping[str, Callable[[], str | None]]:
        """What readiness asks: name -> a problem, or None."""
        return {
            "pods": lambda: None if self.pods.synced else "pods are not listed yet",
            "nodes": lambda: None if self.nodes.synced else "nodes are not listed yet",
            "namespaces": lambda: None if self.others[NAMESPACES].synced else "namespaces are not listed yet",
            "profiles": lambda: None if self._listed.is_set() else "profiles are not listed yet",
        }

    # ---- inside ------------------------------------------------------------------------------------------------------------

    async def _swap(self) -> None:
        """Settle profiles, once their PluginConfigs are known too: none of them is missing before."""
        await self._listed.wait()
        await self.swapper.run(self._config.swap_debounce)

    async def _time(self) -> None:
        """What is due by the clock: backoffs, flushes, owed moves, gauges."""
        while True:
            now = self._around.clock.boottime()
            self.backlog.tick(now)
            self.loop.poke()
            self.loop.binder.sweep()
            self.loop.extending.tick(self.loop.live.values())
            if now >= self._promises_due:
                self._promises_due = now + promises.LOOK_EVERY
                self.loop.promises.sweep()
            if self.loop.deciding:
                self.loop.gangs.tell(now)
            self.strangers.tick()
            for record in self.swapper.records.values():
                self.swapper.move_owed(record)
            if now >= self._claims_due:
                self._claims_due = now + CLAIMS_EVERY
                self.swapper.review_claims()
            self.reporter.gauges(self.backlog, self.scheduler.cache, self.swapper.records.values())
            due = self.backlog.next_deadline(now)
            await self._around.clock.sleep(TICK if due is None else min(max(due - now, 0.01), TICK))

    def _lacking(self, revision: Revision) -> tuple[str, ...]:
        """The resources that a revision's plugins read and that are not listed yet."""
        return tuple(kind.name for kind in kinds_of(revision) if not self.others[kind].synced)

    def _node_gone(self, node: str) -> None:
        self.loop.binder.node_gone(node)
        self.loop.promises.node_gone(node)

    def _current(self, uid: str) -> Pod | None:
        """The pod's newest state while it waits."""
        pod = self.pods.objects.get(uid)
        return pod if pod is not None and not pod.spec.node_name else None

    def _queued(self, pod: Pod) -> None:
        """A pod came into the backlog: decide on it, or tell it what is wrong with its profile."""
        self.loop.poke()
        self.strangers.came(pod)
        record = next((r for r in self._never_good() if bodies.scheduler_name(r.body) == pod.spec.scheduler_name), None)
        if record is not None and self.swapper.leading:
            self._answer(pod, record)

    def _pod_left(self, uid: str) -> None:
        """What is done for a pod that is gone, is going, or has a node is broken off."""
        self.loop.extending.gone(uid)
        self.loop.binder.gone(uid)

    def _settled(self) -> None:
        """Profiles were settled: status follows, and pods of a profile that was never good are told so."""
        self.reconciler.poke()
        self.surveyor.poke()
        if self.swapper.leading:
            for record in self._never_good():
                for pod in self.backlog.held(bodies.scheduler_name(record.body)):
                    self._answer(pod, record)

    def _profile(self, scheduler_name: str) -> ObjectRef | None:
        """The profile that has this schedulerName."""
        records = self.swapper.records.values()
        return next((profile_object(record) for record in records if bodies.scheduler_name(record.body) == scheduler_name), None)

    def _never_good(self) -> list[ProfileRecord]:
        """Profiles whose pods only a better spec helps."""
        return [record for record in self.swapper.records.values() if record.active is None and record.errors and not record.conflicts]

    def _answer(self, pod: Pod, record: ProfileRecord) -> None:
        hung = any(error.reason == Reason.PLUGIN_QUARANTINED for error in record.errors)
        what = "cannot be served any more" if hung else "has never been valid"
        text = f"SchedulerProfile {record.name!r} {what}: {'; '.join(map(str, record.errors))}"
        self._tell(pod, text)

    def _tell(self, pod: Pod, text: str) -> None:
        """Say to a waiting pod that its profile is what it lacks; a gated one has the API server's own word on why it waits."""
        if not pod.spec.scheduling_gates:
            self.failures.report_once(Verdict(pod, SCHEDULER_ERROR, text))

    def _plugin_failed(self, plugin: str, pod: Pod, error: Exception) -> None:
        """A plugin that the backlog asked about a pod failed: a preEnqueue plugin keeps it gated, a hint lets it be tried again."""
        log.error("plugin %s failed for a waiting pod", plugin, extra={"pod": key(pod)}, exc_info=error)
        if isinstance(error, PluginFault) and error.point == Point.PRE_ENQUEUE and self.swapper.leading:
            self._tell(pod, str(error))
