"""Reasons: why no node takes a pod now, in short."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from moorage.core.cycle import cycle
from moorage.core.cycle.context import CycleContext, Diagnosis
from moorage.core.framework.evaluation.rejections import narrowed_message, rejected_rows
from moorage.core.framework.revisions import Revision
from moorage.core.framework.status import Code, is_unresolvable, texts
from moorage.core.objects.pods import Pod


class WeightedReason(NamedTuple):
    """A reason, and how many nodes refuse the pod for it; of one node there may be several."""

    text: str
    nodes: int


def reasons(pod: Pod, revision: Revision, context: CycleContext) -> tuple[WeightedReason, ...]:
    """Why nodes refuse the pod. First what might change if pods left, then what never does; of
    these the one that most nodes give.
    """
    evaluation = cycle.run_filters(pod, revision, context)
    nodes = len(context.snapshot.nodes)
    if isinstance(evaluation, Diagnosis):
        return (WeightedReason(evaluation.message, nodes),)
    said = evaluation.pre_filter
    if said.status.code is not Code.SUCCESS:
        return (WeightedReason(said.status.message, nodes),)
    passing, lasting = Counter[str](), Counter[str]()
    inside = evaluation.feasible_count
    for rejected in rejected_rows(evaluation):
        inside += rejected.rows.size
        counts = lasting if is_unresolvable(rejected.why) else passing
        for text in texts(rejected.why):
            counts[text] += rejected.rows.size
    if inside < nodes:
        lasting[narrowed_message(said.narrowed_by)] += nodes - inside
    for text in passing:
        passing[text] += lasting.pop(text, 0)
    return tuple(
        WeightedReason(text, count)
        for counts in (passing, lasting)
        for text, count in sorted(counts.items(), key=lambda one: (-one[1], one[0]))
    )
