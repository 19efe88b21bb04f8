"""PersistentVolumeClaims and PersistentVolumes: what is bound to what, what a claim asks for and
where a volume is.
"""

from __future__ import annotations

from kubefacts.quantities import NANO, nanos, value
from moorage.core.objects.storage import (
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
)

SELECTED_NODE = "volume.kubernetes.io/selected-node"
"""On a claim: where the volume is to be made."""
BOUND_BY_CONTROLLER = "pv.kubernetes.io/bound-by-controller"
"""On a volume: its claim was chosen for it, not named by a user."""
WAIT = "WaitForFirstConsumer"
STORAGE = "storage"
_MOST = 2**62
"""Bytes that stand for any larger amount: they go into int64 columns."""
_BIND_COMPLETED = "pv.kubernetes.io/bind-completed"
_CLASS = "volume.beta.kubernetes.io/storage-class"


# ---- claims and volumes --------------------------------------------------------------------------


def class_of(obj: PersistentVolumeClaim | PersistentVolume) -> str:
    """The storage class: an old annotation goes before the field; "" for none."""
    annotated = (obj.metadata.annotations or {}).get(_CLASS)
    return annotated if annotated is not None else obj.spec.storage_class_name or ""


def is_bound(claim: PersistentVolumeClaim) -> bool:
    """Whether a claim has its volume for good."""
    return bool(claim.spec.volume_name) and _BIND_COMPLETED in (claim.metadata.annotations or {})


def is_for(pv: PersistentVolume, claim: PersistentVolumeClaim) -> bool:
    """Whether a volume is set aside for this claim."""
    ref, meta = pv.spec.claim_ref, claim.metadata
    return (
        ref is not None
        and (ref.namespace, ref.name) == (meta.namespace, meta.name)
        and ref.uid in ("", meta.uid)
    )


def requested(claim: PersistentVolumeClaim) -> int | None:
    """The room that a claim asks for in bytes, None when it does not say. Raises QuantityError."""
    resources = claim.spec.resources
    amount = ((resources.requests if resources is not None else None) or {}).get(STORAGE)
    return min(value(amount), _MOST) if amount is not None else None


def size(pv: PersistentVolume) -> int:
    """A volume's capacity in whole bytes."""
    return min(nanos((pv.spec.capacity or {}).get(STORAGE, 0)) // NANO, _MOST)


def capacity_bytes(capacity: CSIStorageCapacity) -> int:
    """The largest volume in bytes that can be made there; -1 when that is not said."""
    limit = (
        capacity.maximum_volume_size
        if capacity.maximum_volume_size is not None
        else capacity.capacity
    )
    return min(value(limit), _MOST) if limit is not None else -1


def room_bytes(capacity: CSIStorageCapacity) -> int:
    """How many bytes there are in all; -1 when that is not said."""
    return min(value(capacity.capacity), _MOST) if capacity.capacity is not None else -1
