"""What a kubelet reports of its node and of its pods: the fields that other components and
`kubectl` read.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from towtank.model import conditions
from towtank.model.kinds import KUBERNETES, Body
from towtank.model.times import timestamp

_KUBELETS_PORT = 10250
_HEALTHY = (
    (
        "MemoryPressure",
        "False",
        "KubeletHasSufficientMemory",
        "kubelet has sufficient memory available",
    ),
    ("DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    ("PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
    ("Ready", "True", "KubeletReady", "kubelet is posting ready status"),
)
_TRUE_WHILE_RUNNING = ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady")
_NODE_INFO = {
    "machineID": "",
    "systemUUID": "",
    "bootID": "",
    "kernelVersion": "6.12.0",
    "osImage": "pretended",
    "containerRuntimeVersion": "containerd://2.1.0",
    "kubeletVersion": f"v{'.'.join(map(str, KUBERNETES))}",
    "kubeProxyVersion": "",
    "operatingSystem": "linux",
    "architecture": "amd64",
}


# ---- nodes ---------------------------------------------------------------------------------------


def node_status(node: Body, address: str, now: datetime) -> Body:
    """The status of a healthy node: what it says already stays; all of its capacity is offered."""
    status = node.get("status", {})
    addresses = [
        {"type": "InternalIP", "address": address},
        {"type": "Hostname", "address": node["metadata"]["name"]},
    ]
    offered = {**status.get("capacity", {}), **status.get("allocatable", {})}
    return {
        **status,
        **({"allocatable": offered} if status.get("capacity") else {}),
        "conditions": [*status.get("conditions", ()), *_healthy(status, now)],
        "addresses": status.get("addresses") or addresses,
        "daemonEndpoints": {"kubeletEndpoint": {"Port": _KUBELETS_PORT}},
        "nodeInfo": _node_info(node),
    }


def _healthy(status: Body, now: datetime) -> list[Body]:
    """The conditions that a status lacks."""
    said = {each.get("type") for each in status.get("conditions", ())}
    times = {"lastHeartbeatTime": timestamp(now), "lastTransitionTime": timestamp(now)}
    return [
        {"type": type_, "status": value, **times, "reason": reason, "message": message}
        for type_, value, reason, message in _HEALTHY
        if type_ not in said
    ]


def _node_info(node: Body) -> Body:
    labels = node["metadata"].get("labels", {})
    labelled = {
        "operatingSystem": labels.get("kubernetes.io/os", "linux"),
        "architecture": labels.get("kubernetes.io/arch", "amd64"),
    }
    said = node.get("status", {}).get("nodeInfo", {})
    return {**_NODE_INFO, **labelled, **{name: value for name, value in said.items() if value}}


# ---- pods ----------------------------------------------------------------------------------------


def running_status(pod: Body, node: Body, address: str, now: datetime) -> Body:
    """The status of a pod all of whose containers run and are ready."""
    spec, time = pod["spec"], timestamp(now)
    started = {"ready": True, "started": True, "state": {"running": {"startedAt": time}}}
    true = [(type_, "True", "") for type_ in _TRUE_WHILE_RUNNING]
    initial = [_init_container(pod, each, time) for each in spec.get("initContainers") or ()]
    return {
        **pod.get("status", {}),
        "phase": "Running",
        "observedGeneration": pod["metadata"].get("generation"),
        "conditions": _conditions(pod, _gated(pod, true), now),
        **_addresses(spec, node, address),
        "startTime": time,
        "containerStatuses": [_container(pod, each, started) for each in spec["containers"]],
        **({"initContainerStatuses": initial} if initial else {}),
    }


def _addresses(spec: Body, node: Body, address: str) -> Body:
    """The node's and the pod's, which are one where the pod has its host's network."""
    hosts = [
        each["address"]
        for each in node.get("status", {}).get("addresses", ())
        if each.get("type") == "InternalIP"
    ]
    own = hosts[0] if hosts and spec.get("hostNetwork") else address
    return {
        "hostIP": hosts[0] if hosts else None,
        "hostIPs": [{"ip": host} for host in hosts] or None,
        "podIP": own,
        "podIPs": [{"ip": own}],
    }


def gated_status(pod: Body, now: datetime) -> Body:
    """The status of a running pod after its readiness gates opened or closed."""
    status = pod["status"]
    if not pod["spec"].get("readinessGates"):
        return dict(status)
    return {**status, "conditions": _conditions(pod, _gated(pod, [("Ready", "True", "")]), now)}


def succeeded_status(pod: Body, now: datetime) -> Body:
    """The status of a pod whose containers have all ended well."""
    status, time = pod.get("status", {}), timestamp(now)
    done = [("Ready", "False", "PodCompleted"), ("ContainersReady", "False", "PodCompleted")]
    return {
        **status,
        "phase": "Succeeded",
        "conditions": _conditions(pod, done, now),
        "containerStatuses": [
            {**each, "ready": False, "started": False, "state": _terminated(time, each)}
            for each in status.get("containerStatuses", ())
        ],
    }


def _conditions(pod: Body, reported: Iterable[tuple[str, str, str]], now: datetime) -> list[Body]:
    """The pod's conditions with these (type, status, reason) in place of what they were; the
    scheduler's and others' stay.
    """
    fresh = {each[0]: _condition(pod, *each, timestamp(now)) for each in reported}
    before = pod.get("status", {}).get("conditions", ())
    return [*fresh.values(), *(each for each in before if each.get("type") not in fresh)]


def _condition(pod: Body, type_: str, value: str, reason: str, time: str) -> Body:
    said = {"type": type_, "status": value, "lastProbeTime": None}
    made = conditions.with_transition_time(pod, said, time)
    if reason:
        made["reason"] = reason
    if "generation" in pod["metadata"]:
        made["observedGeneration"] = pod["metadata"]["generation"]
    return made


def _gated(pod: Body, reported: list[tuple[str, str, str]]) -> list[tuple[str, str, str]]:
    """Not ready while a readiness gate is closed."""
    if all(
        conditions.holds(pod, gate["conditionType"])
        for gate in pod["spec"].get("readinessGates", ())
    ):
        return reported
    return [
        ("Ready", "False", "ReadinessGatesNotReady") if each[0] == "Ready" else each
        for each in reported
    ]


def _container(pod: Body, container: Body, more: Mapping[str, Any]) -> Body:
    resources = container.get("resources", {})
    said = {
        "name": container["name"],
        "image": container.get("image", ""),
        "imageID": "",
        "containerID": _container_id(pod, container["name"]),
        "lastState": {},
        "restartCount": 0,
        **more,
    }
    if resources:
        said["resources"] = resources
    if "requests" in resources:
        said["allocatedResources"] = resources["requests"]
    return said


def _init_container(pod: Body, container: Body, time: str) -> Body:
    if container.get("restartPolicy") == "Always":  # a sidecar
        return _container(
            pod,
            container,
            {"ready": True, "started": True, "state": {"running": {"startedAt": time}}},
        )
    return _container(
        pod, container, {"ready": True, "started": False, "state": _terminated(time, {})}
    )


def _terminated(time: str, container: Body) -> Body:
    started = container.get("state", {}).get("running", {}).get("startedAt", time)
    return {
        "terminated": {
            "exitCode": 0,
            "reason": "Completed",
            "startedAt": started,
            "finishedAt": time,
        }
    }


def _container_id(pod: Body, name: str) -> str:
    return "containerd://" + hashlib.sha256(f"{pod['metadata']['uid']}/{name}".encode()).hexdigest()
