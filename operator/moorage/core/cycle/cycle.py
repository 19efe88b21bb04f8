"""The scheduling cycle: one pod, all nodes, one synchronous call.

``decide`` looks and changes nothing; ``commit`` takes the decision for done (assume, reserve), all or nothing. The engine does the
rest: it binds what was placed and tells why what was not.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from moorage.core.columns.cache import Cache, State
from moorage.core.columns.pod_info import Herd
from moorage.core.cycle.context import Diagnosis, Placement, Scheduler
from moorage.core.cycle.post_filter import make_room, refusals
from moorage.core.framework.evaluation.evaluation import PASSES, Blueprint
from moorage.core.framework.interfaces import Point, Reserved
from moorage.core.framework.revisions import Revision
from moorage.core.framework.status import REFUSALS, Code, Status, fit_error, texts
from moorage.core.framework.tie_breaking import pick
from moorage.core.objects.pods import Pod, on_node
from moorage.core.pods.ceilings import TooLarge
from moorage.core.pods.requests import pod_requests

NO_NODES = "no nodes available to schedule pods"


def decide(pod: Pod, revision: Revision, scheduler: Scheduler) -> Placement | Diagnosis:
    """Where the pod should go, or why it cannot go anywhere. Changes nothing but what the runner keeps."""
    # 1. preFilter and filter: catch up with what changed since this template was last looked at.
    blueprint = look(pod, revision, scheduler)
    if isinstance(blueprint, Diagnosis):
        return blueprint
    snapshot = scheduler.snapshot

    # 2. Nobody fits: postFilter may make room; the diagnosis says why.
    if not blueprint.fits:
        room = make_room(pod, revision, scheduler, blueprint)
        return refusals(blueprint, snapshot).diagnosis(pod, revision, room)

    # 3. A nominated node that still fits is taken; a lone feasible node needs no score; a sampling profile sees only some.
    nominated = snapshot.nodes.row_of.get(snapshot.nominations.node(pod.metadata.uid))
    if nominated is not None and blueprint.blame[nominated] == PASSES:
        return Placement(pod, snapshot.nodes.names[nominated], revision, 1)
    sample = scheduler.sampler.choose(blueprint, revision, snapshot)
    candidates = blueprint.passing if sample is None else sample.size
    if candidates == 1:
        row = int((blueprint.feasible() if sample is None else sample)[0])
        return Placement(pod, snapshot.nodes.names[row], revision, 1)

    # 4. preScore, score, normalise: the totals of all feasible nodes, or of the sampled ones.
    status = weigh(blueprint, revision, scheduler)
    if status.code is not Code.SUCCESS:
        return Diagnosis(pod, revision, Code.ERROR, status.message)
    totals = blueprint.totals if sample is None else blueprint.totals_among(sample)

    # 5. The best total; ties by (seed, pod, node).
    best = int(totals.max())
    row = pick(np.flatnonzero(totals == best), snapshot.nodes.tie_break, pod.metadata.uid, scheduler.seed)
    return Placement(pod, snapshot.nodes.names[row], revision, candidates, best)


def look(pod: Pod, revision: Revision, scheduler: Scheduler) -> Blueprint | Diagnosis:
    """What filters say of all nodes as they are now; a diagnosis where there are no nodes, or a plugin failed."""
    snapshot, observer = scheduler.snapshot, scheduler.observer
    if not len(snapshot.nodes):
        return Diagnosis(pod, revision, Code.UNRESOLVABLE, NO_NODES)
    try:
        blueprint = scheduler.runner.blueprint(pod, revision)
    except TooLarge as excess:
        return Diagnosis(pod, revision, Code.ERROR, str(excess))
    observer.begin(Point.FILTER)
    blueprint.refresh_filters(snapshot)
    verdict = blueprint.verdict[1]
    observer.end(Point.FILTER, verdict.code.value, revision.scheduler_name)
    if verdict.code is Code.ERROR or blueprint.fault:
        return Diagnosis(pod, revision, Code.ERROR, blueprint.fault or verdict.message)
    return blueprint


def weigh(blueprint: Blueprint, revision: Revision, scheduler: Scheduler) -> Status:
    """Have plugins score the nodes that filters let through, after ``look``; ERROR when one failed."""
    scheduler.observer.begin(Point.SCORE)
    status = blueprint.refresh_scores(scheduler.snapshot)
    scheduler.observer.end(Point.SCORE, status.code.value, revision.scheduler_name)
    return status


def commit(placement: Placement, scheduler: Scheduler) -> Placement | Diagnosis:
    """Assume the pod on its node (or raise with nothing changed), let plugins reserve; if one refuses or fails, all is taken back."""
    pod, revision = placement.pod, placement.revision
    scheduler.cache.assume(on_node(pod, placement.node), placement.node, pod_requests(pod))
    if not revision.points[Point.RESERVE]:
        return placement
    reservations: dict[str, Reserved] = {}
    placement = dataclasses.replace(placement, reservations=reservations)
    kept = False
    try:
        for name, plugin in revision.at(Point.RESERVE):
            reserved: Reserved = plugin.reserve(pod, placement.node, scheduler.snapshot)
            reservations[name] = reserved
            if reserved.status.code is not Code.SUCCESS:
                return _unreserved(placement, name, reserved.status)
        kept = True
    finally:
        if not kept:
            undo(placement, scheduler.cache)
    return placement


def objection(placement: Placement, scheduler: Scheduler) -> str:
    """Why the node would not take the pod any more, "" when it would.

    Asked where the node has changed since the decision by somebody else's doing (``Cache.news``). The pod itself, which is assumed
    there, is left out of account; a plugin that reserved something for it is not asked, as that would be in its own way.
    """
    pod, node, snapshot = placement.pod, placement.node, scheduler.snapshot
    record, row = scheduler.cache.record(pod.metadata.uid), snapshot.nodes.row_of.get(node)
    if row is None:
        return f"node {node!r} has been deleted since it was chosen"
    if record is None or record.state is not State.ASSUMED or record.node != node:
        return ""
    blueprint = scheduler.runner.blueprint(pod, placement.revision)
    blueprint.refresh_filters(snapshot)
    reserving = {name for name, reserved in placement.reservations.items() if reserved.value is not None}
    with blueprint.what_if(snapshot, without=reserving) as what_if:
        what_if.remove(Herd([record], snapshot.nodes), np.array([0]))
        refusal = what_if.ask(np.array([row])).get(row)
        reasons = ", ".join(texts(refusal.why)) if refusal is not None else ""
    return f"node {node!r} has changed since it was chosen: {reasons}" if reasons else ""


def undo(placement: Placement, cache: Cache) -> None:
    """Take back what ``commit`` did, reservations in reverse order; safe to call again.

    One that fails stops no other: the first failure is raised when everything else is taken back.
    """
    fault: Exception | None = None
    for reserved in reversed(list(placement.reservations.values())):
        if reserved.undo is not None:
            try:
                reserved.undo()
            except Exception as error:  # noqa: BLE001 - raised below
                fault = fault or error
    record = cache.record(placement.pod.metadata.uid)
    if record is not None and record.state is State.ASSUMED and record.node == placement.node:
        cache.forget(placement.pod.metadata.uid)
    if fault is not None:
        raise fault


def _unreserved(placement: Placement, plugin: str, status: Status) -> Diagnosis:
    """A refusal at reserve speaks of the one node that was chosen."""
    if status.code not in REFUSALS:
        return Diagnosis(placement.pod, placement.revision, Code.ERROR, status.message)
    message = fit_error(1, [(reason, 1) for reason in status.reasons])
    return Diagnosis(placement.pod, placement.revision, status.code, message, frozenset({plugin}))
