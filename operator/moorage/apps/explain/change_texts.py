"""Suggested changes, in words, and as patches where they are changes of the pod.

What is shown of a request is rounded down, so that it still fits; one step of what is shown more
would not.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec

from moorage.apps.printing.amounts import exact_quantity, rounded_quantity
from moorage.core.explaining.cluster_changes import AddedNodes, MovedPod
from moorage.core.explaining.pod_changes import (
    RequestChange,
    RequirementChange,
    TolerationChange,
    request_lists,
)
from moorage.core.explaining.refusals import taint_text
from moorage.core.explaining.suggestions import Change, Suggestion
from moorage.core.explaining.what_if_group import MinCountChange
from moorage.core.objects.meta import key
from moorage.core.objects.pods import Pod

MAX_NODES = 100
"""Nodes that take the pod, in a document."""


class ChangeText(NamedTuple):
    """A change's kind, as a word, what it is, and what comes of it."""

    kind: str
    text: str
    effect: str = ""


def changes_document(suggestion: Suggestion, pod: Pod) -> dict[str, Any]:
    """A suggestion, with each of its changes."""
    return {
        "changes": [_change_text(one, pod)._asdict() for one in suggestion.changes],
        "patch": [step for one in suggestion.changes for step in _patch(one, pod)],
        "fits": len(suggestion.nodes),
        "nodes": list(suggestion.nodes[:MAX_NODES]),
        "node": suggestion.placement.node,
        "verified": True,
    }


def _change_text(change: Change, pod: Pod) -> ChangeText:
    match change:
        case RequestChange():
            return ChangeText("request", _request_text(change, pod))
        case TolerationChange():
            return ChangeText("toleration", ", ".join(map(taint_text, change.taints)))
        case RequirementChange():
            dropped = ", ".join(one.text for one in change.dropped)
            return ChangeText("requirement", f"without {dropped}")
        case MovedPod():
            return ChangeText("move a pod", key(change.pod), f"{change.node} -> {change.to}")
        case MinCountChange():
            return ChangeText("minCount", f"{change.before} -> {change.after}")
        case AddedNodes():
            all_of = change.for_all
            effect = all_of and f"{all_of.nodes} for all {all_of.pods} pods that wait for the same"
            return ChangeText("add nodes", f"{change.number} like {change.like}", effect or "")


def _request_text(change: RequestChange, pod: Pod) -> str:
    before, after = (
        rounded_quantity(change.resource, amount, "down")
        for amount in (change.before, change.after)
    )
    text = f"{change.resource} {before} -> {after}"
    asking = [path for path, asked in request_lists(pod) if change.resource in asked]
    if len(asking) == 1:
        return text
    return f"{text}, no container above {rounded_quantity(change.resource, change.limit, 'down')}"


def _patch(change: Change, pod: Pod) -> Iterator[dict[str, Any]]:
    """What to change in the pod (or its owner's template), as a JSON patch with exact amounts;
    nothing for the cluster's changes.
    """
    match change:
        case RequestChange():
            changed = dict(request_lists(change.apply(pod)))
            for path, asked in request_lists(pod):
                if asked != changed[path]:
                    name = change.resource.replace("~", "~0").replace("/", "~1")
                    quantity = exact_quantity(change.resource, change.limit)
                    yield {"op": "replace", "path": f"{path}/{name}", "value": quantity}
        case TolerationChange() | RequirementChange():
            before, after = (msgspec.to_builtins(one.spec) for one in (pod, change.apply(pod)))
            for name in ("tolerations", "nodeSelector", "affinity"):
                if before.get(name) != after.get(name):
                    yield from _replaced(name, before, after)


def _replaced(name: str, before: dict[str, Any], after: dict[str, Any]) -> Iterator[dict[str, Any]]:
    path = f"/spec/{name}"
    if name not in after:
        yield {"op": "remove", "path": path}
    else:
        op = "replace" if name in before else "add"
        yield {"op": op, "path": path, "value": after[name]}
