"""Why nodes are rejected, where plugins name the only nodes that can fit: the others are out of
scope, which is said of them in kube-scheduler's words.
"""

from __future__ import annotations

import pytest

from moorage.core.columns.cache import Cache
from moorage.core.cycle.context import CycleContext
from moorage.core.cycle.cycle import decide
from moorage.core.framework.evaluation.evaluation import Evaluation
from moorage.core.framework.evaluation.rejections import (
    narrowed_message,
    node_codes,
    reason_counts,
    rejection,
    unschedulable_plugins,
)
from moorage.core.framework.registry import build_registry
from moorage.core.framework.revisions import RequestedProfile, resolve
from moorage.core.framework.status import Code, Status
from moorage.core.objects.pods import Affinity, NodeAffinity, Pod
from moorage.core.objects.selector_terms import NodeSelector, NodeSelectorTerm, Requirement
from moorage.core.plugins.intree import INTREE, PRESETS
from moorage.core.pods.requests import pod_requests
from tests.builders import make_node, make_pod

REVISION = resolve(RequestedProfile("test"), build_registry(INTREE), PRESETS)
OUTSIDE = "node(s) didn't satisfy plugin(s) [NodeAffinity]"
CROWDED = "Insufficient cpu"


def only_on(*names: str, cpu: str = "1") -> Pod:
    """A pod for one of these nodes."""
    terms = tuple(
        NodeSelectorTerm(match_fields=(Requirement("metadata.name", "In", (name,)),))
        for name in names
    )
    return make_pod("p", cpu=cpu, affinity=Affinity(NodeAffinity(NodeSelector(terms))))


def evaluated(pod: Pod) -> tuple[Evaluation, CycleContext]:
    """With three nodes, of which the first is nearly full."""
    cache = Cache()
    for name in ("n0", "n1", "n2"):
        cache.put_node(make_node(name))
    there = make_pod("there", node="n0", cpu="3")
    cache.observe(there, pod_requests(there))
    context = CycleContext(cache)
    decide(pod, REVISION, context)
    return context.evaluator.evaluation(pod, REVISION), context


@pytest.mark.parametrize(
    ("pod", "counts", "plugins", "codes"),
    [
        (make_pod("p", cpu="2"), {CROWDED: 1}, {"NodeResourcesFit"}, [1, 0, 0]),
        (only_on("n0"), {OUTSIDE: 2}, {"NodeAffinity"}, [0, 2, 2]),
        (
            only_on("n0", "n1", cpu="2"),
            {CROWDED: 1, OUTSIDE: 1},
            {"NodeAffinity", "NodeResourcesFit"},
            [1, 0, 2],
        ),
        (only_on("n0", "n1", "n2"), {}, {"NodeAffinity"}, [0, 0, 0]),
    ],
)
def test_nodes_out_of_scope_are_counted_and_blamed_on_who_left_them_out(
    pod: Pod, counts: dict[str, int], plugins: set[str], codes: list[int]
) -> None:
    """No removal of pods helps there; the plugin can be who keeps the pod waiting even where it
    leaves out nobody.
    """
    evaluation, context = evaluated(pod)
    assert dict(reason_counts(evaluation, context.snapshot)) == counts
    assert unschedulable_plugins(evaluation) == plugins
    rows = context.cache.nodes.row_of
    found = node_codes(evaluation, context.snapshot)
    assert [int(found[rows[name]]) for name in ("n0", "n1", "n2")] == codes
    for row in rows.values():
        if found[row] == 2:
            status = Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, (OUTSIDE,))
            assert rejection(evaluation, row) == ("", status)
        elif not found[row]:
            assert rejection(evaluation, row) is None


def test_several_are_named_in_order() -> None:
    """Whoever came first."""
    assert narrowed_message(("NodeName", "NodeAffinity")) == (
        "node(s) didn't satisfy plugin(s) [NodeAffinity NodeName]"
    )
