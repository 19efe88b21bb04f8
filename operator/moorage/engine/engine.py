"""The engine: what apps start and handlers talk to. Its parts: ``engine.wiring``."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping

from moorage.api import bodies
from moorage.api.bodies import Body
from moorage.api.operator_config import OperatorConfiguration
from moorage.core.framework.registry import Registry
from moorage.engine.binding.actors.contract import ActorFactory
from moorage.engine.profiles.resolving import ProfileResolver
from moorage.engine.scheduling.nomination_controller import CHECK_INTERVAL_SECONDS
from moorage.engine.wiring import EngineParts
from moorage.ports.bundle import Ports
from moorage.ports.guards import guard, run_restarting

CONDITION_WRITERS = 8
TICK_SECONDS = 0.25
"""Seconds between looks at what is due by time, when nothing else happens."""


class Engine(EngineParts):
    """The scheduler, without its edges. All methods belong to the event loop's thread."""

    def __init__(
        self,
        config: OperatorConfiguration,
        ports: Ports,
        resolver: ProfileResolver,
        registry: Registry,
        factories: Mapping[str, ActorFactory],
    ) -> None:
        super().__init__(config, ports, resolver, registry, factories)
        self._listed = asyncio.Event()
        self._nomination_check_due = 0.0

    # ---- what handlers say -----------------------------------------------------------------------

    def profile_changed(self, name: str, body: Body | None) -> None:
        """A SchedulerProfile is in this state; None: it is gone. Those of other installations are
        none of ours.
        """
        self.unmatched_pods.profile_changed(
            name, None if body is None else bodies.scheduler_name(body)
        )
        mine = body is not None and bodies.controller_name(body) == self.config.controller_name
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
                group.create_task(run_restarting(name, part, self.ports.clock), name=name)

    async def settle(self, seconds: float) -> None:
        """Decide no more; wait, at most so long, for the bindings and evictions in flight."""
        await self.loop.settle(seconds)

    # ---- inside ----------------------------------------------------------------------------------

    async def _reconcile_profiles(self) -> None:
        """Reconcile profiles, once their PluginConfigs are known too: none of them is missing
        before.
        """
        await self._listed.wait()
        await self.swapper.run(self.config.swap_debounce)

    async def _tick(self) -> None:
        """What is due by the clock: backoffs, flushes, owed moves, gauges."""
        while True:
            now = self.ports.clock.boottime()
            self._run_due_steps(now)
            due = self.queue.next_deadline(now)
            await self.ports.clock.sleep(
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
        with guard("reporting gangs"):
            if self.live.deciding:
                self.gang_scheduler.report_due(now)
        with guard("reporting what is set aside"):
            if self.live.deciding:
                self.set_aside.report_due()
        with guard("reporting what plugins failed at"):
            self.queue_reports.report_due(self.pod_conditions, self.live)
        with guard("reporting pods of unknown schedulers"):
            self.unmatched_pods.tick()
        with guard("looking after profiles"):
            self.swapper.tick(now)
        with guard("measuring"):
            self.metrics.gauges(
                self.queue,
                self.cache,
                self.records.profiles.values(),
                self.set_aside.counts,
            )
