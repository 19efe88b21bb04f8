"""Rows of a Queue document: a pod group, or pods of one owner that wait alike, and why they do, in
words.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterable, Sequence
from typing import Final

from moorage.apps.printing.amounts import counted
from moorage.apps.waiting.queue_documents import Document, local_time

REASONS: Final = 2
"""More are counted."""


@dataclasses.dataclass(slots=True)
class Row:
    """Pods that are alike, in their order."""

    pods: list[Document]
    key: tuple[object, ...]

    @property
    def position(self) -> str:
        first, last = self.pods[0]["position"], self.pods[-1]["position"]
        if first is None:
            return "-"
        return str(first) if first == last or self.pods[0]["group"] else f"{first}-{last}"

    @property
    def name(self) -> str:
        """The pod, its owner with how many pods these are, or its group with how many wait and are
        placed.
        """
        pod = self.pods[0]
        if self.key and pod["group"]:
            counts = member_counts(len(self.pods), pod["groupMinCount"], pod["groupPlaced"])
            return f"{pod['group']} ({counts})"
        if len(self.pods) == 1:
            return str(pod["pod"])
        namespace = pod["pod"].partition("/")[0]
        owner = pod["owner"].partition("/")[2]
        return f"{namespace}/{owner} ({len(self.pods)} pods)"


def folded(pods: Iterable[Document]) -> list[Row]:
    """Rows: in the order of the queue only neighbours are joined, of the others all that are
    alike. All members of a group are one row, where the first of them is: its turn is theirs.
    """
    rows: list[Row] = []
    unordered: dict[tuple[object, ...], Row] = {}
    for pod in pods:
        key = _key(pod)
        last = rows[-1] if rows else None
        if pod["group"] and key in unordered:
            unordered[key].pods.append(pod)
        elif pod["position"] is not None and last is not None and last.key == key:
            last.pods.append(pod)
        elif pod["position"] is None and key in unordered:
            unordered[key].pods.append(pod)
        else:
            rows.append(Row([pod], key))
            unordered[key] = rows[-1]
    return rows


def _key(pod: Document) -> tuple[object, ...]:
    """What pods of one row have in common. Counts of nodes differ from attempt to attempt."""
    if pod["group"]:
        return "group", pod["group"], pod["schedulerName"]
    owner = (pod["pod"].partition("/")[0], pod["owner"]) if pod["owner"] else pod["pod"]
    reasons = frozenset(one["reason"] for one in pod["reasons"])
    return owner, pod["schedulerName"], pod["queue"], pod["priority"], pod["gate"], reasons


def why(pods: Sequence[Document], *, wide: bool = False) -> str:
    """What these pods wait for, and until when at most; of members of a group, the first that was
    told more than that its group does not fit.
    """
    pod = next((one for one in pods if _was_told(one)), pods[0])
    until = max((one["until"] for one in pods if one["until"]), default=None)
    at = "" if until is None else local_time(until)
    reasons = reason_text(pod["reasons"])
    match pod["queue"]:
        case "inFlight":
            text = "being placed"
        case "active":
            text = "next" if pod["position"] else "not tried yet"
        case "backoff":
            text = f"backoff until {at} ({counted(pod['attempts'], 'attempt')})"
            if pod["group"] and pod["reasons"]:  # a group is hardly ever found elsewhere
                text += f": {reasons.rstrip('.')}"
        case "unschedulable":
            latest = f"; until something changes, {at} at the latest" if at else ""
            text = f"{reasons.rstrip('.')}{latest}"
        case "gated":
            text = pod["groupMessage"] or f"gate {pod['gate']}"
        case _:
            text = f"no profile serves {pod['schedulerName']} now"
    held = room_text(pod["groupRoomHeldUntil"] and local_time(pod["groupRoomHeldUntil"]))
    nominated = f"; nominated to {pod['nominatedNode']}" if pod["nominatedNode"] else ""
    wakes = f"; wakes on {', '.join(pod['wakesOn'])}" if wide and pod["wakesOn"] else ""
    return f"{text}{held}{nominated}{wakes}"


def room_text(until: str | None) -> str:
    """Goes behind what a group waits for; "" where no room is held."""
    return f"; room is held for it until {until} at the latest" if until else ""


def member_counts(waiting: int, least: int | None, placed: int) -> str:
    """``3 wait, 1 of 4 placed``."""
    of = f"{placed} of {least} placed" if least else f"{placed} placed"
    return f"{counted(waiting, 'waits', 'wait')}, {of}"


def _was_told(pod: Document) -> bool:
    return any(one["nodes"] is not None for one in pod["reasons"])


def reason_text(found: Sequence[Document]) -> str:
    """Why nodes did not take a pod: the first reasons, and how many more there are."""
    if not found:
        return "no node"
    texts = [
        one["reason"] if one["nodes"] is None else f"{one['nodes']} {one['reason']}"
        for one in itertools.islice(found, REASONS)
    ]
    more = len(found) - len(texts)
    return ", ".join(texts) + (f" and {more} more" if more else "")
