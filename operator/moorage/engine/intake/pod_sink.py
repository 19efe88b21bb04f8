"""The pod sink: takes pods on a node into the cache, and those that wait for one of our profiles
into the queue.
"""

from __future__ import annotations

from collections.abc import Sequence

from moorage.core.columns.cache import PodState
from moorage.core.framework import object_changes
from moorage.core.framework.cluster_events import ActionType, ClusterEvent, EventResource
from moorage.core.objects.meta import PartialObject
from moorage.core.objects.pods import Pod, PodSpec, pod_meta
from moorage.core.pods import ceilings
from moorage.core.pods.requests import pod_requests, takes_alike, unreadable_requests
from moorage.engine.intake.latest import LatestPods
from moorage.engine.intake.listeners import PodLifecycleListener, UnservedPodListener
from moorage.engine.intake.object_sink import IntakeTargets, ObjectSink
from moorage.ports.guards import guard, guarded_port
from moorage.ports.kube import UnreadableObject

_TERMINAL_PHASES = ("Succeeded", "Failed")


class PodAdmission:
    """How a pod that waits for a node enters cache, nominations and queue."""

    def __init__(
        self,
        latest: LatestPods,
        targets: IntakeTargets,
        listeners: Sequence[UnservedPodListener],
    ) -> None:
        self._latest = latest
        self._cache = targets.cache
        self._queue = targets.queue
        self._now = targets.now
        self._listeners = [guarded_port(listener) for listener in listeners]

    def admit(self, old: Pod | None, new: Pod) -> None:
        """A pod without a node is there for the first time (``old`` None), or anew."""
        now, uid = self._now(), new.metadata.uid
        requests = pod_requests(new)  # raises where the queue and the cycle would
        nominated_anew = self._cache.observe_waiting(new, requests)
        # in flight too: if its binding fails, it is tried in its newest state
        if self._queue.get(uid) is not None:
            self._queue.update(new, now)
            if nominated_anew:
                self._queue.retry(uid, now)
        elif old is not None and old.metadata.deletion_timestamp is not None:
            # it was skipped as it is being deleted, with an event: that finalizers hold it makes no
            # difference
            return
        elif self._cache.pod_info(uid) is None:
            # else it has its place, which the watch does not show yet
            self._queue.add(new, now)
            if not self._queue.serves(new.spec.scheduler_name):
                for listener in self._listeners:
                    listener.pod_queued(new)

    def admit_again(self, uid: str) -> None:
        """A binding came to nothing: a pod that left the queue meanwhile, and is there and waits
        after all, is queued anew.
        """
        pod = self._latest.objects.get(uid)
        if pod is not None and not pod.spec.node_name and self._queue.get(uid) is None:
            with guard("queueing a pod anew", pod=uid):
                self.admit(pod, pod)


class PodSink(ObjectSink[Pod]):
    """Pods: on a node (cache) or waiting for one (queue)."""

    resource, kind_name = "pods", "Pod"

    def __init__(
        self,
        latest: LatestPods,
        targets: IntakeTargets,
        admission: PodAdmission,
        listener: PodLifecycleListener,
    ) -> None:
        super().__init__(latest)
        self._cache = targets.cache
        self._queue = targets.queue
        self._now = targets.now
        self._admission = admission
        self._listener = guarded_port(listener)
        self._uids = latest.uids

    def on_added_or_updated(self, old: Pod | None, new: Pod) -> str:
        """Write it where it belongs now. What of it is above a ceiling is reported when it has come
        to its node.
        """
        if old is None:
            self._uids[new.metadata.namespace, new.metadata.name] = new.metadata.uid
        if new.status.phase in _TERMINAL_PHASES:
            self.on_delete(new)
        elif new.spec.node_name:
            self._on_node(old, new)
            if old is None or not old.spec.node_name:
                return ceilings.uncounted(new)
        else:
            if new.metadata.deletion_timestamp is not None:
                self._listener.pod_needs_no_node(new.metadata.uid)
            self._admission.admit(old, new)
        return ""

    def on_delete(self, old: Pod | PartialObject) -> None:
        """Free what it took, or was to take."""
        uid, name = old.metadata.uid, (old.metadata.namespace, old.metadata.name)
        if self._uids.get(name) == uid:
            del self._uids[name]
        record = self._cache.pod_info(uid)
        self._queue.remove(uid)
        self._listener.pod_needs_no_node(uid)
        self._cache.remove(uid)
        if record is not None:
            pod = (
                record.pod
                if isinstance(record.pod, Pod)
                else Pod(pod_meta(record.pod), PodSpec(node_name=record.node))
            )
            self._queue.move_on_event(object_changes.resources_freed(pod), self._now())

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
        its binding will confirm or undo.
        """
        uid, node = obj.partial.metadata.uid, obj.node_name
        self.objects.pop(uid, None)
        self._queue.remove(uid)
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
            self._listener.pod_needs_no_node(uid)
            self._queue.move_on_event(
                ClusterEvent(EventResource.ASSIGNED_POD, ActionType.ADD, new=new), now
            )
            self._listener.pod_placed(new.spec.node_name)
        elif old is not None:
            for event in object_changes.pod_changes(old, new):
                self._queue.move_on_event(event, now)
