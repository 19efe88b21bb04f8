"""What the plugins for volumes say, object by object.

``verdict`` speaks of all nodes at once, ``refusal`` of one. VolumeBinding is to be asked of a
cluster in which what was decided, but is not written yet, counts as written.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kubefacts.quantities import value
from moorage.core.objects.nodes import Node
from moorage.core.objects.pods import Pod, Volume
from moorage.core.objects.selector_terms import LabelSelector, NodeSelectorTerm
from moorage.core.objects.storage import (
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
)
from tests.oracle.cluster import Cluster
from tests.oracle.selectors import selects

ALONE = (
    "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already "
    "in-use by another pod"
)
DISK = "node(s) had no available disk"
LIMIT = "node(s) exceed max volume count"
HOPEFUL = {ALONE, DISK, LIMIT}
"""What the removal of pods may help."""
SELECTED = "volume.kubernetes.io/selected-node"
ZONES = ("topology.kubernetes.io/zone", "topology.kubernetes.io/region")
BETA = "failure-domain.beta.kubernetes.io/"
DRIVERS = {
    "kubernetes.io/gce-pd": "pd.csi.storage.gke.io",
    "kubernetes.io/aws-ebs": "ebs.csi.aws.com",
}
PLUGINS = ("VolumeRestrictions", "NodeVolumeLimits", "VolumeBinding", "VolumeZone")


def verdict(plugin: str, pod: Pod, cluster: Cluster) -> str:
    """Why no node at all will do, "" when it is a question of the node."""
    if plugin == "VolumeRestrictions":
        return next(
            (missing(name) for name in shared(pod) if claim_of(pod, name, cluster) is None), ""
        )
    if plugin == "VolumeZone":
        return next((text for name in shared(pod) if (text := unzoned(pod, name, cluster))), "")
    if plugin == "VolumeBinding":
        return unbindable(pod, cluster)
    return ""


def refusal(plugin: str, pod: Pod, node: Node, cluster: Cluster) -> tuple[str, ...]:
    """What a plugin that had no verdict says of a node."""
    match plugin:
        case "VolumeRestrictions":
            return restricted(pod, node, cluster)
        case "NodeVolumeLimits":
            return limited(pod, node, cluster)
        case "VolumeZone":
            return zoned(pod, node, cluster)
    return bindable(pod, node, cluster)


# ---- claims --------------------------------------------------------------------------------------


def missing(name: str) -> str:
    """As a lister says it."""
    return f'persistentvolumeclaim "{name}" not found'


def shared(pod: Pod) -> list[str]:
    """Names of claims, ephemeral ones left out."""
    return [
        one.persistent_volume_claim.claim_name
        for one in pod.spec.volumes or ()
        if one.persistent_volume_claim is not None
    ]


def used(pod: Pod) -> list[tuple[str, bool]]:
    """Names of claims, and whether they are for ephemeral volumes."""
    found = []
    for one in pod.spec.volumes or ():
        if one.persistent_volume_claim is not None:
            found.append((one.persistent_volume_claim.claim_name, False))
        elif one.ephemeral is not None:
            found.append((f"{pod.metadata.name}-{one.name}", True))
    return found


def named(kind: type[Any], name: str, cluster: Cluster, namespace: str = "") -> Any:
    """The object of this name, None without."""
    found = [
        one
        for one in cluster.of_kind(kind)
        if (one.metadata.name, one.metadata.namespace) == (name, namespace)
    ]
    return found[0] if found else None


def claim_of(pod: Pod, name: str, cluster: Cluster) -> PersistentVolumeClaim | None:
    """The pod's claim of this name."""
    found: PersistentVolumeClaim | None = named(
        PersistentVolumeClaim, name, cluster, pod.metadata.namespace
    )
    return found


def owned(pod: Pod, claim: PersistentVolumeClaim) -> bool:
    """Whether the claim is the pod's own."""
    return any(
        one.controller and one.uid == pod.metadata.uid
        for one in claim.metadata.owner_references or ()
    )


def foreign(pod: Pod, name: str) -> str:
    """What is said of an ephemeral volume with somebody else's claim."""
    where = pod.metadata.namespace
    return (
        f"PVC {where}/{name} was not created for pod {where}/{pod.metadata.name} (pod is not owner)"
    )


def class_name(obj: Any) -> str:
    """A claim's or volume's class."""
    return obj.spec.storage_class_name or ""


# ---- VolumeRestrictions --------------------------------------------------------------------------


def restricted(pod: Pod, node: Node, cluster: Cluster) -> tuple[str, ...]:
    """Disks on the node, claims anywhere."""
    for other in cluster.pods_on(node):
        if any(
            clash(mine, its) for mine in pod.spec.volumes or () for its in other.spec.volumes or ()
        ):
            return (DISK,)
    return (ALONE,) if any(taken for _, taken in alone(pod, cluster)) else ()


def alone(pod: Pod, cluster: Cluster) -> list[tuple[str, bool]]:
    """The pod's claims for one pod alone, and whether another one on a node that is there uses
    them.
    """
    nodes = {one.metadata.name for one in cluster.nodes}
    users = [
        other
        for other, where in cluster.pods
        if where in nodes and other.metadata.namespace == pod.metadata.namespace
    ]
    found = {}
    for name in shared(pod):
        claim = claim_of(pod, name, cluster)
        if claim is not None and "ReadWriteOncePod" in (claim.spec.access_modes or ()):
            found[name] = any(name in shared(other) for other in users)
    return list(found.items())


def supposed(
    pod: Pod, node: Node, before: Cluster, after: Cluster, other: Pod, sign: int
) -> tuple[str, ...]:
    """VolumeRestrictions with ``other`` there or gone: kube-scheduler only adds its uses to, or
    takes them from, the claims in use.
    """
    disk = (text for text in restricted(pod, node, after) if text == DISK)
    mine = alone(pod, before)
    left = sum(taken for _, taken in mine) + sign * sum(
        name in dict(mine) for name in shared(other)
    )
    return tuple(disk) or ((ALONE,) if left > 0 else ())


def clash(one: Volume, other: Volume) -> bool:
    """Whether two volumes are a disk that both want for themselves."""
    if one.gce_persistent_disk and other.gce_persistent_disk:
        a, b = one.gce_persistent_disk, other.gce_persistent_disk
        return a.pd_name == b.pd_name and not (a.read_only and b.read_only)
    if one.aws_elastic_block_store and other.aws_elastic_block_store:
        return one.aws_elastic_block_store.volume_id == other.aws_elastic_block_store.volume_id
    if one.iscsi and other.iscsi:
        return one.iscsi.iqn == other.iscsi.iqn and not (
            one.iscsi.read_only and other.iscsi.read_only
        )
    if one.rbd and other.rbd:
        c, d = one.rbd, other.rbd
        same = (c.pool, c.image) == (d.pool, d.image) and bool(
            set(c.monitors or ()) & set(d.monitors or ())
        )
        return same and not (c.read_only and d.read_only)
    return False


# ---- NodeVolumeLimits ----------------------------------------------------------------------------


def limited(pod: Pod, node: Node, cluster: Cluster) -> tuple[str, ...]:
    """All volumes there, counted anew."""
    for name, ephemeral in used(pod):
        claim = claim_of(pod, name, cluster)
        if claim is None:
            return (f"looking up PVC {pod.metadata.namespace}/{name}: {missing(name)}",)
        if ephemeral and not owned(pod, claim):
            return (foreign(pod, name),)
    csi_node = named(CSINode, node.metadata.name, cluster)
    drivers = (csi_node.spec.drivers or ()) if csi_node is not None else ()
    for driver in sorted({driver for driver, _ in volumes_of(pod, cluster)}):
        said = named(CSIDriver, driver, cluster)
        if (
            said is not None
            and said.spec.prevent_pod_scheduling_if_missing
            and driver not in {one.name for one in drivers}
            and (csi_node is not None or driver in native_drivers(pod, cluster))
        ):
            return (f"{driver} CSI driver is not installed on the node",)
    limits = {
        one.name: one.allocatable.count
        for one in drivers
        if one.allocatable is not None and one.allocatable.count is not None
    }
    there = {volume for other in cluster.pods_on(node) for volume in volumes_of(other, cluster)}
    attached = set()
    for one in cluster.of_kind(VolumeAttachment):
        pv = named(PersistentVolume, one.spec.source.persistent_volume_name or "", cluster)
        if one.spec.node_name == node.metadata.name and pv is not None and pv.spec.csi is not None:
            attached.add((one.spec.attacher, pv.spec.csi.volume_handle))
    new = set(volumes_of(pod, cluster)) - there
    for driver, limit in limits.items():
        wanted = sum(one[0] == driver for one in new)
        if wanted and sum(one[0] == driver for one in there | attached) + wanted > limit:
            return (LIMIT,)
    return ()


def native_drivers(pod: Pod, cluster: Cluster) -> Iterator[str]:
    """The drivers of volumes that were not in-tree."""
    for name, _ in used(pod):
        claim = claim_of(pod, name, cluster)
        if claim is None:
            continue
        pv = named(PersistentVolume, claim.spec.volume_name, cluster)
        storage_class = named(StorageClass, class_name(claim), cluster)
        if pv is not None and pv.spec.csi is not None:
            yield pv.spec.csi.driver
        if pv is None and storage_class is not None and storage_class.provisioner not in DRIVERS:
            yield storage_class.provisioner


def volumes_of(pod: Pod, cluster: Cluster) -> Iterator[tuple[str, str]]:
    """Driver and handle of each volume that counts."""
    for one in pod.spec.volumes or ():
        if one.gce_persistent_disk is not None:
            yield (
                DRIVERS["kubernetes.io/gce-pd"],
                f"projects/UNSPECIFIED/zones/UNSPECIFIED/disks/{one.gce_persistent_disk.pd_name}",
            )
        if one.aws_elastic_block_store is not None:
            yield DRIVERS["kubernetes.io/aws-ebs"], one.aws_elastic_block_store.volume_id
    for name, ephemeral in used(pod):
        claim = claim_of(pod, name, cluster)
        if claim is None or (ephemeral and not owned(pod, claim)):
            continue
        pv = named(PersistentVolume, claim.spec.volume_name, cluster)
        storage_class = named(StorageClass, class_name(claim), cluster)
        if pv is not None:
            if pv.spec.csi is not None:
                yield pv.spec.csi.driver, pv.spec.csi.volume_handle
            elif pv.spec.aws_elastic_block_store is not None:
                yield DRIVERS["kubernetes.io/aws-ebs"], pv.spec.aws_elastic_block_store.volume_id
        elif storage_class is not None and storage_class.provisioner:
            yield (
                DRIVERS.get(storage_class.provisioner, storage_class.provisioner),
                f"to be made for {pod.metadata.namespace}/{name}",
            )


# ---- VolumeZone ----------------------------------------------------------------------------------


def unzoned(pod: Pod, name: str, cluster: Cluster) -> str:
    """Why a claim's place can't be told."""
    claim = claim_of(pod, name, cluster)
    if claim is None:
        return missing(name)
    if claim.spec.volume_name:
        pv = named(PersistentVolume, claim.spec.volume_name, cluster)
        return "" if pv is not None else f'persistentvolume "{claim.spec.volume_name}" not found'
    if not class_name(claim):
        return "PersistentVolumeClaim had no pv name and storageClass name"
    storage_class = named(StorageClass, class_name(claim), cluster)
    if storage_class is None:
        return f'storageclass.storage.k8s.io "{class_name(claim)}" not found'
    return (
        ""
        if storage_class.volume_binding_mode == "WaitForFirstConsumer"
        else "PersistentVolume had no name"
    )


def zoned(pod: Pod, node: Node, cluster: Cluster) -> tuple[str, ...]:
    """Each volume's labels against the node's."""
    labels = node.metadata.labels or {}
    pairs = [(key, BETA + key.rpartition("/")[2]) for key in ZONES]
    if not any(key in labels for pair in pairs for key in pair):
        return ()
    for name in shared(pod):
        claim = claim_of(pod, name, cluster)
        pv = named(PersistentVolume, claim.spec.volume_name, cluster) if claim is not None else None
        where = (pv.metadata.labels if pv is not None else None) or {}
        for stable, beta in pairs:
            for key in (stable, beta):
                parts = [part.strip() for part in where.get(key, "").split("__")]
                if all(parts) and labels.get(key, labels.get(stable)) not in parts:
                    return ("node(s) had no available volume zone",)
    return ()


# ---- VolumeBinding -------------------------------------------------------------------------------


def unbindable(pod: Pod, cluster: Cluster) -> str:
    """Why a pod's claims can't be bound for now, wherever it goes."""
    for name, ephemeral in used(pod):
        claim = claim_of(pod, name, cluster)
        if claim is None:
            made = (
                f"waiting for ephemeral volume controller to create the persistentvolumeclaim "
                f'"{name}"'
            )
            return made if ephemeral else missing(name)
        if claim.status.phase == "Lost":
            return (
                f'persistentvolumeclaim "{name}" bound to non-existent persistentvolume '
                f'"{claim.spec.volume_name}"'
            )
        if claim.metadata.deletion_timestamp is not None:
            return f'persistentvolumeclaim "{name}" is being deleted'
        if ephemeral and not owned(pod, claim):
            return foreign(pod, name)
    for name, _ in used(pod):
        claim = claim_of(pod, name, cluster)
        if claim is not None and not is_bound(claim):
            storage_class = named(StorageClass, class_name(claim), cluster)
            waits = (
                storage_class is not None
                and storage_class.volume_binding_mode == "WaitForFirstConsumer"
            )
            if not waits or claim.spec.volume_name:
                return "pod has unbound immediate PersistentVolumeClaims"
    return ""


def is_bound(claim: PersistentVolumeClaim) -> bool:
    """For good."""
    return bool(claim.spec.volume_name) and "pv.kubernetes.io/bind-completed" in (
        claim.metadata.annotations or {}
    )


def bindable(pod: Pod, node: Node, cluster: Cluster) -> tuple[str, ...]:
    """One reason for bound claims, one for the others."""
    claims = [
        claim
        for name in dict.fromkeys(name for name, _ in used(pod))
        if (claim := claim_of(pod, name, cluster)) is not None
    ]
    reach = lost = ""
    for claim in claims:
        if is_bound(claim) and not reach and not lost:
            pv = named(PersistentVolume, claim.spec.volume_name, cluster)
            if pv is None:
                lost = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"
            elif not within(pv, node, taken_over(pv, node, cluster)):
                reach = "node(s) didn't match PersistentVolume's node affinity"
    open_claims = [claim for claim in claims if not is_bound(claim)]
    return tuple(text for text in (reach, unbound(open_claims, node, cluster), lost) if text)


def unbound(claims: list[PersistentVolumeClaim], node: Node, cluster: Cluster) -> str:
    """Why claims that wait for their pod can't get volumes on this node."""
    nowhere = "node(s) didn't find available persistent volumes to bind"
    promised = [claim for claim in claims if SELECTED in (claim.metadata.annotations or {})]
    if any(
        (claim.metadata.annotations or {})[SELECTED] != node.metadata.name for claim in promised
    ):
        return nowhere
    to_make = promised + [
        claim
        for claim, pv in choose([one for one in claims if one not in promised], node, cluster)
        if pv is None
    ]
    for claim in to_make:
        storage_class = named(StorageClass, class_name(claim), cluster)
        if storage_class.provisioner in ("", "kubernetes.io/no-provisioner") or not allowed(
            storage_class, node
        ):
            return nowhere
        driver = named(CSIDriver, storage_class.provisioner, cluster)
        tells = driver is not None and driver.spec.storage_capacity
        if tells and room_wanted(claim) is not None and not roomy(claim, node, cluster):
            return "node(s) did not have enough free storage"
    return ""


def choose(
    claims: list[PersistentVolumeClaim], node: Node, cluster: Cluster
) -> list[tuple[PersistentVolumeClaim, PersistentVolume | None]]:
    """The volume for each claim, the smallest claim first."""
    found: list[tuple[PersistentVolumeClaim, PersistentVolume | None]] = []
    for claim in sorted(claims, key=lambda one: room_wanted(one) or 0):
        free = [
            pv
            for pv in cluster.of_kind(PersistentVolume)
            if pv not in [taken for _, taken in found] and suits(pv, claim)
        ]
        mine = sorted(
            (pv for pv in free if pv.spec.claim_ref is not None), key=lambda pv: pv.metadata.name
        )
        others = [pv for pv in free if pv.spec.claim_ref is None and takes(pv, claim)]
        others.sort(key=lambda pv: (capacity(pv), pv.metadata.name))
        reached = [pv for pv in mine or others if within(pv, node)]
        found.append((claim, reached[0] if reached else None))
    return found


def suits(pv: PersistentVolume, claim: PersistentVolumeClaim) -> bool:
    """What is asked also of a volume that is set aside for the claim; one that is for another never
    suits.
    """
    ref, meta = pv.spec.claim_ref, claim.metadata
    if ref is not None and (
        (ref.namespace, ref.name) != (meta.namespace, meta.name) or ref.uid not in ("", meta.uid)
    ):
        return False
    modes = (pv.spec.volume_mode or "Filesystem") == (claim.spec.volume_mode or "Filesystem")
    large = capacity(pv) >= (room_wanted(claim) or 0)
    return (
        modes
        and large
        and pv.metadata.deletion_timestamp is None
        and class_name(pv) == class_name(claim)
    )


def takes(pv: PersistentVolume, claim: PersistentVolumeClaim) -> bool:
    """What is asked of a free volume besides."""
    selected = claim.spec.selector is None or selects(claim.spec.selector, pv.metadata.labels or {})
    return (
        pv.status.phase == "Available"
        and selected
        and set(claim.spec.access_modes or ()) <= set(pv.spec.access_modes or ())
    )


def capacity(pv: PersistentVolume) -> int:
    """In bytes."""
    return value((pv.spec.capacity or {}).get("storage", 0))


def room_wanted(claim: PersistentVolumeClaim) -> int | None:
    """In bytes."""
    wanted = ((claim.spec.resources.requests if claim.spec.resources else None) or {}).get(
        "storage"
    )
    return value(wanted) if wanted is not None else None


def roomy(claim: PersistentVolumeClaim, node: Node, cluster: Cluster) -> bool:
    """Whether a driver has room for the claim's volume."""
    for one in cluster.of_kind(CSIStorageCapacity):
        limit = one.maximum_volume_size if one.maximum_volume_size is not None else one.capacity
        there = one.node_topology is not None and selects(
            one.node_topology, node.metadata.labels or {}
        )
        if (
            one.storage_class_name == class_name(claim)
            and there
            and limit is not None
            and value(limit) >= (room_wanted(claim) or 0)
        ):
            return True
    return False


def allowed(storage_class: StorageClass, node: Node) -> bool:
    """Whether the class's volumes can be made for the node."""
    terms, labels = storage_class.allowed_topologies or (), node.metadata.labels or {}
    if not terms:
        return True
    expressions = [term.match_label_expressions or () for term in terms]
    return any(
        term and all(labels.get(one.key) in (one.values or ()) for one in term)
        for term in expressions
    )


def taken_over(pv: PersistentVolume, node: Node, cluster: Cluster) -> bool:
    """Whether a CSI driver serves this EBS volume on the node."""
    csi_node = named(CSINode, node.metadata.name, cluster)
    listed = ((csi_node.metadata.annotations or {}) if csi_node else {}).get(
        "storage.alpha.kubernetes.io/migrated-plugins", ""
    )
    return pv.spec.aws_elastic_block_store is not None and "kubernetes.io/aws-ebs" in listed.split(
        ","
    )


def within(pv: PersistentVolume, node: Node, taken_over: bool = False) -> bool:
    """Whether the node can reach the volume; where a CSI driver took over, zones go by its own
    label.
    """
    affinity = pv.spec.node_affinity.required if pv.spec.node_affinity else None
    if affinity is None:
        return True
    labels = dict(node.metadata.labels or {})
    if taken_over:
        labels.pop(ZONES[0], None)
        if (own := labels.get("topology.ebs.csi.aws.com/zone")) is not None:
            labels[ZONES[0]] = own
    return any(matches(term, labels) for term in affinity.node_selector_terms or ())


def matches(term: NodeSelectorTerm, labels: dict[str, str]) -> bool:
    """All expressions; a term without any matches nothing."""
    selector = LabelSelector(match_expressions=term.match_expressions)
    return bool(term.match_expressions) and selects(selector, labels)
