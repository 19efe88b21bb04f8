"""In-tree volumes, which are served by CSI drivers under another name (KEP-625)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from moorage.core.objects.meta import HasMetadata, Labels
from moorage.core.objects.pods import (
    Pod,
    Volume,
)
from moorage.core.objects.storage import (
    CSINode,
    PersistentVolume,
    PersistentVolumeSpec,
    StorageClass,
)
from moorage.core.pods.ceilings import volumes_within

MIGRATED_PLUGINS = "storage.alpha.kubernetes.io/migrated-plugins"
"""On a CSINode: in-tree drivers whose volumes CSI drivers serve there."""

ZONE = "topology.kubernetes.io/zone"
REGION = "topology.kubernetes.io/region"
BETA_ZONE = "failure-domain.beta.kubernetes.io/zone"
BETA_REGION = "failure-domain.beta.kubernetes.io/region"


# ---- volumes of CSI drivers ----------------------------------------------------------------------


class VolumeId(NamedTuple):
    """A volume as a CSI driver knows it. One that is still to be made has its claim's key as
    ``wanted_by`` and no handle.
    """

    driver: str
    handle: str
    wanted_by: str = ""


class _Successor(NamedTuple):
    """The CSI driver that took over, and its label for a node's zone ("": its volumes' affinity
    needs no translation).
    """

    driver: str
    zone_key: str = ""


_SUCCESSORS: Mapping[str, _Successor] = {
    "kubernetes.io/aws-ebs": _Successor("ebs.csi.aws.com", "topology.ebs.csi.aws.com/zone"),
    "kubernetes.io/gce-pd": _Successor("pd.csi.storage.gke.io", "topology.gke.io/zone"),
    "kubernetes.io/azure-disk": _Successor("disk.csi.azure.com"),
    "kubernetes.io/cinder": _Successor(
        "cinder.csi.openstack.org", "topology.cinder.csi.openstack.org/zone"
    ),
    "kubernetes.io/portworx-volume": _Successor("pxd.portworx.com"),
}


def inline_volumes(pod: Pod) -> tuple[VolumeId, ...]:
    """The volumes in a pod's spec that were in-tree; those that can't be translated are left
    out.
    """
    found = (_in_tree(volume) for volume in volumes_within(pod))
    return tuple(VolumeId(_SUCCESSORS[plugin].driver, handle) for plugin, handle in found if handle)


def volume_of(pv: PersistentVolume) -> VolumeId | None:
    """What a CSI driver knows a volume as; None when none does."""
    if pv.spec.csi is not None:
        made = VolumeId(pv.spec.csi.driver, pv.spec.csi.volume_handle)
        return made if made.driver and made.handle else None
    plugin, handle = _in_tree(pv.spec, _zones_of(pv.metadata.labels or {}))
    return VolumeId(_SUCCESSORS[plugin].driver, handle) if handle else None


def is_native(source: HasMetadata | None) -> bool:
    """Whether a volume, or those that are made of a class, were a CSI driver's from the start."""
    if isinstance(source, PersistentVolume):
        return source.spec.csi is not None
    return isinstance(source, StorageClass) and source.provisioner not in _SUCCESSORS


def wanted_volume(storage_class: StorageClass, claim: str) -> VolumeId | None:
    """The volume that is to be made for the claim of this key; None when no CSI driver makes it."""
    successor = _SUCCESSORS.get(storage_class.provisioner)
    driver = successor.driver if successor is not None else storage_class.provisioner
    return VolumeId(driver, "", claim) if driver else None


def _in_tree(source: Volume | PersistentVolumeSpec, zones: tuple[str, ...] = ()) -> tuple[str, str]:
    """The in-tree plugin of a volume and the handle that its successor knows it by; ("", "") or no
    handle where there is none.
    """
    if (gce := source.gce_persistent_disk) is not None:
        return "kubernetes.io/gce-pd", _gce_handle(gce.pd_name, zones)
    if (ebs := source.aws_elastic_block_store) is not None:
        return "kubernetes.io/aws-ebs", _ebs_handle(ebs.volume_id)
    if (azure := source.azure_disk) is not None:
        is_managed = (azure.kind or "managed").lower() == "managed"
        return "kubernetes.io/azure-disk", azure.disk_uri if is_managed else ""
    if (cinder := source.cinder) is not None:
        return "kubernetes.io/cinder", cinder.volume_id
    if (portworx := source.portworx_volume) is not None:
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


def in_tree_plugin(pv: PersistentVolume) -> str:
    """The in-tree driver of a volume that a CSI driver can serve; "" for all other volumes."""
    return _in_tree(pv.spec)[0]


def migrated_on(csi_node: CSINode | None) -> frozenset[str]:
    """The in-tree drivers that were taken over on a node."""
    annotations = csi_node.metadata.annotations if csi_node is not None else None
    return frozenset((annotations or {}).get(MIGRATED_PLUGINS, "").split(","))
