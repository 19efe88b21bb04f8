"""Admission: how a pod that waits for a node enters cache, nominations and queue."""

from __future__ import annotations

from collections.abc import Sequence

from moorage.core.columns.cache import PodState
from moorage.core.objects.pods import Pod
from moorage.core.pods.requests import pod_requests
from moorage.engine.intake.latest import LatestPods
from moorage.engine.intake.listeners import UnservedPodListener
from moorage.engine.intake.object_sink import IntakeTargets
from moorage.ports.guards import guard, guarded_port


class PodAdmission:
    """See the module's docstring."""

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
        record = self._cache.pod_info(uid)
        requests = pod_requests(new)  # raises where the queue and the cycle would
        # else it has its place, which the watch does not show yet
        waits = record is None or record.state is PodState.OBSERVED
        nominated_anew = waits and self._cache.nominations.observe_status(new, requests)
        if new.metadata.deletion_timestamp is not None:
            self._cache.nominations.remove(uid)  # it will not come
        # in flight too: if its binding fails, it is tried in its newest state
        if self._queue.get(uid) is not None:
            self._queue.update(new, now)
            if nominated_anew:
                self._queue.retry(uid, now)
        elif old is not None and old.metadata.deletion_timestamp is not None:
            # it was skipped as it is being deleted, with an event: that finalizers hold it makes no
            # difference
            return
        elif waits:
            if record is not None:
                self._cache.remove(uid)
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
