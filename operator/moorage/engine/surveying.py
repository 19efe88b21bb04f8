"""Surveying: what a replica finds out, and tells, at its own pace: the other replicas and its own rights."""

from __future__ import annotations

import asyncio
import logging

from moorage.engine.reconciling import Reconciler
from moorage.engine.swapping import Swapper
from moorage.ports.errors import EdgeError
from moorage.ports.kube import REPLICA_PERIOD, Announcer, Reads, Writes

log = logging.getLogger(__name__)

RIGHTS: tuple[tuple[str, str, str], ...] = (
    ("list", "", "pods"),
    ("watch", "", "pods"),
    ("get", "", "pods"),
    ("create", "", "pods/binding"),
    ("patch", "", "pods/status"),
    ("list", "", "nodes"),
    ("watch", "", "nodes"),
    ("list", "", "namespaces"),
    ("watch", "", "namespaces"),
    ("create", "events.k8s.io", "events"),
    ("patch", "moorage.dev", "schedulerprofiles/status"),
    ("patch", "moorage.dev", "pluginconfigs/status"),
)
"""(verb, API group, resource) that every profile needs, whatever its plugins."""


class Surveyor:
    """Announces this replica, and for the leader looks at the others and at its rights."""

    def __init__(self, identity: str, announcer: Announcer, reads: Reads, writes: Writes) -> None:
        self._identity = identity
        self._announcer = announcer
        self._reads = reads
        self._writes = writes
        self._changed = asyncio.Event()

    def poke(self) -> None:
        """The live revisions changed: say so soon."""
        self._changed.set()

    async def run(self, swapper: Swapper, reconciler: Reconciler) -> None:
        """Go round until cancelled; take back the announcement at the end."""
        try:
            while True:
                self._changed.clear()
                await self.round(swapper, reconciler)
                try:
                    async with asyncio.timeout(REPLICA_PERIOD):
                        await self._changed.wait()
                except TimeoutError:
                    continue
        finally:
            await self._withdraw()

    async def round(self, swapper: Swapper, reconciler: Reconciler) -> None:
        """One look around. What fails is looked at again next time."""
        live = {record.name: record.active.revision.id for record in swapper.records.values() if record.active is not None}
        try:
            await self._announcer.announce(self._identity, live)
            if swapper.leading:
                reconciler.situation.replicas = tuple(await self._reads.replicas())
                for identity in await self._reads.dead_replicas():
                    await self._writes.delete_replica(identity)
                reconciler.situation.missing_rights = await self._missing_rights()
                reconciler.poke()
        except EdgeError as error:
            log.warning("looking around failed, next time more: %s", error)

    async def _missing_rights(self) -> tuple[str, ...]:
        missing = []
        for verb, group, resource in RIGHTS:
            if not await self._reads.allowed(verb, group, resource):
                missing.append(f"{verb} {resource}{f'.{group}' if group else ''}")
        return tuple(missing)

    async def _withdraw(self) -> None:
        try:
            await self._announcer.withdraw(self._identity)
        except EdgeError as error:
            log.info("the announcement could not be taken back, it expires: %s", error)
