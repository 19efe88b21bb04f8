"""NodeVolumeLimits: a node can hold only so many volumes of a CSI driver; and none where the driver
is not installed, if the driver wants that.

Cost: nothing for pods without claims; else an array operation per driver over the nodes that
changed.
Source: kube-scheduler NodeVolumeLimits (v1.37); docs/adr/0007 on claims that a pod does not own.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Hashable, Mapping
from typing import ClassVar, NamedTuple

import numpy as np

from moorage.core.columns.change_log import Versioned
from moorage.core.columns.nodes.node_table import Aspect, Rows
from moorage.core.columns.snapshot import Snapshot
from moorage.core.columns.store import Lister
from moorage.core.columns.volume_table import resolve_claim
from moorage.core.framework.cluster_events import (
    ActionType,
    ClusterEvent,
    ClusterEventWithHint,
    EventResource,
    shared_hint,
)
from moorage.core.framework.interfaces import Codes, PreFilterResult
from moorage.core.framework.status import SKIP, SUCCESS, Code, Reason, Why
from moorage.core.objects.meta import HasMetadata, key
from moorage.core.objects.pods import Pod
from moorage.core.objects.storage import (
    CSIDriver,
    CSINode,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
)
from moorage.core.volumes.csi_migration import VolumeId, inline_volumes, is_native
from moorage.core.volumes.pod_volumes import (
    claim_uses,
    identity_for_claims,
    not_owner,
    seen_of_volumes,
)

NAME = "NodeVolumeLimits"
TOO_MANY = Reason("TooManyVolumes", "node(s) exceed max volume count", Code.UNSCHEDULABLE)
NOT_INSTALLED = Reason(
    "DriverNotInstalled", "{} CSI driver is not installed on the node", Code.UNSCHEDULABLE
)
NO_CLAIM = Reason("LimitedClaimNotFound", "looking up PVC {}", Code.UNSCHEDULABLE_AND_UNRESOLVABLE)
NOT_OWNER = Reason(
    "LimitedClaimNotOwned", "PVC {} (pod is not owner)", Code.UNSCHEDULABLE_AND_UNRESOLVABLE
)
NAMELESS = Reason(
    "LimitedClaimWithoutName",
    "PersistentVolumeClaim had no name",
    Code.UNSCHEDULABLE_AND_UNRESOLVABLE,
)

_TOO_MANY, _UNKNOWN, _FIRST_MISSING = 1, 2, 3


class NodeVolumeLimitsState(NamedTuple):
    """The pod's volumes by driver, or why they can't be told.

    ``required``: the drivers that have to be installed; False: where there is a CSINode at all, as
    volumes that were in-tree count nowhere else.
    """

    volumes: Mapping[str, frozenset[VolumeId]]
    unknown: Why = ()
    required: tuple[tuple[str, bool], ...] = ()


def _has_more(_pod: Pod, event: ClusterEvent, store: Lister) -> bool:
    """Whether the node can hold more volumes of a driver than before, or any number, or has another
    driver that insists on being there.
    """
    old, new = event.old, event.new
    if not isinstance(new, CSINode) or not isinstance(old, CSINode):
        return True
    before, after = _limits(old), _limits(new)
    return (
        not before.keys() <= after.keys()
        or any(limit > before.get(driver, 0) for driver, limit in after.items())
        or any(_insists(store.objects(CSIDriver).get(name)) for name in _names(new) - _names(old))
    )


def _names(node: CSINode) -> set[str]:
    return {driver.name for driver in node.spec.drivers or ()}


def _limits(node: CSINode) -> dict[str, int]:
    """The drivers that have a limit."""
    said = (
        (one.name, one.allocatable.count if one.allocatable is not None else None)
        for one in node.spec.drivers or ()
    )
    return {driver: count for driver, count in said if count is not None}


def _insists_no_more(_pod: Pod, event: ClusterEvent, _store: Lister) -> bool:
    """Whether a driver does not ask any more to be installed."""
    old, new = event.old, event.new
    return _insists(old) and not _insists(new)


def _insists(driver: HasMetadata | None) -> bool:
    return isinstance(driver, CSIDriver) and bool(driver.spec.prevent_pod_scheduling_if_missing)


def _frees(_pod: Pod, event: ClusterEvent, _store: Lister) -> bool:
    """Whether the deleted pod was on a node, or was to go there, and had volumes."""
    gone = event.old
    if not isinstance(gone, Pod) or not (gone.spec.node_name or gone.status.nominated_node_name):
        return False
    return _counts_volumes(gone)


def _is_used(pod: Pod, event: ClusterEvent, _store: Lister) -> bool:
    """Whether the new claim is one that this pod uses; or, of any pod, one that counts otherwise
    since it has its volume.
    """
    old, claim = event.old, event.new
    if isinstance(old, PersistentVolumeClaim) and isinstance(claim, PersistentVolumeClaim):
        return old.spec.volume_name != claim.spec.volume_name
    return claim is not None and any(use.key == key(claim) for use in claim_uses(pod))


def _brings_a_volume(pod: Pod, event: ClusterEvent, _store: Lister) -> bool:
    """Whether a pod that came to a node has a volume there that this pod needs too, so that it
    counts no more.
    """
    came = event.new
    return isinstance(came, Pod) and not {use.key for use in claim_uses(pod)}.isdisjoint(
        use.key for use in claim_uses(came)
    )


def _is_detached(pod: Pod, event: ClusterEvent, _store: Lister) -> bool:
    """Whether the volume that was detached may make room for one of this pod."""
    gone = event.old
    if any(volume.persistent_volume_claim is not None for volume in pod.spec.volumes or ()):
        return True
    return isinstance(gone, VolumeAttachment) and any(
        volume.driver == gone.spec.attacher for volume in inline_volumes(pod)
    )


def _counts_volumes(pod: Pod) -> bool:
    return bool(inline_volumes(pod)) or any(True for _ in claim_uses(pod))


@dataclasses.dataclass(frozen=True, slots=True)
class NodeVolumeLimits:
    """Passes nodes that can hold all of the pod's volumes that are not there already."""

    name: ClassVar[str] = NAME
    reasons: ClassVar[tuple[Reason, ...]] = (
        TOO_MANY,
        NOT_INSTALLED,
        NO_CLAIM,
        NOT_OWNER,
        NAMELESS,
    )
    reads: ClassVar[frozenset[Aspect]] = frozenset({Aspect.VOLUMES})
    required_kinds: ClassVar[frozenset[type[HasMetadata]]] = frozenset(
        {
            CSIDriver,
            CSINode,
            PersistentVolume,
            PersistentVolumeClaim,
            StorageClass,
            VolumeAttachment,
        }
    )
    events_to_register: ClassVar[tuple[ClusterEventWithHint, ...]] = (
        ClusterEventWithHint(EventResource.CSI_NODE, ActionType.ADD | ActionType.DELETE),
        shared_hint(EventResource.CSI_NODE, ActionType.UPDATE, _has_more),
        shared_hint(
            EventResource.CSI_DRIVER, ActionType.UPDATE | ActionType.DELETE, _insists_no_more
        ),
        shared_hint(EventResource.ASSIGNED_POD, ActionType.DELETE, _frees),
        shared_hint(EventResource.ASSIGNED_POD, ActionType.ADD, _brings_a_volume),
        shared_hint(
            EventResource.PERSISTENT_VOLUME_CLAIM, ActionType.ADD | ActionType.UPDATE, _is_used
        ),
        # Of what is gone nobody knows any more which driver it counts for.
        ClusterEventWithHint(EventResource.PERSISTENT_VOLUME_CLAIM, ActionType.DELETE),
        ClusterEventWithHint(EventResource.PERSISTENT_VOLUME, ActionType.DELETE),
        ClusterEventWithHint(EventResource.STORAGE_CLASS, ActionType.DELETE),
        shared_hint(EventResource.VOLUME_ATTACHMENT, ActionType.DELETE, _is_detached),
    )

    def hint_signature(self, pod: Pod) -> Hashable:
        return seen_of_volumes(pod)

    def sign_pod(self, pod: Pod, snapshot: Snapshot) -> bytes:
        """Claims of ephemeral volumes are named after their pod."""
        return identity_for_claims(pod)

    def sign_depends_on(self, pod: Pod, snapshot: Snapshot) -> tuple[Versioned, ...] | None:
        """Others have no such claims."""
        return None if identity_for_claims(pod) else ()

    def pre_filter(self, pod: Pod, snapshot: Snapshot) -> PreFilterResult:
        """The pod's volumes as CSI drivers know them; a pod that has no claims and none of these
        skips this plugin.
        """
        if not _counts_volumes(pod):
            return PreFilterResult(SKIP)
        depends = tuple(
            snapshot.store.version_counter(kind)
            for kind in (PersistentVolumeClaim, PersistentVolume, StorageClass, CSIDriver)
        )
        return PreFilterResult(SUCCESS, _state_of(pod, snapshot), depends_on=depends)

    def filter(self, state: NodeVolumeLimitsState, snapshot: Snapshot, rows: Rows) -> Codes:
        """Whether a driver is missing comes first, then whether there is room for its volumes."""
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
        for i, (driver, native) in enumerate(state.required):
            counts = np.full(codes.size, native)
            counts[list(snapshot.volumes.installed(""))] = True
            counts[list(snapshot.volumes.installed(driver))] = False
            codes[counts & (codes < _FIRST_MISSING)] = _FIRST_MISSING + i
        return codes[rows]

    def explain(self, state: NodeVolumeLimitsState, code: int) -> Why:
        if code >= _FIRST_MISSING:
            return ((NOT_INSTALLED, state.required[code - _FIRST_MISSING][0]),)
        return ((TOO_MANY, ""),) if code == _TOO_MANY else state.unknown


def _state_of(pod: Pod, snapshot: Snapshot) -> NodeVolumeLimitsState:
    found = list(inline_volumes(pod))
    native = dict.fromkeys((volume.driver for volume in found), False)
    for use in claim_uses(pod):
        if not use.name:
            return NodeVolumeLimitsState({}, ((NAMELESS, ""),))
        claim, volume, sources = resolve_claim(use.key, snapshot.store)
        if claim is None:
            return NodeVolumeLimitsState(
                {}, ((NO_CLAIM, f'{use.key}: persistentvolumeclaim "{use.name}" not found'),)
            )
        if not use.owns(claim):
            return NodeVolumeLimitsState({}, ((NOT_OWNER, not_owner(pod, use)),))
        if volume is not None:
            found.append(volume)
            made_of = (snapshot.store.objects(kind).get(name) for kind, name in sources)
            native[volume.driver] = native.get(volume.driver, False) or any(map(is_native, made_of))
    by_driver: dict[str, frozenset[VolumeId]] = {}
    for volume in found:
        by_driver[volume.driver] = by_driver.get(volume.driver, frozenset()) | {volume}
    drivers = snapshot.store.objects(CSIDriver)
    required = tuple(sorted(one for one in native.items() if _insists(drivers.get(one[0]))))
    return NodeVolumeLimitsState(by_driver, required=required)
