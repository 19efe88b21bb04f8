"""The rights monitor: asks what this replica's service account may do, and holds the profiles that
cannot do without what it may not.
"""

from __future__ import annotations

import asyncio
import dataclasses
import logging
from typing import Final

from moorage.core.framework.revisions import Revision
from moorage.engine.live_revisions import LiveRevisions
from moorage.engine.profile_records import ProfileRecords
from moorage.engine.profiles.activation import RevisionActivator
from moorage.engine.profiles.profile_conditions import StatusInputs
from moorage.engine.profiles.profile_status import ProfileStatusWriter
from moorage.engine.profiles.required_rights import FOR_ALL, rights_of
from moorage.ports.access_rights import AccessRight
from moorage.ports.bundle import Ports
from moorage.ports.errors import EdgeError
from moorage.ports.guards import guard
from moorage.ports.repeated_logs import once_per_failure

log = logging.getLogger(__name__)

PERIOD_SECONDS: Final = 60.0
"""Seconds until the rights are asked for anew, while all are there and nothing is refused."""
MISSING_PERIOD_SECONDS: Final = 10.0
"""The same while one is missing: pods wait for it."""
INTERVAL_SECONDS: Final = 5.0
"""Seconds between two times, however often something is refused: quotas and policies refuse with
403 too.
"""


@dataclasses.dataclass(eq=False, kw_only=True)
class RightsMonitor:
    """Asks on the leader: at its start, now and then, and soon where ``Ports.rights_in_doubt`` is
    set.
    """

    live: LiveRevisions
    records: ProfileRecords
    inputs: StatusInputs
    """What it finds, in ``rights``."""
    activator: RevisionActivator
    status: ProfileStatusWriter
    ports: Ports

    async def run(self) -> None:
        """Ask until cancelled."""
        while True:
            self.ports.rights_in_doubt.clear()
            if self.live.answering:
                with guard("asking for rights"):
                    await self.check_once()
                await self.ports.clock.sleep(INTERVAL_SECONDS)
            await self._until_due()

    async def _until_due(self) -> None:
        period = MISSING_PERIOD_SECONDS if self.inputs.rights else PERIOD_SECONDS
        sleeping = asyncio.ensure_future(self.ports.clock.sleep(period - INTERVAL_SECONDS))
        doubted = asyncio.ensure_future(self.ports.rights_in_doubt.wait())
        try:
            await asyncio.wait({sleeping, doubted}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            sleeping.cancel()
            doubted.cancel()

    async def check_once(self) -> None:
        """Ask for every right that some profile needs. Where nobody answers, what was known
        stays.
        """
        allowed = self.ports.reads.allowed
        try:
            lacking = [right for right in self._needed() if not await allowed(right)]
        except EdgeError as error:
            extra = once_per_failure(error)
            log.warning("rights could not be asked for: %s", error, extra=extra)
            return
        if self.inputs.rights.replace(lacking):
            log.warning("rights that are missing: %s", "; ".join(map(str, lacking)) or "none")
            self._hold()

    def _needed(self) -> dict[AccessRight, None]:
        """Each once, in a fixed order."""
        observes = self.inputs.observes
        needed = dict.fromkeys(FOR_ALL[observes])
        for revision in self._revisions():
            needed.update(dict.fromkeys(rights_of(revision, observes=observes)))
        return needed

    def _revisions(self) -> list[Revision]:
        """Those that decide, and those that the specs ask for."""
        found = []
        for record in self.records.profiles.values():
            if record.active is not None:
                found.append(record.active.revision)
            if record.resolution is not None and record.resolution.made is not None:
                found.append(record.resolution.made)
        return found

    def _hold(self) -> None:
        """Pods of profiles that lack a right wait from now on; those of others are tried again."""
        for record in self.records.profiles.values():
            active = record.active
            if active is not None and record.lacks != self.inputs.rights.holding(active.revision):
                self.activator.serve_or_hold(record)
        self.status.notify()
