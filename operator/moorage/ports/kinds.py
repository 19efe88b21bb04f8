"""The kinds of objects beside pods and nodes that decisions are made from: what the API calls each, and whom its changes may free.

A plugin names the kinds that it reads by their structs (``kinds``). Namespaces are read for every decision; any other kind holds
back only the profiles whose plugins read it, while it is not listed. An API that the server does not have holds nobody back: it has
no objects.
"""

from __future__ import annotations

from typing import NamedTuple

from moorage.core.claim_objects import DeviceClass, ResourceClaim, ResourceSlice
from moorage.core.cluster_events import Resource
from moorage.core.framework.profiles import Revision
from moorage.core.objects import HasMetadata, Namespace
from moorage.core.storage_objects import (
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
)
from moorage.core.workload_objects import PodDisruptionBudget, ReplicaSet, ReplicationController, Service, StatefulSet


class StoredKind(NamedTuple):
    """A kind: its struct, its plural name, its API (``group/version``, or ``v1``) and the event that a change of it is, if any."""

    struct: type[HasMetadata]
    resource: str
    api: str
    event: Resource | None = None

    @property
    def path(self) -> str:
        """Where the API server lists all of them."""
        return f"/{'apis' if '/' in self.api else 'api'}/{self.api}/{self.resource}"

    @property
    def group(self) -> str:
        """The API group, "" for the core one."""
        return self.api.rpartition("/")[0]


NAMESPACES = StoredKind(Namespace, "namespaces", "v1")

STORED: tuple[StoredKind, ...] = (
    NAMESPACES,
    StoredKind(Service, "services", "v1"),
    StoredKind(ReplicationController, "replicationcontrollers", "v1"),
    StoredKind(ReplicaSet, "replicasets", "apps/v1"),
    StoredKind(StatefulSet, "statefulsets", "apps/v1"),
    StoredKind(PodDisruptionBudget, "poddisruptionbudgets", "policy/v1"),
    StoredKind(PersistentVolume, "persistentvolumes", "v1", Resource.PERSISTENT_VOLUME),
    StoredKind(PersistentVolumeClaim, "persistentvolumeclaims", "v1", Resource.PERSISTENT_VOLUME_CLAIM),
    StoredKind(StorageClass, "storageclasses", "storage.k8s.io/v1", Resource.STORAGE_CLASS),
    StoredKind(CSINode, "csinodes", "storage.k8s.io/v1", Resource.CSI_NODE),
    StoredKind(CSIDriver, "csidrivers", "storage.k8s.io/v1", Resource.CSI_DRIVER),
    StoredKind(CSIStorageCapacity, "csistoragecapacities", "storage.k8s.io/v1", Resource.CSI_STORAGE_CAPACITY),
    StoredKind(VolumeAttachment, "volumeattachments", "storage.k8s.io/v1", Resource.VOLUME_ATTACHMENT),
    StoredKind(ResourceClaim, "resourceclaims", "resource.k8s.io/v1", Resource.RESOURCE_CLAIM),
    StoredKind(ResourceSlice, "resourceslices", "resource.k8s.io/v1", Resource.RESOURCE_SLICE),
    StoredKind(DeviceClass, "deviceclasses", "resource.k8s.io/v1", Resource.DEVICE_CLASS),
)


def kinds_of(revision: Revision) -> list[StoredKind]:
    """What a revision's plugins read, namespaces left out."""
    return [kind for kind in STORED if kind.struct in revision.kinds]
