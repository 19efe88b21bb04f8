"""The queue as far as pods alone tell: who waits, and what was last said of it; no order."""

from __future__ import annotations

from typing import Any

from moorage.apps.printing.amounts import counted
from moorage.apps.worlds.world_frame import WorldFrame
from moorage.core.objects.meta import key
from moorage.core.objects.pods import Pod, priority


def queue_of(frame: WorldFrame) -> dict[str, Any]:
    """Pods that have no node, the oldest of the highest priority first."""
    waiting = sorted(
        frame.waiting,
        key=lambda pod: (-priority(pod), pod.metadata.creation_timestamp or "", key(pod)),
    )
    pods = [_pod(pod) for pod in waiting]
    depth = dict.fromkeys(("active", "backoff", "unschedulable", "gated"), 0)
    for one in pods:
        depth[one["queue"]] += 1
    answer = f"{counted(len(pods), 'pod')} {'waits' if len(pods) == 1 else 'wait'}."
    return {
        "answer": answer if pods else "Nothing waits.",
        "ordered": False,
        "depth": depth,
        "pods": pods,
        "rows": _folded(waiting, pods),
    }


def _pod(pod: Pod) -> dict[str, Any]:
    gates = [gate.name for gate in pod.spec.scheduling_gates or ()]
    said = next(
        (one.message for one in pod.status.conditions or () if one.type == "PodScheduled"), ""
    )
    why = [f"gate {name}" for name in gates] or ([said] if said else [])
    queue = "gated" if gates else "unschedulable" if said else "active"
    return {
        "pod": key(pod),
        "profile": pod.spec.scheduler_name,
        "priority": priority(pod),
        "queue": queue,
        "position": None,
        "attempts": None,
        "since": pod.metadata.creation_timestamp,
        "until": None,
        "reasons": why,
        "wakesOn": [],
    }


def _folded(waiting: list[Pod], pods: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Pods of one owner that wait for the same, as one row."""
    rows: dict[tuple[Any, ...], dict[str, Any]] = {}
    for pod, one in zip(waiting, pods, strict=True):
        owner = next(
            (each for each in pod.metadata.owner_references or () if each.controller), None
        )
        name = f"{pod.metadata.namespace}/{owner.name}" if owner else one["pod"]
        why = "; ".join(one["reasons"])
        same = name, one["profile"], one["priority"], one["queue"], why
        row = rows.setdefault(
            same,
            {
                "name": name,
                "pods": [],
                **{field: one[field] for field in ("profile", "priority", "queue", "since")},
                "first": None,
                "last": None,
                "why": why,
                "until": None,
            },
        )
        row["pods"].append(one["pod"])
    return list(rows.values())
