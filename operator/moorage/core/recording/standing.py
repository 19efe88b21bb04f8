"""Standings: how good a node is for a pod, as a revision has it, beside all other nodes."""

from __future__ import annotations

import dataclasses

import numpy as np

from moorage.core.cycle import cycle
from moorage.core.cycle.context import CycleContext, Diagnosis
from moorage.core.cycle.sampling import feasible_nodes_to_find
from moorage.core.framework.evaluation.evaluation import Evaluation
from moorage.core.framework.evaluation.rejections import rejection
from moorage.core.framework.revisions import Revision
from moorage.core.framework.status import Code
from moorage.core.objects.pods import Pod

ADAPTIVE = 0
"""kube-scheduler's usual percentageOfNodesToScore."""


@dataclasses.dataclass(frozen=True, slots=True)
class Standing:
    """A node among all. One that is refused has ``refused_by`` (a plugin, or "" where it is none's
    doing) and ``why``, and no score.
    """

    score: int | None = None
    best_score: int | None = None
    better_nodes: int = 0
    """How many have a higher score."""
    best_nodes: int = 0
    """How many have the best score."""
    sampled_better_nodes: int = 0
    """How many of the better ones somebody may not have seen who samples nodes as kube-scheduler
    does.
    """
    refused_by: str = ""
    why: str = ""

    @property
    def is_refused(self) -> bool:
        return bool(self.why)

    @property
    def is_best(self) -> bool:
        return not self.why and not self.better_nodes

    @property
    def is_best_of_a_sample(self) -> bool:
        """Whether it may have been one of the best of those nodes that a sampling scheduler saw."""
        return not self.why and self.better_nodes <= self.sampled_better_nodes


def standing(pod: Pod, node: str, revision: Revision, context: CycleContext) -> Standing:
    """How a node does for a pod that waits; changes nothing but what the evaluator keeps."""
    evaluation = cycle.run_filters(pod, revision, context)
    if isinstance(evaluation, Diagnosis):
        return Standing(why=evaluation.message)
    row = context.snapshot.nodes.row_of.get(node)
    if row is None:
        return Standing(why=f"node {node!r} is not there")
    if (refused := _refusal(evaluation, row)) is not None:
        return refused
    nominated = context.snapshot.nominations.nominated_node(pod.metadata.uid)
    if evaluation.feasible_count == 1 or nominated == node:
        return Standing(best_nodes=1)
    status = cycle.run_scores(evaluation, revision, context)
    if status.code is not Code.SUCCESS:
        return Standing(why=status.message)
    return _ranked(evaluation, row, len(context.snapshot.nodes))


def _refusal(evaluation: Evaluation, row: int) -> Standing | None:
    refused = rejection(evaluation, row)
    return None if refused is None else Standing(refused_by=refused[0], why=refused[1].message)


def _ranked(evaluation: Evaluation, row: int, nodes: int) -> Standing:
    """A node that nobody refuses, by its total."""
    totals = evaluation.totals
    score, best = int(totals[row]), int(np.maximum.reduce(totals))
    return Standing(
        score,
        best,
        better_nodes=int(np.count_nonzero(totals > score)),
        best_nodes=int(np.count_nonzero(totals == best)),
        sampled_better_nodes=max(
            0, evaluation.feasible_count - feasible_nodes_to_find(ADAPTIVE, nodes)
        ),
    )


def plugin_scores(pod: Pod, node: str, revision: Revision, context: CycleContext) -> dict[str, int]:
    """What each plugin adds to a node's total, by name; {} for a node that has no score."""
    if standing(pod, node, revision, context).score is None:
        return {}
    evaluation = context.evaluator.evaluation(pod, revision)
    rows = np.array([context.snapshot.nodes.row_of[node]], np.intp)
    return {
        name: int(part.weighted(rows)[0])
        for name, part in evaluation.scores.items()
        if part.result.applies
    }
