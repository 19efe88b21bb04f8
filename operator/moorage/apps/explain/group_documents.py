"""Explanations of pod groups as documents: alone, and as a part of those of their members."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from moorage.apps.explain.change_texts import changes_document
from moorage.apps.explain.explanation_documents import (
    Document,
    refusal_change_document,
    refusals_document,
)
from moorage.core.explaining.candidate_revisions import refusal_changes
from moorage.core.explaining.pending_groups import (
    GroupExplanation,
    GroupPreemptionAnswer,
    Member,
)
from moorage.core.groups.group_spec import other_groups_note
from moorage.core.objects.meta import key
from moorage.core.objects.pods import Pod

GROUP_KIND: Final = "PodGroupExplanation"


def group_document(explained: GroupExplanation) -> Document:
    """What there is to say of the group, with its verdict."""
    verdict, message = group_verdict(explained)
    return {
        "verdict": verdict,
        "message": message,
        "podGroup": str(explained.key),
        "created": _first_created(explained.members),
        "schedulerName": explained.revision.scheduler_name,
        "revision": explained.revision.id,
        "group": group_part(explained),
    }


def member_document(explained: GroupExplanation, pod: Pod) -> Document:
    """What a member's own document says otherwise than that of a pod that goes alone."""
    mine = next(one for one in explained.members if one.pod.metadata.uid == pod.metadata.uid)
    verdict, message = group_verdict(explained)
    if explained.fits and not mine.node:
        verdict, message = "Pending", mine.message
    elif explained.fits:
        message = f"would be placed on {mine.node}"
    elif explained.gate is not None:
        message += other_groups_note(pod)
    found = group_part(explained)
    nodes = {one["pod"]: one["node"] for one in found["preemption"]["nodes"]}
    return {
        "verdict": verdict,
        "message": message,
        "placement": {"node": mine.node, "nodes": 1, "score": None} if explained.fits else None,
        "placedTogether": 0 if explained.begun else explained.spec and explained.spec.min_count,
        "refusals": found["refusals"],
        "changes": found["changes"],
        "changesNotTried": explained.untried,
        "preemption": {
            "helps": bool(nodes),
            "node": nodes.get(key(pod), ""),
            "victims": found["preemption"]["victims"],
            "message": found["preemption"]["message"],
        },
        "wakesOn": [],
        "group": found,
    }


def candidate_member_document(
    before: GroupExplanation, after: GroupExplanation, pod: Pod
) -> Document:
    """What a member's document says of its group under its own profile and under a candidate;
    refusals are of the members that the groups are ``refused`` by.
    """
    now, then = member_document(before, pod), member_document(after, pod)
    told = {name: then[name] for name in ("message", "placement", "placedTogether", "group")}
    return {
        **told,
        "verdict": "StillPending" if then["verdict"] == "Pending" else then["verdict"],
        "placementNow": now["placement"],
        "refusals": [
            refusal_change_document(one) for one in refusal_changes(before.refusals, after.refusals)
        ],
        "groupNow": now["group"],
    }


def group_verdict(explained: GroupExplanation) -> tuple[str, str]:
    """In a word, and in a few."""
    if all(one.placed for one in explained.members):
        return "Placed", "no member waits"
    if explained.gate is not None:
        return "Gated", f"{explained.gate.plugin}: {explained.gate.message}"
    if explained.error:
        return "Error", explained.error
    if explained.fits:
        return "WouldBePlaced", "enough of its members find a node"
    return "Pending", explained.message


def group_part(explained: GroupExplanation) -> Document:
    """All but the verdict."""
    spec, refused = explained.spec, explained.refused
    return {
        "name": str(explained.key),
        "api": explained.key.api,
        "gang": spec is not None and spec.is_gang,
        "minCount": spec and spec.min_count,
        "priority": spec and spec.priority,
        "topologyKey": spec.topology_key if spec else "",
        "present": explained.present,
        "begun": explained.begun,
        "members": [_member(one) for one in explained.members],
        "placements": [
            {"name": one.name, "members": one.found, "reason": one.reason, "tried": one.tried}
            for one in explained.placements
        ],
        "refused": "" if refused is None else key(refused),
        "refusals": [refusals_document(one) for one in explained.refusals],
        "changes": [
            changes_document(one, refused) for one in explained.suggestions if refused is not None
        ],
        "changesNotTried": explained.untried,
        "preemption": _preemption(explained.preemption, explained.key.namespace),
        "roomHeldOn": [{"pod": key(pod), "node": node} for pod, node in explained.held],
    }


def _member(member: Member) -> Document:
    return {
        "pod": key(member.pod),
        "node": member.node,
        "placed": member.placed,
        "message": member.message,
    }


def _preemption(found: GroupPreemptionAnswer | None, namespace: str) -> Document:
    found = found or GroupPreemptionAnswer()
    return {
        "helps": bool(found.nodes),
        "victims": [key(pod) for pod in found.victims],
        "nodes": [{"pod": f"{namespace}/{name}", "node": node} for name, node in found.nodes],
        "message": found.message,
    }


def _first_created(members: Iterable[Member]) -> str | None:
    """When the first member came."""
    known = (one.pod.metadata.creation_timestamp for one in members)
    return min(filter(None, known), default=None)
