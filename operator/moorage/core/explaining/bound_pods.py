"""A pod that has a node: how that node and the best others score, and who refused the rest.

It is decided again on the state that is handed in, without the pod; what was known when it was
bound may have been different.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from moorage.core.cycle.context import CycleContext, Diagnosis
from moorage.core.cycle.cycle import run_filters, run_scores
from moorage.core.explaining.refusals import RefusalGroup, refusal_groups
from moorage.core.explaining.what_if import WhatIf
from moorage.core.framework.evaluation.evaluation import Evaluation
from moorage.core.framework.evaluation.rejections import rejection
from moorage.core.framework.revisions import Revision
from moorage.core.framework.status import Code
from moorage.core.objects.pods import Pod, off_node

OTHER_NODES = 4
"""Nodes beside its own whose scores are shown."""


class NodeScore(NamedTuple):
    """A node's scores, weighted, by plugin, and their sum."""

    node: str
    scores: dict[str, int]
    total: int


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class BoundExplanation:
    """How a pod's node compares with the others now.

    ``scores``: its own node first where it passes, then the best others. ``weights`` by plugin, of
    those that have a say. ``best`` are all nodes with the highest total: seed, UID and node name
    choose among them. ``choice`` is the node that would be taken now. ``refusal``: why its own node
    would not take it now, (plugin, reasons), None where it would.
    """

    pod: Pod
    node: str
    revision: Revision
    nodes: int
    passed: int = 0
    weights: dict[str, int] = dataclasses.field(default_factory=dict)
    scores: tuple[NodeScore, ...] = ()
    best: tuple[str, ...] = ()
    choice: str = ""
    refusals: tuple[RefusalGroup, ...] = ()
    refusal: tuple[str, tuple[str, ...]] | None = None
    error: str = ""


def explain_bound(context: CycleContext, pod: Pod, revision: Revision) -> BoundExplanation:
    """Why this pod is on its node. Raises KeyError if it is on none."""
    info = context.cache.pod_info(pod.metadata.uid)
    if info is None:
        raise KeyError(f"pod {pod.metadata.namespace}/{pod.metadata.name} is on no node")
    what_if = WhatIf(context, revision)
    with what_if.without(info):
        return _compared(what_if, off_node(pod), info.node)


def _compared(what_if: WhatIf, pod: Pod, node: str) -> BoundExplanation:
    context, revision = what_if.context, what_if.revision
    snapshot = context.snapshot
    told = BoundExplanation(pod=pod, node=node, revision=revision, nodes=len(snapshot.nodes))
    evaluation = run_filters(pod, revision, context)
    if isinstance(evaluation, Diagnosis):
        return dataclasses.replace(told, error=evaluation.message)
    told = dataclasses.replace(
        told,
        refusals=refusal_groups(evaluation, pod, snapshot),
        refusal=_refusal(evaluation, snapshot.nodes.row_of.get(node)),
    )
    if not evaluation.fits:
        return told
    status = run_scores(evaluation, revision, context)
    if status.code is not Code.SUCCESS:
        return dataclasses.replace(told, error=status.message)
    return _scored(what_if, evaluation, told)


def _scored(what_if: WhatIf, evaluation: Evaluation, told: BoundExplanation) -> BoundExplanation:
    nodes, rows = what_if.context.snapshot.nodes, evaluation.feasible()
    totals = evaluation.totals[rows]
    best = rows[totals == totals.max()]
    own = nodes.row_of.get(told.node, -1)
    others = rows[np.lexsort((rows, -totals))]
    shown = [*(row for row in [own] if row in rows), *others[others != own][:OTHER_NODES].tolist()]
    choice = what_if.decide(told.pod)
    return dataclasses.replace(
        told,
        passed=rows.size,
        weights={
            name: part.weight for name, part in evaluation.scores.items() if part.result.applies
        },
        scores=tuple(_scores_of(evaluation, np.array(shown, np.intp), nodes.names)),
        best=tuple(nodes.names[row] for row in best.tolist()),
        choice=choice.node if choice is not None else "",
    )


def _scores_of(
    evaluation: Evaluation, rows: npt.NDArray[np.intp], names: Sequence[str]
) -> Iterator[NodeScore]:
    parts = {
        name: part.weighted(rows).tolist()
        for name, part in evaluation.scores.items()
        if part.result.applies
    }
    for i, row in enumerate(rows.tolist()):
        scores = {name: values[i] for name, values in parts.items()}
        yield NodeScore(names[row], scores, int(evaluation.totals[row]))


def _refusal(evaluation: Evaluation, row: int | None) -> tuple[str, tuple[str, ...]] | None:
    """Who refuses this row; None for nobody, or where the node is gone."""
    found = rejection(evaluation, row)
    return None if found is None else (found[0], found[1].reasons)
