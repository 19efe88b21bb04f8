"""The shorthand of scenarios, and what the API server is sent for it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

PROFILE: Final = "scenarios"
"""The profile, and schedulerName, of pods that name none."""
CONTAINER: Final = "main"

_CORE: Final = "/api/v1"
_STORAGE: Final = "/apis/storage.k8s.io/v1"
_OURS: Final = "/apis/moorage.dev/v1alpha1"

KINDS: Final[Mapping[str, str]] = {
    "Namespace": f"{_CORE}/namespaces",
    "Node": f"{_CORE}/nodes",
    "PersistentVolume": f"{_CORE}/persistentvolumes",
    "PersistentVolumeClaim": f"{_CORE}/namespaces/{{namespace}}/persistentvolumeclaims",
    "Pod": f"{_CORE}/namespaces/{{namespace}}/pods",
    "PodDisruptionBudget": "/apis/policy/v1/namespaces/{namespace}/poddisruptionbudgets",
    "PriorityClass": "/apis/scheduling.k8s.io/v1/priorityclasses",
    "RuntimeClass": "/apis/node.k8s.io/v1/runtimeclasses",
    "CSINode": f"{_STORAGE}/csinodes",
    "StorageClass": f"{_STORAGE}/storageclasses",
    "PluginConfig": f"{_OURS}/pluginconfigs",
    "SchedulerProfile": f"{_OURS}/schedulerprofiles",
}
"""Kind -> where its objects are."""

_METADATA: Final = frozenset({"namespace", "labels", "annotations"})
_CONTAINER: Final = frozenset({"ports"})
_NATIVE: Final = frozenset({"cpu", "memory", "ephemeral-storage"})


def path(what: str, namespace: str = "") -> str:
    """Where ``Kind``, ``Kind/name`` or ``Kind/name/subresource`` is."""
    kind, *rest = what.split("/", 2)
    return "/".join([KINDS[kind].format(namespace=namespace), *rest])


def manifest(kind: str, name: str, said: Mapping[str, Any], namespace: str) -> dict[str, Any]:
    """The object that a scenario says so much about."""
    head = KINDS[kind].removeprefix("/apis/").removeprefix("/api/").split("/")
    version = head[0] if head[0] == "v1" else "/".join(head[:2])
    metadata = {"name": name, **{key: value for key, value in said.items() if key in _METADATA}}
    if "{namespace}" in KINDS[kind]:
        metadata.setdefault("namespace", namespace)
    rest = {key: value for key, value in said.items() if key not in _METADATA}
    body = _node(name, metadata, rest) if kind == "Node" else _pod(rest) if kind == "Pod" else rest
    return {"apiVersion": version, "kind": kind, "metadata": metadata, **body}


def _node(name: str, metadata: dict[str, Any], said: dict[str, Any]) -> dict[str, Any]:
    """``room`` is laid over 4 CPUs, 8 GiB and 110 pods; the rest is its spec."""
    metadata["labels"] = {"kubernetes.io/hostname": name, **metadata.get("labels", {})}
    room = {"cpu": 4, "memory": "8Gi", "pods": 110, **said.pop("room", {})}
    return {"spec": said, "status": {"capacity": room, "allocatable": room}}


def _pod(said: dict[str, Any]) -> dict[str, Any]:
    """What README.md lists is its container's, or stands for something else; the rest is its
    spec.
    """
    requests = {key: said.pop(key) for key in sorted(_NATIVE & said.keys())}
    devices = said.pop("devices", {})
    container = {key: said.pop(key) for key in sorted(_CONTAINER & said.keys())}
    spec: dict[str, Any] = {
        "schedulerName": PROFILE,
        "terminationGracePeriodSeconds": said.pop("grace", 0),
    }
    if "node" in said:
        spec["nodeName"] = said.pop("node")
    if "priority" in said:
        spec["priorityClassName"] = priority_class(said.pop("priority"))
    if "claim" in said:
        spec["volumes"] = [
            {"name": "data", "persistentVolumeClaim": {"claimName": said.pop("claim")}}
        ]
    if requests or devices:
        container["resources"] = {"requests": {**requests, **devices}, "limits": devices}
    spec["containers"] = [{"name": CONTAINER, "image": "registry.example/app:1", **container}]
    return {"spec": {**spec, **said}}


def priority_class(value: int) -> str:
    """The name of the class that gives this priority."""
    return f"priority-{value}"


def running(resources: Mapping[str, Any]) -> dict[str, Any]:
    """The status that a kubelet writes for a pod that runs with these resources."""
    container = {
        "name": CONTAINER,
        "image": "registry.example/app:1",
        "imageID": "",
        "ready": True,
        "started": True,
        "restartCount": 0,
        "allocatedResources": resources,
        "resources": {"requests": resources},
        "state": {"running": {"startedAt": "2026-01-01T00:00:00Z"}},
    }
    return {"status": {"phase": "Running", "containerStatuses": [container]}}
