"""What wakes a refused pod: which events plugins register for, what their hints say, and the events that an update stands for."""

from __future__ import annotations

from typing import Any

import msgspec

from moorage.core.framework.cluster_events import Action, ClusterEvent, Resource, Wake
from moorage.core.framework.object_changes import node_changes, pod_changes
from moorage.core.objects.nodes import Node
from moorage.core.objects.pods import Pod
from moorage.core.objects.resource_claims import DeviceClass, ResourceClaim
from moorage.core.objects.storage import (
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
)
from tests.vectors.files import Case
from tests.vectors.profiles import revision_of
from tests.vectors.scheduling import cluster

RESOURCES: dict[str, Resource] = {
    "Pod": Resource.POD,
    "AssignedPod": Resource.ASSIGNED_POD,
    "UnschedulablePod": Resource.UNSCHEDULED_POD,
    "Node": Resource.NODE,
    "PersistentVolume": Resource.PERSISTENT_VOLUME,
    "PersistentVolumeClaim": Resource.PERSISTENT_VOLUME_CLAIM,
    "storage.k8s.io/StorageClass": Resource.STORAGE_CLASS,
    "storage.k8s.io/CSINode": Resource.CSI_NODE,
    "storage.k8s.io/CSIDriver": Resource.CSI_DRIVER,
    "storage.k8s.io/CSIStorageCapacity": Resource.CSI_STORAGE_CAPACITY,
    "storage.k8s.io/VolumeAttachment": Resource.VOLUME_ATTACHMENT,
    "resource.k8s.io/ResourceClaim": Resource.RESOURCE_CLAIM,
    "resource.k8s.io/ResourceSlice": Resource.RESOURCE_SLICE,
    "resource.k8s.io/DeviceClass": Resource.DEVICE_CLASS,
}
"""kube-scheduler's names; what is not here is an event of ours alone."""
_NAMES: dict[Resource | str, str] = {resource: name for name, resource in RESOURCES.items()}
_KINDS: dict[Resource, type[Any]] = {
    Resource.NODE: Node,
    Resource.POD: Pod,
    Resource.PERSISTENT_VOLUME: PersistentVolume,
    Resource.PERSISTENT_VOLUME_CLAIM: PersistentVolumeClaim,
    Resource.STORAGE_CLASS: StorageClass,
    Resource.CSI_NODE: CSINode,
    Resource.CSI_DRIVER: CSIDriver,
    Resource.CSI_STORAGE_CAPACITY: CSIStorageCapacity,
    Resource.VOLUME_ATTACHMENT: VolumeAttachment,
    Resource.RESOURCE_CLAIM: ResourceClaim,
    Resource.DEVICE_CLASS: DeviceClass,
}
"""The kinds of object that cases of hints are about."""


def hint(case: Case) -> dict[str, Any]:
    """Whether the plugin would have the pod tried again."""
    wakes = revision_of(case["profile"]).deciders[case["plugin"]].wakes
    pod, event = msgspec.convert(case["pod"], Pod), _event(case)
    store = cluster(case["objects"], None).store
    answers = [wake.hint is None or wake.hint(pod, event, store) for wake in wakes if wake.matches(event)]
    return {"hint": ("Queue" if any(answers) else "QueueSkip") if answers else "unregistered"}


def overlooked(case: Case) -> str:
    """Why a pod would not be asked although its hint says yes, as said by what its plugin heeds, listens to and selects; or ""."""
    plugin = revision_of(case["profile"]).deciders[case["plugin"]]
    pod, event = msgspec.convert(case["pod"], Pod), _event(case)
    store = cluster(case["objects"], None).store
    there = [one for one in (event.old, event.new) if isinstance(one, Pod)]
    if not there or any(one.metadata.uid == pod.metadata.uid for one in there):
        return ""
    for wake in plugin.wakes:
        if wake.listens is None or not wake.matches(event) or wake.hint is None or not wake.hint(pod, event, store):
            continue
        heard = any(one.matches(each.metadata.labels) for one in wake.listens(pod) for each in there)
        selected = wake.selects is not None and any(one.matches(pod.metadata.labels) for one in wake.selects(event))
        if not heard and not selected:
            return f"{case['id']}: {wake.resource}"
    return ""


def _event(case: Case) -> ClusterEvent:
    resource = RESOURCES[case["event"]["resource"]]
    (action,) = (action for action in (*Action, Action.UPDATE) if _spelled(action) == case["event"]["action"])
    old: Any = msgspec.convert(case.get("oldObj"), _KINDS[resource] | None)
    new: Any = msgspec.convert(case.get("newObj"), _KINDS[resource] | None)
    if resource is Resource.POD:
        resource = Resource.ASSIGNED_POD if (new or old).spec.node_name else Resource.UNSCHEDULED_POD
    return ClusterEvent(resource, action, old, new)


def events(case: Case) -> dict[str, Any]:
    """The events of an update, in order."""
    kind = _KINDS[RESOURCES[case["resource"]]]
    old, new = msgspec.convert(case["oldObj"], kind), msgspec.convert(case["newObj"], kind)
    found = node_changes(old, new) if kind is Node else pod_changes(old, new)
    return {"events": [{"resource": _NAMES[event.resource], "action": _spelled(event.action)} for event in found]}


def registrations(case: Case) -> dict[str, Any]:
    """What each plugin of the profile that may refuse a pod registers for."""
    found = {}
    for name, plugin in revision_of(case["profile"]).deciders.items():
        if known := [wake for wake in plugin.wakes if wake.resource in _NAMES]:
            found[name] = [_registration(wake) for wake in known]
    return {"registrations": found}


def _registration(wake: Wake) -> dict[str, Any]:
    rest = wake.actions & ~Action.UPDATE if Action.UPDATE in wake.actions else wake.actions
    actions = [_spelled(action) for action in rest] + (["Update"] if Action.UPDATE in wake.actions else [])
    return {"resource": _NAMES[wake.resource], "actions": actions, "hint": wake.hint is not None}


def _spelled(action: Action) -> str:
    """``UpdateNodeLabel``."""
    return str(action.name).title().replace("_", "")
