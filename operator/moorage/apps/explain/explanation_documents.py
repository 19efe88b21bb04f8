"""Explanations as documents: what ``-o json`` prints and ``/explain`` answers.

Quantities are exact, as Kubernetes writes them; empty lists are there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from moorage.apps.explain.change_texts import changes_document
from moorage.apps.printing.amounts import exact_quantity
from moorage.core.cycle.context import ScheduleResult
from moorage.core.explaining.bound_pods import BoundExplanation
from moorage.core.explaining.candidate_revisions import CandidateExplanation, RefusalChange
from moorage.core.explaining.pending_pods import PendingExplanation, Preemption, WakingEvent
from moorage.core.explaining.refusals import RefusalGroup, RefusingNode
from moorage.core.framework.cluster_events import ActionType, EventResource
from moorage.core.framework.revisions import Revision
from moorage.core.objects.meta import key
from moorage.core.objects.pods import Pod

Document: TypeAlias = dict[str, Any]
KIND = "PodExplanation"


def document_of(
    explained: PendingExplanation | BoundExplanation | CandidateExplanation,
) -> Document:
    """The explanation's part of the document."""
    match explained:
        case PendingExplanation():
            return _pending(explained)
        case BoundExplanation():
            return _bound(explained)
        case CandidateExplanation():
            return _candidate(explained)


def unasked(pod: Pod, verdict: str, message: str) -> Document:
    """Of a pod of which no node was asked, and why."""
    return {"verdict": verdict, "message": message, **_about(pod)}


def _about(pod: Pod, revision: Revision | None = None) -> Document:
    return {
        "pod": key(pod),
        "uid": pod.metadata.uid,
        "created": pod.metadata.creation_timestamp,
        "schedulerName": pod.spec.scheduler_name,
        "revision": revision.id if revision else "",
    }


# ---- pending -------------------------------------------------------------------------------------


def _pending(explained: PendingExplanation) -> Document:
    verdict, message = _verdict(explained)
    return {
        "verdict": verdict,
        "message": message,
        **_about(explained.pod, explained.revision),
        "asks": _quantities(explained.asked),
        "nodes": explained.nodes,
        "placement": _placement(explained.placement),
        "placedTogether": 0,
        "refusals": [refusals_document(group) for group in explained.refusals],
        "changes": [changes_document(one, explained.pod) for one in explained.suggestions],
        "changesNotTried": explained.untried,
        "preemption": _preemption(explained.preemption),
        "wakesOn": list(_events(explained.wakes_on)),
    }


def _verdict(explained: PendingExplanation) -> tuple[str, str]:
    if explained.gate is not None:
        return "Gated", f"{explained.gate.plugin}: {explained.gate.message}"
    if explained.error:
        return "Error", explained.error
    if explained.placement is not None:
        return "WouldBePlaced", f"would be placed on {explained.placement.node}"
    return "Pending", f"none of {explained.nodes} nodes takes it"


def refusals_document(group: RefusalGroup) -> Document:
    """The nodes that refuse a pod for one reason."""
    return {
        "plugin": group.plugin,
        "reasons": list(group.reasons),
        "nodes": group.nodes,
        "resolvable": group.resolvable,
        "nearest": [_near(node) for node in group.nearest],
    }


def _near(node: RefusingNode) -> Document:
    return {
        "node": node.node,
        "lacks": _quantities(node.shortfalls),
        "details": list(node.details),
        "heldFor": list(node.held_for),
    }


def _quantities(amounts: Mapping[str, int]) -> dict[str, str]:
    return {name: exact_quantity(name, amount) for name, amount in amounts.items()}


def _placement(placement: ScheduleResult | None) -> Document | None:
    if placement is None:
        return None
    return {"node": placement.node, "nodes": placement.feasible_nodes, "score": placement.score}


def _preemption(found: Preemption | None) -> Document:
    if found is None:
        return {"helps": False, "node": "", "victims": [], "message": ""}
    return {
        "helps": bool(found.node),
        "node": found.node,
        "victims": [key(pod) for pod in found.victims],
        "message": found.message,
    }


def _events(events: tuple[WakingEvent, ...]) -> Iterator[Document]:
    for event in events:
        resource = event.resource
        yield {
            "plugin": event.plugin,
            "resource": resource.value if isinstance(resource, EventResource) else resource,
            "actions": list(_actions(event.actions)),
        }


def _actions(actions: ActionType) -> Iterator[str]:
    """The names of kube-scheduler's: Add, Delete, UpdateNodeLabel; Update for all updates."""
    if ActionType.UPDATE in actions:
        yield from _actions(actions & ~ActionType.UPDATE)
        yield "Update"
        return
    for action in actions:
        yield (action.name or "").title().replace("_", "")


# ---- bound, and under a candidate ----------------------------------------------------------------


def _bound(explained: BoundExplanation) -> Document:
    refusal = explained.refusal
    return {
        "verdict": "Error" if explained.error else "Bound",
        "message": explained.error or f"is on {explained.node}",
        **_about(explained.pod, explained.revision),
        "node": explained.node,
        "nodes": explained.nodes,
        "passed": explained.passed,
        "weights": explained.weights,
        "scores": [one._asdict() for one in explained.scores],
        "best": list(explained.best),
        "choice": explained.choice,
        "refusal": None if refusal is None else {"plugin": refusal[0], "reasons": [*refusal[1]]},
        "refusals": [refusals_document(group) for group in explained.refusals],
    }


def _candidate(explained: CandidateExplanation) -> Document:
    then = explained.then
    verdict = "StillPending" if then is None else "WouldBePlaced"
    if explained.node and then is None:
        verdict = "WouldLoseItsPlace"
    message = explained.error or (f"would be placed on {then.node}" if then else "no node")
    if explained.gate is not None:
        verdict, message = "Gated", f"{explained.gate.plugin}: {explained.gate.message}"
    return {
        "verdict": "Error" if explained.error else verdict,
        "message": message,
        **_about(explained.pod, explained.revision),
        "node": explained.node,
        "candidate": {
            "schedulerName": explained.candidate.scheduler_name,
            "revision": explained.candidate.id,
        },
        "placementNow": _placement(explained.now),
        "placement": _placement(then),
        "refusals": [refusal_change_document(one) for one in explained.refusals],
        "differs": list(_differences(explained.revision, explained.candidate)),
    }


def refusal_change_document(change: RefusalChange) -> Document:
    """The nodes that refuse a pod for one reason, now and under the candidate."""
    return {
        "plugin": change.plugin,
        "reasons": list(change.reasons),
        "nodesNow": change.now,
        "nodesThen": change.then,
    }


def _differences(now: Revision, then: Revision) -> Iterator[str]:
    """The plugins that do not decide alike, and weights."""
    yield from sorted(then.changed_since(now))
    for name in sorted({*now.weights, *then.weights}):
        before, after = now.weights.get(name, 0), then.weights.get(name, 0)
        if before != after:
            yield f"weight of {name} {before} -> {after}"
