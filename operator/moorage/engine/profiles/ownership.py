"""Ownership: profiles that somebody outside this installation has a better right to.

A profile's status says which installation serves it. That is a hint, no more: whoever may
write the status may say anything there. What is believed is that installation's own Leases, if they
are where tenants have none: in a namespace with the label ``moorage.dev/home``, which only those
who may write namespaces can give, in our own, or in kube-system. While the Lease named is being
renewed, and its holder announces that it serves the profile, the profile is left to it. The name
default-scheduler is left to kube-scheduler while that is running.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable

from moorage.api import bodies
from moorage.api.conditions import ConditionReason
from moorage.api.pod_reviews import DEFAULT_SCHEDULER
from moorage.core.columns.store import Store
from moorage.core.framework.revisions import FieldError
from moorage.core.objects.meta import Namespace
from moorage.engine.profile_records import ProfileRecord
from moorage.ports.errors import EdgeError
from moorage.ports.guards import FAULTS, log_bug
from moorage.ports.kube import HOME_LABEL, KubeReader
from moorage.ports.repeated_logs import once_per_cause

log = logging.getLogger(__name__)

KUBE_SCHEDULER = "kube-system/kube-scheduler"
_STOP_IT = "delete it there, or stop that installation"
_KUBE_SCHEDULER_RUNS = (
    "kube-scheduler is running and serves this name; stop it first, or choose another name"
)


def may_hold_leases(store: Store, own_namespace: str, namespace: str) -> bool:
    """Whether Leases in this namespace may be an installation's: tenants cannot make it one."""
    known = store.objects(Namespace).get(namespace)
    labelled = known is not None and HOME_LABEL in (known.metadata.labels or {})
    return labelled or namespace in (own_namespace, "kube-system")


class ProfileOwnership:
    """Reads other installations' Leases. ``own_lease`` is namespace/lease of this installation,
    as status.claimedBy writes it.

    ``may_hold_leases(namespace)``: whether a Lease there may be an installation's.
    """

    def __init__(
        self, reads: KubeReader, own_lease: str, may_hold_leases: Callable[[str], bool]
    ) -> None:
        self.own_lease = own_lease
        self._reads = reads
        self._may_hold_leases = may_hold_leases

    async def conflict(self, record: ProfileRecord) -> FieldError | None:
        """Who else serves this profile, as a fault of it; None when it is ours to serve."""
        theirs, body = _claimant(record), record.body
        if await self._serves(theirs, record.name):
            text = f"the installation with Lease {theirs} serves this profile; {_STOP_IT}"
            reason = ConditionReason.CLAIMED_BY_ANOTHER
            return FieldError("controllerName", bodies.controller_name(body), text, reason)
        name = bodies.scheduler_name(body)
        if name == DEFAULT_SCHEDULER and await self._kube_scheduler_runs():
            reason = ConditionReason.DEFAULT_SCHEDULER_ACTIVE
            return FieldError("schedulerName", name, _KUBE_SCHEDULER_RUNS, reason)
        return None

    def is_contested(self, record: ProfileRecord) -> bool:
        """Whether the answer depends on somebody else's Lease, so that it may change with time."""
        return (
            self._is_foreign(_claimant(record))
            or bodies.scheduler_name(record.body) == DEFAULT_SCHEDULER
        )

    def _is_foreign(self, lease: str) -> bool:
        return lease not in ("", self.own_lease)

    async def _kube_scheduler_runs(self) -> bool:
        return self._is_foreign(KUBE_SCHEDULER) and await self._is_renewed(KUBE_SCHEDULER)

    async def _serves(self, lease: str, profile: str) -> bool:
        """Whether the installation with this Lease serves the profile, by its own word."""
        namespace, _, name = lease.partition("/")
        if not self._is_foreign(lease):
            return False
        if not self._may_hold_leases(namespace):
            extra = once_per_cause(f"claim {lease} {profile}", profile=profile)
            log.warning(
                "status.claimedBy is %r, where no installation is at home: not believed",
                lease,
                extra=extra,
            )
            return False
        return await self._is_renewed(lease) and await self._true_if_unreadable(
            self._reads.serves(namespace, name, profile), lease
        )

    async def _is_renewed(self, lease: str) -> bool:
        """Whether somebody renews this Lease."""
        namespace, _, name = lease.partition("/")
        return await self._true_if_unreadable(self._reads.lease_renewed(namespace, name), lease)

    async def _true_if_unreadable(self, answer: Awaitable[bool], lease: str) -> bool:
        """One that cannot be read is taken for held: serving twice is the worse mistake."""
        try:
            return await answer
        except EdgeError as error:
            log.warning(
                "Lease %s cannot be read, so it is taken for held: %s",
                lease,
                error,
                extra=once_per_cause(f"lease {lease} {error}"),
            )
            return True
        except FAULTS as error:
            log_bug("reading a Lease", error, lease=lease)
            return True


class ObserverOwnership(ProfileOwnership):
    """An observer takes no pods from anybody, so that nothing stands in the way of a profile: it
    may have the schedulerName of a scheduler that is running. But whoever serves it writes its
    status.
    """

    async def conflict(self, record: ProfileRecord) -> None:
        """None: whoever else serves this profile is noted in it."""
        theirs = _claimant(record)
        record.served_by = theirs if await self._serves(theirs, record.name) else ""


def _claimant(record: ProfileRecord) -> str:
    """namespace/lease of the installation that serves the profile, as its status says; "" for
    none.
    """
    return str(bodies.status(record.body).get("claimedBy") or "")
