"""The Queue document: every pod that waits, in the order of the queue, with why and until when.

It is made of what the operator says of its queue (/debug/queue), or of the pods of the API server,
which know of no order, no attempts and no times.
"""

from __future__ import annotations

import collections
import datetime
import re
from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final

from moorage.apps.printing.amounts import counted

KIND: Final = "Queue"
Document = dict[str, Any]
WORDS: Final = {
    "active": ("is next", "are next"),
    "backoff": ("is in backoff", "are in backoff"),
    "unschedulable": ("finds no node", "find no node"),
    "gated": ("is gated", "are gated"),
    "unserved": ("has no profile that serves it", "have no profile that serves them"),
}
"""The places of pods that wait, and what is said of one and of many in them."""
FLYING: Final = "inFlight"
_REFUSED: Final = ("backoff", "unschedulable")
_ORDER: Final = (FLYING, *WORDS)
_AVAILABLE: Final = re.compile(r"0/\d+ nodes are available: (.*?)\.(?: .*)?", re.DOTALL)
"""Behind the reasons is what postFilter says."""
_REASON: Final = re.compile(r"(\d+) (.+?)(?:, (?=\d+ )|$)", re.DOTALL)


def queue_document(
    pods: Iterable[Document],
    about: Mapping[str, Any],
    profile: str = "",
    scheduler: str = "",
    schedulers: Collection[str] | None = None,
) -> Document:
    """The document. ``about`` says what was looked at (at, cluster, operator, leftOut). With a
    profile it has only the pods that name its scheduler, in the places that they have among all.
    Pods that name none of ``schedulers``, those of all profiles, wait for nobody here: the answer
    counts them apart, as Status cannot know of them.
    """
    ordered = _in_order(pods)
    shown = [one for one in ordered if not profile or one["schedulerName"] == scheduler]
    ours = [one for one in shown if schedulers is None or one["schedulerName"] in schedulers]
    counts = collections.Counter(one["queue"] for one in shown)
    return {
        "answer": _answer(ours, profile, len(shown) - len(ours)),
        **about,
        "profile": profile or None,
        "counts": {place: counts[place] for place in _ORDER},
        "pods": shown,
    }


def _in_order(pods: Iterable[Document]) -> list[Document]:
    """Those whose attempt runs, those that have a turn, then the others, by how long they wait;
    each with its position, None for those that have no turn.
    """
    ranks = {place: rank for rank, place in enumerate(_ORDER)}

    def key(one: Document) -> tuple[Any, ...]:
        return ranks[one["queue"]], one["turn"] or [], one["since"] or "", one["pod"]

    found, position = [], 0
    for one in sorted(pods, key=key):
        turn = one.pop("turn")
        position += turn is not None
        found.append({**one, "position": position if turn is not None else None})
    return found


def _answer(ours: Iterable[Document], profile: str, strangers: int) -> str:
    counts = collections.Counter(one["queue"] for one in ours)
    of = f" of profile {profile}" if profile else ""
    name = counted(strangers, "pod names", "pods name")
    beside = f" {name} a schedulerName that no profile has." if strangers else ""
    waiting = sum(counts[place] for place in WORDS)
    if not waiting:
        placed = counts[FLYING]
        rest = f"; {counted(placed, 'pod is being placed', 'pods are being placed')}"
        return f"Nothing waits{of}{rest if placed else ''}.{beside}"
    parts = [
        f"{counts[place]:,} {words[counts[place] != 1]}"
        for place, words in WORDS.items()
        if counts[place]
    ]
    verb = "waits" if waiting == 1 else "wait"
    return f"{counted(waiting, 'pod')}{of} {verb}: {', '.join(parts)}.{beside}"


# ---- pods ----------------------------------------------------------------------------------------


def from_operator(items: Iterable[Mapping[str, Any]]) -> list[Document]:
    """Pods as /debug/queue has them."""
    return [
        {
            "pod": one["pod"],
            "uid": one["uid"],
            "owner": one["owner"] or None,
            "schedulerName": one["profile"],
            "queue": one["state"],
            "turn": one["turn"],
            "priority": one["priority"],
            "attempts": one["attempts"],
            "since": one["since"],
            "until": one["until"] or None,
            "gate": one["gatingPlugin"] or None,
            "group": one["group"] or None,
            "groupMessage": one["groupMessage"] or None,
            "groupMinCount": one.get("groupMinCount"),
            "groupPlaced": one.get("groupPlaced", 0),
            "groupRoomHeldUntil": one.get("groupRoomHeldUntil") or None,
            "nominatedNode": one["nominatedNodeName"] or None,
            "reasons": reasons_of(one["message"]) if one["state"] in _REFUSED else [],
            "wakesOn": one["wakesOn"],
        }
        for one in items
    ]


def from_pods(pods: Iterable[Mapping[str, Any]], schedulers: Collection[str]) -> list[Document]:
    """Pods of the API server that name one of these schedulers and have no node."""
    return [from_pod(one) for one in pods if one["spec"].get("schedulerName") in schedulers]


def from_pod(pod: Mapping[str, Any]) -> Document:
    """A pod without a node, as the API server has it: it finds none where its condition says that
    it was tried in vain.
    """
    metadata, spec, status = pod["metadata"], pod["spec"], pod.get("status") or {}
    conditions = status.get("conditions") or ()
    said: Mapping[str, Any] = next((c for c in conditions if c["type"] == "PodScheduled"), {})
    gates = [gate["name"] for gate in spec.get("schedulingGates") or ()]
    refused = said.get("reason") in ("Unschedulable", "SchedulerError")
    owners = metadata.get("ownerReferences") or ()
    return {
        "pod": f"{metadata['namespace']}/{metadata['name']}",
        "uid": metadata.get("uid"),
        "owner": next((f"{o['kind']}/{o['name']}" for o in owners if o.get("controller")), None),
        "schedulerName": spec.get("schedulerName") or "",
        "queue": "gated" if gates else "unschedulable" if refused else "active",
        "turn": None,
        "priority": spec.get("priority") or 0,
        "attempts": None,
        "since": metadata.get("creationTimestamp"),
        "until": None,
        "gate": gates[0] if gates else None,
        "group": _group(pod),
        "groupMessage": None,
        "groupMinCount": None,
        "groupPlaced": 0,
        "groupRoomHeldUntil": None,
        "nominatedNode": status.get("nominatedNodeName") or None,
        "reasons": reasons_of(str(said.get("message") or "")) if refused and not gates else [],
        "wakesOn": [],
    }


def _group(pod: Mapping[str, Any]) -> str | None:
    """Of Kubernetes' own PodGroups."""
    name = (pod["spec"].get("schedulingGroup") or {}).get("podGroupName")
    return f"{pod['metadata']['namespace']}/{name}" if name else None


def reasons_of(message: str) -> list[Document]:
    """What a pod's condition says, by reason: of how many nodes, None where it is not about nodes;
    those of most nodes first.
    """
    if not message:
        return []
    nodes = _AVAILABLE.fullmatch(message)
    found = [] if nodes is None else _REASON.findall(nodes[1])
    if not found:
        return [{"nodes": None, "reason": message}]
    counts = [{"nodes": int(count), "reason": reason} for count, reason in found]
    return sorted(counts, key=lambda one: -one["nodes"])


def local_time(text: str) -> str:
    """A time of the document as people read it."""
    return f"{datetime.datetime.fromisoformat(text).astimezone():%H:%M:%S}"
