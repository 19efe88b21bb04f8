"""The world: what commands look at."""

from __future__ import annotations

import dataclasses
import datetime
import time
from collections.abc import Callable, Collection, Mapping

from moorage.core.columns.cache import Cache
from moorage.core.columns.changes import NO_JOURNAL, Journal
from moorage.core.columns.store import Store
from moorage.core.cycle.context import CycleContext
from moorage.core.framework.holds import Hold
from moorage.core.framework.revisions import Revision
from moorage.core.plugins.intree import INDEXES
from moorage.core.structures.budget import TimeBudget

ProgressListener = Callable[[str], object]
"""Hears how far something has come, in words."""


def unheard(_: str) -> None:
    """Hears nothing."""


@dataclasses.dataclass(frozen=True, slots=True)
class World:
    """A cluster at one moment; the context is the opener's own and may be changed."""

    context: CycleContext
    profiles: Mapping[str, Revision]
    """The revisions that decide, by schedulerName."""
    origin: str
    """Where all this is from: continues a sentence after "from"."""
    at: datetime.datetime
    """The moment, in UTC."""
    warnings: tuple[str, ...] = ()
    """What could not be had or read, one sentence each."""
    holds: Mapping[str, Hold] = dataclasses.field(default_factory=dict)
    """By schedulerName, why a profile holds its pods, as far as that is known."""
    priorities: Mapping[str, int] = dataclasses.field(default_factory=dict)
    """What PriorityClasses say, by name, "" for the global default; a recording has none."""
    left_out: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """By schedulerName, why it cannot be made out here what a profile decides by."""
    unserved: Collection[str] = ()
    """The APIs of pod groups that the API server does not have, as far as that is known."""


def empty_context(
    seed: int = 0, journal: Journal = NO_JOURNAL, *, clock_rate: float = 1.0
) -> CycleContext:
    """A context that knows of nothing yet; the journal takes what becomes of it. Its budget has a
    clock, so a search that sets itself an end has one: ``clock_rate`` seconds go by in each.
    """
    budget = TimeBudget(lambda: clock_rate * time.monotonic())
    return CycleContext(Cache(Store(INDEXES, journal)), seed, budget=budget)
