"""What wakes a refused pod: which events plugins register for, what their hints say, and the events
that an update stands for.
"""

from __future__ import annotations

from typing import Any

import msgspec

from moorage.core.framework.cluster_events import (
    ActionType,
    ClusterEvent,
    ClusterEventWithHint,
    EventResource,
)
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

RESOURCES: dict[str, EventResource] = {
    "Pod": EventResource.POD,
    "AssignedPod": EventResource.ASSIGNED_POD,
    "UnscheduledPod": EventResource.UNSCHEDULED_POD,
    "TargetPod": EventResource.TARGET_POD,
    "Node": EventResource.NODE,
    "PersistentVolume": EventResource.PERSISTENT_VOLUME,
    "PersistentVolumeClaim": EventResource.PERSISTENT_VOLUME_CLAIM,
    "storage.k8s.io/StorageClass": EventResource.STORAGE_CLASS,
    "storage.k8s.io/CSINode": EventResource.CSI_NODE,
    "storage.k8s.io/CSIDriver": EventResource.CSI_DRIVER,
    "storage.k8s.io/CSIStorageCapacity": EventResource.CSI_STORAGE_CAPACITY,
    "storage.k8s.io/VolumeAttachment": EventResource.VOLUME_ATTACHMENT,
    "resource.k8s.io/ResourceClaim": EventResource.RESOURCE_CLAIM,
    "resource.k8s.io/ResourceSlice": EventResource.RESOURCE_SLICE,
    "resource.k8s.io/DeviceClass": EventResource.DEVICE_CLASS,
}
"""kube-scheduler's names; what is not here is an event of ours alone."""
_NAMES: dict[EventResource | str, str] = {resource: name for name, resource in RESOURCES.items()}
_KINDS: dict[EventResource, type[Any]] = {
    EventResource.NODE: Node,
    EventResource.POD: Pod,
    EventResource.PERSISTENT_VOLUME: PersistentVolume,
    EventResource.PERSISTENT_VOLUME_CLAIM: PersistentVolumeClaim,
    EventResource.STORAGE_CLASS: StorageClass,
    EventResource.CSI_NODE: CSINode,
    EventResource.CSI_DRIVER: CSIDriver,
    EventResource.CSI_STORAGE_CAPACITY: CSIStorageCapacity,
    EventResource.VOLUME_ATTACHMENT: VolumeAttachment,
    EventResource.RESOURCE_CLAIM: ResourceClaim,
    EventResource.DEVICE_CLASS: DeviceClass,
}
"""The kinds of object that cases of hints are about."""


def hint(case: Case) -> dict[str, Any]:
    """Whether the plugin would have the pod tried again."""
    wakes = revision_of(case["profile"]).deciders[case["plugin"]].events_to_register
    pod, event = msgspec.convert(case["pod"], Pod), _event(case)
    store = cluster(case["objects"], None).store
    answers = [
        wake.hint is None or wake.hint(pod, event, store) for wake in wakes if wake.matches(event)
    ]
    return {"hint": ("Queue" if any(answers) else "QueueSkip") if answers else "unregistered"}


def overlooked(case: Case) -> str:
    """Why a pod would not be asked although its hint says yes, as said by what its plugin heeds,
    listens to and selects; or "".
    """
    plugin = revision_of(case["profile"]).deciders[case["plugin"]]
    pod, event = msgspec.convert(case["pod"], Pod), _event(case)
    store = cluster(case["objects"], None).store
    there = [one for one in (event.old, event.new) if isinstance(one, Pod)]
    if not there or any(one.metadata.uid == pod.metadata.uid for one in there):
        return ""
    for wake in plugin.events_to_register:
        if (
            wake.pod_selectors is None
            or not wake.matches(event)
            or wake.hint is None
            or not wake.hint(pod, event, store)
        ):
            continue
        heard = any(
            one.matches(each.metadata.labels) for one in wake.pod_selectors(pod) for each in there
        )
        selected = wake.event_selectors is not None and any(
            one.matches(pod.metadata.labels) for one in wake.event_selectors(event)
        )
        if not heard and not selected:
            return f"{case['id']}: {wake.resource}"
    return ""


def _event(case: Case) -> ClusterEvent:
    resource = RESOURCES[case["event"]["resource"]]
    (action,) = (
        action
        for action in (*ActionType, ActionType.UPDATE)
        if _spelled(action) == case["event"]["action"]
    )
    old: Any = msgspec.convert(case.get("oldObj"), _KINDS[resource] | None)
    new: Any = msgspec.convert(case.get("newObj"), _KINDS[resource] | None)
    if resource is EventResource.POD:
        resource = _which_pod(new or old, new is None, case["pod"])
    return ClusterEvent(resource, action, old, new)


def _which_pod(about: Pod, is_gone: bool, waiting: dict[str, Any]) -> EventResource:
    """What an event on a pod is, for the one that waits."""
    if about.spec.node_name or (is_gone and about.status.nominated_node_name):
        return EventResource.ASSIGNED_POD
    is_itself = about.metadata.uid == waiting["metadata"]["uid"]
    return EventResource.TARGET_POD if is_itself else EventResource.UNSCHEDULED_POD


def events(case: Case) -> dict[str, Any]:
    """The events of an update, in order."""
    kind = _KINDS[RESOURCES[case["resource"]]]
    old, new = msgspec.convert(case["oldObj"], kind), msgspec.convert(case["newObj"], kind)
    found = node_changes(old, new) if kind is Node else pod_changes(old, new)
    return {
        "events": [
            {"resource": _NAMES[event.resource], "action": _spelled(event.action)}
            for event in found
        ]
    }


def registrations(case: Case) -> dict[str, Any]:
    """What each plugin of the profile that may refuse a pod registers for."""
    found = {}
    for name, plugin in revision_of(case["profile"]).deciders.items():
        if known := [wake for wake in plugin.events_to_register if wake.resource in _NAMES]:
            found[name] = [_registration(wake) for wake in known]
    return {"registrations": found}


def _registration(wake: ClusterEventWithHint) -> dict[str, Any]:
    rest = wake.actions & ~ActionType.UPDATE if ActionType.UPDATE in wake.actions else wake.actions
    actions = [_spelled(action) for action in rest] + (
        ["Update"] if ActionType.UPDATE in wake.actions else []
    )
    return {"resource": _NAMES[wake.resource], "actions": actions, "hint": wake.hint is not None}


def _spelled(action: ActionType) -> str:
    """``UpdateNodeLabel``."""
    return str(action.name).title().replace("_", "")
