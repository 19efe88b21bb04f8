"""Volumes, claims, classes and what CSI drivers say of themselves, as far as placement reads them.

Source of names and meanings: Kubernetes API reference v1.37, core/v1, storage/v1.
"""

from __future__ import annotations

from moorage.core.objects.meta import Labels, ObjectMeta, ResourceList, Struct
from moorage.core.objects.pods import (
    AWSElasticBlockStore,
    AzureDisk,
    Cinder,
    GCEPersistentDisk,
    PortworxVolume,
)
from moorage.core.objects.selector_terms import LabelSelector, NodeSelector, Requirement


class AnnotatedMeta(ObjectMeta, frozen=True):
    """Metadata with annotations: binding is told by them."""

    annotations: Labels | None = None


# ---- volumes and claims --------------------------------------------------------------------------


class CSISource(Struct, frozen=True):
    """The CSI driver's name and handle of a volume."""

    driver: str = ""
    volume_handle: str = ""


class ClaimRef(Struct, frozen=True):
    """The claim that a volume is bound to, or meant for."""

    kind: str = ""
    api_version: str = ""
    namespace: str = ""
    name: str = ""
    uid: str = ""
    resource_version: str = ""


class VolumeNodeAffinity(Struct, frozen=True):
    """From which nodes a volume can be reached."""

    required: NodeSelector | None = None


class PersistentVolumeSpec(Struct, frozen=True):
    """A volume's size, class, source and reach."""

    capacity: ResourceList | None = None
    access_modes: tuple[str, ...] | None = None
    storage_class_name: str = ""
    volume_mode: str | None = None
    volume_attributes_class_name: str | None = None
    claim_ref: ClaimRef | None = None
    node_affinity: VolumeNodeAffinity | None = None
    csi: CSISource | None = None
    gce_persistent_disk: GCEPersistentDisk | None = None
    aws_elastic_block_store: AWSElasticBlockStore | None = None
    azure_disk: AzureDisk | None = None
    cinder: Cinder | None = None
    portworx_volume: PortworxVolume | None = None


class StoragePhase(Struct, frozen=True):
    """How far a volume or a claim is."""

    phase: str = ""


class PersistentVolume(Struct, frozen=True):
    """A PersistentVolume (core/v1): the fields that we read."""

    metadata: AnnotatedMeta
    spec: PersistentVolumeSpec = PersistentVolumeSpec()
    status: StoragePhase = StoragePhase()


class StorageRequest(Struct, frozen=True):
    """What a claim asks for; only ``storage`` counts."""

    requests: ResourceList | None = None


class PersistentVolumeClaimSpec(Struct, frozen=True):
    """What volume a claim wants, and which it has."""

    access_modes: tuple[str, ...] | None = None
    selector: LabelSelector | None = None
    resources: StorageRequest | None = None
    storage_class_name: str | None = None
    volume_mode: str | None = None
    volume_attributes_class_name: str | None = None
    volume_name: str = ""


class PersistentVolumeClaim(Struct, frozen=True):
    """A PersistentVolumeClaim (core/v1): the fields that we read."""

    metadata: AnnotatedMeta
    spec: PersistentVolumeClaimSpec = PersistentVolumeClaimSpec()
    status: StoragePhase = StoragePhase()


# ---- classes -------------------------------------------------------------------------------------


class TopologyTerm(Struct, frozen=True):
    """All of its expressions; each is a key with the values that it may have."""

    match_label_expressions: tuple[Requirement, ...] | None = None


class StorageClass(Struct, frozen=True):
    """A class of volumes (storage/v1)."""

    metadata: ObjectMeta
    provisioner: str = ""
    volume_binding_mode: str | None = None
    allowed_topologies: tuple[TopologyTerm, ...] | None = None


# ---- drivers -------------------------------------------------------------------------------------


class VolumeNodeResources(Struct, frozen=True):
    """How many volumes of a driver a node can have."""

    count: int | None = None


class CSINodeDriver(Struct, frozen=True):
    """A driver that runs on a node."""

    name: str = ""
    allocatable: VolumeNodeResources | None = None


class CSINodeSpec(Struct, frozen=True):
    """The drivers on a node."""

    drivers: tuple[CSINodeDriver, ...] | None = None


class CSINode(Struct, frozen=True):
    """What the drivers on a node say of it (storage/v1); bears the node's name."""

    metadata: AnnotatedMeta
    spec: CSINodeSpec = CSINodeSpec()


class CSIDriverSpec(Struct, frozen=True):
    """Whether the driver says how much room it has, and keeps pods from nodes where it is not
    installed.
    """

    storage_capacity: bool | None = None
    prevent_pod_scheduling_if_missing: bool | None = None


class CSIDriver(Struct, frozen=True):
    """A CSIDriver (storage.k8s.io/v1): the fields that we read."""

    metadata: ObjectMeta
    spec: CSIDriverSpec = CSIDriverSpec()


class CSIStorageCapacity(Struct, frozen=True):
    """How much room there is for volumes of a class in a part of the cluster (storage/v1)."""

    metadata: ObjectMeta
    storage_class_name: str = ""
    capacity: str | int | None = None
    maximum_volume_size: str | int | None = None
    node_topology: LabelSelector | None = None


class AttachedSource(Struct, frozen=True):
    """Which volume is attached."""

    persistent_volume_name: str | None = None


class VolumeAttachmentSpec(Struct, frozen=True):
    """Which volume is, or is to be, attached to which node, by which driver."""

    attacher: str = ""
    node_name: str = ""
    source: AttachedSource = AttachedSource()


class VolumeAttachment(Struct, frozen=True):
    """A volume attached to a node (storage/v1)."""

    metadata: ObjectMeta
    spec: VolumeAttachmentSpec = VolumeAttachmentSpec()
