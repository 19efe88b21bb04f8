"""Documents that a frame is enough for: overview, nodes, one node, and what is found by name."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any, Final

import moorage
from moorage.apps.nodes.node_rooms import node_document, nodes_document
from moorage.apps.printing.amounts import counted, moment
from moorage.apps.printing.documents import API_VERSION
from moorage.apps.ui.questions import Question
from moorage.apps.worlds.world_frame import WorldFrame
from moorage.core.objects.meta import key
from moorage.ports.requesters import Denied

MAX_FOUND: Final = 20
"""Of each kind."""
OF_FRAMES: Final = ("overview", "nodes", "node", "find")


@dataclasses.dataclass(frozen=True, slots=True)
class PageSubject:
    """What a page is of: the cluster's name and Kubernetes' version, "" where not known; whether
    there is a present; the documents that there are; the names of the SchedulerProfiles that can be
    shown.
    """

    cluster: str
    version: str
    live: bool
    has: tuple[str, ...]
    profiles: tuple[str, ...] = ()


def frame_document(frame: WorldFrame, question: Question, subject: PageSubject) -> dict[str, Any]:
    """The document that is asked for; takes some ten milliseconds at 5,000 nodes. Raises Denied."""
    match question.document:
        case "overview":
            return document_of_frame("Overview", frame, _overview(frame, subject))
        case "nodes":
            return document_of_frame("Nodes", frame, nodes_document(frame))
        case "node":
            if (body := node_document(frame, question.name)) is None:
                raise Denied(404, f"there is no node {question.name}; from {frame.origin}")
            return document_of_frame("Node", frame, body)
        case "find":
            return document_of_frame("Found", frame, _found(frame, subject, question.text.lower()))
    raise Denied(404, f"there is no {question.document} here")


def document_of_frame(kind: str, frame: WorldFrame, body: Mapping[str, Any]) -> dict[str, Any]:
    """A document from what was seen then."""
    at = moment(frame.at.timestamp())
    seen = {"at": at, "source": frame.origin, "leftOut": list(frame.warnings)}
    return {"apiVersion": API_VERSION, "kind": kind, "answer": "", **seen, **body}


def _overview(frame: WorldFrame, subject: PageSubject) -> dict[str, Any]:
    nodes, pods, waiting = len(frame.nodes), len(frame.placed), len(frame.waiting)
    return {
        "answer": f"{counted(nodes, 'node')}, {counted(pods, 'pod')} on them; {waiting:,} wait.",
        "cluster": subject.cluster,
        "version": subject.version,
        "moorage": moorage.__version__,
        "live": subject.live,
        "has": list(subject.has),
        "nodes": nodes,
        "pods": pods,
        "waiting": waiting,
        "resources": {
            name: {"allocatable": int(has.sum()), "requested": int(frame.taken[name].sum())}
            for name, has in frame.has.items()
        },
    }


def _found(frame: WorldFrame, subject: PageSubject, text: str) -> dict[str, Any]:
    pods = {key(info.pod): info.node for info in frame.placed}
    places: dict[str, str | None] = {**pods, **{key(pod): None for pod in frame.waiting}}
    nodes = _matching((node.metadata.name for node in frame.nodes), text)
    profiles = _matching(subject.profiles, text)
    matching = _matching(places, text)
    return {
        "answer": f"{counted(len(matching) + len(nodes) + len(profiles), 'name')} found.",
        "pods": [{"pod": pod, "node": places[pod]} for pod in matching],
        "nodes": nodes,
        "profiles": profiles,
    }


def _matching(names: Iterable[str], text: str) -> list[str]:
    """Those that have the text in them; first where it begins the name, after a namespace too."""
    found = [name for name in names if text in name.lower()]
    found.sort(key=lambda name: (not name.rpartition("/")[2].lower().startswith(text), name))
    return found[:MAX_FOUND]
