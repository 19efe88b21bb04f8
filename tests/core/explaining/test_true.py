"""Every explanation of a pending pod is true: the nodes that are named refuse it for that reason,
each suggestion lets it fit, and no smaller one of its kind does.

What is said is held against decisions on a context made anew each time, so that nothing stays of
what the explanation tried.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from moorage.core.cycle.context import CycleContext, ScheduleResult
from moorage.core.cycle.cycle import decide, run_filters
from moorage.core.explaining.cluster_changes import AddedNodes, MovedPod, with_added
from moorage.core.explaining.pending_pods import PendingExplanation, explain_pending
from moorage.core.explaining.pod_changes import (
    RequestChange,
    RequirementChange,
    TolerationChange,
)
from moorage.core.explaining.suggestions import Change, Suggestion
from moorage.core.explaining.what_if import WhatIf
from moorage.core.explaining.what_if_group import MinCountChange
from moorage.core.framework.evaluation.evaluation import Evaluation
from moorage.core.framework.evaluation.rejections import rejection
from moorage.core.framework.revisions import Revision
from moorage.core.framework.status import Code
from moorage.core.objects.pods import Pod, off_node, on_node
from moorage.core.pods.requests import FIT, pod_amounts, pod_requests
from tests.core.explaining.pending_strategies import (
    PendingCase,
    by_nodes,
    by_other_pods,
    by_volumes,
)
from tests.twins import known, opened

CASES = 700 if settings().max_examples >= 500 else 50
"""Of each kind: more than 2,000 in all in a thorough run."""
FEW = settings(
    max_examples=CASES,
    suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow],
)


@contextlib.contextmanager
def changed(
    context: CycleContext, pod: Pod, revision: Revision, changes: tuple[Change, ...]
) -> Iterator[tuple[CycleContext, Pod]]:
    """A context of its own with these changes made, and the pod as it is with them."""
    fresh = opened(context)
    with contextlib.ExitStack() as stack:
        for change in changes:
            match change:
                case MovedPod():
                    there = on_node(change.pod, change.to)
                    fresh.cache.observe(there, pod_requests(there))
                case AddedNodes():
                    stack.enter_context(with_added(WhatIf(fresh, revision), change))
                case MinCountChange():
                    raise AssertionError("a pod alone has no minCount")
                case _:
                    pod = change.apply(pod)
        yield fresh, pod


def nodes_that_fit(
    context: CycleContext, pod: Pod, revision: Revision, changes: tuple[Change, ...]
) -> list[str]:
    """The nodes that take the pod with these changes."""
    with changed(context, pod, revision, changes) as (fresh, other):
        evaluation = run_filters(other, revision, fresh)
        if not isinstance(evaluation, Evaluation) or not evaluation.fits:
            return []
        return [fresh.cache.nodes.names[row] for row in evaluation.feasible().tolist()]


def smaller(change: Change, pod: Pod) -> Iterator[tuple[Change, ...]]:
    """Those of its kind that are smaller by a step."""
    match change:
        case RequestChange():
            yield (change._replace(limit=change.limit + 1),)
        case TolerationChange(taints):
            for size in range(len(taints)):
                yield from (
                    (TolerationChange(some),) for some in itertools.combinations(taints, size)
                )
        case RequirementChange(dropped):
            for size in range(len(dropped)):
                yield from (
                    (RequirementChange(some),) for some in itertools.combinations(dropped, size)
                )
        case AddedNodes():
            yield (change._replace(number=change.number - 1),) if change.number > 1 else ()
        case MovedPod():
            yield ()


def check_suggestion(
    context: CycleContext, pod: Pod, revision: Revision, suggestion: Suggestion
) -> None:
    """It helps, as it says; and it takes all of it."""
    changes = suggestion.changes
    assert nodes_that_fit(context, pod, revision, changes) == list(suggestion.nodes) != []
    with changed(context, pod, revision, changes) as (fresh, other):
        outcome = decide(other, revision, fresh)
        assert isinstance(outcome, ScheduleResult)
        assert outcome.node == suggestion.placement.node
    for i, change in enumerate(changes):
        for less in smaller(change, pod):
            fewer = (*changes[:i], *less, *changes[i + 1 :])
            assert nodes_that_fit(context, pod, revision, fewer) == [], (changes, fewer)
        if isinstance(change, MovedPod):
            check_move(context, pod, revision, change)
        if isinstance(change, RequestChange):
            asked = [pod_amounts(one, FIT)[change.resource] for one in (pod, change.apply(pod))]
            assert asked == [change.before, change.after]


def check_move(context: CycleContext, pod: Pod, revision: Revision, change: MovedPod) -> None:
    """The other pod can be where it is said to go, once this one has its place."""
    assert change.node != change.to
    with changed(context, pod, revision, (change,)) as (fresh, _):
        outcome = decide(pod, revision, fresh)
        assert isinstance(outcome, ScheduleResult)
        there = on_node(pod, outcome.node)
        fresh.cache.observe(there, pod_requests(there))
        fresh.cache.remove(change.pod.metadata.uid)
        evaluation = run_filters(off_node(change.pod), revision, fresh)
        assert isinstance(evaluation, Evaluation)
        assert evaluation.fits
        assert fresh.cache.nodes.row_of[change.to] in evaluation.feasible()


def check_refusals(context: CycleContext, explained: PendingExplanation) -> None:
    """Every node is in one group, and those named refuse the pod for just these reasons."""
    fresh = opened(context)
    evaluation = run_filters(explained.pod, explained.revision, fresh)
    assert isinstance(evaluation, Evaluation)
    assert not evaluation.fits
    assert sum(group.nodes for group in explained.refusals) == len(fresh.cache.nodes)
    if evaluation.pre_filter.status.code is not Code.SUCCESS:
        assert explained.refusals[0].reasons == evaluation.pre_filter.status.reasons
        return
    for group in explained.refusals:
        assert 1 <= len(group.nearest) <= group.nodes
        for node in group.nearest:
            row = fresh.cache.nodes.row_of[node.node]
            said = rejection(evaluation, row)
            assert said is not None
            assert said[1].reasons == group.reasons
            assert said[0] in ("", group.plugin)
            for resource, amount in node.shortfalls.items():
                there, taken = fresh.cache.nodes.amounts_at(resource, row)
                asked = {**pod_amounts(explained.pod, FIT), "pods": 1}
                assert amount == asked[resource] - (there - taken) > 0


@pytest.mark.parametrize("cases", [by_nodes(), by_other_pods(), by_volumes()])
def test_what_is_said_is_true(cases: st.SearchStrategy[PendingCase]) -> None:
    """On random clusters, each with a pod that finds no node."""

    @FEW
    @given(cases)
    def check(case: PendingCase) -> None:
        context, before = case.context(), case.context()
        explained = explain_pending(context, case.pod, case.revision)
        assume(explained.refusals)
        check_refusals(before, explained)
        for suggestion in explained.suggestions:
            check_suggestion(before, case.pod, case.revision, suggestion)
        assert known_of(context) == known_of(before)

    check()


def known_of(context: CycleContext) -> dict[str, Any]:
    """All that is known, in whatever order pods came to their nodes."""
    said = known(context)
    order = said["order on nodes"]
    return said | {"order on nodes": {node: sorted(uids) for node, uids in order.items()}}
