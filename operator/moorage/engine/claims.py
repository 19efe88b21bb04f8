"""Claims: profiles that somebody outside this installation has a better right to.

A profile's status says which installation serves it. While another one's Lease is being renewed, the profile is left to it; so is
the name default-scheduler while kube-scheduler is running.
"""

from __future__ import annotations

import logging

from moorage.api import bodies
from moorage.api.conditions import Reason
from moorage.core.framework.profiles import FieldError
from moorage.engine.profiles import ProfileRecord
from moorage.ports.errors import EdgeError
from moorage.ports.kube import Reads

log = logging.getLogger(__name__)

DEFAULT_SCHEDULER = "default-scheduler"
KUBE_SCHEDULER = "kube-system/kube-scheduler"


class Claims:
    """Looks at other installations' Leases. ``ours`` is namespace/lease of this installation, as status.claimedBy writes it."""

    def __init__(self, reads: Reads, ours: str) -> None:
        self.ours = ours
        self._reads = reads

    async def conflict(self, record: ProfileRecord) -> FieldError | None:
        """Who else serves this profile, as a fault of it; None when it is ours to serve."""
        theirs = _claimant(record)
        if self._foreign(theirs) and await self._renewed(theirs):
            text = f"the installation with Lease {theirs} serves this profile; delete it there, or stop that installation"
            return FieldError("controllerName", bodies.controller_name(record.body), text, Reason.CLAIMED_BY_ANOTHER)
        name = bodies.scheduler_name(record.body)
        if name == DEFAULT_SCHEDULER and self._foreign(KUBE_SCHEDULER) and await self._renewed(KUBE_SCHEDULER):
            text = "kube-scheduler is running and serves this name; stop it first, or choose another name"
            return FieldError("schedulerName", name, text, Reason.DEFAULT_SCHEDULER_ACTIVE)
        return None

    def contested(self, record: ProfileRecord) -> bool:
        """Whether the answer depends on somebody else's Lease, so that it may change with time."""
        return self._foreign(_claimant(record)) or bodies.scheduler_name(record.body) == DEFAULT_SCHEDULER

    def _foreign(self, lease: str) -> bool:
        return lease not in ("", self.ours)

    async def _renewed(self, lease: str) -> bool:
        """Whether somebody renews this Lease. One that cannot be read is taken for held: serving twice is the worse mistake."""
        namespace, _, name = lease.partition("/")
        try:
            return await self._reads.lease_renewed(namespace, name)
        except EdgeError as error:
            log.warning("Lease %s cannot be read, so it is taken for held: %s", lease, error)
            return True


def _claimant(record: ProfileRecord) -> str:
    """namespace/lease of the installation that serves the profile, as its status says; "" for none."""
    return str(bodies.status(record.body).get("claimedBy") or "")
