"""The scheduling cycle: one pod, all nodes, one synchronous call.

``decide`` looks and changes nothing; ``assume_and_reserve`` takes the decision for done, all or
nothing. The engine does the rest: it binds what was placed and tells why what was not.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from moorage.core.columns.cache import Cache, PodState
from moorage.core.columns.pod_info import PodBatch, PodInfo
from moorage.core.cycle.context import CycleContext, Decision, Diagnosis, ScheduleResult
from moorage.core.cycle.post_filter import NOT_ASKED, fit_error, run_post_filters
from moorage.core.framework.evaluation.evaluation import PASSES, Evaluation
from moorage.core.framework.evaluation.rejections import RowMask
from moorage.core.framework.interfaces import ExtensionPoint, ReserveResult
from moorage.core.framework.revisions import Revision
from moorage.core.framework.status import REJECTED, Code, Status, fit_error_message, texts
from moorage.core.objects.pods import Pod, on_node
from moorage.core.pods.ceilings import TooLarge
from moorage.core.pods.requests import pod_requests
from moorage.core.structures.tie_breaking import pick

NO_NODES = "no nodes available to schedule pods"


def decide(pod: Pod, revision: Revision, context: CycleContext) -> Decision:
    """Where the pod should go, or why it cannot go anywhere. Changes nothing but what the evaluator
    keeps.
    """
    # 1. preFilter and filter: catch up with what changed since this template was last looked at.
    evaluation = run_filters(pod, revision, context)
    if isinstance(evaluation, Diagnosis):
        return evaluation

    # 2. Nobody fits: postFilter may make room; the diagnosis says why.
    if not evaluation.fits:
        room = NOT_ASKED
        if context.makes_room:
            room = run_post_filters(pod, revision, context, evaluation)
        return fit_error(evaluation, context.snapshot).diagnosis(pod, revision, room)

    # 3. One of those that fit.
    return choose_node(pod, evaluation, revision, context)


def choose_node(
    pod: Pod,
    evaluation: Evaluation,
    revision: Revision,
    context: CycleContext,
    among: RowMask | None = None,
) -> Decision:
    """The best of the nodes that filters let through, of which there must be some; ``among`` leaves
    only these to choose from.
    """
    snapshot, idle = context.snapshot, evaluation.nothing_to_reserve

    # 1. A nominated node that still fits is taken; a lone feasible node needs no score; a sampling
    #   profile sees only some.
    nominated = snapshot.nodes.row_of.get(snapshot.nominations.nominated_node(pod.metadata.uid))
    if (
        nominated is not None
        and evaluation.rejected_by[nominated] == PASSES
        and (among is None or among[nominated])
    ):
        name = snapshot.nodes.names[nominated]
        return ScheduleResult(pod, name, revision, 1, nothing_to_reserve=idle)
    sample = None
    if among is not None:
        sample = (among & (evaluation.rejected_by == PASSES)).nonzero()[0]
    elif revision.percentage_of_nodes_to_score < 100:
        sample = context.sampler.choose(evaluation, revision, snapshot)
    candidates = evaluation.feasible_count if sample is None else sample.size
    if candidates == 1:
        row = int((evaluation.feasible() if sample is None else sample)[0])
        name = snapshot.nodes.names[row]
        return ScheduleResult(pod, name, revision, 1, nothing_to_reserve=idle)

    # 2. preScore, score, normalise: the totals of all feasible nodes, or of the sampled ones.
    status = run_scores(evaluation, revision, context)
    if status.code is not Code.SUCCESS:
        return Diagnosis.error(pod, revision, status.message)
    totals = evaluation.totals if sample is None else evaluation.totals_among(sample)

    # 3. The best total; ties by (seed, pod, node).
    best = int(np.maximum.reduce(totals))
    equals = (totals == best).nonzero()[0]
    name = snapshot.nodes.names[
        pick(equals, snapshot.nodes.tie_break, pod.metadata.uid, context.seed)
    ]
    return ScheduleResult(pod, name, revision, candidates, best, nothing_to_reserve=idle)


def run_filters(pod: Pod, revision: Revision, context: CycleContext) -> Evaluation | Diagnosis:
    """What filters say of all nodes now; a diagnosis where there are none, or a plugin failed."""
    snapshot, observer = context.snapshot, context.observer
    if not snapshot.nodes.row_of:
        code = Code.UNSCHEDULABLE_AND_UNRESOLVABLE
        return Diagnosis(pod=pod, revision=revision, code=code, message=NO_NODES)
    try:
        evaluation = context.evaluator.evaluation(pod, revision)
    except TooLarge as excess:
        return Diagnosis.error(pod, revision, str(excess))
    observer.begin(ExtensionPoint.FILTER)
    evaluation.refresh_filters(snapshot)
    status = evaluation.pre_filter.status
    observer.end(ExtensionPoint.FILTER, status.code.value, revision.scheduler_name)
    if status.code is Code.ERROR or evaluation.error:
        return Diagnosis.error(pod, revision, evaluation.error or status.message)
    return evaluation


def run_scores(evaluation: Evaluation, revision: Revision, context: CycleContext) -> Status:
    """Have plugins score the nodes that filters let through, after ``run_filters``; ERROR when one
    failed.
    """
    context.observer.begin(ExtensionPoint.SCORE)
    status = evaluation.refresh_scores(context.snapshot)
    context.observer.end(ExtensionPoint.SCORE, status.code.value, revision.scheduler_name)
    return status


def assume_and_reserve(placement: ScheduleResult, context: CycleContext) -> Decision:
    """Let plugins reserve, and assume the pod on its node; if one rejects, or anything raises, all
    is taken back.

    The pod is assumed last: that ends its nomination, unless it is tried (``Nominator.resume``),
    which must outlive an attempt that does not come so far.
    """
    pod, node = placement.pod, placement.node
    asked = [
        name
        for name in placement.revision.points[ExtensionPoint.RESERVE]
        if name not in placement.nothing_to_reserve
    ]
    reservations: dict[str, ReserveResult] = {}
    with contextlib.ExitStack() as on_failure:
        for name in asked:
            plugin: Any = placement.revision.deciders[name]
            reserved = reservations[name] = plugin.reserve(pod, node, context.snapshot)
            if reserved.unreserve is not None:
                on_failure.callback(reserved.unreserve)
            if reserved.status.code is not Code.SUCCESS:
                return _rejected_at_reserve(placement, name, reserved.status)
        context.cache.assume(on_node(pod, node), node, pod_requests(pod))
        on_failure.callback(context.cache.forget, pod.metadata.uid)
        context.cache.nominations.resume(pod.metadata.uid, node)
        on_failure.pop_all()
    return dataclasses.replace(placement, reservations=reservations) if asked else placement


def recheck_node(placement: ScheduleResult, context: CycleContext) -> str:
    """Why the node would not take the pod any more, "" when it would.

    Asked where the node has changed since the decision by somebody else's doing
    (``Cache.node_generation``). The pod itself, which is assumed there, is left out of account; a
    plugin that reserved something for it is not asked, as that would be in its own way.
    """
    pod, node, snapshot = placement.pod, placement.node, context.snapshot
    record, row = context.cache.pod_info(pod.metadata.uid), snapshot.nodes.row_of.get(node)
    if row is None:
        return f"node {node!r} has been deleted since it was chosen"
    if record is None or record.state is not PodState.ASSUMED or record.node != node:
        return ""
    evaluation = context.evaluator.evaluation(pod, placement.revision)
    evaluation.refresh_filters(snapshot)
    reserving = {
        name for name, reserved in placement.reservations.items() if reserved.value is not None
    }
    with evaluation.dry_run(snapshot, without=reserving) as what_if:
        what_if.remove(PodBatch([record], snapshot.nodes), np.array([0]))
        refusal = what_if.run_filters(np.array([row])).get(row)
        reasons = ", ".join(texts(refusal.why)) if refusal is not None else ""
    return f"node {node!r} has changed since it was chosen: {reasons}" if reasons else ""


def fits_on(
    pod: Pod,
    node: str,
    revision: Revision,
    context: CycleContext,
    beside: Sequence[PodInfo] = (),
) -> bool:
    """Whether the node takes the pod as all is now, and with these others on their nodes. Raises
    OutOfTime.
    """
    snapshot = context.snapshot
    row_of = snapshot.nodes.row_of
    evaluation = run_filters(pod, revision, context)
    if node not in row_of or isinstance(evaluation, Diagnosis):
        return False
    row = row_of[node]
    if evaluation.rejected_by[row] != PASSES or not beside:
        return bool(evaluation.rejected_by[row] == PASSES)
    here = PodBatch([one for one in beside if one.node == node], snapshot.nodes)
    with evaluation.dry_run(snapshot) as what_if:
        what_if.add(here, np.arange(len(here.records)))
        what_if.tell(row, [one for one in beside if one.node in row_of and one.node != node], 1)
        return row not in what_if.run_filters(np.array([row]))


def unreserve_and_forget(placement: ScheduleResult, cache: Cache) -> None:
    """Take back what ``assume_and_reserve`` did, reservations in reverse order; safe to call again.

    One that fails stops no other: what it raises is raised when everything else is taken back.
    """
    with contextlib.ExitStack() as stack:
        stack.callback(_forget, placement, cache)
        for reserved in placement.reservations.values():
            if reserved.unreserve is not None:
                stack.callback(reserved.unreserve)


def _forget(placement: ScheduleResult, cache: Cache) -> None:
    uid = placement.pod.metadata.uid
    record = cache.pod_info(uid)
    if record is not None and record.state is PodState.ASSUMED and record.node == placement.node:
        cache.forget(uid)
        cache.nominations.resume(uid)


def _rejected_at_reserve(placement: ScheduleResult, plugin: str, status: Status) -> Diagnosis:
    """A rejection at reserve speaks of the one node that was chosen."""
    if status.code not in REJECTED:
        return Diagnosis.error(placement.pod, placement.revision, status.message)
    message = fit_error_message(1, [(reason, 1) for reason in status.reasons])
    return Diagnosis(
        pod=placement.pod,
        revision=placement.revision,
        code=status.code,
        message=message,
        unschedulable_plugins=frozenset({plugin}),
    )
