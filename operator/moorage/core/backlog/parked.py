"""Parked pods: refused or gated ones, found by the plugin that can set them free.

An event asks only about pods that a plugin with an interest in it has parked; all others cost nothing.
"""

from __future__ import annotations

from collections import OrderedDict

from moorage.core.backlog.entries import Entry


class ParkedPods:
    """Pods by age and by blocker. A pod's blockers and scheduler name must not change while it is in."""

    def __init__(self) -> None:
        self._by_age: OrderedDict[str, Entry] = OrderedDict()  # not a dict: taking the first out again and again stays O(1)
        self._by_blocker: dict[tuple[str, str], dict[str, Entry]] = {}

    def add(self, entry: Entry) -> None:
        """Put a pod in; they come in the order of ``queued_at``."""
        self._by_age[entry.uid] = entry
        for plugin in entry.blockers:
            self._by_blocker.setdefault((entry.scheduler_name, plugin), {})[entry.uid] = entry

    def discard(self, entry: Entry) -> None:
        """Take a pod out."""
        del self._by_age[entry.uid]
        for plugin in entry.blockers:
            bucket = self._by_blocker[entry.scheduler_name, plugin]
            del bucket[entry.uid]
            if not bucket:
                del self._by_blocker[entry.scheduler_name, plugin]

    def first(self) -> Entry | None:
        """The pod that has been in for longest; it stays in."""
        return next(iter(self._by_age.values()), None)

    def blocking(self) -> list[tuple[str, str, int]]:
        """(scheduler name, plugin, how many pods it blocks), for those that block any."""
        return [(name, plugin, len(bucket)) for (name, plugin), bucket in self._by_blocker.items()]

    def blocked_by(self, scheduler_name: str, plugin: str) -> list[Entry]:
        """The pods of a profile that this plugin blocks, longest in first."""
        return list(self._by_blocker.get((scheduler_name, plugin), {}).values())
