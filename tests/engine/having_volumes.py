"""What the tests of pods with claims share: objects, and the parts of Kubernetes that bind and make
volumes.
"""

from __future__ import annotations

from typing import Any

import msgspec

from moorage.core.objects.nodes import Node
from moorage.core.objects.pods import ClaimVolume, Pod, Volume
from moorage.core.objects.storage import PersistentVolume, PersistentVolumeClaim, StorageClass
from moorage.core.plugins.volume_binding.offers import VolumeOffers
from moorage.core.volumes.claims import SELECTED_NODE
from tests.builders import make_node, make_pod
from tests.engine.running import Running
from tests.fakes.kube import InMemoryKube

HOST = "kubernetes.io/hostname"
BOUND = {"pv.kubernetes.io/bind-completed": "yes"}


def a_class(provisioner: str = "kubernetes.io/no-provisioner") -> StorageClass:
    """Class ``late``, whose claims wait for their pods."""
    document = {
        "metadata": {"name": "late"},
        "provisioner": provisioner,
        "volumeBindingMode": "WaitForFirstConsumer",
    }
    return msgspec.convert(document, StorageClass)


def a_claim(name: str) -> PersistentVolumeClaim:
    """A claim without a volume."""
    resources = {"requests": {"storage": "1Gi"}}
    spec = {"storageClassName": "late", "accessModes": ["ReadWriteOnce"], "resources": resources}
    document = {
        "metadata": {"name": name, "namespace": "default", "uid": f"uid-{name}"},
        "spec": spec,
        "status": {"phase": "Pending"},
    }
    return msgspec.convert(document, PersistentVolumeClaim)


def a_volume(name: str, node: str, **spec: Any) -> PersistentVolume:
    """A free volume that this node alone can reach."""
    required = {
        "nodeSelectorTerms": [
            {"matchExpressions": [{"key": HOST, "operator": "In", "values": [node]}]}
        ]
    }
    common = {
        "capacity": {"storage": "1Gi"},
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": "late",
    }
    document = {
        "metadata": {"name": name, "uid": f"uid-{name}"},
        "spec": {**common, "nodeAffinity": {"required": required}, **spec},
        "status": {"phase": "Available"},
    }
    return msgspec.convert(document, PersistentVolume)


def a_node(name: str) -> Node:
    """A node that is known by its host name."""
    return make_node(name, labels={HOST: name})


def a_pod(name: str, *claims: str) -> Pod:
    """A pod that uses these claims."""
    volumes = tuple(Volume(claim, persistent_volume_claim=ClaimVolume(claim)) for claim in claims)
    return make_pod(name, volumes=volumes)


def claim_in(kube: InMemoryKube, name: str) -> PersistentVolumeClaim:
    """The claim as the API server has it."""
    found: PersistentVolumeClaim = kube.others[PersistentVolumeClaim][f"default/{name}"]
    return found


def volume_in(kube: InMemoryKube, name: str) -> PersistentVolume:
    """The volume as the API server has it."""
    found: PersistentVolume = kube.others[PersistentVolume][name]
    return found


def selected(kube: InMemoryKube, name: str) -> str | None:
    """The node where the claim's volume is to be made."""
    return (claim_in(kube, name).metadata.annotations or {}).get(SELECTED_NODE)


def annotate(kube: InMemoryKube, name: str, annotations: dict[str, str] | None) -> None:
    """Somebody changes the claim's annotations."""
    claim = claim_in(kube, name)
    kube.put(
        msgspec.structs.replace(
            claim, metadata=msgspec.structs.replace(claim.metadata, annotations=annotations)
        )
    )


def bind(kube: InMemoryKube, name: str, volume: str) -> object:
    """The volume controller binds a claim to a volume."""
    claim = claim_in(kube, name)
    metadata = msgspec.structs.replace(
        claim.metadata, annotations={**(claim.metadata.annotations or {}), **BOUND}
    )
    spec = msgspec.structs.replace(claim.spec, volume_name=volume)
    return kube.put(
        PersistentVolumeClaim(metadata, spec, msgspec.structs.replace(claim.status, phase="Bound"))
    )


def assumptions(world: Running) -> list[object]:
    """Volumes and claims that count as something else than what the API server has."""
    offers = world.engine.context.cache.store.index(VolumeOffers)
    objects = [
        *world.kube.others[PersistentVolume].values(),
        *world.kube.others[PersistentVolumeClaim].values(),
    ]
    return [obj for obj in objects if offers.is_assumed(obj)]
