"""Parked pods: refused or gated ones, found by the plugin that can set them free; those together that its hints see as one.

An event asks only about pods that a plugin with an interest in it has parked, once for all that are alike; all others cost nothing.
"""

from __future__ import annotations

import dataclasses
from collections import Counter, OrderedDict
from collections.abc import Mapping

from moorage.core.backlog.entries import Entry
from moorage.core.columns.templates import waiting_key


@dataclasses.dataclass(slots=True, eq=False)
class Alike:
    """Parked pods of a profile that one plugin blocks and that have the same ``templates.waiting_key``; by UID, longest in first."""

    scheduler_name: str
    plugin: str
    key: bytes
    freed: bool = False
    """They are to go on as soon as there is time for it: nobody is asked about them any more, and no others join."""
    entries: OrderedDict[str, Entry] = dataclasses.field(default_factory=OrderedDict)
    """Not a dict: taking the first one out again and again stays O(1)."""


class ParkedPods:
    """Pods by age and by blocker. A pod's blockers and scheduler name must not change while it is in."""

    def __init__(self) -> None:
        self._by_age: OrderedDict[str, Entry] = OrderedDict()
        self._by_blocker: dict[tuple[str, str], dict[bytes, Alike]] = {}
        self._sizes: Counter[tuple[str, str]] = Counter()
        self._among: dict[str, list[Alike]] = {}

    def add(self, entry: Entry) -> None:
        """Put a pod in; they come in the order of ``queued_at``."""
        self._by_age[entry.uid] = entry
        self._join(entry)

    def discard(self, entry: Entry) -> None:
        """Take a pod out."""
        del self._by_age[entry.uid]
        self._leave(entry)

    def renewed(self, entry: Entry) -> None:
        """A pod has a new state, so that it may be alike to others; one that is freed stays so."""
        if not any(alike.freed for alike in self._among[entry.uid]):
            self.stays(entry)

    def stays(self, entry: Entry) -> None:
        """A pod that was freed cannot go after all; its age does not change."""
        self._leave(entry)
        self._join(entry)

    def free(self, alike: Alike, which: Mapping[str, Entry]) -> Alike:
        """Set these of some pods free (by UID, at least one): they stay in until they are taken out, but are not found any more."""
        if len(which) == len(alike.entries):
            self._forget(alike)
            alike.freed = True
            return alike
        apart = Alike(alike.scheduler_name, alike.plugin, alike.key, freed=True, entries=OrderedDict(which))
        for uid in which:
            del alike.entries[uid]
            self._among[uid] = [apart if one is alike else one for one in self._among[uid]]
        return apart

    def first(self) -> Entry | None:
        """The pod that has been in for longest; it stays in."""
        return next(iter(self._by_age.values()), None)

    def blocking(self) -> list[tuple[str, str, int]]:
        """(scheduler name, plugin, how many pods it blocks), for those that block any."""
        return [(name, plugin, size) for (name, plugin), size in self._sizes.items()]

    def blocked_by(self, scheduler_name: str, plugin: str) -> list[Alike]:
        """The pods of a profile that this plugin blocks and nothing has freed."""
        return list(self._by_blocker.get((scheduler_name, plugin), {}).values())

    def _join(self, entry: Entry) -> None:
        key = waiting_key(entry.pod)
        self._among[entry.uid] = among = []
        for plugin in entry.blockers:
            place = (entry.scheduler_name, plugin)
            there = self._by_blocker.setdefault(place, {})
            alike = there.get(key)
            if alike is None:
                alike = there[key] = Alike(*place, key)
            alike.entries[entry.uid] = entry
            self._sizes[place] += 1
            among.append(alike)

    def _leave(self, entry: Entry) -> None:
        for alike in self._among.pop(entry.uid):
            place = (alike.scheduler_name, alike.plugin)
            del alike.entries[entry.uid]
            self._sizes[place] -= 1
            if not self._sizes[place]:
                del self._sizes[place]
            if not alike.entries and not alike.freed:
                self._forget(alike)

    def _forget(self, alike: Alike) -> None:
        place = (alike.scheduler_name, alike.plugin)
        del self._by_blocker[place][alike.key]
        if not self._by_blocker[place]:
            del self._by_blocker[place]
