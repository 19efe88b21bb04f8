"""The replica monitor: what a replica announces of itself, and checks of the others, at its own
pace.
"""

from __future__ import annotations

import asyncio
import dataclasses
import logging
from collections.abc import Awaitable, Callable
from typing import ParamSpec

from moorage.engine.live_revisions import LiveRevisions
from moorage.engine.profile_records import ProfileRecords
from moorage.engine.profiles.profile_conditions import StatusInputs
from moorage.engine.profiles.profile_status import ProfileStatusWriter
from moorage.engine.profiles.quarantine import PluginQuarantine
from moorage.ports.bundle import Ports
from moorage.ports.errors import EdgeError
from moorage.ports.guards import guard
from moorage.ports.kube import REPLICA_PERIOD_SECONDS
from moorage.ports.repeated_logs import once_per_failure

log = logging.getLogger(__name__)
P = ParamSpec("P")

ROUND_INTERVAL_SECONDS = 2.0
"""Seconds between two rounds, however often the live revisions change."""


@dataclasses.dataclass(eq=False, kw_only=True)
class ReplicaMonitor:
    """Announces this replica, and for the leader checks the others. It does so soon
    when ``changed`` is set: the live revisions may be others.
    """

    live: LiveRevisions
    records: ProfileRecords
    inputs: StatusInputs
    """What it finds; ``status`` is written by it."""
    status: ProfileStatusWriter
    quarantine: PluginQuarantine
    changed: asyncio.Event
    ports: Ports

    async def run(self) -> None:
        """Go round until cancelled; take back the announcement at the end.

        A change is followed by two rounds: the other replicas need a moment to follow it, and the
        second shows that they did.
        """
        settled = False
        try:
            while True:
                self.changed.clear()
                await self.check_once()
                await self.ports.clock.sleep(ROUND_INTERVAL_SECONDS)
                seconds = REPLICA_PERIOD_SECONDS if settled else 0.0
                settled = not await self._changed_within(seconds)
        finally:
            await self._withdraw()

    async def _changed_within(self, seconds: float) -> bool:
        try:
            async with asyncio.timeout(seconds):
                return await self.changed.wait()
        except TimeoutError:
            return False

    async def check_once(self) -> None:
        """One round. What fails is checked again in the next one."""
        live = {
            record.name: record.active.revision.id
            for record in self.records.profiles.values()
            if record.active is not None
        }
        await self._try(self.ports.announcer.announce, self.ports.election.identity, live)
        await self._try(self.quarantine.refresh)
        if self.live.answering:
            await self._try(self._check_replicas)
            self.status.notify()

    async def _try(
        self, check: Callable[P, Awaitable[None]], *args: P.args, **kwargs: P.kwargs
    ) -> None:
        """One check that fails, as for want of a right, must not keep the others from running."""
        with guard("a check of the replica monitor"):
            try:
                await check(*args, **kwargs)
            except EdgeError as error:
                extra = once_per_failure(error)
                log.warning("a check failed, next time more: %s", error, extra=extra)

    async def _check_replicas(self) -> None:
        self.inputs.replicas = tuple(await self.ports.reads.replicas())
        for identity in await self.ports.reads.dead_replicas():
            await self.ports.status_writes.delete_replica(identity)

    async def _withdraw(self) -> None:
        try:
            await self.ports.announcer.withdraw(self.ports.election.identity)
        except EdgeError as error:
            log.info("the announcement could not be taken back, it expires: %s", error)
