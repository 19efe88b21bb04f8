"""The cluster state that the demo shows, from what the API server has and what the operator logs.
Pure; all its texts are printable.
"""

from __future__ import annotations

import dataclasses
import datetime
import math
from collections.abc import Iterable, Mapping
from typing import Any

from kubefacts import quantities
from moorage.ports.texts import printable

ZONE = "topology.kubernetes.io/zone"
_FINISHED = ("Succeeded", "Failed")
_KEEPS_AWAY = ("NoSchedule", "NoExecute")

Body = Mapping[str, Any]


@dataclasses.dataclass(frozen=True, slots=True)
class ProfileRow:
    """What the demo shows of a SchedulerProfile."""

    name: str
    generation: int
    revision: str
    """The one that decides; "" while none does."""
    ready: bool
    problem: str
    """Why it is not ready; ""."""
    waiting: int
    """Pods to be tried soon."""
    unschedulable: int
    gated: int = 0


@dataclasses.dataclass(frozen=True, slots=True)
class NodeUse:
    """How full a node is: shares of what it has to give."""

    name: str
    zone: str
    cpu: float
    memory: float
    pods: int
    """How many."""
    size: tuple[int, int] = (0, 0)
    """Processors and memory that it has to give, in billionths."""
    closed: str = ""
    """Why pods may keep away: "cordoned", "tainted"."""


@dataclasses.dataclass(frozen=True, slots=True)
class DecisionRow:
    """Which node a pod got; node "": none would do."""

    at: datetime.datetime
    pod: str
    node: str
    profile: str
    revision: str


@dataclasses.dataclass(frozen=True, slots=True)
class GatedPod:
    """A pod that is not tried, the gate that is in its way, and since when there is such a pod."""

    at: datetime.datetime
    pod: str
    gate: str


@dataclasses.dataclass(frozen=True, slots=True)
class ReplicaRow:
    """A process of the operator; pid None: it has died."""

    name: str
    pid: int | None
    leads: bool


@dataclasses.dataclass(frozen=True, slots=True)
class ClusterState:
    """All that the demo shows."""

    profiles: tuple[ProfileRow, ...] = ()
    nodes: tuple[NodeUse, ...] = ()
    decisions: tuple[DecisionRow, ...] = ()
    """The newest first."""
    replicas: tuple[ReplicaRow, ...] = ()
    swaps: Mapping[str, datetime.datetime] = dataclasses.field(default_factory=dict)
    """Revision -> since when it decides on the leader."""
    places: Mapping[str, Mapping[str, str]] = dataclasses.field(default_factory=dict)
    """Profile -> pod -> its node, "" while it has none. Pods are called by namespace and name."""
    refused: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """Pod -> why no node would do when it was tried last."""
    failed: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """Pod -> what failed when it was tried last, so that it is not known whether a node would
    do.
    """
    owners: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """Pod -> what controls it, by namespace and name; pods without a controller are left out."""
    gated: tuple[GatedPod, ...] = ()
    """The newest first."""
    placed_per_second: float = 0.0
    """Lately."""
    read_at: float = 0.0
    """When this was read, in seconds of the monotonic clock."""
    fresh_seconds: float = math.inf
    """After which it should have been read again."""

    @property
    def ready(self) -> bool:
        """Whether all profiles are ready and have decided about their pods: a node, or a
        refusal.
        """
        return bool(self.profiles) and all(
            profile.ready and self._decided(profile.name) for profile in self.profiles
        )

    def _decided(self, profile: str) -> bool:
        pods = self.places.get(profile, {})
        return bool(pods) and all(node or pod in self.refused for pod, node in pods.items())

    @property
    def strangers(self) -> int:
        """How many pods wait for a profile that there is not."""
        known = {profile.name for profile in self.profiles}
        return sum(
            not node
            for name, pods in self.places.items()
            if name not in known
            for node in pods.values()
        )


def profile(body: Body) -> ProfileRow:
    """A SchedulerProfile as the table has it."""
    status = body.get("status") or {}
    queue = status.get("queue") or {}
    conditions = {condition["type"]: condition for condition in status.get("conditions") or ()}
    ready = conditions.get("Ready", {}).get("status") == "True"
    return ProfileRow(
        name=printable(body["metadata"]["name"]),
        generation=body["metadata"].get("generation", 0),
        revision=status.get("activeRevision", ""),
        ready=ready,
        problem="" if ready else printable(_problem(conditions)),
        waiting=sum(queue.get(field, 0) for field in ("active", "backoff", "inFlight")),
        unschedulable=queue.get("unschedulable", 0),
        gated=queue.get("gated", 0),
    )


def _problem(conditions: Mapping[str, Body]) -> str:
    """What the condition says that makes a profile not ready, or else Ready itself."""
    bad = [
        each for kind, each in conditions.items() if kind != "Ready" and each["status"] == "False"
    ]
    told = bad[0] if bad else conditions.get("Ready", {})
    return str(told.get("message", "not looked at yet"))


def node_uses(nodes: Iterable[Body], pods: Iterable[Body]) -> tuple[NodeUse, ...]:
    """How full each node is, by what its pods ask for."""
    used: dict[str, list[int]] = {}
    for pod in pods:
        if (node := pod["spec"].get("nodeName")) and (pod.get("status") or {}).get(
            "phase"
        ) not in _FINISHED:
            sums = used.setdefault(node, [0, 0, 0])
            for container in pod["spec"].get("containers") or ():
                requests = (container.get("resources") or {}).get("requests") or {}
                for index, resource in enumerate(("cpu", "memory")):
                    sums[index] += quantities.nanos(requests.get(resource, 0))
            sums[2] += 1
    return tuple(_node_use(node, *used.get(node["metadata"]["name"], (0, 0, 0))) for node in nodes)


def _node_use(node: Body, cpu: int, memory: int, pods: int) -> NodeUse:
    has = (node.get("status") or {}).get("allocatable") or {}

    size = quantities.nanos(has.get("cpu", 0)), quantities.nanos(has.get("memory", 0))
    cpu_share, memory_share = (
        of / room if room else 0.0 for of, room in zip((cpu, memory), size, strict=True)
    )
    zone = (node["metadata"].get("labels") or {}).get(ZONE, "")
    return NodeUse(
        printable(node["metadata"]["name"]),
        printable(zone),
        cpu_share,
        memory_share,
        pods,
        size,
        _closed(node.get("spec") or {}),
    )


def _closed(spec: Body) -> str:
    if spec.get("unschedulable"):
        return "cordoned"
    return (
        "tainted"
        if any(taint["effect"] in _KEEPS_AWAY for taint in spec.get("taints") or ())
        else ""
    )


def decision(record: Body) -> DecisionRow:
    """A line of the operator's log that tells a decision."""
    pod, node, profile, revision = (
        printable(record[field]) for field in ("pod", "node", "profile", "revision")
    )
    return DecisionRow(logged_at(record), pod, node, profile, revision)


def logged_at(record: Body) -> datetime.datetime:
    """When a line of the operator's log was written."""
    return datetime.datetime.fromisoformat(record["ts"])


def places(pods: Iterable[Body]) -> dict[str, dict[str, str]]:
    """Profile -> pod -> its node."""
    found: dict[str, dict[str, str]] = {}
    for pod in pods:
        found.setdefault(pod["spec"].get("schedulerName", ""), {})[key(pod)] = pod["spec"].get(
            "nodeName", ""
        )
    return found


def refused(pods: Iterable[Body]) -> dict[str, str]:
    """Pod -> why no node will do, without what preemption has to add; where processors are lacking,
    how many it asks for.
    """
    pods = list(pods)
    asked = {key(pod): _cores(pod) for pod in pods}
    return {
        pod: _in_short(message) + (asked[pod] if "Insufficient cpu" in message else "")
        for pod, message in _unscheduled(pods, "Unschedulable").items()
    }


def _in_short(message: str) -> str:
    return (message.partition(" are available: ")[2] or message).partition(". ")[0].rstrip(".")


def _cores(pod: Body) -> str:
    requests = (
        (container.get("resources") or {}).get("requests") or {}
        for container in (pod.get("spec") or {}).get("containers") or ()
    )
    cores = sum(quantities.nanos(one.get("cpu", 0)) for one in requests) / 1e9
    return f" (asks {cores:g} core{'' if cores == 1 else 's'})" if cores else ""


def failed(pods: Iterable[Body]) -> dict[str, str]:
    """Pod -> what failed when it was tried."""
    return _unscheduled(pods, "SchedulerError")


def owners(pods: Iterable[Body]) -> dict[str, str]:
    """Pod -> what controls it."""
    return {
        key(pod): printable(f"{pod['metadata']['namespace']}/{owner['name']}")
        for pod in pods
        for owner in pod["metadata"].get("ownerReferences") or ()
        if owner.get("controller")
    }


def gated(pods: Iterable[Body]) -> tuple[GatedPod, ...]:
    """Pods that a gate of their spec keeps from being tried, the newest first."""
    found = (
        GatedPod(
            datetime.datetime.fromisoformat(pod["metadata"]["creationTimestamp"]),
            key(pod),
            printable(gates[0]["name"]),
        )
        for pod in pods
        if (gates := pod["spec"].get("schedulingGates")) and not pod["spec"].get("nodeName")
    )
    return tuple(sorted(found, key=lambda one: one.at, reverse=True))


def _unscheduled(pods: Iterable[Body], reason: str) -> dict[str, str]:
    """Pod -> what its condition PodScheduled says, where it has this reason."""
    found = {}
    for pod in pods:
        for condition in (pod.get("status") or {}).get("conditions") or ():
            if (
                condition["type"] == "PodScheduled"
                and condition["status"] == "False"
                and condition.get("reason") == reason
            ):
                found[key(pod)] = printable(condition.get("message", ""))
    return found


def key(pod: Body) -> str:
    """A pod as the operator's log calls it."""
    return printable(f"{pod['metadata']['namespace']}/{pod['metadata']['name']}")


def leader(lease: Body) -> str:
    """The name of the replica that leads, without what makes its identity unique; "" when none
    does.
    """
    return str((lease.get("spec") or {}).get("holderIdentity") or "").rpartition("_")[0]
