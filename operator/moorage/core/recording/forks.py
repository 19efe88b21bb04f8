"""Forks: a copy of the state of this moment, in a context of its own, where anything may be tried.

What is copied at once are references; the columns are filled afterwards, in slices, while the state
itself goes on.
"""

from __future__ import annotations

from collections.abc import Collection, Generator

from moorage.core.columns.cache import Cache
from moorage.core.columns.store import Store
from moorage.core.cycle.context import CycleContext
from moorage.core.plugins.intree import INDEXES
from moorage.core.recording.key_frames import key_frame
from moorage.core.recording.state_changes import apply_change

_ENTRIES_PER_STEP = 32


def fork(
    context: CycleContext, without: Collection[str] = ()
) -> Generator[bool, bool | None, CycleContext]:
    """The state as it is when this is first asked to go on, less these pods (UIDs); yields True
    after each piece of work.
    """
    copy = CycleContext(Cache(Store(INDEXES)), context.seed, budget=context.budget)
    for number, entry in enumerate(key_frame(context.cache, {}), 1):
        pod = getattr(entry, "pod", None)
        if pod is None or pod.metadata.uid not in without:
            apply_change(entry, copy)
        if not number % _ENTRIES_PER_STEP:
            yield True
    return copy
