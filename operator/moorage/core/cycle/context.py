"""The context of a cycle: what it works on, and what comes of it."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, TypeAlias

from moorage.core.columns.cache import Cache
from moorage.core.columns.pod_info import PodInfo
from moorage.core.columns.snapshot import Snapshot
from moorage.core.cycle.sampling import NodeSampler
from moorage.core.framework.evaluation.evaluator import Evaluator, NullObserver, Observer
from moorage.core.framework.evaluation.row_cache import RowCaches
from moorage.core.framework.interfaces import ReserveResult
from moorage.core.framework.revisions import Revision
from moorage.core.framework.status import Code
from moorage.core.objects.pods import Pod
from moorage.core.structures.budget import TimeBudget


@dataclasses.dataclass(frozen=True, slots=True)
class ScheduleResult:
    """The pod goes to ``node``, decided by ``revision``; ``score`` is None when no other node was
    feasible.
    """

    pod: Pod
    node: str
    revision: Revision
    feasible_nodes: int
    score: int | None = None
    reservations: Mapping[str, ReserveResult] = dataclasses.field(default_factory=dict)
    nothing_to_reserve: frozenset[str] = frozenset()
    """Plugins that are known to have nothing to reserve for the pod: they are not asked."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """The pod goes nowhere now.

    ``code`` ERROR: a fault, else a rejection by ``unschedulable_plugins``. ``message`` is for the
    pod's condition. ``nominated_node``: None leaves a nomination alone, "" clears it.
    """

    pod: Pod
    revision: Revision
    code: Code
    message: str
    unschedulable_plugins: frozenset[str] = frozenset()
    nominated_node: str | None = ""
    victims: tuple[Pod, ...] = ()
    """Pods that must go so that the pod fits ``nominated_node``, the most important one first."""
    by_eviction: bool = False
    """Whether they are to be evicted, which a disruption budget may refuse, and not deleted."""
    held: bool = False
    """Whether room is held for it there, as a member of a gang."""
    blocking_nominated_pods: tuple[PodInfo, ...] = ()
    """Pods nominated to nodes that would take this pod but for them."""
    post_filter_actions: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    """What postFilter plugins want to be done beside, by plugin: for their actors."""

    @classmethod
    def error(cls, pod: Pod, revision: Revision, message: str) -> Diagnosis:
        """A fault ended the attempt."""
        return cls(pod=pod, revision=revision, code=Code.ERROR, message=message)


class CycleContext:
    """What a cycle works on: the cache, the evaluator over it, the sampler's place, the tie-break's
    seed.
    """

    def __init__(
        self,
        cache: Cache,
        seed: int = 0,
        *,
        observer: Observer | None = None,
        budget: TimeBudget | None = None,
    ) -> None:
        self.cache = cache
        self.seed = seed
        self.observer: Observer = observer or NullObserver()
        self.budget = budget or TimeBudget()
        """The time of an attempt; without one there is no end to it."""
        self.snapshot = Snapshot(cache, self.budget, self.observer)
        """What plugins see of the cluster."""
        self.evaluator = Evaluator(self.snapshot)
        self.sampler = NodeSampler()
        self.row_caches = RowCaches()
        self.makes_room = True
        """Whether postFilter runs for pods alone: not while members of groups are placed that may
        be taken back.
        """


Decision: TypeAlias = ScheduleResult | Diagnosis
"""What a cycle comes to: the pod's place, or why it has none."""
