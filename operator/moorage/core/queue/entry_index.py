"""The entry index: which pods are in the queue, how many of each profile are in which state, and
how many wait at which gate.

Tenants choose the names of scheduling gates, so only some of them are shown.
"""

from __future__ import annotations

import dataclasses
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Mapping
from typing import TypeVar

from moorage.core.queue.queued_entities import POD, QueuedEntities
from moorage.core.queue.queued_pod import QueueCounts, QueuedPodInfo, QueueState

T = TypeVar("T")

MAX_GATES_SHOWN = 20
"""Gates that are counted under their own names: those with the most pods."""
OTHER_GATES = "other"


@dataclasses.dataclass(slots=True)
class ProfileEntries:
    """The pods of one profile."""

    entries: dict[str, QueuedPodInfo] = dataclasses.field(default_factory=dict)
    """By UID, in the order in which they came."""
    queued: OrderedDict[str, QueuedPodInfo] = dataclasses.field(default_factory=OrderedDict)
    """Those that could have been tried, in the order of ``initial_attempt_timestamp``."""
    sizes: Counter[QueueState] = dataclasses.field(default_factory=Counter)


class EntryIndex:
    """Kept up to date with each move, so that nothing has to be counted when it is read."""

    def __init__(self) -> None:
        self.entries: dict[str, QueuedPodInfo] = {}
        """All of them by UID, in the order in which they came."""
        self._profiles: defaultdict[str, ProfileEntries] = defaultdict(ProfileEntries)
        self._entities = QueuedEntities()
        self._gates: Counter[str] = Counter()
        self._counted: dict[str, tuple[QueueState, str]] = {}
        """UID -> the state and the gate under which the pod is counted now."""

    def record(self, entry: QueuedPodInfo) -> str:
        """The entry has another state now (None: it is not in the queue any more), or its pod has
        another gate. Returns what came into its queue with it, as ``QueuedEntities``.
        """
        grouped = entry.membership is not None or entry.uid in self._entities.members
        came = self._entities.record(entry) if grouped else POD
        uid, state, profile = entry.uid, entry.state, self._profiles[entry.scheduler_name]
        if uid in self._counted:
            self._uncount(uid, profile)
        if state is None:
            self._forget(entry, profile)
            return came
        gate = entry.gate_name if state is QueueState.GATED else ""
        self._counted[uid] = state, gate
        profile.sizes[state] += 1
        if gate:
            self._gates[gate] += 1
        self.entries[uid] = profile.entries[uid] = entry
        if state in (QueueState.ACTIVE, QueueState.BACKOFF):
            profile.queued.setdefault(uid, entry)
        return came

    def of_profile(self, scheduler_name: str | None) -> Mapping[str, QueuedPodInfo]:
        """Those of a profile, or of all, by UID in the order in which they came."""
        if scheduler_name is None:
            return self.entries
        profile = self._profiles.get(scheduler_name)
        return profile.entries if profile is not None else {}

    def counts(self, scheduler_name: str | None = None) -> QueueCounts:
        """How many pods of a profile, or of all, are in each state now."""
        names = self._profiles if scheduler_name is None else (scheduler_name,)
        profiles = [self._profiles[name] for name in names if name in self._profiles]
        sizes = {state: sum(profile.sizes[state] for profile in profiles) for state in QueueState}
        oldest = (next(iter(profile.queued.values())) for profile in profiles if profile.queued)
        return QueueCounts(
            active=sizes[QueueState.ACTIVE],
            backoff=sizes[QueueState.BACKOFF],
            unschedulable=sizes[QueueState.UNSCHEDULABLE],
            gated=sizes[QueueState.GATED],
            in_flight=sizes[QueueState.IN_FLIGHT],
            unserved=sizes[QueueState.UNSERVED],
            oldest=min((entry.initial_attempt_timestamp for entry in oldest), default=None),
        )

    def entity_counts(self) -> dict[tuple[str, str], int]:
        """(queue, kind) -> how many pods of no group, and pod groups, are in it."""
        pods: Counter[QueueState] = Counter()
        for profile in self._profiles.values():
            pods.update(profile.sizes)
        return self._entities.counts(pods)

    def gate_counts(self) -> dict[str, int]:
        """How many pods wait at which gate, each at the first that it has left; what is beyond the
        gates that are shown is one sum.
        """
        shown = dict(self._gates.most_common(MAX_GATES_SHOWN))
        rest = self._gates.total() - sum(shown.values())
        return shown | {OTHER_GATES: shown.get(OTHER_GATES, 0) + rest} if rest else shown

    def _uncount(self, uid: str, profile: ProfileEntries) -> None:
        state, gate = self._counted.pop(uid)
        _decrement(profile.sizes, state)
        if gate:
            _decrement(self._gates, gate)

    def _forget(self, entry: QueuedPodInfo, profile: ProfileEntries) -> None:
        for entries in (self.entries, profile.entries, profile.queued):
            entries.pop(entry.uid, None)
        if not profile.entries:
            del self._profiles[entry.scheduler_name]


def _decrement(counter: Counter[T], what: T) -> None:
    counter[what] -= 1
    if not counter[what]:
        del counter[what]
