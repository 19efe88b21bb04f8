"""The engine of an observer: it knows what the engine of a decider knows, and decides nothing.

To its parts it is a standby for ever: the loop that takes pods from the queue, trials, and what
writes conditions of pods never run. It is made with ``ports.nowhere`` in the place of the writer of
decisions and of the recorder of events.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import Final

from moorage.engine.engine import Engine

OBSERVING: Final = frozenset(
    {"swapping", "survey", "rights", "status", "time", "lag", "inspection"}
)
"""The parts of an engine that run."""


class ObservingEngine(Engine):
    """Keeps profiles, queue and cluster state up to date, for those who ask."""

    def lead(self, late: Collection[str] = ()) -> None:
        """Start writing what became of profiles: the lease is held and the informers have caught
        up, less the late ones.
        """
        self.synced.lead(late)
        self.live.observe()
        self.swapper.lead()

    def _runs(self) -> Mapping[str, Callable[[], Awaitable[None]]]:
        return {name: part for name, part in super()._runs().items() if name in OBSERVING}
