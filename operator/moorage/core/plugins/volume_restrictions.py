"""VolumeRestrictions: disks that can't be shared, and claims that only one pod in the cluster may
use.

Cost: nothing for pods without such volumes; else a look at the nodes that use one of them.
Source: kube-scheduler VolumeRestrictions (v1.37).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Hashable
from typing import ClassVar, NamedTuple

import numpy as np

from moorage.core.columns.nodes.node_table import Aspect, Rows
from moorage.core.columns.snapshot import Snapshot
from moorage.core.columns.store import Lister
from moorage.core.framework.cluster_events import (
    ActionType,
    ClusterEvent,
    ClusterEventWithHint,
    EventResource,
    shared_hint,
)
from moorage.core.framework.interfaces import Codes, PreFilterResult
from moorage.core.framework.status import SKIP, SUCCESS, Code, Reason, Why, rejected_for
from moorage.core.objects.meta import HasMetadata
from moorage.core.objects.pods import Pod
from moorage.core.objects.storage import PersistentVolumeClaim
from moorage.core.volumes.pod_volumes import ClaimUse, Disk, claim_uses, disks, seen_of_volumes

NAME = "VolumeRestrictions"
DISK_TAKEN = Reason("DiskConflict", "node(s) had no available disk", Code.UNSCHEDULABLE)
CLAIM_TAKEN = Reason(
    "ReadWriteOncePodConflict",
    (
        "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode "
        "already in-use by another pod"
    ),
    Code.UNSCHEDULABLE,
)
NO_CLAIM = Reason(
    "RestrictedClaimNotFound",
    'persistentvolumeclaim "{}" not found',
    Code.UNSCHEDULABLE_AND_UNRESOLVABLE,
)

_DISK, _CLAIM = 1, 2


def _frees(pod: Pod, event: ClusterEvent, _store: Lister) -> bool:
    """Whether the deleted pod used a disk or a claim that this pod wants; a disk may be used from
    any namespace.
    """
    gone = event.old
    if not isinstance(gone, Pod):
        return False
    wanted = disks(pod)
    return any(mine.clashes(its) for its in disks(gone) for mine in wanted) or bool(
        _shared_claims(pod) & _shared_claims(gone)
    )


def _is_used(pod: Pod, event: ClusterEvent, _store: Lister) -> bool:
    """Whether the new claim is one that this pod uses."""
    new = event.new
    return isinstance(new, PersistentVolumeClaim) and ClaimUse(
        new.metadata.namespace, new.metadata.name
    ) in _shared_claims(pod)


def _shared_claims(pod: Pod) -> frozenset[ClaimUse]:
    """The claims that a pod uses by name, its own ones for ephemeral volumes left out."""
    return frozenset(use for use in claim_uses(pod) if not use.owner)


class VolumeRestrictionsState(NamedTuple):
    """The pod's disks; its claims for one pod alone, and how often pods on nodes use these."""

    disks: tuple[Disk, ...]
    alone: frozenset[ClaimUse]
    users: int


@dataclasses.dataclass(frozen=True, slots=True)
class VolumeRestrictions:
    """Passes nodes whose pods leave the pod's disks alone; none while a claim of it for one pod
    alone is in use anywhere.
    """

    name: ClassVar[str] = NAME
    reasons: ClassVar[tuple[Reason, ...]] = (DISK_TAKEN, CLAIM_TAKEN, NO_CLAIM)
    reads: ClassVar[frozenset[Aspect]] = frozenset({Aspect.VOLUMES})
    required_kinds: ClassVar[frozenset[type[HasMetadata]]] = frozenset({PersistentVolumeClaim})
    events_to_register: ClassVar[tuple[ClusterEventWithHint, ...]] = (
        shared_hint(EventResource.ASSIGNED_POD, ActionType.DELETE, _frees),
        ClusterEventWithHint(EventResource.NODE, ActionType.ADD | ActionType.DELETE),
        shared_hint(EventResource.PERSISTENT_VOLUME_CLAIM, ActionType.ADD, _is_used),
    )

    def hint_signature(self, pod: Pod) -> Hashable:
        return seen_of_volumes(pod)

    def pre_filter(self, pod: Pod, snapshot: Snapshot) -> PreFilterResult:
        """The pod's disks, and the users of its claims for one pod alone; a pod without either
        skips this plugin.
        """
        uses = [use for use in claim_uses(pod) if not use.owner]
        claims = snapshot.store.version_counter(PersistentVolumeClaim)
        depends = (claims, snapshot.volumes.uses) if uses else ()
        alone = []
        for use in uses:
            claim = snapshot.store.objects(PersistentVolumeClaim).get(use.key)
            if claim is None:
                return PreFilterResult(rejected_for(((NO_CLAIM, use.name),)), depends_on=depends)
            if "ReadWriteOncePod" in (claim.spec.access_modes or ()):
                alone.append(use)
        taken = frozenset(use for use in alone if snapshot.volumes.in_use(use))
        wanted = VolumeRestrictionsState(disks(pod), frozenset(alone), len(taken))
        status = SUCCESS if wanted.disks or taken else SKIP
        return PreFilterResult(status, wanted, depends_on=depends)

    def filter(self, state: VolumeRestrictionsState, snapshot: Snapshot, rows: Rows) -> Codes:
        """A disk in use on the node comes before a claim in use anywhere."""
        codes = np.full(snapshot.nodes.rows, _CLAIM if state.users > 0 else 0)
        for disk in state.disks:
            codes[snapshot.volumes.clashing(disk)] = _DISK
        return codes[rows]

    def explain(self, state: VolumeRestrictionsState, code: int) -> Why:
        return ((DISK_TAKEN if code == _DISK else CLAIM_TAKEN, ""),)

    def adjust(
        self, state: VolumeRestrictionsState, other: Pod, row: int, sign: int, snapshot: Snapshot
    ) -> VolumeRestrictionsState:
        """One user of the claims more or less."""
        used = sum(use in state.alone for use in claim_uses(other)) if state.alone else 0
        return state._replace(users=state.users + sign * used) if used else state
