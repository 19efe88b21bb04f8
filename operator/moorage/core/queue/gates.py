"""Gates: how many pods wait at which one, and which of them wait for a plugin that failed.

Tenants choose the names of scheduling gates, so only some of them are shown.
"""

from __future__ import annotations

from collections import Counter

from moorage.core.queue.heaps import LazyHeap
from moorage.core.queue.queued_pod import Entry, Place

SHOWN = 20
"""Gates that are counted under their own names: those with the most pods."""
OTHER = "other"


class Gates:
    """Kept up to date with each move. A pod counts once, at the first of the gates that it has left."""

    def __init__(self) -> None:
        self.failed = LazyHeap()
        """Those whose gate failed when it was asked, by when it is asked again."""
        self._at: dict[str, str] = {}
        """UID -> where a gated pod waits."""
        self._counts: Counter[str] = Counter()

    def note(self, entry: Entry) -> None:
        """The entry is somewhere else now, or its pod has another state."""
        gate = entry.waits_at if entry.place is Place.GATED else ""
        if gate and entry.gate_faults:
            self.failed.push((entry.ask_again,), entry)
        else:
            self.failed.discard(entry)
        before = self._at.pop(entry.uid, "")
        if before:
            self._counts[before] -= 1
            if not self._counts[before]:
                del self._counts[before]
        if gate:
            self._at[entry.uid] = gate
            self._counts[gate] += 1

    def counts(self) -> dict[str, int]:
        """Pods by gate; what is beyond those that are shown is one sum."""
        shown = dict(self._counts.most_common(SHOWN))
        rest = self._counts.total() - sum(shown.values())
        return shown | {OTHER: shown.get(OTHER, 0) + rest} if rest else shown
