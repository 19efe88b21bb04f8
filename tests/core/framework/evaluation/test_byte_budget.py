"""What the evaluator keeps of templates: what the budget has room for, and no more."""

from __future__ import annotations

from moorage.core.cycle.cycle import decide
from moorage.core.framework.evaluation.evaluator import Evaluator
from tests.builders import make_node, make_pod
from tests.core.simulation.clusters import REVISION, a_context

NODES = 1000
BUDGET = 4 * 2**20


def _kept(evaluator: Evaluator) -> int:
    """Bytes of the arrays that it really has."""
    arrays = 0
    for template in evaluator._templates.values():
        arrays += sum(result.values.nbytes for result in template.results.values())
        for evaluation in template.evaluations.values():
            arrays += evaluation.rejected_by.nbytes + evaluation.totals.nbytes
            scores = evaluation.scores.values()
            arrays += sum(one.normalized.nbytes for one in scores if one.normalized is not None)
    return arrays


def test_the_budget_is_used() -> None:
    """Plugins that have nothing to say of a template take no room of other templates."""
    them = a_context(make_node(f"n{i}", cpu="32") for i in range(NODES))
    them.evaluator = Evaluator(them.snapshot, BUDGET)
    most = 0
    for i in range(100):
        decide(make_pod(f"p{i}", cpu=f"{i + 1}m"), REVISION, them)
        most = max(most, _kept(them.evaluator))
    assert BUDGET / 2 < most < BUDGET
    templates, misses = len(them.evaluator), them.evaluator.misses
    for i in range(100 - templates, 100):
        decide(make_pod(f"q{i}", cpu=f"{i + 1}m"), REVISION, them)
    assert them.evaluator.misses == misses
