"""Profile views: what a live profile means to the queue, and the questions that the backlog puts to its plugins.

A plugin that fails harms nobody but the pod it was asked about, and is reported.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from typing import Protocol

from moorage.core.backlog.entries import Entry
from moorage.core.cluster_events import ClusterEvent, Resource, Wake
from moorage.core.columns.store import Objects
from moorage.core.objects import Pod
from moorage.core.verdicts import Code, Status

Report = Callable[[str, Pod, Exception], None]
"""(plugin, pod, error): the plugin failed when it was asked about the pod."""


class Gate(Protocol):
    """A preEnqueue plugin, as far as the backlog is concerned."""

    @property
    def name(self) -> str:
        """The plugin's name."""

    def pre_enqueue(self, pod: Pod, store: Objects, /) -> Status:
        """SUCCESS, or the pod is gated."""


@dataclasses.dataclass(frozen=True, slots=True)
class ProfileView:
    """A live profile. ``wakes``: plugin -> the events that may free a pod which it refused or gated. Backoffs in seconds."""

    pre_enqueue: tuple[Gate, ...] = ()
    wakes: Mapping[str, tuple[Wake, ...]] = dataclasses.field(default_factory=dict)
    initial_backoff: float = 1.0
    max_backoff: float = 10.0


class LiveProfiles:
    """The views by schedulerName."""

    def __init__(self, store: Objects, report: Report) -> None:
        self.views: dict[str, ProfileView] = {}
        self._store = store
        self._report = report

    def closed_gate(self, entry: Entry) -> str:
        """The preEnqueue plugin that does not let the pod in, "" when all do; the one that gates it now is asked first."""
        plugins = self.views[entry.scheduler_name].pre_enqueue
        for plugin in sorted(plugins, key=lambda plugin: plugin.name != entry.gate):
            try:
                status = plugin.pre_enqueue(entry.pod, self._store)
            except Exception as error:  # noqa: BLE001  # reported; a plugin's bug gates this pod and no other
                self._report(plugin.name, entry.pod, error)
                return plugin.name
            if status.code is Code.ERROR:
                self._report(plugin.name, entry.pod, RuntimeError(status.message))
            if status.code is not Code.SUCCESS:
                return plugin.name
        return ""

    def registered(self, scheduler_name: str, plugin: str, event: ClusterEvent) -> list[Wake]:
        """The registrations of a plugin that this event meets."""
        return [wake for wake in self.views[scheduler_name].wakes.get(plugin, ()) if wake.matches(event)]

    def hinted(self, wakes: Iterable[Wake], plugin: str, event: ClusterEvent, entry: Entry) -> bool:
        """Whether one of a plugin's registrations, all of which the event meets, says yes for the pod. A failing hint does."""
        if event.resource is Resource.ANY:
            return any(wakes)
        try:
            return any(wake.hint is None or wake.hint(entry.pod, event, self._store) for wake in wakes)
        except Exception as error:  # noqa: BLE001  # reported; better one attempt too many than a pod left behind
            self._report(plugin, entry.pod, error)
            return True

    def freed(self, wakes: list[Wake], plugin: str, event: ClusterEvent, alike: Mapping[str, Entry]) -> Mapping[str, Entry]:
        """Those of some pods which are alike that a plugin says the event may free; shared hints are asked about one of them."""
        about = event.new or event.old
        itself = alike.get(about.metadata.uid) if about is not None else None
        one = next((entry for entry in alike.values() if entry is not itself), None)
        common = [wake for wake in wakes if wake.hint is None or wake.shared]
        own = [wake for wake in wakes if wake not in common]
        all_others = one is not None and self.hinted(common, plugin, event, one)
        if itself is None and (all_others or not own):
            return alike if all_others else {}

        def free(entry: Entry) -> bool:
            if entry is itself:
                return self.hinted(wakes, plugin, event, entry)
            return all_others or self.hinted(own, plugin, event, entry)

        return {uid: entry for uid, entry in alike.items() if free(entry)}

    def frees(self, event: ClusterEvent, entry: Entry) -> bool:
        """Whether a plugin that blocks the pod says that this event may free it. That its own binding failed is no news to it."""
        if event.resource is Resource.ASSIGNED_POD and event.old is not None and event.old.metadata.uid == entry.uid:
            return False
        name = entry.scheduler_name
        return any(self.hinted(self.registered(name, plugin, event), plugin, event, entry) for plugin in entry.blockers)

    def concerned(self, entry: Entry, events: Iterable[ClusterEvent]) -> bool:
        """Whether any plugin of the pod's profile, should it refuse the pod, would say that one of these events may free it."""
        name = entry.scheduler_name
        plugins = self.views[name].wakes if name in self.views else ()
        return any(self.hinted(self.registered(name, plugin, event), plugin, event, entry) for event in events for plugin in plugins)
