"""When no node takes a pod: who refused it, and what the plugins that may make room for it say."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from moorage.core.columns.pod_info import Record
from moorage.core.columns.snapshot import Snapshot
from moorage.core.cycle.context import Diagnosis, Scheduler
from moorage.core.framework.evaluation.evaluation import Blueprint
from moorage.core.framework.evaluation.evaluator import Observer
from moorage.core.framework.interfaces import Attempt, Point, PostFilterResult
from moorage.core.framework.revisions import Revision
from moorage.core.framework.status import SUCCESS, Code, Status, fit_error
from moorage.core.objects.pods import Pod


class Refusals(NamedTuple):
    """Who refused a pod on how many of the ``nodes``, and with which reasons; ``prefilter``: one for all of them."""

    code: Code
    rejectors: frozenset[str]
    nodes: int
    counts: Sequence[tuple[str, int]]
    prefilter: str = ""
    kept_by: tuple[Record, ...] = ()
    """Pods nominated to nodes that would take this one but for them."""

    def diagnosis(self, pod: Pod, revision: Revision, room: PostFilterResult) -> Diagnosis:
        """These refusals, and what plugins that make room say."""
        message = fit_error(self.nodes, self.counts, self.prefilter, room.status.message)
        rejectors = self.rejectors | room.rejectors
        made = room.nominated_node, room.victims, room.by_eviction
        return Diagnosis(pod, revision, self.code, message, rejectors, *made, False, self.kept_by, room.errand)


def refusals(blueprint: Blueprint, snapshot: Snapshot) -> Refusals:
    """What plugins said of all nodes; after ``look``."""
    plugin, verdict = blueprint.verdict
    if verdict.code is not Code.SUCCESS:
        return Refusals(verdict.code, frozenset({plugin}), len(snapshot.nodes), (), verdict.message)
    counts, kept_by = list(blueprint.counts(snapshot)), tuple(blueprint.keepers(snapshot))
    return Refusals(Code.UNSCHEDULABLE, blueprint.rejectors(), len(snapshot.nodes), counts, kept_by=kept_by)


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
    beyond = (snapshot.nominations,) if blueprint.heeds_far else ()
    return Attempt(
        snapshot,
        refused,
        lambda: blueprint.what_if(snapshot),
        lambda plugin, depends: memories.of(blueprint, plugin).catch_up(snapshot, (*depends, *beyond)),
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
