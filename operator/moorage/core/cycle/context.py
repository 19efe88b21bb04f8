"""What a cycle works on, and what comes of it."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from moorage.core.columns.cache import Cache
from moorage.core.columns.pod_info import Record
from moorage.core.columns.snapshot import Snapshot
from moorage.core.cycle.sampling import Sampler
from moorage.core.framework.evaluation.evaluator import Observer, Runner, Unobserved
from moorage.core.framework.evaluation.row_cache import RowMemories
from moorage.core.framework.interfaces import Reserved
from moorage.core.framework.revisions import Revision
from moorage.core.framework.status import Code
from moorage.core.objects.pods import Pod


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
    held: bool = False
    """Whether room is held for it there, as a member of a gang."""
    kept_by: tuple[Record, ...] = ()
    """Pods nominated to nodes that would take this pod but for them."""
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
