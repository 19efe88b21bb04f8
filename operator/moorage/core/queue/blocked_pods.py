"""Blocked pods: rejected or gated ones, found by the plugins that block them; those together that
a plugin's hints cannot tell apart.

An event asks only about pods that a plugin with an interest in it blocks, once for all that are
alike; all others cost nothing. Of an event about a pod only those are asked that listen to pods
with such labels (``ClusterEventWithHint.pod_selectors``), or whose own labels it selects
(``ClusterEventWithHint.event_selectors``).
"""

from __future__ import annotations

import dataclasses
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping

from kubefacts.labels import Selector
from moorage.core.columns.pod_counters import SelectorIndex, required_pairs
from moorage.core.framework.cluster_events import ClusterEvent, ClusterEventWithHint
from moorage.core.objects.meta import Labels
from moorage.core.objects.pods import Pod
from moorage.core.queue.queued_pod import QueuedPodInfo


@dataclasses.dataclass(frozen=True, slots=True)
class EquivalenceClass:
    """What a plugin's hints see of a pod.

    ``key``: equal for pods that they cannot tell apart. ``pod_selectors``: they select the pods
    whose events may free it. ``selectable``: whether events may select it by its labels.
    """

    key: Hashable
    pod_selectors: tuple[Selector, ...] = ()
    selectable: bool = False


@dataclasses.dataclass(slots=True, eq=False)
class EquivalentPods:
    """Pods of a profile that one plugin blocks and that its hints cannot tell apart; by UID,
    longest in first.
    """

    scheduler_name: str
    plugin: str
    key: Hashable
    pod_selectors: tuple[Selector, ...] = ()
    moving: bool = False
    """They are to go on as soon as there is time for it: nobody is asked about them any more, and
    no others join.
    """
    entries: OrderedDict[str, QueuedPodInfo] = dataclasses.field(default_factory=OrderedDict)
    """Not a dict: taking the first one out again and again stays O(1)."""


class PodsOfPlugin:
    """The pods of one profile that one plugin blocks: the groups of those that are alike, and how
    they are found.
    """

    def __init__(self) -> None:
        self.groups: dict[Hashable, EquivalentPods] = {}
        self.size = 0
        """How many pods, also those that are freed."""
        self._group_of: dict[str, EquivalentPods] = {}
        self._by_selector: SelectorIndex[tuple[EquivalentPods, int]] = SelectorIndex()
        self._labels: dict[str, Labels] = {}
        self._by_label: dict[tuple[str, str], dict[str, None]] = {}

    def groups_to_ask(
        self, registrations: Iterable[ClusterEventWithHint], event: ClusterEvent
    ) -> dict[EquivalentPods, dict[str, QueuedPodInfo]]:
        """The groups that these registrations have to be asked about, and those of their pods that
        have to be asked about alone.
        """
        labels = [one.metadata.labels for one in (event.old, event.new) if isinstance(one, Pod)]
        if labels and all(one.pod_selectors is not None for one in registrations):
            asked: dict[EquivalentPods, dict[str, QueuedPodInfo]] = {
                alike: {} for each in labels for alike, _ in self._by_selector.candidates(each)
            }
        else:
            asked = {alike: {} for alike in self.groups.values()}
        for uid in sorted(self._asked_alone(registrations, event)):
            alike = self._group_of[uid]
            if not alike.moving:
                asked.setdefault(alike, {})[uid] = alike.entries[uid]
        return asked

    def add_pod(self, alike: EquivalentPods, entry: QueuedPodInfo, selectable: bool) -> None:
        """A pod of this group can be found from now on; ``selectable``: by its labels too."""
        if alike.key not in self.groups:
            self.groups[alike.key] = alike
            for i, selector in enumerate(alike.pod_selectors):
                self._by_selector.add((alike, i), selector)
        self._group_of[entry.uid] = alike
        if selectable and (labels := entry.pod.metadata.labels):
            self._labels[entry.uid] = labels
            for pair in labels.items():
                self._by_label.setdefault(pair, {})[entry.uid] = None

    def remove_pod(self, uid: str) -> None:
        """A pod is not to be found any more."""
        self._group_of.pop(uid, None)
        for pair in self._labels.pop(uid, {}).items():
            there = self._by_label[pair]
            del there[uid]
            if not there:
                del self._by_label[pair]

    def remove_group(self, alike: EquivalentPods) -> None:
        """A group is not to be found any more."""
        del self.groups[alike.key]
        for i, selector in enumerate(alike.pod_selectors):
            self._by_selector.remove((alike, i), selector)

    def _asked_alone(
        self, registrations: Iterable[ClusterEventWithHint], event: ClusterEvent
    ) -> set[str]:
        """The pods (UIDs) that the event is about, and those that its selectors may select."""
        alone = {one.metadata.uid for one in (event.old, event.new) if one is not None}
        for registration in registrations:
            if registration.event_selectors is not None:
                for selector in registration.event_selectors(event):
                    alone.update(self._selected(selector))
        return alone & self._group_of.keys()

    def _selected(self, selector: Selector) -> Iterator[str]:
        """The pods (UIDs) that a selector may select."""
        if selector.conditions is None:
            return
        pairs = required_pairs(selector)
        for pair in pairs:
            yield from self._by_label.get(pair, ())
        if not pairs:
            yield from self._group_of


class BlockedPods:
    """Pods by the plugins that block them. Neither these nor its scheduler name may change while a
    pod is in.

    ``equivalence_class_of(entry, plugin)`` says what a plugin's hints see of a pod.
    """

    def __init__(
        self, equivalence_class_of: Callable[[QueuedPodInfo, str], EquivalenceClass]
    ) -> None:
        self._equivalence_class_of = equivalence_class_of
        self._by_plugin: dict[tuple[str, str], PodsOfPlugin] = {}
        self._groups_of: dict[str, list[EquivalentPods]] = {}

    def add(self, entry: QueuedPodInfo) -> None:
        """Put a pod in, or, if it is in, among those that are like its newest state; one that is
        about to move stays so.
        """
        if any(alike.moving for alike in self._groups_of.get(entry.uid, ())):
            return
        self.discard(entry)
        self._groups_of[entry.uid] = groups = []
        for plugin in entry.blocking_plugins:
            blocked = self._by_plugin.setdefault((entry.scheduler_name, plugin), PodsOfPlugin())
            equivalence = self._equivalence_class_of(entry, plugin)
            alike = blocked.groups.get(equivalence.key) or EquivalentPods(
                entry.scheduler_name, plugin, equivalence.key, equivalence.pod_selectors
            )
            alike.entries[entry.uid] = entry
            blocked.add_pod(alike, entry, equivalence.selectable)
            blocked.size += 1
            groups.append(alike)

    def discard(self, entry: QueuedPodInfo) -> None:
        """Take a pod out, if it is in."""
        for alike in self._groups_of.pop(entry.uid, ()):
            place = (alike.scheduler_name, alike.plugin)
            blocked = self._by_plugin[place]
            blocked.remove_pod(entry.uid)
            del alike.entries[entry.uid]
            blocked.size -= 1
            if not alike.entries and not alike.moving:
                blocked.remove_group(alike)
            if not blocked.size:
                del self._by_plugin[place]

    def free(self, alike: EquivalentPods, which: Mapping[str, QueuedPodInfo]) -> EquivalentPods:
        """Set these of some pods free (by UID, at least one): they stay in until they are taken
        out, but are not found any more.
        """
        blocked = self._by_plugin[alike.scheduler_name, alike.plugin]
        if len(which) == len(alike.entries):
            blocked.remove_group(alike)
            alike.moving = True
            return alike
        apart = EquivalentPods(
            alike.scheduler_name, alike.plugin, alike.key, moving=True, entries=OrderedDict(which)
        )
        for uid in which:
            blocked.remove_pod(uid)
            del alike.entries[uid]
            self._groups_of[uid] = [apart if one is alike else one for one in self._groups_of[uid]]
        return apart

    def blocked_counts(self) -> list[tuple[str, str, int]]:
        """(scheduler name, plugin, how many pods it blocks), for those that block any."""
        return [(name, plugin, blocked.size) for (name, plugin), blocked in self._by_plugin.items()]

    def blocked_by(self, scheduler_name: str, plugin: str) -> PodsOfPlugin:
        """The pods of a profile that this plugin blocks."""
        return self._by_plugin.get((scheduler_name, plugin)) or PodsOfPlugin()
