"""Kubelet rejections: pods that a kubelet refused after they were bound to its node.

Such a pod has failed, so the watch of live pods only says that it is gone; a second, small watch
brings the failed ones. Each is counted once. Those that failed before this replica's first list are
nobody's news; those that fail while a watch is broken come with the next list.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from moorage.core.objects.meta import ObjectMeta, PartialObject, Struct, key
from moorage.engine.live_revisions import LiveRevisions
from moorage.engine.profile_records import ProfileRecord, ProfileRecords
from moorage.ports.bundle import Ports
from moorage.ports.event_recorder import Event
from moorage.ports.guards import guard
from moorage.ports.kube import UnreadableObject

log = logging.getLogger(__name__)

EVENT_INTERVAL_SECONDS = 300.0
"""Seconds between two events on a profile about the same reason: no more than an object may
have.
"""
OTHER_REASON = "Other"

_REASONS = frozenset(
    {
        "AppArmor",
        "InvalidNodeInfo",
        "NodeAffinity",
        "NodeName",
        "NodePorts",
        "NodeShutdown",
        "NodeUnschedulable",
        "PodFeatureUnsupported",
        "PodLevelResourcesNotSupported",
        "PodOSNotSupported",
        "PodOSSelectorNodeLabelDoesNotMatch",
        "SupplementalGroupsPolicyNotSupported",
        "SysctlForbidden",
        "TaintToleration",
        "TopologyAffinityError",
        "UnexpectedAdmissionError",
        "UnexpectedPredicateFailureType",
        "UnknownReason",
    }
)
"""status.reason of a refusal, lacking resources aside (kubelet 1.37, ``pkg/kubelet/lifecycle``)."""
_OUT_OF_PREFIX = "OutOf"
_REJECTED_PREFIX = "Pod was rejected"
"""Begins the message of every refusal of newer kubelets, those with a reason that running pods have
too (Evicted) among them.
"""


class FailedSpec(Struct, frozen=True):
    """Who placed it, and where."""

    node_name: str = ""
    scheduler_name: str = ""


class FailedStatus(Struct, frozen=True):
    """The phase of a failed pod and why it failed."""

    phase: str = ""
    reason: str = ""
    message: str = ""


class FailedPod(Struct, frozen=True):
    """A pod that has failed: no more of it than is reported."""

    metadata: ObjectMeta
    spec: FailedSpec = FailedSpec()
    status: FailedStatus = FailedStatus()


class KubeletRejections:
    """``ports.kube.ReflectorSink`` for failed pods. It counts while this replica leads; of
    those that were refused it keeps the UIDs.

    ``is_resource(name)``: whether a node has a resource of this name, so that the reasons in
    metrics are bounded.
    """

    def __init__(
        self,
        live: LiveRevisions,
        ports: Ports,
        records: ProfileRecords,
        is_resource: Callable[[str], bool],
    ) -> None:
        self._live = live
        self._clock = ports.clock
        self._events = ports.events
        self._telemetry = ports.telemetry
        self._records = records
        self._is_resource = is_resource
        self._known: set[str] = set()
        self._listed: set[str] | None = None
        self._synced = False
        self._next_event: dict[tuple[str, str], float] = {}
        """By schedulerName and reason, when the next event may be recorded."""

    def list_started(self, served: bool = True) -> None:
        """Whatever is not put before ``list_ended`` is gone."""
        self._listed = set()

    def put(self, pod: FailedPod) -> None:
        """A pod has failed; it may come again."""
        uid = pod.metadata.uid
        if not _is_rejected(pod):
            return
        if self._listed is not None:
            self._listed.add(uid)
        if uid not in self._known:
            self._known.add(uid)
            if self._synced and self._live.leading:
                with guard("counting a refused pod", pod=key(pod)):
                    self._count(pod)

    def delete(self, pod: FailedPod | PartialObject) -> None:
        self._known.discard(pod.metadata.uid)

    def unreadable(self, obj: UnreadableObject, deleted: bool) -> None:
        """Not even its reason is known."""
        if deleted:
            self.delete(obj.partial)

    def list_ended(self) -> bool:
        """Forget those that the list did not have; at once, so there is no more."""
        self._known &= self._listed or set()
        self._listed = None
        self._synced = True
        return False

    def _count(self, pod: FailedPod) -> None:
        name, node, status = pod.spec.scheduler_name, pod.spec.node_name, pod.status
        profile = self._records.of_scheduler(name)
        if profile is None:
            return
        reason = status.reason if self._is_known(status.reason) else OTHER_REASON
        self._telemetry.kubelet_rejected(name, reason)
        extra = {"pod": key(pod), "node": node, "profile": name, "reason": reason}
        log.warning("a kubelet refused a pod: %s", status.message, extra=extra)
        now = self._clock.boottime()
        if now >= self._next_event.get((name, reason), now):
            self._next_event[name, reason] = now + EVENT_INTERVAL_SECONDS
            self._events.record(_rejection_event(profile, pod))

    def _is_known(self, reason: str) -> bool:
        return (
            reason in _REASONS
            or reason == "Evicted"
            or (
                reason.startswith(_OUT_OF_PREFIX)
                and self._is_resource(reason[len(_OUT_OF_PREFIX) :])
            )
        )


def _rejection_event(profile: ProfileRecord, pod: FailedPod) -> Event:
    why = ": ".join(filter(None, (pod.status.reason, pod.status.message)))
    return Event(
        profile.reference,
        "KubeletRejected",
        f"The kubelet of node {pod.spec.node_name} refused pod {key(pod)}: {why}",
        "Binding",
        controller="moorage",
        warning=True,
    )


def _is_rejected(pod: FailedPod) -> bool:
    """Whether a kubelet would not have it; else it ran, and ended badly."""
    reason, message = pod.status.reason, pod.status.message
    return pod.status.phase == "Failed" and (
        reason in _REASONS
        or reason.startswith(_OUT_OF_PREFIX)
        or message.startswith(_REJECTED_PREFIX)
    )
