"""The document of one pod: its explanation, and what a page needs beside."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from moorage.api.resolution import Resolver
from moorage.apps.explain.explanation_documents import KIND, Document
from moorage.apps.explain.first_lines import first_line
from moorage.apps.explain.one_pod import default_revision, explain, explain_under, find_pod
from moorage.apps.printing.documents import API_VERSION
from moorage.apps.ui.questions import Question, denied
from moorage.apps.worlds.world import World
from moorage.core.columns.nodes.node_table import NodeTable
from moorage.core.explaining.pending_pods import Limits
from moorage.core.framework.interfaces import ExtensionPoint
from moorage.core.framework.revisions import Revision
from moorage.core.objects.pods import Pod, priority
from moorage.core.simulation.measures import ZONE
from moorage.ports.requesters import Denied
from moorage.ports.texts import printable

LIMITS: Final = Limits(seconds=2.0)
"""Of the search for what would help: watching stands still meanwhile."""


def pod_document(
    world: World, question: Question, resolver: Resolver, wait: Mapping[str, Any] | None = None
) -> Document:
    """Whoever has the world to himself calls this: what would help is tried on its context.
    ``wait``: what a queue knows of the pod, which counts while it has no node. Raises Denied.
    """
    pod = find_pod(world.context.cache, question.name)
    if pod is None:
        raise Denied(404, f"there is no pod {question.name}; from {world.origin}")
    if question.profile:
        with denied():
            found = explain_under(world, pod, question.profile, resolver)
    else:
        found = explain(world, pod, resolver, LIMITS)
    explanation: Document = {
        "apiVersion": API_VERSION,
        "kind": KIND,
        **found,
        "source": world.origin,
        "at": world.at.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "leftOut": list(world.warnings),
        "wait": None if world.context.cache.pod_info(pod.metadata.uid) is not None else wait,
    }
    revision = world.profiles.get(pod.spec.scheduler_name) or default_revision(resolver)
    nodes = world.context.cache.nodes
    return for_page(explanation, pod, revision, nodes)


def for_page(explanation: Document, pod: Pod, revision: Revision, nodes: NodeTable) -> Document:
    """The explanation with its first line, the order of filters, and the zones of all nodes that it
    names.
    """
    return {
        **explanation,
        "answer": printable(first_line(explanation)),
        "priority": priority(pod),
        "owner": _owner(pod),
        "plugins": list(revision.points.get(ExtensionPoint.FILTER, ())),
        "zones": {name: _zone(name, nodes) for name in dict.fromkeys(_named(explanation)) if name},
        "history": explanation.get("history", []),
    }


def _owner(pod: Pod) -> str | None:
    for owner in pod.metadata.owner_references or ():
        if owner.controller:
            return f"{owner.kind} {pod.metadata.namespace}/{owner.name}"
    return None


def _named(explanation: Document) -> Iterator[str]:
    """The nodes that an explanation names."""
    for group in explanation.get("refusals", ()):
        yield from (near["node"] for near in group.get("nearest", ()))
    yield from (one["node"] for one in explanation.get("scores", ()))
    yield from (one["node"] for one in explanation.get("changes", ()))
    yield explanation.get("node") or ""


def _zone(name: str, nodes: NodeTable) -> str:
    row = nodes.row_of.get(name)
    node: Any = None if row is None else nodes.nodes[row]
    return "" if node is None else (node.metadata.labels or {}).get(ZONE, "")
