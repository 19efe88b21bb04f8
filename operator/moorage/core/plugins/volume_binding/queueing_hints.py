"""What makes a pod worth another attempt that waits for its volumes."""

from __future__ import annotations

from moorage.core.columns.store import Lister
from moorage.core.framework.cluster_events import ClusterEvent
from moorage.core.objects.meta import key
from moorage.core.objects.pods import Pod
from moorage.core.objects.storage import (
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    PersistentVolumeClaim,
    StorageClass,
)
from moorage.core.volumes.claims import capacity_bytes
from moorage.core.volumes.csi_migration import migrated_on
from moorage.core.volumes.pod_volumes import claim_uses


def allows_more(_pod: Pod, event: ClusterEvent, _store: Lister) -> bool:
    """Whether the class is new, or its topologies changed."""
    old, new = event.old, event.new
    if not isinstance(old, StorageClass) or not isinstance(new, StorageClass):
        return True
    return (old.allowed_topologies or ()) != (new.allowed_topologies or ())


def is_used(pod: Pod, event: ClusterEvent, _store: Lister) -> bool:
    """Whether this pod uses the claim."""
    claim = event.new
    return claim is not None and any(use.key == key(claim) for use in claim_uses(pod))


def was_to_have_volumes(_pod: Pod, event: ClusterEvent, store: Lister) -> bool:
    """Whether a pod that goes nowhere after all may have had volumes set aside, which no volume's
    change tells.
    """
    claims = store.objects(PersistentVolumeClaim)
    uses = claim_uses(event.old) if isinstance(event.old, Pod) else ()
    return any(use.key in claims and not claims[use.key].spec.volume_name for use in uses)


def is_migrated(_pod: Pod, event: ClusterEvent, _store: Lister) -> bool:
    """Whether the node is new, or other drivers were taken over there."""
    old, new = event.old, event.new
    return (
        not isinstance(old, CSINode)
        or not isinstance(new, CSINode)
        or migrated_on(old) != migrated_on(new)
    )


def asks_no_more(_pod: Pod, event: ClusterEvent, _store: Lister) -> bool:
    """Whether the driver does not tell any more how much room it has, so that nobody looks at
    that.
    """
    old, new = event.old, event.new
    return (
        isinstance(old, CSIDriver)
        and bool(old.spec.storage_capacity)
        and not (isinstance(new, CSIDriver) and new.spec.storage_capacity)
    )


def has_grown(_pod: Pod, event: ClusterEvent, _store: Lister) -> bool:
    """Whether there is more room than before."""
    old, new = event.old, event.new
    return (
        not isinstance(old, CSIStorageCapacity)
        or not isinstance(new, CSIStorageCapacity)
        or capacity_bytes(new) > capacity_bytes(old)
    )
