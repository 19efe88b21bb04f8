"""The scheduling cycle: one pod, all nodes, one synchronous call.

``decide`` looks and changes nothing; ``commit`` takes the decision for done (assume, reserve), all or nothing. The engine does the
rest: it binds what was placed and tells why what was not.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

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
    by_eviction: bool = False
    """Whether they are to be evicted, which a disruption budget may refuse, and not deleted."""
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
    # 1. preFilter and filter: catch up with what changed since this template was last looked at.
    blueprint = look(pod, revision, scheduler)
    if isinstance(blueprint, Diagnosis):
        return blueprint
    snapshot, observer = scheduler.snapshot, scheduler.observer

    # 2. Nobody fits: postFilter may make room; the diagnosis says why.
    if not blueprint.fits:
        return _diagnose(pod, revision, scheduler, blueprint)

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
    observer.begin(Point.SCORE)
    status = blueprint.refresh_scores(snapshot)
    observer.end(Point.SCORE, status.code.value, revision.scheduler_name)
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
    blueprint = scheduler.runner.blueprint(pod, revision)
    observer.begin(Point.FILTER)
    blueprint.refresh_filters(snapshot)
    verdict = blueprint.verdict[1]
    observer.end(Point.FILTER, verdict.code.value, revision.scheduler_name)
    if verdict.code is Code.ERROR or blueprint.fault:
        return Diagnosis(pod, revision, Code.ERROR, blueprint.fault or verdict.message)
    return blueprint


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


# ---- when nobody fits -------------------------------------------------------------------------------------------------------


class Refusals(NamedTuple):
    """Who refused a pod on how many of the ``nodes``, and with which reasons; ``prefilter``: one for all of them."""

    code: Code
    rejectors: frozenset[str]
    nodes: int
    counts: Sequence[tuple[str, int]]
    prefilter: str = ""

    def diagnosis(self, pod: Pod, revision: Revision, room: PostFilterResult) -> Diagnosis:
        """These refusals, and what plugins that make room say."""
        message = fit_error(self.nodes, self.counts, self.prefilter, room.status.message)
        rejectors = self.rejectors | room.rejectors
        return Diagnosis(pod, revision, self.code, message, rejectors, room.nominated_node, room.victims, room.by_eviction, room.errand)


def refusals(blueprint: Blueprint, snapshot: Snapshot) -> Refusals:
    """What plugins said of all nodes; after ``look``."""
    plugin, verdict = blueprint.verdict
    if verdict.code is not Code.SUCCESS:
        return Refusals(verdict.code, frozenset({plugin}), len(snapshot.nodes), (), verdict.message)
    return Refusals(Code.UNSCHEDULABLE, blueprint.rejectors(), len(snapshot.nodes), list(blueprint.counts(snapshot)))


def _diagnose(pod: Pod, revision: Revision, scheduler: Scheduler, blueprint: Blueprint) -> Diagnosis:
    room = make_room(pod, revision, scheduler, blueprint)
    return refusals(blueprint, scheduler.snapshot).diagnosis(pod, revision, room)


def make_room(pod: Pod, revision: Revision, scheduler: Scheduler, blueprint: Blueprint) -> PostFilterResult:
    """What the first postFilter plugin that makes room says, or else all of them; without any, a nomination is cleared.

    ``errand`` has the errands of all plugins, by name.
    """
    heard = Heard(scheduler.observer)
    plugins = list(revision.at(Point.POST_FILTER))
    attempt = attempt_of(scheduler, blueprint, blueprint.refusals(scheduler.snapshot)) if plugins else None
    for name, plugin in plugins:
        if (result := heard.out(name, plugin.post_filter(pod, attempt))) is not None:
            return result
    return heard.all()


def attempt_of(scheduler: Scheduler, blueprint: Blueprint, refused: npt.NDArray[np.int64]) -> Attempt:
    """What postFilter plugins are shown; ``refused`` as in ``Attempt.refusals``."""
    snapshot, memories = scheduler.snapshot, scheduler.memories
    return Attempt(
        snapshot,
        refused,
        lambda: blueprint.what_if(snapshot),
        lambda plugin, depends: memories.of(blueprint, plugin).catch_up(snapshot, depends),
        scheduler.seed,
    )


class Heard:
    """What postFilter plugins have said so far, one after another."""

    def __init__(self, observer: Observer) -> None:
        self._observer = observer
        self._errands: dict[str, Any] = {}
        self._messages: list[str] = []
        self._nominated: str | None = None
        self._rejectors: frozenset[str] = frozenset()
        self._anybody = False

    def out(self, name: str, result: PostFilterResult) -> PostFilterResult | None:
        """One more plugin; the result of them all when this is the last word."""
        self._anybody = True
        self._observer.sought_room(name)
        if result.errand is not None:
            self._errands[name] = result.errand
        if result.status.code in (Code.SUCCESS, Code.UNRESOLVABLE, Code.ERROR):
            return dataclasses.replace(result, errand=self._errands)
        self._messages += result.status.reasons
        self._rejectors |= result.rejectors
        self._nominated = self._nominated if result.nominated_node is None else result.nominated_node
        return None

    def all(self) -> PostFilterResult:
        """The result when nobody has had the last word."""
        if not self._anybody:
            return PostFilterResult(SUCCESS, "", errand=self._errands)
        status = Status(Code.UNSCHEDULABLE, tuple(self._messages))
        return PostFilterResult(status, self._nominated, errand=self._errands, rejectors=self._rejectors)
