"""NodeVolumeLimits: a node can hold only so many volumes of a CSI driver.

Cost: nothing for pods without claims; else an array operation per driver over the nodes that changed.
Source: kube-scheduler NodeVolumeLimits (v1.36); docs/adr/0007 on claims that a pod does not own.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Hashable, Mapping
from typing import ClassVar, NamedTuple

import numpy as np

from moorage.core.columns.nodes.node_table import Aspect, Rows
from moorage.core.columns.snapshot import Snapshot
from moorage.core.columns.store import Objects
from moorage.core.columns.volume_table import find_volume
from moorage.core.framework.cluster_events import Action, ClusterEvent, Resource, Wake
from moorage.core.framework.interfaces import Codes, Prepared
from moorage.core.framework.status import SKIP, SUCCESS, Code, Reason, Why
from moorage.core.objects.meta import HasMetadata, key
from moorage.core.objects.pods import Pod
from moorage.core.objects.storage import CSINode, PersistentVolume, PersistentVolumeClaim, StorageClass, VolumeAttachment
from moorage.core.volumes.csi_migration import VolumeId, inline_volumes
from moorage.core.volumes.pod_volumes import claim_uses, identity_for_claims, not_owner, seen_of_volumes

NAME = "NodeVolumeLimits"
TOO_MANY = Reason("TooManyVolumes", "node(s) exceed max volume count", Code.UNSCHEDULABLE)
NO_CLAIM = Reason("LimitedClaimNotFound", "looking up PVC {}", Code.UNRESOLVABLE)
NOT_OWNER = Reason("LimitedClaimNotOwned", "PVC {} (pod is not owner)", Code.UNRESOLVABLE)
NAMELESS = Reason("LimitedClaimWithoutName", "PersistentVolumeClaim had no name", Code.UNRESOLVABLE)

_TOO_MANY, _UNKNOWN = 1, 2


class Wanted(NamedTuple):
    """The pod's volumes by driver, or why they can't be told."""

    volumes: Mapping[str, frozenset[VolumeId]]
    unknown: Why = ()


def _has_more(_pod: Pod, event: ClusterEvent, _store: Objects) -> bool:
    """Whether the node can hold more volumes of a driver than before, or any number."""
    old, new = event.old, event.new
    if not isinstance(new, CSINode) or not isinstance(old, CSINode):
        return True
    before, after = _limits(old), _limits(new)
    return not before.keys() <= after.keys() or any(limit > before.get(driver, 0) for driver, limit in after.items())


def _limits(node: CSINode) -> dict[str, int]:
    """The drivers that have a limit."""
    said = ((one.name, one.allocatable.count if one.allocatable is not None else None) for one in node.spec.drivers or ())
    return {driver: count for driver, count in said if count is not None}


def _frees(_pod: Pod, event: ClusterEvent, _store: Objects) -> bool:
    """Whether the deleted pod was on a node, or was to go there, and had volumes."""
    gone = event.old
    if not isinstance(gone, Pod) or not (gone.spec.node_name or gone.status.nominated_node_name):
        return False
    return _counts_volumes(gone)


def _is_used(pod: Pod, event: ClusterEvent, _store: Objects) -> bool:
    """Whether the new claim is one that this pod uses; or, of any pod, one that counts otherwise since it has its volume."""
    old, claim = event.old, event.new
    if isinstance(old, PersistentVolumeClaim) and isinstance(claim, PersistentVolumeClaim):
        return old.spec.volume_name != claim.spec.volume_name
    return claim is not None and any(use.key == key(claim) for use in claim_uses(pod))


def _brings_a_volume(pod: Pod, event: ClusterEvent, _store: Objects) -> bool:
    """Whether a pod that came to a node has a volume there that this pod needs too, so that it counts no more."""
    came = event.new
    return isinstance(came, Pod) and not {use.key for use in claim_uses(pod)}.isdisjoint(use.key for use in claim_uses(came))


def _is_detached(pod: Pod, event: ClusterEvent, _store: Objects) -> bool:
    """Whether the volume that was detached may make room for one of this pod."""
    gone = event.old
    if any(volume.persistent_volume_claim is not None for volume in pod.spec.volumes or ()):
        return True
    return isinstance(gone, VolumeAttachment) and any(volume.driver == gone.spec.attacher for volume in inline_volumes(pod))


def _counts_volumes(pod: Pod) -> bool:
    return bool(inline_volumes(pod)) or any(True for _ in claim_uses(pod))


@dataclasses.dataclass(frozen=True, slots=True)
class NodeVolumeLimits:
    """Passes nodes that can hold all of the pod's volumes that are not there already."""

    name: ClassVar[str] = NAME
    reasons: ClassVar[tuple[Reason, ...]] = (TOO_MANY, NO_CLAIM, NOT_OWNER, NAMELESS)
    reads: ClassVar[frozenset[Aspect]] = frozenset({Aspect.VOLUMES})
    kinds: ClassVar[frozenset[type[HasMetadata]]] = frozenset(
        {CSINode, PersistentVolume, PersistentVolumeClaim, StorageClass, VolumeAttachment}
    )
    wakes: ClassVar[tuple[Wake, ...]] = (
        Wake(Resource.CSI_NODE, Action.ADD | Action.DELETE),
        Wake(Resource.CSI_NODE, Action.UPDATE, _has_more, shared=True),
        Wake(Resource.POD, Action.DELETE, _frees, shared=True),
        Wake(Resource.ASSIGNED_POD, Action.ADD, _brings_a_volume, shared=True),
        Wake(Resource.PERSISTENT_VOLUME_CLAIM, Action.ADD | Action.UPDATE, _is_used, shared=True),
        # Of what is gone nobody knows any more which driver it counts for.
        Wake(Resource.PERSISTENT_VOLUME_CLAIM, Action.DELETE),
        Wake(Resource.PERSISTENT_VOLUME, Action.DELETE),
        Wake(Resource.STORAGE_CLASS, Action.DELETE),
        Wake(Resource.VOLUME_ATTACHMENT, Action.DELETE, _is_detached, shared=True),
    )

    def heeds(self, pod: Pod) -> Hashable:
        """Its volumes."""
        return seen_of_volumes(pod)

    def distinguish(self, pod: Pod, snapshot: Snapshot) -> bytes:
        """Claims of ephemeral volumes are named after their pod."""
        return identity_for_claims(pod)

    def pre_filter(self, pod: Pod, snapshot: Snapshot) -> Prepared:
        """The pod's volumes as CSI drivers know them; a pod that has no claims and none of these skips this plugin."""
        if not _counts_volumes(pod):
            return Prepared(SKIP)
        depends = tuple(snapshot.store.clock(kind) for kind in (PersistentVolumeClaim, PersistentVolume, StorageClass))
        return Prepared(SUCCESS, _wanted(pod, snapshot), depends=depends)

    def filter(self, state: Wanted, snapshot: Snapshot, rows: Rows) -> Codes:
        """1 where there is no room for one of the drivers' volumes."""
        if state.unknown:
            return np.full(snapshot.nodes.live[rows].size, _UNKNOWN)
        codes = np.zeros(snapshot.nodes.rows, np.int64)
        for driver, volumes in state.volumes.items():
            spare = snapshot.volumes.spare(driver)
            if spare is not None:
                new = np.full(spare.size, len(volumes))
                for volume in volumes:
                    new[list(snapshot.volumes.mounted(volume))] -= 1
                codes[(new > 0) & (new > spare)] = _TOO_MANY
        return codes[rows]

    def explain(self, state: Wanted, code: int) -> Why:
        """One reason."""
        return ((TOO_MANY, ""),) if code == _TOO_MANY else state.unknown


def _wanted(pod: Pod, snapshot: Snapshot) -> Wanted:
    found = list(inline_volumes(pod))
    for use in claim_uses(pod):
        if not use.name:
            return Wanted({}, ((NAMELESS, ""),))
        claim, volume, _ = find_volume(use.key, snapshot.store)
        if claim is None:
            return Wanted({}, ((NO_CLAIM, f'{use.key}: persistentvolumeclaim "{use.name}" not found'),))
        if not use.owns(claim):
            return Wanted({}, ((NOT_OWNER, not_owner(pod, use)),))
        if volume is not None:
            found.append(volume)
    by_driver: dict[str, frozenset[VolumeId]] = {}
    for volume in found:
        by_driver[volume.driver] = by_driver.get(volume.driver, frozenset()) | {volume}
    return Wanted(by_driver)
