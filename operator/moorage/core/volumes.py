"""Volumes: what of a pod's volumes placement looks at, and what claims and volumes are to each other.

Volumes of drivers that were once part of Kubernetes (in-tree) are known by the CSI driver that took over, as all nodes have it now.
Sources: Kubernetes component-helpers ``storage/volume`` and ``storage/ephemeral``, csi-translation-lib (v1.36).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from typing import NamedTuple

import msgspec

from moorage.core.ceilings import volumes_within
from moorage.core.label_selectors import Condition
from moorage.core.objects import (
    AWSElasticBlockStore,
    AzureDisk,
    Cinder,
    GCEPersistentDisk,
    Labels,
    NodeSelector,
    NodeSelectorTerm,
    Pod,
    PortworxVolume,
    Requirement,
    Volume,
)
from moorage.core.predicates import NodeTerm, NodeTerms, readable_terms
from moorage.core.quantities import NANO, nanos, value
from moorage.core.storage_objects import (
    CSINode,
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    PersistentVolumeSpec,
    StorageClass,
)

_encode = msgspec.msgpack.Encoder().encode

SELECTED_NODE = "volume.kubernetes.io/selected-node"
"""On a claim: where the volume is to be made."""
BOUND_BY_CONTROLLER = "pv.kubernetes.io/bound-by-controller"
"""On a volume: its claim was chosen for it, not named by a user."""
MIGRATED_PLUGINS = "storage.alpha.kubernetes.io/migrated-plugins"
"""On a CSINode: in-tree drivers whose volumes CSI drivers serve there."""
WAIT = "WaitForFirstConsumer"
STORAGE = "storage"
_MOST = 2**62
"""Bytes that stand for any larger amount: they go into int64 columns."""
_BIND_COMPLETED = "pv.kubernetes.io/bind-completed"
_CLASS = "volume.beta.kubernetes.io/storage-class"

ZONE = "topology.kubernetes.io/zone"
REGION = "topology.kubernetes.io/region"
BETA_ZONE = "failure-domain.beta.kubernetes.io/zone"
BETA_REGION = "failure-domain.beta.kubernetes.io/region"


# ---- claims of pods ----------------------------------------------------------------------------------------------------------


class ClaimUse(NamedTuple):
    """A pod's use of a claim of its namespace. ``owner``: the pod's UID where the claim must be its own (an ephemeral volume's)."""

    namespace: str
    name: str
    owner: str = ""

    @property
    def key(self) -> str:
        """The claim as the store knows it."""
        return f"{self.namespace}/{self.name}"

    def owns(self, claim: PersistentVolumeClaim) -> bool:
        """Whether this claim may be used so."""
        return not self.owner or any(ref.controller and ref.uid == self.owner for ref in claim.metadata.owner_references or ())


def claim_uses(pod: Pod) -> Iterator[ClaimUse]:
    """The claims that a pod uses, in the order of its volumes."""
    meta = pod.metadata
    for volume in volumes_within(pod):
        if volume.persistent_volume_claim is not None:
            yield ClaimUse(meta.namespace, volume.persistent_volume_claim.claim_name)
        elif volume.ephemeral is not None:
            yield ClaimUse(meta.namespace, f"{meta.name}-{volume.name}", meta.uid)


def seen_of_volumes(pod: Pod) -> Hashable:
    """Equal for pods that ask for the same volumes."""
    volumes = tuple(volume for volume in pod.spec.volumes or () if volume != Volume(volume.name))
    return _encode((pod.metadata.namespace, volumes, identity_for_claims(pod)))


def identity_for_claims(pod: Pod) -> bytes:
    """What tells a pod apart that has a claim named after it; b"" for any other."""
    ephemeral = any(volume.ephemeral is not None for volume in pod.spec.volumes or ())
    return f"{pod.metadata.name}/{pod.metadata.uid}".encode() if ephemeral else b""


def not_owner(pod: Pod, use: ClaimUse) -> str:
    """What is said of a pod whose ephemeral volume's claim is somebody else's, between "PVC" and "(pod is not owner)"."""
    return f"{use.key} was not created for pod {pod.metadata.namespace}/{pod.metadata.name}"


# ---- disks that can't be shared ----------------------------------------------------------------------------------------------


class Disk(NamedTuple):
    """A disk that stands in a pod's spec and that pods on one node may share only if all read (``read_only``).

    ``monitors``: an RBD image is the same one only if it is reached by one of the same monitors; None for others.
    """

    kind: str
    name: tuple[str, ...]
    read_only: bool = False
    monitors: tuple[str, ...] | None = None

    def clashes(self, other: Disk) -> bool:
        """Whether both can't be used on one node."""
        if (self.kind, self.name) != (other.kind, other.name) or (self.read_only and other.read_only):
            return False
        return self.monitors is None or any(monitor in (other.monitors or ()) for monitor in self.monitors)


def disks(pod: Pod) -> tuple[Disk, ...]:
    """The disks in a pod's spec."""
    return tuple(disk for volume in volumes_within(pod) for disk in _disks_of(volume))


def _disks_of(volume: Volume) -> Iterator[Disk]:
    if (gce := volume.gce_persistent_disk) is not None:
        yield Disk("gcePersistentDisk", (gce.pd_name,), gce.read_only)
    if (ebs := volume.aws_elastic_block_store) is not None:
        yield Disk("awsElasticBlockStore", (ebs.volume_id,))
    if (iscsi := volume.iscsi) is not None:
        yield Disk("iscsi", (iscsi.iqn,), iscsi.read_only)
    if (rbd := volume.rbd) is not None:
        yield Disk("rbd", (rbd.pool, rbd.image), rbd.read_only, rbd.monitors or ())


# ---- volumes of CSI drivers --------------------------------------------------------------------------------------------------


class VolumeId(NamedTuple):
    """A volume as a CSI driver knows it. One that is still to be made has its claim's key as ``wanted_by`` and no handle."""

    driver: str
    handle: str
    wanted_by: str = ""


class _Successor(NamedTuple):
    """The CSI driver that took over, and its label for a node's zone ("": its volumes' affinity needs no translation)."""

    driver: str
    zone_key: str = ""


_SUCCESSORS: Mapping[str, _Successor] = {
    "kubernetes.io/aws-ebs": _Successor("ebs.csi.aws.com", "topology.ebs.csi.aws.com/zone"),
    "kubernetes.io/gce-pd": _Successor("pd.csi.storage.gke.io", "topology.gke.io/zone"),
    "kubernetes.io/azure-disk": _Successor("disk.csi.azure.com"),
    "kubernetes.io/cinder": _Successor("cinder.csi.openstack.org", "topology.cinder.csi.openstack.org/zone"),
    "kubernetes.io/portworx-volume": _Successor("pxd.portworx.com"),
}


def inline_volumes(pod: Pod) -> tuple[VolumeId, ...]:
    """The volumes in a pod's spec that were in-tree; those that can't be translated are left out."""
    found = (_in_tree(volume) for volume in volumes_within(pod))
    return tuple(VolumeId(_SUCCESSORS[plugin].driver, handle) for plugin, handle in found if handle)


def volume_of(pv: PersistentVolume) -> VolumeId | None:
    """What a CSI driver knows a volume as; None when none does."""
    if pv.spec.csi is not None:
        made = VolumeId(pv.spec.csi.driver, pv.spec.csi.volume_handle)
        return made if made.driver and made.handle else None
    plugin, handle = _in_tree(pv.spec, _zones_of(pv.metadata.labels or {}))
    return VolumeId(_SUCCESSORS[plugin].driver, handle) if handle else None


def wanted_volume(storage_class: StorageClass, claim: str) -> VolumeId | None:
    """The volume that is to be made for the claim of this key; None when no CSI driver makes it."""
    successor = _SUCCESSORS.get(storage_class.provisioner)
    driver = successor.driver if successor is not None else storage_class.provisioner
    return VolumeId(driver, "", claim) if driver else None


def _in_tree(source: Volume | PersistentVolumeSpec, zones: tuple[str, ...] = ()) -> tuple[str, str]:
    """The in-tree plugin of a volume and the handle that its successor knows it by; ("", "") or no handle where there is none."""
    match source.gce_persistent_disk, source.aws_elastic_block_store, source.azure_disk, source.cinder, source.portworx_volume:
        case GCEPersistentDisk() as gce, _, _, _, _:
            return "kubernetes.io/gce-pd", _gce_handle(gce.pd_name, zones)
        case _, AWSElasticBlockStore() as ebs, _, _, _:
            return "kubernetes.io/aws-ebs", _ebs_handle(ebs.volume_id)
        case _, _, AzureDisk() as azure, _, _:
            return "kubernetes.io/azure-disk", azure.disk_uri if (azure.kind or "managed").lower() == "managed" else ""
        case _, _, _, Cinder() as cinder, _:
            return "kubernetes.io/cinder", cinder.volume_id
        case _, _, _, _, PortworxVolume() as portworx:
            return "kubernetes.io/portworx-volume", portworx.volume_id
    return "", ""


def _zones_of(labels: Labels) -> tuple[str, ...]:
    joined = labels.get(BETA_ZONE) or labels.get(ZONE) or ""
    return tuple(joined.split("__")) if joined else ()


def _gce_handle(disk: str, zones: tuple[str, ...]) -> str:
    """A disk in one zone, or in a region: that of all its zones ("us-east1-b" is in "us-east1")."""
    if len(zones) < 2:
        return f"projects/UNSPECIFIED/zones/{zones[0] if zones else 'UNSPECIFIED'}/disks/{disk}"
    regions = {"-".join(zone.split("-")[:2]) if zone.count("-") == 2 else "" for zone in zones}
    if len(regions) > 1 or "" in regions:
        return ""
    return f"projects/UNSPECIFIED/regions/{regions.pop()}/disks/{disk}"


def _ebs_handle(volume: str) -> str:
    """``vol-…`` of ``aws://zone/vol-…``; a bare one stands for itself."""
    if not volume.startswith("aws://"):
        return volume
    _, _, path = volume.removeprefix("aws://").partition("/")
    return path.strip("/") if path.strip("/").startswith("vol-") else ""


# ---- all of a pod ------------------------------------------------------------------------------------------------------------


class Carried(NamedTuple):
    """All of a pod's volumes that placement looks at."""

    claims: tuple[ClaimUse, ...] = ()
    inline: tuple[VolumeId, ...] = ()
    disks: tuple[Disk, ...] = ()

    def __bool__(self) -> bool:
        """Whether there are any."""
        return bool(self.claims or self.inline or self.disks)


NOTHING = Carried()


def carried_by(pod: Pod) -> Carried:
    """What a pod brings to its node; most pods' volumes are nothing to placement."""
    if all(volume == Volume(volume.name) for volume in pod.spec.volumes or ()):
        return NOTHING
    return Carried(tuple(claim_uses(pod)), inline_volumes(pod), disks(pod))


# ---- claims and volumes ------------------------------------------------------------------------------------------------------


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
    return ref is not None and (ref.namespace, ref.name) == (meta.namespace, meta.name) and ref.uid in ("", meta.uid)


def requested(claim: PersistentVolumeClaim) -> int | None:
    """The room that a claim asks for in bytes, None when it does not say. Raises QuantityError."""
    resources = claim.spec.resources
    amount = ((resources.requests if resources is not None else None) or {}).get(STORAGE)
    return min(value(amount), _MOST) if amount is not None else None


def size(pv: PersistentVolume) -> int:
    """A volume's capacity in whole bytes."""
    return min(nanos((pv.spec.capacity or {}).get(STORAGE, 0)) // NANO, _MOST)


def room(capacity: CSIStorageCapacity) -> int:
    """The largest volume in bytes that can be made there; -1 when that is not said."""
    limit = capacity.maximum_volume_size if capacity.maximum_volume_size is not None else capacity.capacity
    return min(value(limit), _MOST) if limit is not None else -1


# ---- where volumes can be reached --------------------------------------------------------------------------------------------


def affinity_of(pv: PersistentVolume) -> NodeTerms | None:
    """The nodes that can reach a volume, by their labels alone; None for all."""
    required = _required(pv)
    return _by_labels(required) if required is not None else None


def in_tree_plugin(pv: PersistentVolume) -> str:
    """The in-tree driver of a volume that a CSI driver can serve; "" for all other volumes."""
    return _in_tree(pv.spec)[0]


def migrated_affinity_of(pv: PersistentVolume) -> NodeTerms | None:
    """``affinity_of`` an in-tree volume where a CSI driver serves it: zones, also those in its labels, go by the driver's own label."""
    zone_key = _SUCCESSORS[in_tree_plugin(pv)].zone_key
    required, labels = _required(pv), pv.metadata.labels or {}
    terms = (required.node_selector_terms if required is not None else None) or ()
    keys = {one.key for term in terms for one in term.match_expressions or ()}
    named = keys if keys & {ZONE, BETA_ZONE} else labels.keys()
    beta = BETA_ZONE in named and ZONE not in named
    old = BETA_ZONE if beta else ZONE
    zones = sorted({zone.strip() for zone in labels.get(old, "").split("__")} - {""}) if old not in keys else []
    if not zone_key or not (zones or terms):
        return affinity_of(pv)
    added = (Requirement(zone_key, "In", tuple(zones)),) if zones else ()
    renamed = {old: zone_key, BETA_REGION: REGION} if beta else {old: zone_key}
    return _by_labels(NodeSelector(tuple(_renamed(term, renamed, added) for term in terms or (NodeSelectorTerm(),))))


def migrated_on(csi_node: CSINode | None) -> frozenset[str]:
    """The in-tree drivers that were taken over on a node."""
    annotations = csi_node.metadata.annotations if csi_node is not None else None
    return frozenset((annotations or {}).get(MIGRATED_PLUGINS, "").split(","))


def reaches(labels: Labels, csi_node: CSINode | None, pv: PersistentVolume) -> bool:
    """Whether a node with these labels and drivers can reach a volume."""
    plugin = in_tree_plugin(pv)
    terms = migrated_affinity_of(pv) if plugin and plugin in migrated_on(csi_node) else affinity_of(pv)
    return terms is None or any(term.matches(labels, "") for term in terms)


def _required(pv: PersistentVolume) -> NodeSelector | None:
    return pv.spec.node_affinity.required if pv.spec.node_affinity is not None else None


def _by_labels(selector: NodeSelector) -> NodeTerms:
    return tuple(NodeTerm(term.labels) for term in readable_terms(selector))


def _renamed(term: NodeSelectorTerm, names: Mapping[str, str], added: tuple[Requirement, ...]) -> NodeSelectorTerm:
    """A term whose labels have other names, with what is added to it."""
    changed = (Requirement(names.get(one.key, one.key), one.operator, one.values) for one in term.match_expressions or ())
    return NodeSelectorTerm((*changed, *added), term.match_fields)


def allowed_topologies(storage_class: StorageClass) -> NodeTerms | None:
    """The nodes that a class's volumes can be made for; None for all. A term without expressions matches nothing."""
    if not storage_class.allowed_topologies:
        return None
    return tuple(
        NodeTerm(tuple(Condition(one.key, "In", frozenset(one.values or ())) for one in term.match_label_expressions))
        for term in storage_class.allowed_topologies
        if term.match_label_expressions
    )
