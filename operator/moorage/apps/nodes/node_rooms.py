"""The documents about nodes: all of them as columns, or one with its pods."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from moorage.apps.printing.amounts import counted, exact_quantity, rounded_quantity
from moorage.apps.worlds.world_frame import WorldFrame
from moorage.core.columns.cache import PodInfo
from moorage.core.objects.meta import key
from moorage.core.objects.nodes import Node
from moorage.core.objects.pods import Pod, priority
from moorage.core.pods.requests import Requests, pod_requests
from moorage.core.simulation.measures import MAX_CLASSES, ZONE, PodClass, amounts_of, useless_room

UNSCHEDULABLE: Final = 1
TAINTED: Final = 2
NOT_READY: Final = 4
"""Of ``flags``: cordoned; a taint that keeps pods away, beside that of cordoning; not ready."""
POOL_LABELS: Final = (
    "node.kubernetes.io/pool",
    "cloud.google.com/gke-nodepool",
    "eks.amazonaws.com/nodegroup",
    "karpenter.sh/nodepool",
    "kubernetes.azure.com/agentpool",
    "node.kubernetes.io/instance-type",
)
"""The first of these that a node has tells of which pool the nodes are."""
CORDON_TAINT: Final = "node.kubernetes.io/unschedulable"
_KEEP_AWAY: Final = ("NoSchedule", "NoExecute")
_MAX_PODS: Final = 1000
"""Of one node, in its document."""


def nodes_document(frame: WorldFrame) -> dict[str, Any]:
    """All nodes: one entry each in every list, in the order of names."""
    classes = _classes(frame)
    free = {name: has - frame.taken[name] for name, has in frame.has.items()}
    useless = useless_room(free, [PodClass(asks, pods) for asks, pods, _ in classes])
    nothing = np.zeros(len(frame.nodes), np.int64)
    stranded = {name: useless.get(name, nothing).round().astype(np.int64) for name in free}
    label = pool_label(frame.nodes)
    zones, zone_names = _coded([label_of(node, ZONE) for node in frame.nodes])
    pools, pool_names = _coded([label_of(node, label) for node in frame.nodes])
    flags = [flags_of(node) for node in frame.nodes]
    pods = frame.taken.get("pods", nothing)
    return {
        "answer": _answer(frame, flags, pods),
        "names": [node.metadata.name for node in frame.nodes],
        "zones": zones,
        "zoneNames": zone_names,
        "pools": pools,
        "poolNames": pool_names,
        "poolLabel": label,
        "resources": {
            name: {
                "allocatable": frame.has[name].tolist(),
                "requested": frame.taken[name].tolist(),
                "stranded": stranded[name].tolist(),
            }
            for name in frame.has
        },
        "pods": pods.tolist(),
        "flags": flags,
        "classes": [
            {"asks": dict(asks), "pods": pods, "waiting": waiting}
            for asks, pods, waiting in classes
        ],
        "stranded": [*_stranded(free, stranded)],
    }


def node_document(frame: WorldFrame, name: str) -> dict[str, Any] | None:
    """One node and its pods; None where there is none of this name."""
    names = [node.metadata.name for node in frame.nodes]
    if name not in names:
        return None
    row = names.index(name)
    node = frame.nodes[row]
    pods = [info for info in frame.placed if info.node == name]
    pods.sort(key=lambda info: (-info.requests.cpu, -info.requests.memory, key(info.pod)))
    amounts = {
        resource: {"allocatable": int(has[row]), "requested": int(frame.taken[resource][row])}
        for resource, has in frame.has.items()
    }
    return {
        "answer": _about_node(name, amounts, len(pods)),
        "name": name,
        "zone": label_of(node, ZONE),
        "pool": label_of(node, pool_label(frame.nodes)),
        "flags": flags_of(node),
        "taints": [_taint(one) for one in node.spec.taints or ()],
        "labels": dict(node.metadata.labels or {}),
        "resources": amounts,
        "profiles": dict(Counter(_scheduler(info) for info in pods)),
        "pods": [_pod(info) for info in pods[:_MAX_PODS]],
    }


# ---- nodes ---------------------------------------------------------------------------------------


def pool_label(nodes: Sequence[Node]) -> str:
    """The label that says of which pool nodes are; "" where none has one."""
    return next(
        (label for label in POOL_LABELS if any(label_of(node, label) for node in nodes)), ""
    )


def label_of(node: Node, label: str) -> str:
    """The label's value; "" where the node has none."""
    return (node.metadata.labels or {}).get(label, "")


def flags_of(node: Node) -> int:
    """What keeps pods away from a node."""
    taints = node.spec.taints or ()
    away = any(one.effect in _KEEP_AWAY and one.key != CORDON_TAINT for one in taints)
    conditions = node.status.conditions or ()
    lost = any(one.type == "Ready" and one.status != "True" for one in conditions)
    return UNSCHEDULABLE * bool(node.spec.unschedulable) | TAINTED * away | NOT_READY * lost


def _taint(taint: Any) -> str:
    value = f"={taint.value}" if taint.value else ""
    return f"{taint.key}{value}:{taint.effect}"


def _coded(values: Sequence[str]) -> tuple[list[int], list[str]]:
    """Places in the list of distinct values, and that list, sorted."""
    names = sorted(set(values))
    place = {name: i for i, name in enumerate(names)}
    return [place[value] for value in values], names


# ---- pods ----------------------------------------------------------------------------------------


def _classes(frame: WorldFrame) -> list[tuple[Mapping[str, int], int, int]]:
    """What pods ask for, how many, and how many of these wait; the most common first. Pods of one
    template share what they ask for, so most are told apart by identity.
    """
    by_identity = Counter(id(info.requests) for info in frame.placed)
    distinct = {id(info.requests): info.requests for info in frame.placed}
    counts = Counter[Requests]()
    for number, pods in by_identity.items():
        counts[distinct[number]] += pods
    waiting = Counter(pod_requests(pod) for pod in frame.waiting)
    counts += waiting
    return [
        ({name: amount for name, amount in amounts_of(one) if amount}, pods, waiting[one])
        for one, pods in counts.most_common(MAX_CLASSES)
    ]


def _pod(info: PodInfo) -> dict[str, Any]:
    asks = {
        name: exact_quantity(name, amount)
        for name, amount in amounts_of(info.requests)
        if amount and name != "pods"
    }
    known = isinstance(info.pod, Pod)
    return {
        "pod": key(info.pod),
        "profile": _scheduler(info),
        "priority": priority(info.pod) if known and isinstance(info.pod, Pod) else 0,
        "asks": asks,
    }


def _scheduler(info: PodInfo) -> str:
    return info.pod.spec.scheduler_name if isinstance(info.pod, Pod) else ""


# ---- sentences -----------------------------------------------------------------------------------


def _answer(frame: WorldFrame, flags: Sequence[int], pods: npt.NDArray[np.int64]) -> str:
    if not frame.nodes:
        return "There are no nodes yet."
    nodes = counted(len(frame.nodes), "node")
    had = int(frame.has["cpu"].sum()) if "cpu" in frame.has else 0
    share = f"{100 * int(frame.taken['cpu'].sum()) / had:.0f} %" if had else "nothing"
    closed = sum(map(bool, flags))
    empty = int((pods == 0).sum())
    return f"{nodes}: {share} of the cpu is asked for; {empty:,} are empty, {closed:,} closed."


def _about_node(name: str, amounts: Mapping[str, Mapping[str, int]], pods: int) -> str:
    free = [
        f"{rounded_quantity(resource, max(0, had['allocatable'] - had['requested']), 'down')} "
        f"{resource}"
        for resource, had in amounts.items()
        if resource not in ("pods", "ephemeral-storage")
    ]
    return f"{name} has {counted(pods, 'pod')}; free are {', '.join(free) or 'nothing'}."


def _stranded(
    free: Mapping[str, npt.NDArray[np.int64]], stranded: Mapping[str, npt.NDArray[np.int64]]
) -> Iterator[dict[str, Any]]:
    """A sentence for each resource of which some is stranded."""
    for name, room in stranded.items():
        amount = int(room.sum())
        left = int(np.maximum(free[name], 0).sum())
        if name == "pods" or not amount:
            continue
        said = [rounded_quantity(name, one, "down") for one in (amount, left)]
        yield {
            "resource": name,
            "text": f"{said[0]} of {said[1]} free {name} lie where pods that ask for it lack "
            f"something else",
            "amount": amount,
            "free": left,
            "nodes": int((room > 0).sum()),
        }
