"""Queue documents as the page reads them: of a leader's queue, or of pods alone, which know of no
order.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from moorage.apps.printing.amounts import moment
from moorage.apps.waiting.queue_documents import from_pod, queue_document
from moorage.apps.waiting.queue_rows import folded, why
from moorage.apps.worlds.world_frame import WorldFrame

Document = dict[str, Any]
_DEPTH = {
    "active": ("active", "inFlight"),
    "backoff": ("backoff",),
    "unschedulable": ("unschedulable",),
    "gated": ("gated", "unserved"),
}
"""The page's four bands, and the places that are in each."""
_BANDS = {place: band for band, places in _DEPTH.items() for place in places}


def queue_of(frame: WorldFrame) -> Document:
    """The pods of a frame that have no node."""
    about: Document = {"at": moment(frame.at.timestamp()), "operator": None}
    pods = (from_pod(msgspec.to_builtins(pod)) for pod in frame.waiting)
    return page_queue(queue_document(pods, about))


def page_queue(found: Mapping[str, Any]) -> Document:
    """The Queue document, with the rows that the command prints."""
    return {
        "answer": found["answer"],
        "ordered": bool(found["operator"]),
        "depth": depth_of(found["counts"]),
        "pods": [_waiting(one) for one in found["pods"]],
        "rows": [_row(row.name.partition(" (")[0], row.pods) for row in folded(found["pods"])],
    }


def depth_of(counts: Mapping[str, int]) -> dict[str, int]:
    """Pods in each band."""
    return {band: sum(counts.get(place, 0) for place in places) for band, places in _DEPTH.items()}


def _waiting(pod: Mapping[str, Any]) -> Document:
    same = ("pod", "schedulerName", "priority", "position", "attempts", "since", "until")
    return {
        **{name: pod[name] for name in same},
        "queue": _BANDS[pod["queue"]],
        "reasons": list(_reasons(pod)),
        "wakesOn": list(pod["wakesOn"]),
        "group": pod["group"],
        "roomHeldUntil": pod["groupRoomHeldUntil"],
    }


def _reasons(pod: Mapping[str, Any]) -> Iterable[str]:
    if pod["gate"]:
        yield pod["groupMessage"] or f"gate {pod['gate']}"
    for one in pod["reasons"]:
        yield one["reason"] if one["nodes"] is None else f"{one['nodes']} {one['reason']}"


def _row(name: str, pods: list[Document]) -> Document:
    first, last = pods[0], pods[-1]
    return {
        "name": name,
        "pods": [pod["pod"] for pod in pods],
        "schedulerName": first["schedulerName"],
        "priority": first["priority"],
        "queue": _BANDS[first["queue"]],
        "first": first["position"],
        "last": first["position"] if first["group"] else last["position"],
        "since": min((pod["since"] for pod in pods if pod["since"]), default=None),
        "why": why(pods),
        "until": max((pod["until"] for pod in pods if pod["until"]), default=None),
    }
