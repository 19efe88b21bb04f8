"""The engine: what apps start and handlers talk to. Its parts: ``engine.wiring``."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping

from moorage.api import bodies
from moorage.api.bodies import Body
from moorage.engine.profiles.held_profiles import held_texts
from moorage.engine.wiring import EngineParts
from moorage.ports.guards import guard, run_restarting

CONDITION_WRITERS = 8
"""Conditions of pods in flight at a time, and of pod groups."""
TICK_SECONDS = 0.25
"""Seconds until what is due by time is checked again, when nothing else happens."""


class Engine(EngineParts):
    """The scheduler, without its edges. All methods belong to the event loop's thread."""

    # ---- for handlers -----------------------------------------------------------------------

    def profile_changed(self, name: str, body: Body | None) -> None:
        """A SchedulerProfile is in this state; None: it is gone. Of those of other installations
        only the pods that they ask for, their names and their nodes are of interest; of those that
        are only observed, and to an observer, not even their names and nodes.
        """
        self.assignments.profile_changed(name, body)
        self.unmatched_pods.profile_changed(
            name, None if body is None else bodies.scheduler_name(body)
        )
        mine = body is not None and bodies.controller_name(body) == self.config.controller_name
        theirs = body
        if mine or body is None or self.config.observes or bodies.is_observed(body):
            theirs = None
        if theirs is not None or name in self.records.foreign:
            self.swapper.foreign_profile_changed(name, theirs)
            self.shared_nodes.profile_changed(name, theirs)
        if mine or name in self.records.profiles:
            self.swapper.profile_changed(name, body if mine else None)

    def plugin_config_changed(self, name: str, body: Body | None) -> None:
        """A PluginConfig is in this state; None: it is gone."""
        self.swapper.plugin_config_changed(name, body)
        self.shared_nodes.plugin_config_changed(name)

    def listed(self) -> None:
        """Both kinds have been listed once: from now on what is not there is missing."""
        self.swapper.listed()

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
        self.held_pods.lead()
        self.work.wake_up()

    def caught_up(self, resource: str) -> None:
        """What the API server held when the lease was had has come, of a resource that was late."""
        self.synced.caught_up(resource)
        self.swapper.recheck_kinds()

    async def run(self) -> None:
        """Run all parts until cancelled; one that fails is begun anew."""
        async with asyncio.TaskGroup() as group:
            for name, part in self._runs().items():
                group.create_task(run_restarting(name, part, self.ports.clock), name=name)

    def _runs(self) -> Mapping[str, Callable[[], Awaitable[None]]]:
        """What runs, by name."""
        return {
            "loop": self.loop.run,
            "swapping": lambda: self.swapper.run(self.config.swap_debounce),
            "survey": self.replica_monitor.run,
            "rights": self.rights_monitor.run,
            "trials": self.trials.run,
            "status": self.profile_status.run,
            "time": self._tick,
            "lag": self.metrics.watch_lag,
            "inspection": self.inspector.run,
            **{f"conditions-{i}": self.pod_conditions.run for i in range(CONDITION_WRITERS)},
            **{
                f"group-conditions-{i}": self.group_conditions.run for i in range(CONDITION_WRITERS)
            },
        }

    async def settle(self, seconds: float) -> None:
        """Decide no more; wait, at most so long, for the bindings and evictions in flight."""
        await self.loop.settle(seconds)

    # ---- inside ----------------------------------------------------------------------------------

    async def _tick(self) -> None:
        """What is due by the clock: backoffs, flushes, owed moves, gauges."""
        while True:
            now = self.ports.clock.boottime()
            for what, step in self._due_steps(now):
                with guard(what):  # a step that fails stops no other
                    step()
            due = self.queue.next_deadline(now)
            await self.ports.clock.sleep(
                TICK_SECONDS if due is None else min(max(due - now, 0.01), TICK_SECONDS)
            )

    def _due_steps(self, now: float) -> Iterator[tuple[str, Callable[[], object]]]:
        """What is due by the clock, each with its name for the log."""
        live, pod_conditions = self.live, self.pod_conditions
        yield "moving pods whose time has come", lambda: self.queue.flush(now)
        yield "waking the loop", self.work.wake_up
        yield "breaking off what takes too long", self.binder.check_timeouts
        yield "asking extenders again", lambda: self.extender_cycles.requeue_rejected(live.values())
        if live.deciding:
            yield "checking nominations", lambda: self.nomination_controller.check_due(now)
            yield "reporting gangs", lambda: self.group_scheduler.report_due(now)
            yield "reporting what is set aside", self.set_aside.report_due
        yield "telling pods that are held", lambda: self._tell_held(now)
        failures = self.queue_reports
        yield "reporting what plugins failed at", lambda: failures.report_due(pod_conditions, live)
        yield "reporting pods of unknown schedulers", self.unmatched_pods.tick
        yield "looking after profiles", lambda: self.swapper.tick(now)
        yield "measuring", self._measure

    def _tell_held(self, now: float) -> None:
        if self.live.deciding:
            self.held_pods.tick(now, held_texts(self.records, self.queue, self.status_inputs))
        else:
            self.held_pods.forget()

    def _measure(self) -> None:
        records, set_aside = self.records.profiles.values(), self.set_aside.counts
        self.metrics.gauges(self.queue, self.cache, records, set_aside)
