"""Queueing hints: what a live profile means to the queue, and the questions that the queue puts to
its plugins.

A plugin that fails harms nobody but the pod it was asked about, and is reported.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Protocol

from kubefacts.labels import EVERYTHING
from moorage.core.columns.store import Lister
from moorage.core.framework.cluster_events import ClusterEvent, ClusterEventWithHint, EventResource
from moorage.core.framework.extenders import EVENTS_TO_REGISTER, EXTENDER
from moorage.core.framework.interfaces import ExtensionPoint
from moorage.core.framework.revisions import Revision
from moorage.core.framework.status import Code, Status
from moorage.core.objects.pods import Pod
from moorage.core.pods.signatures import waiting_signature
from moorage.core.queue.blocked_pods import EquivalenceClass, EquivalentPods, PodsOfPlugin
from moorage.core.queue.queued_pod import QueuedPodInfo, QueueListener

_DOUBLINGS = 60
"""More would overflow nothing but make no difference: the maximum is reached long before."""
_MIN_GATE_RETRY_SECONDS = 1.0
"""Seconds, at least, until a gate that failed is asked again."""


class PreEnqueueGate(Protocol):
    """A preEnqueue plugin, as far as the queue is concerned."""

    @property
    def name(self) -> str: ...

    def pre_enqueue(self, pod: Pod, store: Lister, /) -> Status:
        """SUCCESS, or the pod is gated."""


@dataclasses.dataclass(frozen=True, slots=True)
class ProfileQueueConfig:
    """A live profile. ``hints``: plugin -> the events that may free a pod which it rejected or
    gated. Backoffs in seconds.

    ``hint_signatures``: plugin -> all that its shared hints see of a pod, where that is less than
    ``waiting_signature``.
    """

    pre_enqueue: tuple[PreEnqueueGate, ...] = ()
    hints: Mapping[str, tuple[ClusterEventWithHint, ...]] = dataclasses.field(default_factory=dict)
    initial_backoff: float = 1.0
    max_backoff: float = 10.0
    hint_signatures: Mapping[str, Callable[[Pod], Hashable]] = dataclasses.field(
        default_factory=dict
    )

    def with_hints_of(self, other: ProfileQueueConfig) -> ProfileQueueConfig:
        """This one, where pods are refused by the plugins of the other, too: what may free them in
        the eyes of either. Where both have a plugin, and it looks at pods otherwise, no signature
        stands for all that it sees.
        """
        hints = {**other.hints, **self.hints}
        for plugin in self.hints.keys() & other.hints.keys():
            hints[plugin] = tuple(dict.fromkeys(self.hints[plugin] + other.hints[plugin]))
        mine, its = self.hint_signatures, other.hint_signatures
        signatures = {
            plugin: signature
            for plugin, signature in {**its, **mine}.items()
            if (plugin in its or plugin not in other.hints)
            and (plugin in mine or plugin not in self.hints)
            and its.get(plugin, signature) == signature
        }
        return dataclasses.replace(self, hints=hints, hint_signatures=signatures)

    def backoff(self, failures: int) -> float:
        """Seconds after so many failures, at least one: the initial ones, twice that, … up to the
        maximum.
        """
        return min(self.initial_backoff * 2.0 ** min(failures - 1, _DOUBLINGS), self.max_backoff)

    def backoff_end(self, entry: QueuedPodInfo) -> float:
        """When the pod's backoff is over: so long after ``timestamp``, up to the next whole second.

        Whole seconds, so that pods which are due about together go by the queue's order, not by
        milliseconds. Faults count for themselves, whatever the rejections before them.
        """
        failures = entry.consecutive_errors_count or entry.unschedulable_count
        delay = self.backoff(failures) if failures else 0.0
        return math.ceil(entry.timestamp + delay) if delay > 0 else entry.timestamp


def queue_config_of(revision: Revision, initial: float, most: float) -> ProfileQueueConfig:
    """What a revision means to the queue; the first and the longest backoff in seconds."""
    # A plugin that only acts cannot say what may change its mind.
    events = dict.fromkeys(revision.points[ExtensionPoint.PERMIT], EVENTS_TO_REGISTER)
    events |= revision.events_to_register
    if revision.extenders:
        events[EXTENDER] = EVENTS_TO_REGISTER
    return ProfileQueueConfig(
        tuple(plugin for _, plugin in revision.at(ExtensionPoint.PRE_ENQUEUE)),
        events,
        initial,
        most,
        revision.hint_signatures,
    )


class QueueingHints:
    """The queue's part of each live profile, by schedulerName."""

    def __init__(self, store: Lister, listener: QueueListener) -> None:
        self.configs: dict[str, ProfileQueueConfig] = {}
        self._store = store
        self.listener = listener

    def gating_plugin(self, entry: QueuedPodInfo, now: float) -> str:
        """The preEnqueue plugin that does not let the pod in, or fails, "" when all do. The one
        that gates it now is asked first.
        """
        plugins = self.configs[entry.scheduler_name].pre_enqueue
        for plugin in sorted(plugins, key=lambda plugin: plugin.name != entry.gating_plugin):
            try:
                status = plugin.pre_enqueue(entry.pod, self._store)
                if status.code is Code.ERROR:
                    raise RuntimeError(status.message)
            except Exception as error:  # noqa: BLE001 - a plugin's bug gates this pod and no other
                self._gate_failed(entry, plugin.name, error, now)
                return plugin.name
            if status.code is not Code.SUCCESS:
                entry.gate_error_count = 0
                return plugin.name
        entry.gate_error_count = 0
        return ""

    def _gate_failed(self, entry: QueuedPodInfo, plugin: str, error: Exception, now: float) -> None:
        """It is reported, and asked again after a backoff."""
        entry.gate_error_count += 1
        backoff = self.configs[entry.scheduler_name].backoff(entry.gate_error_count)
        entry.gate_retry_at = now + max(backoff, _MIN_GATE_RETRY_SECONDS)
        self.listener.plugin_failed(plugin, entry.pod, error)

    def matching_hints(
        self, scheduler_name: str, plugin: str, event: ClusterEvent
    ) -> list[ClusterEventWithHint]:
        """The registrations of a plugin that this event meets."""
        return [
            one for one in self.configs[scheduler_name].hints.get(plugin, ()) if one.matches(event)
        ]

    def event_labels(self, entry: QueuedPodInfo) -> list[str]:
        """The labels of all events that the plugins which block a pod have registered for, in
        alphabetical order.
        """
        config = self.configs.get(entry.scheduler_name)
        hints = {} if config is None else config.hints
        registered = (one for plugin in entry.blocking_plugins for one in hints.get(plugin, ()))
        return sorted({label for one in registered for label in one.labels})

    def run_hints(
        self,
        registrations: Iterable[ClusterEventWithHint],
        plugin: str,
        event: ClusterEvent,
        entry: QueuedPodInfo,
    ) -> bool:
        """Whether one of these registrations, which the event meets, says yes. A failure does."""
        if event.resource is EventResource.ANY:
            return any(registrations)
        try:
            return any(
                one.hint is None or one.hint(entry.pod, event, self._store) for one in registrations
            )
        except Exception as error:  # noqa: BLE001 - see below
            # reported; better one attempt too many than a pod left behind
            self.listener.plugin_failed(plugin, entry.pod, error)
            return True

    def equivalence_class_of(self, entry: QueuedPodInfo, plugin: str) -> EquivalenceClass:
        """What a plugin's hints see of a pod; one of which it cannot say so is like no other."""
        config = self.configs[entry.scheduler_name]
        registrations = config.hints.get(plugin, ())
        try:
            signature = config.hint_signatures.get(plugin, waiting_signature)(entry.pod)
            selectors = (one.pod_selectors(entry.pod) for one in registrations if one.pod_selectors)
            pod_selectors = tuple(dict.fromkeys(itertools.chain.from_iterable(selectors)))
        except Exception as error:  # noqa: BLE001 - see below
            # reported; it is asked about alone, and its failing hint counts as yes
            self.listener.plugin_failed(plugin, entry.pod, error)
            return EquivalenceClass(entry.uid, pod_selectors=(EVERYTHING,))
        selectable = any(one.event_selectors is not None for one in registrations)
        return EquivalenceClass((signature, pod_selectors), pod_selectors, selectable)

    def pods_to_queue(
        self,
        registrations: list[ClusterEventWithHint],
        plugin: str,
        event: ClusterEvent,
        blocked: PodsOfPlugin,
    ) -> list[tuple[EquivalentPods, Mapping[str, QueuedPodInfo]]]:
        """The pods that a plugin blocks and says the event may free, by those that are alike; of
        these a shared hint is asked about one.
        """
        asked = (
            (alike, self._pods_to_queue_of(registrations, plugin, event, alike, alone))
            for alike, alone in blocked.groups_to_ask(registrations, event).items()
        )
        return [(alike, which) for alike, which in asked if which]

    def _pods_to_queue_of(
        self,
        registrations: list[ClusterEventWithHint],
        plugin: str,
        event: ClusterEvent,
        alike: EquivalentPods,
        alone: Mapping[str, QueuedPodInfo],
    ) -> Mapping[str, QueuedPodInfo]:
        """Those of some pods which are alike; some of them are asked about ``alone``."""
        shared = [one for one in registrations if one.hint is None or one.shared_by_signature]
        own = [one for one in registrations if one not in shared]
        other = next((entry for uid, entry in alike.entries.items() if uid not in alone), None)
        all_others = other is not None and self.run_hints(shared, plugin, event, other)
        if all_others and not alone:
            return alike.entries

        def may_free(entry: QueuedPodInfo) -> bool:
            if entry.uid in alone:
                return self.run_hints(registrations, plugin, event, entry)
            return all_others or self.run_hints(own, plugin, event, entry)

        asked = alike.entries if all_others or own else alone
        return {uid: entry for uid, entry in asked.items() if may_free(entry)}

    def is_worth_requeuing(self, event: ClusterEvent, entry: QueuedPodInfo) -> bool:
        """Whether a plugin that blocks the pod says that this event may free it. That its own
        binding failed is no news to it.
        """
        if (
            event.resource is EventResource.ASSIGNED_POD
            and event.old is not None
            and event.old.metadata.uid == entry.uid
        ):
            return False
        name = entry.scheduler_name
        return any(
            self.run_hints(self.matching_hints(name, plugin, event), plugin, event, entry)
            for plugin in entry.blocking_plugins
        )

    def any_hint(self, entry: QueuedPodInfo, events: Iterable[ClusterEvent]) -> bool:
        """Whether any plugin of the pod's profile, should it refuse the pod, would say that one of
        these events may free it.
        """
        name = entry.scheduler_name
        plugins = self.configs[name].hints if name in self.configs else ()
        return any(
            self.run_hints(self.matching_hints(name, plugin, event), plugin, event, entry)
            for event in events
            for plugin in plugins
        )
