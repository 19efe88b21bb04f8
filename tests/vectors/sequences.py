"""Sequences: one cluster that changes between decisions, so that what is kept from pod to pod has
to be right again and again.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import msgspec

from moorage.core.columns.cache import Cache
from moorage.core.cycle.context import CycleContext, Diagnosis
from moorage.core.cycle.cycle import decide
from moorage.core.framework.interfaces import ExtensionPoint
from moorage.core.framework.revisions import Revision
from moorage.core.objects.nodes import Node
from moorage.core.objects.pods import Pod, on_node
from moorage.core.pods.requests import pod_requests
from tests.vectors.files import Case
from tests.vectors.profiles import revision_of
from tests.vectors.scheduling import cluster


def sequence(case: Case) -> dict[str, Any]:
    """What each scheduling step expects, as ``{"steps": [...]}``; a pod then runs on the first of
    its best nodes by name.
    """
    context = CycleContext(cluster(case.get("objects", {}), None))
    revision = revision_of(case["profile"])
    revision = dataclasses.replace(
        revision, points={**revision.points, ExtensionPoint.POST_FILTER: ()}
    )  # the texts end before preemption's
    uids = {
        f"{pod['metadata']['namespace']}/{pod['metadata']['name']}": pod["metadata"]["uid"]
        for pod in _pods(case)
    }
    found = []
    for step in case["steps"]:
        if step["op"] == "schedule":
            found.append(_schedule(msgspec.convert(step["pod"], Pod), revision, context))
        else:
            _change(context.cache, step, uids)
    return {"steps": found}


def _schedule(pod: Pod, revision: Revision, context: CycleContext) -> dict[str, Any]:
    outcome = decide(pod, revision, context)
    snapshot = context.snapshot
    found: dict[str, Any] = {"nodeOrder": list(snapshot.nodes.order.names)}
    if isinstance(outcome, Diagnosis):
        return {**found, "fitError": outcome.message}
    evaluation = context.evaluator.evaluation(pod, revision)
    evaluation.refresh_scores(snapshot)
    found["total"] = {
        snapshot.nodes.names[row]: int(evaluation.totals[row])
        for row in evaluation.feasible().tolist()
    }
    found["best"] = sorted(
        node for node, total in found["total"].items() if total == max(found["total"].values())
    )
    if outcome.node not in found["best"]:
        raise AssertionError(f"the cycle chose {outcome.node}, which is not among {found['best']}")
    chosen = found["chosen"] = found["best"][0]
    context.cache.observe(on_node(pod, chosen), pod_requests(pod))
    return found


def _pods(case: Case) -> list[dict[str, Any]]:
    """Every pod of the case."""
    return [
        *case.get("objects", {}).get("pods", ()),
        *(step["pod"] for step in case["steps"] if "pod" in step),
    ]


def _change(cache: Cache, step: dict[str, Any], uids: dict[str, str]) -> None:
    match step["op"]:
        case "deletePod":
            cache.remove(uids[step["name"]])
        case "removeNode":
            cache.remove_node(step["name"])
        case "addNode" | "updateNode":
            cache.put_node(msgspec.convert(step["node"], Node))
        case other:
            raise ValueError(f"unknown step {other!r}")
