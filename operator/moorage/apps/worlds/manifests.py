"""Manifests: objects as people write them, completed as an API server would store them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from moorage.api.bodies import Body
from moorage.core.objects.pod_groups import API as POD_GROUP_API
from towtank.model.api_errors import ApiError
from towtank.strategies import pod_defaults

CLUSTER_WIDE: Final = frozenset(
    {
        "CSIDriver",
        "CSINode",
        "DeviceClass",
        "DeviceTaintRule",
        "Namespace",
        "Node",
        "PersistentVolume",
        "PluginConfig",
        "ResourceSlice",
        "SchedulerProfile",
        "StorageClass",
        "VolumeAttachment",
    }
)
_SYSTEM_PRIORITIES: Final = {
    "system-cluster-critical": 2_000_000_000,
    "system-node-critical": 2_000_001_000,
}
_NO_CLASS: Final = ""


class ManifestError(ValueError):
    """An API server would refuse the object; the text names the field."""


def priorities(bodies: Iterable[Body]) -> dict[str, int]:
    """What the PriorityClasses among these say, by name; "" is the global default."""
    found = dict(_SYSTEM_PRIORITIES)
    for body in bodies:
        metadata, value = body.get("metadata"), body.get("value")
        if body.get("kind") != "PriorityClass" or not isinstance(value, int):
            continue
        if isinstance(metadata, Mapping):
            found[str(metadata.get("name"))] = value
            if body.get("globalDefault") is True:
                found[_NO_CLASS] = value
    return found


def completed(body: dict[str, Any], known: Mapping[str, int]) -> dict[str, Any]:
    """The object with what it leaves to others to say; ``known`` are priorities by class. One that
    an API server gave is as it is. Raises ManifestError.
    """
    metadata = body.get("metadata")
    if not isinstance(metadata, dict) or not isinstance(metadata.get("name"), str):
        raise ManifestError("metadata.name: Required value")
    if metadata.get("uid"):
        return body
    place = {} if body.get("kind") in CLUSTER_WIDE else {"namespace": "default"}
    metadata = {**place, **metadata}
    names = (metadata.get("namespace"), metadata["name"])
    whole = {**body, "metadata": {**metadata, "uid": "/".join(filter(None, names))}}
    if body.get("kind") == "Node":
        return _node(whole)
    if (body.get("kind"), body.get("apiVersion")) == ("PodGroup", POD_GROUP_API):
        _prioritise(_spec(whole), known)
    return _pod(whole, known) if body.get("kind") == "Pod" else whole


def _node(node: dict[str, Any]) -> dict[str, Any]:
    """A node that gives all that it has, unless it says otherwise."""
    status = node.get("status")
    if status is None:
        return node
    if not isinstance(status, dict):
        raise ManifestError("status: must be an object")
    return {**node, "status": {"allocatable": status.get("capacity"), **status}}


def _pod(pod: dict[str, Any], known: Mapping[str, int]) -> dict[str, Any]:
    """A pod with the defaults of its spec."""
    spec = _spec(pod)
    try:
        pod_defaults.default_pod_spec(spec)
        pod_defaults.default_requests(spec)
    except (ApiError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise ManifestError(f"spec: {error}") from error
    _prioritise(spec, known)
    return pod


def _spec(body: dict[str, Any]) -> dict[str, Any]:
    spec = body.get("spec")
    if not isinstance(spec, dict):
        raise ManifestError("spec: Required value")
    return spec


def _prioritise(spec: dict[str, Any], known: Mapping[str, int]) -> None:
    """Give it its class's priority."""
    name = spec.get("priorityClassName") or _NO_CLASS
    if spec.get("priority") is None:
        if name and name not in known:
            text = f"spec.priorityClassName: {name!r}: there is no PriorityClass of this name"
            raise ManifestError(f"{text}: add it to the files")
        spec["priority"] = known.get(name, 0)
