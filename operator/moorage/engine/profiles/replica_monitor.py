"""The replica monitor: what a replica checks and announces at its own pace: the other replicas and
its own rights.
"""

from __future__ import annotations

import asyncio
import dataclasses
import itertools
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import NamedTuple, ParamSpec

from moorage.core.framework.registry import RequiredAccess
from moorage.engine.live_revisions import LiveRevisions
from moorage.engine.profile_records import ProfileRecords
from moorage.engine.profiles.profile_conditions import (
    RequiredRight,
    StatusInputs,
    rights_required_by,
)
from moorage.engine.profiles.profile_status import ProfileStatusWriter
from moorage.engine.profiles.quarantine import PluginQuarantine
from moorage.ports.bundle import Ports
from moorage.ports.errors import EdgeError
from moorage.ports.guards import guard
from moorage.ports.kube import REPLICA_PERIOD_SECONDS
from moorage.ports.repeated_logs import once_per_failure
from moorage.ports.stored_kinds import NAMESPACES, POD_GROUPS

log = logging.getLogger(__name__)
P = ParamSpec("P")

ROUND_INTERVAL_SECONDS = 2.0
"""Seconds between two rounds, however often the live revisions change."""


class AccessRight(NamedTuple):
    """What the service account may do: everywhere, or with ``home`` in the namespace of the
    Lease.
    """

    verb: str
    group: str
    resource: str
    home: bool

    def __str__(self) -> str:
        where = " in its own namespace" if self.home else ""
        return f"{self.verb} {self.resource}{self.group and f'.{self.group}'}{where}"


_OBSERVING = (
    # Verbs, API group, resource, whether only in its own namespace.
    ("list watch", "", "nodes", False),
    ("list watch", "", NAMESPACES.resource, False),
    ("list watch", "", "pods", False),
    ("list watch", "moorage.dev", "schedulerprofiles", False),
    ("list watch", "moorage.dev", "pluginconfigs", False),
    ("patch", "moorage.dev", "schedulerprofiles/status", False),
    ("get", "coordination.k8s.io", "leases", False),
    ("list watch", "apiextensions.k8s.io", "customresourcedefinitions", False),
    ("create delete get list patch update", "coordination.k8s.io", "leases", True),
    ("list", "apps", "controllerrevisions", True),
)
_DECIDING = (
    ("delete get", "", "pods", False),
    ("create", "", "pods/binding", False),
    ("create", "", "pods/eviction", False),
    ("patch", "", "pods/status", False),
    ("patch", POD_GROUPS[0].group, "podgroups/status", False),
    ("create patch", "events.k8s.io", "events", False),
    ("patch", "moorage.dev", "pluginconfigs/status", False),
    ("create delete patch", "apps", "controllerrevisions", True),
)


def _rights(needed: Iterable[tuple[str, str, str, bool]]) -> tuple[AccessRight, ...]:
    return tuple(
        AccessRight(verb, group, resource, home)
        for verbs, group, resource, home in needed
        for verb in verbs.split()
    )


OBSERVER_RIGHTS = _rights(_OBSERVING)
"""What every profile needs of an observer, whatever its plugins."""
RIGHTS = (*OBSERVER_RIGHTS, *_rights(_DECIDING))
"""What every profile needs of an installation that decides, whatever its plugins."""


def rights_to(need: RequiredRight) -> tuple[AccessRight, ...]:
    """What it takes to decide by objects of a kind, or to do what an actor does."""
    if isinstance(need, RequiredAccess):
        return tuple(
            AccessRight(verb, need.group, need.resource, need.own_namespace_only)
            for verb in need.verbs
        )
    return tuple(
        AccessRight(verb, need.group, need.resource, home=False) for verb in ("list", "watch")
    )


@dataclasses.dataclass(eq=False, kw_only=True)
class ReplicaMonitor:
    """Announces this replica, and for the leader checks the others and its rights. It does so soon
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
    _rights_due: float = dataclasses.field(default=float("-inf"), init=False)

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
        if self.live.leading:
            await self._try(self._check_replicas)
            await self._try(self._check_rights)
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
            await self.ports.writes.delete_replica(identity)

    async def _check_rights(self) -> None:
        if self.ports.clock.boottime() < self._rights_due:
            return
        rights = OBSERVER_RIGHTS if self.inputs.observes else RIGHTS
        self.inputs.missing_rights = await self._missing(rights)
        self.inputs.missing_for = {
            need: await self._missing(rights_to(need)) for need in self._needs()
        }
        self._rights_due = self.ports.clock.boottime() + REPLICA_PERIOD_SECONDS

    def _needs(self) -> Mapping[RequiredRight, None]:
        """What the revisions of profiles need beside what every profile needs, each once."""
        resolutions = [record.resolution for record in self.records.profiles.values()]
        made = [resolution.made for resolution in resolutions if resolution is not None]
        observes = self.inputs.observes
        needs = (rights_required_by(one, observes=observes) for one in made if one is not None)
        return dict.fromkeys(itertools.chain.from_iterable(needs))

    async def _missing(self, rights: tuple[AccessRight, ...]) -> tuple[str, ...]:
        return tuple([str(right) for right in rights if not await self.ports.reads.allowed(*right)])

    async def _withdraw(self) -> None:
        try:
            await self.ports.announcer.withdraw(self.ports.election.identity)
        except EdgeError as error:
            log.info("the announcement could not be taken back, it expires: %s", error)
