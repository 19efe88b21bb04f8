"""The scheduling cycle: one pod, all nodes, one synchronous call.

``decide`` looks and changes nothing; ``commit`` takes the decision for done (assume, reserve), all or nothing. The engine does the
rest: it binds what was placed and tells why what was not.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

from moorage.core.columns.cache import Cache, State
from moorage.core.columns.herds import Herd
from moorage.core.columns.requests import pod_requests
from moorage.core.columns.snapshot import Snapshot
from moorage.core.framework.blueprint import PASSES, Blueprint
from moorage.core.framework.interfaces import Attempt, Point, PostFilterResult, Reserved
from moorage.core.framework.profiles import Revision
from moorage.core.framework.row_memories import RowMemories
from moorage.core.framework.runner import Observer, Runner, Unobserved
from moorage.core.framework.sampling import Sampler
from moorage.core.framework.tie_breaking import pick
from moorage.core.objects import Pod, on_node
from moorage.core.verdicts import REFUSALS, SUCCESS, Code, Status, fit_error, texts

NO_NODES = "no nodes available to schedule pods"


@dataclasses.dataclass(frozen=True, slots=True)
class Placement:
    """The pod goes to ``node``, decided by ``revision``; ``score`` is None when no other node was feasible."""

    pod: Pod
    node: str
    revision: Revision
    feasible: int
    score: int | None = None
    reservations: Mapping[str, Reserved] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True, slots=True)
class Diagnosis:
    """The pod goes nowhere now. ``code`` ERROR: a fault, else a refusal by ``rejectors``; ``message`` is for the pod's condition."""

    pod: Pod
    revision: Revision
    code: Code
    message: str
    rejectors: frozenset[str] = frozenset()
    nominated_node: str | None = ""
    victims: tuple[Pod, ...] = ()
    """Pods that must go so that the pod fits ``nominated_node``, the most important one first."""
    errands: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    """What postFilter plugins want to be done beside, by plugin: for their actors."""


class Scheduler:
    """What a cycle works on: the cache, the runner over it, the sampler's place, the tie-break's seed."""

    def __init__(self, cache: Cache, seed: int = 0, observer: Observer | None = None) -> None:
        self.cache = cache
        self.seed = seed
        self.runner = Runner(cache)
        self.sampler = Sampler()
        self.memories = RowMemories()
        self.observer: Observer = observer or Unobserved()

    @property
    def snapshot(self) -> Snapshot:
        """What plugins see."""
        return self.runner.snapshot


def decide(pod: Pod, revision: Revision, scheduler: Scheduler) -> Placement | Diagnosis:
    """Where the pod should go, or why it cannot go anywhere. Changes nothing but what the runner keeps."""
    snapshot, observer = scheduler.snapshot, scheduler.observer

    # 1. No nodes, no choice.
    if not len(snapshot.nodes):
        return Diagnosis(pod, revision, Code.UNRESOLVABLE, NO_NODES)

    # 2. preFilter and filter: catch up with what changed since this template was last looked at.
    blueprint = scheduler.runner.blueprint(pod, revision)
    observer.begin(Point.FILTER)
    blueprint.refresh_filters(snapshot)
    verdict = blueprint.verdict[1]
    observer.end(Point.FILTER, verdict.code.value, revision.scheduler_name)
    if verdict.code is Code.ERROR or blueprint.fault:
        return Diagnosis(pod, revision, Code.ERROR, blueprint.fault or verdict.message)

    # 3. Nobody fits: postFilter may make room; the diagnosis says why.
    if verdict.code is not Code.SUCCESS or not blueprint.passing:
        return _diagnose(pod, revision, scheduler, blueprint)

    # 4. A nominated node that still fits is taken; a lone feasible node needs no score; a sampling profile sees only some.
    nominated = snapshot.nodes.row_of.get(pod.status.nominated_node_name)
    if nominated is not None and blueprint.blame[nominated] == PASSES:
        return Placement(pod, snapshot.nodes.names[nominated], revision, 1)
    sample = scheduler.sampler.choose(blueprint, revision, snapshot)
    candidates = blueprint.passing if sample is None else sample.size
    if candidates == 1:
        row = int((blueprint.feasible() if sample is None else sample)[0])
        return Placement(pod, snapshot.nodes.names[row], revision, 1)

    # 5. preScore, score, normalise: the totals of all feasible nodes, or of the sampled ones.
    observer.begin(Point.SCORE)
    status = blueprint.refresh_scores(snapshot)
    observer.end(Point.SCORE, status.code.value, revision.scheduler_name)
    if status.code is not Code.SUCCESS:
        return Diagnosis(pod, revision, Code.ERROR, status.message)
    totals = blueprint.totals if sample is None else blueprint.totals_among(sample)

    # 6. The best total; ties by (seed, pod, node).
    best = int(totals.max())
    row = pick(np.flatnonzero(totals == best), snapshot.nodes.tie_break, pod.metadata.uid, scheduler.seed)
    return Placement(pod, snapshot.nodes.names[row], revision, candidates, best)


def commit(placement: Placement, scheduler: Scheduler) -> Placement | Diagnosis:
    """Assume the pod on its node and let plugins reserve; when one refuses or fails, everything is taken back."""
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
    """Take back what ``commit`` did, reservations in reverse order; safe to call again."""
    for reserved in reversed(list(placement.reservations.values())):
        if reserved.undo is not None:
            reserved.undo()
    record = cache.record(placement.pod.metadata.uid)
    if record is not None and record.state is State.ASSUMED and record.node == placement.node:
        cache.forget(placement.pod.metadata.uid)


def _unreserved(placement: Placement, plugin: str, status: Status) -> Diagnosis:
    """A refusal at reserve speaks of the one node that was chosen."""
    if status.code not in REFUSALS:
        return Diagnosis(placement.pod, placement.revision, Code.ERROR, status.message)
    message = fit_error(1, [(reason, 1) for reason in status.reasons])
    return Diagnosis(placement.pod, placement.revision, status.code, message, frozenset({plugin}))


def _diagnose(pod: Pod, revision: Revision, scheduler: Scheduler, blueprint: Blueprint) -> Diagnosis:
    snapshot = scheduler.snapshot
    plugin, verdict = blueprint.verdict
    if verdict.code is Code.SUCCESS:
        code, rejectors = Code.UNSCHEDULABLE, blueprint.rejectors()
        prefilter, counts = "", list(blueprint.counts(snapshot))
    else:
        code, rejectors = verdict.code, frozenset({plugin})
        prefilter, counts = verdict.message, []
    result = make_room(pod, revision, scheduler, blueprint)
    message = fit_error(len(snapshot.nodes), counts, prefilter, result.status.message)
    return Diagnosis(pod, revision, code, message, rejectors, result.nominated_node, result.victims, result.errand)


def make_room(pod: Pod, revision: Revision, scheduler: Scheduler, blueprint: Blueprint) -> PostFilterResult:
    """What the first postFilter plugin that makes room says, or else all of them; without any, a nomination is cleared.

    ``errand`` has the errands of all plugins, by name.
    """
    errands: dict[str, Any] = {}
    plugins = list(revision.at(Point.POST_FILTER))
    if not plugins:
        return PostFilterResult(SUCCESS, "", errand=errands)
    snapshot = scheduler.snapshot
    memories = scheduler.memories
    attempt = Attempt(
        snapshot,
        blueprint.refusals(snapshot),
        lambda: blueprint.what_if(snapshot),
        lambda plugin, depends: memories.of(blueprint, plugin).catch_up(snapshot, depends),
        scheduler.seed,
    )
    messages: list[str] = []
    nominated: str | None = None
    for name, plugin in plugins:
        result: PostFilterResult = plugin.post_filter(pod, attempt)
        if result.errand is not None:
            errands[name] = result.errand
        if result.status.code in (Code.SUCCESS, Code.UNRESOLVABLE, Code.ERROR):
            return dataclasses.replace(result, errand=errands)
        messages += result.status.reasons
        nominated = nominated if result.nominated_node is None else result.nominated_node
    return PostFilterResult(Status(Code.UNSCHEDULABLE, tuple(messages)), nominated, errand=errands)
