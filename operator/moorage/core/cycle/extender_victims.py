"""Extender victims: what extenders make of the pods that would have to go from nodes.

Source: kube-scheduler's callExtenders (v1.37), in words of our own.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping
from typing import Any, TypeAlias, TypeVar

from moorage.core.columns.snapshot import Snapshot
from moorage.core.framework.extenders import (
    AskVictims,
    Extender,
    ExtenderFailure,
    ExtenderQuestion,
    MetaVictims,
)
from moorage.core.framework.post_filter_contract import Victims
from moorage.core.objects.pods import Pod, priority

T = TypeVar("T")
Steps: TypeAlias = Generator[ExtenderQuestion, Any, T]
"""Yields what is to be asked, is sent the answer."""


def process_preemption(
    candidates: Mapping[str, Victims], extenders: Iterable[Extender], snapshot: Snapshot
) -> Steps[Mapping[str, Victims] | ExtenderFailure]:
    """What extenders make of candidates for preemption, one after another."""
    for extender in extenders:
        if not candidates or not extender.preempt_verb:
            continue
        answer = yield AskVictims(extender, candidates)
        if not isinstance(answer, ExtenderFailure):
            answer = _to_victims(extender, candidates, answer, snapshot)
        if not isinstance(answer, ExtenderFailure):
            candidates = answer
        elif not extender.ignorable:
            return answer
    row_of = snapshot.nodes.row_of
    return {node: victims for node, victims in candidates.items() if node in row_of}


def _to_victims(
    extender: Extender,
    proposed: Mapping[str, Victims],
    answer: Mapping[str, MetaVictims],
    snapshot: Snapshot,
) -> dict[str, Victims] | ExtenderFailure:
    """What an extender says, with pods for their UIDs."""
    found: dict[str, Victims] = {}
    kept = [node for node in proposed if node in answer]
    for node in (*kept, *sorted(answer.keys() - proposed.keys())):
        if extender.ignorable and not answer[node].uids:
            continue
        there = [record.pod for record in snapshot.pods_on(node) if isinstance(record.pod, Pod)]
        there += proposed[node].pods if node in proposed else ()
        victims = _victims_on(node, answer[node], there, extender)
        if isinstance(victims, ExtenderFailure):
            return victims
        found[node] = victims
    return found


def _victims_on(
    node: str, answer: MetaVictims, there: Iterable[Pod], extender: Extender
) -> Victims | ExtenderFailure:
    """Pods that were proposed, or others that are there now."""
    if not answer.uids:
        return ExtenderFailure(f'expected at least one victim pod on node "{node}"')
    pods = {pod.metadata.uid: pod for pod in there}
    missing = [uid for uid in answer.uids if uid not in pods]
    if missing:
        return ExtenderFailure(
            f"extender: {extender.url} claims to preempt pod (UID: {missing[0]}) on node: "
            f"{node}, but the pod is not found on that node"
        )
    victims = sorted((pods[uid] for uid in answer.uids), key=lambda pod: -priority(pod))
    return Victims(tuple(victims), answer.num_pdb_violations)
