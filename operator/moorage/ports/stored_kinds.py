"""Stored kinds: those beside pods and nodes that decisions are made from, what the API calls each,
and whom its changes may free.

A plugin names the kinds that it reads by their structs (``required_kinds``). Namespaces are read
for every decision; any other kind holds back only the profiles whose plugins read it, while it is
not listed. An API that the server does not have holds nobody back: it has no objects. Beside the
kinds below there are those that plugins from outside the tree declare: structs with a ``resource``.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any, NamedTuple

from moorage.core.framework.cluster_events import EventResource
from moorage.core.framework.registry import Registry
from moorage.core.framework.revisions import Revision
from moorage.core.objects.meta import HasMetadata, Namespace
from moorage.core.objects.pod_groups import (
    API,
    COSCHEDULING_API,
    VOLCANO_API,
    CoschedulingPodGroup,
    PodGroup,
    VolcanoPodGroup,
)
from moorage.core.objects.resource_claims import (
    DeviceClass,
    DeviceTaintRule,
    ResourceClaim,
    ResourceSlice,
)
from moorage.core.objects.storage import (
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
)
from moorage.core.objects.workloads import (
    PodDisruptionBudget,
    ReplicaSet,
    ReplicationController,
    Service,
    StatefulSet,
)


class StoredKind(NamedTuple):
    """A kind: its struct, its plural name, its API (``group/version``, or ``v1``) and the event
    that a change of it is, if any.
    """

    struct: type[HasMetadata]
    resource: str
    api: str
    event: EventResource | str | None = None
    foreign: bool = False
    """Whether it is a custom resource of another program, which most clusters do not have."""

    @property
    def name(self) -> str:
        """The resource, with its group where it is another program's, with version and group where
        a plugin from outside the tree declared it: its plural may be another's too.
        """
        if self.foreign:
            return f"{self.resource}.{self.group}"
        return self.event if isinstance(self.event, str) else self.resource

    @property
    def kind(self) -> str:
        """What the API calls one object."""
        kind: str = getattr(self.struct, "kind", self.struct.__name__)
        return kind

    @property
    def path(self) -> str:
        """Where the API server lists all of them."""
        return f"/{'apis' if '/' in self.api else 'api'}/{self.api}/{self.resource}"

    @property
    def group(self) -> str:
        """The API group, "" for the core one."""
        return self.api.rpartition("/")[0]


NAMESPACES = StoredKind(Namespace, "namespaces", "v1", EventResource.NAMESPACE)
POD_GROUPS = (
    StoredKind(PodGroup, "podgroups", API),
    StoredKind(CoschedulingPodGroup, "podgroups", COSCHEDULING_API, foreign=True),
    StoredKind(VolcanoPodGroup, "podgroups", VOLCANO_API, foreign=True),
)
"""The kinds of PodGroups, by ``GroupSpec`` alike. The first is Kubernetes' own; API servers do not
serve it unless they are told to.
"""

STORED_KINDS: tuple[StoredKind, ...] = (
    NAMESPACES,
    *POD_GROUPS,
    StoredKind(Service, "services", "v1", EventResource.SERVICE),
    StoredKind(
        ReplicationController, "replicationcontrollers", "v1", EventResource.REPLICATION_CONTROLLER
    ),
    StoredKind(ReplicaSet, "replicasets", "apps/v1", EventResource.REPLICA_SET),
    StoredKind(StatefulSet, "statefulsets", "apps/v1", EventResource.STATEFUL_SET),
    StoredKind(
        PodDisruptionBudget,
        "poddisruptionbudgets",
        "policy/v1",
        EventResource.POD_DISRUPTION_BUDGET,
    ),
    StoredKind(PersistentVolume, "persistentvolumes", "v1", EventResource.PERSISTENT_VOLUME),
    StoredKind(
        PersistentVolumeClaim, "persistentvolumeclaims", "v1", EventResource.PERSISTENT_VOLUME_CLAIM
    ),
    StoredKind(StorageClass, "storageclasses", "storage.k8s.io/v1", EventResource.STORAGE_CLASS),
    StoredKind(CSINode, "csinodes", "storage.k8s.io/v1", EventResource.CSI_NODE),
    StoredKind(CSIDriver, "csidrivers", "storage.k8s.io/v1", EventResource.CSI_DRIVER),
    StoredKind(
        CSIStorageCapacity,
        "csistoragecapacities",
        "storage.k8s.io/v1",
        EventResource.CSI_STORAGE_CAPACITY,
    ),
    StoredKind(
        VolumeAttachment, "volumeattachments", "storage.k8s.io/v1", EventResource.VOLUME_ATTACHMENT
    ),
    StoredKind(ResourceClaim, "resourceclaims", "resource.k8s.io/v1", EventResource.RESOURCE_CLAIM),
    StoredKind(ResourceSlice, "resourceslices", "resource.k8s.io/v1", EventResource.RESOURCE_SLICE),
    StoredKind(DeviceClass, "deviceclasses", "resource.k8s.io/v1", EventResource.DEVICE_CLASS),
    # Since Kubernetes 1.37. A rule makes other slices of those that there are.
    StoredKind(
        DeviceTaintRule, "devicetaintrules", "resource.k8s.io/v1", EventResource.RESOURCE_SLICE
    ),
)


_BY_STRUCT: dict[type[Any], StoredKind] = {kind.struct: kind for kind in STORED_KINDS}
_DECLARED = re.compile(r"([a-z][a-z0-9]*)\.(v[a-z0-9]+)(?:\.([a-z0-9.-]+))?")


def kind_of(struct: type[HasMetadata]) -> StoredKind:
    """The kind of a struct: one in the tree, or what its ``resource`` declares. Raises ValueError
    for neither.
    """
    if struct in _BY_STRUCT:
        return _BY_STRUCT[struct]
    resource = getattr(struct, "resource", None)
    found = _DECLARED.fullmatch(resource) if isinstance(resource, str) else None
    if found is None:
        raise ValueError(
            f"{struct.__qualname__}.resource: {resource!r}: must be "
            f"<plural>.<version>.<group>, as in racks.v1.example.com"
        )
    plural, version, group = found.groups()
    return StoredKind(struct, plural, f"{group}/{version}" if group else version, found.string)


def kinds_of(revision: Revision) -> list[StoredKind]:
    """What a revision's plugins read, namespaces left out."""
    return _ordered(revision.required_kinds)


def kinds_in(registry: Registry) -> list[StoredKind]:
    """What is kept for the plugins of a registry: all kinds of the tree, and those that plugins
    from outside declare.
    """
    declared = {
        struct
        for spec in registry.values()
        for struct in getattr(spec.decider, "required_kinds", ())
    }
    return [*STORED_KINDS, *_ordered(declared - _BY_STRUCT.keys())]


def _ordered(structs: Collection[type[HasMetadata]]) -> list[StoredKind]:
    """The tree's kinds in their order, then the others by name."""
    mine = [kind for kind in STORED_KINDS if kind.struct in structs]
    return mine + sorted(
        (kind_of(struct) for struct in structs if struct not in _BY_STRUCT),
        key=lambda kind: kind.name,
    )
