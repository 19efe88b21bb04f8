"""Gates: how many pods wait at which one, and which of them wait for a plugin that failed.

Tenants choose the names of scheduling gates, so only some of them are shown.
"""

from __future__ import annotations

from collections import Counter

from moorage.core.queue.heaps import LazyHeap
from moorage.core.queue.queued_pod import QueuedPodInfo, QueueState

MAX_GATES_SHOWN = 20
"""Gates that are counted under their own names: those with the most pods."""
OTHER_GATES = "other"


class GatedPodCounts:
    """Kept up to date with each move. A pod counts once, at the first of the gates that it has
    left.
    """

    def __init__(self) -> None:
        self.failed = LazyHeap()
        """Those whose gate failed when it was asked, by when it is asked again."""
        self._gate_of: dict[str, str] = {}
        """UID -> where a gated pod waits."""
        self._counts: Counter[str] = Counter()

    def record(self, entry: QueuedPodInfo) -> None:
        """The entry is somewhere else now, or its pod has another state."""
        gate = entry.gate_name if entry.state is QueueState.GATED else ""
        if gate and entry.gate_error_count:
            self.failed.push((entry.gate_retry_at,), entry)
        else:
            self.failed.discard(entry)
        before = self._gate_of.pop(entry.uid, "")
        if before:
            self._counts[before] -= 1
            if not self._counts[before]:
                del self._counts[before]
        if gate:
            self._gate_of[entry.uid] = gate
            self._counts[gate] += 1

    def counts(self) -> dict[str, int]:
        """Pods by gate; what is beyond those that are shown is one sum."""
        shown = dict(self._counts.most_common(MAX_GATES_SHOWN))
        rest = self._counts.total() - sum(shown.values())
        return shown | {OTHER_GATES: shown.get(OTHER_GATES, 0) + rest} if rest else shown
