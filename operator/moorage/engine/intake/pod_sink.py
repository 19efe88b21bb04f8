"""The pod sink: takes pods on a node into the cache, and those that wait for one of our profiles
into the queue.
"""

from __future__ import annotations

from collections.abc import Callable

from moorage.core.columns.cache import Cache, PodState
from moorage.core.framework import object_changes
from moorage.core.framework.cluster_events import ActionType, ClusterEvent, EventResource
from moorage.core.objects.meta import PartialObject
from moorage.core.objects.pods import Pod, PodSpec, pod_meta
from moorage.core.pods import ceilings
from moorage.core.pods.requests import pod_requests, takes_alike, unreadable_requests
from moorage.core.queue.scheduling_queue import SchedulingQueue
from moorage.engine.intake.object_sink import ObjectSink
from moorage.ports.kube import UnreadableObject

_TERMINAL_PHASES = ("Succeeded", "Failed")


class PodSink(ObjectSink[Pod]):
    """Pods: on a node (cache) or waiting for one (queue)."""

    resource, kind_name = "pods", "Pod"

    def __init__(
        self,
        cache: Cache,
        queue: SchedulingQueue,
        now: Callable[[], float],
        queued: Callable[[Pod], None],
    ) -> None:
        super().__init__()
        self._cache = cache
        self._queue = queue
        self._now = now
        self._queued = queued
        """Told of each pod that came into the queue."""
        self.left: Callable[[str], None] = lambda _: None
        """Told of the UID of a pod that wants no node any more: it is gone, it is going, or it has
        one.
        """
        self.came: Callable[[str], None] = lambda _: None
        """Told of the node that a pod has come to."""

    def on_added_or_updated(self, old: Pod | None, new: Pod) -> None:
        """Write it where it belongs now."""
        if new.status.phase in _TERMINAL_PHASES:
            self.on_delete(new)
        elif new.spec.node_name:
            self._on_node(old, new)
        else:
            self._waiting(old, new)

    def on_delete(self, old: Pod | PartialObject) -> None:
        """Free what it took, or was to take."""
        uid = old.metadata.uid
        record = self._cache.pod_info(uid)
        self._queue.remove(uid)
        self.left(uid)
        self._cache.nominations.remove(uid)
        if record is not None:
            self._cache.remove(uid)
            pod = (
                record.pod
                if isinstance(record.pod, Pod)
                else Pod(pod_meta(record.pod), PodSpec(node_name=record.node))
            )
            self._queue.move_on_event(object_changes.resources_freed(pod), self._now())

    def uncounted(self, old: Pod | None, new: Pod) -> str:
        """What is above a ceiling, told when it has come to its node."""
        came = (
            new.spec.node_name
            and new.status.phase not in _TERMINAL_PHASES
            and not (old is not None and old.spec.node_name)
        )
        return ceilings.uncounted(new) if came else ""

    def lost(self, obj: Pod) -> bool:
        """Whether it is neither on its node nor in the queue."""
        uid = obj.metadata.uid
        if obj.status.phase in _TERMINAL_PHASES or self._cache.pod_info(uid) is not None:
            return False
        return bool(obj.spec.node_name) or (
            obj.metadata.deletion_timestamp is None and self._queue.get(uid) is None
        )

    def on_unreadable(self, obj: UnreadableObject) -> None:
        """It takes its place on its node; a waiting one cannot be placed, and what is assumed of it
        its binding will tell.
        """
        uid, node = obj.partial.metadata.uid, obj.node_name
        self.objects.pop(uid, None)
        self._queue.remove(uid)
        self._cache.nominations.remove(uid)
        if node:
            known = self._cache.pod_info(uid)
            self._cache.observe_unreadable(
                obj.partial,
                node,
                known.requests if known and known.node == node else unreadable_requests(),
            )

    def _on_node(self, old: Pod | None, new: Pod) -> None:
        now, uid = self._now(), new.metadata.uid
        record = self._cache.pod_info(uid)
        alike = record is not None and isinstance(record.pod, Pod) and takes_alike(record.pod, new)
        requests = record.requests if record is not None and alike else pod_requests(new)
        seen_before = record is not None and record.state is PodState.OBSERVED
        self._cache.observe(new, requests)
        self._queue.groups.pod_bound(new)
        if not seen_before:
            self._queue.remove(uid)
            self.left(uid)
            self._queue.move_on_event(
                ClusterEvent(EventResource.ASSIGNED_POD, ActionType.ADD, new=new), now
            )
            self.came(new.spec.node_name)
        elif old is not None:
            for event in object_changes.pod_changes(old, new):
                self._queue.move_on_event(event, now)

    def _waiting(self, old: Pod | None, new: Pod) -> None:
        now, uid = self._now(), new.metadata.uid
        record = self._cache.pod_info(uid)
        requests = pod_requests(new)  # raises where the queue and the cycle would
        if new.metadata.deletion_timestamp is not None:
            self.left(uid)
        # else it has its place, which the watch does not show yet
        waits = record is None or record.state is PodState.OBSERVED
        promised_another = waits and self._cache.nominations.observe_status(new, requests)
        if new.metadata.deletion_timestamp is not None:
            self._cache.nominations.remove(uid)  # it will not come
        # in flight too: if its binding fails, it is tried in its newest state
        if self._queue.get(uid) is not None:
            self._queue.update(new, now)
            if promised_another:
                self._queue.retry(uid, now)
        elif old is not None and old.metadata.deletion_timestamp is not None:
            # it was skipped as it is being deleted, and told so: that finalizers hold it makes no
            # difference
            return
        elif waits:
            if record is not None:
                self._cache.remove(uid)
            self._queue.add(new, now)
            self._queued(new)

    def admit_again(self, uid: str) -> None:
        """A binding came to nothing: a pod that left the queue meanwhile, and is there and waits
        after all, is queued anew.
        """
        pod = self.objects.get(uid)
        if pod is not None and not pod.spec.node_name and self._queue.get(uid) is None:
            self.take(pod, pod)
