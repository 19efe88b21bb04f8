"""Parked pods: refused or gated ones, found by what can set them free; those together that a plugin's hints see as one.

An event asks only about pods that a plugin with an interest in it has parked, once for all that are alike; all others cost nothing.
Of an event about a pod only those are asked that listen to pods with such labels (``Wake.listens``), or whose own labels it selects
(``Wake.selects``).
"""

from __future__ import annotations

import dataclasses
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping

from kubefacts.labels import Selector
from moorage.core.columns.pod_counters import Index, insisted
from moorage.core.framework.cluster_events import ClusterEvent, Wake
from moorage.core.objects.meta import Labels
from moorage.core.objects.pods import Pod
from moorage.core.queue.queued_pod import Entry


@dataclasses.dataclass(frozen=True, slots=True)
class Kind:
    """What a plugin's hints see of a pod.

    ``key``: equal for pods that they cannot tell apart. ``listens``: pods with such labels concern it. ``selected``: whether events
    may select it by its labels.
    """

    key: Hashable
    listens: tuple[Selector, ...] = ()
    selected: bool = False


@dataclasses.dataclass(slots=True, eq=False)
class Alike:
    """Parked pods of a profile that one plugin blocks and that its hints cannot tell apart; by UID, longest in first."""

    scheduler_name: str
    plugin: str
    key: Hashable
    listens: tuple[Selector, ...] = ()
    freed: bool = False
    """They are to go on as soon as there is time for it: nobody is asked about them any more, and no others join."""
    entries: OrderedDict[str, Entry] = dataclasses.field(default_factory=OrderedDict)
    """Not a dict: taking the first one out again and again stays O(1)."""


class Blocked:
    """The pods of one profile that one plugin blocks: the groups of those that are alike, and how they are found."""

    def __init__(self) -> None:
        self.groups: dict[Hashable, Alike] = {}
        self.size = 0
        """How many pods, also those that are freed."""
        self._group_of: dict[str, Alike] = {}
        self._listening: Index[tuple[Alike, int]] = Index()
        self._labels: dict[str, Labels] = {}
        self._by_label: dict[tuple[str, str], dict[str, None]] = {}

    def asked(self, wakes: Iterable[Wake], event: ClusterEvent) -> dict[Alike, dict[str, Entry]]:
        """The groups that these registrations have to be asked about, and those of their pods that have to be asked about alone."""
        labels = [one.metadata.labels for one in (event.old, event.new) if isinstance(one, Pod)]
        if labels and all(wake.listens is not None for wake in wakes):
            asked: dict[Alike, dict[str, Entry]] = {alike: {} for each in labels for alike, _ in self._listening.candidates(each)}
        else:
            asked = {alike: {} for alike in self.groups.values()}
        alone = {one.metadata.uid for one in (event.old, event.new) if one is not None}
        for wake in wakes:
            if wake.selects is not None:
                for selector in wake.selects(event):
                    alone.update(self._selected(selector))
        for uid in sorted(alone & self._group_of.keys()):
            alike = self._group_of[uid]
            if not alike.freed:
                asked.setdefault(alike, {})[uid] = alike.entries[uid]
        return asked

    def enter(self, alike: Alike, entry: Entry, selected: bool) -> None:
        """A pod of this group can be found from now on; ``selected``: by its labels too."""
        if alike.key not in self.groups:
            self.groups[alike.key] = alike
            for i, selector in enumerate(alike.listens):
                self._listening.add((alike, i), selector)
        self._group_of[entry.uid] = alike
        if selected and (labels := entry.pod.metadata.labels):
            self._labels[entry.uid] = labels
            for pair in labels.items():
                self._by_label.setdefault(pair, {})[entry.uid] = None

    def hide(self, uid: str) -> None:
        """A pod is not to be found any more."""
        self._group_of.pop(uid, None)
        for pair in self._labels.pop(uid, {}).items():
            there = self._by_label[pair]
            del there[uid]
            if not there:
                del self._by_label[pair]

    def drop(self, alike: Alike) -> None:
        """A group is not to be found any more."""
        del self.groups[alike.key]
        for i, selector in enumerate(alike.listens):
            self._listening.remove((alike, i), selector)

    def _selected(self, selector: Selector) -> Iterator[str]:
        """The pods (UIDs) that a selector may select; each is asked about by itself."""
        if selector.conditions is None:
            return
        pairs = insisted(selector)
        for pair in pairs:
            yield from self._by_label.get(pair, ())
        if not pairs:
            yield from self._group_of


class ParkedPods:
    """Pods by age and by blocker. A pod's blockers and scheduler name must not change while it is in.

    ``kind_of(entry, plugin)`` says what a plugin's hints see of a pod.
    """

    def __init__(self, kind_of: Callable[[Entry, str], Kind]) -> None:
        self._kind_of = kind_of
        self._by_age: OrderedDict[str, Entry] = OrderedDict()
        self._by_blocker: dict[tuple[str, str], Blocked] = {}
        self._among: dict[str, list[Alike]] = {}

    def add(self, entry: Entry) -> None:
        """Put a pod in; they come in the order of ``queued_at``."""
        self._by_age[entry.uid] = entry
        self._join(entry)

    def discard(self, entry: Entry) -> None:
        """Take a pod out, if it is in."""
        if self._by_age.pop(entry.uid, None) is not None:
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
        blocked = self._by_blocker[alike.scheduler_name, alike.plugin]
        if len(which) == len(alike.entries):
            blocked.drop(alike)
            alike.freed = True
            return alike
        apart = Alike(alike.scheduler_name, alike.plugin, alike.key, freed=True, entries=OrderedDict(which))
        for uid in which:
            blocked.hide(uid)
            del alike.entries[uid]
            self._among[uid] = [apart if one is alike else one for one in self._among[uid]]
        return apart

    def first(self) -> Entry | None:
        """The pod that has been in for longest; it stays in."""
        return next(iter(self._by_age.values()), None)

    def blocking(self) -> list[tuple[str, str, int]]:
        """(scheduler name, plugin, how many pods it blocks), for those that block any."""
        return [(name, plugin, blocked.size) for (name, plugin), blocked in self._by_blocker.items()]

    def blocked_by(self, scheduler_name: str, plugin: str) -> Blocked:
        """The pods of a profile that this plugin blocks."""
        return self._by_blocker.get((scheduler_name, plugin)) or Blocked()

    def _join(self, entry: Entry) -> None:
        self._among[entry.uid] = among = []
        for plugin in entry.blockers:
            blocked = self._by_blocker.setdefault((entry.scheduler_name, plugin), Blocked())
            kind = self._kind_of(entry, plugin)
            alike = blocked.groups.get(kind.key) or Alike(entry.scheduler_name, plugin, kind.key, kind.listens)
            alike.entries[entry.uid] = entry
            blocked.enter(alike, entry, kind.selected)
            blocked.size += 1
            among.append(alike)

    def _leave(self, entry: Entry) -> None:
        for alike in self._among.pop(entry.uid, ()):
            place = (alike.scheduler_name, alike.plugin)
            blocked = self._by_blocker[place]
            blocked.hide(entry.uid)
            del alike.entries[entry.uid]
            blocked.size -= 1
            if not alike.entries and not alike.freed:
                blocked.drop(alike)
            if not blocked.size:
                del self._by_blocker[place]
