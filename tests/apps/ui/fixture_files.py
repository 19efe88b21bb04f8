"""The invented cluster as files: ``python -m tests.apps.ui.fixture_files FOLDER`` writes them.

A folder is a variant, a file a document. A document that takes a parameter is in a table by that
parameter: pods by NAMESPACE/NAME, differences by "A B".
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, Final

from tests.apps.ui import harbor, harbor_pods, harbor_times
from tests.apps.ui.harbor import Document, Files, told

EVERY: Final = (
    "status",
    "queue",
    "nodes",
    "node",
    "pod",
    "history",
    "trial",
    "diff",
    "timeline",
    "decisions",
    "compare",
    "find",
)


def variants() -> dict[str, Files]:
    """By name."""
    return {
        "harbor": _harbor(),
        "small": _small(),
        "recorded": _recorded(),
        "making": _recorded(),
        "empty": _empty(),
    }


def unfinished(document: Document) -> Document:
    """A document as it is while it is being made in the background."""
    times = {"end": document["begin"]} if "begin" in document else {}
    lists: Document = {name: [] for name, value in document.items() if isinstance(value, list)}
    return {**document, **lists, **times, "worlds": document.get("worlds", []), "progress": 0.0}


def _harbor() -> Files:
    nodes = harbor.nodes_document()
    return {
        "overview": overview(nodes, "harbor-prod", live=True, has=EVERY, pods=61_480, waiting=196),
        "status": harbor.status_document(),
        "queue": harbor.queue_document(),
        "nodes": nodes,
        "node": harbor.node_documents(nodes),
        "pod": harbor_pods.pod_documents(),
        "history": harbor_times.history_documents(),
        "trial": harbor_times.trial_documents(),
        "diff": harbor_times.difference_documents(),
        "timeline": harbor_times.timeline_document(),
        "decisions": harbor_times.decisions_document(),
        "compare": harbor_times.compare_documents(),
        "find": found(),
    }


def _small() -> Files:
    """Six nodes of a cluster with kube-scheduler alone, seen through its API server."""
    source = "the API server alone, https://127.0.0.1:6443 (context kind)"
    nodes = first_nodes(harbor.nodes_document(), 6, source)
    no_queue = "the queue is not known: no operator of Moorage leads here"
    queue = told(
        "Queue",
        "1 pod waits.",
        source,
        ordered=False,
        depth={"active": 0, "backoff": 0, "unschedulable": 1, "gated": 0},
        pods=[],
        rows=[],
    )
    return {
        "overview": overview(
            nodes,
            "kind",
            live=True,
            has=("status", "queue", "nodes", "pod", "find"),
            pods=31,
            waiting=1,
        ),
        "status": {
            **told(
                "Status",
                "No SchedulerProfile yet.",
                source,
                problems=[],
                profiles=[],
                groups=None,
                replicas=[],
                rates=None,
            ),
            "leftOut": [no_queue],
        },
        "queue": {**queue, "leftOut": [no_queue]},
        "nodes": nodes,
        "pod": harbor_pods.pod_documents(),
        "find": found(),
    }


def _recorded() -> Files:
    """A recording alone: no present, no trial, no queue as an operator knows it."""
    files = _harbor()
    has = [name for name in EVERY if name not in ("trial", "status")]
    overview = {**files["overview"], "live": False, "has": has, "source": "26nov.rec"}
    return {"overview": overview, **{name: files[name] for name in has}}


def _empty() -> Files:
    nodes = first_nodes(harbor.nodes_document(), 0, "")
    return {
        **_small(),
        "overview": overview(nodes, "new", live=True, has=("status", "queue", "nodes", "find")),
        "nodes": {**nodes, "answer": "There are no nodes yet."},
        "queue": {
            **_small()["queue"],
            "answer": "Nothing waits.",
            "depth": dict.fromkeys(("active", "backoff", "unschedulable", "gated"), 0),
        },
    }


def overview(
    nodes: Document, cluster: str, *, live: bool, has: Any, pods: int = 0, waiting: int = 0
) -> Document:
    """Of these nodes."""
    resources = {
        name: {part: sum(column[part]) for part in ("allocatable", "requested")}
        for name, column in nodes["resources"].items()
    }
    return told(
        "Overview",
        f"{len(nodes['names']):,} nodes, {pods:,} pods on them; {waiting:,} wait.",
        nodes["source"],
        cluster=cluster,
        version="v1.36.1",
        moorage="0.1.0",
        live=live,
        has=list(has),
        nodes=len(nodes["names"]),
        pods=pods,
        waiting=waiting,
        resources=resources,
    )


def first_nodes(nodes: Document, count: int, source: str) -> Document:
    """These alone."""
    each = ("names", "zones", "pools", "pods", "flags")
    columns = {
        name: {part: values[:count] for part, values in column.items()}
        for name, column in nodes["resources"].items()
    }
    return {
        **nodes,
        **{name: nodes[name][:count] for name in each},
        "resources": columns,
        "source": source,
        "answer": f"{count} nodes.",
        "stranded": [],
    }


def found() -> Document:
    """Whatever is looked for."""
    return told(
        "Found",
        "5 found.",
        pods=[
            {"pod": "ml/eval-vision-0", "node": None},
            {"pod": "shop/checkout-7c9d5b8f64-x2lqp", "node": "general-1843"},
        ],
        nodes=["general-1843", "gpu-a100-0117"],
        profiles=["binpack"],
    )


def texts(folder: Path) -> dict[Path, str]:
    """What is in each file."""
    return {
        folder / variant / f"{name}.json": json.dumps(body, separators=(",", ":")) + "\n"
        for variant, files in variants().items()
        for name, body in files.items()
    }


def main() -> int:
    """Write them."""
    for path, text in texts(Path(sys.argv[1])).items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
