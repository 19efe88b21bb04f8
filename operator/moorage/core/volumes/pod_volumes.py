"""The volumes of a pod: which claims it uses, and which disks and volumes it carries to its
node.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import NamedTuple

import msgspec

from moorage.core.objects.pods import Pod, Volume
from moorage.core.objects.storage import (
    PersistentVolumeClaim,
)
from moorage.core.pods.ceilings import volumes_within
from moorage.core.volumes.csi_migration import VolumeId, inline_volumes

_encode = msgspec.msgpack.Encoder().encode


# ---- claims of pods ------------------------------------------------------------------------------


class ClaimUse(NamedTuple):
    """A pod's use of a claim of its namespace. ``owner``: the pod's UID where the claim must be its
    own (an ephemeral volume's).
    """

    namespace: str
    name: str
    owner: str = ""

    @property
    def key(self) -> str:
        """The claim as the store knows it."""
        return f"{self.namespace}/{self.name}"

    def owns(self, claim: PersistentVolumeClaim) -> bool:
        """Whether this claim may be used so."""
        return not self.owner or any(
            ref.controller and ref.uid == self.owner
            for ref in claim.metadata.owner_references or ()
        )


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
    """What is said of a pod whose ephemeral volume's claim is somebody else's, between "PVC" and
    "(pod is not owner)".
    """
    return f"{use.key} was not created for pod {pod.metadata.namespace}/{pod.metadata.name}"


# ---- disks that can't be shared ------------------------------------------------------------------


class Disk(NamedTuple):
    """A disk that stands in a pod's spec and that pods on one node may share only if all read
    (``read_only``).

    ``monitors``: an RBD image is the same one only if it is reached by one of the same monitors;
    None for others.
    """

    kind: str
    name: tuple[str, ...]
    read_only: bool = False
    monitors: tuple[str, ...] | None = None

    def clashes(self, other: Disk) -> bool:
        """Whether both can't be used on one node."""
        if (self.kind, self.name) != (other.kind, other.name) or (
            self.read_only and other.read_only
        ):
            return False
        return self.monitors is None or any(
            monitor in (other.monitors or ()) for monitor in self.monitors
        )


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


# ---- all of a pod --------------------------------------------------------------------------------


class PodVolumeUse(NamedTuple):
    """All of a pod's volumes that placement looks at."""

    claims: tuple[ClaimUse, ...] = ()
    inline: tuple[VolumeId, ...] = ()
    disks: tuple[Disk, ...] = ()

    def __bool__(self) -> bool:
        """Whether there are any."""
        return bool(self.claims or self.inline or self.disks)


NO_VOLUMES = PodVolumeUse()


def volumes_of(pod: Pod) -> PodVolumeUse:
    """What a pod brings to its node; most pods' volumes are nothing to placement."""
    if all(volume == Volume(volume.name) for volume in pod.spec.volumes or ()):
        return NO_VOLUMES
    return PodVolumeUse(tuple(claim_uses(pod)), inline_volumes(pod), disks(pod)) or NO_VOLUMES
